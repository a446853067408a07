/*
 * What the handlers of the JSON API share: text that becomes JSON, and a view: one request that
 * reads one project.
 *
 * Every text of an answer may come from a hostile report: api_text repairs what is not UTF-8,
 * escapes what JSON wants escaped, and cuts what is longer than API_TEXT_MAX.
 *
 *     struct api_view v;
 *     if (!api_begin(&v, r, API_FILTERS, "sort", NULL))
 *         return;                                   replied already
 *     struct db_rows *rows = api_query(&v, SQL, DB_VALUES(...));
 *     while (api_next(&v, rows))
 *         ...
 *     api_done(&v, rows);
 *     api_end(&v);                                  replies v.out, or what failed
 *
 * The first failure sticks (v.error): queries after it give no rows, and api_end says it.
 */
#ifndef COLLECTOR_API_JSON_H
#define COLLECTOR_API_JSON_H

#include "collector/collector.h"
#include "collector/db.h"
#include "collector/http.h"
#include "report/out.h"

enum {
    API_TEXT_MAX = 16384,
    API_LIMIT = 50,
    API_LIMIT_MAX = 500,
    API_DAYS = 14,
    API_DAYS_MAX = 400
};

/* --- JSON as text --- commas are put where they belong; `key` is NULL inside an array. */

void api_open(struct report_bytes *out, const char *key, char bracket);     /* '{' or '[' */
void api_shut(struct report_bytes *out, char bracket);                      /* '}' or ']' */
void api_text(struct report_bytes *out, const char *key, const char *text); /* NULL: null */
void api_int(struct report_bytes *out, const char *key, int64_t value);
void api_real(struct report_bytes *out, const char *key, double value);
void api_bool(struct report_bytes *out, const char *key, bool value);
void api_null(struct report_bytes *out, const char *key);
/* The text as lower-case digits. */
void api_hex(struct report_bytes *out, const char *key, struct span bytes);
/* JSON that we have made and stored. What is none becomes null. */
void api_raw(struct report_bytes *out, const char *key, const char *json);
/* "2026-11-22" of days since 1970. */
void api_day(struct report_bytes *out, const char *key, int64_t day);
/* "2.1 (7)", or "2.1" where there is no build; NULL without a version. */
void api_version(struct report_bytes *out, const char *key, const char *version, const char *build);
/* The same as a key; the value follows with key NULL. */
void api_version_key(struct report_bytes *out, const char *version, const char *build);

/* --- a view --- */

struct api_filter {      /* which reports are looked at */
    int64_t days;        /* so many, today the last */
    int64_t first_day;   /* the first of them, in days since 1970 */
    const char *version; /* "2.1" or "2.1 (7)"; "": all */
    int64_t os, device;  /* rows of `term`; 0: all */
};

struct api_view {
    struct http_request *r;
    struct db_conn *conn;
    int64_t project;
    struct api_filter filter;
    struct report_bytes out;
    fw_error error; /* the first one; FW_OK: none */
    bool damaged;   /* that is because of something stored that is damaged: `why` says what */
    struct fw_failure why;
};

enum api_flags {
    API_FILTERS = 1,  /* the common filters, days, version, os, device, are taken from the query */
    API_PAGES = 2,    /* "limit" and "after" may stand in the query */
    API_VERSIONS = 4, /* days and version alone */
};
/* Which names the query may have beside those: up to NULL. False: replied (400, 404, 503). */
bool api_begin(struct api_view *v, struct http_request *r, unsigned flags, ...)
    __attribute__((sentinel));
/* Of a project that is known already: for handlers that answer with what they have changed. */
bool api_begin_in(struct api_view *v, struct http_request *r, int64_t project);
void api_end(struct api_view *v);
/* Instead of api_end: nothing of v.out is sent. */
void api_refuse(struct api_view *v, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* The same with bytes of another kind than JSON: v.out is sent. */
void api_end_as(struct api_view *v, const char *type);
void api_end_status(struct api_view *v, int status, const char *type);

/* Around calls that take a connection themselves: a thread has one at a time. */
void api_pause(struct api_view *v);
void api_resume(struct api_view *v);

struct db_rows *api_query(struct api_view *v, const char *sql, const struct db_value *values,
                          size_t count);
bool api_next(struct api_view *v, struct db_rows *rows);
void api_done(struct api_view *v, struct db_rows *rows);
/* A number that one row gives; 0 without a row. */
int64_t api_number(struct api_view *v, const char *sql, const struct db_value *values,
                   size_t count);
void api_fail(struct api_view *v, fw_error error, const char *message);
void api_no_memory(struct api_view *v);

/* Whether the project has that version, "2.1" or "2.1 (7)". False: 400 was replied, with those it
 * has. */
bool api_version_known(struct api_view *v, const char *version);
/* Which of `words` the query names: its number; `otherwise` when it names none. False: 400 was
 * replied, with the words there are. */
bool api_word(struct api_view *v, const char *name, const char *const *words, size_t count,
              int otherwise, int *value);
/* {id} of the path as a number. False: 404 was replied. */
bool api_id(struct api_view *v, const char *part, const char *noun, int64_t *id);

/* A place in a list that is sorted by (rank, id), both falling: "RANK.ID". */
struct api_cursor {
    int64_t limit, rank, id; /* before the first: the largest numbers */
};
bool api_cursor_read(struct api_view *v, struct api_cursor *cursor);
/* The "next" of a list; `more`: there is something after it. */
void api_cursor_write(struct report_bytes *out, bool more, int64_t rank, int64_t id);

/* Whether a row of alias `a` is of the filter's version; $1 project, $3 version. */
#define API_VERSIONS_NAMED                                                                         \
    "(SELECT id FROM version WHERE project = $1"                                                   \
    " AND (version = $3 OR version || ' (' || build || ')' = $3))"
#define API_OF_VERSION(a) "($3 = '' OR " a ".version IN " API_VERSIONS_NAMED ")"
/* Sums do not become PostgreSQL's NUMERIC. */
#define API_SUM(what) "CAST(SUM(" what ") AS BIGINT)"
/* Which reports project_day and term_day count: hangs that were not vetoed, and what other tools
 * sent. */
#define API_COUNTED "((r.kind = 1 AND r.ending <> 4) OR r.kind >= 100)"
/* How a hang ended that killed its process: FWR_KILLED. */
#define API_KILLED "CASE WHEN ending = 2 THEN 1 ELSE 0 END"

#endif
