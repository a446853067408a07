/*
 * Choosing images by path. On Apple's systems /var, /tmp and /etc are links into /private: the
 * loader says /private/var/containers/..., NSBundle mostly /var/containers/... for the same file,
 * so that prefix is not looked at.
 */
#include "capture/image_filter.h"

#include <stdlib.h>
#include <string.h>

struct image_filter {
    size_t count;
    const char **items; /* in the same block, as are their characters */
};

static const char *without_link(const char *path)
{
    static const char private[] = "/private/";
    return strncmp(path, private, sizeof private - 1) == 0 ? path + sizeof private - 2 : path;
}

struct image_filter *image_filter_create(const char *const *images, size_t count)
{
    struct image_filter *filter;
    size_t size = sizeof *filter + count * sizeof *filter->items;
    for (size_t i = 0; i < count; i++)
        size += strlen(images[i]) + 1;
    filter = malloc(size);
    if (!filter)
        return NULL;
    filter->count = count;
    filter->items = (const char **)(filter + 1);
    char *to = (char *)(filter->items + count);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(images[i]) + 1;
        memcpy(to, images[i], length);
        filter->items[i] = without_link(to);
        to += length;
    }
    return filter;
}

void image_filter_destroy(struct image_filter *filter)
{
    free(filter);
}

static bool matches(const char *item, const char *path)
{
    size_t length = strlen(item);
    if (!strchr(item, '/')) {
        const char *slash = strrchr(path, '/');
        return strcmp(slash ? slash + 1 : path, item) == 0;
    }
    return item[length - 1] == '/' ? strncmp(path, item, length) == 0 : strcmp(path, item) == 0;
}

bool image_filter_takes(const struct image_filter *filter, const char *path)
{
    if (!filter)
        return true;
    if (!path)
        return false;
    path = without_link(path);
    for (size_t i = 0; i < filter->count; i++)
        if (matches(filter->items[i], path))
            return true;
    return false;
}
