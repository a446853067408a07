/* Flattening of units that no compiler makes: four bytes make a range of a function, of an inlined
 * call or of a line sequence. The result must keep to what code.h promises. */
#include "symmap/code.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX = 512 };
static struct object_range ranges[MAX];
static struct dwarf_function functions[MAX];
static struct dwarf_inline inlines[MAX];
static struct dwarf_row rows[MAX * 4];
static struct dwarf_sequence sequences[MAX];
static struct dwarf_subject subjects[4] = {{.name = "a", .die = 1},
                                           {.name = "b", .qualified = true}};
static struct dwarf_file_name files[3] = {{"", "", ""}, {"", "/d", "a.c"}, {"", "/d", "b.c"}};

static void check(bool holds)
{
    if (!holds)
        abort();
}

static uint64_t widened(uint8_t value, uint8_t kind)
{
    return kind & 0x80 ? (uint64_t)value << 56 | (uint64_t)value << 30 : value;
}

static void add_lines(struct dwarf_lines *lines, uint64_t lo, uint64_t hi, uint8_t step)
{
    if (lo >= hi || (lines->sequence_count && lo < sequences[lines->sequence_count - 1].lo))
        return;
    struct dwarf_sequence *s = &sequences[lines->sequence_count++];
    *s = (struct dwarf_sequence){lo, hi, (uint32_t)lines->row_count, 0};
    uint64_t at = lo;
    do {
        rows[lines->row_count++] = (struct dwarf_row){
            .address = at, .file = step % 4, .line = s->row_count, .column = step};
        s->row_count++;
        at += step + 1u;
    } while (at > lo && at < hi && s->row_count < 4);
}

static void add_range(struct dwarf_unit *unit, uint32_t *first, uint32_t *count, uint64_t lo,
                      uint64_t hi)
{
    if (*count == 0)
        *first = (uint32_t)unit->range_count;
    ++*count;
    ranges[unit->range_count++] = (struct object_range){lo, hi};
}

static void add_inline(struct dwarf_unit *unit, uint8_t parent, uint64_t lo, uint64_t hi)
{
    struct dwarf_function *f = &functions[unit->function_count - 1];
    struct dwarf_inline *in = &inlines[unit->inline_count++];
    *in =
        (struct dwarf_inline){.subject = parent % 5, .call_file = parent % 4, .call_line = parent};
    in->parent = f->inline_count && parent % 4
                     ? f->first_inline + f->inline_count - 1 - parent % 7 % f->inline_count
                     : DWARF_NONE;
    f->inline_count++;
    add_range(unit, &in->first_range, &in->range_count, lo, hi);
}

static void build(struct dwarf_unit *unit, struct dwarf_lines *lines, const uint8_t *data,
                  size_t size)
{
    enum { FUNCTION, FUNCTION_RANGE, CALL, CALL_RANGE, LINES };
    uint8_t last = LINES;
    for (size_t i = 0; i + 4 <= size && i < 4 * MAX; i += 4) {
        uint8_t kind = data[i] & 0x7f;
        uint64_t lo = widened(data[i + 1], data[i]), hi = widened(data[i + 2], data[i]);
        struct dwarf_function *f = unit->function_count ? &functions[unit->function_count - 1] : 0;
        if (kind % 5 == LINES)
            add_lines(lines, lo, hi, data[i + 3]);
        else if (kind % 5 == FUNCTION || !f) {
            f = &functions[unit->function_count++];
            *f = (struct dwarf_function){
                .first_inline = (uint32_t)unit->inline_count, .entry = lo, .die = data[i + 3]};
            add_range(unit, &f->first_range, &f->range_count, lo, hi);
            last = FUNCTION;
        } else if (kind % 5 == CALL || (kind % 5 == CALL_RANGE && last != CALL)) {
            add_inline(unit, data[i + 3], lo, hi);
            last = CALL;
        } else if (kind % 5 == CALL_RANGE) {
            struct dwarf_inline *in = &inlines[unit->inline_count - 1];
            add_range(unit, &in->first_range, &in->range_count, lo, hi);
        } else if (last == FUNCTION)
            add_range(unit, &f->first_range, &f->range_count, lo, hi);
    }
}

static void check_function(const struct code_unit *code, const struct code_function *f)
{
    check(f->lo < f->hi && f->hi - f->lo <= (uint64_t)1 << 32 && f->row_count > 0);
    check((uint64_t)f->first_row + f->row_count <= code->row_count);
    check((uint64_t)f->first_context + f->context_count <= code->context_count);
    check(f->subject == CODE_NONE || f->subject < code->subject_count);
    for (uint32_t i = 0; i < f->context_count; i++)
        check(code->contexts[f->first_context + i].parent <= i);
    for (uint32_t i = 0; i < f->row_count; i++) {
        const struct code_row *row = &code->rows[f->first_row + i];
        check(i ? row->offset > row[-1].offset : row->offset == 0);
        check(row->offset < f->hi - f->lo && row->context <= f->context_count);
        check(row->file == CODE_NONE || row->file < code->file_count);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dwarf_unit unit = {.ranges = ranges,
                              .functions = functions,
                              .inlines = inlines,
                              .subjects = subjects,
                              .subject_count = 4};
    struct dwarf_lines lines = {
        .rows = rows, .sequences = sequences, .files = files, .file_count = 3};
    if (!size)
        return 0;
    struct flatten_options options = {.columns = data[0] & 1};
    struct arena scratch = {0};
    struct code_unit code;
    build(&unit, &lines, data + 1, size - 1);
    check(code_flatten(&unit, &lines, &options, &scratch, &code) == FW_OK);
    for (size_t i = 0; i < code.function_count; i++) {
        check_function(&code, &code.functions[i]);
        check(i == 0 || code.functions[i - 1].lo <= code.functions[i].lo);
    }
    code_unit_free(&code);
    arena_free(&scratch);
    return 0;
}
