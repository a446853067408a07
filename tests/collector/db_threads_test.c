/* Several threads on one database (db.h): turns, leases, fairness, deadlocks. */
#include "collector/db_support.h"

#include <pthread.h>
#include <stdatomic.h>

struct adder {
    pthread_t thread;
    int64_t number;
    unsigned again;
    fw_error error;
};

/* Adds 1 to a number of one row, 50 times, by reading and writing it. */
static void *add(void *context)
{
    struct adder *a = context;
    for (int i = 0; i < 50 && !a->error;) {
        struct db_conn *conn;
        struct db_rows *rows;
        struct fw_failure mine = {.code = FW_OK};
        a->error = db_take(db, DB_WRITE, &conn, &mine);
        if (a->error)
            return NULL;
        fw_error error = db_begin(conn, &mine);
        if (!error)
            error = db_query(conn, &rows, &mine,
                             "SELECT created_ms FROM project WHERE slug = 'p' FOR UPDATE", DB_NONE);
        if (!error) {
            int64_t n = db_next(rows) ? db_get_int(rows, 0) : -1000000;
            error = db_end(rows, &mine);
            if (!error)
                error = db_run(conn, &mine, "UPDATE project SET created_ms = $1 WHERE slug = 'p'",
                               DB_VALUES(db_int(n + 1)));
        }
        if (!error)
            error = db_commit(conn, &mine);
        db_give(db, conn);
        if (error && error != FW_ERR_TIMEOUT)
            a->error = error;
        else if (error)
            a->again++;
        else
            i++;
    }
    return NULL;
}

static void writers_take_turns(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, "INSERT INTO project (slug, name, created_ms) VALUES ('p', 'n', 0)",
                DB_NONE));
    db_give(db, conn);
    struct adder adders[12] = {0};
    for (int i = 0; i < 12; i++)
        assert_int_equal(pthread_create(&adders[i].thread, NULL, add, &adders[i]), 0);
    for (int i = 0; i < 12; i++)
        pthread_join(adders[i].thread, NULL);
    for (int i = 0; i < 12; i++)
        assert_int_equal(adders[i].error, FW_OK);
    assert_int_equal(number_now("SELECT created_ms FROM project"), 600);
}

/* Rows that one holds are passed over by the other. */
static void *lease(void *context)
{
    struct adder *a = context;
    static const char take[] =
        "UPDATE job SET state = 1, owner = $1 WHERE id = (SELECT id FROM job WHERE state = 0 "
        "ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED)";
    for (int i = 0; i < 60 && !a->error; i++) {
        struct db_conn *conn;
        uint64_t rows;
        struct fw_failure mine;
        a->error = db_take(db, DB_WRITE, &conn, &mine);
        if (a->error)
            return NULL;
        a->error = db_begin(conn, &mine);
        if (!a->error)
            a->error = db_change(conn, &mine, &rows, take, DB_VALUES(db_text("me")));
        if (!a->error)
            a->error = db_commit(conn, &mine);
        if (!a->error)
            a->number += (int64_t)rows;
        db_give(db, conn);
    }
    return NULL;
}

static void each_row_is_leased_once(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    for (int i = 0; i < 150; i++)
        FINE(db_run(conn, &why,
                    "INSERT INTO job (kind, subject, payload, state, run_ms, created_ms, "
                    "changed_ms) VALUES ('k', CAST($1 AS TEXT), '', 0, 0, 0, 0)",
                    DB_VALUES(db_text((char[]){(char)('a' + i % 26), (char)('a' + i / 26), 0}))));
    FINE(db_commit(conn, &why));
    db_give(db, conn);
    struct adder leasers[6] = {0};
    int64_t all = 0;
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&leasers[i].thread, NULL, lease, &leasers[i]), 0);
    for (int i = 0; i < 6; i++) {
        pthread_join(leasers[i].thread, NULL);
        assert_int_equal(leasers[i].error, FW_OK);
        all += leasers[i].number;
    }
    assert_int_equal(all, 150);
    assert_int_equal(number_now("SELECT COUNT(*) FROM job WHERE state = 1"), 150);
}

/* While all readers are taken, writers are not kept waiting, and who waits is served. */
static atomic_int served;

static void *read_once(void *context)
{
    (void)context;
    struct db_conn *conn;
    if (db_take(db, DB_READ, &conn, NULL) == FW_OK) {
        atomic_fetch_add(&served, 1);
        db_give(db, conn);
    }
    return NULL;
}

static void readers_do_not_keep_writers_waiting(void **state)
{
    (void)state;
    struct db_conn *readers[64];
    unsigned limit = db->driver->readers;
    assert_true(limit < 64);
    for (unsigned i = 0; i < limit; i++)
        readers[i] = taken(DB_READ);
    atomic_store(&served, 0);
    pthread_t waiting[20];
    for (int i = 0; i < 20; i++)
        assert_int_equal(pthread_create(&waiting[i], NULL, read_once, NULL), 0);
    struct db_conn *writer = taken(DB_WRITE);
    FINE(db_run(writer, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    db_give(db, writer);
    assert_int_equal(atomic_load(&served), 0);
    for (unsigned i = 0; i < limit; i++) {
        if (i == 0)
            readers[i]->broken = true; /* its place is handed on as well */
        db_give(db, readers[i]);
    }
    for (int i = 0; i < 20; i++)
        pthread_join(waiting[i], NULL);
    assert_int_equal(atomic_load(&served), 20);
}

/* Each holds a row and wants the other's: one is told to begin again. */
struct crossing {
    pthread_barrier_t both;
    atomic_int timeouts, others;
};

static void *cross(void *context)
{
    struct crossing *x = context;
    static atomic_int next_place;
    int place = atomic_fetch_add(&next_place, 1) & 1;
    static const char update[] = "UPDATE setting SET value = $2 WHERE name = $1";
    struct db_conn *conn;
    struct fw_failure mine;
    fw_error error = db_take(db, DB_WRITE, &conn, &mine);
    uint64_t rows;
    if (!error)
        error = db_begin(conn, &mine);
    if (!error)
        error = db_change(conn, &mine, &rows, update,
                          DB_VALUES(db_text(place ? "a" : "b"), db_text("x")));
    pthread_barrier_wait(&x->both);
    if (!error)
        error = db_change(conn, &mine, &rows, update,
                          DB_VALUES(db_text(place ? "b" : "a"), db_text("x")));
    if (!error)
        error = db_commit(conn, &mine);
    db_give(db, conn);
    if (error)
        atomic_fetch_add(error == FW_ERR_TIMEOUT ? &x->timeouts : &x->others, 1);
    return NULL;
}

static void a_deadlock_ends(void **state)
{
    (void)state;
    if (!postgres)
        skip(); /* SQLite: one writer */
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("b"), db_text("1"))));
    db_give(db, conn);
    struct crossing x = {0};
    pthread_barrier_init(&x.both, NULL, 2);
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, cross, &x), 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(x.timeouts, 1);
    assert_int_equal(x.others, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(writers_take_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(each_row_is_leased_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(readers_do_not_keep_writers_waiting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_deadlock_ends, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
