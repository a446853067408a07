/*
 * answers MAP: reads link-time addresses from standard input, one hexadecimal number a line, and
 * prints what the symbol map knows of each: a line with the address, then a line for each frame,
 * innermost first, `function TAB path TAB line TAB flags`, unknown parts empty.
 */
#include "symmap/symmap.h"

#include <inttypes.h>
#include <stdio.h>

enum { CAPACITY = 1024 };

static void print_frame(const struct symmap_frame *frame)
{
    const char *directory = frame->file != NULL && frame->directory != NULL ? frame->directory : "";
    const char *file = frame->file != NULL ? frame->file : "";
    printf("%s\t%s%s%s\t%" PRIu32 "\t%" PRIu32 "\n", frame->name != NULL ? frame->name : "",
           directory, *directory ? "/" : "", file, frame->line, frame->flags);
}

int main(int argc, char **argv)
{
    struct symmap *map;
    struct fw_failure why;
    if (argc != 2)
        return 2;
    if (symmap_open(argv[1], &map, &why) != FW_OK) {
        fprintf(stderr, "%s: %s\n", argv[1], why.message);
        return 1;
    }
    static struct symmap_frame frames[CAPACITY];
    uint64_t address;
    while (scanf("%" SCNx64, &address) == 1) {
        size_t count = 0;
        if (symmap_lookup(map, address - symmap_identity(map)->base, frames, CAPACITY, &count) !=
            FW_OK)
            count = 0;
        printf("0x%" PRIx64 "\n", address);
        for (size_t i = 0; i < count && i < CAPACITY; i++)
            print_frame(&frames[i]);
    }
    symmap_close(map);
    return 0;
}
