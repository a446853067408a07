/* Instructions whose stack was not exact, grouped by where the walk went wrong. */
#ifndef TESTS_ORACLE_MISSES_H
#define TESTS_ORACLE_MISSES_H

#include <stdint.h>
#include <stdio.h>

#include "oracle/process_images.h"
#include "oracle/shadow.h"

enum miss_class {
    MISS_WRONG,  /* a frame has another address */
    MISS_SHORT,  /* frames are missing at the outer end */
    MISS_LONG,   /* frames that are not there, beyond the outermost one */
    MISS_NO_END, /* all frames are right, but the walk does not know that it is at the root */
    MISS_KIND,   /* all addresses are right, one is taken for exact or return wrongly */
    MISS_CLASSES
};

struct miss_site {                  /* the frame that was unwound wrongly */
    uint64_t address, count, first; /* first: number of the instruction */
    uint8_t class, exact, end;
    uint64_t pc;
    uint64_t expected, got;
    char name[160], pc_name[160], expected_name[160], got_name[160];
};

struct misses {
    struct miss_site *site;
    size_t count;
    uint64_t total, lost; /* lost: at sites beyond the limit */
    uint64_t gave_up; /* of total: all frames are right, and the walk says that more are missing */
    struct miss_deferred *deferred;
    size_t deferred_count;
    uint64_t ahead; /* instructions whose answer was the stack that a jump then led to */
};

/* What the two stacks differ in; MISS_CLASSES when they agree. *at is the index of the last frame
 * that agrees. */
struct walked {
    const uint64_t *address;
    const uint8_t *exact; /* NULL when it is not known */
    size_t count;
    int whole; /* reached the root */
    uint8_t end;
};
enum miss_class misses_compare(const struct shadow_frame *expected, size_t count,
                               const struct walked *got, size_t *at);

void misses_add(struct misses *misses, struct process_images *images, uint64_t instruction,
                enum miss_class class, const struct shadow_frame *expected, size_t count,
                const struct walked *got, size_t at);

/* The same for a difference right behind the innermost frame, which may be none: longjmp and
 * setcontext have tables that describe the place they are about to jump to. It is judged by
 * misses_settle. */
void misses_defer(struct misses *misses, struct process_images *images, uint64_t instruction,
                  enum miss_class class, const struct shadow_frame *expected, size_t count,
                  const struct walked *got, size_t at);
/* `now` is the stack after a jump to another place of this stack, or to another one. NULL: there
 * was no such jump. */
void misses_settle(struct misses *misses, struct process_images *images,
                   const struct shadow_frame *now, size_t count);
void misses_print(struct misses *misses, FILE *to, size_t limit);
void misses_free(struct misses *misses);

#endif
