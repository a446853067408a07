/*
 * The code ranges of loaded images for readers that must not wait: walks, which may run in a signal
 * handler, also in one that interrupted a writer.
 *
 * Two tables take turns. A writer fills the one that is not current and makes it current; a reader
 * always finds a whole one. `version` tells a reader that slept for so long that its table's turn
 * came again; it looks a second time, and never waits.
 *
 * Unloading. A writer that took an image out of the table waits, for a limited time, for everybody
 * who may have found it before; only then is the image's memory unmapped. So whoever looks at
 * memory of an image that can be unloaded announces itself first, with one atomic addition, and
 * looks the image up again behind that: either the writer sees the announcement, or the reader sees
 * the table without the image. There are two counters, and each wait turns new readers to the other
 * one, so that those who come later are not waited for. Images that stay for ever need none of
 * this, nor do walks that run from cached rules.
 *
 * Nothing here knows dyld: it runs and is tested on any system.
 */
#ifndef OS_DARWIN_IMAGE_TABLE_H
#define OS_DARWIN_IMAGE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct image_range {
    uintptr_t lo, hi; /* one range of code, [lo, hi) */
    uintptr_t header; /* of the image that it belongs to */
    bool permanent;   /* never unloaded */
    const char *path; /* the caller's, as long as the image is loaded; NULL: not known */
};

struct image_table; /* sorted by lo; ranges do not overlap */

struct image_tables {
    struct image_table *current, *next; /* NULL: no image yet, or no memory */
    bool open;                          /* `next` is being changed */
    unsigned turn;                      /* its lowest bit: which counter new readers use */
    unsigned reading[2];                /* readers that announced themselves */
    /* Zeroed memory that is never given back; NULL when there is none. */
    void *(*allocate)(size_t size);
};

/* Readers. Async-signal-safe, thread-safe. */

/* The range around an address; false when there is none. */
bool image_table_find(struct image_tables *tables, uintptr_t address, struct image_range *range);
/* Announces a reader of images that can be unloaded; what it returns is for the call of leave. */
unsigned image_table_enter(struct image_tables *tables);
void image_table_leave(struct image_tables *tables, unsigned entered);

/* Writers: one at a time, which is the caller's to see to. */

/* Begins a change, or goes on with the one that was begun, with room for `more` ranges. False when
 * there is no memory for it: then nothing is changed. */
bool image_table_begin(struct image_tables *tables, size_t more);
/* A range that overlaps another one is left out. */
void image_table_add(struct image_tables *tables, const struct image_range *range);
/* Makes the change visible. */
void image_table_publish(struct image_tables *tables);
/* Takes out what belongs to the image, visibly unless a change was begun; false when it has nothing
 * here. Without memory for that, all images are forgotten: none may be found that is gone. */
bool image_table_remove(struct image_tables *tables, uintptr_t header);
/* Waits for all readers that announced themselves before; false when that took about twice as long
 * as `most_ms`. `nap` sleeps for about a millisecond. */
bool image_table_wait(struct image_tables *tables, unsigned most_ms, void (*nap)(void));
/* In a forked child: the readers that are counted are in the parent. */
void image_table_forked(struct image_tables *tables);

#endif
