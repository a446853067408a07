/* The job "retention": retention.h. */
#include "collector/retention.h"
#include "base/array.h"
#include "base/failure.h"
#include "collector/access.h"
#include "collector/blobs.h"
#include "collector/jobs.h"
#include "collector/log.h"
#include "collector/symbol_store.h"
#include "collector/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOUR_MS = 3600000, FILES_MAX = 1000 };
static const int64_t DAY_MS = 86400000;

const char *const retention_names[RETENTION_KINDS] = {
    "bodies", "reports", "day_sums",   "sessions", "calls",     "stacks",
    "flame",  "names",   "unreadable", "seen",     "audit_log", "symbols"};

fw_error retention_go_on(const struct retention_run *run, struct fw_failure *why)
{
    fw_error e = run->ours ? clock_may_remove(why) : FW_OK;
    if (e)
        return e;
    if (!run->ours || run->ours(run->context))
        return FW_OK;
    return failure_say(why, FW_ERR_TIMEOUT, 0, "stopped while old things were removed");
}

/* ---- debug files ---- */

/* Not used since $1, and of no image that a day within retention has: those days' rows of
 * image_day are there as long as their reports. */
static const char find_files[] =
    "SELECT f.id, f.size FROM symbol_file f WHERE f.used_ms < $1 AND f.project = $3"
    " AND NOT EXISTS (SELECT 1 FROM project_image i JOIN image_day d ON d.image = i.image"
    " AND d.project = i.project WHERE i.debug_id = f.debug_id AND (f.project = 0 OR i.project ="
    " f.project)) ORDER BY f.id LIMIT $2";

struct files {
    int64_t ids[FILES_MAX];
    size_t count;
    uint64_t bytes;
};

/* Of a project, 0: shared ones. */
static fw_error find(const struct retention_run *run, int64_t project, int64_t days,
                     struct files *files, struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    *files = (struct files){.count = 0};
    fw_error e = db_take(run->c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, find_files,
                 DB_VALUES(db_int((int64_t)run->now_ms - days * DAY_MS), db_int(FILES_MAX),
                           db_int(project)));
    if (!e) {
        while (files->count < FILES_MAX && db_next(rows)) {
            files->ids[files->count++] = db_get_int(rows, 0);
            files->bytes += (uint64_t)db_get_int(rows, 1);
        }
        e = db_end(rows, why);
    }
    db_give(run->c->db, conn);
    return e;
}

static fw_error count_files(struct retention_run *run, int64_t project, int64_t days,
                            struct fw_failure *why)
{
    struct files files;
    fw_error e = find(run, project, days, &files, why);
    if (!e) {
        run->counts.of[RETENTION_SYMBOLS] += files.count;
        run->counts.symbol_bytes += files.bytes;
    }
    return e;
}

/* *left: sources that are of no use without it, 0: none. */
static fw_error remove_file(struct retention_run *run, int64_t id, int64_t *left,
                            struct fw_failure *why)
{
    struct db_conn *conn;
    struct symbol_file file;
    fw_error e = db_take(run->c->db, DB_WRITE, &conn, why);
    if (e)
        return e;
    e = db_begin(conn, why);
    *left = 0;
    e = e ? e : symbol_store_remove(conn, SYMBOLS_ALL, id, &file, why);
    e = e ? e : symbol_store_orphan(conn, file.project, file.id, file.id_size, left, why);
    e = e ? e : db_commit(conn, why);
    db_give(run->c->db, conn);
    if (e)
        return e == FW_ERR_NOT_FOUND ? FW_OK : e;
    symbols_changed(run->c->symbols, file.id, file.id_size);
    if (file.blob[0]) /* what stays, the job "uploads" finds */
        blobs_remove(run->c->blobs, file.blob, NULL);
    if (file.map_blob[0])
        blobs_remove(run->c->blobs, file.map_blob, NULL);
    run->counts.of[RETENTION_SYMBOLS]++;
    run->counts.symbol_bytes += file.size;
    return FW_OK;
}

static fw_error remove_files(struct retention_run *run, int64_t project, int64_t days,
                             struct fw_failure *why)
{
    struct files files;
    fw_error e;
    do {
        e = find(run, project, days, &files, why);
        for (size_t i = 0; i < files.count && !e; i++) {
            e = retention_go_on(run, why);
            for (int64_t row = files.ids[i], left = 0; row && !e; row = left)
                e = remove_file(run, row, &left, why);
        }
    } while (!e && files.count == FILES_MAX);
    return e;
}

/* ---- the audit log ---- */

static bool describe(const struct retention_counts *counts, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < RETENTION_KINDS && used < size; i++)
        if (counts->of[i])
            used += (size_t)snprintf(text + used, size - used, "%s%s %" PRIu64, used ? ", " : "",
                                     retention_names[i], counts->of[i]);
    if (used && used < size)
        snprintf(text + used, size - used, "; %" PRIu64 " bytes of the store",
                 counts->body_bytes + counts->symbol_bytes);
    return used > 0;
}

/* What was removed is written down whatever came of the run. */
static void note(struct retention_run *run, const char *subject)
{
    const struct access who = {.label = "retention"};
    struct db_conn *conn;
    char detail[512];
    bool any = describe(&run->counts, detail, sizeof detail);
    run->counts = (struct retention_counts){.body_bytes = 0};
    if (!any)
        return;
    bool noted = false;
    if (db_take(run->c->db, DB_WRITE, &conn, NULL) == FW_OK) {
        if (db_begin(conn, NULL) == FW_OK) {
            audit(conn, &who, "retention.remove", subject, detail);
            noted = db_commit(conn, NULL) == FW_OK;
        }
        db_give(run->c->db, conn);
    }
    if (!noted)
        log_line("removed of %s, and could not be written to the audit log: %s", subject, detail);
}

/* ---- all ---- */

struct kept { /* a project */
    int64_t id;
    char slug[80];
    struct keep_settings settings;
};

struct projects {
    struct kept *list;
    size_t count, capacity;
};

static fw_error read_projects(struct collector *c, struct projects *projects,
                              struct fw_failure *why)
{
    struct db_conn *conn;
    struct db_rows *rows;
    fw_error e = db_take(c->db, DB_READ, &conn, why);
    if (e)
        return e;
    e = db_query(conn, &rows, why, "SELECT id, slug, settings FROM project ORDER BY id", DB_NONE);
    if (!e) {
        bool room = true;
        while (room && db_next(rows)) {
            room = array_room(&projects->list, &projects->capacity, projects->count,
                              sizeof *projects->list);
            if (!room)
                break;
            struct kept *kept = &projects->list[projects->count++];
            *kept = (struct kept){.id = db_get_int(rows, 0)};
            snprintf(kept->slug, sizeof kept->slug, "%s", db_get_text(rows, 1));
            keep_settings_read(db_get_text(rows, 2), &kept->settings);
        }
        e = db_end(rows, why);
        if (!e && !room)
            e = failure_memory(why);
    }
    db_give(c->db, conn);
    return e;
}

/* The store and its disk are one for all projects: what the most generous of them says counts. */
static struct keep_settings of_all(const struct projects *projects)
{
    struct keep_settings most;
    keep_settings_read(NULL, &most);
    for (size_t i = 0; i < projects->count; i++) {
        const struct keep_settings *s = &projects->list[i].settings;
        if (i == 0 || s->symbols_days > most.symbols_days)
            most.symbols_days = s->symbols_days;
        if (i == 0 || s->disk_share > most.disk_share)
            most.disk_share = s->disk_share;
    }
    return most;
}

static fw_error run_shared(struct retention_run *run, const struct projects *projects,
                           struct fw_failure *why)
{
    struct keep_settings most = of_all(projects);
    fw_error e = retention_rows(run, 0, &most, why);
    e = e ? e : remove_files(run, 0, most.symbols_days, why);
    e = e ? e : retention_disk(run, most.disk_share, why);
    note(run, "the server");
    return e;
}

/* Every project, then what belongs to none, then the disk. */
static fw_error remove_all(struct retention_run *run, struct fw_failure *why)
{
    struct projects projects = {0};
    run->now_ms = collector_now_ms();
    run->counts = (struct retention_counts){.body_bytes = 0};
    fw_error e = read_projects(run->c, &projects, why);
    for (size_t i = 0; i < projects.count && !e; i++) {
        const struct kept *kept = &projects.list[i];
        e = retention_bodies(run, kept->id, &kept->settings, why);
        e = e ? e : retention_rows(run, kept->id, &kept->settings, why);
        e = e ? e : remove_files(run, kept->id, kept->settings.symbols_days, why);
        note(run, kept->slug);
    }
    e = e ? e : run_shared(run, &projects, why);
    free(projects.list);
    return e;
}

/* What belongs to no project is added. */
static fw_error preview_shared(struct retention_run *run, int64_t project,
                               const struct keep_settings *settings, struct fw_failure *why)
{
    struct projects projects = {0};
    fw_error e = read_projects(run->c, &projects, why);
    for (size_t i = 0; i < projects.count; i++)
        if (projects.list[i].id == project)
            projects.list[i].settings = *settings;
    struct keep_settings most = of_all(&projects);
    free(projects.list);
    e = e ? e : retention_rows_count(run, 0, &most, why);
    return e ? e : count_files(run, 0, most.symbols_days, why);
}

fw_error retention_preview(struct retention_run *run, int64_t project,
                           const struct keep_settings *settings, bool all, struct fw_failure *why)
{
    run->now_ms = collector_now_ms();
    run->counts = (struct retention_counts){.body_bytes = 0};
    fw_error e = retention_bodies_count(run, project, settings, why);
    e = e ? e : retention_rows_count(run, project, settings, why);
    e = e ? e : count_files(run, project, settings->symbols_days, why);
    return e || !all ? e : preview_shared(run, project, settings, why);
}

struct progress {
    struct collector *c;
    const struct job *job;
    uint64_t done;
};

static bool still_ours(void *context)
{
    struct progress *p = context;
    return jobs_progress(p->c, p->job, ++p->done, 0);
}

static fw_error run_job(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct progress progress = {c, job, 0};
    struct retention_run run = {.c = c, .ours = still_ours, .context = &progress};
    fw_error e = clock_may_remove(why);
    return e ? e : remove_all(&run, why);
}

extern const struct job_kind job_retention;
const struct job_kind job_retention = {"retention", run_job, HOUR_MS};
