/* collector_make SEED NUMBER: the id of a made-up report, a line feed, and its bytes. */
#include "collector/reports.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
    struct reports_shape shape = {.now_ms = (uint64_t)time(NULL) * 1000};
    uint8_t id[16];
    size_t size = 0;
    struct reports_maker *maker =
        argc == 3 ? reports_maker_new(strtoull(argv[1], NULL, 10), &shape) : NULL;
    if (!maker)
        return 1;
    const uint8_t *bytes = reports_make(maker, strtoull(argv[2], NULL, 10), id, &size);
    for (int i = 0; i < 16; i++)
        printf("%02x", id[i]);
    putchar('\n');
    size_t written = fwrite(bytes, 1, size, stdout);
    reports_maker_free(maker);
    return written == size ? 0 : 1;
}
