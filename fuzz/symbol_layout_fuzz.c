/* Paths of symbol servers: whatever is taken as one names an id within its bounds. */
#include "collector/symbol_layout.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *path = malloc(size + 1);
    struct symbol_wish wish;
    if (!path)
        return 0;
    if (size)
        memcpy(path, data, size);
    path[size] = 0;
    if (symbol_layout_read(path, &wish) &&
        (wish.id_size < 2 || wish.id_size > sizeof wish.id || wish.wanted < SYMBOL_EXECUTABLE ||
         wish.wanted > SYMBOL_BREAKPAD || (wish.breakpad && wish.id_size != 16)))
        abort();
    free(path);
    return 0;
}
