/*
 * Running line number programs (DWARF 5 section 6.2.5) to sorted sequences of rows.
 *
 * Invariant: rows[first..count) are those of the open sequence, ascending and one an address unless
 * `goes_back` says that the program went back; then they are sorted when the sequence ends. Rows
 * are written once, at the end of one arena piece that grows in place; a dead sequence is taken
 * back by its count.
 */
#include "dwarf/line_internal.h"

#include "base/array.h"

enum {
    OP_EXTENDED = 0,
    OP_COPY,
    OP_ADVANCE_PC,
    OP_ADVANCE_LINE,
    OP_SET_FILE,
    OP_SET_COLUMN,
    OP_NEGATE_STMT,
    OP_SET_BASIC_BLOCK,
    OP_CONST_ADD_PC,
    OP_FIXED_ADVANCE_PC,
    OP_SET_PROLOGUE_END,
    OP_SET_EPILOGUE_BEGIN,
    OP_SET_ISA
};

enum { EXTENDED_END_SEQUENCE = 1, EXTENDED_SET_ADDRESS = 2, EXTENDED_DEFINE_FILE = 3 };

struct program {
    const struct dwarf_line_input *input;
    struct line_header *header;
    struct arena *arena;
    struct dwarf_lines *lines; /* rows and row_count: see the invariant */
    size_t row_capacity;
    size_t sequence_capacity;
    size_t first; /* row of the open sequence */
    bool goes_back;
    bool dead;                  /* the open sequence has no address one can trust */
    size_t code;                /* the code range that the last sequence began in */
    struct dwarf_row row;       /* the registers; address, file, ... */
    unsigned operation;         /* op_index, VLIW only */
    uint16_t advance[256];      /* special opcodes: bytes (VLIW: operations), */
    uint32_t line_advance[256]; /* and lines, two's complement */
};

/* ---- sequences ---- */

/* The values that linkers write for code they left out. */
static bool is_tombstone(const struct program *m, uint64_t address)
{
    unsigned bits = m->header->address_size * 8u;
    uint64_t last = bits >= 64 || !bits ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
    return address == last || address == last - 1;
}

static bool is_dead(struct program *m, uint64_t address)
{
    const struct dwarf_line_input *in = m->input;
    if (is_tombstone(m, address) || (address <= 1 && !in->keep_zero))
        return true;
    if (!in->code)
        return false;
    if (m->code < in->code_count && address >= in->code[m->code].lo &&
        address < in->code[m->code].hi)
        return false;
    size_t lo = 0, hi = in->code_count;
    while (lo < hi) { /* the first range that ends after the address */
        size_t middle = lo + (hi - lo) / 2;
        if (in->code[middle].hi > address)
            hi = middle;
        else
            lo = middle + 1;
    }
    m->code = lo;
    return lo == in->code_count || address < in->code[lo].lo;
}

/* Stable, bottom up: what a program that goes back needs. */
static bool sort_rows(struct dwarf_row *rows, size_t count)
{
    struct dwarf_row *spare = malloc(count * sizeof *spare), *from = rows, *to = spare;
    if (!spare)
        return false;
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t begin = 0; begin < count; begin += 2 * width) {
            size_t middle = count - begin < width ? count : begin + width;
            size_t end = count - middle < width ? count : middle + width;
            size_t a = begin, b = middle;
            for (size_t i = begin; i < end; i++)
                to[i] = b == end || (a < middle && from[a].address <= from[b].address) ? from[a++]
                                                                                       : from[b++];
        }
        struct dwarf_row *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows)
        memcpy(rows, from, count * sizeof *rows);
    free(spare);
    return true;
}

/* Of several rows at one address the last stands. */
static size_t keep_last(struct dwarf_row *rows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept && rows[kept - 1].address == rows[i].address)
            kept--;
        rows[kept++] = rows[i];
    }
    return kept;
}

/* Closes the open sequence at `hi` and opens the next. */
static bool end_sequence(struct program *m, uint64_t hi)
{
    struct dwarf_lines *lines = m->lines;
    struct dwarf_row *rows = lines->rows + m->first;
    size_t count = lines->row_count - m->first;
    if (count && (m->dead || is_dead(m, rows[0].address)))
        count = 0;
    if (count && m->goes_back) {
        if (!sort_rows(rows, count))
            return false;
        count = keep_last(rows, count);
    }
    while (count && rows[count - 1].address >= hi)
        count--;
    if (count) {
        if (!array_room(&lines->sequences, &m->sequence_capacity, lines->sequence_count,
                        sizeof *lines->sequences))
            return false;
        lines->sequences[lines->sequence_count++] =
            (struct dwarf_sequence){rows[0].address, hi, (uint32_t)m->first, (uint32_t)count};
    }
    lines->row_count = m->first += count;
    m->goes_back = m->dead = false;
    return true;
}

/* ---- rows ---- */

static bool more_rows(struct program *m)
{
    struct dwarf_lines *lines = m->lines;
    size_t capacity = m->row_capacity + m->row_capacity / 2 + 64;
    if (capacity > UINT32_MAX)
        return false;
    struct dwarf_row *rows = arena_resize(m->arena, lines->rows, m->row_capacity * sizeof *rows,
                                          capacity * sizeof *rows);
    if (!rows)
        return false;
    lines->rows = rows;
    m->row_capacity = capacity;
    return true;
}

static inline bool append(struct program *m)
{
    struct dwarf_lines *lines = m->lines;
    if (lines->row_count > m->first) {
        uint64_t last = lines->rows[lines->row_count - 1].address;
        if (m->row.address <= last) {
            if (m->row.address < last)
                m->goes_back = true;
            else
                lines->row_count--;
        }
    }
    if (lines->row_count == m->row_capacity && !more_rows(m))
        return false;
    struct dwarf_row *row = &lines->rows[lines->row_count++];
    *row = m->row;
    if (row->line > INT32_MAX) /* advanced to below zero */
        row->line = 0;
    return true;
}

/* ---- opcodes ---- */

static void reset(struct program *m)
{
    m->row = (struct dwarf_row){.file = 1, .line = 1};
    m->row.is_statement = m->header->default_is_statement;
    m->operation = 0;
}

/* What special opcodes do, once for a table: dividing for each row would cost more. */
static void prepare(struct program *m)
{
    const struct line_header *h = m->header;
    unsigned scale = h->max_operations > 1 ? 1 : h->min_instruction; /* VLIW: operations */
    unsigned operations = 0, line = 0;
    for (unsigned op = h->opcode_base; op < 256; op++) {
        m->advance[op] = (uint16_t)(operations * scale);
        m->line_advance[op] = (uint32_t)(h->line_base + (int)line);
        if (h->line_range && ++line == h->line_range) {
            line = 0;
            operations++;
        }
    }
}

static void advance(struct program *m, uint64_t operations)
{
    const struct line_header *h = m->header;
    if (h->max_operations <= 1) {
        m->row.address += operations * h->min_instruction;
        return;
    }
    operations += m->operation;
    m->row.address += operations / h->max_operations * h->min_instruction;
    m->operation = (unsigned)(operations % h->max_operations);
}

static uint32_t capped(uint64_t value, uint32_t cap)
{
    return value > cap ? cap : (uint32_t)value;
}

static fw_error set_address(struct program *m, struct reader *r)
{
    uint64_t address = reader_uint(r, (unsigned)reader_left(r));
    m->operation = 0;
    if (r->failed) { /* of a size that is none: rows after it are nowhere */
        m->dead = true;
        return FW_ERR_CORRUPT;
    }
    /* Some linkers mark what they left out in the middle of a sequence too. */
    if (m->lines->row_count > m->first && is_tombstone(m, address) &&
        !end_sequence(m, m->row.address))
        return FW_ERR_MEMORY;
    m->row.address = address;
    return FW_OK;
}

static fw_error define_file(struct program *m, struct reader *r)
{
    const char *name = reader_string(r);
    uint64_t directory = reader_uleb(r);
    if (r->failed)
        return FW_ERR_CORRUPT;
    return line_add_file(m->input, m->arena, m->header, m->lines, name, directory) ? FW_OK
                                                                                   : FW_ERR_MEMORY;
}

/* Whatever an extended opcode does, it is as long as it says. */
static fw_error extended(struct program *m, struct reader *r)
{
    struct reader sub = reader_sub(r, reader_uleb(r));
    if (r->failed)
        return FW_ERR_TRUNCATED;
    if (!reader_left(&sub))
        return FW_OK;
    switch (reader_u8(&sub)) {
    case EXTENDED_END_SEQUENCE:
        if (!end_sequence(m, m->row.address))
            return FW_ERR_MEMORY;
        reset(m);
        return FW_OK;
    case EXTENDED_SET_ADDRESS: return set_address(m, &sub);
    case EXTENDED_DEFINE_FILE: return define_file(m, &sub);
    default: return FW_OK; /* discriminators; vendors' */
    }
}

/* LEB128 of one byte is nearly all there are. */
static inline uint64_t short_uleb(struct reader *r)
{
    if (r->pos < r->end && *r->pos < 0x80)
        return *r->pos++;
    return reader_uleb(r);
}

static fw_error standard(struct program *m, struct reader *r, unsigned op)
{
    switch (op) {
    case OP_EXTENDED: return extended(m, r);
    case OP_COPY: return append(m) ? FW_OK : FW_ERR_MEMORY;
    case OP_ADVANCE_PC: advance(m, short_uleb(r)); break;
    case OP_ADVANCE_LINE: m->row.line += (uint32_t)reader_sleb(r); break;
    case OP_SET_FILE: m->row.file = capped(short_uleb(r), UINT32_MAX); break;
    case OP_SET_COLUMN: m->row.column = (uint16_t)capped(short_uleb(r), UINT16_MAX); break;
    case OP_NEGATE_STMT: m->row.is_statement = !m->row.is_statement; break;
    case OP_CONST_ADD_PC:
        if (m->header->max_operations > 1)
            advance(m, m->advance[255]);
        else
            m->row.address += m->advance[255];
        break;
    case OP_FIXED_ADVANCE_PC:
        m->row.address += reader_u16(r);
        m->operation = 0;
        break;
    case OP_SET_BASIC_BLOCK:
    case OP_SET_PROLOGUE_END:
    case OP_SET_EPILOGUE_BEGIN: break;
    case OP_SET_ISA: reader_uleb(r); break;
    default:
        for (unsigned i = 0; i < m->header->operand_counts[op - 1]; i++)
            reader_uleb(r);
    }
    return r->failed ? FW_ERR_TRUNCATED : FW_OK;
}

static fw_error special(struct program *m, unsigned op)
{
    if (m->header->max_operations > 1)
        advance(m, m->advance[op]);
    else
        m->row.address += m->advance[op];
    m->row.line += m->line_advance[op];
    return append(m) ? FW_OK : FW_ERR_MEMORY;
}

static fw_error run(struct program *m, struct fw_failure *why)
{
    struct reader r = m->header->program;
    reset(m);
    while (r.pos < r.end) {
        const uint8_t *at = r.pos;
        unsigned op = *r.pos++;
        fw_error error = op >= m->header->opcode_base ? special(m, op) : standard(m, &r, op);
        if (error == FW_OK)
            continue;
        line_problem(why, error, m->header->unit, (uint64_t)(at - r.begin),
                     error == FW_ERR_MEMORY ? "out of memory" : "damaged opcode");
        if (error == FW_ERR_MEMORY)
            return error;
        if (error != FW_ERR_CORRUPT) /* what is corrupt was skipped by its length */
            break;
    }
    if (m->lines->row_count > m->first)
        line_problem(why, FW_ERR_TRUNCATED, m->header->unit, (uint64_t)(r.pos - r.begin),
                     "the last sequence has no end");
    return end_sequence(m, m->row.address) ? FW_OK : FW_ERR_MEMORY;
}

/* ---- the result ---- */

static int by_address(const void *left, const void *right)
{
    const struct dwarf_sequence *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    if (a->hi != b->hi)
        return a->hi < b->hi ? -1 : 1;
    return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static bool is_copy(const struct dwarf_lines *lines, const struct dwarf_sequence *a,
                    const struct dwarf_sequence *b)
{
    if (a->lo != b->lo || a->hi != b->hi || a->row_count != b->row_count)
        return false;
    const struct dwarf_row *x = lines->rows + a->first_row, *y = lines->rows + b->first_row;
    for (uint32_t i = 0; i < a->row_count; i++)
        if (x[i].address != y[i].address || x[i].file != y[i].file || x[i].line != y[i].line ||
            x[i].column != y[i].column || x[i].is_statement != y[i].is_statement)
            return false;
    return true;
}

static void sort_sequences(struct dwarf_lines *lines)
{
    struct dwarf_sequence *all = lines->sequences;
    bool sorted = true;
    for (size_t i = 1; i < lines->sequence_count && sorted; i++)
        sorted = all[i - 1].hi <= all[i].lo;
    if (sorted)
        return;
    qsort(all, lines->sequence_count, sizeof *all, by_address);
    size_t kept = 1;
    for (size_t i = 1; i < lines->sequence_count; i++)
        if (!is_copy(lines, &all[kept - 1], &all[i]))
            all[kept++] = all[i];
    lines->sequence_count = kept;
}

/* Gives back the room that no row needed, and moves the sequences into the arena. */
static fw_error finish(struct program *m)
{
    struct dwarf_lines *lines = m->lines;
    struct dwarf_sequence *own = lines->sequences;
    lines->sequences = NULL;
    if (lines->rows)
        lines->rows = arena_resize(m->arena, lines->rows, m->row_capacity * sizeof *lines->rows,
                                   lines->row_count * sizeof *lines->rows);
    if (lines->sequence_count) {
        lines->sequences = arena_take_many(m->arena, lines->sequence_count, sizeof *own);
        if (lines->sequences)
            memcpy(lines->sequences, own, lines->sequence_count * sizeof *own);
    }
    free(own);
    return lines->sequence_count && !lines->sequences ? FW_ERR_MEMORY : FW_OK;
}

fw_error dwarf_lines_read(const struct dwarf_line_input *input, struct arena *arena,
                          struct dwarf_lines *lines, struct fw_failure *why)
{
    struct fw_failure own = {0};
    struct line_header header;
    struct program *m;
    if (!why)
        why = &own;
    *why = own;
    *lines = (struct dwarf_lines){0};
    fw_error error = line_header_read(input, arena, &header, lines, why);
    if (error == FW_OK && (m = arena_take(arena, sizeof *m))) {
        *m = (struct program){.input = input, .header = &header, .arena = arena, .lines = lines};
        prepare(m);
        /* Rows as compilers write them: three bytes of program or more. */
        m->row_capacity = reader_left(&header.program) / 3;
        if (m->row_capacity > 1 << 20)
            m->row_capacity = 1 << 20;
        lines->rows = arena_take_many(arena, m->row_capacity, sizeof *lines->rows);
        error = lines->rows ? run(m, why) : FW_ERR_MEMORY;
        sort_sequences(lines);
        fw_error last = finish(m);
        error = error == FW_OK ? last : error;
    } else if (error == FW_OK)
        error = FW_ERR_MEMORY;
    if (error == FW_OK)
        return FW_OK;
    *lines = (struct dwarf_lines){.version = lines->version};
    return error == FW_ERR_MEMORY
               ? line_problem(why, error, input->offset, input->offset, "out of memory")
               : error;
}

fw_error dwarf_line_files_read(const struct dwarf_line_input *input, struct arena *arena,
                               struct dwarf_lines *lines, struct fw_failure *why)
{
    struct fw_failure own = {0};
    struct line_header header;
    *lines = (struct dwarf_lines){0};
    if (!why)
        why = &own;
    *why = own;
    return line_header_read(input, arena, &header, lines, why);
}
