/* One statement for many rows: db_many.h. */
#include "collector/db_many.h"
#include "base/failure.h"

#include <stdarg.h>
#include <stdio.h>

enum { TEXT = 6144 };

struct text {
    char data[TEXT];
    size_t size;
    bool cut;
};

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(t->data + t->size, TEXT - t->size, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= TEXT - t->size)
        t->cut = true;
    else
        t->size += (size_t)length;
}

static void put_rows(struct text *t, const struct db_many *m, size_t rows)
{
    for (size_t i = 0; i < rows * m->columns; i++)
        put(t, "%s$%zu", i % m->columns ? "," : i ? "),(" : "(", m->before_count + i + 1);
    put(t, ")");
}

/* The tail with the parameters of each row's first value for DB_MANY_FIRST. */
static void put_tail(struct text *t, const struct db_many *m, size_t rows)
{
    const char *at = strstr(m->tail, DB_MANY_FIRST);
    if (!at) {
        put(t, "%s", m->tail);
        return;
    }
    put(t, "%.*s", (int)(at - m->tail), m->tail);
    for (size_t i = 0; i < rows; i++)
        put(t, "%s$%zu", i ? "," : "", m->before_count + i * m->columns + 1);
    put(t, "%s", at + strlen(DB_MANY_FIRST));
}

static fw_error write_rows(struct db_many *m, size_t rows, const struct db_value *of_rows)
{
    struct text t = {.size = 0};
    struct db_value values[DB_MANY_BEFORE + DB_MANY_VALUES];
    size_t count = m->before_count + rows * m->columns;
    put(&t, "%s", m->head);
    put_rows(&t, m, rows);
    put_tail(&t, m, rows);
    if (t.cut || m->before_count > DB_MANY_BEFORE)
        return failure_say(m->why, FW_ERR_ARGUMENT, 0, "database: a statement is too long");
    for (size_t i = 0; i < m->before_count; i++)
        values[i] = m->before[i];
    memcpy(values + m->before_count, of_rows, rows * m->columns * sizeof *of_rows);
    if (!m->returned)
        return db_run(m->conn, m->why, t.data, values, count);
    struct db_rows *got;
    fw_error e = db_query(m->conn, &got, m->why, t.data, values, count);
    if (e)
        return e;
    while (db_next(got))
        m->returned(m->context, got);
    return db_end(got, m->why);
}

/* How many rows one statement takes at most: a power of two. */
static size_t most(size_t columns)
{
    size_t rows = 1;
    while (rows * 2 * columns <= DB_MANY_VALUES)
        rows *= 2;
    return rows;
}

fw_error db_many_add(struct db_many *m, const struct db_value *row)
{
    memcpy(m->values + m->count, row, m->columns * sizeof *row);
    m->count += m->columns;
    return m->count == most(m->columns) * m->columns ? db_many_end(m) : FW_OK;
}

fw_error db_many_end(struct db_many *m)
{
    fw_error e = FW_OK;
    size_t at = 0;
    for (size_t rows = most(m->columns); rows && !e; rows /= 2) {
        if (m->count - at < rows * m->columns)
            continue;
        e = write_rows(m, rows, m->values + at);
        at += rows * m->columns;
    }
    m->count = 0;
    return e;
}
