/*
 * What db.c needs of a kind of database: its driver's functions, and the head that every connection
 * of every driver begins with. Only db*.c include this; everybody else db.h.
 */
#ifndef COLLECTOR_DB_DRIVER_H
#define COLLECTOR_DB_DRIVER_H

#include "collector/db.h"
#include "collector/schema.h"

#include <pthread.h>

enum {
    DB_VALUES_MAX = 200,        /* of one statement */
    DB_TAKE_MS = 15000,         /* longest wait for a connection */
    DB_BUSY_MS = 10000,         /* longest wait for another transaction's lock */
    DB_STATEMENT_MS = 60000,    /* longest time of one statement */
    DB_STATEMENTS_CACHED = 400, /* prepared ones that a connection keeps */
};

struct db_rows {
    struct db_conn *conn;
};

struct db_conn {
    struct db *db;
    enum db_use use;
    bool in_transaction;
    struct fw_failure failed; /* what failed in the transaction; nothing runs until its end */
    bool reading;             /* a query's rows are not at their end */
    bool broken;              /* is closed when it is given back */
    struct db_rows rows;      /* of the query that is read */
    struct db_conn *next;     /* among the idle ones of its pool */
};

struct db_driver {
    /* What stands for {ID}, {BLOB}, {CLUSTERED}, INTEGER and TEXT of the schema. */
    const char *id, *blob, *clustered, *integer, *text;
    unsigned readers, writers; /* connections at most */
    const char *gates[2];      /* enum db_gate: the statement that passes it; NULL: nothing to do */

    fw_error (*open)(struct db *db, enum db_use use, struct db_conn **conn, struct fw_failure *why);
    void (*close)(struct db_conn *conn);
    /* What goes on in a thread while the database is open; both may be NULL. */
    fw_error (*start)(struct db *db, struct fw_failure *why);
    void (*stop)(struct db *db);
    /* Asked of one that was idle. */
    bool (*alive)(struct db_conn *conn);
    /* soft: db_begin_soft. */
    fw_error (*begin)(struct db_conn *conn, bool soft, struct fw_failure *why);
    fw_error (*use_indexes)(struct db_conn *conn, struct fw_failure *why); /* NULL: it does */
    fw_error (*commit)(struct db_conn *conn, struct fw_failure *why);
    void (*rollback)(struct db_conn *conn);
    /* In a transaction: until its end no other server changes the schema, and statements may take
     * as long as they want. */
    fw_error (*lock_schema)(struct db_conn *conn, struct fw_failure *why);
    fw_error (*run)(struct db_conn *conn, struct fw_failure *why, uint64_t *rows, const char *sql,
                    const struct db_value *values, size_t count); /* rows may be NULL */
    fw_error (*query)(struct db_conn *conn, struct fw_failure *why, const char *sql,
                      const struct db_value *values, size_t count);
    bool (*next)(struct db_conn *conn);
    fw_error (*end)(struct db_conn *conn, struct fw_failure *why);
    bool (*is_null)(const struct db_conn *conn, int column);
    int64_t (*get_int)(const struct db_conn *conn, int column);
    struct span (*get_bytes)(const struct db_conn *conn, int column, bool text);
    fw_error (*erase)(struct db *db, struct fw_failure *why); /* NULL: nothing to do */
    fw_error (*backup)(struct db *db, const char *path, struct fw_failure *why);
};
extern const struct db_driver db_sqlite, db_postgres;

struct db_waiter;
struct db_pool { /* connections of one use; its mutex protects all of it */
    pthread_mutex_t mutex;
    struct db_conn *idle;
    unsigned open, limit;                  /* those taken are counted in `open` */
    struct db_waiter *waiters, **last_one; /* who came first is served first */
};

struct db_checkpoints;
struct db {
    const struct db_driver *driver;
    char *where;                        /* SQLite: the path; PostgreSQL: the URL */
    struct db_pool pools[2];            /* by enum db_use: readers never keep writers waiting */
    struct db_checkpoints *checkpoints; /* SQLite */
};

/* Brings the schema to `count` migrations, in one transaction; two servers may do so at once. */
fw_error db_migrate(struct db *db, const struct schema_migration *migrations, size_t count,
                    struct fw_failure *why);
/* The schema's number; FW_ERR_UNSUPPORTED above `count`. */
fw_error db_version(struct db *db, size_t count, uint64_t *version, struct fw_failure *why);

#endif
