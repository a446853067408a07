/* lookup.*, our side: MAP ADDRESSES measures lookups of link-time addresses with all inline frames
 * in a symbol map. */
#include "lookup.h"
#include "symmap/symmap.h"

enum { CAPACITY = 256 };

static size_t lookup(void *context, uint64_t address)
{
    const struct symmap *map = context;
    struct symmap_frame frames[CAPACITY];
    size_t count;
    if (symmap_lookup(map, address - symmap_identity(map)->base, frames, CAPACITY, &count) != FW_OK)
        return 0;
    return count;
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    struct symmap *map;
    struct fw_failure why;
    if (symmap_open(argv[1], &map, &why) != FW_OK) {
        fprintf(stderr, "%s\n", why.message);
        return 1;
    }
    lookup_measure(lookup_read(argv[2]), lookup, map);
    symmap_close(map);
    return 0;
}
