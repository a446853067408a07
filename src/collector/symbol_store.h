/*
 * The rows of symbol_file: several files may have one identity (an executable and its debug file,
 * or even different contents); the map of the best is in use.
 *
 * Each file is of one project, or shared (project 0); of each of them one map of an identity is in
 * use.
 *
 * Best: with debug information, then a map as it came, then with a symbol table, then the newest.
 */
#ifndef COLLECTOR_SYMBOL_STORE_H
#define COLLECTOR_SYMBOL_STORE_H

#include "collector/db.h"

struct symbol_file {
    int64_t project; /* 0: shared */
    uint8_t id[64];
    size_t id_size;
    char arch[16];
    int kind; /* enum debug_file_kind */
    char name[128];
    uint8_t sha256[32]; /* of the file */
    uint64_t size, map_size;
    char blob[320], map_blob[320]; /* "": none */
    char features[80];             /* words with commas between */
    char message[256];
};

/* A row for it; of contents that were there the row is made anew, and `old` has the blobs that
 * nobody names any longer ("": none). *other: files of this identity and kind with other contents
 * are there. In the caller's transaction, as all of these. */
fw_error symbol_store_add(struct db_conn *conn, const struct symbol_file *file, const char *by,
                          char old[2][320], bool *other, struct fw_failure *why);
/* After rows came or went: which map is in use, which images have one, and jobs "names" for those.
 */
fw_error symbol_store_choose(struct db_conn *conn, int64_t project, const uint8_t *id,
                             size_t id_size, struct fw_failure *why);
/* Takes row `row` away: *file is what it was; its blobs are empty where others have them too.
 * `project`: only a file of this project; SYMBOLS_ALL: any. FW_ERR_NOT_FOUND. */
fw_error symbol_store_remove(struct db_conn *conn, int64_t project, int64_t row,
                             struct symbol_file *file, struct fw_failure *why);
/* Row `row` becomes a file of `project` (0: shared). *file: its identity, and whose it was.
 * FW_ERR_NOT_FOUND; FW_ERR_ARGUMENT: the same contents are there already. */
fw_error symbol_store_give(struct db_conn *conn, int64_t row, int64_t project,
                           struct symbol_file *file, struct fw_failure *why);

/* A row of sources whose image has no other file here any longer, to be removed as well; 0: none.
 */
fw_error symbol_store_orphan(struct db_conn *conn, int64_t project, const uint8_t *id,
                             size_t id_size, int64_t *row, struct fw_failure *why);

/* As digits, NUL behind; bytes that have no room in `hex` are left out. */
void symbol_id_hex(const uint8_t *id, size_t size, char *hex, size_t hex_size);

#endif
