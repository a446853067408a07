/*
 * A new database for each test: SQLite in a temporary folder, or one of the PostgreSQL server that
 * FW_POSTGRES_URL names (postgres.py starts one and runs the test).
 */
#ifndef TESTS_COLLECTOR_DB_SUPPORT_H
#define TESTS_COLLECTOR_DB_SUPPORT_H

#include "collector/db.h"
#include "collector/db_driver.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

extern struct fw_failure why;
extern char folder[64], url[512]; /* of this test */
extern const char *postgres;      /* the server's URL; NULL: SQLite */
extern struct db *db;

/* Runs and says what failed. */
#define FINE(call) fine((call), #call, __FILE__, __LINE__)
void fine(fw_error error, const char *what, const char *file, int line);

void admin(const char *sql); /* on the PostgreSQL server */
void new_url(void);          /* of another new database */
int set_up(void **state);    /* `db` is open */
int tear_down(void **state);

struct db_conn *taken(enum db_use use);
/* The first value of the first row. */
int64_t number(struct db_conn *conn, const char *sql);
int64_t number_now(const char *sql); /* on a connection of its own */

extern const char insert_setting[], count_settings[];

#endif
