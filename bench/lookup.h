/*
 * What both sides of the lookup figures share: the addresses, and how they are timed. Order is that
 * of the file (drawn by lot); all are looked up once to warm up, then once as a whole for the mean,
 * then once more with a clock around each for the 99th percentile.
 */
#ifndef BENCH_LOOKUP_H
#define BENCH_LOOKUP_H

#include "bench.h"

struct lookup_addresses {
    uint64_t *at;
    size_t count;
};

/* One hexadecimal number a line. Ends the program when there are none. */
static inline struct lookup_addresses lookup_read(const char *path)
{
    struct lookup_addresses addresses = {NULL, 0};
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        perror(path);
        exit(1);
    }
    unsigned long long address;
    while (fscanf(file, "%llx", &address) == 1) {
        if ((addresses.count & (addresses.count - 1)) == 0) /* grows at powers of two */
            addresses.at = (uint64_t *)realloc(
                addresses.at, (addresses.count ? 2 * addresses.count : 1) * sizeof *addresses.at);
        if (addresses.at == NULL)
            exit(1);
        addresses.at[addresses.count++] = address;
    }
    fclose(file);
    bench_require(addresses.count > 0, 1, path);
    return addresses;
}

/* `lookup` returns how many frames it found. Prints the mean and the 99th percentile in
 * nanoseconds; to the error output how many addresses were known. */
static inline void lookup_measure(struct lookup_addresses addresses,
                                  size_t (*lookup)(void *context, uint64_t address), void *context)
{
    size_t known = 0, frames = 0;
    for (size_t i = 0; i < addresses.count; i++)
        known += lookup(context, addresses.at[i]) > 0;
    uint64_t start = bench_now();
    for (size_t i = 0; i < addresses.count; i++)
        frames += lookup(context, addresses.at[i]);
    const double mean = (double)(bench_now() - start) / (double)addresses.count;
    double *each = (double *)calloc(addresses.count, sizeof *each);
    if (each == NULL)
        exit(1);
    for (size_t i = 0; i < addresses.count; i++) {
        start = bench_now();
        lookup(context, addresses.at[i]);
        each[i] = (double)(bench_now() - start);
    }
    printf("%.1f %.0f\n", mean, bench_quantile(each, addresses.count, 0.99));
    fprintf(stderr, "%zu of %zu known, %zu frames\n", known, addresses.count, frames);
    free(each);
}

#endif
