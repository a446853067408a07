/* The stacks of a report, while a digest is made: digest_stacks.c. */
#ifndef COLLECTOR_DIGEST_STACKS_H
#define COLLECTOR_DIGEST_STACKS_H

#include "collector/digest.h"

struct digest_maker {
    const struct report *report;
    struct arena *arena;
    struct digest *d;
    uint32_t *image_number; /* of report.images[]: in d->images, 0: not yet */
    size_t *stack_number;   /* of report.threads[]: 1 + index in d->stacks, 0: not yet, SIZE_MAX:
                               there was no room for it */
    size_t stack_capacity;
    uint32_t *named_slots; /* hash table: 1 + index in d->named, 0: free; made when it is needed */
    bool failed;           /* memory ran out */
};

/* A text as rows may have it, cut at `size` bytes with its end; NULL stays NULL. */
const char *digest_text(struct digest_maker *m, const char *text, size_t size);
/* The number of an image of the report, which is taken up when it is new; 0: it has none. */
uint32_t digest_image(struct digest_maker *m, uint32_t image);

/* Takes up the names that the report has for a frame, innermost first, and marks it. False: there
 * are none. */
bool digest_name_frame(struct digest_maker *m, const struct report_name *names, size_t name_count,
                       struct stack_frame *frame);

/* A sum that stays at INT64_MAX when it would be more. */
void digest_add(uint64_t *sum, uint64_t value);
/* Puts `stack`, whose frames are in the arena, into the list. */
size_t digest_put(struct digest_maker *m, struct digest_stack stack, uint64_t weight_ns,
                  uint64_t samples);
/* The frames of threads[thread], one stack. How many. */
size_t digest_thread_frames(struct digest_maker *m, uint32_t thread,
                            struct stack_frame frames[DIGEST_FRAMES]);
/* All stacks of a hang's samples. */
void digest_put_samples(struct digest_maker *m);

/* The frames of threads[thread], one stack, as one of d->stacks, with weights added when it is
 * there already. SIZE_MAX when there is no room. */
size_t digest_put_thread(struct digest_maker *m, uint32_t thread, uint64_t weight_ns,
                         uint64_t samples);
/* A stack without frames. */
size_t digest_put_empty(struct digest_maker *m, uint64_t weight_ns);
/* All stacks of a tree, `duration_ns` shared out by samples. */
void digest_put_tree(struct digest_maker *m, uint32_t thread, uint64_t duration_ns);
/* Leaves the DIGEST_STACKS heaviest, and chooses the key. */
void digest_choose_key(struct digest_maker *m);

#endif
