/*
 * The linker moves atoms: each function as a whole, to a place of its own. So a function of the
 * debug information goes with the atom that holds its start. Rows that belong to no function may
 * span several atoms, and are cut; within a unit these never overlap each other, which bounds the
 * number of pieces by that of functions and moves.
 */
#include "symmap/code_move.h"

#include <stdlib.h>
#include <string.h>

struct moved {
    struct code_function *functions;
    size_t count;
    struct code_row *rows;
    uint16_t *columns; /* NULL: none */
    size_t row_count;
};

/* The first move that ends after the address; `count` when none does. */
static size_t first_after(const struct code_move *moves, size_t count, uint64_t address)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (moves[middle].hi <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool moved_address(const struct code_move *moves, size_t count, uint64_t *address)
{
    size_t i = first_after(moves, count, *address);
    if (i == count || *address < moves[i].lo)
        return false;
    *address = moves[i].to + (*address - moves[i].lo);
    return true;
}

/* The moves that a function is made of; *end == *begin: none. */
static void moves_of(const struct code_function *f, const struct code_move *moves, size_t count,
                     size_t *begin, size_t *end)
{
    *begin = first_after(moves, count, f->lo);
    *end = *begin;
    if (f->flags & CODE_FUNCTION_LINES_ONLY) {
        while (*end < count && moves[*end].lo < f->hi)
            (*end)++;
    } else if (*begin < count && moves[*begin].lo <= f->lo) {
        *end = *begin + 1;
    }
}

/* The first row at or after an offset. */
static uint32_t row_from(const struct code_unit *code, const struct code_function *f,
                         uint64_t offset)
{
    uint32_t i = 0;
    while (i < f->row_count && code->rows[f->first_row + i].offset < offset)
        i++;
    return i;
}

static void add_rows(const struct code_unit *code, const struct code_function *from, uint64_t lo,
                     uint64_t hi, struct code_function *piece, struct moved *moved)
{
    uint64_t first = lo - from->lo, last = hi - from->lo;
    uint32_t i = row_from(code, from, first), end = row_from(code, from, last);
    if (i > 0 && (i == from->row_count || code->rows[from->first_row + i].offset > first))
        i--; /* the row that holds at the cut */
    piece->first_row = (uint32_t)moved->row_count;
    for (; i < end; i++) {
        struct code_row row = code->rows[from->first_row + i];
        row.offset = row.offset > first ? (uint32_t)(row.offset - first) : 0;
        if (moved->columns)
            moved->columns[moved->row_count] = code->columns[from->first_row + i];
        moved->rows[moved->row_count++] = row;
    }
    piece->row_count = (uint32_t)moved->row_count - piece->first_row;
}

/* Calls are a byte before the address that they return to, tail calls where they are. */
static void move_calls(struct code_unit *code, struct code_function *f,
                       const struct code_move *moves, size_t count)
{
    struct code_call *calls = code->calls + f->first_call;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < f->call_count; i++) {
        struct code_call call = calls[i];
        call.pc -= !call.tail;
        if (!moved_address(moves, count, &call.pc))
            continue;
        call.pc += !call.tail;
        calls[kept++] = call;
    }
    if (kept < f->call_count)
        f->flags &= (uint8_t)~CODE_FUNCTION_ALL_TAIL_CALLS;
    f->call_count = kept;
}

static void add_piece(struct code_unit *code, const struct code_function *from,
                      const struct code_move *move, struct moved *moved)
{
    uint64_t lo = from->lo > move->lo ? from->lo : move->lo;
    uint64_t hi = from->hi < move->hi ? from->hi : move->hi;
    struct code_function piece = *from;
    add_rows(code, from, lo, hi, &piece, moved);
    piece.lo = move->to + (lo - move->lo);
    piece.hi = piece.lo + (hi - lo);
    moved->functions[moved->count++] = piece;
}

static int by_address(const void *a, const void *b)
{
    const struct code_function *x = a, *y = b;
    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi < y->hi ? -1 : 1;
    return (x->die > y->die) - (x->die < y->die);
}

/* Room for as many pieces and rows as there will be at most. */
static bool make_room(struct code_unit *code, const struct code_move *moves, size_t count,
                      struct moved *moved)
{
    size_t pieces = 0, rows = 0;
    for (size_t i = 0; i < code->function_count; i++) {
        size_t begin, end;
        moves_of(&code->functions[i], moves, count, &begin, &end);
        pieces += end - begin;
        if (end > begin)
            rows += code->functions[i].row_count + (end - begin - 1);
    }
    moved->functions = arena_take_many(&code->arena, pieces, sizeof *moved->functions);
    moved->rows = arena_take_many(&code->arena, rows, sizeof *moved->rows);
    if (code->columns)
        moved->columns = arena_take_many(&code->arena, rows, sizeof *moved->columns);
    return moved->functions && moved->rows && (moved->columns || !code->columns);
}

fw_error code_move(struct code_unit *code, const struct code_move *moves, size_t count)
{
    struct moved moved = {0};
    if (!make_room(code, moves, count, &moved))
        return FW_ERR_MEMORY;
    for (size_t i = 0; i < code->function_count; i++) {
        struct code_function *f = &code->functions[i];
        size_t begin, end;
        moves_of(f, moves, count, &begin, &end);
        if (begin == end)
            continue;
        move_calls(code, f, moves, count);
        if (!moved_address(moves, count, &f->entry))
            f->entry = moves[begin].to + (f->lo > moves[begin].lo ? f->lo - moves[begin].lo : 0);
        for (size_t m = begin; m < end; m++)
            add_piece(code, f, &moves[m], &moved);
    }
    qsort(moved.functions, moved.count, sizeof *moved.functions, by_address);
    code->functions = moved.functions;
    code->function_count = moved.count;
    code->rows = moved.rows;
    code->row_count = moved.row_count;
    code->columns = moved.columns;
    return FW_OK;
}
