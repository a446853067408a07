/* Headers: both classes and byte orders made by hand, extended numbering, damage and truncation;
 * and real files of every tool chain at hand. */
#include "object/fixture.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

/* A writer of numbers in the chosen class and byte order. */
struct writer {
    uint8_t bytes[4096];
    size_t at;
    bool is_64, big;
};

static void put(struct writer *w, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        w->bytes[w->at++] = (uint8_t)(value >> 8 * (w->big ? size - 1 - i : i));
}

static void word(struct writer *w, uint64_t value)
{
    put(w, value, w->is_64 ? 8 : 4);
}

struct made {
    uint16_t type, phnum, shnum, shstrndx;
    uint64_t phoff, shoff;
};

static void put_header(struct writer *w, const struct made *m)
{
    memcpy(w->bytes, ELFMAG, 4);
    w->bytes[EI_CLASS] = w->is_64 ? ELFCLASS64 : ELFCLASS32;
    w->bytes[EI_DATA] = w->big ? ELFDATA2MSB : ELFDATA2LSB;
    w->bytes[EI_VERSION] = EV_CURRENT;
    w->at = EI_NIDENT;
    put(w, m->type, 2);
    put(w, w->is_64 ? EM_AARCH64 : EM_ARM, 2);
    put(w, EV_CURRENT, 4);
    word(w, 0x1234);
    word(w, m->phoff);
    word(w, m->shoff);
    put(w, 0, 4);
    put(w, w->is_64 ? 64 : 52, 2);
    put(w, w->is_64 ? 56 : 32, 2);
    put(w, m->phnum, 2);
    put(w, w->is_64 ? 64 : 40, 2);
    put(w, m->shnum, 2);
    put(w, m->shstrndx, 2);
}

static void put_segment(struct writer *w, uint32_t type, uint32_t flags, uint64_t offset,
                        uint64_t vaddr, uint64_t file_size, uint64_t memory_size)
{
    put(w, type, 4);
    if (w->is_64)
        put(w, flags, 4);
    word(w, offset);
    word(w, vaddr);
    word(w, vaddr);
    word(w, file_size);
    word(w, memory_size);
    if (!w->is_64)
        put(w, flags, 4);
    word(w, 4);
}

static void put_section(struct writer *w, uint32_t name, uint32_t type, uint64_t flags,
                        uint64_t vaddr, uint64_t offset, uint64_t size, uint32_t link,
                        uint32_t info)
{
    put(w, name, 4);
    put(w, type, 4);
    word(w, flags);
    word(w, vaddr);
    word(w, offset);
    word(w, size);
    put(w, link, 4);
    put(w, info, 4);
    word(w, 1);
    word(w, 0);
}

static fw_error open_made(const struct writer *w, size_t size, struct object **object)
{
    struct fw_failure why = {0};
    fw_error error = object_open_bytes(w->bytes, size, true, "made", object, &why);
    if (error != FW_OK) {
        assert_int_equal(why.code, error);
        assert_non_null(strstr(why.message, "made: "));
    }
    return error;
}

/* Header, two segments (code with a note inside), three sections. Returns the length. */
static size_t make_small(struct writer *w, bool is_64, bool big)
{
    *w = (struct writer){.is_64 = is_64, .big = big};
    struct made m = {ET_DYN, 2, 3, 2, 0x40, 0x300};
    put_header(w, &m);
    w->at = 0x40;
    put_segment(w, PT_LOAD, PF_R | PF_X, 0, 0x8000, 0x240, 0x1000);
    put_segment(w, PT_NOTE, PF_R, 0x200, 0x8200, 24, 24);
    w->at = 0x200;
    put(w, 4, 4);
    put(w, 5, 4);
    put(w, NT_GNU_BUILD_ID, 4);
    memcpy(w->bytes + w->at, "GNU\0\x11\x22\x33\x44\x55\0\0", 12);
    w->at = 0x240;
    memcpy(w->bytes + w->at, "\0.text\0.shstrtab", 17);
    w->at = 0x300;
    put_section(w, 0, SHT_NULL, 0, 0, 0, 0, 0, 0);
    put_section(w, 1, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0x8200, 0x200, 0x40, 0, 0);
    put_section(w, 7, SHT_STRTAB, 0, 0, 0x240, 17, 0, 0);
    return w->at;
}

static void reads_both_classes_and_byte_orders(void **state)
{
    (void)state;
    for (unsigned variant = 0; variant < 4; variant++) {
        bool is_64 = variant & 1, big = variant & 2;
        struct writer w;
        struct object *o;
        assert_int_equal(open_made(&w, make_small(&w, is_64, big), &o), FW_OK);
        assert_int_equal(object_is_64(o), is_64);
        assert_int_equal(object_is_big_endian(o), big);
        assert_int_equal(object_type(o), OBJECT_SHARED);
        assert_ptr_equal(object_arch(o), is_64 ? &arch_aarch64 : &arch_arm);
        assert_int_equal(object_entry(o), 0x1234);
        assert_false(object_is_truncated(o));
        assert_int_equal(object_segment_count(o), 1);
        const struct object_segment *s = object_segment(o, 0);
        assert_int_equal(s->vaddr, 0x8000);
        assert_int_equal(s->memory_size, 0x1000);
        assert_true(s->executable && s->readable && !s->writable);
        assert_null(object_segment(o, 1));
        assert_int_equal(object_base(o), 0x8000);
        assert_int_equal(object_segment_data(o, 0).size, 0x240);
        assert_int_equal(object_at(o, 0x8230).size, 0x10);
        assert_int_equal(object_at(o, 0x8240).size, 0); /* zero-filled */
        assert_int_equal(object_at(o, 0x7fff).size, 0);
        struct span id = object_build_id(o);
        assert_int_equal(id.size, 5);
        assert_memory_equal(id.data, "\x11\x22\x33\x44\x55", 5);
        struct unwind_section text;
        assert_int_equal(object_section_data(o, ".text", &text, NULL), FW_OK);
        assert_int_equal(text.vaddr, 0x8200);
        assert_int_equal(text.size, 0x40);
        assert_int_equal(object_section_data(o, ".bss", &text, NULL), FW_ERR_NOT_FOUND);
        object_close(o);
    }
}

static bool count_note(void *context, const char *name, uint32_t type, struct span contents)
{
    (void)type;
    assert_string_equal(name, "GNU");
    assert_int_equal(contents.size, 5);
    return ++*(int *)context < 100;
}

static void gives_each_note_once(void **state)
{
    (void)state;
    struct writer w;
    size_t size = make_small(&w, true, false);
    w.at = 0x340 + 4; /* the section becomes a SHT_NOTE over the same bytes as the segment */
    put(&w, SHT_NOTE, 4);
    struct object *o;
    assert_int_equal(open_made(&w, size, &o), FW_OK);
    int count = 0;
    object_notes(o, count_note, &count);
    assert_int_equal(count, 1);
    object_close(o);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    struct writer w;
    struct object *o;
    size_t size = make_small(&w, true, false);
    assert_int_equal(open_made(&w, 0, &o), FW_ERR_FORMAT);
    assert_int_equal(open_made(&w, 3, &o), FW_ERR_FORMAT);
    assert_int_equal(open_made(&w, 4, &o), FW_ERR_TRUNCATED);
    assert_int_equal(open_made(&w, 63, &o), FW_ERR_TRUNCATED);
    assert_int_equal(open_made(&w, 0x40 + 56, &o), FW_ERR_TRUNCATED); /* program headers cut */
    assert_null(o);
    w.bytes[EI_CLASS] = 7;
    assert_int_equal(open_made(&w, size, &o), FW_ERR_CORRUPT);
    make_small(&w, true, false);
    w.bytes[EI_DATA] = 0;
    assert_int_equal(open_made(&w, size, &o), FW_ERR_CORRUPT);
    make_small(&w, true, false);
    w.bytes[0x36] = 8; /* e_phentsize */
    assert_int_equal(open_made(&w, size, &o), FW_ERR_CORRUPT);
    struct fw_failure why;
    assert_int_equal(object_open(fixture_path("absent"), &o, &why), FW_ERR_NOT_FOUND);
    assert_true(why.os_error != 0);
    assert_int_equal(object_open("/dev/null", &o, &why), FW_ERR_FORMAT);
    assert_int_equal(object_open(fixture_path(""), &o, &why), FW_ERR_FORMAT); /* a folder */
    fixture_text("empty", "");
    assert_int_equal(object_open(fixture_path("empty"), &o, &why), FW_ERR_FORMAT);
    fixture_run("mkfifo fifo");
    assert_int_equal(object_open(fixture_path("fifo"), &o, &why), FW_ERR_FORMAT);
}

static void opens_what_is_cut_short_and_says_so(void **state)
{
    (void)state;
    struct writer w;
    struct object *o;
    size_t size = make_small(&w, true, false);
    assert_int_equal(open_made(&w, size - 1, &o), FW_OK); /* section headers cut: none */
    assert_true(object_is_truncated(o));
    assert_int_equal(object_section_count(o), 0);
    assert_int_equal(object_segment_count(o), 1);
    assert_int_equal(object_build_id(o).size, 5);
    object_close(o);
    assert_int_equal(open_made(&w, 0x210, &o), FW_OK); /* contents of the segment cut */
    assert_true(object_is_truncated(o));
    assert_int_equal(object_segment_data(o, 0).size, 0x210);
    assert_int_equal(object_build_id(o).size, 0);
    object_close(o);
    w.at = 0x340 + 24; /* the section's offset */
    put(&w, 0x100000, 8);
    assert_int_equal(open_made(&w, size, &o), FW_OK);
    assert_true(object_is_truncated(o));
    struct unwind_section text;
    assert_int_equal(object_section_data(o, ".text", &text, NULL), FW_ERR_TRUNCATED);
    object_close(o);
}

static void drops_segments_that_wrap(void **state)
{
    (void)state;
    struct writer w;
    size_t size = make_small(&w, true, false);
    w.at = 0x40;
    put_segment(&w, PT_LOAD, PF_R | PF_X, 0, UINT64_MAX - 0xff, 0x240, 0x1000);
    struct object *o;
    assert_int_equal(open_made(&w, size, &o), FW_OK);
    assert_int_equal(object_segment_count(o), 0);
    assert_int_equal(object_at(o, 0).size, 0);
    object_close(o);
}

static void takes_extended_numbers_from_section_zero(void **state)
{
    (void)state;
    struct writer w;
    size_t size = make_small(&w, true, false);
    struct made m = {ET_CORE, PN_XNUM, 0, SHN_XINDEX, 0x40, 0x300};
    put_header(&w, &m);
    w.at = 0x300;
    put_section(&w, 0, SHT_NULL, 0, 0, 0, 3, 2, 2);
    struct object *o;
    assert_int_equal(open_made(&w, size, &o), FW_OK);
    assert_int_equal(object_type(o), OBJECT_CORE);
    assert_int_equal(object_segment_count(o), 1);
    assert_int_equal(object_section_count(o), 3);
    struct object_section text;
    assert_true(object_section_at(o, 1, &text));
    assert_string_equal(text.name, ".text");
    assert_false(object_section_at(o, 3, &text));
    object_close(o);
    /* Without section 0 the number of program headers is unknown. */
    assert_int_equal(open_made(&w, 0x300, &o), FW_ERR_TRUNCATED);
}

/* More sections than 16 bits count: one function each in the assembler's output. */
static void reads_more_than_65280_sections(void **state)
{
    (void)state;
    fixture_need("gcc awk");
    fixture_run("awk 'BEGIN { for (i = 0; i < 65400; i++) print \".section .text.f\" i "
                "\",\\\"ax\\\",@progbits\\n.globl f\" i \"\\n.type f\" i \",@function\\nf\" i "
                "\": .byte 0x90\" }' > many.s && gcc -c many.s -o many.o && rm many.s");
    struct object *o = fixture_open("many.o");
    assert_int_equal(object_type(o), OBJECT_RELOCATABLE);
    assert_true(object_section_count(o) > 65400);
    struct unwind_section last;
    assert_int_equal(object_section_data(o, ".text.f65399", &last, NULL), FW_OK);
    assert_int_equal(last.size, 1);
    object_close(o);
}

struct last_symbol {
    uint32_t section;
    size_t count;
};

static bool find_last(void *context, const struct object_symbol *symbol)
{
    struct last_symbol *last = context;
    last->count++;
    if (strcmp(symbol->name, "f65399") == 0)
        last->section = symbol->section;
    return true;
}

static void resolves_extended_section_numbers_of_symbols(void **state)
{
    (void)state;
    fixture_need("gcc awk");
    struct object *o = fixture_open("many.o");
    struct last_symbol last = {0};
    assert_int_equal(object_symbols(o, false, find_last, &last), FW_OK);
    assert_int_equal(last.count, 65400);
    struct object_section section;
    assert_true(object_section_at(o, last.section, &section));
    assert_string_equal(section.name, ".text.f65399");
    object_close(o);
}

static void tells_programs_from_libraries(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("main.c", "int main(void) { return 0; }");
    fixture_run("gcc -pie -fPIE main.c -o pie && gcc -no-pie -fno-PIE main.c -o exec &&"
                "gcc -shared -fPIC main.c -o lib.so && gcc -c main.c -o main.o &&"
                "gcc -static-pie -nostdlib -Wl,-e,main main.c -o static_pie");
    static const struct {
        const char *name;
        enum object_type type;
    } expected[] = {{"pie", OBJECT_EXECUTABLE},
                    {"exec", OBJECT_EXECUTABLE},
                    {"static_pie", OBJECT_EXECUTABLE},
                    {"lib.so", OBJECT_SHARED},
                    {"main.o", OBJECT_RELOCATABLE}};
    for (size_t i = 0; i < 5; i++) {
        struct object *o = fixture_open(expected[i].name);
        assert_int_equal(object_type(o), expected[i].type);
        assert_string_equal(object_label(o), fixture_path(expected[i].name));
        object_close(o);
    }
}

/* 64-bit PowerPC: its first ABI has symbols of descriptors, which are no code. */
static void refuses_function_descriptors(void **state)
{
    (void)state;
    static const struct {
        bool big;
        uint16_t machine;
        uint8_t flags;
        fw_error expected;
    } files[] = {{true, EM_PPC64, 1, FW_ERR_UNSUPPORTED},
                 {false, EM_PPC64, 1, FW_ERR_UNSUPPORTED},
                 {true, EM_PPC64, 2, FW_OK},
                 {false, EM_PPC64, 2, FW_OK},
                 {false, EM_X86_64, 1, FW_OK}};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct writer w;
        struct object *o;
        bool big = files[i].big;
        size_t size = make_small(&w, true, big);
        w.bytes[big ? 18 : 19] = 0;
        w.bytes[big ? 19 : 18] = (uint8_t)files[i].machine;
        w.bytes[big ? 51 : 48] = files[i].flags;
        assert_int_equal(open_made(&w, size, &o), files[i].expected);
        if (files[i].expected == FW_OK)
            object_close(o);
    }
    fixture_text("old.s",
                 ".section .opd,\"aw\"\n.globl f\n.type f, @function\nf: .quad .L.f, 0, 0\n"
                 ".text\n.L.f: nop\nblr\n");
    if (!fixture_try("clang-19 --target=powerpc64-linux-gnu -c old.s -o old.o")) {
        print_message("skipped: no clang-19 for PowerPC\n");
        return;
    }
    struct fw_failure why = {0};
    struct object *o;
    assert_int_equal(object_open(fixture_path("old.o"), &o, &why), FW_ERR_UNSUPPORTED);
    assert_non_null(strstr(why.message, "function descriptors"));
}

static void reads_every_target(void **state)
{
    (void)state;
    fixture_text("f.c", "int f(int x) { return x + 1; }");
    for (size_t i = 0; i < fixture_target_count; i++) {
        const struct fixture_target *t = &fixture_targets[i];
        if (!fixture_target_works(t))
            continue;
        fixture_run("%s %s -g -shared -fPIC -Wl,--build-id=0x0102030405060708 f.c -o f.so",
                    t->compiler, t->flags);
        struct object *o = fixture_open("f.so");
        assert_non_null(object_arch(o));
        assert_string_equal(object_arch(o)->name, t->name);
        assert_int_equal(object_machine(o), t->machine);
        assert_int_equal(object_is_64(o), t->pointer_size == 8);
        assert_false(object_is_truncated(o));
        struct span id = object_build_id(o);
        assert_int_equal(id.size, 8);
        assert_memory_equal(id.data, "\1\2\3\4\5\6\7\10", 8);
        object_close(o);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_both_classes_and_byte_orders),
        cmocka_unit_test(refuses_function_descriptors),
        cmocka_unit_test(gives_each_note_once),
        cmocka_unit_test(says_what_is_wrong),
        cmocka_unit_test(opens_what_is_cut_short_and_says_so),
        cmocka_unit_test(drops_segments_that_wrap),
        cmocka_unit_test(takes_extended_numbers_from_section_zero),
        cmocka_unit_test(reads_more_than_65280_sections),
        cmocka_unit_test(resolves_extended_section_numbers_of_symbols),
        cmocka_unit_test(tells_programs_from_libraries),
        cmocka_unit_test(reads_every_target),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
