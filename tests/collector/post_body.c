/*
 * The body of a POST of made-up reports (tests/collector/reports.h), on standard output:
 *
 *     post_body SEED FIRST COUNT CALLS_PER_MILLE NOW_MS
 */
#include "collector/reports.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    struct reports_shape shape = {.calls_per_mille = (unsigned)atoi(argv[4]),
                                  .sites = 12,
                                  .now_ms = strtoull(argv[5], NULL, 10)};
    struct reports_maker *maker = reports_maker_new(strtoull(argv[1], NULL, 10), &shape);
    uint64_t first = strtoull(argv[2], NULL, 10), count = strtoull(argv[3], NULL, 10);
    for (uint64_t i = 0; maker && i < count; i++) {
        uint8_t id[16];
        size_t size;
        const uint8_t *report = reports_make(maker, first + i, id, &size);
        if (!size)
            return 1;
        for (size_t j = 0; j < sizeof id; j++)
            printf("%02x", id[j]);
        printf(" %zu\n", size);
        fwrite(report, 1, size, stdout);
    }
    reports_maker_free(maker);
    return maker && fflush(stdout) == 0 ? 0 : 1;
}
