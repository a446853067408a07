/* Values, statements and transactions of db.h: one suite for both databases. */
#include "collector/db_support.h"

#include <stdio.h>

/* ---- values ---- */

static void values_come_back_as_they_went(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, "CREATE TABLE t (i BIGINT, s TEXT, b BYTEA)", DB_NONE));
    static const uint8_t bytes[] = {0, 1, 255, 0, '\'', '\\'};
    static const char insert[] = "INSERT INTO t (i, s, b) VALUES ($1, $2, $3)";
    const int64_t whole[] = {0, -1, INT64_MIN, INT64_MAX, 1795339395188};
    const char *const text[] = {"", "it's \"x\" \\ $1", "\xc3\xa4\xf0\x9f\x98\x80", "a\nb", "%_"};
    for (int i = 0; i < 5; i++)
        FINE(db_run(conn, &why, insert,
                    DB_VALUES(db_int(whole[i]), db_text(text[i]), db_bytes(bytes, (size_t)i))));
    FINE(db_run(conn, &why, insert, DB_VALUES(db_null(), db_text(NULL), db_null())));
    for (int i = 0; i < 5; i++) {
        struct db_rows *rows;
        FINE(db_query(conn, &rows, &why, "SELECT i, s, b FROM t WHERE s = $1",
                      DB_VALUES(db_text(text[i]))));
        assert_true(db_next(rows));
        assert_true(db_get_int(rows, 0) == whole[i]);
        assert_string_equal(db_get_text(rows, 1), text[i]);
        assert_int_equal(db_get_bytes(rows, 2).size, i);
        assert_memory_equal(db_get_bytes(rows, 2).data, bytes, (size_t)i);
        assert_false(db_is_null(rows, 2)); /* no bytes are not NULL */
        assert_null(db_get_bytes(rows, 1).data);
        assert_null(db_get_text(rows, 0)); /* a value comes out as what it is */
        assert_int_equal(db_get_int(rows, 1), 0);
        assert_false(db_next(rows));
        assert_false(db_next(rows));
        FINE(db_end(rows, &why));
    }
    struct db_rows *rows;
    FINE(db_query(conn, &rows, &why, "SELECT i, s, b FROM t WHERE i IS NULL", DB_NONE));
    assert_true(db_next(rows));
    for (int column = 0; column < 3; column++)
        assert_true(db_is_null(rows, column));
    assert_int_equal(db_get_int(rows, 0), 0);
    assert_null(db_get_text(rows, 1));
    assert_null(db_get_bytes(rows, 2).data);
    FINE(db_end(rows, &why));
    db_give(db, conn);
}

/* What computes: sums of 64-bit numbers are numerics in PostgreSQL, comparisons booleans. */
static void computed_values_have_one_meaning(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, "CREATE TABLE n (v BIGINT NOT NULL, t TEXT)", DB_NONE));
    static const char insert[] = "INSERT INTO n (v, t) VALUES ($1, $2)";
    const int64_t values[] = {4611686018427387903, 3, -7, 1000000000000};
    for (int i = 0; i < 4; i++)
        FINE(db_run(conn, &why, insert, DB_VALUES(db_int(values[i]), db_text("x"))));
    assert_true(number(conn, "SELECT SUM(v) FROM n") == 4611687018427387899);
    assert_int_equal(number(conn, "SELECT SUM(v) FROM n WHERE v < 0"), -7);
    assert_int_equal(number(conn, "SELECT SUM(v) FROM n WHERE v = 0"), 0); /* NULL */
    assert_int_equal(number(conn, "SELECT COUNT(*) FROM n"), 4);
    assert_int_equal(number(conn, "SELECT v < 0 FROM n WHERE v = -7"), 1);
    assert_int_equal(number(conn, "SELECT GREATEST(3, NULL, 9, 4)"), 9);
    assert_int_equal(number(conn, "SELECT LEAST(3, NULL, 9, 4)"), 3);
    assert_int_equal(number(conn, "SELECT GREATEST(9007199254740993, 9007199254740992) - "
                                  "9007199254740992"),
                     1);
    assert_int_equal(number(conn, "SELECT CASE WHEN LEAST('b', 'a') = 'a' THEN 1 ELSE 0 END"), 1);
    assert_int_equal(number(conn, "SELECT COUNT(*) FROM n WHERE t LIKE 'X%'"), 0);
    assert_int_equal(number(conn, "SELECT AVG(v) FROM n WHERE v < 10"), -2);
    assert_int_equal(number(conn, "SELECT CAST(-2.9 AS DOUBLE PRECISION)"), -2);
    db_give(db, conn);
}

/* Texts sort by their bytes, whatever the server's language. */
static void texts_sort_by_bytes(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    const char *const names[] = {"\xc3\xa4", "a", "B", "_"};
    for (int i = 0; i < 4; i++)
        FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text(names[i]), db_text(""))));
    struct db_rows *rows;
    FINE(db_query(conn, &rows, &why, "SELECT name FROM setting ORDER BY name", DB_NONE));
    char order[16] = "";
    while (db_next(rows))
        strcat(order, db_get_text(rows, 0));
    FINE(db_end(rows, &why));
    assert_string_equal(order, "B_a\xc3\xa4");
    db_give(db, conn);
}

static void texts_that_are_none_are_refused(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    struct db_value nul = {.type = DB_TEXT, .bytes = {(const uint8_t *)"a\0b", 3}};
    assert_int_equal(db_run(conn, &why, insert_setting, DB_VALUES(nul, db_text(""))),
                     FW_ERR_ARGUMENT);
    const char *const bad[] = {"\xff", "\xc3", "ok \xed\xa0\x80", "\xf4\x90\x80\x80", "x\xe2\x82"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(
            db_run(conn, &why, insert_setting, DB_VALUES(db_text(bad[i]), db_text(""))),
            FW_ERR_ARGUMENT);
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("fine"), db_text(""))));
    assert_int_equal(number(conn, count_settings), 1);
    db_give(db, conn);
}

/* A value that was NULL when its statement was prepared may be anything later, and the reverse. */
static void values_change_between_null_and_others(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, "CREATE TABLE o (a BIGINT, b TEXT, c BYTEA)", DB_NONE));
    static const char insert[] = "INSERT INTO o (a, b, c) VALUES ($1, $2, $3)";
    FINE(db_begin(conn, &why));
    for (int i = 0; i < 32; i++)
        FINE(db_run(conn, &why, insert,
                    DB_VALUES(i & 1 ? db_int(i) : db_null(), i & 2 ? db_text("t") : db_null(),
                              i & 4 ? db_bytes("b", 1) : db_null())));
    FINE(db_commit(conn, &why));
    assert_int_equal(number(conn, "SELECT COUNT(*) FROM o WHERE a IS NULL AND b IS NULL AND c IS "
                                  "NULL"),
                     4);
    assert_int_equal(number(conn, "SELECT SUM(a) FROM o WHERE b = 't'"), 136);
    db_give(db, conn);
}

/* ---- statements ---- */

static void changes_are_counted(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    uint64_t changed;
    FINE(db_begin(conn, &why));
    for (int i = 0; i < 10; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text(name), db_text("v"))));
    }
    FINE(db_change(conn, &why, &changed, "UPDATE setting SET value = $1 WHERE name > $2",
                   DB_VALUES(db_text("w"), db_text("n6"))));
    assert_int_equal(changed, 3);
    FINE(db_change(conn, &why, &changed,
                   "INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING",
                   DB_VALUES(db_text("n1"), db_text("x"))));
    assert_int_equal(changed, 0);
    FINE(db_change(conn, &why, &changed, "DELETE FROM setting WHERE value = $1",
                   DB_VALUES(db_text("v"))));
    assert_int_equal(changed, 7);
    FINE(db_change(conn, &why, &changed, "DELETE FROM setting WHERE value = $1",
                   DB_VALUES(db_text("none"))));
    assert_int_equal(changed, 0);
    FINE(db_commit(conn, &why));
    db_give(db, conn);
}

/* Numbers that were given once do not come again: who holds an old one touches nothing new. */
static void numbers_are_never_given_twice(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    int64_t last = 0;
    for (int i = 0; i < 3; i++) {
        struct db_rows *rows;
        FINE(db_query(conn, &rows, &why,
                      "INSERT INTO project (slug, name, created_ms) VALUES ($1, 'n', 1) RETURNING "
                      "id",
                      DB_VALUES(db_text("p"))));
        assert_true(db_next(rows));
        int64_t id = db_get_int(rows, 0);
        assert_false(db_next(rows));
        FINE(db_end(rows, &why));
        assert_true(id > last);
        last = id;
        FINE(db_run(conn, &why, "DELETE FROM project", DB_NONE));
    }
    db_give(db, conn);
}

/* Statements that are made at run time, many more than are kept, at one address. */
static void made_statements_are_told_apart(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < DB_STATEMENTS_CACHED + 50; i++) {
            char sql[64];
            snprintf(sql, sizeof sql, "SELECT %d", i);
            assert_int_equal(number(conn, sql), i);
        }
    FINE(db_commit(conn, &why));
    db_give(db, conn);
}

static void many_rows_and_an_early_end(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, "CREATE TABLE m (i BIGINT NOT NULL)", DB_NONE));
    FINE(db_begin(conn, &why));
    for (int i = 0; i < 20000; i++)
        FINE(db_run(conn, &why, "INSERT INTO m (i) VALUES ($1)", DB_VALUES(db_int(i))));
    FINE(db_commit(conn, &why));
    struct db_rows *rows;
    FINE(db_query(conn, &rows, &why, "SELECT i FROM m ORDER BY i", DB_NONE));
    int64_t expected = 0;
    while (db_next(rows))
        assert_true(db_get_int(rows, 0) == expected++);
    FINE(db_end(rows, &why));
    assert_int_equal(expected, 20000);
    FINE(db_query(conn, &rows, &why, "SELECT i FROM m ORDER BY i", DB_NONE));
    for (int i = 0; i < 5; i++)
        assert_true(db_next(rows));
    FINE(db_end(rows, &why));
    FINE(db_query(conn, &rows, &why, "SELECT i FROM m", DB_NONE));
    db_give(db, conn); /* closes what is open */
    assert_int_equal(number_now("SELECT COUNT(*) FROM m"), 20000);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    struct db_rows *rows, *second;
    FINE(db_query(conn, &rows, &why, count_settings, DB_NONE));
    assert_int_equal(db_query(conn, &second, &why, count_settings, DB_NONE), FW_ERR_ARGUMENT);
    assert_int_equal(db_run(conn, &why, "DELETE FROM setting", DB_NONE), FW_ERR_ARGUMENT);
    assert_null(second);
    FINE(db_end(rows, &why));
    assert_int_equal(db_commit(conn, &why), FW_ERR_ARGUMENT);
    assert_int_equal(db_run(conn, &why, insert_setting, DB_VALUES(db_text("one"))),
                     FW_ERR_ARGUMENT);
    assert_int_equal(db_run(conn, &why, "SELECT nonsense FROM nowhere", DB_NONE),
                     FW_ERR_UNSUPPORTED);
    assert_int_equal(db_run(conn, &why, "SELEC", DB_NONE), FW_ERR_UNSUPPORTED);
    assert_int_equal(number(conn, count_settings), 0);
    db_give(db, conn);
    conn = taken(DB_READ);
    assert_int_equal(db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("b"))),
                     FW_ERR_PERMISSION);
    db_give(db, conn);
    struct db *other;
    assert_int_equal(db_open("mysql://x", &other, &why), FW_ERR_ARGUMENT);
    assert_null(other);
}

/* ---- transactions ---- */

static void what_is_not_committed_is_gone(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    db_rollback(conn);
    assert_int_equal(number(conn, count_settings), 0);
    FINE(db_begin(conn, &why));
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    assert_int_equal(number_now(count_settings), 0); /* others do not see it */
    FINE(db_commit(conn, &why));
    assert_int_equal(number_now(count_settings), 1);
    FINE(db_begin(conn, &why));
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("b"), db_text("1"))));
    db_give(db, conn);
    assert_int_equal(number_now(count_settings), 1);
}

/* A failure stays until the rollback, and none of the transaction is kept. */
static void a_failed_transaction_stays_failed(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    FINE(db_begin(conn, &why));
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("b"), db_text("1"))));
    uint64_t changed;
    assert_int_equal(
        db_change(conn, &why, &changed, insert_setting, DB_VALUES(db_text("a"), db_text("2"))),
        FW_ERR_ARGUMENT);
    struct db_rows *rows;
    assert_int_equal(db_query(conn, &rows, &why, count_settings, DB_NONE), FW_ERR_ARGUMENT);
    assert_int_equal(db_run(conn, &why, "DELETE FROM setting", DB_NONE), FW_ERR_ARGUMENT);
    memset(&why, 0, sizeof why);
    assert_int_equal(db_commit(conn, &why), FW_ERR_ARGUMENT);
    assert_true(strlen(why.message) > 10);
    assert_int_equal(number(conn, count_settings), 1);
    FINE(db_begin(conn, &why));
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("c"), db_text("1"))));
    FINE(db_commit(conn, &why));
    assert_int_equal(number(conn, count_settings), 2);
    db_give(db, conn);
}

/* The failure of a statement that nobody waited for comes out at the commit at the latest. */
static void failures_are_told_at_the_commit(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_begin(conn, &why));
    fw_error error = FW_OK;
    for (int i = 0; !error && i < 3; i++)
        error = db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1")));
    if (!error)
        error = db_commit(conn, &why);
    db_rollback(conn);
    assert_int_equal(error, FW_ERR_ARGUMENT);
    assert_int_equal(number(conn, count_settings), 0);
    /* Also when its SQL was never understood, and the same text is tried again. */
    for (int i = 0; i < 2; i++) {
        FINE(db_begin(conn, &why));
        error = db_run(conn, &why, "INSERT INTO nowhere VALUES ($1)", DB_VALUES(db_int(1)));
        if (!error)
            error = db_commit(conn, &why);
        db_rollback(conn);
        assert_int_equal(error, FW_ERR_UNSUPPORTED);
    }
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    db_give(db, conn);
}

/* A reader's transaction sees one moment. */
static void a_reading_transaction_sees_one_moment(void **state)
{
    (void)state;
    struct db_conn *reader = taken(DB_READ), *writer = taken(DB_WRITE);
    FINE(db_begin(reader, &why));
    assert_int_equal(number(reader, count_settings), 0);
    FINE(db_run(writer, &why, insert_setting, DB_VALUES(db_text("a"), db_text("1"))));
    assert_int_equal(number(reader, count_settings), 0);
    FINE(db_commit(reader, &why));
    assert_int_equal(number(reader, count_settings), 1);
    db_give(db, reader);
    db_give(db, writer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(values_come_back_as_they_went, set_up, tear_down),
        cmocka_unit_test_setup_teardown(computed_values_have_one_meaning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_sort_by_bytes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(texts_that_are_none_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(values_change_between_null_and_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(changes_are_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(numbers_are_never_given_twice, set_up, tear_down),
        cmocka_unit_test_setup_teardown(made_statements_are_told_apart, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_rows_and_an_early_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(misuse_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_committed_is_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_failed_transaction_stays_failed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(failures_are_told_at_the_commit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_reading_transaction_sees_one_moment, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
