/* Line programs: every opcode, every version, the corners; then whole programs of both compilers
 * against llvm-symbolizer. */
#include "dwarf/line_bytes.h"
#include "object/codecs.h"
#include "object/fixture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct arena arena;
static struct dwarf_lines lines;
static struct fw_failure why;

static struct dwarf_line_input input_of(const struct bytes *bytes)
{
    return (struct dwarf_line_input){
        .line = {bytes->data, bytes->size},
        .comp_dir = "/work",
        .unit_name = "main.c",
        .address_size = 8,
        .swap = bytes->big_endian == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__),
    };
}

static void read_input(const struct dwarf_line_input *input)
{
    arena_reset(&arena);
    assert_int_equal(dwarf_lines_read(input, &arena, &lines, &why), FW_OK);
}

static void read_table(struct table *t)
{
    table_end(t);
    struct dwarf_line_input input = input_of(&t->bytes);
    read_input(&input);
}

/* All sequences as text: "lo-hi: address file:line:column[!] ..." ("!": not a statement). */
static const char *text(void)
{
    static char out[4096];
    size_t at = 0;
    out[0] = 0;
    for (size_t i = 0; i < lines.sequence_count; i++) {
        const struct dwarf_sequence *s = &lines.sequences[i];
        at += (size_t)snprintf(out + at, sizeof out - at, "%s%" PRIx64 "-%" PRIx64 ":",
                               i ? " | " : "", s->lo, s->hi);
        for (uint32_t k = 0; k < s->row_count; k++) {
            const struct dwarf_row *r = &lines.rows[s->first_row + k];
            at += (size_t)snprintf(out + at, sizeof out - at, " %" PRIx64 " %u:%u:%u%s", r->address,
                                   r->file, r->line, r->column, r->is_statement ? "" : "!");
        }
    }
    return out;
}

static const char *path(size_t file)
{
    static char out[256];
    assert_true(file < lines.file_count);
    const struct dwarf_file_name *f = &lines.files[file];
    snprintf(out, sizeof out, "%s|%s|%s", f->comp_dir, f->directory, f->name);
    return out;
}

static void standard_opcodes(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    op_set_address(&t, 0x1000, 8);
    op_sleb(&t, L_ADVANCE_LINE, 9);
    op_uleb(&t, L_SET_COLUMN, 7);
    put8(&t.bytes, L_COPY); /* 1000: 10 */
    put8(&t.bytes, L_PROLOGUE_END);
    put8(&t.bytes, L_BLOCK);
    put8(&t.bytes, L_EPILOGUE_BEGIN);
    op_uleb(&t, L_SET_ISA, 300);
    put8(&t.bytes, 13 + 5 + 2 + 14 * 3); /* special: 3 bytes, 2 lines */
    op_uleb(&t, L_SET_FILE, 2);
    put8(&t.bytes, L_CONST_ADD_PC); /* (255 - 13) / 14 = 17 bytes */
    put8(&t.bytes, L_NEGATE);
    put8(&t.bytes, 13); /* no byte, 5 lines back */
    put8(&t.bytes, L_FIXED_ADVANCE_PC), put(&t.bytes, 0x100, 2);
    put8(&t.bytes, L_NEGATE);
    op_sleb(&t, L_ADVANCE_LINE, 100000);
    op_uleb(&t, L_SET_COLUMN, 70000); /* capped */
    put8(&t.bytes, L_COPY);
    op_uleb(&t, L_ADVANCE_PC, 0x1000);
    op_end_sequence(&t);
    read_table(&t);
    assert_int_equal(why.code, FW_OK);
    assert_string_equal(text(), "1000-2114: 1000 1:10:7 1003 1:12:7 1014 2:7:7! "
                                "1114 2:100007:65535");
}

static void extended_opcodes(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    op_set_address(&t, 0x1000, 8);
    static const uint8_t define[] = {0, 8, 3, 'c', '.', 'c', 0, 1, 0, 0};
    memcpy(t.bytes.data + t.bytes.size, define, sizeof define);
    t.bytes.size += sizeof define;
    op_uleb(&t, L_SET_FILE, 3);
    put8(&t.bytes, 0), put8(&t.bytes, 4), put8(&t.bytes, 4),
        put(&t.bytes, 0x018283, 3); /* discriminator */
    put8(&t.bytes, 0), put8(&t.bytes, 3), put8(&t.bytes, 0x90), put(&t.bytes, 0, 2); /* vendor's */
    put8(&t.bytes, 0), put8(&t.bytes, 0); /* of no length */
    put8(&t.bytes, L_COPY);
    op_set_address(&t, 0x1010, 8);
    op_end_sequence(&t);
    op_set_address(&t, 0x3000, 4); /* registers are as at the start; a shorter address */
    put8(&t.bytes, L_COPY);
    op_uleb(&t, L_ADVANCE_PC, 1);
    op_end_sequence(&t);
    read_table(&t);
    assert_string_equal(text(), "1000-1010: 1000 3:1:0 | 3000-3001: 3000 1:1:0");
    assert_string_equal(path(3), "/work|sub|c.c");
}

static void instruction_length_and_vliw(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape){4, 4, 4, 1, -5, 14, 13, false});
    table_names(&t);
    op_set_address(&t, 0x1000, 8);
    op_row(&t, 0, 0);
    put8(&t.bytes, 13 + 5 + 1 + 14);                         /* one instruction on */
    op_row(&t, 2, 1);                                        /* two */
    put8(&t.bytes, L_CONST_ADD_PC);                          /* 17 */
    put8(&t.bytes, L_FIXED_ADVANCE_PC), put(&t.bytes, 2, 2); /* bytes, not instructions */
    op_end_sequence(&t);
    read_table(&t);
    assert_string_equal(text(), "1000-1052: 1000 1:1:0 1004 1:2:0 100c 1:3:0");

    struct table v = {0}; /* bundles of 16 bytes with 3 operations */
    table_begin(&v, (struct shape){4, 4, 16, 3, -5, 14, 13, false});
    table_names(&v);
    op_set_address(&v, 0x1000, 8);
    op_row(&v, 0, 0);
    put8(&v.bytes, 13 + 5 + 1 + 14); /* op_index 1: the same address, the last row stands */
    op_row(&v, 1, 1);                /* op_index 2 */
    op_row(&v, 1, 1);                /* the next bundle */
    op_row(&v, 7, 1);                /* two bundles and one operation */
    put8(&v.bytes, L_CONST_ADD_PC);  /* 17 operations after op_index 1: 6 bundles */
    op_end_sequence(&v);
    read_table(&v);
    assert_string_equal(text(), "1000-1090: 1000 1:3:0 1010 1:4:0 1030 1:5:0");
}

static void other_opcode_bases(void **state)
{
    (void)state;
    struct table t = {0}; /* DWARF 2 of old: 10 and up are special */
    table_begin(&t, (struct shape){2, 4, 1, 1, 1, 10, 10, false});
    table_names(&t);
    op_set_address(&t, 0x1000, 8);
    put8(&t.bytes, 10 + 10 * 2 + 3); /* 2 bytes, 4 lines */
    op_uleb(&t, L_ADVANCE_PC, 4);
    op_end_sequence(&t);
    read_table(&t);
    assert_string_equal(text(), "1002-1006: 1002 1:5:0");

    struct table u = {0}; /* opcodes 13, 14 and 15 take 2, 3 and no operands */
    table_begin(&u, (struct shape){3, 4, 1, 1, -3, 12, 16, false});
    table_names(&u);
    op_set_address(&u, 0x1000, 8);
    put8(&u.bytes, 13), put_uleb(&u.bytes, 1000), put_uleb(&u.bytes, 1);
    put8(&u.bytes, 14), put_uleb(&u.bytes, 1), put_uleb(&u.bytes, 1), put_uleb(&u.bytes, 1);
    put8(&u.bytes, 15);
    put8(&u.bytes, 16 + 3 + 1);
    op_uleb(&u, L_ADVANCE_PC, 4);
    op_end_sequence(&u);
    read_table(&u);
    assert_string_equal(text(), "1000-1004: 1000 1:2:0");

    struct table z = {0}; /* no line range: special opcodes stay where they are */
    table_begin(&z, (struct shape){4, 4, 1, 1, 2, 0, 13, false});
    table_names(&z);
    op_set_address(&z, 0x1000, 8);
    put8(&z.bytes, 200);
    op_uleb(&z, L_ADVANCE_PC, 4);
    op_end_sequence(&z);
    read_table(&z);
    assert_string_equal(text(), "1000-1004: 1000 1:3:0");
}

static void last_row_of_an_address_stands(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    op_set_address(&t, 0x1000, 8);
    op_row(&t, 0, 1);
    op_row(&t, 0, 1);
    op_row(&t, 0, 1);  /* line 4 */
    op_row(&t, 4, -4); /* line 0: says that no line is known */
    op_row(&t, 4, 20);
    op_row(&t, 4, 1); /* at the end: of no length */
    op_end_sequence(&t);
    op_set_address(&t, 0x2000, 8);
    op_row(&t, 0, 1);
    op_end_sequence(&t); /* the whole sequence is of no length */
    op_set_address(&t, 0x3000, 8);
    op_row(&t, 0, -7); /* below zero */
    op_row(&t, 1, 10);
    op_uleb(&t, L_ADVANCE_PC, 1);
    op_end_sequence(&t);
    read_table(&t);
    assert_string_equal(text(), "1000-100c: 1000 1:4:0 1004 1:0:0 1008 1:20:0 | "
                                "3000-3002: 3000 1:0:0 3001 1:4:0");
}

static void going_back_is_sorted(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    op_set_address(&t, 0x1010, 8);
    op_row(&t, 0, 0); /* 1010: 1, replaced below */
    op_row(&t, 4, 1); /* 1014: 2 */
    op_set_address(&t, 0x1000, 8);
    op_row(&t, 0, 1); /* 1000: 3 */
    for (int i = 0; i < 4; i++)
        op_row(&t, 4, 1); /* 1004: 4 ... 1010: 7 */
    op_set_address(&t, 0x1018, 8);
    op_end_sequence(&t);
    read_table(&t);
    assert_string_equal(text(), "1000-1018: 1000 1:3:0 1004 1:4:0 1008 1:5:0 100c 1:6:0 "
                                "1010 1:7:0 1014 1:2:0");
}

static void add_sequence(struct table *t, uint64_t lo, uint64_t size, int line)
{
    op_set_address(t, lo, 8);
    op_row(t, 0, line - 1);
    op_uleb(t, L_ADVANCE_PC, size);
    op_end_sequence(t);
}

static void sequences_are_sorted_and_copies_merged(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    add_sequence(&t, 0x3000, 8, 3);
    add_sequence(&t, 0x1000, 8, 1);
    add_sequence(&t, 0x3000, 8, 3); /* an exact copy */
    add_sequence(&t, 0x3000, 8, 4); /* not one */
    add_sequence(&t, 0x2000, 8, 2);
    op_set_address(&t, 0x5000, 8); /* ends before it begins */
    op_row(&t, 0, 0);
    op_set_address(&t, 0x4000, 8);
    op_end_sequence(&t);
    read_table(&t);
    assert_string_equal(text(), "1000-1008: 1000 1:1:0 | 2000-2008: 2000 1:2:0 | "
                                "3000-3008: 3000 1:3:0 | 3000-3008: 3000 1:4:0");
}

static void dead_sequences_are_dropped(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    add_sequence(&t, 0, 8, 1);
    add_sequence(&t, 1, 8, 2);
    add_sequence(&t, UINT64_MAX, 8, 3);
    add_sequence(&t, UINT64_MAX - 1, 8, 4);
    add_sequence(&t, 0x1000, 8, 5);
    add_sequence(&t, 0x9000, 8, 6);
    op_set_address(&t, 0x2000, 8);
    op_row(&t, 0, 6);
    op_uleb(&t, L_ADVANCE_PC, 4);
    op_set_address(&t, UINT64_MAX, 8); /* dead from here on */
    op_row(&t, 0, 1);
    op_uleb(&t, L_ADVANCE_PC, 4);
    op_end_sequence(&t);
    read_table(&t);
    assert_string_equal(text(), "1000-1008: 1000 1:5:0 | 2000-2004: 2000 1:7:0 | "
                                "9000-9008: 9000 1:6:0");

    static const struct object_range code[] = {{0x800, 0x900}, {0x1000, 0x3000}};
    struct dwarf_line_input input = input_of(&t.bytes);
    input.code = code;
    input.code_count = 2;
    read_input(&input);
    assert_string_equal(text(), "1000-1008: 1000 1:5:0 | 2000-2004: 2000 1:7:0");

    input = input_of(&t.bytes);
    input.keep_zero = true;
    read_input(&input);
    assert_string_equal(text(), "0-8: 0 1:1:0 | 1-9: 1 1:2:0 | 1000-1008: 1000 1:5:0 | "
                                "2000-2004: 2000 1:7:0 | 9000-9008: 9000 1:6:0");
    struct table s = {0}; /* of a 32-bit program */
    table_begin(&s, (struct shape)SHAPE_4);
    table_names(&s);
    add_sequence(&s, 0xffffffff, 8, 1);
    add_sequence(&s, 0xfffffff0, 16, 2); /* up to the very end */
    table_end(&s);
    input = input_of(&s.bytes);
    input.address_size = 4;
    read_input(&input);
    assert_string_equal(text(), "fffffff0-100000000: fffffff0 1:2:0");
}

static void versions_sizes_and_byte_orders(void **state)
{
    (void)state;
    for (unsigned version = 2; version <= 5; version++)
        for (unsigned offset_size = 4; offset_size <= 8; offset_size += 4)
            for (int big = 0; big < 2; big++) {
                struct table t = {0};
                table_begin(&t, (struct shape){version, offset_size, 1, 1, -5, 14, 13, big != 0});
                table_names(&t);
                add_sequence(&t, 0x123456, 8, 9);
                op_set_address(&t, 0x200000, 8);
                op_uleb(&t, L_SET_FILE, 2);
                op_row(&t, 0, 1);
                put8(&t.bytes, L_FIXED_ADVANCE_PC), put(&t.bytes, 0x102, 2);
                op_end_sequence(&t);
                read_table(&t);
                assert_int_equal(lines.version, version);
                assert_string_equal(text(), "123456-12345e: 123456 1:9:0 | "
                                            "200000-200102: 200000 2:2:0");
                assert_string_equal(path(0), version >= 5 ? "|/work|main.c" : "||");
                assert_string_equal(path(1), version >= 5 ? "|/work|a.c" : "/work||a.c");
                assert_string_equal(path(2), "/work|sub|b.h");
                assert_int_equal(lines.file_count, 3);
            }
}

static void paths(void **state)
{
    (void)state;
    struct table t = {0};
    struct bytes *b = &t.bytes;
    table_begin(&t, (struct shape)SHAPE_4);
    static const char *const directories[] = {"/usr/include", "C:\\inc", "..\\up", ""};
    static const char *const names[] = {"/abs.c", "D:/abs.c", "\\\\host\\x.c", "plain.c"};
    for (int i = 0; i < 4; i++)
        put_string(b, directories[i]);
    for (unsigned i = 0; i < 4; i++)
        put_string(b, names[i]), put8(b, i == 3 ? 0 : 1), put8(b, 0), put8(b, 0);
    for (unsigned i = 1; i < 4; i++)
        put_string(b, "n.c"), put8(b, i), put8(b, 0), put8(b, 0);
    put_string(b, "far.c"), put_uleb(b, 99), put8(b, 0), put8(b, 0); /* no such directory */
    put8(b, 0);
    table_program(&t);
    read_table(&t);
    static const char *const expected[] = {"||",
                                           "||/abs.c",
                                           "||D:/abs.c",
                                           "||\\\\host\\x.c",
                                           "/work||plain.c",
                                           "|/usr/include|n.c",
                                           "|C:\\inc|n.c",
                                           "/work|..\\up|n.c",
                                           "/work||far.c"};
    assert_int_equal(lines.file_count, 9);
    for (size_t i = 0; i < 9; i++)
        assert_string_equal(path(i), expected[i]);
    struct dwarf_line_input input = input_of(b);
    struct dwarf_lines only;
    assert_int_equal(dwarf_line_files_read(&input, &arena, &only, &why), FW_OK);
    assert_int_equal(only.file_count, 9);
    assert_int_equal(only.sequence_count, 0);
    assert_string_equal(only.files[5].directory, "/usr/include");
}

/* One entry with a field of every form there is; contents that are not known are skipped by it. */
static void forms_of_version_5(void **state)
{
    (void)state;
    struct table t = {0};
    struct bytes *b = &t.bytes;
    table_begin(&t, (struct shape)SHAPE_5);
    put8(b, 1), put8(b, 1), put8(b, 0x1f); /* directories: path, line_strp */
    put8(b, 2), put(b, 0, 4), put(b, 6, 4);
    static const uint8_t forms[] = {0x0b, 0x05, 0x06, 0x07, 0x1e, 0x0f, 0x0d, 0x09,
                                    0x0a, 0x03, 0x04, 0x0c, 0x19, 0x17, 0x01, 0x0e,
                                    0x1d, 0x1a, 0x25, 0x26, 0x27, 0x28};
    enum { FORMS = sizeof forms };
    put8(b, FORMS + 3);
    put8(b, 5), put8(b, 0x1e);           /* MD5 */
    put_uleb(b, 0x2001), put8(b, 0x08);  /* LLVM source, in place */
    for (unsigned i = 0; i < FORMS; i++) /* the vendor's own */
        put_uleb(b, forms[i] == 0x0b ? 2 : 0x3000 + i), put8(b, forms[i]);
    put8(b, 1), put8(b, 0x0e); /* path, strp */
    put8(b, 1);
    put(b, 0, 8), put(b, 0, 8);
    put_string(b, "int main;");
    static const uint8_t sizes[] = {1, 2, 4, 8, 16};
    put8(b, 1); /* data1: the directory */
    for (int i = 1; i < 5; i++)
        memset(b->data + b->size, 0x55, sizes[i]), b->size += sizes[i];
    put_uleb(b, 1000), put_sleb(b, -1000);
    put8(b, 2), put(b, 0, 2), put8(b, 1), put(b, 0, 1);     /* block, block1 */
    put(b, 3, 2), put(b, 0, 3), put(b, 2, 4), put(b, 0, 2); /* block2, block4 */
    put8(b, 1);                                             /* flag; flag_present */
    put(b, 0, 4), put(b, 0, 8), put(b, 0, 4), put(b, 0, 4); /* sec_offset addr strp strp_sup */
    put_uleb(b, 1), put8(b, 1), put(b, 1, 2), put(b, 1, 3), put(b, 1, 4); /* strx */
    put(b, 4, 4);
    table_program(&t);
    add_sequence(&t, 0x1000, 4, 2);
    table_end(&t);
    struct dwarf_line_input input = input_of(b);
    input.line_str = (struct span){(const uint8_t *)"/work\0sub", 10};
    input.str = (struct span){(const uint8_t *)"no \0here.c", 11};
    read_input(&input);
    assert_string_equal(why.message, "");
    assert_string_equal(path(0), "/work|sub|here.c");
    assert_string_equal(text(), "1000-1004: 1000 1:2:0");
}

static void strings_by_index(void **state)
{
    (void)state;
    static const uint8_t forms[] = {0x1a, 0x25, 0x26, 0x27, 0x28}, sizes[] = {1, 1, 2, 3, 4};
    for (int big = 0; big < 2; big++)
        for (int i = 0; i < 5; i++) {
            struct table t = {0};
            struct bytes *b = &t.bytes, offsets = {.big_endian = big != 0};
            table_begin(&t, (struct shape){5, 4, 1, 1, -5, 14, 13, big != 0});
            put8(b, 0), put8(b, 0); /* no directories */
            put8(b, 1), put8(b, 1), put8(b, forms[i]);
            put8(b, 2), put(b, 1, sizes[i]), put(b, 2, sizes[i]); /* the second is not there */
            table_program(&t);
            table_end(&t);
            put(&offsets, 0, 8), put(&offsets, 0, 4), put(&offsets, 2, 4);
            struct dwarf_line_input input = input_of(b);
            input.str = (struct span){(const uint8_t *)"x\0y.c", 6};
            input.str_offsets = (struct span){offsets.data, offsets.size};
            input.str_offsets_base = 8;
            read_input(&input);
            assert_string_equal(path(0), "/work||y.c");
            assert_string_equal(path(1), "/work||");
        }
}

static void relative_compilation_directory(void **state)
{
    (void)state;
    struct table t = {0};
    struct bytes *b = &t.bytes;
    table_begin(&t, (struct shape)SHAPE_5);
    put8(b, 1), put8(b, 1), put8(b, 0x08), put8(b, 2), put_string(b, "./rel"), put_string(b, "up");
    put8(b, 2), put8(b, 1), put8(b, 0x08), put8(b, 2), put8(b, 0x0b);
    put8(b, 2), put_string(b, "a.c"), put8(b, 0), put_string(b, "b.h"), put8(b, 1);
    table_program(&t);
    table_end(&t);
    struct dwarf_line_input input = input_of(b);
    input.comp_dir = "./rel";
    read_input(&input);
    assert_string_equal(path(0), "|./rel|a.c");
    assert_string_equal(path(1), "./rel|up|b.h");
}

static void file_0_of_an_empty_table(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_5);
    put(&t.bytes, 0, 4);
    table_program(&t);
    read_table(&t);
    assert_int_equal(lines.file_count, 1);
    assert_string_equal(path(0), "/work||main.c");
}

static void expect_error(const struct bytes *b, fw_error error)
{
    struct dwarf_line_input input = input_of(b);
    arena_reset(&arena);
    assert_int_equal(dwarf_lines_read(&input, &arena, &lines, &why), error);
    assert_int_equal(why.code, error);
    assert_int_equal(lines.sequence_count, 0);
    assert_int_equal(lines.row_count, 0);
}

static void headers_of_no_use(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    add_sequence(&t, 0x1000, 4, 2);
    table_end(&t);
    for (size_t size = 0; size < 10; size++) {
        struct bytes cut = t.bytes;
        cut.size = size;
        expect_error(&cut, FW_ERR_TRUNCATED);
    }
    for (unsigned version = 0; version < 8; version++) {
        struct bytes other = t.bytes;
        patch(&other, 4, version, 2);
        if (version < 2 || version > 5)
            expect_error(&other, FW_ERR_UNSUPPORTED);
    }
    struct bytes longer = t.bytes; /* header_length beyond the table */
    patch(&longer, 6, 0x1000, 4);
    expect_error(&longer, FW_ERR_TRUNCATED);
    struct dwarf_line_input input = input_of(&t.bytes);
    input.offset = t.bytes.size + 1;
    assert_int_equal(dwarf_lines_read(&input, &arena, &lines, &why), FW_ERR_TRUNCATED);
}

static void damage_ends_a_program_not_what_came_before(void **state)
{
    (void)state;
    struct table t = {0};
    table_begin(&t, (struct shape)SHAPE_4);
    table_names(&t);
    add_sequence(&t, 0x1000, 4, 2);
    op_set_address(&t, 0x2000, 8);
    op_row(&t, 0, 2);
    op_row(&t, 4, 1);
    op_uleb(&t, L_ADVANCE_PC, 4);
    size_t before = t.bytes.size;
    read_table(&t); /* no end of the last sequence */
    assert_int_equal(why.code, FW_ERR_TRUNCATED);
    assert_string_equal(text(), "1000-1004: 1000 1:2:0 | 2000-2008: 2000 1:3:0 2004 1:4:0");

    put8(&t.bytes, 0), put8(&t.bytes, 50), put8(&t.bytes, 2); /* longer than what is left */
    read_table(&t);
    assert_int_equal(why.code, FW_ERR_TRUNCATED);
    assert_int_equal(why.place, before);
    assert_string_equal(text(), "1000-1004: 1000 1:2:0 | 2000-2008: 2000 1:3:0 2004 1:4:0");

    t.bytes.size = before; /* an address of three bytes: what follows is nowhere */
    op_set_address(&t, 0x3000, 3);
    op_row(&t, 0, 1);
    op_end_sequence(&t);
    add_sequence(&t, 0x4000, 4, 6);
    read_table(&t);
    assert_int_equal(why.code, FW_ERR_CORRUPT);
    assert_string_equal(text(), "1000-1004: 1000 1:2:0 | 4000-4004: 4000 1:6:0");

    patch(&t.bytes, t.length_at, 0x10000, 4); /* longer than its section */
    struct dwarf_line_input input = input_of(&t.bytes);
    read_input(&input);
    assert_int_equal(why.code, FW_ERR_TRUNCATED);
    assert_int_equal(lines.sequence_count, 2);
}

static void damaged_names_leave_the_rows(void **state)
{
    (void)state;
    struct table t = {0};
    struct bytes *b = &t.bytes;
    table_begin(&t, (struct shape)SHAPE_5);
    put8(b, 1), put8(b, 1), put8(b, 0x08), put8(b, 1), put_string(b, "/work");
    put8(b, 1), put8(b, 1), put8(b, 0x7e); /* a form nobody knows */
    put8(b, 1), put8(b, 0);
    table_program(&t);
    add_sequence(&t, 0x1000, 4, 2);
    read_table(&t);
    assert_int_equal(why.code, FW_ERR_CORRUPT);
    assert_string_equal(text(), "1000-1004: 1000 1:2:0");

    struct table m = {0}; /* more entries than bytes */
    table_begin(&m, (struct shape)SHAPE_5);
    put8(&m.bytes, 1), put8(&m.bytes, 1), put8(&m.bytes, 0x19);
    put_uleb(&m.bytes, UINT64_MAX);
    table_program(&m);
    add_sequence(&m, 0x1000, 4, 2);
    read_table(&m);
    assert_int_equal(why.code, FW_ERR_CORRUPT);
    assert_string_equal(text(), "1000-1004: 1000 1:2:0");
}

/* ---- whole programs ---- */

static struct span section(struct object *object, const char *name)
{
    struct unwind_section found = {0};
    struct span span = {0};
    if (object_section_data(object, name, &found, NULL) == FW_OK)
        span = (struct span){found.data, (size_t)found.size};
    return span;
}

static void print_rows(FILE *questions, FILE *answers)
{
    for (size_t i = 0; i < lines.sequence_count; i++)
        for (uint32_t k = 0; k < lines.sequences[i].row_count; k++) {
            const struct dwarf_row *r = &lines.rows[lines.sequences[i].first_row + k];
            assert_true(r->file < lines.file_count);
            const struct dwarf_file_name *f = &lines.files[r->file];
            fprintf(questions, "0x%" PRIx64 "\n", r->address);
            fprintf(answers, "%s%s%s%s%s:%u:%u\n", f->comp_dir, f->comp_dir[0] ? "/" : "",
                    f->directory, f->directory[0] ? "/" : "", f->name, r->line, r->column);
        }
}

static size_t print_all_rows(const char *program, const char *comp_dir)
{
    struct object *object = fixture_open(program);
    struct dwarf_line_input input = {.line = section(object, ".debug_line"),
                                     .str = section(object, ".debug_str"),
                                     .line_str = section(object, ".debug_line_str"),
                                     .comp_dir = comp_dir,
                                     .address_size = 8};
    FILE *questions = fopen(fixture_path("questions"), "w");
    FILE *answers = fopen(fixture_path("ours"), "w");
    assert_true(questions && answers);
    size_t rows = 0;
    while (input.offset < input.line.size) {
        read_input(&input);
        assert_string_equal(why.message, "");
        print_rows(questions, answers);
        rows += lines.row_count;
        struct reader r = reader_at(input.line.data, input.line.size, input.offset);
        input.offset += 4 + reader_u32(&r);
    }
    fclose(questions);
    fclose(answers);
    object_close(object);
    return rows;
}

static void every_row_as_llvm_symbolizer(void **state)
{
    (void)state;
    fixture_need("gcc clang-19 llvm-symbolizer-19");
    fixture_run("mkdir -p sub");
    fixture_text("sub/part.h", "static inline int part(int a) { return a % 3 ? a * 5 : a + 7; }\n");
    fixture_text("one.c", "#include \"sub/part.h\"\n"
                          "int one(int n) { int s = 0; for (int i = 0; i < n; i++)\n"
                          "    s += part(i) + part(s);\n  return s; }\n");
    fixture_text("two.c", "#include \"sub/part.h\"\nint one(int);\n"
                          "static __attribute__((noinline)) int twice(int n)\n"
                          "{ if (n > 4) __builtin_abort(); return one(n) + part(n); }\n"
                          "int main(int c, char **v) { (void)v; return twice(c); }\n");
    char *comp_dir = fixture_output("pwd | tr -d '\\n'");
    size_t rows = 0;
    static const char *const compilers[] = {"gcc", "clang-19"};
    for (int c = 0; c < 2; c++)
        for (int version = 3; version <= 5; version++)
            for (int relative = 0; relative < 2; relative++) {
                fixture_run("%s -g -gdwarf-%d -O%d -ffunction-sections %s one.c two.c -o prog",
                            compilers[c], version, relative ? 0 : 2,
                            relative ? "-fdebug-prefix-map=$(pwd)=./made" : "");
                rows += print_all_rows("prog", relative ? "./made" : comp_dir);
                fixture_run("llvm-symbolizer-19 --obj=prog --no-inlines -f=none < questions | "
                            "grep . > theirs; diff ours theirs");
            }
    assert_true(rows > 300);
    free(comp_dir);
}

/* Directory 0 of version 5 is the compilation directory, which a prefix map may have made relative:
 * it stands alone, the other directories stand in it. */
static void relative_compilation_directory_of_programs(void **state)
{
    (void)state;
    fixture_need("gcc llvm-symbolizer-19");
    fixture_run("mkdir -p sub");
    fixture_text("sub/part.h", "static inline int part(int a) { return a % 3 ? a * 5 : a + 7; }\n");
    fixture_text("one.c", "#include \"sub/part.h\"\n"
                          "int main(int n, char **v) { (void)v; return part(n) + part(n + 1); }\n");
    size_t rows = 0;
    for (int version = 4; version <= 5; version++) {
        fixture_run("gcc -g -gdwarf-%d -O1 -ffile-prefix-map=\"$(pwd)\"=./built one.c -o prog",
                    version);
        rows += print_all_rows("prog", "./built");
        fixture_run("llvm-symbolizer-19 --obj=prog --no-inlines -f=none < questions | "
                    "grep . > theirs; diff ours theirs && grep -q '^./built/one.c' ours && "
                    "grep -q '^./built/sub/part.h' ours");
    }
    assert_true(rows > 10);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

static int end(void **state)
{
    arena_free(&arena);
    return fixture_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_opcodes),
        cmocka_unit_test(extended_opcodes),
        cmocka_unit_test(instruction_length_and_vliw),
        cmocka_unit_test(other_opcode_bases),
        cmocka_unit_test(last_row_of_an_address_stands),
        cmocka_unit_test(going_back_is_sorted),
        cmocka_unit_test(sequences_are_sorted_and_copies_merged),
        cmocka_unit_test(dead_sequences_are_dropped),
        cmocka_unit_test(versions_sizes_and_byte_orders),
        cmocka_unit_test(paths),
        cmocka_unit_test(forms_of_version_5),
        cmocka_unit_test(strings_by_index),
        cmocka_unit_test(relative_compilation_directory),
        cmocka_unit_test(file_0_of_an_empty_table),
        cmocka_unit_test(headers_of_no_use),
        cmocka_unit_test(damage_ends_a_program_not_what_came_before),
        cmocka_unit_test(damaged_names_leave_the_rows),
        cmocka_unit_test(every_row_as_llvm_symbolizer),
        cmocka_unit_test(relative_compilation_directory_of_programs),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
