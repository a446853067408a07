/* groups_fixed.h. */
#include "collector/groups_fixed.h"

#include "collector/versions.h"

#include <stdio.h>

void group_fixed_read(const struct db_rows *rows, int at, struct group_fixed *fixed)
{
    const char *version = db_get_text(rows, at), *build = db_get_text(rows, at + 1);
    snprintf(fixed->version, sizeof fixed->version, "%s", version ? version : "");
    snprintf(fixed->build, sizeof fixed->build, "%s", build ? build : "");
    fixed->after = db_get_int(rows, at + 2) != 0;
    fixed->date_ms = db_is_null(rows, at + 3) ? INT64_MAX : db_get_int(rows, at + 3);
}

bool group_fixed_is_back(const struct group_fixed *fixed, const struct group_seen *seen)
{
    int beside = version_beside(seen->version, seen->build, seen->date_ms, fixed->version,
                                fixed->build, fixed->date_ms);
    return beside > 0 || (beside == 0 && !fixed->after);
}

fw_error group_reopen(struct db_conn *conn, int64_t group, const struct group_seen *seen,
                      int64_t now_ms, struct fw_failure *why)
{
    uint64_t rows = 0;
    fw_error e = db_change(conn, why, &rows,
                           "UPDATE hang_group SET status = 0, reopened_ms = $2"
                           " WHERE id = $1 AND status = 2",
                           DB_VALUES(db_int(group), db_int(now_ms)));
    if (e || !rows)
        return e;
    char label[520];
    snprintf(label, sizeof label, *seen->build ? "%s (%s)" : "%s", seen->version, seen->build);
    return db_run(conn, why,
                  "INSERT INTO group_event (project, group_id, at_ms, who, action, detail)"
                  " SELECT project, id, $2, '', 'reopened', $3 FROM hang_group WHERE id = $1",
                  DB_VALUES(db_int(group), db_int(now_ms), db_text(label)));
}

fw_error group_event_add(struct db_conn *conn, int64_t project, int64_t group, int64_t now_ms,
                         const char *who, const char *action, const char *detail,
                         struct fw_failure *why)
{
    return db_run(conn, why,
                  "INSERT INTO group_event (project, group_id, at_ms, who, action, detail)"
                  " VALUES ($1, $2, $3, $4, $5, $6)",
                  DB_VALUES(db_int(project), db_int(group), db_int(now_ms), db_text(who),
                            db_text(action), db_text(detail)));
}
