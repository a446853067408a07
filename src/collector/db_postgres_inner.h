/*
 * What the files db_postgres*.c share; nobody else includes it.
 *
 *     db_postgres.c          the driver: statements, rows, transactions
 *     db_postgres_pipe.c     statements sent and their answers read, in libpq's pipeline mode
 *     db_postgres_open.c     connections
 *
 * Invariant: between calls everything that was sent is in `pending`, answers in the same order; and
 * outside of transactions and queries `pending` is empty.
 */
#ifndef COLLECTOR_DB_POSTGRES_INNER_H
#define COLLECTOR_DB_POSTGRES_INNER_H

#include "collector/db_cache.h"
#include "collector/db_driver.h"

#include <libpq-fe.h>

enum {
    DB_PATIENCE_MS = DB_STATEMENT_MS + 15000, /* without a byte of an answer that is due */
    PENDING_MAX = 256,                        /* statements sent ahead */
    PENDING_BYTES = 4 << 20,                  /* and bytes of their values */
};

enum { BYTEA = 17, INT8 = 20, TEXT = 25 }; /* pg_type.oid */

struct postgres_statement {
    char name[24];  /* in the server */
    char start[72]; /* of its SQL, for messages */
    size_t count;   /* of values */
    Oid types[];    /* of them; 0: not known yet, it was NULL */
};

struct postgres_answer { /* that is due */
    struct postgres_statement *statement;
    bool prepares; /* it answers the preparation, not the execution */
};

struct postgres_conn {
    struct db_conn base;
    PGconn *pg;
    struct db_cache cache; /* of struct postgres_statement */
    uint64_t names;        /* counts statements, for their names */
    struct postgres_answer pending[PENDING_MAX + 4];
    unsigned sent;            /* entries of pending */
    size_t sent_bytes;        /* of values since the last wait */
    PGresult *row;            /* the row that is read; its first value is got before db_next asks */
    bool row_ready;           /* db_next has not given `row` yet */
    bool rows_done;           /* no rows follow */
    bool unlimited;           /* while the schema changes */
    struct fw_failure failed; /* while rows were read; db_end tells it */
};

static inline struct postgres_conn *db_postgres_conn(const struct db_conn *conn)
{
    return (struct postgres_conn *)(uintptr_t)conn;
}

/* ---- db_postgres_pipe.c: each that fails with FW_ERR_VANISHED has marked the connection broken --
 */

/* What libpq's last message says: the connection is gone. */
fw_error db_postgres_lost(struct postgres_conn *c, struct fw_failure *why);
/* What the server answered in place of a result. `statement`: NULL is fine. */
fw_error db_postgres_say(struct postgres_conn *c, const PGresult *result,
                         const struct postgres_statement *statement, struct fw_failure *why);
/* Bytes of the first line of a message; NULL is fine. */
int db_postgres_first_line(const char *message);

/* Queues a statement, prepared when this connection has not seen it with such values. */
fw_error db_postgres_send(struct postgres_conn *c, const char *sql, const struct db_value *values,
                          size_t count, struct fw_failure *why);
/* Waits for all that was sent. `rows` (may be NULL): that the last statement changed. */
fw_error db_postgres_settle(struct postgres_conn *c, uint64_t *rows, struct fw_failure *why);

/* For who reads rows one by one: a synchronization point, the answers before it, itself. */
fw_error db_postgres_send_sync(struct postgres_conn *c, struct fw_failure *why);
/* The next result, NULL at the end of one statement's. */
fw_error db_postgres_get(struct postgres_conn *c, PGresult **result, struct fw_failure *why);
/* Reads all that answers one entry. The first failure of all stays in `failed`. */
fw_error db_postgres_read_answer(struct postgres_conn *c, struct postgres_answer *answer,
                                 uint64_t *rows, struct fw_failure *failed);
/* Reads the answer of the synchronization point itself. */
fw_error db_postgres_read_sync(struct postgres_conn *c, struct fw_failure *failed);

/* ---- db_postgres_open.c: for the table of the driver ---- */

fw_error db_postgres_open(struct db *db, enum db_use use, struct db_conn **conn,
                          struct fw_failure *why);
void db_postgres_close(struct db_conn *conn);
bool db_postgres_alive(struct db_conn *conn);

#endif
