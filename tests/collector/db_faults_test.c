/*
 * Databases that fail (db.h): locked, full, read-only, restarted, gone; and that get well again
 * without a restart of ours.
 */
#include "collector/db_support.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static fw_error add_setting(const char *name)
{
    struct db_conn *conn;
    fw_error error = db_take(db, DB_WRITE, &conn, &why);
    if (error)
        return error;
    error = db_begin(conn, &why);
    if (!error)
        error = db_run(conn, &why, insert_setting, DB_VALUES(db_text(name), db_text("1")));
    if (!error)
        error = db_commit(conn, &why);
    db_give(db, conn);
    return error;
}

/* ---- SQLite ---- */

/* Another process that holds the file until its standard input ends. It has the lock when this
 * returns. */
struct holder {
    pid_t pid;
    int end; /* close: it ends */
};

static struct holder hold_lock(void)
{
    int ends[2], ready[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid_t pid = fork();
    if (pid == 0) {
        dup2(ends[0], 0);
        dup2(ready[1], 1);
        execlp("sqlite3", "sqlite3", "-batch", url + strlen("sqlite:"), (char *)NULL);
        _exit(127);
    }
    close(ends[0]);
    close(ready[1]);
    static const char begin[] = "BEGIN IMMEDIATE;\nSELECT 'held';\n";
    ssize_t said = write(ends[1], begin, sizeof begin - 1);
    char answer[8];
    bool held = said > 0 && read(ready[0], answer, sizeof answer) > 0;
    close(ready[0]);
    if (!held) {
        close(ends[1]);
        waitpid(pid, NULL, 0);
        print_message("skip: no sqlite3\n");
        skip();
    }
    return (struct holder){pid, ends[1]};
}

static void let_go(struct holder holder)
{
    close(holder.end);
    waitpid(holder.pid, NULL, 0);
}

static void *let_go_soon(void *context)
{
    usleep(300000);
    let_go(*(struct holder *)context);
    return NULL;
}

static void a_locked_file_is_waited_for(void **state)
{
    (void)state;
    if (postgres)
        skip();
    struct holder holder = hold_lock();
    assert_int_equal(number_now(count_settings), 0); /* readers are not concerned */
    pthread_t soon;
    assert_int_equal(pthread_create(&soon, NULL, let_go_soon, &holder), 0);
    FINE(add_setting("waited"));
    pthread_join(soon, NULL);
    holder = hold_lock();
    assert_int_equal(add_setting("not for ever"), FW_ERR_TIMEOUT);
    let_go(holder);
    FINE(add_setting("free again"));
    assert_int_equal(number_now(count_settings), 2);
}

/* A process that ends beside us takes nothing of ours with it: neither locks nor the WAL. */
static void processes_come_and_go(void **state)
{
    (void)state;
    if (postgres)
        skip();
    struct db_conn *readers[3];
    for (int i = 0; i < 3; i++) {
        char name[8];
        let_go(hold_lock());
        readers[i] = taken(DB_READ); /* opens one more connection */
        let_go(hold_lock());
        snprintf(name, sizeof name, "n%d", i);
        FINE(add_setting(name));
        assert_int_equal(number(readers[i], count_settings), i + 1);
    }
    for (int i = 0; i < 3; i++)
        db_give(db, readers[i]);
    db_close(db);
    FINE(db_open(url, &db, &why));
    assert_int_equal(number_now(count_settings), 3);
}

/* At every size of the files: a full disk refuses, loses nothing, and is over when it is over. */
static void a_full_disk_refuses(void **state)
{
    (void)state;
    if (postgres)
        skip();
    FINE(add_setting("before"));
    db_close(db);
    db = NULL;
    for (rlim_t limit = 20000; limit < 400000; limit += 45000) {
        pid_t child = fork();
        if (child == 0) {
            signal(SIGXFSZ, SIG_IGN);
            if (db_open(url, &db, &why))
                _exit(10);
            struct rlimit old, small;
            getrlimit(RLIMIT_FSIZE, &old);
            small = old;
            small.rlim_cur = limit;
            setrlimit(RLIMIT_FSIZE, &small);
            static char large[8000];
            memset(large, 'x', sizeof large - 1);
            fw_error error = FW_OK;
            int done = 0;
            for (; !error && done < 200; done++) {
                struct db_conn *conn;
                char name[32];
                snprintf(name, sizeof name, "%ld %d", (long)limit, done);
                error = db_take(db, DB_WRITE, &conn, &why);
                if (!error)
                    error = db_run(conn, &why, insert_setting,
                                   DB_VALUES(db_text(name), db_text(large)));
                db_give(db, conn);
            }
            if (error != FW_ERR_FULL)
                _exit(20 + (int)error);
            setrlimit(RLIMIT_FSIZE, &old);
            char name[32];
            snprintf(name, sizeof name, "%ld after", (long)limit);
            if (add_setting(name))
                _exit(40);
            char sql[128];
            snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM setting WHERE name LIKE '%ld %%'",
                     (long)limit);
            _exit(number_now(sql) == done ? 0 : 50); /* the acknowledged ones and `after` */
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
    FINE(db_open(url, &db, &why));
    struct db_conn *conn = taken(DB_READ);
    struct db_rows *rows;
    FINE(db_query(conn, &rows, &why, "PRAGMA integrity_check", DB_NONE));
    assert_true(db_next(rows));
    assert_string_equal(db_get_text(rows, 0), "ok");
    db_give(db, conn);
}

/* For somebody who is not root: root may write anywhere. */
static void a_folder_that_may_not_be_written_is_told(void **state)
{
    (void)state;
    if (postgres)
        skip();
    struct db *other;
    assert_int_equal(db_open("sqlite:/nowhere/at/all.sqlite", &other, &why), FW_ERR_NOT_FOUND);
    db_close(db);
    db = NULL;
    assert_int_equal(chmod(folder, 0555), 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(77);
        char path[600];
        snprintf(path, sizeof path, "sqlite:%s/new.sqlite", folder);
        fw_error new = db_open(path, &other, &why), old = db_open(url, &other, &why);
        _exit(new == FW_ERR_PERMISSION &&old == FW_ERR_PERMISSION ? 0 : 10 + (int)old);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(chmod(folder, 0755), 0);
    FINE(db_open(url, &db, &why));
    assert_int_equal(WEXITSTATUS(status), 0);
    FILE *f = fopen(url + strlen("sqlite:"), "r"); /* others may not even read */
    struct stat info;
    assert_int_equal(fstat(fileno(f), &info), 0);
    fclose(f);
    assert_int_equal(info.st_mode & 0777, 0600);
}

static void a_file_that_is_no_database_is_told(void **state)
{
    (void)state;
    if (postgres)
        skip();
    char path[128];
    snprintf(path, sizeof path, "sqlite:%s/letter", folder);
    FILE *f = fopen(path + 7, "w");
    for (int i = 0; i < 1000; i++)
        fputs("Dear reader, ", f);
    fclose(f);
    struct db *other;
    assert_int_equal(db_open(path, &other, &why), FW_ERR_CORRUPT);
}

/* ---- backup ---- */

static atomic_bool backing_up;

static void *write_on(void *context)
{
    int64_t *written = context;
    while (atomic_load(&backing_up)) {
        char name[32];
        snprintf(name, sizeof name, "on %lld", (long long)*written);
        struct db_conn *conn;
        struct fw_failure mine;
        if (db_take(db, DB_WRITE, &conn, &mine))
            break;
        if (!db_run(conn, &mine, insert_setting, DB_VALUES(db_text(name), db_text("1"))))
            ++*written;
        db_give(db, conn);
    }
    return NULL;
}

/* A copy made while others write is one moment of it, and opens as a database. */
static void a_backup_is_one_moment(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/copy.sqlite", folder);
    if (postgres) {
        assert_int_equal(db_backup(db, path, &why), FW_ERR_UNSUPPORTED);
        assert_non_null(strstr(why.message, "pg_dump"));
        return;
    }
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    static uint8_t body[5000];
    for (int i = 0; i < 1000; i++)
        FINE(db_run(conn, &why, "INSERT INTO inbox_body (seq, body) VALUES ($1, $2)",
                    DB_VALUES(db_int(i), db_bytes(body, sizeof body))));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    atomic_store(&backing_up, true);
    int64_t written = 0;
    pthread_t writer;
    assert_int_equal(pthread_create(&writer, NULL, write_on, &written), 0);
    fw_error error = FW_OK;
    for (int i = 0; i < 5 && !error; i++) /* replaces the one before */
        error = db_backup(db, path, &why);
    atomic_store(&backing_up, false);
    pthread_join(writer, NULL);
    FINE(error);
    assert_true(written > 0);
    struct db *real = db;
    char copy[160];
    snprintf(copy, sizeof copy, "sqlite:%s", path);
    FINE(db_open(copy, &db, &why));
    int64_t bodies = number_now("SELECT COUNT(*) FROM inbox_body"),
            settings = number_now(count_settings);
    db_close(db);
    db = real;
    assert_int_equal(bodies, 1000);
    assert_true(settings <= written);
    assert_int_equal(number_now(count_settings), written);
    assert_int_equal(db_backup(db, "/nowhere/at/all", &why), FW_ERR_NOT_FOUND);
}

/* ---- PostgreSQL ---- */

/* "restart", "crash", "stop", "start": postgres.py does it. */
static void server(const char *what)
{
    int to, from;
    char answer[8];
    assert_int_equal(sscanf(getenv("FW_POSTGRES_CONTROL"), "%d,%d", &to, &from), 2);
    assert_true(dprintf(to, "%s\n", what) > 0);
    assert_int_equal(read(from, answer, 3), 3);
}

/* Connections that were idle are found dead before they are used; one that was in use says so. */
static void a_restarted_server_is_found_again(void **state)
{
    (void)state;
    if (!postgres)
        skip();
    const char *const ways[] = {"restart", "crash"};
    for (int i = 0; i < 2; i++) {
        struct db_conn *used = taken(DB_WRITE), *idle[3];
        for (int k = 0; k < 3; k++)
            idle[k] = taken(DB_READ);
        for (int k = 0; k < 3; k++)
            db_give(db, idle[k]);
        FINE(db_begin(used, &why));
        FINE(db_run(used, &why, insert_setting, DB_VALUES(db_text("lost"), db_text("1"))));
        int64_t before = number(used, count_settings);
        server(ways[i]);
        assert_int_equal(db_commit(used, &why), FW_ERR_VANISHED);
        assert_int_equal(db_run(used, &why, "SELECT 1", DB_NONE), FW_ERR_VANISHED);
        db_give(db, used);
        assert_int_equal(number_now(count_settings), before - 1);
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        FINE(add_setting(name));
    }
    assert_int_equal(number_now(count_settings), 2);
}

static void a_server_that_is_away_is_told_and_comes_back(void **state)
{
    (void)state;
    if (!postgres)
        skip();
    struct db_conn *conn = taken(DB_READ);
    struct db_rows *rows;
    FINE(db_query(conn, &rows, &why, "SELECT generate_series(1, 1000000)", DB_NONE));
    assert_true(db_next(rows));
    server("stop");
    while (db_next(rows))
        ;
    fw_error ended = db_end(rows, &why); /* all of it may have been on its way already */
    assert_true(ended == FW_ERR_VANISHED || ended == FW_OK);
    db_give(db, conn);
    for (int i = 0; i < 40; i++) /* more often than there are connections */
        assert_int_equal(add_setting("away"), FW_ERR_VANISHED);
    server("start");
    FINE(add_setting("back"));
    assert_int_equal(number_now(count_settings), 1);
}

static atomic_int inserted, vanished, unexpected;

static void *insert_under_fire(void *context)
{
    for (int i = 0; i < 300; i++) {
        char name[32];
        struct db_conn *conn;
        struct fw_failure mine;
        snprintf(name, sizeof name, "%s%d", (const char *)context, i);
        fw_error error = db_take(db, DB_WRITE, &conn, &mine);
        if (!error) {
            error = db_begin(conn, &mine);
            for (int k = 0; k < 3 && !error; k++) {
                char part[40];
                snprintf(part, sizeof part, "%s.%d", name, k);
                error = db_run(conn, &mine, insert_setting, DB_VALUES(db_text(part), db_text("1")));
            }
            if (!error)
                error = db_commit(conn, &mine);
            db_give(db, conn);
        }
        if (error == FW_ERR_VANISHED)
            usleep(20000);
        atomic_fetch_add(!error                     ? &inserted
                         : error == FW_ERR_VANISHED ? &vanished
                                                    : &unexpected,
                         1);
    }
    return NULL;
}

/* Everything that was acknowledged is there after crashes, and nothing is there by halves. */
static void crashes_lose_nothing_acknowledged(void **state)
{
    (void)state;
    if (!postgres)
        skip();
    static const char *const names[] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, insert_under_fire, (void *)(uintptr_t)names[i]), 0);
    for (int i = 0; i < 3; i++) {
        usleep(150000);
        server("crash");
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&unexpected), 0);
    int64_t rows = number_now(count_settings);
    assert_int_equal(rows % 3, 0);
    /* A commit whose answer was lost may have happened. */
    assert_true(rows / 3 >= atomic_load(&inserted));
    assert_true(rows / 3 <= atomic_load(&inserted) + atomic_load(&vanished));
    assert_true(atomic_load(&inserted) > 0);
}

/* The URL's options come last: limits may be set tighter. */
static void a_slow_statement_ends(void **state)
{
    (void)state;
    if (!postgres)
        skip();
    db_close(db);
    strncat(url, "&options=-c%20statement_timeout%3D200%20-c%20lock_timeout%3D200",
            sizeof url - strlen(url) - 1);
    FINE(db_open(url, &db, &why));
    struct db_conn *conn = taken(DB_WRITE), *other = taken(DB_WRITE);
    assert_int_equal(db_run(conn, &why, "SELECT pg_sleep(60)", DB_NONE), FW_ERR_TIMEOUT);
    FINE(db_begin(conn, &why));
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    assert_int_equal(number(conn, count_settings), 1);
    FINE(db_begin(other, &why));
    uint64_t rows;
    assert_int_equal(
        db_change(other, &why, &rows, insert_setting, DB_VALUES(db_text("a"), db_text("2"))),
        FW_ERR_TIMEOUT);
    db_rollback(other);
    FINE(db_commit(conn, &why));
    assert_int_equal(number(other, count_settings), 1);
    db_give(db, conn);
    db_give(db, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_locked_file_is_waited_for, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_come_and_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_full_disk_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_may_not_be_written_is_told, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_file_that_is_no_database_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_backup_is_one_moment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_restarted_server_is_found_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_server_that_is_away_is_told_and_comes_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(crashes_lose_nothing_acknowledged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_slow_statement_ends, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
