/* GSYM files of any bytes, as a source of symbols; what was read is written again in both formats.
 */
#include "symmap/export.h"
#include "symmap/import.h"

#include <stdlib.h>

static void use(const uint8_t *bytes, size_t size)
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *map;
    size_t map_size;
    struct fw_failure why;
    struct span input = {data, size};
    if (import_is_gsym(input) && import_map(input, "input", &map, &map_size, &why) == FW_OK) {
        use(map, map_size);
        free(map);
    }
    return 0;
}
