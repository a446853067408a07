/* The setting "generation": generation.h. */
#include "collector/generation.h"

#include <stdlib.h>

fw_error generation_look(struct db_conn *conn, int64_t *generation, struct fw_failure *why)
{
    struct db_rows *rows;
    *generation = 0;
    fw_error e =
        db_query(conn, &rows, why, "SELECT value FROM setting WHERE name = 'generation'", DB_NONE);
    if (e)
        return e;
    if (db_next(rows))
        *generation = strtoll(db_get_text(rows, 0), NULL, 10);
    return db_end(rows, why);
}

fw_error stack_group_changed(struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_pass_gate(conn, DB_GATE_ALONE, why);
    return e ? e
             : db_run(conn, why,
                      "INSERT INTO setting (name, value) VALUES ('generation', '1')"
                      " ON CONFLICT (name) DO UPDATE"
                      " SET value = CAST(CAST(setting.value AS BIGINT) + 1 AS TEXT)",
                      DB_NONE);
}

fw_error generation_claim(struct db_conn *conn, int64_t *looked, bool *same, struct fw_failure *why)
{
    int64_t now = 0;
    fw_error e = stack_group_changed(conn, why);
    e = e ? e : generation_look(conn, &now, why);
    *same = now == *looked + 1;
    *looked = now;
    return e;
}
