/* Migrations (db_migrate.c): up, whole or not at all, never down, at once. */
#include "collector/db_support.h"
#include "collector/schema_1.h"

#include <libpq-fe.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>

static void every_table_of_the_schema_is_there(void **state)
{
    (void)state;
    assert_int_equal(number_now("SELECT version FROM schema_version"), (int64_t)schema_version);
    const char *const tables[] = {"inbox", "seen", "report", "hang_group", "job", "upload_part"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char sql[64];
        snprintf(sql, sizeof sql, "SELECT COUNT(*) FROM %s", tables[i]);
        assert_int_equal(number_now(sql), 0);
    }
    db_close(db); /* opening again changes nothing */
    FINE(db_open(url, &db, &why));
    assert_int_equal(number_now("SELECT COUNT(*) FROM schema_version"), 1);
}

static void a_schema_is_brought_up_or_left_alone(void **state)
{
    (void)state;
    struct db_conn *conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, insert_setting, DB_VALUES(db_text("kept"), db_text("1"))));
    db_give(db, conn);
    struct schema_migration steps[16] = {{0}};
    size_t now = schema_version;
    assert_true(now < 14);
    memcpy(steps, schema_migrations, now * sizeof *steps);
    steps[now] = (struct schema_migration){"CREATE TABLE later (id {ID}, data {BLOB} NOT NULL,\n"
                                           " when_ms INTEGER NOT NULL);\n"
                                           "ALTER TABLE setting ADD COLUMN more TEXT;\n"};
    /* One that fails in its middle leaves nothing. */
    steps[now + 1] = (struct schema_migration){"CREATE TABLE half (id {ID});\nNONSENSE;\n"};
    assert_int_equal(db_migrate(db, steps, now + 2, &why), FW_ERR_UNSUPPORTED);
    assert_int_equal(number_now("SELECT version FROM schema_version"), (int64_t)now);
    conn = taken(DB_READ);
    struct db_rows *rows;
    assert_int_equal(db_query(conn, &rows, &why, "SELECT COUNT(*) FROM later", DB_NONE),
                     FW_ERR_UNSUPPORTED);
    db_give(db, conn);

    FINE(db_migrate(db, steps, now + 1, &why));
    assert_int_equal(number_now("SELECT version FROM schema_version"), (int64_t)now + 1);
    conn = taken(DB_WRITE);
    FINE(db_run(conn, &why, "INSERT INTO later (data, when_ms) VALUES ($1, $2)",
                DB_VALUES(db_bytes("x", 1), db_int(1795339395188))));
    db_give(db, conn);
    assert_true(number_now("SELECT when_ms FROM later") == 1795339395188);
    assert_int_equal(number_now("SELECT COUNT(*) FROM setting WHERE name = 'kept' AND more IS "
                                "NULL"),
                     1);
    /* This program knows `now` only. */
    struct db *older;
    assert_int_equal(db_open(url, &older, &why), FW_ERR_UNSUPPORTED);
    assert_null(older);
    assert_non_null(strstr(why.message, "newer"));
    assert_int_equal(number_now("SELECT COUNT(*) FROM later"), 1);
}

static const char *const old_rows[] = {
    "INSERT INTO project (slug, name, created_ms) VALUES ('default', 'Default', 1)",
    "INSERT INTO report (project, report_id, kind, received_ms, started_ms, day, version,"
    " duration_ns, ending, threads, frames, complete) VALUES (1, 'id', 1, 1795339395188, 5, 6, 1,"
    " 7, 0, 1, 1, 1)",
    "INSERT INTO upload (id, name, size, received, state, message, created_ms, changed_ms,"
    " created_by) VALUES ('u1', 'shop', 10, 4, 0, '', 1, 2, 'ci')",
    "INSERT INTO brought_name (project, image, frame_offset, flags, number, function, line,"
    " name_flags) VALUES (1, 0, 16, 1, 0, 'work', 0, 0)",
    "INSERT INTO brought_name (project, image, frame_offset, flags, number, function, line,"
    " name_flags) VALUES (1, 0, 16, 1, 1, 'main', 0, 0)",
};

/* db_open would make the tables of today. */
static void make_without_tables(void)
{
    static const char sql[] = "CREATE TABLE schema_version (version BIGINT NOT NULL)";
    new_url();
    if (postgres) {
        PGconn *pg = PQconnectdb(url);
        PGresult *result = PQexec(pg, sql);
        assert_int_equal(PQresultStatus(result), PGRES_COMMAND_OK);
        PQclear(result);
        PQfinish(pg);
    } else {
        sqlite3 *file;
        assert_int_equal(sqlite3_open(url + strlen("sqlite:"), &file), SQLITE_OK);
        assert_int_equal(sqlite3_exec(file, sql, NULL, NULL, NULL), SQLITE_OK);
        sqlite3_close(file);
    }
}

/* A database of the version before, with rows, as a server would find it after an upgrade. */
static void an_old_database_is_upgraded(void **state)
{
    (void)state;
    const struct schema_migration first = {schema_1};
    uint64_t version = 1;
    assert_string_equal(schema_migrations[0].sql, schema_1); /* a released one never changes */
    db_close(db);
    make_without_tables();
    FINE(db_open_as_it_is(url, &db, &version, &why));
    assert_int_equal(version, 0);
    FINE(db_migrate(db, &first, 1, &why));
    for (size_t i = 0; i < sizeof old_rows / sizeof *old_rows; i++) {
        struct db_conn *conn = taken(DB_WRITE);
        FINE(db_run(conn, &why, old_rows[i], DB_NONE));
        db_give(db, conn);
    }
    db_close(db);
    FINE(db_open(url, &db, &why));
    assert_int_equal(number_now("SELECT version FROM schema_version"), (int64_t)schema_version);
    assert_true(schema_version >= 2);
    assert_int_equal(number_now("SELECT received FROM upload WHERE id = 'u1' AND owner = 0"), 4);
    assert_true(number_now("SELECT MIN(last_ms) FROM brought_name") == 1795339395188);
    assert_int_equal(number_now("SELECT made FROM made WHERE project = 1 AND kind = 8"), 2);
    assert_int_equal(number_now("SELECT duration_ns FROM report"), 7);
}

/* Two projects used image 1, which had a file of a key of the first; image 2 had one of an
 * administrator's, image 3 one whose key nobody knows any more; image 4 nobody used. */
static const char *const shared_rows[] = {
    "INSERT INTO project (slug, name, created_ms) VALUES ('a', 'A', 1), ('b', 'B', 1)",
    "INSERT INTO image (id_key, arch, debug_id, name, path, has_map, own) VALUES"
    " ('i1', '', 'i1', 'one', '/one', 1, 1), ('i2', '', 'i2', 'two', '/two', 1, 1),"
    " ('i3', '', 'i3', 'three', NULL, 1, 1), ('i4', '', 'i4', 'four', NULL, 0, 0)",
    "INSERT INTO image_day (project, image, day, reports, frames) VALUES (1, 1, 5, 1, 1),"
    " (1, 1, 6, 1, 1), (2, 1, 5, 1, 1), (2, 2, 5, 1, 1)",
    "INSERT INTO stack (project, hash, frames, last_ms, main_image) VALUES (1, 'h', 'f', 1, 3)",
    "INSERT INTO access_key (kind, hash, project, scopes, label, created_ms) VALUES"
    " (2, 'k1', 1, 2, 'ci', 1), (2, 'k2', NULL, 63, 'admin', 1), (2, 'k3', 2, 2, 'twice', 1),"
    " (2, 'k4', 1, 2, 'twice', 1)",
    "INSERT INTO upload (id, name, size, received, state, message, created_ms, changed_ms,"
    " created_by, owner) VALUES ('0123456789abcdef', 'x', 1, 1, 2, '', 1, 1, 'other label', 1),"
    " ('fedcba9876543210', 'y', 1, 1, 2, '', 1, 1, 'admin', 2)",
    "INSERT INTO symbol_file (debug_id, arch, kind, name, sha256, size, blob, map_blob, map_size,"
    " features, state, uploaded_ms, uploaded_by, used_ms) VALUES"
    " ('i1', '', 2, 'by its upload', 's1', 1, 'symbols/x-01234567', 'm1', 1, 'debug_info', 1, 1,"
    " 'other label', 1),"
    " ('i1', '', 1, 'by its label', 's2', 1, 'symbols/y-00000000', 'm2', 1, 'symtab', 0, 1, 'ci',"
    " 1),"
    " ('i2', '', 2, 'of an administrator', 's3', 1, 'symbols/z-00000000', 'm3', 1, 'debug_info',"
    " 0, 1, 'admin', 1),"
    " ('i3', '', 2, 'of nobody', 's4', 1, 'symbols/w-00000000', 'm4', 1, 'debug_info', 1, 1,"
    " 'gone', 1),"
    " ('i3', '', 1, 'of a label that two projects have', 's5', 1, 'symbols/v-00000000', 'm5', 1,"
    " 'symtab', 0, 1, 'twice', 1)",
};

static int64_t file_of(const char *name, const char *column)
{
    char sql[160];
    snprintf(sql, sizeof sql, "SELECT %s FROM symbol_file WHERE name = '%s'", column, name);
    return number_now(sql);
}

static void images_and_files_get_owners(void **state)
{
    (void)state;
    uint64_t version;
    db_close(db);
    make_without_tables();
    FINE(db_open_as_it_is(url, &db, &version, &why));
    FINE(db_migrate(db, schema_migrations, 3, &why));
    for (size_t i = 0; i < sizeof shared_rows / sizeof *shared_rows; i++) {
        struct db_conn *conn = taken(DB_WRITE);
        FINE(db_run(conn, &why, shared_rows[i], DB_NONE));
        db_give(db, conn);
    }
    db_close(db);
    FINE(db_open(url, &db, &why));
    assert_int_equal(file_of("by its upload", "project"), 1);
    assert_int_equal(file_of("by its upload", "state"), 1);
    assert_int_equal(file_of("by its label", "project"), 1);
    assert_int_equal(file_of("by its label", "state"), 0);
    assert_int_equal(file_of("of an administrator", "project"), 0);
    assert_int_equal(file_of("of an administrator", "state"), 1);
    assert_int_equal(file_of("of nobody", "project"), 0);
    assert_int_equal(file_of("of a label that two projects have", "project"), 0);
    assert_int_equal(number_now("SELECT COUNT(*) FROM symbol_file"), 5);
    /* A row for each project that has the image; a map for who may use it. */
    assert_int_equal(number_now("SELECT COUNT(*) FROM project_image"), 4);
    assert_int_equal(number_now("SELECT COUNT(*) FROM project_image WHERE image = 1"
                                " AND name = 'one' AND path = '/one' AND debug_id = 'i1'"),
                     2);
    assert_int_equal(
        number_now("SELECT has_map FROM project_image WHERE image = 1 AND project = 1"), 1);
    assert_int_equal(
        number_now("SELECT has_map FROM project_image WHERE image = 1 AND project = 2"), 0);
    assert_int_equal(number_now("SELECT has_map FROM project_image WHERE image = 2"), 1);
    assert_int_equal(number_now("SELECT project FROM project_image WHERE image = 3"), 1);
    /* Whose names went gets them taken out of its groups. */
    assert_int_equal(number_now("SELECT COUNT(*) FROM job WHERE kind = 'names'"), 1);
    assert_int_equal(number_now("SELECT COUNT(*) FROM job WHERE subject = '1' AND state = 0"), 1);
    assert_int_equal(number_now("SELECT project FROM upload WHERE name = 'x'"), 1);
    assert_int_equal(number_now("SELECT project FROM upload WHERE name = 'y'"), 0);
}

struct server {
    pthread_t thread;
    fw_error error;
};

static void *open_too(void *context)
{
    struct server *a = context;
    struct db *mine = NULL;
    a->error = db_open(url, &mine, NULL);
    db_close(mine);
    return NULL;
}

static void servers_may_start_at_once(void **state)
{
    (void)state;
    db_close(db);
    new_url();
    struct server servers[6] = {0};
    for (int i = 0; i < 6; i++)
        assert_int_equal(pthread_create(&servers[i].thread, NULL, open_too, &servers[i]), 0);
    for (int i = 0; i < 6; i++)
        pthread_join(servers[i].thread, NULL);
    for (int i = 0; i < 6; i++)
        assert_int_equal(servers[i].error, FW_OK);
    FINE(db_open(url, &db, &why));
    assert_int_equal(number_now("SELECT COUNT(*) FROM schema_version"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_table_of_the_schema_is_there, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_schema_is_brought_up_or_left_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_old_database_is_upgraded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(images_and_files_get_owners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(servers_may_start_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
