/* Names that reports brought: brought_names.h. */
#include "collector/brought_names.h"
#include "base/failure.h"

enum { NAMES = 16 };

fw_error brought_names_seen(struct db_conn *conn, int64_t project, const struct stack_frame *frame,
                            int64_t seen_ms, bool *known, struct fw_failure *why)
{
    uint64_t rows = 0;
    fw_error e =
        db_change(conn, why, &rows,
                  "UPDATE brought_name SET last_ms = GREATEST(last_ms, $5) WHERE"
                  " project = $1 AND image = $2 AND frame_offset = $3 AND flags = $4",
                  DB_VALUES(db_int(project), db_int(frame->image), db_int((int64_t)frame->offset),
                            db_int(stack_flags(frame)), db_int(seen_ms)));
    *known = rows > 0;
    return e;
}

fw_error brought_names_add(struct db_conn *conn, int64_t project, const struct stack_frame *frame,
                           uint32_t number, const struct report_name *name, int64_t seen_ms,
                           bool *made, struct fw_failure *why)
{
    uint64_t rows = 0;
    fw_error e = db_change(
        conn, why, &rows,
        "INSERT INTO brought_name (project, image, frame_offset, flags, number, function,"
        " file, line, name_flags, last_ms) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
        " $10) ON CONFLICT (project, image, frame_offset, flags, number) DO NOTHING",
        DB_VALUES(db_int(project), db_int(frame->image), db_int((int64_t)frame->offset),
                  db_int(stack_flags(frame)), db_int(number), db_text(name->function),
                  db_text(name->file), db_int(name->line), db_int(name->flags), db_int(seen_ms)));
    *made = rows > 0;
    return e;
}

static const char *copied(struct arena *arena, const char *text, bool *memory)
{
    char *copy = text ? arena_take(arena, strlen(text) + 1) : NULL;
    *memory &= !text || copy;
    return copy ? strcpy(copy, text) : NULL;
}

fw_error brought_names_find(struct db_conn *conn, int64_t project, const struct stack_frame *frame,
                            struct arena *arena, struct symbols_found *found,
                            struct fw_failure *why)
{
    struct db_rows *rows;
    struct report_name *names = arena_take_many(arena, NAMES, sizeof *names);
    bool memory = names != NULL;
    uint32_t count = 0;
    *found = (struct symbols_found){.count = 0};
    fw_error e = db_query(conn, &rows, why,
                          "SELECT function, file, line, name_flags FROM brought_name"
                          " WHERE project = $1 AND image = $2 AND frame_offset = $3 AND flags = $4"
                          " ORDER BY number",
                          DB_VALUES(db_int(project), db_int(frame->image),
                                    db_int((int64_t)frame->offset), db_int(stack_flags(frame))));
    if (e)
        return e;
    while (memory && count < NAMES && db_next(rows))
        names[count++] =
            (struct report_name){.function = copied(arena, db_get_text(rows, 0), &memory),
                                 .file = copied(arena, db_get_text(rows, 1), &memory),
                                 .line = (uint32_t)db_get_int(rows, 2),
                                 .flags = (uint8_t)db_get_int(rows, 3)};
    e = db_end(rows, why);
    if (!e && !memory)
        return failure_memory(why);
    found->names = names;
    found->count = e ? 0 : count;
    return e;
}
