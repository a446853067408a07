/*
 * Which images somebody wants to see: a list of paths, of folders ("/" at the end), and of bare
 * file names. Constant once it is made.
 */
#ifndef CAPTURE_IMAGE_FILTER_H
#define CAPTURE_IMAGE_FILTER_H

#include <stdbool.h>
#include <stddef.h>

struct image_filter;

/* Copies the list. NULL when out of memory. */
struct image_filter *image_filter_create(const char *const *images, size_t count);
void image_filter_destroy(struct image_filter *filter);

/* Is the image at `path` (NULL for none) wanted? Without a filter each is, and also no image. */
bool image_filter_takes(const struct image_filter *filter, const char *path);

#endif
