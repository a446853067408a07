/*
 * collector/groups*.c on both databases, with this program's own debug file as the one that arrives
 * late. FW_GROUPS_STACKS=100000 makes a bench of the first test.
 */
#include "collector/db_support.h"

#include "collector/blobs.h"
#include "collector/group_sums.h"
#include "collector/groups.h"
#include "collector/job_kinds.h"
#include "collector/stack_code.h"
#include "collector/store_map.h"
#include "collector/symbol_store.h"
#include "collector/symbols.h"
#include "object/codecs.h"
#include "object/object.h"
#include "unwind/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

extern const struct job_kind job_names, job_rules, job_groups;

enum { REPORTS_EACH = 2, VERSIONS = 3 };

static struct collector c;
static const struct collector_options options;
static uint8_t id[64];
static size_t id_size;
static uint64_t code, code_size; /* of this program, from its load address */
static struct stack_grouper *grouper;
static unsigned stack_total;
static int64_t report_total, reports_each = REPORTS_EACH;
static bool bench;

static void open_self(void)
{
    struct object *object;
    struct unwind_section text;
    FINE(object_open("/proc/self/exe", &object, &why));
    FINE(object_section_data(object, ".text", &text, &why));
    struct span build_id = object_build_id(object);
    assert_true(build_id.size > 0 && build_id.size <= sizeof id);
    memcpy(id, build_id.data, build_id.size);
    id_size = build_id.size;
    code = text.vaddr - object_base(object);
    code_size = text.size;
    object_close(object);
}

static int set_up_groups(void **state)
{
    char store[128], cache[128];
    set_up(state);
    object_set_codecs(&object_codecs_all);
    c = (struct collector){.options = &options, .db = db};
    snprintf(store, sizeof store, "file:%s/store", folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    FINE(blobs_open(store, cache, 1 << 30, &c.blobs, &why));
    FINE(symbols_open(&c, 1 << 30, &c.symbols, &why));
    FINE(stack_grouper_new(&c, &grouper));
    open_self();
    stack_total = 0;
    report_total = 0;
    return 0;
}

static int tear_down_groups(void **state)
{
    jobs_stop(c.jobs);
    stack_grouper_free(grouper);
    symbols_close(c.symbols);
    blobs_close(c.blobs);
    return tear_down(state);
}

/* --- A database with stacks that wait for names -------------------------------------------------
 */

static void add_image(struct db_conn *conn, const char *name, const char *path,
                      const uint8_t *debug_id, size_t size)
{
    int64_t row;
    FINE(db_query_int(conn, &row, &why,
                      "INSERT INTO image (id_key, arch) VALUES ($1, 'x86_64') RETURNING id",
                      DB_VALUES(db_bytes(debug_id, size))));
    FINE(db_run(conn, &why,
                "INSERT INTO project_image (project, image, debug_id, name, path)"
                " VALUES (1, $1, $2, $3, $4)",
                DB_VALUES(db_int(row), db_bytes(debug_id, size), db_text(name), db_text(path))));
}

static void make_project(struct db_conn *conn)
{
    FINE(db_run(conn, &why,
                "INSERT INTO project (slug, name, created_ms) VALUES ('shop', 'Shop', 1)",
                DB_NONE));
    for (int64_t v = 1; v <= VERSIONS; v++) {
        char text[8];
        snprintf(text, sizeof text, "1.%d", (int)v);
        FINE(db_run(conn, &why,
                    "INSERT INTO version (project, version, build, first_ms)"
                    " VALUES (1, $1, '', $2)",
                    DB_VALUES(db_text(text), db_int(v))));
    }
    add_image(conn, "shop", "/opt/shop/shop", id, id_size);
    add_image(conn, "libc.so.6", "/lib/libc.so.6", (const uint8_t *)"libc-libc-libc-x", 16);
}

static void add_reports(struct db_conn *conn, int64_t stack, int64_t group)
{
    for (int64_t i = 0; i < reports_each; i++) {
        int64_t number = ++report_total;
        char report_id[24];
        snprintf(report_id, sizeof report_id, "%016lld", (long long)number);
        FINE(db_run(conn, &why,
                    "INSERT INTO report (project, report_id, kind, received_ms, started_ms, day,"
                    " version, os, device, install, stack, group_id, duration_ns, ending, threads,"
                    " frames, complete) VALUES (1, $1, 1, $2, $2, $3, $4, 1, 2, $5, $6, $7, $8, 1,"
                    " 1, 4, 1)",
                    DB_VALUES(db_bytes(report_id, 16), db_int(1000 + number),
                              db_int(20000 + number % 5), db_int(1 + number % VERSIONS),
                              db_bytes(report_id + 14, 2), db_int(stack), db_int(group),
                              db_int(1000000 + number))));
    }
}

/* A stack: libc, three places in the program, libc again; the next one when it was made up. */
static int64_t add_stack(struct db_conn *conn, const uint64_t places[3])
{
    const struct stack_frame frames[] = {
        {2, 0x1000, REPORT_EXACT, REPORT_FROM_LOAD, false},
        {1, places[0], REPORT_RETURN, REPORT_FROM_LOAD, false},
        {1, places[1], REPORT_RETURN, REPORT_FROM_LOAD, false},
        {1, places[2], REPORT_RETURN, REPORT_FROM_LOAD, false},
        {2, 0x2000, REPORT_RETURN, REPORT_FROM_LOAD, false},
    };
    uint8_t bytes[5 * STACK_CODE_FRAME_MAX];
    size_t size = stack_encode(frames, 5, bytes);
    int64_t group = 1;
    int64_t stack = ++stack_total;
    FINE(db_run(conn, &why,
                "INSERT INTO stack (project, hash, frames, main_image, last_ms)"
                " VALUES (1, $1, $2, 1, 1000)",
                DB_VALUES(db_bytes(&stack, sizeof stack), db_bytes(bytes, size))));
    for (int64_t image = 1; image <= 2; image++)
        FINE(db_run(conn, &why, "INSERT INTO stack_image (image, stack) VALUES ($1, $2)",
                    DB_VALUES(db_int(image), db_int(stack))));
    /* For the bench all are in the first one's group: it is the names that part them. */
    if (stack == 1 || !bench)
        FINE(stack_group(grouper, conn, 1, stack, 1000, &group, &(bool){false}, &why));
    else
        FINE(db_run(conn, &why, "UPDATE stack SET group_id = 1 WHERE id = $1",
                    DB_VALUES(db_int(stack))));
    add_reports(conn, stack, group);
    return stack;
}

static uint64_t random_place(void)
{
    static uint64_t seed = 88172645463325252;
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return code + 16 + seed % (code_size - 32);
}

/* All sums made from `report`, by other statements than those that are tested. */
static void sum_all(void)
{
    static const char *const statements[] = {
        "DELETE FROM group_day",
        "DELETE FROM group_term",
        "DELETE FROM group_install",
        "INSERT INTO group_day (group_id, day, version, reports, blocked_ns, killed, longest_ns,"
        " first_ms, last_ms)"
        " SELECT group_id, day, version, COUNT(*), CAST(SUM(duration_ns) AS BIGINT),"
        " CAST(SUM(CASE WHEN ending = 2 THEN 1 ELSE 0 END) AS BIGINT), MAX(duration_ns),"
        " MIN(started_ms), MAX(started_ms) FROM report"
        " WHERE group_id IS NOT NULL GROUP BY group_id, day, version",
        "INSERT INTO group_term (group_id, term, reports, blocked_ns)"
        " SELECT group_id, os, COUNT(*), CAST(SUM(duration_ns) AS BIGINT) FROM report"
        " WHERE group_id IS NOT NULL GROUP BY group_id, os",
        "INSERT INTO group_term (group_id, term, reports, blocked_ns)"
        " SELECT group_id, device, COUNT(*), CAST(SUM(duration_ns) AS BIGINT) FROM report"
        " WHERE group_id IS NOT NULL GROUP BY group_id, device",
        "INSERT INTO group_install (group_id, install, reports, last_day) SELECT group_id, install,"
        " COUNT(*), MAX(day)"
        " FROM report WHERE group_id IS NOT NULL GROUP BY group_id, install",
        "UPDATE hang_group SET reports = 0, blocked_ns = 0, longest_ns = 0, killed = 0,"
        " installs = (SELECT COUNT(*) FROM group_install i WHERE i.group_id = hang_group.id)",
        "UPDATE hang_group SET reports = r.n, blocked_ns = r.b, longest_ns = r.l, killed = r.k,"
        " first_ms = r.f, last_ms = r.t, first_version = r.v, last_version = r.w"
        " FROM (SELECT group_id, COUNT(*) AS n, CAST(SUM(duration_ns) AS BIGINT) AS b,"
        " MAX(duration_ns) AS l, CAST(SUM(CASE WHEN ending = 2 THEN 1 ELSE 0 END) AS BIGINT) AS k,"
        " MIN(started_ms) AS f, MAX(started_ms) AS t, MIN(version) AS v, MAX(version) AS w"
        " FROM report GROUP BY group_id) AS r WHERE hang_group.id = r.group_id",
    };
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++)
        FINE(db_run(conn, &why, statements[i], DB_NONE));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
}

static void settle_all(void)
{
    FINE(groups_settle_all(&c, NULL, NULL, &why));
}

static void fill(unsigned count)
{
    bool changed;
    for (unsigned i = 0; i < count;) {
        struct db_conn *conn = taken(DB_WRITE);
        FINE(db_begin(conn, &why));
        if (!i)
            make_project(conn);
        FINE(stack_grouper_begin(grouper, conn, &changed, &why));
        for (unsigned n = 0; n < 1000 && i < count; n++, i++)
            add_stack(conn, (uint64_t[]){random_place(), random_place(), random_place()});
        FINE(db_commit(conn, &why));
        db_give(db, conn);
    }
    sum_all();
}

static void change(const char *sql)
{
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    FINE(stack_group_changed(conn, &why));
    FINE(db_run(conn, &why, sql, DB_NONE));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
}

static void debug_file_arrives(void)
{
    struct stored_file file;
    if (!store_debug_file(&c, "/proc/self/exe", &file, &why))
        fail_msg("%s", why.message);
    assert_memory_equal(file.id, id, id_size);
    change("UPDATE project_image SET has_map = 1, own = 1, map_ms = 1 WHERE image = 1");
    symbols_changed(c.symbols, id, id_size);
}

static void add_job(const char *kind, const char *subject)
{
    struct db_conn *conn = taken(DB_WRITE);
    FINE(jobs_add(conn, kind, subject, "", &why));
    db_give(db, conn);
}

static void run_jobs(void)
{
    const struct job_kind kinds[] = {job_names, job_rules, job_groups};
    FINE(jobs_start(&c, kinds, 3, 1, &c.jobs, &why));
    while (number_now("SELECT COUNT(*) FROM job WHERE state IN (0, 1)"))
        usleep(20000);
    jobs_stop(c.jobs);
    c.jobs = NULL;
    assert_int_equal(number_now("SELECT COUNT(*) FROM job"), 0);
}

/* --- What must always hold ---------------------------------------------------------------------
 */

static void check_sums(void)
{
    assert_int_equal(number_now("SELECT COUNT(*) FROM stack WHERE moving <> 0"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE moving <> 0"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM report JOIN stack ON stack.id = report.stack"
                                " WHERE report.group_id <> stack.group_id"),
                     0);
    assert_int_equal(
        number_now("SELECT COUNT(*) FROM hang_group g WHERE"
                   " g.reports <> (SELECT COUNT(*) FROM report r WHERE r.group_id = g.id)"
                   " OR g.blocked_ns <> COALESCE((SELECT SUM(duration_ns) FROM report r"
                   " WHERE r.group_id = g.id), 0)"
                   " OR g.longest_ns <> COALESCE((SELECT MAX(duration_ns) FROM report r"
                   " WHERE r.group_id = g.id), 0)"
                   " OR g.reports > 0 AND (g.first_ms, g.last_ms, g.first_version, g.last_version)"
                   " <> (SELECT MIN(started_ms), MAX(started_ms), MIN(version), MAX(version)"
                   " FROM report r WHERE r.group_id = g.id)"
                   " OR g.killed <> (SELECT COUNT(*) FROM report r WHERE r.group_id = g.id"
                   " AND r.ending = 2)"
                   " OR g.reports <> COALESCE((SELECT SUM(reports) FROM group_day d"
                   " WHERE d.group_id = g.id), 0)"
                   " OR g.reports * 2 <> COALESCE((SELECT SUM(reports) FROM group_term t"
                   " WHERE t.group_id = g.id), 0)"
                   " OR g.installs <> (SELECT COUNT(DISTINCT install) FROM report r"
                   " WHERE r.group_id = g.id)"),
        0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM group_install i WHERE i.last_day <>"
                                " (SELECT MAX(r.day) FROM report r WHERE r.group_id = i.group_id"
                                " AND r.install = i.install)"),
                     0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM group_day d WHERE NOT EXISTS"
                                " (SELECT 1 FROM hang_group g WHERE g.id = d.group_id)"),
                     0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group g WHERE status <> 3 AND NOT EXISTS"
                                " (SELECT 1 FROM stack s WHERE s.group_id = g.id)"),
                     0);
    assert_int_equal(number_now("SELECT SUM(reports) FROM hang_group"), report_total);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group g WHERE status <> 3 AND NOT EXISTS"
                                " (SELECT 1 FROM stack s WHERE s.id = g.sample_stack"
                                " AND s.group_id = g.id)"),
                     0);
}

static double seconds(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void late_debug_file_names_waiting_stacks(void **state)
{
    (void)state;
    const char *wanted = getenv("FW_GROUPS_STACKS");
    double begin = seconds(CLOCK_MONOTONIC);
    bench = wanted != NULL;
    fill(wanted ? (unsigned)atoi(wanted) : 700);
    bench = false;
    double filled = seconds(CLOCK_MONOTONIC);
    check_sums();
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE section <> 2"), 0);
    debug_file_arrives();
    add_job("names", "1");
    print_message("  %u stacks of %lld reports, %lld groups before, filled in %.1f s\n",
                  stack_total, (long long)number_now("SELECT COUNT(*) FROM report"),
                  (long long)number_now("SELECT COUNT(*) FROM hang_group"), filled - begin);
    fflush(stdout); /* who measures others looks now */
    begin = seconds(CLOCK_MONOTONIC);
    double used = seconds(CLOCK_PROCESS_CPUTIME_ID);
    run_jobs();
    print_message("  named in %.1f s (processor %.1f s), %lld groups now\n",
                  seconds(CLOCK_MONOTONIC) - begin, seconds(CLOCK_PROCESS_CPUTIME_ID) - used,
                  (long long)number_now("SELECT COUNT(*) FROM hang_group"));
    fflush(stdout);
    check_sums();
    assert_true(number_now("SELECT COUNT(*) FROM hang_group WHERE section = 0") > 100);
    /* Some places lie between functions. */
    assert_true(number_now("SELECT COUNT(*) FROM hang_group WHERE section <> 0") * 10 <
                number_now("SELECT COUNT(*) FROM hang_group"));
    assert_true(number_now("SELECT COUNT(*) FROM hang_group"
                           " WHERE title LIKE '%dwarf%' OR title LIKE '%elf%'") > 0);
}

/* Killed after any batch: whoever takes over comes to the same end. */
static void job_may_be_cut_off_anywhere(void **state)
{
    (void)state;
    struct groups_rekey rekey = {.image = 1};
    bool more;
    fill(GROUPS_BATCH + 100);
    debug_file_arrives();
    FINE(groups_rekey_batch(&c, grouper, &rekey, &more, &why));
    assert_true(more);
    assert_true(rekey.moved > 0);
    assert_true(number_now("SELECT COUNT(*) FROM hang_group WHERE moving <> 0") > 0);
    add_job("names", "1");
    run_jobs();
    check_sums();
    int64_t groups = number_now("SELECT COUNT(*) FROM hang_group");
    int64_t last = number_now("SELECT MAX(id) FROM hang_group");
    add_job("names", "1"); /* once more: nothing moves */
    add_job("rules", "1");
    run_jobs();
    check_sums();
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group"), groups);
    assert_int_equal(number_now("SELECT MAX(id) FROM hang_group"), last);
}

static void status_and_notes_move_along(void **state)
{
    (void)state;
    fill(300);
    change("UPDATE hang_group SET status = 1, note = 'known: ' || id");
    change("UPDATE hang_group SET status = 0, note = '' WHERE id = 1");
    debug_file_arrives();
    add_job("names", "1");
    run_jobs();
    check_sums();
    /* All that came out of ignored groups alone is ignored and has a note; what also came out of
     * the open one is open. */
    assert_true(number_now("SELECT COUNT(*) FROM hang_group WHERE status = 1 AND note <> ''") > 10);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE status = 1 AND note = ''"),
                     0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group g JOIN stack s ON"
                                " s.group_id = g.id WHERE s.id = 1 AND g.status = 0"),
                     1);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE section = 2"
                                " AND reports = 0"),
                     0);
}

static struct db_conn *begun(void)
{
    bool changed;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    FINE(stack_group_changed(conn, &why));
    FINE(stack_grouper_begin(grouper, conn, &changed, &why));
    return conn;
}

static void done(struct db_conn *conn)
{
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    settle_all();
}

/* The same where reports were put into the table. */
static void added(struct db_conn *conn)
{
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    sum_all();
}

static int64_t group_of(int64_t stack)
{
    char sql[80];
    snprintf(sql, sizeof sql, "SELECT group_id FROM stack WHERE id = %lld", (long long)stack);
    return number_now(sql);
}

static void merged_groups_stay_merged(void **state)
{
    (void)state;
    const uint64_t one[3] = {code + 0x1000, code + 0x2000, code + 0x3000};
    const uint64_t other[3] = {code + 0x9000, code + 0x2000, code + 0x3000};
    fill(300);
    struct db_conn *conn = begun();
    int64_t a = add_stack(conn, one), b = add_stack(conn, other);
    added(conn);
    int64_t from = group_of(a), into = group_of(b);
    assert_int_not_equal(from, into);

    conn = begun();
    assert_int_equal(groups_merge(conn, 1, from, from, &why), FW_ERR_ARGUMENT);
    assert_int_equal(groups_merge(conn, 2, from, into, &why), FW_ERR_NOT_FOUND);
    FINE(groups_merge(conn, 1, from, into, &why));
    done(conn);
    assert_int_equal(group_of(a), into);
    check_sums();
    conn = begun(); /* a stack with the key of the merged group follows */
    int64_t late = add_stack(conn, one);
    assert_int_equal(groups_merge(conn, 1, from, into, &why), FW_ERR_ARGUMENT);
    added(conn);
    assert_int_equal(group_of(late), into);

    debug_file_arrives(); /* other keys: the decision holds, also for stacks to come */
    add_job("names", "1");
    run_jobs();
    check_sums();
    assert_int_equal(group_of(a), group_of(b));
    conn = begun();
    late = add_stack(conn, one);
    added(conn);
    assert_int_equal(group_of(late), group_of(a));

    conn = begun();
    FINE(groups_undo(conn, 1, group_of(a), &why));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    run_jobs();
    check_sums();
    assert_int_not_equal(group_of(a), group_of(b));
}

/* `ours` of a job: false after so many turns, as if the server were killed there. */
static bool some_turns(void *left)
{
    return (*(int *)left)-- > 0;
}

/* Sums are what the reports add up to at any moment; extremes are when all is settled. */
static void check_added_sums(void)
{
    assert_int_equal(
        number_now("SELECT COUNT(*) FROM hang_group g WHERE"
                   " g.reports <> (SELECT COUNT(*) FROM report r WHERE r.group_id = g.id)"
                   " OR g.blocked_ns <> COALESCE((SELECT SUM(duration_ns) FROM report r"
                   " WHERE r.group_id = g.id), 0)"
                   " OR g.reports <> COALESCE((SELECT SUM(reports) FROM group_day d"
                   " WHERE d.group_id = g.id), 0)"
                   " OR g.installs <> (SELECT COUNT(DISTINCT install) FROM report r"
                   " WHERE r.group_id = g.id)"),
        0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM group_install WHERE reports <= 0"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM group_term WHERE reports <= 0"), 0);
}

/* What a worker does with the reports of a stack, whose group it found. */
static void take_in(const uint64_t places[3], int64_t into)
{
    struct group_sums sums = {0};
    struct db_rows *rows;
    struct db_conn *conn = begun();
    int64_t stack = add_stack(conn, places);
    FINE(db_query(conn, &rows, &why, "SELECT " GROUP_SUMS_COLUMNS " FROM report WHERE stack = $1",
                  DB_VALUES(db_int(stack))));
    while (db_next(rows)) {
        struct group_report report = group_report_of(rows, 0);
        assert_int_equal(report.group, into);
        FINE(group_sums_add(&sums, &report, 1));
    }
    FINE(db_end(rows, &why));
    FINE(group_sums_write(&sums, conn, &why));
    group_sums_free(&sums);
    FINE(db_commit(conn, &why));
    db_give(db, conn);
}

/* A stack with more reports than one turn moves. */
static int64_t add_heavy_stack(const uint64_t places[3])
{
    struct db_conn *conn = begun();
    reports_each = db_is_postgres(db) ? 9000 : 1500;
    int64_t stack = add_stack(conn, places);
    reports_each = REPORTS_EACH;
    added(conn);
    return stack;
}

/* What a killed server leaves is carried on by the next one; the sums are right all the time. */
static void merge_may_be_cut_off_anywhere(void **state)
{
    (void)state;
    const uint64_t one[3] = {code + 0x1000, code + 0x2000, code + 0x3000};
    const uint64_t other[3] = {code + 0x9000, code + 0x2000, code + 0x3000};
    fill(40);
    int64_t a = add_heavy_stack(one), b = add_heavy_stack(other);
    struct db_conn *conn = begun();
    int64_t last = add_stack(conn, one);
    added(conn);
    int64_t from = group_of(a), into = group_of(b);
    assert_int_equal(group_of(last), from);
    conn = begun();
    FINE(groups_merge(conn, 1, from, into, &why));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    check_added_sums();
    bool halves = false;
    int turns = 1;
    for (fw_error e = FW_ERR_TIMEOUT; e; turns = 1) {
        e = groups_move_rest(&c, some_turns, &turns, &why);
        assert_true(e == FW_OK || e == FW_ERR_TIMEOUT);
        check_added_sums();
        halves |= number_now("SELECT COUNT(DISTINCT report.group_id) FROM report JOIN stack"
                             " ON stack.id = report.stack WHERE stack.moving <> 0") == 2;
        take_in(one, into); /* reports go on coming in */
    }
    assert_true(halves);
    settle_all();
    check_sums();
    assert_int_equal(group_of(a), into);
    char pinned[100];
    snprintf(pinned, sizeof pinned,
             "SELECT COUNT(*) FROM stack WHERE pinned = 1 AND id IN (%d, %d)", (int)a, (int)b);
    assert_int_equal(number_now(pinned), 2);
    run_jobs();
    check_sums();
}

/* New names for a stack whose reports are still on their way to another group. */
static void stacks_may_move_on_before_their_reports_came(void **state)
{
    (void)state;
    const uint64_t near[3] = {code + 0x1000, code + 0x2000, code + 0x3000};
    struct groups_rekey rekey = {.image = 1};
    int64_t made, heavy;
    bool more;
    fill(40);
    heavy = add_heavy_stack(near);
    int64_t group = group_of(heavy);
    struct db_conn *conn = begun();
    FINE(groups_split(grouper, conn, 1, group, &heavy, 1, &made, &why));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    int turns = 1;
    assert_int_equal(groups_move_rest(&c, some_turns, &turns, &why), FW_ERR_TIMEOUT);
    assert_int_equal(number_now("SELECT COUNT(*) FROM stack WHERE moving <> 0"), 1);
    change("UPDATE stack SET pinned = 0");
    change("UPDATE hang_group SET pinned = 0");
    debug_file_arrives();
    for (more = true; more;)
        FINE(groups_rekey_batch(&c, grouper, &rekey, &more, &why));
    check_added_sums();
    assert_true(group_of(heavy) != made);
    run_jobs();
    settle_all();
    check_sums();
}

static void split_stacks_stay_split(void **state)
{
    (void)state;
    const uint64_t near[3] = {code + 0x1000, code + 0x2000, code + 0x3000};
    int64_t made, stacks[2];
    fill(300);
    struct db_conn *conn = begun();
    stacks[0] = add_stack(conn, near);
    stacks[1] = add_stack(conn, near);
    int64_t stays = add_stack(conn, near);
    added(conn);
    int64_t group = group_of(stays);
    conn = begun();
    assert_int_equal(groups_split(grouper, conn, 1, group, (int64_t[]){1 << 30}, 1, &made, &why),
                     FW_ERR_NOT_FOUND);
    db_give(db, conn);
    conn = begun();
    FINE(groups_split(grouper, conn, 1, group, stacks, 2, &made, &why));
    done(conn);
    check_sums();
    assert_int_equal(group_of(stacks[0]), made);
    assert_int_equal(group_of(stays), group);
    debug_file_arrives();
    add_job("names", "1");
    run_jobs();
    check_sums();
    assert_int_equal(group_of(stacks[0]), made);
    assert_int_equal(group_of(stacks[1]), made);
    assert_int_not_equal(group_of(stays), made);
}

static void resolved_in_a_version(void **state)
{
    (void)state;
    fill(300);
    struct db_conn *conn = begun();
    struct group_fixed fixed;
    FINE(groups_resolve(conn, 1, 1, &(struct group_fix){"9.9", false}, &fixed, &why));
    assert_string_equal(fixed.version, "9.9"); /* has not come out */
    FINE(groups_resolve(conn, 1, 1, &(struct group_fix){"1.2 (7)", false}, &fixed, &why));
    FINE(groups_set_note(conn, 1, 1, "mended by the new cache", &why));
    done(conn);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE id = 1 AND status = 2"
                                " AND fixed_version = '1.2' AND fixed_build = '7'"
                                " AND fixed_after = 0"),
                     1);
    conn = begun();
    FINE(groups_resolve(conn, 1, 1, &(struct group_fix){NULL, false}, &fixed, &why));
    done(conn);
    assert_true(fixed.after);
    char newest[16];
    snprintf(newest, sizeof newest, "1.%d", VERSIONS);
    assert_string_equal(fixed.version, newest);
    conn = begun();
    FINE(groups_set_status(conn, 1, 1, GROUP_OPEN, &why));
    done(conn);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE id = 1 AND status = 0"
                                " AND fixed_version IS NULL"),
                     1);
}

/* A debug file shows that reports of a later version are what was resolved. */
static void late_names_open_a_resolved_group(void **state)
{
    (void)state;
    const uint64_t place[3] = {code + 0x1000, code + 0x2000, code + 0x3000};
    struct stack_frame other = {1, place[0], REPORT_EXACT, REPORT_FROM_LOAD, false};
    uint8_t bytes[STACK_CODE_FRAME_MAX];
    fill(1);
    debug_file_arrives();
    struct db_conn *conn = begun();
    int64_t known = add_stack(conn, place);
    added(conn);
    change("UPDATE report SET version = 1");
    sum_all();
    conn = begun();
    struct group_fixed fixed;
    FINE(groups_resolve(conn, 1, group_of(known), &(struct group_fix){"1.2", false}, &fixed, &why));
    done(conn);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE status = 2"), 1);
    /* The same stack, grouped while nobody knew names, seen in 1.1 and 1.2 alone. */
    conn = begun();
    int64_t late = add_stack(conn, place);
    FINE(db_run(conn, &why,
                "INSERT INTO hang_group (project, key, rules, section, title, leaf, image, line,"
                " search, why, first_ms, last_ms) VALUES (1, $1, 0, 2, 'near', 'cpu', '', 0, '',"
                " '{}', 1, 1)",
                DB_VALUES(db_bytes(bytes, stack_encode(&other, 1, bytes)))));
    FINE(db_run(conn, &why,
                "UPDATE stack SET group_id = (SELECT MAX(id) FROM hang_group) WHERE id = $1",
                DB_VALUES(db_int(late))));
    FINE(db_run(conn, &why,
                "UPDATE report SET group_id = (SELECT MAX(id) FROM hang_group) WHERE stack = $1",
                DB_VALUES(db_int(late))));
    done(conn);
    change("UPDATE report SET version = 2 WHERE stack = 3");
    sum_all();
    assert_int_not_equal(group_of(late), group_of(known));
    add_job("names", "1");
    run_jobs();
    assert_int_equal(group_of(late), group_of(known));
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE status = 2"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE reopened_ms > 0"), 1);
    assert_int_equal(number_now("SELECT COUNT(*) FROM group_event WHERE action = 'reopened'"
                                " AND detail LIKE '1.2%' AND who = ''"),
                     1);
    check_sums();
}

/* Workers hold the generation: one that makes a row of `image` without a map commits before the
 * rows of images are marked, or begins after the file can be seen. */
static void a_debug_file_counts_the_generation_up(void **state)
{
    (void)state;
    fill(1);
    change("UPDATE stack SET group_id = 1 WHERE id = 1");
    int64_t before = number_now("SELECT CAST(value AS BIGINT) FROM setting"
                                " WHERE name = 'generation'");
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    FINE(symbol_store_choose(conn, 0, id, id_size, &why));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    assert_int_equal(number_now("SELECT CAST(value AS BIGINT) FROM setting"
                                " WHERE name = 'generation'"),
                     before + 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_groups, tear_down_groups)
    const struct CMUnitTest tests[] = {
        TEST(late_debug_file_names_waiting_stacks),
        TEST(job_may_be_cut_off_anywhere),
        TEST(status_and_notes_move_along),
        TEST(merged_groups_stay_merged),
        TEST(merge_may_be_cut_off_anywhere),
        TEST(stacks_may_move_on_before_their_reports_came),
        TEST(split_stacks_stay_split),
        TEST(resolved_in_a_version),
        TEST(late_names_open_a_resolved_group),
        TEST(a_debug_file_counts_the_generation_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
