/*
 * The intake as one process has it: queue, workers, rows, sums, packs; on SQLite and PostgreSQL.
 * What the sums must be is counted from the table `report` by SQL.
 */
#include "collector/blobs.h"
#include "collector/db_support.h"
#include "collector/install.h"
#include "collector/intake.h"
#include "collector/jobs.h"
#include "collector/metrics.h"
#include "collector/packs.h"
#include "collector/reports.h"
#include "collector/stack_group.h"
#include "collector/symbols.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

extern const struct job_kind job_packs_sweep;

static struct collector c;
static struct collector_options options;
static struct reports_maker *maker;
static struct intake *other; /* of a second server; NULL: there is none */

static void begin(unsigned workers)
{
    FINE(intake_start(&c, workers, &c.intake, &why));
}

static void end(void)
{
    intake_stop(c.intake);
    c.intake = NULL;
}

static int set_up_intake(void **state)
{
    char store[128];
    struct reports_shape shape = {.calls_per_mille = 150, .sites = 12, .installs = 7};
    set_up(state);
    snprintf(store, sizeof store, "file:%s/store", folder);
    options = (struct collector_options){.data = folder};
    c = (struct collector){.options = &options, .db = db, .metrics = metrics_create()};
    FINE(blobs_open(store, folder, 1 << 20, &c.blobs, &why));
    FINE(symbols_open(&c, 1 << 20, &c.symbols, &why));
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    shape.now_ms = (uint64_t)wall.tv_sec * 1000;
    maker = reports_maker_new(11, &shape);
    return 0;
}

/* A failed assertion leaves the intake running: its threads must not outlive the database. */
static int tear_down_intake(void **state)
{
    jobs_stop(c.jobs);
    intake_stop(other);
    other = NULL;
    end();
    reports_maker_free(maker);
    symbols_close(c.symbols);
    blobs_close(c.blobs);
    metrics_free(c.metrics);
    return tear_down(state);
}

/* ---- adding ---- */

struct waiting {
    pthread_mutex_t lock;
    pthread_cond_t told;
    bool is;
};

static void told(void *context)
{
    struct waiting *w = context;
    pthread_mutex_lock(&w->lock);
    w->is = true;
    pthread_cond_signal(&w->told);
    pthread_mutex_unlock(&w->lock);
}

static void add(struct intake_item *items, size_t count)
{
    struct waiting w = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    assert_true(intake_add(c.intake, items, count, told, &w));
    pthread_mutex_lock(&w.lock);
    while (!w.is)
        pthread_cond_wait(&w.told, &w.lock);
    pthread_mutex_unlock(&w.lock);
}

/* Report `number` of the maker; its bytes are malloc'ed. */
static struct intake_item item(uint64_t number)
{
    struct intake_item i = {.project = 1, .verdict = INTAKE_ACCEPTED};
    size_t size;
    const uint8_t *bytes = reports_make(maker, number, i.id, &size);
    uint8_t *copy = malloc(size);
    memcpy(copy, bytes, size);
    i.body = (struct span){copy, size};
    return i;
}

static void drop(struct intake_item *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)items[i].body.data);
}

static enum intake_verdict add_one(uint64_t number)
{
    struct intake_item i = item(number);
    add(&i, 1);
    drop(&i, 1);
    return i.verdict;
}

static void add_many(uint64_t first, size_t count)
{
    struct intake_item items[100];
    for (size_t i = 0; i < count; i++)
        items[i] = item(first + i);
    add(items, count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(items[i].verdict, INTAKE_ACCEPTED);
    drop(items, count);
}

static void until_processed(void)
{
    while (number_now("SELECT COUNT(*) FROM inbox WHERE state = 0") > 0) {
        struct timespec nap = {0, 5000000};
        nanosleep(&nap, NULL);
    }
}

static void run(const char *sql)
{
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, sql, DB_NONE));
    db_give(db, conn);
}

/* ---- sums ---- */

#define COUNTS "(kind = 1 AND ending <> 4 OR kind >= 100)"

/* Rows of either that the other has not. */
static void expect_same(const char *kept, const char *counted)
{
    char sql[4096];
    snprintf(sql, sizeof sql,
             "SELECT (SELECT COUNT(*) FROM (SELECT * FROM (%s) AS k EXCEPT"
             " SELECT * FROM (%s) AS c) AS a) +"
             " (SELECT COUNT(*) FROM (SELECT * FROM (%s) AS c EXCEPT"
             " SELECT * FROM (%s) AS k) AS b)",
             kept, counted, counted, kept);
    int64_t differ = number_now(sql);
    if (differ)
        fail_msg("%lld rows differ: %s", (long long)differ, kept);
    snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM (%s) AS a", kept);
    assert_true(number_now(sql) > 0);
}

static void expect_sums(void)
{
    expect_same("SELECT project, day, version, reports, blocked_ns, killed, slow0, slow1, slow2,"
                " slow3 FROM project_day WHERE reports > 0",
                "SELECT project, day, version, COUNT(*), CAST(SUM(duration_ns) AS BIGINT),"
                " SUM(CASE WHEN ending = 2 THEN 1 ELSE 0 END),"
                " SUM(CASE WHEN duration_ns < 500000000 THEN 1 ELSE 0 END),"
                " SUM(CASE WHEN duration_ns >= 500000000 AND duration_ns < 2000000000 THEN 1"
                " ELSE 0 END),"
                " SUM(CASE WHEN duration_ns >= 2000000000 AND duration_ns < 8000000000 THEN 1"
                " ELSE 0 END), SUM(CASE WHEN duration_ns >= 8000000000 THEN 1 ELSE 0 END)"
                " FROM report WHERE " COUNTS " GROUP BY project, day, version");
    expect_same("SELECT term, day, version, reports, blocked_ns FROM term_day",
                "SELECT os, day, version, COUNT(*), CAST(SUM(duration_ns) AS BIGINT) FROM report"
                " WHERE " COUNTS " GROUP BY os, day, version UNION ALL"
                " SELECT device, day, version, COUNT(*), CAST(SUM(duration_ns) AS BIGINT)"
                " FROM report WHERE " COUNTS " GROUP BY device, day, version");
    expect_same("SELECT group_id, day, version, reports, blocked_ns, killed, longest_ns, first_ms,"
                " last_ms FROM group_day",
                "SELECT group_id, day, version, COUNT(*), CAST(SUM(duration_ns) AS BIGINT),"
                " SUM(CASE WHEN ending = 2 THEN 1 ELSE 0 END), MAX(duration_ns), MIN(started_ms),"
                " MAX(started_ms) FROM report"
                " WHERE group_id IS NOT NULL GROUP BY group_id, day, version");
    expect_same(
        "SELECT group_id, install, reports, last_day FROM group_install",
        "SELECT group_id, install, COUNT(*), MAX(day) FROM report WHERE group_id IS NOT NULL"
        " GROUP BY group_id, install");
    expect_same("SELECT id, reports, blocked_ns, longest_ns, killed, first_ms, last_ms,"
                " first_version, last_version FROM hang_group",
                "SELECT group_id, COUNT(*), CAST(SUM(duration_ns) AS BIGINT), MAX(duration_ns),"
                " SUM(CASE WHEN ending = 2 THEN 1 ELSE 0 END), MIN(started_ms), MAX(started_ms),"
                " MIN(version), MAX(version) FROM report WHERE group_id IS NOT NULL"
                " GROUP BY group_id");
    expect_same("SELECT id, installs FROM hang_group",
                "SELECT group_id, COUNT(DISTINCT install) FROM report WHERE group_id IS NOT NULL"
                " GROUP BY group_id");
    expect_same("SELECT CAST(SUM(sessions) AS BIGINT), CAST(SUM(observed_ns) AS BIGINT)"
                " FROM project_day",
                "SELECT COUNT(*), CAST(SUM(observed_ns) AS BIGINT) FROM session");
    expect_same("SELECT CAST(SUM(reports) AS BIGINT) FROM image_day WHERE image ="
                " (SELECT image FROM project_image WHERE name = 'libc.so.6')",
                "SELECT COUNT(*) FROM report");
    assert_int_equal(number_now("SELECT COUNT(*) FROM session WHERE observed_ns < 0"), 0);
    assert_int_equal(number_now("SELECT COUNT(DISTINCT session) - (SELECT COUNT(*) FROM session)"
                                " FROM report"),
                     0);
}

static void test_sums(void **state)
{
    (void)state;
    begin(2);
    for (unsigned i = 0; i < 6; i++)
        add_many(100 * i, 100);
    until_processed();
    assert_int_equal(number_now("SELECT COUNT(*) FROM report"), 600);
    assert_int_equal(number_now("SELECT COUNT(*) FROM inbox WHERE state <> 2"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM report WHERE kind = 1 AND group_id IS NULL"),
                     0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM report WHERE kind = 2 AND group_id IS NOT "
                                "NULL"),
                     0);
    expect_sums();
    /* Every group's time is that of its stacks' samples, but for rounding. */
    assert_int_equal(number_now("SELECT COUNT(*) FROM flame WHERE weight_ns <= 0"), 0);
    assert_true(number_now("SELECT COUNT(*) FROM call") > 100);
    assert_int_equal(number_now("SELECT COUNT(*) FROM call WHERE caller_image = 0"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM stack WHERE group_id IS NOT NULL AND id NOT"
                                " IN (SELECT stack FROM stack_image)"),
                     0);
    end();
}

static void test_resends(void **state)
{
    (void)state;
    begin(1);
    struct intake_item twice[3] = {item(1), item(1), item(2)};
    add(twice, 3);
    assert_int_equal(twice[2].verdict, INTAKE_ACCEPTED);
    assert_true((twice[0].verdict == INTAKE_ACCEPTED) != (twice[1].verdict == INTAKE_ACCEPTED));
    assert_true((twice[0].verdict == INTAKE_DUPLICATE) != (twice[1].verdict == INTAKE_DUPLICATE));
    assert_int_equal(add_one(1), INTAKE_DUPLICATE);
    until_processed();
    assert_int_equal(add_one(1), INTAKE_DUPLICATE);
    end();
    begin(1); /* another process */
    assert_int_equal(add_one(2), INTAKE_DUPLICATE);
    twice[0].project = 2; /* the same id in another project is another report */
    twice[0].verdict = INTAKE_ACCEPTED;
    add(twice, 1);
    assert_int_equal(twice[0].verdict, INTAKE_ACCEPTED);
    until_processed();
    assert_int_equal(number_now("SELECT COUNT(*) FROM report"), 3);
    drop(twice, 3);
    end();
}

/* One that is no report, among others: they are processed, it is kept with the reason. */
static void test_bad_report_in_a_batch(void **state)
{
    (void)state;
    static const uint8_t junk[] = "nothing that anybody knows";
    begin(0);
    add_many(0, 10);
    struct intake_item bad = {
        .project = 1, .id = {7}, .body = {junk, sizeof junk}, .verdict = INTAKE_ACCEPTED};
    add(&bad, 1);
    assert_int_equal(bad.verdict, INTAKE_ACCEPTED);
    add_many(10, 10);
    end();
    begin(2);
    until_processed();
    assert_int_equal(number_now("SELECT COUNT(*) FROM report"), 20);
    assert_int_equal(number_now("SELECT COUNT(*) FROM inbox WHERE state = 1 AND attempts = 5"
                                " AND error LIKE '%no report%'"),
                     1);
    expect_sums();
    end();
}

/* A worker that was killed: its lease runs out and counts as an attempt. */
static void test_leases_of_the_dead(void **state)
{
    (void)state;
    begin(0);
    add_many(0, 4);
    end();
    run("UPDATE inbox SET lease_ms = 1, attempts = 5 WHERE seq ="
        " (SELECT MIN(seq) FROM inbox)");
    run("UPDATE inbox SET lease_ms = 1, attempts = 4 WHERE seq ="
        " (SELECT MAX(seq) FROM inbox)");
    begin(1);
    until_processed();
    assert_int_equal(number_now("SELECT COUNT(*) FROM report"), 3);
    assert_int_equal(number_now("SELECT COUNT(*) FROM inbox WHERE state = 1 AND error LIKE"
                                " '%without a result'"),
                     1);
    end();
}

/* Two servers at one database. */
static void test_two_servers(void **state)
{
    (void)state;
    begin(2);
    other = c.intake;
    begin(2);
    for (unsigned i = 0; i < 6; i++) {
        struct intake *this = c.intake;
        c.intake = other;
        other = this;
        add_many(50 * i, 50);
    }
    until_processed();
    intake_stop(other);
    other = NULL;
    end();
    assert_int_equal(number_now("SELECT COUNT(*) FROM report"), 300);
    expect_sums();
}

/* ---- groups ---- */

static void test_groups_come_back(void **state)
{
    (void)state;
    begin(1);
    add_many(0, 100);
    until_processed();
    /* All in the oldest version are resolved there; others that are newer open them again. */
    run("UPDATE hang_group SET status = 2, fixed_version = '2.9', fixed_after = 1");
    add_many(100, 100);
    until_processed();
    int64_t again = number_now("SELECT COUNT(*) FROM hang_group WHERE reopened_ms IS NOT NULL");
    assert_true(again > 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM hang_group WHERE (status = 0) <>"
                                " (reopened_ms IS NOT NULL) AND id IN"
                                " (SELECT group_id FROM report WHERE id <= 100)"),
                     0);
    assert_int_equal(
        number_now("SELECT COUNT(*) FROM hang_group WHERE reopened_ms IS NOT NULL AND id NOT IN"
                   " (SELECT group_id FROM report JOIN version ON version.id = report.version"
                   " WHERE version.version = '2.10' AND group_id IS NOT NULL)"),
        0);
    expect_sums();
    end();
}

static void test_merged_groups_are_followed(void **state)
{
    (void)state;
    begin(1);
    add_many(0, 60);
    until_processed();
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    FINE(stack_group_changed(conn, &why));
    FINE(db_run(conn, &why,
                "UPDATE hang_group SET status = 3, merged_into = (SELECT MIN(id) FROM hang_group)"
                " WHERE id > (SELECT MIN(id) FROM hang_group)",
                DB_NONE));
    FINE(db_run(conn, &why,
                "UPDATE stack SET group_id = (SELECT MIN(id) FROM hang_group)"
                " WHERE group_id IS NOT NULL",
                DB_NONE));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    int64_t before = number_now("SELECT MAX(id) FROM report");
    add_many(60, 40);
    until_processed();
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM report WHERE id > %lld AND group_id IN"
             " (SELECT id FROM hang_group WHERE status = 3)",
             (long long)before);
    assert_int_equal(number_now(sql), 0);
    snprintf(sql, sizeof sql,
             "SELECT COUNT(*) FROM report WHERE id > %lld AND group_id ="
             " (SELECT MIN(id) FROM hang_group)",
             (long long)before);
    assert_true(number_now(sql) > 0);
    end();
}

/* ---- bodies ---- */

static void expect_bodies(uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        struct intake_item want = item(i);
        struct db_conn *conn = taken(DB_READ);
        struct db_rows *rows;
        uint8_t *body = NULL;
        size_t size = 0;
        FINE(db_query(conn, &rows, &why, "SELECT id FROM report WHERE report_id = $1",
                      DB_VALUES(db_bytes(want.id, 16))));
        assert_true(db_next(rows));
        int64_t id = db_get_int(rows, 0);
        FINE(db_end(rows, &why));
        struct packs_place place;
        FINE(packs_find(conn, id, &place, &why));
        db_give(db, conn);
        FINE(packs_fetch(&c, &place, &body, &size, &why));
        assert_int_equal(size, want.body.size);
        assert_memory_equal(body, want.body.data, size);
        free(body);
        drop(&want, 1);
    }
}

static void test_packs(void **state)
{
    (void)state;
    size_t count;
    begin(1);
    add_many(0, 50);
    until_processed();
    end();
    expect_bodies(50);
    FINE(packs_write(&c, &count, &why)); /* not time yet */
    assert_int_equal(count, 0);
    run("UPDATE inbox SET received_ms = 1");
    FINE(packs_write(&c, &count, &why));
    assert_int_equal(count, 50);
    assert_int_equal(number_now("SELECT COUNT(*) FROM inbox"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM inbox_body"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM report WHERE pack IS NULL"), 0);
    expect_bodies(50);
    FINE(packs_write(&c, &count, &why));
    assert_int_equal(count, 0);
    run("UPDATE report SET pack = NULL, body_offset = NULL, body_size = NULL");
    struct db_conn *conn = taken(DB_READ);
    struct packs_place place;
    assert_int_equal(packs_find(conn, number(conn, "SELECT MIN(id) FROM report"), &place, &why),
                     FW_ERR_NOT_FOUND);
    db_give(db, conn);
}

static void put_pack(const char *key, bool old)
{
    static const struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    char path[256];
    FINE(blobs_put(c.blobs, key, (struct span){(const uint8_t *)"x", 1}, &why));
    snprintf(path, sizeof path, "%s/store/%s", folder, key);
    assert_true(!old || utimensat(AT_FDCWD, path, long_ago, 0) == 0);
}

static bool is_key(void *context, const char *key, uint64_t size, uint64_t changed_ms)
{
    char *all = context;
    (void)size;
    (void)changed_ms;
    strcat(all, strrchr(key, '/'));
    return true;
}

/* What a crash between blob and rows left is removed; what a row names, or soon may, stays. */
static void test_sweep(void **state)
{
    (void)state;
    static const char sweeps[] = "SELECT COUNT(*) FROM job WHERE run_ms <= changed_ms";
    char left[256] = "";
    begin(1);
    add_many(0, 1);
    until_processed();
    end();
    put_pack("packs/20260101/orphan.pack", true);
    put_pack("packs/20260101/young.pack", false);
    put_pack("packs/20260101/used.pack", true);
    put_pack("packs/20260101/empty.pack", true);
    run("INSERT INTO pack (key, size, created_ms) VALUES ('packs/20260101/used.pack', 1, 1)");
    run("UPDATE report SET pack = (SELECT MAX(id) FROM pack)");
    run("INSERT INTO pack (key, size, created_ms) VALUES ('packs/20260101/empty.pack', 1, 1)");
    FINE(jobs_start(&c, &job_packs_sweep, 1, 1, &c.jobs, &why));
    for (int i = 0; number_now(sweeps) && i < 2000; i++)
        usleep(10000);
    jobs_stop(c.jobs);
    c.jobs = NULL;
    FINE(blobs_list(c.blobs, "packs/", is_key, left, &why));
    assert_non_null(strstr(left, "/used.pack"));
    assert_non_null(strstr(left, "/young.pack"));
    assert_null(strstr(left, "/orphan.pack"));
    assert_null(strstr(left, "/empty.pack"));
    assert_int_equal(number_now("SELECT COUNT(*) FROM pack"), 1);
}

/* No room: nothing is taken, and nothing is said to be. */
static void test_full_disk(void **state)
{
    (void)state;
    options.disk_reserve = UINT64_MAX;
    begin(1);
    struct intake_item i = item(0);
    add(&i, 1);
    assert_int_equal(i.verdict, INTAKE_RETRY);
    assert_true(i.full && *i.reason);
    end();
    options.disk_reserve = 0;
    begin(1);
    i.verdict = INTAKE_ACCEPTED;
    add(&i, 1);
    assert_int_equal(i.verdict, INTAKE_ACCEPTED);
    drop(&i, 1);
    end();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_intake, tear_down_intake)
    const struct CMUnitTest tests[] = {
        TEST(test_sums),
        TEST(test_resends),
        TEST(test_bad_report_in_a_batch),
        TEST(test_leases_of_the_dead),
        TEST(test_two_servers),
        TEST(test_groups_come_back),
        TEST(test_merged_groups_are_followed),
        TEST(test_packs),
        TEST(test_sweep),
        TEST(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
