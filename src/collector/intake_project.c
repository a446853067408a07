/* An ingest key decides the project; a token of all projects may say it, else it is the one that is
 * always there. */
#include "collector/intake_project.h"
#include "collector/collector.h"
#include "collector/db.h"

static fw_error find(struct http_request *r, const char *slug, int64_t *project,
                     struct fw_failure *why)
{
    struct db_conn *conn;
    fw_error e = db_take(r->collector->db, DB_READ, &conn, why);
    *project = 0;
    if (e)
        return e;
    e = db_query_int(conn, project, why, "SELECT id FROM project WHERE slug = $1",
                     DB_VALUES(db_text(slug)));
    db_give(r->collector->db, conn);
    return e;
}

bool intake_project(struct http_request *r, const char *slug, int64_t *project)
{
    struct fw_failure why = {0};
    *project = r->access.project;
    if (!slug && *project)
        return true;
    if (!slug)
        slug = "default";
    if (find(r, slug, project, &why) != FW_OK) {
        http_reply_failure(r, &why);
        return false;
    }
    if (*project && access_reaches(&r->access, *project))
        return true;
    /* Whether there is such a project is not told to who is limited to another. */
    if (*project || r->access.project)
        http_reply_error(r, 403, "this key or token is of another project");
    else
        http_reply_error(r, 404, "there is no such project");
    return false;
}
