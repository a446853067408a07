/* Mach-O files made by hand: what a real file of the test data does not have, or has wrong. */
#include "object/debug_sections.h"
#include "object/exercise_macho.h"
#include "object/fixture.h"
#include "object/macho_build.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
    TEXT = 0x4000,
    CODE_AT = 0x1000, /* of __text in the file */
    SYMBOLS_AT = 0x2000,
    TABLES_AT = 0x3000,
    FILE_SIZE = 0x3100,
    CODE = (int)(S_ATTR_PURE_INSTRUCTIONS | S_ATTR_SOME_INSTRUCTIONS)
};

static struct object *open_build(const struct macho_build *b, size_t size)
{
    struct object *object = NULL;
    struct fw_failure why = {0};
    if (object_open_bytes(b->bytes, size, false, "build", &object, &why) != FW_OK)
        fail_msg("%s", why.message);
    return object;
}

static const struct target {
    bool is_64, big;
    uint32_t cpu, subtype;
    const char *arch;
    uint16_t machine;
    uint32_t flavor, pc; /* of LC_UNIXTHREAD */
} targets[] = {
    {true, false, CPU_X86_64, 0x80000003, "x86_64", EM_X86_64, 4, 16},
    {true, false, CPU_X86_64, 8, "x86_64h", EM_X86_64, 4, 16},
    {true, false, CPU_ARM64, 0, "arm64", EM_AARCH64, 6, 32},
    {true, false, CPU_ARM64, 0x80000002, "arm64e", EM_AARCH64, 6, 32},
    {false, false, CPU_ARM64_32, 1, "arm64_32", EM_AARCH64, 0, 0},
    {false, false, CPU_ARM, 9, "armv7", EM_ARM, 1, 15},
    {false, false, CPU_ARM, 11, "armv7s", EM_ARM, 1, 15},
    {false, false, CPU_ARM, 12, "armv7k", EM_ARM, 1, 15},
    {false, false, CPU_I386, 3, "i386", EM_386, 1, 10},
    {false, true, CPU_PPC, 0, "ppc", EM_PPC, 1, 0},
    {true, true, CPU_PPC64, 0, "ppc64", EM_PPC64, 5, 0},
};

/* __TEXT of one section of code and one of stubs, everything a dylib has beside it. */
static void build_dylib(struct macho_build *b, const struct target *t)
{
    static const struct macho_entry entries[] = {
        {"_first", N_SECT | N_EXT, 1, 0, TEXT + 0x1000},
        {"_first_entry", N_SECT | N_EXT, 1, N_ALT_ENTRY, TEXT + 0x1008},
        {"ltmp0", N_SECT, 1, 0, TEXT + 0x1000},
        {"l_label", N_SECT, 1, 0, TEXT + 0x1004},
        {"_hidden", N_SECT | N_EXT | N_PEXT, 1, N_ARM_THUMB_DEF, TEXT + 0x1010},
        {"__weak", N_SECT | N_EXT, 1, N_WEAK_DEF, TEXT + 0x1020},
        {"-[Foo bar:]", N_SECT, 1, 0, TEXT + 0x1030},
        {"_stab", N_FUN, 1, 0, TEXT + 0x1038},
        {"_absolute", 2 | N_EXT, 0, 0, TEXT + 0x1038},
        {"_imported", N_UNDF | N_EXT, 0, 0, 0},
        {"_data", N_SECT | N_EXT, 3, 0, TEXT + 0x1100},
        {"_nowhere", N_SECT | N_EXT, 9, 0, TEXT + 0x1100},
    };
    uint32_t symtab[4];
    macho_begin(b, t->is_64, t->big, t->cpu, t->subtype, MH_DYLIB);
    size_t start = macho_segment(b, "__TEXT", TEXT, 0x2000, 0, 0x2000, 5, 3);
    macho_section(b, "__text", "__TEXT",
                  (struct macho_place){TEXT + 0x1000, 0x80, CODE_AT, 0, 0, (uint32_t)CODE, 0, 0});
    macho_section(b, "__stubs", "__TEXT",
                  (struct macho_place){TEXT + 0x1080, 0x10, CODE_AT + 0x80, 0, 0,
                                       (uint32_t)CODE | S_SYMBOL_STUBS, 1, 8});
    macho_section(b, "__const", "__TEXT",
                  (struct macho_place){TEXT + 0x1100, 0x10, CODE_AT + 0x100, 0, 0, 0, 0, 0});
    macho_end_command(b, start);
    start = macho_command(b, 0x1b);
    for (unsigned i = 0; i < 16; i++)
        b->bytes[b->used++] = (uint8_t)(0xa0 + i);
    macho_end_command(b, start);
    start = macho_command(b, 0xd);
    macho_put32(b, 24);
    for (int i = 0; i < 3; i++)
        macho_put32(b, 0);
    macho_name(b, "/usr/lib/x.dylib");
    macho_put32(b, 0);
    macho_end_command(b, start);
    start = macho_command(b, 5);
    macho_put32(b, t->flavor);
    macho_put32(b, 0);
    for (uint32_t i = 0; i < t->pc; i++)
        macho_word(b, 0x1111);
    macho_word(b, TEXT + 0x1010);
    macho_end_command(b, start);
    size_t used = b->used;
    macho_symtab(b, SYMBOLS_AT, entries, sizeof entries / sizeof entries[0], symtab);
    b->used = TABLES_AT; /* indirect symbols: one before the stubs', local, imported */
    macho_put32(b, 0);
    macho_put32(b, 0x80000000);
    macho_put32(b, 9);
    /* 0x1000, + 0x10 (Thumb), + 0x20, + 0x30 (none of the symbols), + 0x40 */
    uint8_t thumb = t->cpu == CPU_ARM;
    const uint8_t starts[] = {0x80, 0x20, 0x10 + thumb, 0x10 - thumb, 0x10, 0x10, 0, 0x7f};
    memcpy(b->bytes + TABLES_AT + 12, starts, sizeof starts);
    b->used = used;
    macho_words(b, 2, symtab, 4);
    uint32_t dysymtab[18] = {0};
    dysymtab[12] = TABLES_AT;
    dysymtab[13] = 3;
    macho_words(b, 0xb, dysymtab, 18);
    macho_words(b, 0x26, (uint32_t[]){TABLES_AT + 12, 8}, 2);
    macho_end(b);
}

static void expect(const struct symbols *symbols, uint64_t vaddr, const char *name, uint64_t start,
                   uint64_t size, bool plt)
{
    struct symbol_match match;
    bool found = symbols_lookup(symbols, vaddr, &match);
    if (!name) {
        assert_false(found);
        return;
    }
    assert_true(found);
    assert_string_equal(match.name, name);
    assert_int_equal(match.vaddr, start);
    assert_int_equal(match.size, size);
    assert_int_equal(match.plt, plt);
}

static void every_class_and_byte_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        const struct target *t = &targets[i];
        static struct macho_build b;
        build_dylib(&b, t);
        struct object *object = open_build(&b, FILE_SIZE);
        assert_string_equal(object_arch_name(object), t->arch);
        assert_int_equal(object_machine(object), t->machine);
        assert_int_equal(object_is_64(object), t->is_64);
        assert_int_equal(object_is_big_endian(object), t->big);
        assert_int_equal(object_type(object), OBJECT_SHARED);
        assert_false(object_is_truncated(object));
        assert_int_equal(object_base(object), TEXT);
        assert_int_equal(object_build_id(object).size, 16);
        assert_int_equal(object_build_id(object).data[15], 0xaf);
        if (t->flavor && t->cpu != CPU_PPC64)
            assert_int_equal(object_entry(object), TEXT + 0x1010);
        assert_int_equal(object_at(object, TEXT).size, 0x2000);

        struct symbols *symbols = symbols_build(object, NULL);
        assert_non_null(symbols);
        const uint64_t at = TEXT + 0x1000;
        expect(symbols, at + 4, "first", at, 8, false);
        expect(symbols, at + 0x8, "first_entry", at + 8, 8, false);
        expect(symbols, at + 0x1f, "hidden", at + 0x10, 0x10, false);
        expect(symbols, at + 0x20, "_weak", at + 0x20, 0x10, false);
        /* A start without a symbol ends the function before it. */
        expect(symbols, at + 0x3f, "-[Foo bar:]", at + 0x30, 0x10, false);
        expect(symbols, at + 0x40, NULL, 0, 0, false);
        expect(symbols, at + 0x80, NULL, 0, 0, false); /* the stub of a local symbol */
        expect(symbols, at + 0x8c, "imported", at + 0x88, 8, true);
        expect(symbols, at + 0x100, NULL, 0, 0, false);
        symbols_destroy(symbols);

        const struct object_range *ranges;
        size_t count;
        assert_int_equal(object_code_ranges(object, &ranges, &count), FW_OK);
        assert_int_equal(count, 2);
        assert_int_equal(ranges[0].lo, at);
        assert_int_equal(ranges[1].hi, at + 0x90);
        object_close(object);
    }
}

/* Offsets of 33 bits, of which the file stores 32. */
enum { GIG = 1 << 30 };

static void fill_wrapped(struct macho_build *b, bool placed, uint64_t str_size)
{
    const uint64_t base = 0x100000000, data = 0x10000;
    uint64_t info = data + str_size, linkedit = info + 0x1000;
    macho_begin(b, true, false, CPU_ARM64, 0, MH_DSYM);
    size_t start = macho_segment(b, "__TEXT", base, 0x4000, 0, 0, 5, 1);
    macho_section(b, "__text", "__TEXT",
                  (struct macho_place){base + 0x1000, 0x100, 0, 0, 0, (uint32_t)CODE, 0, 0});
    macho_end_command(b, start);
    start = macho_segment(b, "__DWARF", base + 0x8000, str_size + 0x1000, data, str_size + 0x1000,
                          3, 3);
    uint64_t vaddr = placed ? base + 0x8000 : 0;
    macho_section(b, "__debug_str", "__DWARF",
                  (struct macho_place){vaddr, str_size, data, 0, 0, 0, 0, 0});
    macho_section(b, "__debug_info", "__DWARF",
                  (struct macho_place){placed ? vaddr + str_size : 0, 0x800, info, 0, 0, 0, 0, 0});
    macho_section(b, "__debug_abbrev", "__DWARF",
                  (struct macho_place){placed ? vaddr + str_size + 0x800 : 0, 0x800, info + 0x800,
                                       0, 0, 0, 0, 0});
    macho_end_command(b, start);
    start = macho_segment(b, "__LINKEDIT", base + 0x8000 + str_size + 0x1000, 0x1000, linkedit,
                          0x1000, 1, 0);
    macho_end_command(b, start);
    macho_words(b, 2, (uint32_t[]){(uint32_t)linkedit, 1, (uint32_t)(linkedit + 0x100), 16}, 4);
    macho_end(b);
}

static void offsets_beyond_4_gb(void **state)
{
    (void)state;
    if (sizeof(size_t) < 8)
        skip();
    for (int variant = 0; variant < 4; variant++) {
        uint64_t str_size = (uint64_t)GIG * (variant / 2 ? 9 : 4) + 0x7000;
        uint64_t info = 0x10000 + str_size, size = info + 0x2000;
        uint8_t *file = mmap(NULL, size, PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (file == MAP_FAILED) {
            print_message("skipped: no room for %llu bytes\n", (unsigned long long)size);
            skip();
        }
        static struct macho_build b;
        fill_wrapped(&b, variant % 2, str_size);
        memcpy(file, b.bytes, b.used);
        memcpy(file + 0x10000, "strings", 8);
        memcpy(file + info, "information", 12);
        memcpy(file + info + 0x800, "abbreviations", 14);
        memcpy(file + info + 0x1000, "\1\0\0\0\x0f\1\0\0\0\x10\0\0\1\0\0\0", 16);
        memcpy(file + info + 0x1100, "\0_f", 4);
        struct object *object;
        struct fw_failure why = {0};
        if (object_open_bytes(file, size, false, "large", &object, &why) != FW_OK)
            fail_msg("%s", why.message);
        assert_false(object_is_truncated(object));
        static const char *const names[] = {"str", "info", "abbrev"};
        static const char *const begin[] = {"strings", "information", "abbreviations"};
        for (int i = 0; i < 3; i++) {
            struct span data;
            assert_int_equal(object_debug_section(object, names[i], false, &data, NULL), FW_OK);
            assert_string_equal((const char *)data.data, begin[i]);
        }
        struct symbols *symbols = symbols_build(object, NULL);
        expect(symbols, 0x100001000, "f", 0x100001000, 0x100, false);
        symbols_destroy(symbols);
        object_close(object);
        munmap(file, size);
    }
}

static uint32_t reloc_info(bool big, uint32_t symbol, bool relative, uint32_t length,
                           bool is_extern, uint32_t type)
{
    if (big)
        return symbol << 8 | (uint32_t)relative << 7 | length << 5 | (uint32_t)is_extern << 4 |
               type;
    return symbol | (uint32_t)relative << 24 | length << 25 | (uint32_t)is_extern << 27 |
           type << 28;
}

/* An object file whose __debug_info holds 32 bytes of 0x10, relocated by `count` entries. */
static struct object *build_object(struct macho_build *b, const struct target *t,
                                   const uint32_t (*relocs)[2], uint32_t count)
{
    static const struct macho_entry entries[] = {
        {"_f", N_SECT | N_EXT, 1, 0, 0x100},
        {"_g", N_SECT | N_EXT, 1, 0, 0x134},
        {"_common", N_UNDF | N_EXT, 0, 0, 0x7777},
    };
    uint32_t symtab[4];
    macho_begin(b, t->is_64, t->big, t->cpu, t->subtype, MH_OBJECT);
    size_t start = macho_segment(b, "", 0, 0x1000, 0x1000, 0x1000, 7, 2);
    macho_section(b, "__text", "__TEXT",
                  (struct macho_place){0x100, 0x80, 0x1100, 0, 0, (uint32_t)CODE, 0, 0});
    macho_section(b, "__debug_info", "__DWARF",
                  (struct macho_place){0x200, 32, 0x1200, TABLES_AT, count, 0, 0, 0});
    macho_end_command(b, start);
    size_t used = b->used;
    macho_symtab(b, SYMBOLS_AT, entries, 3, symtab);
    b->used = TABLES_AT;
    for (uint32_t i = 0; i < count; i++) {
        macho_put32(b, relocs[i][0]);
        macho_put32(b, relocs[i][1]);
    }
    b->used = used;
    macho_words(b, 2, symtab, 4);
    macho_end(b);
    memset(b->bytes + 0x1200, 0, 32);
    for (int i = 0; i < 4; i++)
        b->bytes[0x1200 + 8 * i + (b->big ? (t->is_64 ? 7 : 3) : 0)] = 0x10;
    return open_build(b, FILE_SIZE);
}

static uint64_t word_at(const struct object *object, struct span data, size_t offset)
{
    struct reader r = reader_at(data.data, data.size, offset);
    r.swap = object_is_big_endian(object);
    return object_is_64(object) ? reader_u64(&r) : reader_u32(&r);
}

static void relocations_of_objects(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        const struct target *t = &targets[i];
        uint32_t length = t->is_64 ? 3 : 2;
        bool pairs = t->cpu == CPU_X86_64 || t->cpu == CPU_ARM64 || t->cpu == CPU_ARM64_32;
        uint32_t subtractor = t->cpu == CPU_X86_64 ? 5 : 1;
        /* A symbol; a section; an undefined symbol; a difference, or a scattered entry. */
        const uint32_t relocs[][2] = {
            {0, reloc_info(t->big, 1, false, length, true, 0)},
            {8, reloc_info(t->big, 1, false, length, false, 0)},
            {16, reloc_info(t->big, 2, false, length, true, 0)},
            {pairs ? 24 : 0xa2000018,
             pairs ? reloc_info(t->big, 0, false, length, true, subtractor) : 0x100},
            {pairs ? 24 : 0xa1000000,
             pairs ? reloc_info(t->big, 1, false, length, true, 0) : 0x100},
        };
        static struct macho_build b;
        bool scattered = !pairs && !t->is_64;
        struct object *object = build_object(&b, t, relocs, pairs || scattered ? 5 : 3);
        for (int again = 0; again < 2; again++) {
            struct span data;
            struct fw_failure why = {0};
            assert_int_equal(object_debug_section(object, "info", false, &data, &why), FW_OK);
            assert_int_equal(why.code, FW_OK);
            assert_int_equal(data.size, 32);
            assert_int_equal(word_at(object, data, 0), 0x144);
            assert_int_equal(word_at(object, data, 8), 0x10);
            assert_int_equal(word_at(object, data, 16), 0x10);
            assert_int_equal(word_at(object, data, 24), pairs ? 0x44 : 0x10);
        }
        object_close(object);
        /* Outside of its section, and of a type that data cannot have. */
        const uint32_t wrong[][2] = {{30, reloc_info(t->big, 1, false, length, true, 0)},
                                     {0, reloc_info(t->big, 1, false, length, true, 9)}};
        for (int k = 0; k < 2; k++) {
            object = build_object(&b, t, wrong + k, 1);
            struct span data;
            struct fw_failure why = {0};
            assert_int_equal(object_debug_section(object, "info", false, &data, &why), FW_OK);
            assert_int_equal(why.code, FW_ERR_CORRUPT);
            assert_int_equal(word_at(object, data, 0), 0x10);
            why.code = FW_OK;
            assert_int_equal(object_debug_section(object, "info", false, &data, &why), FW_OK);
            assert_int_equal(why.code, FW_ERR_CORRUPT);
            assert_int_equal(why.place, TABLES_AT);
            object_close(object);
        }
    }
}

static uint8_t *fake_zlib(const uint8_t *data, size_t data_size, size_t size)
{
    assert_true(data_size >= 1);
    uint8_t *bytes = malloc(size);
    assert_non_null(bytes);
    memset(bytes, data[0], size);
    return bytes;
}

/* Names are cut to 16 bytes, which is not always where they end; Go packs its sections. */
static void names_of_debug_sections(void **state)
{
    (void)state;
    static const struct object_codecs codecs = {.zlib = fake_zlib};
    static const char *const stored[] = {"__debug_str_offs", "__zdebug_info",  "__debug_line_str",
                                         "__debug_info.dwo", "__debug_abbrev", "__zdebug_str_off"};
    static struct macho_build b;
    macho_begin(&b, true, false, CPU_X86_64, 3, MH_DSYM);
    size_t start = macho_segment(&b, "__DWARF", 0x1000, 0x1000, 0x1000, 0x1000, 3, 7);
    for (unsigned i = 0; i < 6; i++)
        macho_section(&b, stored[i], "__DWARF",
                      (struct macho_place){0x1000 + 32 * i, 32, 0x1000 + 32 * i, 0, 0, 0, 0, 0});
    macho_section(&b, "__debug_abbrev", "__DWARF",
                  (struct macho_place){0x2000, 64, 0x20000, 0, 0, 0, 0, 0}); /* not in the file */
    macho_end_command(&b, start);
    macho_end(&b);
    memcpy(b.bytes + 0x1020, "ZLIB\0\0\0\0\0\0\0\5z", 13);
    object_set_codecs(&codecs);
    struct object *object = open_build(&b, 0x2000);
    assert_true(object_is_truncated(object));
    struct span data;
    assert_int_equal(object_debug_section(object, "str_offsets", false, &data, NULL), FW_OK);
    assert_ptr_equal(data.data, b.bytes + 0x1000);
    assert_int_equal(object_debug_section(object, "str_offsets", true, &data, NULL),
                     FW_ERR_NOT_FOUND);
    assert_int_equal(object_debug_section(object, "info", false, &data, NULL), FW_OK);
    assert_int_equal(data.size, 5);
    assert_memory_equal(data.data, "zzzzz", 5);
    assert_int_equal(object_debug_section(object, "line_str", false, &data, NULL), FW_OK);
    assert_int_equal(object_debug_section(object, "info", true, &data, NULL), FW_OK);
    assert_ptr_equal(data.data, b.bytes + 0x1060);
    assert_int_equal(object_debug_section(object, "abbrev", false, &data, NULL), FW_OK);
    assert_int_equal(object_debug_section(object, "ranges", false, &data, NULL), FW_ERR_NOT_FOUND);
    object_close(object);
    object_set_codecs(NULL);
}

/* A fat file of two dylibs, in either form of the header. */
static size_t build_fat(uint8_t *fat, bool wide, const struct target *first,
                        const struct target *second)
{
    static struct macho_build header, b;
    memset(&header, 0, sizeof header);
    header.big = true;
    const struct target *const both[] = {first, second};
    macho_put32(&header, wide ? 0xcafebabf : 0xcafebabe);
    macho_put32(&header, second ? 2 : 1);
    size_t used = 0x1000;
    for (int i = 0; i < 2 && both[i]; i++) {
        macho_put32(&header, both[i]->cpu);
        macho_put32(&header, both[i]->subtype);
        macho_put(&header, used, wide ? 8 : 4);
        macho_put(&header, FILE_SIZE, wide ? 8 : 4);
        macho_put(&header, 12, wide ? 8 : 4);
        build_dylib(&b, both[i]);
        b.bytes[both[i]->is_64 ? 32 + 72 + 240 + 8 : 28 + 56 + 204 + 8] = (uint8_t)i; /* the UUID */
        memcpy(fat + used, b.bytes, FILE_SIZE);
        used += 0x4000;
    }
    memcpy(fat, header.bytes, header.used);
    return used;
}

static fw_error open_slice(const char *arch, const char *uuid, const char *answer,
                           struct fw_failure *why)
{
    struct object *object;
    struct object_choice choice = {.arch = arch};
    if (uuid)
        choice.uuid = (struct span){(const uint8_t *)uuid, 16};
    fw_error error = object_open_choice(fixture_path("fat"), &choice, &object, why);
    if (answer) {
        assert_int_equal(error, FW_OK);
        assert_string_equal(object_arch_name(object), answer);
        object_close(object);
    } else {
        assert_null(object);
    }
    return error;
}

static void slices_are_chosen(void **state)
{
    (void)state;
    static const char second[] = "\1\xa1\xa2\xa3\xa4\xa5\xa6\xa7\xa8\xa9\xaa\xab\xac\xad\xae\xaf";
    for (int wide = 0; wide < 2; wide++) {
        static uint8_t fat[0x10000];
        struct fw_failure why = {0};
        struct object *object;
        size_t size = build_fat(fat, wide, &targets[1], &targets[3]);
        fixture_write("fat", fat, size);
        open_slice("x86_64h", NULL, "x86_64h", &why);
        open_slice("x86_64", NULL, "x86_64h", &why); /* the only one of its family */
        open_slice("arm64", NULL, "arm64e", &why);
        open_slice(NULL, second, "arm64e", &why);
        open_slice("x86_64", second, "arm64e", &why); /* the UUID decides */
        assert_int_equal(open_slice("armv7", NULL, NULL, &why), FW_ERR_NOT_FOUND);
        assert_non_null(strstr(why.message, "x86_64h, arm64e"));
        assert_int_equal(open_slice(NULL, "no such UUID...", NULL, &why), FW_ERR_NOT_FOUND);
        assert_non_null(strstr(why.message, "01a1a2a3"));
        assert_int_equal(open_slice(NULL, NULL, NULL, &why), FW_ERR_ARGUMENT);
        assert_int_equal(object_open(fixture_path("fat"), &object, &why), FW_ERR_ARGUMENT);
        assert_non_null(strstr(why.message, "x86_64h, arm64e"));

        size = build_fat(fat, wide, &targets[2], &targets[3]);
        fixture_write("fat", fat, size);
        open_slice("arm64", NULL, "arm64", &why);
        open_slice("arm64e", NULL, "arm64e", &why);

        size = build_fat(fat, wide, &targets[5], NULL);
        fixture_write("fat", fat, size);
        assert_int_equal(object_open(fixture_path("fat"), &object, &why), FW_OK);
        assert_string_equal(object_arch_name(object), "armv7");
        object_close(object);
        assert_int_equal(object_open_bytes(fat, 0x1000, false, "cut", &object, &why),
                         FW_ERR_TRUNCATED);
        assert_int_equal(object_open_bytes(fat, 0x2100, false, "cut", &object, &why), FW_OK);
        assert_true(object_is_truncated(object));
        object_close(object);
    }
    /* A Java class file has the same first bytes. */
    struct object *object;
    struct fw_failure why;
    assert_int_equal(
        object_open_bytes("\xca\xfe\xba\xbe\0\0\0\x34more", 12, false, "class", &object, &why),
        FW_ERR_FORMAT);
}

static void broken_commands_are_refused(void **state)
{
    (void)state;
    static struct macho_build b;
    struct object *object;
    struct fw_failure why;
    build_dylib(&b, &targets[0]);
    assert_int_equal(object_open_bytes(b.bytes, 20, false, "cut", &object, &why), FW_ERR_TRUNCATED);
    assert_int_equal(object_open_bytes(b.bytes, 200, false, "cut", &object, &why),
                     FW_ERR_TRUNCATED);
    macho_patch32(&b, 32 + 4, 4); /* a command smaller than its own header */
    assert_int_equal(object_open_bytes(b.bytes, FILE_SIZE, false, "small", &object, &why),
                     FW_ERR_CORRUPT);
    assert_int_equal(why.place, 32);
    macho_patch32(&b, 32 + 4, 0xfffffff0);
    assert_int_equal(object_open_bytes(b.bytes, FILE_SIZE, false, "large", &object, &why),
                     FW_ERR_CORRUPT);
    build_dylib(&b, &targets[0]);
    macho_patch32(&b, 32 + 64, UINT32_MAX); /* more sections than the command holds */
    object = open_build(&b, FILE_SIZE);
    assert_int_equal(object_section_count(object), 4);
    object_close(object);
}

static volatile uint64_t sink;

static void survives_damage(void **state)
{
    (void)state;
    const char *asked = getenv("FW_FLIPS");
    unsigned long flips = asked ? strtoul(asked, NULL, 10) : 3000;
    uint64_t random = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < sizeof targets / sizeof targets[0]; i++) {
        static struct macho_build b;
        build_dylib(&b, &targets[i]);
        for (size_t cut = 0; cut <= FILE_SIZE; cut += 97) {
            uint8_t *copy = malloc(cut + 1);
            assert_non_null(copy);
            memcpy(copy, b.bytes, cut);
            sink = exercise_macho(copy, cut);
            free(copy);
        }
        uint8_t *copy = malloc(FILE_SIZE);
        assert_non_null(copy);
        for (unsigned long k = 0; k < flips; k++) {
            memcpy(copy, b.bytes, FILE_SIZE);
            for (unsigned n = 0; n < 1 + k % 4; n++) {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                size_t place = random % 5 ? random % b.used : random % FILE_SIZE;
                copy[place] = random >> 40 & 1 ? (uint8_t)(random >> 32) : 0xff;
            }
            sink = exercise_macho(copy, FILE_SIZE);
        }
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_class_and_byte_order),
        cmocka_unit_test(offsets_beyond_4_gb),
        cmocka_unit_test(relocations_of_objects),
        cmocka_unit_test(names_of_debug_sections),
        cmocka_unit_test(slices_are_chosen),
        cmocka_unit_test(broken_commands_are_refused),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
