/*
 * Stored things that are not what they were any more (a disk that forgets, a file that somebody
 * changed): found when they are read, by the job "scrub", or by `serve --check`. They are answered
 * with 500 and what is wrong, and listed, until they are right again or gone. Everything else is
 * served as before.
 *
 * A body is compared with the checksum that its row has, a debug file with its SHA-256, a symbol
 * map with its own checksums. Bodies of before 2026-11-23 have none: there what can be unpacked and
 * read to its end counts as whole, and gets its checksum by the job.
 */
#ifndef COLLECTOR_DAMAGE_H
#define COLLECTOR_DAMAGE_H

#include "base/reader.h"
#include "collector/collector.h"
#include "collector/db.h"

enum damage_kind {                  /* and of which table `row` is */
                   DAMAGE_BODY = 1, /* report */
                   DAMAGE_FILE,     /* symbol_file: the file; sources, too */
                   DAMAGE_MAP,      /* symbol_file: its map */
};

/* Checksum of a body as it is stored. */
int64_t damage_sum(struct span packed);
/* Whether such an error of reading what we have stored ourselves means that it is damaged. */
bool damage_is(fw_error error);
/* Remembers it for damage_write_down. Takes no connection. */
void damage_found(enum damage_kind kind, int64_t row, const char *what);
/* Whether this process found it so within a minute. */
bool damage_found_lately(enum damage_kind kind, int64_t row);
/* What was found, into the database; called every second. Hold no connection. */
void damage_write_down(struct collector *c);
/* Writes down one at once, in the caller's transaction, and says so in the log the first time. */
fw_error damage_note(struct db_conn *conn, enum damage_kind kind, int64_t row, const char *what,
                     struct fw_failure *why);
/* In the caller's transaction: it is whole. */
fw_error damage_over(struct db_conn *conn, enum damage_kind kind, int64_t row,
                     struct fw_failure *why);

/* Damaged things that are still named: kind, row, message, found_ms, name, project ($1: the only
 * one, and shared ones; 0: all). A part of a FROM. */
#define DAMAGE_LIST                                                                                \
    "(SELECT d.kind, d.item, d.message, d.found_ms, '' AS name, r.report_id AS id, r.project"      \
    " FROM damaged d JOIN report r ON r.id = d.item WHERE d.kind = 1"                              \
    " AND (CAST($1 AS BIGINT) = 0 OR r.project = $1)"                                              \
    " UNION ALL SELECT d.kind, d.item, d.message, d.found_ms, f.name, f.debug_id, f.project"       \
    " FROM damaged d JOIN symbol_file f ON f.id = d.item WHERE d.kind > 1"                         \
    " AND (CAST($1 AS BIGINT) = 0 OR f.project IN (0, $1))) AS listed"

#endif
