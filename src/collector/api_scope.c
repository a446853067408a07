#include "collector/api_scope.h"

#include "collector/collector.h"
#include "collector/db.h"
#include "collector/symbols.h"

bool api_scope_project(struct http_request *r, const char *slug, int64_t *project)
{
    struct db_conn *conn;
    struct fw_failure why = {0};
    int64_t found = 0;
    fw_error error = db_take(r->collector->db, DB_READ, &conn, &why);
    if (error == FW_OK) {
        error = db_query_int(conn, &found, &why, "SELECT id FROM project WHERE slug = $1",
                             DB_VALUES(db_text(slug)));
        db_give(r->collector->db, conn);
    }
    if (error != FW_OK)
        http_reply_failure(r, &why);
    else if (!found || !access_reaches(&r->access, found))
        http_reply_error(r, 404, "no project \"%.64s\" that this token reaches", slug);
    else {
        *project = found;
        return true;
    }
    return false;
}

bool api_scope_symbols(struct http_request *r, int64_t *project)
{
    const char *slug = http_query(r, "project");
    *project = symbols_of(&r->access);
    return !slug || api_scope_project(r, slug, project);
}
