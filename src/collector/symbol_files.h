/*
 * The debug files of the symbol store as they came, for tools that want the files themselves. Each
 * call takes a connection: hold none. Thread-safe.
 */
#ifndef COLLECTOR_SYMBOL_FILES_H
#define COLLECTOR_SYMBOL_FILES_H

#include "collector/collector.h"
#include "collector/symbol_layout.h"

struct symbol_blob {               /* a file of the store: where its bytes are */
    char blob[256];                /* its key */
    char name[256];                /* as it was called when it came */
    uint64_t uploaded_ms, used_ms; /* wall clock */
};

/* The best file of this kind; FW_ERR_NOT_FOUND. An executable that was not stripped is debug
 * information too. `wanted` is not SYMBOL_BREAKPAD. */
fw_error symbol_files_find(struct collector *c, const uint8_t *id, size_t id_size,
                           enum symbol_wanted wanted, struct symbol_blob *file,
                           struct fw_failure *why);

/* Notes that the image's files are used, once a day: retention goes by it. */
void symbol_files_used(struct collector *c, const uint8_t *id, size_t id_size,
                       const struct symbol_blob *file);

#endif
