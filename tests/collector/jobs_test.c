/* collector/jobs.c on both databases: leases, retries, periodic kinds, several servers. */
#include "collector/db_support.h"

#include "collector/jobs.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct collector c;
static struct jobs *servers[3];
static atomic_int runs, at_once, most_at_once, ticks;
static _Atomic fw_error result;
static atomic_bool hold, told_to_stop;

static int set_up_jobs(void **state)
{
    c = (struct collector){0};
    runs = at_once = most_at_once = ticks = 0;
    result = FW_OK;
    hold = told_to_stop = false;
    memset(servers, 0, sizeof servers);
    int failed = set_up(state);
    c.db = db;
    return failed;
}

static int tear_down_jobs(void **state)
{
    hold = false;
    for (int i = 0; i < 3; i++)
        jobs_stop(servers[i]);
    return tear_down(state);
}

static fw_error work(struct collector *of, const struct job *job, struct fw_failure *failure)
{
    int now = ++at_once, most = most_at_once;
    while (now > most && !atomic_compare_exchange_weak(&most_at_once, &most, now)) {
    }
    runs++;
    for (uint64_t done = 1; hold && !told_to_stop; done++) {
        if (!jobs_progress(of, job, done, 1000000))
            told_to_stop = true;
        usleep(1000);
    }
    at_once--;
    if (result || told_to_stop) {
        snprintf(failure->message, sizeof failure->message, "no luck with %s: \xff\n",
                 job->subject);
        return told_to_stop ? FW_ERR_TIMEOUT : result;
    }
    return FW_OK;
}

static fw_error tick(struct collector *of, const struct job *job, struct fw_failure *failure)
{
    (void)of;
    (void)failure;
    assert_string_equal(job->subject, "");
    ticks++;
    return FW_OK;
}

static const struct job_kind kinds[] = {{"work", work, 0}, {"tick", tick, 300}};

static void start(int server, size_t count)
{
    FINE(jobs_start(&c, kinds, count, 2, &servers[server], &why));
}

static void add(const char *kind, const char *subject)
{
    struct db_conn *conn = taken(DB_WRITE);
    FINE(jobs_add(conn, kind, subject, "{}", &why));
    db_give(db, conn);
}

static void execute(const char *sql, int64_t value)
{
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, sql, DB_VALUES(db_int(value))));
    db_give(db, conn);
}

static void wait_until(const char *sql, int64_t value)
{
    for (int i = 0; number_now(sql) != value; i++) {
        if (i > 2000)
            fail_msg("%s is not %lld", sql, (long long)value);
        usleep(10000);
    }
}

static const char count_jobs[] = "SELECT COUNT(*) FROM job";

static void each_job_runs_once_on_three_servers(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++) {
        char subject[8];
        snprintf(subject, sizeof subject, "%d", i);
        add("work", subject);
        add("work", subject); /* one of a kind and subject is queued */
    }
    assert_int_equal(number_now(count_jobs), 100);
    for (int i = 0; i < 3; i++)
        start(i, 1);
    wait_until(count_jobs, 0);
    assert_int_equal(runs, 100);
}

static void same_subject_never_at_the_same_time(void **state)
{
    (void)state;
    hold = true;
    start(0, 1);
    start(1, 1);
    add("work", "one");
    jobs_wake(servers[0]);
    wait_until("SELECT COUNT(*) FROM job WHERE state = 1", 1);
    add("work", "one");
    add("work", "one");
    assert_int_equal(number_now(count_jobs), 2);
    sleep(2);
    assert_int_equal(runs, 1);
    wait_until("SELECT COUNT(*) FROM job WHERE state = 1 AND done > 0 AND total = 1000000", 1);
    hold = false;
    wait_until(count_jobs, 0);
    assert_int_equal(runs, 2);
    assert_int_equal(most_at_once, 1);
}

static void failures_that_pass_are_tried_again(void **state)
{
    (void)state;
    result = FW_ERR_SYSTEM;
    start(0, 1);
    add("work", "a");
    jobs_wake(servers[0]);
    wait_until("SELECT COUNT(*) FROM job WHERE state = 0 AND attempts = 1"
               " AND run_ms - changed_ms = 1000 AND message LIKE 'no luck with a: _?'",
               1);
    add("work", "a"); /* asked for anew: not later */
    jobs_wake(servers[0]);
    wait_until("SELECT COUNT(*) FROM job WHERE state = 0 AND attempts = 2"
               " AND run_ms - changed_ms = 2000",
               1);
    result = FW_ERR_FORMAT; /* for good */
    add("work", "a");
    jobs_wake(servers[0]);
    wait_until("SELECT COUNT(*) FROM job WHERE state = 3 AND attempts = 3", 1);
    result = FW_OK; /* and the next that succeeds takes the failed one away */
    add("work", "a");
    jobs_wake(servers[0]);
    wait_until(count_jobs, 0);
}

static void killed_servers_jobs_are_taken_over(void **state)
{
    (void)state;
    add("work", "a");
    execute("UPDATE job SET state = 1, owner = 'dead', attempts = 1, lease_ms = $1", 1);
    add("work", "b");
    execute("UPDATE job SET state = 1, owner = 'alive', attempts = 1, lease_ms = $1"
            " WHERE subject = 'b'",
            (int64_t)collector_now_ms() + 50000);
    start(0, 1);
    wait_until(count_jobs, 1);
    assert_int_equal(runs, 1);
    execute("UPDATE job SET lost = 5, lease_ms = $1", 1); /* it kills every server */
    wait_until("SELECT COUNT(*) FROM job WHERE state = 3 AND lost = 6", 1);
    assert_int_equal(runs, 1);
}

static void who_lost_the_lease_writes_nothing(void **state)
{
    (void)state;
    hold = true;
    start(0, 1);
    add("work", "a");
    jobs_wake(servers[0]);
    wait_until("SELECT COUNT(*) FROM job WHERE state = 1 AND done > 0", 1);
    execute("UPDATE job SET owner = 'other', lease_ms = $1", (int64_t)collector_now_ms() + 50000);
    for (int i = 0; !told_to_stop && i < 500; i++)
        usleep(10000);
    assert_true(told_to_stop);
    jobs_stop(servers[0]);
    servers[0] = NULL;
    assert_int_equal(number_now("SELECT COUNT(*) FROM job WHERE state = 1 AND attempts = 1"), 1);
}

static void end_of_the_server_gives_the_job_back(void **state)
{
    (void)state;
    hold = true;
    start(0, 1);
    add("work", "a");
    jobs_wake(servers[0]);
    wait_until("SELECT COUNT(*) FROM job WHERE state = 1", 1);
    jobs_stop(servers[0]);
    servers[0] = NULL;
    assert_true(told_to_stop);
    assert_int_equal(number_now("SELECT COUNT(*) FROM job WHERE state = 0 AND attempts = 0"), 1);
    hold = told_to_stop = false;
    start(1, 1);
    wait_until(count_jobs, 0);
}

static void periodic_kinds_come_round(void **state)
{
    (void)state;
    start(0, 2);
    start(1, 2);
    for (int i = 0; ticks < 3 && i < 2000; i++)
        usleep(10000);
    assert_true(ticks >= 3);
    assert_int_equal(number_now(count_jobs), 1);
}

/* Servers that ended during runs long ago must not end a periodic job for good. */
static void periodic_kinds_forget_lost_servers(void **state)
{
    (void)state;
    start(0, 2);
    wait_until("SELECT COUNT(*) FROM job WHERE kind = 'tick'", 1);
    jobs_stop(servers[0]);
    servers[0] = NULL;
    execute("UPDATE job SET state = 1, run_ms = 0, lease_ms = 1, lost = $1, owner = 'gone'",
            JOBS_LOST_MAX - 1);
    start(1, 2);
    wait_until("SELECT COUNT(*) FROM job WHERE kind = 'tick' AND lost = 0", 1);
    assert_true(ticks >= 1);
}

static void jobs_of_unknown_kinds_are_left(void **state)
{
    (void)state;
    add("of another version", "x");
    add("work", "y");
    start(0, 1);
    wait_until(count_jobs, 1);
    assert_int_equal(number_now("SELECT attempts FROM job"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up_jobs, tear_down_jobs)
    const struct CMUnitTest tests[] = {
        TEST(each_job_runs_once_on_three_servers), TEST(same_subject_never_at_the_same_time),
        TEST(failures_that_pass_are_tried_again),  TEST(killed_servers_jobs_are_taken_over),
        TEST(who_lost_the_lease_writes_nothing),   TEST(end_of_the_server_gives_the_job_back),
        TEST(periodic_kinds_come_round),           TEST(periodic_kinds_forget_lost_servers),
        TEST(jobs_of_unknown_kinds_are_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
