/* See misses.h. */
#include "oracle/misses.h"

#include <stdlib.h>

#include "framewalk/stack.h"

enum { MAX_SITES = 4096, MAX_DEFERRED = 64, DEFERRED_FRAMES = 64 };

struct miss_deferred {
    uint64_t instruction;
    enum miss_class class;
    size_t at, count;
    struct walked got;
    struct shadow_frame expected[DEFERRED_FRAMES];
    uint64_t address[DEFERRED_FRAMES];
};

enum miss_class misses_compare(const struct shadow_frame *expected, size_t count,
                               const struct walked *got, size_t *at)
{
    size_t common = count < got->count ? count : got->count;
    bool kinds = true;
    for (size_t i = 0; i < common; i++) {
        *at = i ? i - 1 : 0;
        if (expected[i].address != got->address[i])
            return MISS_WRONG;
        kinds = kinds && (!got->exact || expected[i].exact == (bool)got->exact[i]);
    }
    *at = common ? common - 1 : 0;
    if (got->count < count)
        return MISS_SHORT;
    if (got->count > count)
        return MISS_LONG;
    if (!got->whole)
        return MISS_NO_END;
    return kinds ? MISS_CLASSES : MISS_KIND;
}

static struct miss_site *find_site(struct misses *misses, uint64_t address, uint8_t class,
                                   bool exact)
{
    for (size_t i = 0; i < misses->count; i++) {
        struct miss_site *s = &misses->site[i];
        if (s->address == address && s->class == class && s->exact == exact)
            return s;
    }
    if (misses->count == MAX_SITES)
        return NULL;
    if (!misses->site)
        misses->site = calloc(MAX_SITES, sizeof *misses->site);
    return misses->site ? &misses->site[misses->count++] : NULL;
}

static void name(struct process_images *images, uint64_t address, bool exact, char *text,
                 size_t size)
{
    if (address)
        process_images_name(images, address, exact, text, size);
    else
        snprintf(text, size, "none");
}

void misses_add(struct misses *misses, struct process_images *images, uint64_t instruction,
                enum miss_class class, const struct shadow_frame *expected, size_t count,
                const struct walked *got, size_t at)
{
    misses->total++;
    misses->gave_up += (class == MISS_SHORT || class == MISS_NO_END) && !got->whole;
    uint64_t address = at < count ? expected[at].address : 0;
    bool exact = at < count && expected[at].exact;
    struct miss_site *s = find_site(misses, address, (uint8_t)class, exact);
    if (!s) {
        misses->lost++;
        return;
    }
    if (s->count++)
        return;
    *s = (struct miss_site){.address = address,
                            .count = 1,
                            .first = instruction,
                            .class = (uint8_t)class,
                            .exact = exact,
                            .end = got->end,
                            .pc = expected[0].address,
                            .expected = at + 1 < count ? expected[at + 1].address : 0,
                            .got = at + 1 < got->count ? got->address[at + 1] : 0};
    name(images, address, exact, s->name, sizeof s->name);
    name(images, s->pc, true, s->pc_name, sizeof s->pc_name);
    name(images, s->expected, false, s->expected_name, sizeof s->expected_name);
    name(images, s->got, false, s->got_name, sizeof s->got_name);
}

void misses_defer(struct misses *misses, struct process_images *images, uint64_t instruction,
                  enum miss_class class, const struct shadow_frame *expected, size_t count,
                  const struct walked *got, size_t at)
{
    if (!misses->deferred)
        misses->deferred = calloc(MAX_DEFERRED, sizeof *misses->deferred);
    if (at != 0 || count > DEFERRED_FRAMES || got->count > DEFERRED_FRAMES || !misses->deferred) {
        misses_add(misses, images, instruction, class, expected, count, got, at);
        return;
    }
    if (misses->deferred_count == MAX_DEFERRED)
        misses_settle(misses, images, NULL, 0);
    struct miss_deferred *d = &misses->deferred[misses->deferred_count++];
    *d = (struct miss_deferred){instruction, class, at, count, *got, {{0}}, {0}};
    memcpy(d->expected, expected, count * sizeof *expected);
    memcpy(d->address, got->address, got->count * sizeof *got->address);
    d->got.address = d->address;
    d->got.exact = NULL;
}

static bool is_ahead(const struct miss_deferred *d, const struct shadow_frame *now, size_t count)
{
    if (!d->got.whole || d->got.count != count + 1)
        return false;
    for (size_t i = 0; i < count; i++)
        if (d->address[i + 1] != now[i].address)
            return false;
    return true;
}

void misses_settle(struct misses *misses, struct process_images *images,
                   const struct shadow_frame *now, size_t count)
{
    for (size_t i = 0; i < misses->deferred_count; i++) {
        const struct miss_deferred *d = &misses->deferred[i];
        if (now && is_ahead(d, now, count))
            misses->ahead++;
        else
            misses_add(misses, images, d->instruction, d->class, d->expected, d->count, &d->got,
                       d->at);
    }
    misses->deferred_count = 0;
}

static int more_first(const void *a, const void *b)
{
    const struct miss_site *x = a, *y = b;
    return (x->count < y->count) - (x->count > y->count);
}

void misses_print(struct misses *misses, FILE *to, size_t limit)
{
    static const char *const text[] = {"wrong frame", "frames missing", "frames too many",
                                       "root not known", "wrong kind"};
    if (misses->count == 0)
        return;
    qsort(misses->site, misses->count, sizeof *misses->site, more_first);
    for (size_t i = 0; i < misses->count && i < limit; i++) {
        const struct miss_site *s = &misses->site[i];
        fprintf(to, "  %8lu  %s behind %s %s; expected %s, got %s (%s); first at #%lu, pc %s\n",
                (unsigned long)s->count, text[s->class], s->exact ? "exact" : "return", s->name,
                s->expected_name, s->got_name, fw_end_text((fw_end)s->end), (unsigned long)s->first,
                s->pc_name);
    }
    if (misses->count > limit)
        fprintf(to, "  and %zu more places\n", misses->count - limit);
}

void misses_free(struct misses *misses)
{
    free(misses->site);
    free(misses->deferred);
}
