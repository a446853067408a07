/* CIEs and FDEs in all their forms, and the ways to find them: header, index, scan. Vectors are
 * made by hand from LSB 4.1 Core sections 10.5 and 10.6 and DWARF 5 section 6.4.1. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unwind/cfi_bytes.h"
#include "unwind/sources.h"

enum {
    FRAMES = 0x20000, /* address of .eh_frame */
    HEADER = 0x1f000, /* of .eh_frame_hdr */
    GOT = 0x30000,
    TEXT = 0x40000,
    START = 0x21000,
    LENGTH = 0x40,
};

static struct bytes frames, header;
static struct unwind_image image;

static int reset(void **state)
{
    (void)state;
    frames = (struct bytes){0};
    header = (struct bytes){0};
    image = (struct unwind_image){.arch = &arch_x86_64, .got_vaddr = GOT, .text_vaddr = TEXT};
    return 0;
}

static struct cie_form form_of(const struct arch *arch)
{
    return (struct cie_form){.version = 1,
                             .augmentation = "zR",
                             .encoding = 0x1b,
                             .code_align = 1,
                             .data_align = -8,
                             .return_column = arch->ra_column,
                             .address_size = arch->pointer_size};
}

/* The sections point to the buffers: to be called after the last byte was put. */
static void finish(bool debug_frame)
{
    struct unwind_section section = {frames.data, frames.size, debug_frame ? 0 : FRAMES};
    image.big_endian = frames.big_endian;
    *(debug_frame ? &image.debug_frame : &image.eh_frame) = section;
    if (header.size)
        image.eh_frame_hdr = (struct unwind_section){header.data, header.size, HEADER};
}

static enum unwind_status find(uint64_t vaddr, struct unwind_row *row)
{
    return image.debug_frame.data ? cfi_find_debug(&image, vaddr, row)
                                  : cfi_find_eh(&image, vaddr, row);
}

static void expect_none(uint64_t vaddr)
{
    struct unwind_row row;
    assert_int_equal(find(vaddr, &row), UNWIND_NO_INFO);
}

/* CFA of the row at `vaddr`: tests tell functions apart by it. */
static int64_t cfa_at(uint64_t vaddr)
{
    struct unwind_row row;
    assert_int_equal(find(vaddr, &row), UNWIND_OK);
    assert_true(row.lo <= vaddr && vaddr < row.hi);
    return row.cfa_offset;
}

/* Exactly [lo, hi) is found, by scan and by index. */
static void expect_function(uint64_t lo, uint64_t hi, int64_t cfa)
{
    bool debug = image.debug_frame.data != NULL;
    struct cfi_index *index = cfi_index_build(&image, debug);
    assert_non_null(index);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cfa_at(lo), cfa);
        assert_int_equal(cfa_at(hi - 1), cfa);
        expect_none(lo - 1);
        expect_none(hi);
        *(debug ? &image.debug_index : &image.eh_index) = index;
    }
    image.debug_index = image.eh_index = NULL;
    cfi_index_destroy(index);
}

#define USUAL PROGRAM(0x0c, 7, 8, 0x90, 1)

/* A table of one function; `value` stands in the FDE for its start. */
static void one_function(const struct cie_form *form, uint64_t value)
{
    size_t cie = put_cie(&frames, form, USUAL);
    put_fde(&frames, form, cie, value, LENGTH, PROGRAM(0x0e, 0x20));
    finish(form->debug_frame);
}

/* Offset of the start in the FDE of one_function(): the sections before it do not depend on the
 * value as long as its size does not. */
static uint64_t start_field(const struct cie_form *form)
{
    struct bytes before = {.big_endian = frames.big_endian};
    return put_cie(&before, form, USUAL), before.size + (form->wide ? 12 : 4) + 4;
}

static void pointer_encodings(void **state)
{
    static const uint8_t formats[] = {0x00, 0x01, 0x02, 0x03, 0x04, 0x08, 0x09, 0x0a, 0x0b, 0x0c};
    static const uint8_t bases[] = {0x00, 0x10, 0x20, 0x30, 0x50};
    for (unsigned f = 0; f < sizeof formats; f++) {
        for (unsigned b = 0; b < sizeof bases; b++) {
            bool narrow = (formats[f] & 7) == 2;
            if (bases[b] == 0x50 && formats[f] != 0)
                continue; /* aligned pointers are absolute and full size */
            reset(state);
            struct cie_form form = form_of(image.arch);
            form.encoding = formats[f] | bases[b];
            uint64_t field = FRAMES + start_field(&form), target = START;
            uint64_t base = bases[b] == 0x10   ? field
                            : bases[b] == 0x20 ? TEXT
                            : bases[b] == 0x30 ? GOT
                                               : 0;
            if (narrow && base == 0)
                target = 0x2000;
            else if (narrow)
                target = formats[f] == 0x02 ? base + 0xf000 : base - 0x7000;
            else if (!(formats[f] & 8) && target < base)
                target = base + 0x123456;
            if (bases[b] == 0x50) {
                size_t cie = put_cie(&frames, &form, USUAL), body = begin_entry(&frames, false);
                put(&frames, frames.size - cie, 4);
                while (frames.size % 8)
                    put(&frames, 0xcc, 1);
                put(&frames, target, 8);
                put(&frames, LENGTH, 8);
                put_bytes(&frames, "\0\x0e\x20", 3);
                end_entry(&frames, body, false);
                finish(false);
            } else {
                one_function(&form, target - base);
            }
            expect_function(target, target + LENGTH, 0x20);
        }
    }
}

static void pointers_that_cannot_be_read(void **state)
{
    static const uint8_t encodings[] = {0xff, 0x9b, 0x80, 0x4b, 0x6b, 0x7b, 0x07, 0x0f, 0x05};
    for (unsigned i = 0; i < sizeof encodings; i++) {
        reset(state);
        struct cie_form form = form_of(image.arch);
        form.encoding = encodings[i];
        one_function(&form, START);
        expect_none(START);
        assert_null(cfi_index_build(&image, false));
    }
    static const uint8_t baseless[] = {0x2b, 0x3b};
    for (unsigned i = 0; i < sizeof baseless; i++) {
        reset(state);
        image.got_vaddr = image.text_vaddr = 0;
        struct cie_form form = form_of(image.arch);
        form.encoding = baseless[i];
        one_function(&form, START);
        expect_none(START);
    }
}

static void addresses_wrap_at_32_bits(void **state)
{
    (void)state;
    image.arch = &arch_i386;
    struct cie_form form = form_of(image.arch);
    form.return_column = 8;
    one_function(&form, (0xfffff000u - FRAMES - start_field(&form)) & 0xffffffff);
    expect_function(0xfffff000, 0xfffff000 + LENGTH, 0x20);
}

static void set_location_follows_the_encoding(void **state)
{
    (void)state;
    struct cie_form form = form_of(image.arch);
    size_t cie = put_cie(&frames, &form, USUAL);
    uint64_t field = FRAMES + frames.size + 8;
    uint64_t operand = field + 4 + 4 + 3 + 1;
    uint32_t distance = (uint32_t)(START + 0x10 - operand);
    put_fde(&frames, &form, cie, START - field, LENGTH,
            PROGRAM(0x01, (uint8_t)distance, (uint8_t)(distance >> 8), (uint8_t)(distance >> 16),
                    (uint8_t)(distance >> 24), 0x0e, 0x20));
    finish(false);
    assert_int_equal(cfa_at(START + 0xf), 8);
    assert_int_equal(cfa_at(START + 0x10), 0x20);
}

static void versions_and_augmentations(void **state)
{
    static const struct {
        uint8_t version;
        const char *augmentation;
        bool signal_frame;
    } forms[] = {
        {1, "zR", false},   {3, "zR", false},   {4, "zR", false}, {5, "zR", false},
        {1, "zPLR", false}, {1, "zRPL", false}, {1, "zRS", true}, {3, "zPLRSB", true},
        {1, "zRG", false},  {1, "zRBG", false}, {1, "z", false},  {1, "", false},
        {1, "S", true},     {1, "SB", true},    {1, "eh", false},
    };
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        reset(state);
        struct cie_form form = form_of(image.arch);
        form.version = forms[i].version;
        form.augmentation = forms[i].augmentation;
        form.lsda_encoding = 0x1b;
        form.personality = 0x9b; /* indirect: fine, as nobody asks for it */
        form.encoding = strchr(form.augmentation, 'R') ? 0x03 : 0x00;
        one_function(&form, START);
        expect_function(START, START + LENGTH, 0x20);
        struct unwind_row row;
        assert_int_equal(find(START, &row), UNWIND_OK);
        assert_int_equal(row.signal_frame, forms[i].signal_frame);
    }
    static const uint8_t personalities[] = {0xff, 0x00, 0x01, 0x09, 0x0a, 0x0c, 0x1b};
    for (unsigned i = 0; i < sizeof personalities; i++) {
        reset(state);
        struct cie_form form = form_of(image.arch);
        form.augmentation = "zPR";
        form.personality = personalities[i];
        form.encoding = 0x03;
        if (personalities[i] == 0xff) { /* an omitted one takes no bytes */
            size_t body = begin_entry(&frames, false);
            put_bytes(&frames, "\0\0\0\0\1zPR\0\1\x78\x10\2\xff\3\x0c\7\x08\x90\1", 20);
            end_entry(&frames, body, false);
            put_fde(&frames, &form, 0, START, LENGTH, PROGRAM(0x0e, 0x20));
            finish(false);
        } else {
            one_function(&form, START);
        }
        expect_function(START, START + LENGTH, 0x20);
    }
}

static void unusable_cies(void **state)
{
    static const struct {
        uint8_t version, address_size;
        const char *augmentation;
        uint8_t return_column;
    } forms[] = {{0, 8, "zR", 16},  {2, 8, "zR", 16},  {6, 8, "zR", 16},     {4, 3, "zR", 16},
                 {4, 16, "zR", 16}, {1, 8, "zRQ", 16}, {1, 8, "armcc+", 16}, {1, 8, "R", 16}};
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        reset(state);
        struct cie_form form = form_of(image.arch);
        form.version = forms[i].version;
        form.augmentation = forms[i].augmentation;
        form.return_column = forms[i].return_column;
        form.encoding = 0x03;
        form.address_size = forms[i].address_size;
        one_function(&form, START);
        expect_none(START);
    }
    reset(state);
    struct cie_form form = form_of(image.arch);
    form.return_column = 40; /* a register that is not tracked */
    form.encoding = 0x03;
    one_function(&form, START);
    struct unwind_row row;
    assert_int_equal(find(START, &row), UNWIND_BAD_INFO);
}

static void the_return_column_is_honoured(void **state)
{
    (void)state;
    image.arch = &arch_aarch64;
    struct cie_form form = form_of(image.arch);
    form.return_column = 17;
    form.encoding = 0x03;
    one_function(&form, START);
    struct unwind_row row;
    assert_int_equal(find(START, &row), UNWIND_OK);
    assert_int_equal(row.ra_reg, 17);
}

/* Version 1 has one byte for it, the later ones LEB128. */
static void the_return_column_may_be_long(void **state)
{
    (void)state;
    static const uint8_t cie[] = {0, 0, 0, 0, 3, 'z', 'R', 0, 1, 0x78, 0x90, 0, 1, 3, 0x0c, 7, 8};
    size_t body = begin_entry(&frames, false);
    put_bytes(&frames, cie, sizeof cie);
    end_entry(&frames, body, false);
    struct cie_form form = form_of(image.arch);
    form.encoding = 0x03;
    put_fde(&frames, &form, 0, START, LENGTH, PROGRAM(0x0e, 0x20));
    finish(false);
    expect_function(START, START + LENGTH, 0x20);
}

static void every_fde_has_its_own_cie(void **state)
{
    (void)state;
    struct cie_form form = form_of(image.arch);
    form.encoding = 0x03;
    size_t first = put_cie(&frames, &form, PROGRAM(0x0c, 7, 0x10));
    size_t second = put_cie(&frames, &form, PROGRAM(0x0c, 7, 0x20));
    put_fde(&frames, &form, first, START, LENGTH, PROGRAM(0));
    put_fde(&frames, &form, second, START + 0x100, LENGTH, PROGRAM(0));
    put_fde(&frames, &form, first, START + 0x200, LENGTH, PROGRAM(0));
    finish(false);
    expect_function(START, START + LENGTH, 0x10);
    expect_function(START + 0x100, START + 0x100 + LENGTH, 0x20);
    expect_function(START + 0x200, START + 0x200 + LENGTH, 0x10);
}

static void sixty_four_bit_entries(void **state)
{
    (void)state;
    struct cie_form form = form_of(image.arch);
    form.wide = true;
    form.encoding = 0x03;
    one_function(&form, START);
    expect_function(START, START + LENGTH, 0x20);
}

static void debug_frame_forms(void **state)
{
    static const struct {
        const struct arch *arch;
        uint8_t version, address_size, segment_size;
        bool wide;
    } forms[] = {
        {&arch_x86_64, 1, 8, 0, false},  {&arch_x86_64, 3, 8, 0, true},
        {&arch_x86_64, 4, 8, 0, false},  {&arch_x86_64, 4, 8, 4, true},
        {&arch_i386, 3, 4, 0, false},    {&arch_arm, 4, 4, 2, false},
        {&arch_aarch64, 4, 8, 0, false}, {&arch_x86_64, 4, 4, 0, false},
    };
    for (unsigned i = 0; i < sizeof forms / sizeof *forms; i++) {
        reset(state);
        image.arch = forms[i].arch;
        struct cie_form form = form_of(image.arch);
        form.augmentation = "";
        form.encoding = 0;
        form.debug_frame = true;
        form.version = forms[i].version;
        form.address_size = forms[i].address_size;
        form.segment_size = forms[i].segment_size;
        form.wide = forms[i].wide;
        put(&frames, 0, 4); /* an empty entry is padding here */
        one_function(&form, START);
        expect_function(START, START + LENGTH, 0x20);
        struct unwind_row row;
        assert_int_equal(find(START, &row), UNWIND_OK);
        assert_int_equal(row.method, FW_METHOD_DEBUG_FRAME);
    }
}

static void functions_that_the_linker_left_out(void **state)
{
    static const uint64_t starts[] = {0, UINT64_MAX, UINT64_MAX - 1};
    for (unsigned wide = 0; wide < 2; wide++) {
        for (unsigned i = 0; i < 3; i++) {
            reset(state);
            image.arch = wide ? &arch_x86_64 : &arch_arm;
            struct cie_form form = form_of(image.arch);
            form.augmentation = "";
            form.encoding = 0;
            form.debug_frame = true;
            size_t cie = put_cie(&frames, &form, USUAL);
            put_fde(&frames, &form, cie, starts[i], 1, PROGRAM(0));
            finish(true);
            expect_none(wide ? starts[i] : (uint32_t)starts[i] & ~1u);
            assert_null(cfi_index_build(&image, true));
        }
    }
}

static void thumb_bits_are_no_addresses(void **state)
{
    (void)state;
    image.arch = &arch_arm;
    struct cie_form form = form_of(image.arch);
    form.augmentation = "";
    form.encoding = 0;
    form.debug_frame = true;
    one_function(&form, START | 1);
    expect_function(START, START + LENGTH, 0x20);
}

static void big_endian_tables(void **state)
{
    for (unsigned debug = 0; debug < 2; debug++) {
        reset(state);
        image.arch = &arch_aarch64;
        frames.big_endian = true;
        struct cie_form form = form_of(image.arch);
        form.debug_frame = form.wide = debug;
        form.augmentation = debug ? "" : "zR";
        form.encoding = debug ? 0 : 0x03;
        size_t cie = put_cie(&frames, &form, PROGRAM(0x0c, 31, 8));
        put_fde(&frames, &form, cie, START, LENGTH, PROGRAM(0x03, 0, 0x20, 0x0e, 0x30));
        finish(debug);
        assert_int_equal(cfa_at(START + 0x1f), 8);
        assert_int_equal(cfa_at(START + 0x20), 0x30);
    }
}

/* Functions at START + 0x100 * i, CFA offset 0x10 + i; where their FDEs are goes to `at`. */
static void many_functions(unsigned count, size_t *at)
{
    struct cie_form form = form_of(image.arch);
    form.encoding = 0x03;
    size_t cie = put_cie(&frames, &form, USUAL);
    for (unsigned i = 0; i < count; i++)
        at[i] = put_fde(&frames, &form, cie, START + 0x100 * i, LENGTH,
                        PROGRAM(0x0e, (uint8_t)(0x10 + i)));
}

/* A search table over `count` functions; `order[i]` stands at entry i. */
static void put_header(uint8_t encoding, uint8_t count_encoding, unsigned count, const size_t *at,
                       const unsigned *order)
{
    put(&header, 1, 1);
    put(&header, 0x1b, 1);
    put(&header, count_encoding, 1);
    put(&header, encoding, 1);
    put(&header, FRAMES - HEADER - 4, 4);
    put_encoded(&header, count_encoding, 8, count);
    for (unsigned i = 0; i < count; i++) {
        uint64_t values[2] = {START + 0x100 * order[i], FRAMES + at[order[i]]};
        for (unsigned v = 0; v < 2; v++) {
            uint64_t base = (encoding & 0x70) == 0x30   ? HEADER
                            : (encoding & 0x70) == 0x10 ? HEADER + header.size
                            : (encoding & 0x70) == 0x20 ? TEXT
                                                        : 0;
            put(&header, values[v] - base, encoded_size(encoding, image.arch->pointer_size));
        }
    }
}

static const unsigned in_order[] = {0, 1, 2, 3, 4};

/* All functions are found, and nothing between, before and behind them. */
static void expect_five(void)
{
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(cfa_at(START + 0x100 * i), 0x10 + i);
        assert_int_equal(cfa_at(START + 0x100 * i + LENGTH - 1), 0x10 + i);
        expect_none(START + 0x100 * i + LENGTH);
        expect_none(START + 0x100 * i - 1);
    }
    expect_none(0);
    expect_none(UINT64_MAX);
}

static void header_encodings(void **state)
{
    static const uint8_t encodings[] = {0x3b, 0x33, 0x3c, 0x34, 0x38, 0x30, 0x00, 0x03, 0x0b,
                                        0x04, 0x0c, 0x1b, 0x13, 0x1c, 0x2b, 0x2c, 0x32, 0x3a};
    static const uint8_t counts[] = {0x03, 0x02, 0x04, 0x01, 0x00, 0x0b};
    for (unsigned i = 0; i < sizeof encodings; i++) {
        for (unsigned c = 0; c < sizeof counts; c++) {
            reset(state);
            size_t at[5];
            many_functions(5, at);
            put_header(encodings[i], counts[c], 5, at, in_order);
            finish(false);
            expect_five();
        }
    }
}

/* The FDEs stand behind a terminator, so only the table leads to them. */
static void the_header_is_used(void **state)
{
    static const uint8_t encodings[] = {0x3b, 0x03, 0x34, 0x1b};
    for (unsigned i = 0; i < sizeof encodings; i++) {
        reset(state);
        size_t at[5];
        put(&frames, 0, 4);
        many_functions(5, at);
        finish(false);
        expect_none(START);
        put_header(encodings[i], 0x03, 5, at, in_order);
        finish(false);
        expect_five();
        header.data[8] = 6; /* more entries than there are bytes for */
        expect_none(START);
    }
}

static void headers_that_do_not_help(void **state)
{
    static const unsigned mixed[] = {3, 1, 4, 0, 2};
    for (unsigned broken = 0; broken < 10; broken++) {
        reset(state);
        size_t at[5];
        many_functions(5, at);
        size_t wrong[5] = {at[1], 0, at[2] + 2, 0xffffff, at[0]};
        put_header(0x3b, 0x03, 5, broken == 0 ? wrong : at, broken == 1 ? mixed : in_order);
        switch (broken) {
        case 2: header.data[0] = 2; break;    /* version */
        case 3: header.data[2] = 0xff; break; /* no count */
        case 4: header.data[3] = 0xff; break; /* no table */
        case 5: header.data[8] = 0; break;    /* no entries */
        case 6: header.data[8] = 6; break;    /* more than there are bytes */
        case 7: header.data[3] = 0x31; break; /* entries without fixed size */
        case 8: header.data[3] = 0xbb; break; /* indirect */
        case 9: header.size = 6; break;       /* cut */
        default: break;
        }
        finish(false);
        expect_five();
        struct cfi_index *index = cfi_index_build(&image, false);
        image.eh_index = index;
        expect_five();
        cfi_index_destroy(index);
    }
}

static void a_header_in_order_is_believed(void **state)
{
    (void)state;
    size_t at[6];
    many_functions(6, at);
    put_header(0x3b, 0x03, 5, at, in_order); /* the sixth is left out */
    finish(false);
    expect_none(START + 0x500);
    struct cfi_index *index = cfi_index_build(&image, false);
    image.eh_index = index; /* but an index costs nothing to ask */
    assert_int_equal(cfa_at(START + 0x500), 0x15);
    cfi_index_destroy(index);
}

static void entries_with_the_same_start(void **state)
{
    (void)state;
    struct cie_form form = form_of(image.arch);
    form.encoding = 0x03;
    size_t cie = put_cie(&frames, &form, USUAL);
    size_t at[3] = {put_fde(&frames, &form, cie, START, LENGTH, PROGRAM(0x0e, 0x10)),
                    put_fde(&frames, &form, cie, START, 0, PROGRAM(0x0e, 0x20)),
                    put_fde(&frames, &form, cie, START, 0, PROGRAM(0x0e, 0x30))};
    finish(false);
    expect_function(START, START + LENGTH, 0x10);
    put_bytes(&header, "\1\x1b\3\3\0\0\0\0\3\0\0\0", 12);
    for (unsigned i = 0; i < 3; i++) {
        put(&header, START, 4);
        put(&header, FRAMES + at[i], 4);
    }
    finish(false);
    assert_int_equal(cfa_at(START), 0x10);
    assert_int_equal(cfa_at(START + LENGTH - 1), 0x10);
    expect_none(START + LENGTH);
}

static void overlapping_functions(void **state)
{
    (void)state;
    struct cie_form form = form_of(image.arch);
    form.encoding = 0x03;
    size_t cie = put_cie(&frames, &form, USUAL);
    put_fde(&frames, &form, cie, START + 0x20, 0x10, PROGRAM(0x0e, 0x10));
    put_fde(&frames, &form, cie, START, 0x100, PROGRAM(0x0e, 0x20));
    put_fde(&frames, &form, cie, START + 0x40, 0x10, PROGRAM(0x0e, 0x30));
    put_fde(&frames, &form, cie, START, 0x100, PROGRAM(0x0e, 0x40));
    finish(false);
    struct cfi_index *index = cfi_index_build(&image, false);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(cfa_at(START), 0x20);
        assert_int_equal(cfa_at(START + 0x2f), 0x10);
        assert_int_equal(cfa_at(START + 0x30), 0x20);
        assert_int_equal(cfa_at(START + 0x40), 0x30);
        assert_int_equal(cfa_at(START + 0xff), 0x20);
        expect_none(START + 0x100);
        image.eh_index = index;
    }
    cfi_index_destroy(index);
}

static void scans_end_at_the_terminator(void **state)
{
    (void)state;
    size_t at[5];
    many_functions(4, at);
    put(&frames, 0, 4);
    struct cie_form form = form_of(image.arch);
    form.encoding = 0x03;
    put_fde(&frames, &form, 0, START + 0x400, LENGTH, PROGRAM(0));
    finish(false);
    assert_int_equal(cfa_at(START + 0x300), 0x13);
    expect_none(START + 0x400);
}

static void scans_end_at_an_impossible_length(void **state)
{
    static const uint32_t lengths[] = {0x7fffffff, 0xfffffff0, 0xffffffff};
    for (unsigned i = 0; i < 3; i++) {
        reset(state);
        size_t at[5];
        many_functions(3, at);
        put(&frames, lengths[i], 4); /* bytes of whatever follows .eh_frame in memory */
        put(&frames, UINT64_MAX, 8);
        finish(false);
        expect_function(START, START + LENGTH, 0x10);
        assert_int_equal(cfa_at(START + 0x200), 0x12);
    }
}

static void broken_entries_are_passed_over(void **state)
{
    (void)state;
    struct cie_form form = form_of(image.arch);
    form.encoding = 0x03;
    put_bytes(&frames, "\4\0\0\0\xff\xff\0\0", 8); /* its CIE would lie before the section */
    put_bytes(&frames, "\4\0\0\0\4\0\0\0", 8);     /* its CIE is no CIE */
    put_bytes(&frames, "\2\0\0\0\1\0", 6);         /* too short for an id */
    size_t cie = put_cie(&frames, &form, USUAL);
    put_fde(&frames, &form, cie, START, 0x80000000, PROGRAM(0)); /* too long */
    put_fde(&frames, &form, cie, START, LENGTH, PROGRAM(0x0e, 0x20));
    frames.data[frames.size] = 0x0c; /* an FDE that ends in its range */
    frames.size += 4;
    put(&frames, frames.size - cie, 4);
    put(&frames, START + 0x100, 4);
    put(&frames, 0, 4);
    finish(false);
    assert_int_equal(cfa_at(START), 0x20);
    expect_none(START + 0x100);
}

static void count_range(void *context, uint64_t lo, uint64_t hi)
{
    uint64_t *seen = context;
    assert_int_equal(lo, START + 0x100 * *seen);
    assert_int_equal(hi, lo + LENGTH);
    ++*seen;
}

static void index_ranges(void **state)
{
    (void)state;
    size_t at[5];
    many_functions(5, at);
    finish(false);
    struct cfi_index *index = cfi_index_build(&image, false);
    uint64_t seen = 0;
    cfi_index_ranges(index, count_range, &seen);
    assert_int_equal(seen, 5);
    cfi_index_destroy(index);
    cfi_index_destroy(NULL);
}

static void nothing_to_search(void **state)
{
    (void)state;
    struct unwind_row row;
    assert_int_equal(cfi_find_eh(&image, START, &row), UNWIND_NO_INFO);
    assert_int_equal(cfi_find_debug(&image, START, &row), UNWIND_NO_INFO);
    assert_null(cfi_index_build(&image, false));
    assert_null(cfi_index_build(&image, true));
    image.eh_frame = image.debug_frame = (struct unwind_section){frames.data, 0, FRAMES};
    assert_int_equal(cfi_find_eh(&image, START, &row), UNWIND_NO_INFO);
    assert_int_equal(cfi_find_debug(&image, START, &row), UNWIND_NO_INFO);
    assert_null(cfi_index_build(&image, false));
}

/* Every table cut short at every byte: answers may get lost, never change. */
static void cut_tables(void **state)
{
    (void)state;
    size_t at[5];
    many_functions(5, at);
    put_header(0x3b, 0x03, 5, at, in_order);
    finish(false);
    struct unwind_row row;
    for (size_t size = 0; size < frames.size; size++) {
        uint8_t *exact = malloc(size ? size : 1); /* so that a sanitizer sees reads beyond it */
        assert_non_null(exact);
        memcpy(exact, frames.data, size);
        image.eh_frame = (struct unwind_section){exact, size, FRAMES};
        for (unsigned i = 0; i < 5; i++)
            if (cfi_find_eh(&image, START + 0x100 * i, &row) == UNWIND_OK)
                assert_int_equal(row.cfa_offset, 0x10 + i);
        free(exact);
    }
}

#define TEST(function) cmocka_unit_test_setup(function, reset)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(pointer_encodings),
        TEST(pointers_that_cannot_be_read),
        TEST(addresses_wrap_at_32_bits),
        TEST(set_location_follows_the_encoding),
        TEST(versions_and_augmentations),
        TEST(unusable_cies),
        TEST(the_return_column_is_honoured),
        TEST(the_return_column_may_be_long),
        TEST(every_fde_has_its_own_cie),
        TEST(sixty_four_bit_entries),
        TEST(debug_frame_forms),
        TEST(functions_that_the_linker_left_out),
        TEST(thumb_bits_are_no_addresses),
        TEST(big_endian_tables),
        TEST(header_encodings),
        TEST(the_header_is_used),
        TEST(headers_that_do_not_help),
        TEST(a_header_in_order_is_believed),
        TEST(entries_with_the_same_start),
        TEST(overlapping_functions),
        TEST(scans_end_at_the_terminator),
        TEST(scans_end_at_an_impossible_length),
        TEST(broken_entries_are_passed_over),
        TEST(index_ranges),
        TEST(nothing_to_search),
        TEST(cut_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
