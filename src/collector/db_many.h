/*
 * One statement for many rows: INSERT ... VALUES (...), (...), or UPDATE ... FROM (VALUES ...).
 *
 * A database needs about as long to begin and end a statement as for the row in it, PostgreSQL
 * several times as long. The text is `head`, the rows in parentheses, `tail`; rows are gathered and
 * written in powers of two, so that few texts have to be prepared. No value may be NULL: PostgreSQL
 * has to know its type. Queries work as well: SELECT ... FROM (VALUES (...), (...)) AS v, whose
 * columns are column1, column2 in both databases.
 *
 * Where column1 is the id of a row, the tail says so twice: "WHERE t.id = v.column1 AND t.id IN
 * ({first})". {first} stands for the first values of all rows. From the first condition alone
 * PostgreSQL may read all of t while it believes that t is small.
 */
#ifndef COLLECTOR_DB_MANY_H
#define COLLECTOR_DB_MANY_H

#include "collector/db.h"

enum { DB_MANY_VALUES = 192, DB_MANY_BEFORE = 4 };

#define DB_MANY_FIRST "{first}"

struct db_many {
    struct db_conn *conn;
    struct fw_failure *why;
    const char *head, *tail;
    size_t columns;
    const struct db_value *before; /* $1 and so on, in front of the rows' values; read each time */
    size_t before_count;           /* DB_MANY_BEFORE at most */
    /* Rows that the statement returns; NULL: it returns none. It must not use the connection. */
    void (*returned)(void *context, const struct db_rows *rows);
    void *context;
    /* Below: zero at first. */
    struct db_value values[DB_MANY_VALUES];
    size_t count;
};

#define DB_ROW(...) ((const struct db_value[]){__VA_ARGS__})
/* `row`: of `columns` values; texts and bytes stay valid until db_many_end. */
fw_error db_many_add(struct db_many *many, const struct db_value *row);
/* Writes what is left. */
fw_error db_many_end(struct db_many *many);

#endif
