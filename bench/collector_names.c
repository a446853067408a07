/*
 * Names out of the symbol store: `collector_names MAP [lookup|again|frames]`.
 *
 *     lookup   nanoseconds for the functions at one of 200,000 places all over the map (or all of
 *              them when it has fewer rows); what is remembered of places is too small for them
 *     again    the same for 1,000 places that are asked again and again, as of hot stacks
 *     frames   frames a second of the stacks of reports: 20 threads of 30 frames, places drawn
 *              from 2,000 of the map. Neither reading the report nor taking the image is in it
 */
#include "bench.h"

#include "base/reader.h"
#include "collector/symbols.h"
#include "collector/symbols_image.h"
#include "report/out.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { ALL = 200000, HOT = 1000, POOL = 2000, THREADS = 20, FRAMES = 30, REPORTS = 200 };

static uint64_t random_state = 1;
static uint64_t random_number(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return random_state >> 33;
}

struct places {
    uint64_t at[ALL];
    size_t count, seen;
};

/* A fair choice of all rows. */
static bool add_row(void *context, const struct symmap_row *row)
{
    struct places *places = context;
    if (!row->frame_count)
        return true;
    places->seen++;
    uint64_t at = row->lo + random_number() % (row->hi - row->lo);
    if (places->count < ALL) {
        places->at[places->count++] = at;
    } else {
        size_t slot = random_number() % places->seen;
        if (slot < ALL)
            places->at[slot] = at;
    }
    return true;
}

static double lookup_ns(const struct symbols_image *image, const uint64_t *at, size_t count)
{
    struct report_name names[64];
    struct arena arena = {0};
    uint64_t start = bench_now();
    for (size_t i = 0; i < count; i++) {
        symbols_names(image, at[i], REPORT_FROM_LOAD, REPORT_EXACT, &arena, names, 64);
        if (i % 64 == 63)
            arena_reset(&arena);
    }
    double ns = (double)(bench_now() - start) / (double)count;
    arena_free(&arena);
    return ns;
}

/* As the processing of a report does it, but for taking the image. */
static double frames_a_second(const struct symbols_image *image, const struct places *places)
{
    static struct symbols_place stack[THREADS * (FRAMES + 1)];
    static struct symbols_found found[THREADS * (FRAMES + 1)];
    uint64_t spent = 0;
    for (size_t k = 0; k < REPORTS; k++) {
        for (size_t t = 0, n = 0; t < THREADS; t++, n++)
            for (size_t i = 0; i < FRAMES; i++, n++)
                stack[n] =
                    (struct symbols_place){image, places->at[random_number() % POOL] + (i > 0),
                                           REPORT_FROM_LOAD, i ? REPORT_RETURN : REPORT_EXACT};
        struct arena arena = {0};
        uint64_t start = bench_now();
        if (symbols_stack(stack, THREADS * (FRAMES + 1), &arena, found) != FW_OK)
            abort();
        spent += bench_now() - start;
        arena_free(&arena);
    }
    return REPORTS * THREADS * FRAMES / ((double)spent * 1e-9);
}

int main(int argc, char **argv)
{
    static struct places places;
    struct symbols_image *image;
    struct fw_failure why = {0};
    const char *what = argc > 2 ? argv[2] : "again";
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || symbols_image_open(fd, argv[1], NULL, &image, &why) != FW_OK) {
        fprintf(stderr, "collector_names MAP [lookup|again|frames]: %s\n", why.message);
        return 2;
    }
    symmap_each_row(symbols_image_map(image), add_row, &places);
    for (size_t i = places.count; i-- > 1;) { /* not by address */
        size_t other = random_number() % (i + 1);
        uint64_t at = places.at[i];
        places.at[i] = places.at[other];
        places.at[other] = at;
    }
    double batch[BENCH_BATCHES];
    for (size_t b = 0; b < BENCH_BATCHES + 1; b++) { /* the first one warms up */
        double value;
        if (strcmp(what, "frames") == 0) {
            value = frames_a_second(image, &places);
        } else if (strcmp(what, "lookup") == 0) {
            value = lookup_ns(image, places.at, places.count);
        } else {
            value = 0;
            for (size_t i = 0; i < 20; i++)
                value += lookup_ns(image, places.at, HOT) / 20;
        }
        if (b)
            batch[b - 1] = value;
        else
            fprintf(stderr, "first: %.1f\n", value);
    }
    printf("%.1f\n", bench_quantile(batch, BENCH_BATCHES, 0.5));
    symbols_drop(image);
    return 0;
}
