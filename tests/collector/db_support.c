#include "collector/db_support.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

struct fw_failure why;
char folder[64], url[512];
const char *postgres;
struct db *db;

void fine(fw_error error, const char *what, const char *file, int line)
{
    if (error) {
        print_error("%s:\n  %d: %s\n", what, (int)error, why.message);
        _fail(file, line);
    }
}

void admin(const char *sql)
{
    PGconn *pg = PQconnectdb(postgres);
    PGresult *result = PQexec(pg, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(pg));
    PQclear(result);
    PQfinish(pg);
}

void new_url(void)
{
    static unsigned count;
    count++;
    if (postgres) {
        char sql[64];
        snprintf(sql, sizeof sql, "CREATE DATABASE t%u", count);
        admin(sql);
        const char *query = strchr(postgres, '?');
        snprintf(url, sizeof url, "postgresql:///t%u%s", count, query ? query : "");
    } else {
        snprintf(url, sizeof url, "sqlite:%s/%u.sqlite", folder, count);
    }
}

int set_up(void **state)
{
    (void)state;
    postgres = getenv("FW_POSTGRES_URL");
    strcpy(folder, "/tmp/fw-db-XXXXXX");
    assert_non_null(mkdtemp(folder));
    new_url();
    FINE(db_open(url, &db, &why));
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    db_close(db);
    db = NULL;
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

struct db_conn *taken(enum db_use use)
{
    struct db_conn *conn;
    FINE(db_take(db, use, &conn, &why));
    return conn;
}

/* The first value of the first row. */
int64_t number(struct db_conn *conn, const char *sql)
{
    struct db_rows *rows;
    FINE(db_query(conn, &rows, &why, sql, DB_NONE));
    assert_true(db_next(rows));
    int64_t value = db_get_int(rows, 0);
    FINE(db_end(rows, &why));
    return value;
}

int64_t number_now(const char *sql)
{
    struct db_conn *conn = taken(DB_READ);
    int64_t value = number(conn, sql);
    db_give(db, conn);
    return value;
}

const char insert_setting[] = "INSERT INTO setting (name, value) VALUES ($1, $2)";
const char count_settings[] = "SELECT COUNT(*) FROM setting";
