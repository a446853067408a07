/*
 * One file with all that a server on SQLite and files keeps, made while it runs, and the way back.
 *
 * The file is a tar (pax):
 *
 *     db/main.sqlite      the database as it was at one moment
 *     store/KEY           every blob that this database names
 *     manifest.json       last: {"format": 1, "schema", "program", "created_ms", "files":
 *                         [[path, size, sha256], ...]} in the order of the file
 *
 * Invariant: nothing is missing. From before the copy of the database until the last blob is
 * copied nobody removes a blob (blobs_hold); a blob is there before a row names it. A file without
 * its manifest is refused, so one that was cut is never taken for a whole one.
 */
#ifndef COLLECTOR_BACKUP_H
#define COLLECTOR_BACKUP_H

#include "collector/collector.h"

#include <jansson.h>
#include <openssl/evp.h>

/* The process's exit status; what failed is said on standard error. */
int backup_make(const struct collector_options *options, const char *file);
/* Into the data folder, which must be empty or not there. */
int backup_restore(const struct collector_options *options, const char *file);

/* --- between backup.c and restore.c --- */

enum { BACKUP_FORMAT = 1, BACKUP_HEX = 65, BACKUP_PATH = 600 };
#define BACKUP_DATABASE "db/main.sqlite"
#define BACKUP_STORE    "store/"
#define BACKUP_MANIFEST "manifest.json"

struct backup_keys { /* of blobs, sorted, each once */
    char **list;
    size_t count, capacity;
};

struct db;
/* Every blob that the database names. */
fw_error backup_named(struct db *db, struct backup_keys *keys, struct fw_failure *why);
/* Adds a file to the manifest's list; `sha256` is of all its bytes, and ended by this. */
fw_error backup_list_file(json_t *files, const char *path, uint64_t size, EVP_MD_CTX *sha256,
                          struct fw_failure *why);
void backup_keys_free(struct backup_keys *keys);

#endif
