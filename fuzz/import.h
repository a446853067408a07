/* What is done with symbols of another format, whatever its bytes are: read, opened as a map, and
 * written again in both formats. */
#ifndef FUZZ_IMPORT_H
#define FUZZ_IMPORT_H

#include "symmap/export.h"
#include "symmap/import.h"

#include <stdlib.h>

static inline void import_use_map(const uint8_t *bytes, size_t size)
{
    struct symmap *map;
    if (symmap_open_bytes((struct span){bytes, size}, false, "made", &map, NULL) != FW_OK)
        abort(); /* what we write we read */
    uint8_t *written;
    size_t written_size;
    if (export_gsym(map, &written, &written_size, NULL) == FW_OK)
        free(written);
    if (export_breakpad(map, &written, &written_size, NULL) == FW_OK)
        free(written);
    symmap_close(map);
}

static inline void import_use(struct span input)
{
    uint8_t *map;
    size_t map_size;
    struct fw_failure why;
    if (import_map(input, "input", &map, &map_size, &why) == FW_OK) {
        import_use_map(map, map_size);
        free(map);
    }
}

#endif
