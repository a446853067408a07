/*
 * Flattening: drawn cases first, then random trees and rows against an oracle that answers address
 * by address.
 *
 * The unit of a test is put together by function(), call(), lines(); show() gives back all rows as
 * "lo-hi: offset context-path line", contexts by the numbers of their subjects.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "symmap/code.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 4096 };
static struct object_range ranges[MAX];
static struct dwarf_function functions[64];
static struct dwarf_inline inlines[MAX];
static struct dwarf_call calls[16];
static struct dwarf_subject subjects[MAX];
static struct dwarf_row rows[MAX];
static struct dwarf_sequence sequences[64];
static struct dwarf_file_name files[] = {
    {"", "", ""}, {"", "/d", "one.c"}, {"", "/d", "two.c"}, {"", "/d", "three.c"}};
static struct dwarf_unit unit;
static struct dwarf_lines lines;
static struct arena scratch;
static struct code_unit code;

static int fresh(void **state)
{
    (void)state;
    unit = (struct dwarf_unit){.ranges = ranges,
                               .functions = functions,
                               .inlines = inlines,
                               .calls = calls,
                               .subjects = subjects,
                               .subject_count = MAX,
                               .has_lines = true};
    lines = (struct dwarf_lines){.rows = rows,
                                 .sequences = sequences,
                                 .files = files,
                                 .file_count = sizeof files / sizeof files[0],
                                 .version = 4};
    for (uint32_t i = 0; i < MAX; i++)
        subjects[i] = (struct dwarf_subject){.name = "f", .die = 1000 + i};
    return 0;
}

static int done(void **state)
{
    (void)state;
    code_unit_free(&code);
    arena_free(&scratch);
    return 0;
}

static void range(uint64_t lo, uint64_t hi)
{
    assert_true(unit.range_count < MAX);
    ranges[unit.range_count++] = (struct object_range){lo, hi};
}

/* A function of one range; more by more(). Functions have subjects from 100 on. */
static struct dwarf_function *function(uint64_t lo, uint64_t hi)
{
    struct dwarf_function *f = &functions[unit.function_count];
    *f = (struct dwarf_function){.subject = 100 + (uint32_t)unit.function_count,
                                 .first_range = (uint32_t)unit.range_count,
                                 .range_count = 1,
                                 .entry = lo,
                                 .first_inline = (uint32_t)unit.inline_count,
                                 .first_call = (uint32_t)unit.call_count,
                                 .die = 50 + unit.function_count};
    unit.function_count++;
    range(lo, hi);
    return f;
}

static void more(struct dwarf_function *f, uint64_t lo, uint64_t hi)
{
    f->range_count++;
    range(lo, hi);
}

enum { TOP = -1 };

/* An inlined call in the last function; `parent` and the result count from its first, as do
 * subjects. Called from file 2, line 10 + its number. */
static int call(int parent, uint64_t lo, uint64_t hi)
{
    struct dwarf_function *f = &functions[unit.function_count - 1];
    uint32_t number = f->inline_count++;
    assert_true(unit.inline_count < MAX);
    inlines[unit.inline_count++] = (struct dwarf_inline){
        .subject = number,
        .parent = parent == TOP ? DWARF_NONE : f->first_inline + (uint32_t)parent,
        .first_range = (uint32_t)unit.range_count,
        .range_count = 1,
        .call_file = 2,
        .call_line = 10 + number,
        .call_column = 3};
    range(lo, hi);
    return (int)number;
}

static void call_more(uint64_t lo, uint64_t hi)
{
    inlines[unit.inline_count - 1].range_count++;
    range(lo, hi);
}

static void sequence(uint64_t lo, uint64_t hi)
{
    sequences[lines.sequence_count++] =
        (struct dwarf_sequence){lo, hi, (uint32_t)lines.row_count, 0};
}

static void row(uint64_t address, uint32_t file, uint32_t line)
{
    rows[lines.row_count++] =
        (struct dwarf_row){.address = address, .file = file, .line = line, .column = 4};
    sequences[lines.sequence_count - 1].row_count++;
}

static void flatten(bool columns)
{
    code_unit_free(&code);
    arena_reset(&scratch);
    struct flatten_options options = {.columns = columns};
    assert_int_equal(code_flatten(&unit, &lines, &options, &scratch, &code), FW_OK);
}

/* What must hold of every result. */
static void check_shape(void)
{
    uint64_t contexts = 0, all_rows = 0;
    for (size_t i = 0; i < code.function_count; i++) {
        const struct code_function *f = &code.functions[i];
        assert_true(f->lo < f->hi && f->row_count > 0);
        assert_true(f->hi - f->lo <= (uint64_t)1 << 32);
        assert_true(f->first_context == contexts && f->first_row == all_rows);
        contexts += f->context_count;
        all_rows += f->row_count;
        if (i) {
            const struct code_function *before = f - 1;
            assert_true(before->lo < f->lo || (before->lo == f->lo && before->hi <= f->hi));
        }
        for (uint32_t c = 0; c < f->context_count; c++) {
            const struct code_context *x = &code.contexts[f->first_context + c];
            assert_true(x->parent <= c); /* its own number is c + 1 */
            assert_true(x->subject == CODE_NONE || x->subject < code.subject_count);
            assert_true(x->call_file == CODE_NONE || x->call_file < code.file_count);
        }
        for (uint32_t r = 0; r < f->row_count; r++) {
            const struct code_row *x = &code.rows[f->first_row + r];
            assert_true(r ? x->offset > x[-1].offset : x->offset == 0);
            assert_true(x->offset < f->hi - f->lo && x->context <= f->context_count);
            assert_true(x->file == CODE_NONE ? x->line == 0 : x->file < code.file_count);
        }
    }
    assert_true(contexts == code.context_count && all_rows == code.row_count);
    assert_int_equal((size_t)(code.arena.end - code.arena.pos), 0); /* exactly sized */
}

/* Subjects of a context from the function inwards: "" for the function itself, "0>2". */
static size_t show_path(char *out, size_t room, const struct code_function *f, uint32_t context)
{
    if (!context)
        return (size_t)snprintf(out, room, "f");
    const struct code_context *x = &code.contexts[f->first_context + context - 1];
    size_t used = x->parent ? show_path(out, room, f, x->parent) : 0;
    return used + (size_t)snprintf(out + used, room - used, "%s%" PRIu64, x->parent ? ">" : "",
                                   code.subjects[x->subject].identity - 1000);
}

static const char *show(void)
{
    static char out[8192];
    size_t at = 0;
    out[0] = 0;
    check_shape();
    for (size_t i = 0; i < code.function_count; i++) {
        const struct code_function *f = &code.functions[i];
        at += (size_t)snprintf(out + at, sizeof out - at,
                               "%s%" PRIu64 "-%" PRIu64 "%s:", i ? " | " : "", f->lo, f->hi,
                               f->flags & CODE_FUNCTION_LINES_ONLY ? " lines" : "");
        for (uint32_t r = 0; r < f->row_count; r++) {
            const struct code_row *x = &code.rows[f->first_row + r];
            at += (size_t)snprintf(out + at, sizeof out - at, " %u ", x->offset);
            at += show_path(out + at, sizeof out - at, f, x->context);
            at += x->file == CODE_NONE
                      ? (size_t)snprintf(out + at, sizeof out - at, " -")
                      : (size_t)snprintf(out + at, sizeof out - at, " %u", x->line);
        }
    }
    return out;
}

#define EXPECT(text)                                                                               \
    do {                                                                                           \
        flatten(false);                                                                            \
        assert_string_equal(show(), text);                                                         \
    } while (0)

/* f     |-------------------|
 * lines 1    2    2    3      */
static void rows_of_a_plain_function(void **state)
{
    (void)state;
    function(100, 200);
    sequence(100, 200);
    row(100, 1, 1);
    row(120, 1, 2);
    row(140, 1, 2);
    row(160, 2, 2);
    row(180, 1, 0);
    EXPECT("100-200: 0 f 1 20 f 2 60 f 2 80 f 0");
    assert_int_equal(code.file_count, 2);
    assert_string_equal(code.files[0].name, "one.c");
    assert_string_equal(code.files[1].name, "two.c");
    assert_int_equal(code.subject_count, 1);
    assert_null(code.columns);
    flatten(true); /* columns are all the same: nothing more to tell apart */
    assert_string_equal(show(), "100-200: 0 f 1 20 f 2 60 f 2 80 f 0");
    assert_int_equal(code.columns[3], 4);
    rows[2].column = 9;
    flatten(true);
    assert_string_equal(show(), "100-200: 0 f 1 20 f 2 40 f 2 60 f 2 80 f 0");
    assert_int_equal(code.columns[2], 9);
}

/* f  |------------------------------|
 * 0     |-----------------|
 * 1        |----|                       in 0
 * 2             |---------|             in 0, up to its end
 * 3                          |------|   up to the end of f
 * 4                          |------|   in 3: the same range, both frames are there */
static void nested_calls(void **state)
{
    (void)state;
    function(0x100, 0x200);
    call(TOP, 0x110, 0x180);
    call(0, 0x120, 0x140);
    call(0, 0x140, 0x180);
    call(TOP, 0x1a0, 0x200);
    call(3, 0x1a0, 0x200);
    sequence(0x100, 0x200);
    row(0x100, 1, 7);
    EXPECT("256-512: 0 f 7 16 0 7 32 0>1 7 64 0>2 7 128 f 7 160 3>4 7");
    const struct code_context *x = &code.contexts[code.functions[0].context_count - 1];
    assert_int_equal(x->call_line, 14);
    assert_string_equal(code.files[x->call_file].name, "two.c");
}

/* f  |------------------------------|
 * 0     |----|       |----|             two ranges, given the wrong way round
 * 1       |-|          |-|              in 0 */
static void calls_of_several_ranges(void **state)
{
    (void)state;
    function(0, 100);
    call(TOP, 60, 80);
    call_more(20, 40);
    call(0, 25, 30);
    call_more(65, 70);
    EXPECT("0-100: 0 f - 20 0 - 25 0>1 - 30 0 - 40 f - 60 0 - 65 0>1 - 70 0 - 80 f -");
}

/* f  |-------------------|
 * 0 ------|                   sticks out in front
 * 1              |-----------  sticks out behind
 * 2    |-------|              in 0: goes on where 0 has ended
 * 3                       |--| outside: dropped, with
 * 4                       |--| what is in it */
static void calls_are_clipped(void **state)
{
    (void)state;
    function(100, 200);
    call(TOP, 50, 130);
    call(0, 110, 160);
    call(TOP, 180, 250);
    call(TOP, 210, 220);
    call(3, 190, 195);
    EXPECT("100-200: 0 0 - 10 0>1 - 30 f - 80 2 -");
    assert_int_equal(code.context_count, 3);
}

/* Siblings: the one that starts later wins from its start, the other goes on after it.
 * f  |-----------------------------------------|
 * 0    |---------|                             |
 * 1         |---------|                        |
 * 2                      |-------------|       |
 * 3                          |----|            |
 * 4                                      |--|  |
 * 5                                      |--|  |   the same range: the later in the file
 * 6                            |----|             in 2: cut by 3 */
static void siblings_that_overlap(void **state)
{
    (void)state;
    function(0, 100);
    call(TOP, 5, 25);
    call(TOP, 15, 35);
    call(TOP, 40, 70);
    call(TOP, 50, 60);
    call(TOP, 80, 90);
    call(TOP, 80, 90);
    call(2, 55, 65);
    EXPECT("0-100: 0 f - 5 0 - 15 1 - 35 f - 40 2 - 50 3 - 60 2>6 - 65 2 - 70 f - 80 5 - 90 f -");
}

static void earlier_start_but_later_in_the_file(void **state)
{
    (void)state;
    function(0, 100);
    call(TOP, 20, 40); /* wins from its start */
    call(TOP, 10, 60);
    call(TOP, 70, 90); /* equal starts: the later, and then the longer goes on */
    call(TOP, 70, 80);
    EXPECT("0-100: 0 f - 10 1 - 20 0 - 40 1 - 60 f - 70 3 - 80 2 - 90 f -");
}

static void calls_of_nothing(void **state)
{
    (void)state;
    function(0, 100);
    call(TOP, 20, 20);
    call(0, 20, 30);
    call(TOP, 50, 40);
    call(TOP, 60, 70);
    EXPECT("0-100: 0 f - 60 3 - 70 f -");
    assert_int_equal(code.context_count, 1);
    assert_int_equal(code.subject_count, 2);
}

/* f   |-----|         |-----|    |--|
 * 0     |-----------------|           over both and the gap */
static void functions_in_pieces(void **state)
{
    (void)state;
    struct dwarf_function *f = function(500, 600);
    more(f, 100, 150);
    more(f, 150, 200); /* touches */
    more(f, 800, 700); /* inverted */
    more(f, 800, 900);
    more(f, 850, 860); /* inside */
    f->all_tail_calls = true;
    f->call_count = 2;
    calls[0] = (struct dwarf_call){555, 7, false};
    calls[1] = (struct dwarf_call){110, DWARF_NONE, true};
    unit.call_count = 2;
    call(TOP, 150, 550);
    sequence(500, 550);
    row(500, 1, 5);
    EXPECT("100-200: 0 f - 50 0 - | 500-600: 0 0 5 50 f - | 800-900: 0 f -");
    for (size_t i = 0; i < 3; i++) {
        const struct code_function *p = &code.functions[i];
        assert_int_equal(p->entry, 500);
        assert_int_equal(p->die, 50);
        assert_int_equal(p->flags,
                         (i == 1 ? 0 : CODE_FUNCTION_PART) | CODE_FUNCTION_ALL_TAIL_CALLS);
        assert_int_equal(p->call_count, i == 1 ? 2 : 0);
    }
    const struct code_call *made = &code.calls[code.functions[1].first_call];
    assert_int_equal(made[0].pc, 555);
    assert_int_equal(code.subjects[made[0].subject].identity, 1007);
    assert_int_equal(made[1].subject, CODE_NONE);
    assert_true(made[1].tail);
    f->entry = 20; /* in no piece: the first is the function */
    flatten(false);
    assert_int_equal(code.functions[0].flags, CODE_FUNCTION_ALL_TAIL_CALLS);
    assert_int_equal(code.functions[2].entry, 100);
    assert_int_equal(code.functions[0].call_count, 2);
}

static void functions_without_code(void **state)
{
    (void)state;
    function(100, 100);
    function(300, 200);
    function(400, 500)->range_count = 0;
    EXPECT("");
    assert_int_equal(code.function_count, 0);
}

static void very_long_functions(void **state)
{
    (void)state;
    const uint64_t four = (uint64_t)1 << 32;
    function(16, 16 + 2 * four + 5);
    call(TOP, four, 2 * four);
    EXPECT("16-4294967312: 0 f - 4294967280 0 - | 4294967312-8589934608: 0 0 - 4294967280 f - | "
           "8589934608-8589934613: 0 f -");
    fresh(state);
    function(2, UINT64_MAX); /* a lie: 64 GB of it are kept */
    flatten(false);
    check_shape();
    assert_int_equal(code.function_count, 16);
}

static void functions_that_share_code(void **state)
{
    (void)state;
    function(100, 200)->die = 9; /* kept all, those of the same range in the order of the file */
    function(100, 200)->die = 8;
    function(150, 250);
    function(120, 130);
    sequence(100, 250);
    row(100, 1, 1);
    row(160, 1, 2);
    EXPECT(
        "100-200: 0 f 1 60 f 2 | 100-200: 0 f 1 60 f 2 | 120-130: 0 f 1 | 150-250: 0 f 1 10 f 2");
    assert_int_equal(code.functions[0].die, 8);
}

/* lines   |-----------------|    |---|
 * f          |---|  |---|                  what is left becomes functions of their own */
static void lines_of_no_function(void **state)
{
    (void)state;
    function(120, 140);
    function(150, 180);
    sequence(100, 200);
    row(100, 1, 1);
    row(130, 1, 2);
    row(190, 2, 3);
    sequence(300, 310);
    row(300, 1, 4);
    EXPECT("100-120 lines: 0 f 1 | 120-140: 0 f 1 10 f 2 | 140-150 lines: 0 f 2 | 150-180: 0 f 2 | "
           "180-200 lines: 0 f 2 10 f 3 | 300-310 lines: 0 f 4");
    assert_int_equal(code.functions[0].subject, CODE_NONE);
    assert_int_equal(code.functions[0].entry, 100);
}

/* a  |--------------------|     ends later than b: goes on after it
 * b         |-----|
 * c                 |---------| ends later than a: from a's end on */
static void sequences_that_overlap(void **state)
{
    (void)state;
    function(100, 300);
    sequence(100, 200);
    row(100, 1, 1);
    row(145, 1, 2);
    row(190, 1, 3);
    sequence(140, 160);
    row(140, 1, 11);
    row(150, 1, 12);
    sequence(180, 250);
    row(180, 1, 21);
    row(195, 1, 22);
    row(240, 1, 23);
    EXPECT("100-300: 0 f 1 40 f 11 50 f 12 60 f 2 90 f 3 100 f 22 140 f 23 150 f -");
}

static void files_that_are_not_there(void **state)
{
    (void)state;
    function(0, 100);
    call(TOP, 50, 60);
    inlines[0].call_file = 77;
    sequence(0, 100);
    row(0, 99, 5);
    row(10, 0, 6);
    row(20, 3, 7);
    row(30, UINT32_MAX, 8);
    EXPECT("0-100: 0 f - 20 f 7 30 f - 50 0 - 60 f -");
    assert_int_equal(code.contexts[0].call_file, CODE_NONE);
    assert_int_equal(code.contexts[0].call_line, 10);
}

static void names_and_declarations(void **state)
{
    (void)state;
    char put_together[] = "outer::inner";
    function(0, 10)->subject = 5;
    function(10, 20)->subject = DWARF_NONE;
    functions[1].artificial = true;
    subjects[5] = (struct dwarf_subject){.name = put_together,
                                         .die = 77,
                                         .decl_file = 3,
                                         .decl_line = 12,
                                         .linkage = true,
                                         .qualified = true};
    flatten(false);
    check_shape();
    memset(put_together, 'x', 5); /* the unit's memory is gone by then */
    assert_int_equal(code.subject_count, 1);
    assert_string_equal(code.subjects[0].name, "outer::inner");
    assert_string_equal(code.files[code.subjects[0].decl_file].name, "three.c");
    assert_int_equal(code.subjects[0].decl_line, 12);
    assert_true(code.subjects[0].linkage);
    assert_int_equal(code.functions[1].subject, CODE_NONE);
    assert_int_equal(code.functions[1].flags, CODE_FUNCTION_ARTIFICIAL);
}

/* ---- random units against an oracle ---- */

enum { SPACE = 256 };
static uint32_t random_state;

static uint32_t random_below(uint32_t n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)(random_state >> 8) * n) >> 24);
}

/* The oracle: descends from the function into the child that holds the address, at each level the
 * one whose range there starts last, then the last in the file. */
static uint32_t oracle_call(const struct dwarf_function *f, uint64_t address, uint32_t parent)
{
    uint32_t best = DWARF_NONE;
    uint64_t best_lo = 0;
    for (uint32_t i = f->first_inline; i < f->first_inline + f->inline_count; i++)
        for (uint32_t k = 0; inlines[i].parent == parent && k < inlines[i].range_count; k++) {
            const struct object_range *r = &ranges[inlines[i].first_range + k];
            if (r->lo <= address && address < r->hi && (best == DWARF_NONE || r->lo >= best_lo)) {
                best = i;
                best_lo = r->lo;
            }
        }
    if (best == DWARF_NONE)
        return parent;
    return oracle_call(f, address, best);
}

static const struct dwarf_row *oracle_row(uint64_t address)
{
    const struct dwarf_sequence *best = NULL;
    for (size_t i = 0; i < lines.sequence_count; i++) {
        const struct dwarf_sequence *s = &sequences[i];
        if (s->lo <= address && address < s->hi &&
            (!best || s->hi < best->hi || (s->hi == best->hi && s->first_row < best->first_row)))
            best = s;
    }
    const struct dwarf_row *found = NULL;
    for (uint32_t i = 0; best && i < best->row_count; i++)
        if (rows[best->first_row + i].address <= address)
            found = &rows[best->first_row + i];
    return found && found->file && found->file < lines.file_count ? found : NULL;
}

static void random_range(uint64_t lo, uint64_t hi, bool wild)
{
    if (wild) {
        lo = 0;
        hi = SPACE;
    }
    uint64_t a = lo + random_below((uint32_t)(hi - lo) + 1);
    uint64_t b = lo + random_below((uint32_t)(hi - lo) + 1);
    bool swap = a > b && (!wild || random_below(8));
    range(swap ? b : a, swap ? a : b);
}

/* `wild`: ranges anywhere; else inside those of the parent, and siblings may still overlap. */
static void random_calls(bool wild)
{
    struct dwarf_function *f = &functions[unit.function_count - 1];
    uint32_t count = random_below(20);
    for (uint32_t i = 0; i < count; i++) {
        int parent = i && random_below(4) ? (int)random_below(i) : TOP;
        int number = call(parent, 0, 0);
        struct dwarf_inline *in = &inlines[f->first_inline + (uint32_t)number];
        unit.range_count = in->first_range;
        in->range_count = random_below(4);
        uint32_t from = parent == TOP ? f->first_range : in[parent - number].first_range;
        uint32_t room = parent == TOP ? f->range_count : in[parent - number].range_count;
        for (uint32_t k = 0; k < in->range_count; k++) {
            const struct object_range *in_range = room ? &ranges[from + random_below(room)] : NULL;
            bool good = in_range && in_range->lo <= in_range->hi;
            random_range(good ? in_range->lo : 0, good ? in_range->hi : 0, wild);
        }
    }
}

static int sequence_order(const void *left, const void *right)
{
    const struct dwarf_sequence *a = left, *b = right;
    return a->lo < b->lo ? -1 : a->lo > b->lo;
}

static void random_lines(void)
{
    uint32_t count = random_below(6);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t lo = random_below(SPACE - 1), hi = lo + 1 + random_below(SPACE / 4);
        sequence(lo, hi);
        for (uint64_t at = lo; at < hi; at += 1 + random_below(12))
            row(at, random_below(6), random_below(4));
    }
    qsort(sequences, lines.sequence_count, sizeof *sequences, sequence_order);
}

static const struct code_row *row_at(const struct code_function *f, uint64_t address)
{
    const struct code_row *found = NULL;
    for (uint32_t i = 0; i < f->row_count; i++)
        if (f->lo + code.rows[f->first_row + i].offset <= address)
            found = &code.rows[f->first_row + i];
    return found;
}

static void expect_line(const struct code_row *ours, uint64_t address)
{
    const struct dwarf_row *theirs = oracle_row(address);
    if (!theirs) {
        assert_int_equal(ours->file, CODE_NONE);
        assert_int_equal(ours->line, 0);
        return;
    }
    assert_int_not_equal(ours->file, CODE_NONE);
    assert_string_equal(code.files[ours->file].name, files[theirs->file].name);
    assert_int_equal(ours->line, theirs->line);
    assert_int_equal(code.columns[ours - code.rows], theirs->column);
}

static void expect_calls(const struct code_function *f, uint32_t context, uint32_t call_index)
{
    for (; context; call_index = inlines[call_index].parent) {
        const struct code_context *x = &code.contexts[f->first_context + context - 1];
        assert_int_not_equal(call_index, DWARF_NONE);
        const struct dwarf_inline *in = &inlines[call_index];
        assert_int_equal(code.subjects[x->subject].identity, subjects[in->subject].die);
        assert_int_equal(x->call_line, in->call_line);
        context = x->parent;
    }
    assert_int_equal(call_index, DWARF_NONE);
}

/* Exactly one piece of `f` holds the address, when the function does. */
static void expect_function(const struct dwarf_function *f, uint64_t address)
{
    bool holds = false;
    for (uint32_t k = 0; k < f->range_count; k++)
        holds |=
            ranges[f->first_range + k].lo <= address && address < ranges[f->first_range + k].hi;
    size_t found = 0;
    for (size_t i = 0; i < code.function_count; i++) {
        const struct code_function *c = &code.functions[i];
        if (c->die != f->die || address < c->lo || address >= c->hi)
            continue;
        found++;
        const struct code_row *r = row_at(c, address);
        expect_line(r, address);
        expect_calls(c, r->context, oracle_call(f, address, DWARF_NONE));
    }
    assert_int_equal(found, holds ? 1 : 0);
}

static void expect_lines_only(uint64_t address)
{
    bool in_function = false, in_lines = false;
    for (size_t i = 0; i < lines.sequence_count; i++)
        in_lines |= sequences[i].lo <= address && address < sequences[i].hi;
    size_t found = 0;
    for (size_t i = 0; i < code.function_count; i++) {
        const struct code_function *c = &code.functions[i];
        if (address < c->lo || address >= c->hi)
            continue;
        if (!(c->flags & CODE_FUNCTION_LINES_ONLY)) {
            in_function = true;
            continue;
        }
        found++;
        expect_line(row_at(c, address), address);
    }
    assert_int_equal(found, in_lines && !in_function ? 1 : 0);
}

static void as_the_oracle_says(void **state)
{
    for (uint32_t round = 0; round < 4000; round++) {
        fresh(state);
        random_state = round * 7919 + 1;
        bool wild = round % 2;
        uint32_t count = random_below(4);
        for (uint32_t i = 0; i < count; i++) {
            struct dwarf_function *f = function(0, 0);
            unit.range_count--;
            f->range_count = random_below(4);
            for (uint32_t k = 0; k < f->range_count; k++)
                random_range(0, SPACE, wild);
            random_calls(wild);
        }
        random_lines();
        flatten(true);
        check_shape();
        for (uint64_t address = 0; address < SPACE + SPACE / 4 + 2; address++) {
            for (size_t i = 0; i < unit.function_count; i++)
                expect_function(&functions[i], address);
            expect_lines_only(address);
        }
    }
}

/* Chains of calls as deep as the unit is long neither recurse nor grow without bound. */
static void deep_chains(void **state)
{
    (void)state;
    function(0, 10000);
    for (int i = 0; i < 2000; i++) {
        call(i - 1, (uint64_t)i, 10000 - (uint64_t)i);
        if (i % 2) /* never properly nested */
            call_more(0, 10000);
    }
    flatten(false);
    check_shape();
    assert_int_equal(code.functions[0].context_count, 2000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, done)
    const struct CMUnitTest tests[] = {
        TEST(rows_of_a_plain_function),
        TEST(nested_calls),
        TEST(calls_of_several_ranges),
        TEST(calls_are_clipped),
        TEST(siblings_that_overlap),
        TEST(earlier_start_but_later_in_the_file),
        TEST(calls_of_nothing),
        TEST(functions_in_pieces),
        TEST(functions_without_code),
        TEST(very_long_functions),
        TEST(functions_that_share_code),
        TEST(lines_of_no_function),
        TEST(sequences_that_overlap),
        TEST(files_that_are_not_there),
        TEST(names_and_declarations),
        TEST(as_the_oracle_says),
        TEST(deep_chains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
