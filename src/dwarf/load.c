/*
 * Sections are taken from a list, largest first, by whichever thread is free. A section is one
 * stream and has to be unpacked by one thread, so the largest one bounds the time.
 */
#include "dwarf/load.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    INFLATIONS = 64, /* sections; relocatable files may have more, which are then done when asked
                        for */
    THREADS = 16,
    SMALL = 64 << 10, /* bytes that are not worth a thread */
};

struct load {
    struct object_inflation list[INFLATIONS];
    size_t count;
    atomic_size_t next;
};

static void *work(void *context)
{
    struct load *load = context;
    for (size_t i; (i = atomic_fetch_add(&load->next, 1)) < load->count;)
        object_inflation_run(&load->list[i]);
    return NULL;
}

static int by_size(const void *a, const void *b)
{
    const struct object_inflation *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return x->section < y->section ? -1 : x->section > y->section;
}

void dwarf_sections_load(struct object *object, bool dwo, unsigned threads)
{
    static const char *const names[] = {
        "info",     "abbrev", "line",     "line_str", "str", "addr",     "ranges", "aranges",
        "rnglists", "types",  "cu_index", "tu_index", "loc", "loclists", "sup",    "str_offsets"};
    struct load load = {.count = 0};
    load.count = object_inflations(object, names, sizeof names / sizeof names[0], dwo, load.list,
                                   INFLATIONS);
    if (load.count < 2 || threads < 2)
        return;
    qsort(load.list, load.count, sizeof load.list[0], by_size);
    pthread_t others[THREADS];
    size_t started = 0;
    size_t wanted = 0;
    for (size_t i = 1; i < load.count && i < threads && i <= THREADS; i++)
        wanted += load.list[i].size >= SMALL;
    while (started < wanted && pthread_create(&others[started], NULL, work, &load) == 0)
        started++;
    if (started)
        work(&load);
    for (size_t i = 0; i < started; i++)
        pthread_join(others[i], NULL);
    object_inflations_take(object, load.list, load.count);
}
