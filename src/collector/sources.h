/*
 * Text of source files, for those who may fetch debug files.
 *
 * A file is given out only when the debug information (the symbol map) of that image names it, and
 * only from sources that were uploaded for that image (source_store.h); a path never becomes the
 * name of a file of this machine.
 *
 * Thread-safe. No caller holds a connection (symbols.h).
 */
#ifndef COLLECTOR_SOURCES_H
#define COLLECTOR_SOURCES_H

#include "collector/symbols.h"

struct source_text {
    uint8_t *bytes; /* malloc'ed, a NUL behind them */
    size_t size;
    uint64_t uploaded_ms;
};

/* For `project` (symbols_of). FW_ERR_NOT_FOUND: no map, the map does not name it, or nobody sent
 * it. FW_ERR_CORRUPT: what was sent is damaged (damage.h). */
fw_error sources_find(struct collector *c, int64_t project, const uint8_t *id, size_t id_size,
                      const char *path, struct source_text *text, struct fw_failure *why);

/* Whether two spellings are of one path. */
bool sources_same_path(const char *a, const char *b);

#endif
