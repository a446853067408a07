/*
 * The debug files of the symbol store as they came, for tools that want the files themselves. Each
 * call takes a connection: hold none. Thread-safe.
 */
#ifndef COLLECTOR_SYMBOL_FILES_H
#define COLLECTOR_SYMBOL_FILES_H

#include "collector/collector.h"
#include "collector/symbol_layout.h"

struct symbol_blob {               /* a file of the store: where its bytes are */
    int64_t row;                   /* of symbol_file */
    uint8_t sha256[32];            /* of its bytes */
    char blob[256];                /* its key */
    char name[256];                /* as it was called when it came */
    uint64_t uploaded_ms, used_ms; /* wall clock */
};

/* The best file of this kind that `project` may use (symbols_of); FW_ERR_NOT_FOUND. An executable
 * that was not stripped is debug information too. `wanted` is not SYMBOL_BREAKPAD. */
fw_error symbol_files_find(struct collector *c, int64_t project, const uint8_t *id, size_t id_size,
                           enum symbol_wanted wanted, struct symbol_blob *file,
                           struct fw_failure *why);

/* The file, open for reading; the descriptor is the caller's. Its bytes are compared with their
 * SHA-256, at most once an hour as long as the file looks the same. FW_ERR_CORRUPT: it is damaged,
 * or not there; that is noted (damage.h). */
fw_error symbol_files_open(struct collector *c, const struct symbol_blob *file, int *fd,
                           struct fw_failure *why);
/* SHA-256 of a whole file. FW_ERR_SYSTEM. */
fw_error symbol_files_hash(int fd, uint8_t sha256[32], uint64_t *size, struct fw_failure *why);

/* Notes that the image's files are used, once a day: retention goes by it. */
void symbol_files_used(struct collector *c, int64_t project, const uint8_t *id, size_t id_size,
                       const struct symbol_blob *file);

#endif
