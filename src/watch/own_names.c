/* Names of the app's own functions: own_names.h. */
#include "watch/own_names.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "capture/names_source.h"
#include "report/own_image.h"

struct own_names {
    struct names_list list; /* ranges ascending; only own images are indexed */
    const char *program;    /* path of the executable's image in the list; NULL: it is not there */
};

static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
static struct own_names *_Atomic made; /* once; never freed, as reports may be written any time */

/* Apple's systems spell one place in two ways. */
static const char *plain(const char *path)
{
    static const char private[] = "/private/";
    const size_t size = sizeof private - 2;
    return strncmp(path, private, size + 1) == 0 ? path + size : path;
}

/* In the bundle that the executable is in, wherever there: frameworks, extensions. */
static bool is_in_bundle(const char *program, const char *image)
{
    static const char folder[] = ".app/";
    const char *end = strstr(program, folder);
    return end && strncmp(program, image, (size_t)(end - program) + sizeof folder - 1) == 0;
}

static bool is_own(const char *program, const char *image)
{
    return is_in_bundle(program, image) || own_image(program, image);
}

static int by_address(const void *a, const void *b)
{
    const uintptr_t left = ((const struct named_range *)a)->lo;
    const uintptr_t right = ((const struct named_range *)b)->lo;
    return left < right ? -1 : left > right;
}

/* False when memory ran out. */
static bool read_tables(struct own_names *names, const char *program)
{
    struct names_list *list = &names->list;
    if (!names_source_list(list))
        return false;
    if (list->range_count)
        qsort(list->ranges, list->range_count, sizeof *list->ranges, by_address);
    program = plain(program);
    for (size_t i = 0; i < list->count; i++) {
        struct named_image *image = &list->images[i];
        const char *path = plain(image->path);
        const bool is_program = strcmp(path, program) == 0;
        if (is_program)
            names->program = image->path;
        if (!is_own(program, path) || !(is_program || image->build_id_size))
            continue;
        if (!names_source_index(image))
            return false;
    }
    return true;
}

static struct own_names *make(const char *program)
{
    struct own_names *names = calloc(1, sizeof *names);
    if (!names || read_tables(names, program))
        return names;
    names_list_free(&names->list);
    free(names);
    return NULL;
}

const struct own_names *own_names_of(const char *program)
{
    struct own_names *names = atomic_load(&made);
    if (names)
        return names;
    pthread_mutex_lock(&making);
    names = atomic_load(&made);
    if (!names) {
        names = make(program);
        atomic_store(&made, names);
    }
    pthread_mutex_unlock(&making);
    return names;
}

static const struct named_image *image_at(const struct own_names *names, uint64_t address)
{
    const struct names_list *list = &names->list;
    size_t lo = 0, hi = list->range_count;
    while (lo < hi) {
        const size_t middle = lo + (hi - lo) / 2;
        if (list->ranges[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    const struct named_range *range = lo ? &list->ranges[lo - 1] : NULL;
    return range && address < range->hi ? &list->images[range->image] : NULL;
}

static bool knows(void *context, const struct fwr_image *image)
{
    const struct own_names *names = context;
    const struct named_image *own = image_at(names, image->key);
    if (!own || !own->symbols || own->header != image->key || own->build_id_size != image->id_size)
        return false;
    return image->id_size ? memcmp(own->build_id, image->id, image->id_size) == 0
                          : own->path == names->program;
}

static bool find(void *context, uint64_t address, struct fwr_function *function)
{
    const struct named_image *image = image_at(context, address);
    struct symbol_match match;
    /* A stub is no function of the app: its name is that of what it leads to. */
    if (!image || !image->symbols ||
        !symbols_lookup(image->symbols, address - image->bias, &match) || match.plt)
        return false;
    *function = (struct fwr_function){match.vaddr + image->bias, match.size, match.name};
    return true;
}

struct fwr_namer own_names_namer(const struct own_names *names)
{
    return (struct fwr_namer){.context = (void *)(uintptr_t)names, .knows = knows, .find = find};
}
