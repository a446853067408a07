/*
 * The flat unit out of scratch memory into an arena of exactly its size: what a conversion keeps of
 * each unit until the map is written.
 */
#include "symmap/flatten_internal.h"

static size_t room_for(size_t count, size_t size)
{
    size_t bytes = count * size; /* it stands in scratch already, so it fits */
    return (bytes + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

static void *copy_of(struct arena *arena, const void *items, size_t count, size_t size)
{
    void *copy = arena_take_many(arena, count, size);
    if (copy && count)
        memcpy(copy, items, count * size);
    return copy;
}

/* Rows and contexts in the order of the functions. */
static void copy_in_order(const struct flatten *f, struct code_unit *code)
{
    const struct code_unit *from = &f->out;
    for (size_t i = 0; i < code->function_count; i++) {
        struct code_function *function = &code->functions[i];
        const struct code_function was = *function;
        function->first_context = (uint32_t)code->context_count;
        function->first_row = (uint32_t)code->row_count;
        if (was.context_count)
            memcpy(&code->contexts[code->context_count], &from->contexts[was.first_context],
                   was.context_count * sizeof *code->contexts);
        if (was.row_count)
            memcpy(&code->rows[code->row_count], &from->rows[was.first_row],
                   was.row_count * sizeof *code->rows);
        if (was.row_count && code->columns)
            memcpy(&code->columns[code->row_count], &from->columns[was.first_row],
                   was.row_count * sizeof *code->columns);
        code->context_count += was.context_count;
        code->row_count += was.row_count;
    }
}

/* Names that were put together live in the unit's memory. */
static void copy_names(const struct flatten *f, struct code_unit *code, char *to)
{
    for (size_t i = 0; i < f->unit->subject_count; i++) {
        const struct dwarf_subject *subject = &f->unit->subjects[i];
        if (f->subject_map[i] == FLATTEN_UNSEEN || !subject->qualified || !subject->name)
            continue;
        size_t size = strlen(subject->name) + 1;
        code->subjects[f->subject_map[i]].name = memcpy(to, subject->name, size);
        to += size;
    }
}

fw_error flatten_copy_out(const struct flatten *f, struct code_unit *code)
{
    const struct code_unit *from = &f->out;
    struct arena *arena = &code->arena;
    size_t columns = f->keep_columns ? from->row_count : 0;
    size_t size = room_for(from->function_count, sizeof *from->functions) +
                  room_for(from->context_count, sizeof *from->contexts) +
                  room_for(from->row_count, sizeof *from->rows) +
                  room_for(columns, sizeof *from->columns) +
                  room_for(from->call_count, sizeof *from->calls) +
                  room_for(from->subject_count, sizeof *from->subjects) +
                  room_for(from->file_count, sizeof *from->files) + room_for(f->name_bytes, 1);
    if (!size)
        return FW_OK;
    if (!arena_reserve(arena, size))
        return FW_ERR_MEMORY;
    *code = (struct code_unit){
        .arena = *arena,
        .function_count = from->function_count,
        .call_count = from->call_count,
        .subject_count = from->subject_count,
        .file_count = from->file_count,
    };
    code->functions =
        copy_of(arena, from->functions, from->function_count, sizeof *code->functions);
    code->contexts = arena_take_many(arena, from->context_count, sizeof *code->contexts);
    code->rows = arena_take_many(arena, from->row_count, sizeof *code->rows);
    if (f->keep_columns)
        code->columns = arena_take_many(arena, columns, sizeof *code->columns);
    code->calls = copy_of(arena, from->calls, from->call_count, sizeof *code->calls);
    code->subjects = copy_of(arena, from->subjects, from->subject_count, sizeof *code->subjects);
    code->files = copy_of(arena, from->files, from->file_count, sizeof *code->files);
    copy_in_order(f, code);
    copy_names(f, code, arena_take(arena, f->name_bytes));
    return FW_OK;
}
