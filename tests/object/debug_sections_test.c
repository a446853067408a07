/* Debug sections by name: what a linker makes of an object's debug sections is what they must be
 * here, byte for byte, for every machine; and packed sections, code ranges, function starts. */
#include "object/codecs.h"
#include "object/debug_sections.h"
#include "object/fixture.h"

#include <elf.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
    "static inline int twice(int x) { return x + x; }\n"
    "int one(int x) { return twice(x) * 3; }\n"
    "int two(int x) { for (int i = 0; i < 9; i++) x += one(x); return x; }\n"
    "int three(int x) { return x ? two(x - 1) + one(x) : 7; }\n";

static const char *const names[] = {
    "info", "abbrev",   "line",  "line_str",    "str",   "addr",  "aranges",  "rnglists", "ranges",
    "loc",  "loclists", "types", "str_offsets", "frame", "names", "pubnames", "pubtypes", "macro"};
enum { NAMES = sizeof names / sizeof names[0] };

/* Compares the debug sections of an object with those of a file linked from it. */
static size_t expect_as_linked(const char *what, const char *object, const char *linked)
{
    struct object *a = fixture_open(object), *b = fixture_open(linked);
    size_t compared = 0;
    for (size_t i = 0; i < NAMES; i++) {
        struct span x, y;
        struct fw_failure why = {0};
        fw_error error = object_debug_section(a, names[i], false, &x, &why);
        if (error == FW_ERR_NOT_FOUND)
            continue;
        if (error != FW_OK || why.code != FW_OK)
            fail_msg("%s: %s", what, why.message);
        if (object_debug_section(b, names[i], false, &y, NULL) != FW_OK)
            continue;
        if (x.size != y.size)
            fail_msg("%s: .debug_%s has %zu bytes, linked %zu", what, names[i], x.size, y.size);
        for (size_t k = 0; k < x.size; k++)
            if (x.data[k] != y.data[k])
                fail_msg("%s: .debug_%s differs at 0x%zx: %02x, linked %02x", what, names[i], k,
                         x.data[k], y.data[k]);
        compared++;
    }
    object_close(a);
    object_close(b);
    return compared;
}

/* Links without merging strings and with the code sections in their order from address 0. */
static void make_linker_script(void)
{
    fixture_text(
        "at0.ld",
        "SECTIONS { .text 0 : { *(.text .text.* .init.text) }\n"
        "/DISCARD/ : { *(.eh_frame) *(.ARM.exidx*) *(.comment) *(.reginfo) *(.MIPS*) } }\n");
}

#define LINK "ld.lld-19 -O0 --no-relax --script=at0.ld -e 0 --unresolved-symbols=ignore-all "

static void relocates_like_a_linker(void **state)
{
    (void)state;
    static const struct {
        const char *target;
        uint16_t machine;
        bool is_64, big_endian;
    } machines[] = {
        {"x86_64-linux-gnu", EM_X86_64, true, false},
        {"i386-linux-gnu", EM_386, false, false},
        {"aarch64-linux-gnu", EM_AARCH64, true, false},
        {"armv7-linux-gnueabihf", EM_ARM, false, false},
        {"thumbv7-linux-gnueabihf", EM_ARM, false, false},
        {"powerpc64le-linux-gnu", EM_PPC64, true, false},
        {"powerpc64-linux-gnu -mabi=elfv2", EM_PPC64, true, true},
        {"powerpc-linux-gnu", EM_PPC, false, true},
        {"s390x-linux-gnu", EM_S390, true, true},
        {"riscv64-linux-gnu", EM_RISCV, true, false},
        {"riscv32-linux-gnu", EM_RISCV, false, false},
        {"mips-linux-gnu", EM_MIPS, false, true},
        {"mips64el-linux-gnuabi64", EM_MIPS, true, false},
    };
    static const char *const kinds[] = {"-gdwarf-5", "-gdwarf-4", "-gdwarf-5 -gz=zlib",
                                        "-gdwarf-5 -gz=zstd", "-gdwarf-4 -gdwarf64"};
    fixture_need("clang-19 ld.lld-19");
    fixture_text("r.c", source);
    make_linker_script();
    for (size_t m = 0; m < sizeof machines / sizeof machines[0]; m++) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            if (strstr(kinds[k], "dwarf64") && !machines[m].is_64)
                continue;
            char what[128];
            snprintf(what, sizeof what, "%s %s", machines[m].target, kinds[k]);
            if (!fixture_try("clang-19 --target=%s -O1 %s -fno-asynchronous-unwind-tables "
                             "-ffunction-sections -gpubnames -c r.c -o r.o && " LINK "r.o -o r.elf",
                             machines[m].target, kinds[k])) {
                print_message("skipped: cannot make %s\n", what);
                continue;
            }
            struct object *object = fixture_open("r.o");
            assert_int_equal(object_machine(object), machines[m].machine);
            assert_int_equal(object_is_64(object), machines[m].is_64);
            assert_int_equal(object_is_big_endian(object), machines[m].big_endian);
            object_close(object);
            assert_true(expect_as_linked(what, "r.o", "r.elf") >= 7);
        }
    }
}

static void sections_of_one_name_follow_each_other(void **state)
{
    (void)state;
    fixture_need("g++ ld.lld-19 ld readelf");
    fixture_text("t.cc",
                 "struct A { int a; int get() { return a; } }; struct B { A x; char c; };\n"
                 "int f(A *a) { return a->get(); } int g(B *b) { return b->c + f(&b->x); }\n");
    fixture_text("r.c", source);
    make_linker_script();
    for (int version = 4; version <= 5; version++) {
        fixture_run("g++ -g -gdwarf-%d -O1 -fdebug-types-section -fno-asynchronous-unwind-tables "
                    "-ffunction-sections -c t.cc -o t.o && " LINK "t.o -o t.elf",
                    version);
        char *headers = fixture_output("readelf -SW t.o");
        const char *name = version == 4 ? "] .debug_types" : "] .debug_info";
        const char *first = strstr(headers, name);
        assert_non_null(first);
        assert_non_null(strstr(first + 1, name));
        free(headers);
        assert_true(expect_as_linked("type units", "t.o", "t.elf") >= 4);
        /* As kernel modules are made: objects linked into one that stays relocatable. */
        fixture_run("gcc -g -gdwarf-%d -O1 -ffunction-sections -fno-asynchronous-unwind-tables "
                    "-c r.c -o r.o && ld -r t.o r.o -o m.ko && " LINK "m.ko -o m.elf",
                    version);
        assert_true(expect_as_linked("module", "m.ko", "m.elf") >= 4);
    }
}

static struct span section_of(struct object *object, const char *name, bool dwo)
{
    struct span data;
    struct fw_failure why = {0};
    if (object_debug_section(object, name, dwo, &data, &why) != FW_OK)
        fail_msg("%s", why.message);
    return data;
}

static void tells_split_sections_apart(void **state)
{
    (void)state;
    fixture_need("gcc objcopy");
    fixture_text("r.c", source);
    fixture_run("gcc -g -gdwarf-5 -gsplit-dwarf -O1 -c r.c -o r.o");
    struct object *object = fixture_open("r.o"), *dwo = fixture_open("r.dwo");
    struct span data;
    assert_true(section_of(object, "info", false).size < section_of(dwo, "info", true).size);
    assert_int_equal(object_debug_section(object, "info", true, &data, NULL), FW_ERR_NOT_FOUND);
    assert_null(data.data);
    assert_int_equal(object_debug_section(dwo, "info", false, &data, NULL), FW_ERR_NOT_FOUND);
    assert_int_equal(object_debug_section(dwo, "inf", true, &data, NULL), FW_ERR_NOT_FOUND);
    object_close(object);
    object_close(dwo);
}

/* Several threads unpack, and the result is as if one had. */
static void *run_half(void *context)
{
    struct object_inflation *list = context;
    for (size_t i = 0; list[i].codec; i += 2)
        object_inflation_run(&list[i]);
    return NULL;
}

static void inflates_on_several_threads(void **state)
{
    (void)state;
    fixture_need("gcc objcopy");
    fixture_text("r.c", source);
    static const char *const kinds[] = {"zlib", "zlib-gnu", "zstd"};
    fixture_run("gcc -g3 -O1 -shared -fPIC r.c -o plain.so");
    for (size_t k = 0; k < 3; k++) {
        if (!fixture_try("objcopy --compress-debug-sections=%s plain.so packed.so", kinds[k]))
            continue;
        struct object *plain = fixture_open("plain.so"), *packed = fixture_open("packed.so");
        struct object_inflation list[NAMES + 2] = {0};
        size_t count = object_inflations(packed, names, NAMES, false, list, NAMES);
        assert_true(count >= 3);
        assert_int_equal(object_inflations(plain, names, NAMES, false, list + count, 1), 0);
        pthread_t other;
        assert_int_equal(pthread_create(&other, NULL, run_half, list), 0);
        run_half(list + 1);
        pthread_join(other, NULL);
        const uint8_t *first = list[0].result;
        assert_non_null(first);
        object_inflations_take(packed, list, count);
        assert_int_equal(object_inflations(packed, names, NAMES, false, list, NAMES), 0);
        bool used = false;
        for (size_t i = 0; i < NAMES; i++) {
            struct span a, b;
            if (object_debug_section(plain, names[i], false, &a, NULL) != FW_OK)
                continue;
            b = section_of(packed, names[i], false);
            assert_int_equal(a.size, b.size);
            assert_memory_equal(a.data, b.data, a.size);
            used |= b.data == first;
        }
        assert_true(used);
        object_close(plain);
        object_close(packed);
    }
}

/* An object whose section .debug_info is `packed`, with SHF_COMPRESSED and a header that claims
 * `size` bytes. */
static fw_error read_blob(const char *packed, uint32_t method, uint64_t size, struct span *data,
                          struct object **object, uint8_t **bytes, struct fw_failure *why)
{
    size_t blob_size, file_size;
    uint8_t *blob = fixture_read(packed, &blob_size);
    Elf64_Chdr header = {.ch_type = method, .ch_size = size, .ch_addralign = 1};
    uint8_t *whole = malloc(sizeof header + blob_size);
    assert_non_null(whole);
    memcpy(whole, &header, sizeof header);
    memcpy(whole + sizeof header, blob, blob_size);
    fixture_write("blob", whole, sizeof header + blob_size);
    free(whole);
    free(blob);
    fixture_text("e.c", "int e;");
    fixture_run("gcc -shared -fPIC e.c -o e.so && "
                "objcopy --add-section .debug_info=blob e.so blob.so");
    *bytes = fixture_read("blob.so", &file_size);
    Elf64_Ehdr *file = (Elf64_Ehdr *)*bytes;
    Elf64_Shdr *sections = (Elf64_Shdr *)(*bytes + file->e_shoff);
    const char *strings = (const char *)*bytes + sections[file->e_shstrndx].sh_offset;
    for (size_t i = 1; i < file->e_shnum; i++)
        if (strcmp(strings + sections[i].sh_name, ".debug_info") == 0)
            sections[i].sh_flags |= SHF_COMPRESSED;
    assert_int_equal(object_open_bytes(*bytes, file_size, false, "blob", object, NULL), FW_OK);
    return object_debug_section(*object, "info", false, data, why);
}

static fw_error unpacked_size(const char *packed, uint32_t method, uint64_t size,
                              struct fw_failure *why)
{
    struct object *object;
    uint8_t *bytes;
    struct span data;
    fw_error error = read_blob(packed, method, size, &data, &object, &bytes, why);
    if (error == FW_OK)
        assert_int_equal(data.size, size);
    else
        assert_int_equal(data.size, 0);
    object_close(object);
    free(bytes);
    return error;
}

static void unpacks_odd_zstd_streams(void **state)
{
    (void)state;
    fixture_need("gcc objcopy zstd");
    struct fw_failure why = {0};
    const uint64_t mega = 1 << 20;
    fixture_run("head -c 16M /dev/zero >zeros && head -c 3M /dev/urandom >noise &&"
                "cat noise zeros noise >far &&" /* a repeat beyond 8 MB */
                "zstd -q -f zeros -o rle && zstd -q -f -c <zeros >nosize &&"
                "zstd -q -f --long=27 far -o long &&"
                "zstd -q -f -c noise >frames && zstd -q -c <zeros >>frames &&"
                "head -c 1000000 frames >cut");
    assert_int_equal(unpacked_size("rle", 2, 16 * mega, &why), FW_OK);
    assert_int_equal(unpacked_size("nosize", 2, 16 * mega, &why), FW_OK);
    assert_int_equal(unpacked_size("long", 2, 22 * mega, &why), FW_OK);
    assert_int_equal(unpacked_size("frames", 2, 19 * mega, &why), FW_OK);
    assert_int_equal(unpacked_size("rle", 2, 17 * mega, &why), FW_ERR_CORRUPT);
    assert_int_equal(unpacked_size("frames", 2, 18 * mega, &why), FW_ERR_CORRUPT);
    assert_int_equal(unpacked_size("frames", 2, 20 * mega, &why), FW_ERR_CORRUPT);
    assert_int_equal(unpacked_size("cut", 2, 19 * mega, &why), FW_ERR_CORRUPT);
}

static void refuses_bombs(void **state)
{
    (void)state;
    fixture_need("gcc objcopy zstd python3");
    struct fw_failure why = {0};
    fixture_run(
        "head -c 4M /dev/zero | zstd -q -f -c >bomb &&"
        "python3 -c 'import zlib,sys; sys.stdout.buffer.write(zlib.compress(bytes(4 << 20), 9))'"
        " >flat");
    assert_int_equal(unpacked_size("flat", 1, 4 << 20, &why), FW_OK); /* 1000:1 */
    static const uint64_t claims[] = {(uint64_t)1 << 31, (uint64_t)1 << 40, UINT64_MAX};
    for (size_t i = 0; i < 3; i++)
        for (uint32_t method = 1; method <= 2; method++) {
            assert_int_equal(unpacked_size(method == 1 ? "flat" : "bomb", method, claims[i], &why),
                             FW_ERR_CORRUPT);
            assert_non_null(strstr(why.message, ".debug_info claims to inflate"));
        }
}

struct starts {
    uint64_t list[4096];
    size_t count;
};

static bool take_start(void *context, uint64_t vaddr)
{
    struct starts *s = context;
    s->list[s->count++] = vaddr;
    return s->count < sizeof s->list / sizeof s->list[0];
}

static bool has_start(const struct starts *s, uint64_t vaddr)
{
    for (size_t i = 0; i < s->count; i++)
        if (s->list[i] == vaddr)
            return true;
    return false;
}

static bool in_ranges(const struct object_range *ranges, size_t count, uint64_t vaddr)
{
    for (size_t i = 0; i < count; i++)
        if (vaddr >= ranges[i].lo && vaddr < ranges[i].hi)
            return true;
    return false;
}

/* `symbols` is the file that nm asks; `offset` what the made-up address of a section adds. */
static void expect_places(const char *file, const char *symbols, bool starts_known)
{
    static const char *const functions[] = {"one", "two", "three"};
    struct object *object = fixture_open(file);
    const struct object_range *ranges;
    size_t count;
    static struct starts starts;
    starts.count = 0;
    assert_int_equal(object_code_ranges(object, &ranges, &count), FW_OK);
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_true(ranges[i].lo < ranges[i].hi);
        assert_true(i == 0 || ranges[i - 1].hi <= ranges[i].lo);
    }
    object_function_starts(object, take_start, &starts);
    for (size_t i = 0; i < 3; i++) {
        uint64_t address = fixture_nm("", symbols, functions[i]);
        if (!in_ranges(ranges, count, address))
            fail_msg("%s: %s is not in the code", file, functions[i]);
        if (has_start(&starts, address) != starts_known)
            fail_msg("%s: start of %s", file, functions[i]);
    }
    assert_false(in_ranges(ranges, count, UINT64_MAX));
    object_close(object);
}

static void knows_code_and_starts(void **state)
{
    (void)state;
    fixture_need("gcc nm objcopy llvm-objcopy-19");
    fixture_text("r.c", source);
    fixture_run(
        "gcc -g -O1 -shared -fPIC r.c -o r.so &&"
        "objcopy --only-keep-debug r.so r.debug && llvm-objcopy-19 --strip-sections r.so s.so &&"
        "gcc -g -O1 -shared -fPIC -Wl,--no-eh-frame-hdr r.c -o n.so &&"
        "gcc -g -O1 -c r.c -o r.o");
    expect_places("r.so", "r.so", true);
    expect_places("r.debug", "r.so", false);
    expect_places("s.so", "r.so", true);
    expect_places("n.so", "n.so", true);
    expect_places("r.o", "r.o", true);
}

/* Symbols, ranges, starts and sections of an object agree on made-up addresses, and its debug file
 * agrees with it. */
static void relocatable_layout_is_one(void **state)
{
    (void)state;
    fixture_need("gcc objcopy");
    fixture_text("r.c", source);
    fixture_run(
        "gcc -g -O1 -ffunction-sections -c r.c -o r.o && objcopy --only-keep-debug r.o r.dbg");
    struct object *object = fixture_open("r.o"), *debug = fixture_open("r.dbg");
    const struct object_range *ranges, *others;
    size_t count, other_count;
    assert_int_equal(object_code_ranges(object, &ranges, &count), FW_OK);
    assert_int_equal(object_code_ranges(debug, &others, &other_count), FW_OK);
    assert_int_equal(count, 3);
    assert_int_equal(ranges[0].lo, 0);
    assert_int_equal(other_count, count);
    assert_memory_equal(ranges, others, count * sizeof *ranges);
    static struct starts starts;
    starts.count = 0;
    object_function_starts(object, take_start, &starts);
    struct symbols *symbols = symbols_build(object, NULL);
    static const char *const functions[] = {"one", "two", "three"};
    for (size_t i = 0; i < 3; i++) {
        struct symbol_match match;
        assert_true(symbols_lookup(symbols, ranges[i].lo + 1, &match));
        assert_string_equal(match.name, functions[i]);
        assert_int_equal(match.vaddr, ranges[i].lo);
        assert_true(has_start(&starts, ranges[i].lo));
    }
    symbols_destroy(symbols);
    object_close(object);
    object_close(debug);
}

static void names_the_supplementary_file(void **state)
{
    (void)state;
    fixture_need("gcc dwz eu-readelf");
    fixture_text("r.c", source);
    fixture_run("gcc -g -O1 -shared -fPIC r.c -o a.so && gcc -g -O2 -shared -fPIC r.c -o b.so &&"
                "dwz -m common.dwz -M /usr/lib/debug/.dwz/common.dwz a.so b.so");
    struct object *object = fixture_open("a.so"), *common = fixture_open("common.dwz");
    const char *path;
    struct span id, real = object_build_id(common);
    assert_true(object_debugaltlink(object, &path, &id));
    assert_string_equal(path, "/usr/lib/debug/.dwz/common.dwz");
    assert_int_equal(id.size, real.size);
    assert_memory_equal(id.data, real.data, id.size);
    assert_false(object_debugaltlink(common, &path, &id));
    object_close(object);
    object_close(common);
}

/* A relocation that cannot be applied is said, and the others stand. */
static void names_bad_relocations(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("r.c", source);
    fixture_run("gcc -g -O1 -c r.c -o r.o");
    size_t size;
    uint8_t *bytes = fixture_read("r.o", &size);
    Elf64_Ehdr *file = (Elf64_Ehdr *)bytes;
    if (file->e_machine != EM_X86_64) {
        print_message("skipped: needs an x86-64 compiler\n");
        free(bytes);
        skip();
    }
    Elf64_Shdr *sections = (Elf64_Shdr *)(bytes + file->e_shoff);
    const char *strings = (const char *)bytes + sections[file->e_shstrndx].sh_offset;
    Elf64_Rela *table = NULL;
    for (size_t i = 1; i < file->e_shnum; i++)
        if (strcmp(strings + sections[i].sh_name, ".rela.debug_info") == 0)
            table = (Elf64_Rela *)(bytes + sections[i].sh_offset);
    assert_non_null(table);
    const Elf64_Rela good = table[3];
    const Elf64_Rela bad[] = {
        {good.r_offset, ELF64_R_INFO(ELF64_R_SYM(good.r_info), 99), good.r_addend},
        {good.r_offset, ELF64_R_INFO(1 << 30, ELF64_R_TYPE(good.r_info)), good.r_addend},
        {(uint64_t)1 << 40, good.r_info, good.r_addend},
        {UINT64_MAX - 1, good.r_info, good.r_addend},
    };
    static const char *const said[] = {"relocation 3 (type 99", "names no symbol", "lies outside",
                                       "lies outside"};
    struct object *right = fixture_open("r.o");
    struct span expected = section_of(right, "info", false);
    for (size_t i = 0; i < 4; i++) {
        table[3] = bad[i];
        struct object *object;
        struct span data;
        struct fw_failure why = {0};
        assert_int_equal(object_open_bytes(bytes, size, false, "r.o", &object, NULL), FW_OK);
        assert_int_equal(object_debug_section(object, "info", false, &data, &why), FW_OK);
        assert_int_not_equal(why.code, FW_OK);
        if (!strstr(why.message, said[i]))
            fail_msg("\"%s\" does not say: %s", why.message, said[i]);
        assert_int_equal(data.size, expected.size);
        size_t other = 0;
        for (size_t k = 0; k < data.size; k++)
            other += data.data[k] != expected.data[k];
        assert_true(other <= 8);
        object_close(object);
    }
    object_close(right);
    free(bytes);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(relocates_like_a_linker),
        cmocka_unit_test(sections_of_one_name_follow_each_other),
        cmocka_unit_test(tells_split_sections_apart),
        cmocka_unit_test(inflates_on_several_threads),
        cmocka_unit_test(unpacks_odd_zstd_streams),
        cmocka_unit_test(refuses_bombs),
        cmocka_unit_test(knows_code_and_starts),
        cmocka_unit_test(relocatable_layout_is_one),
        cmocka_unit_test(names_the_supplementary_file),
        cmocka_unit_test(names_bad_relocations),
    };
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
