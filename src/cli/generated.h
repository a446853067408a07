/*
 * Names of the generated code in a dump: functions of just-in-time compilers lie in no image, and
 * the process's perf map is all that tells of them.
 *
 * The map is opened as soon as the capture is over, and read only as far as it went then: its later
 * lines may name other code at the same addresses.
 */
#ifndef CLI_GENERATED_H
#define CLI_GENERATED_H

#include "cli/dump.h"

struct generated;

/* The map of a live process; NULL when it has none. */
struct generated *generated_open(int32_t pid);
/* Reads what the map says of all frames without a name. False when out of memory. */
bool generated_read(struct generated *generated, const struct dump *dump);
void generated_free(struct generated *generated);

struct generated_name {
    const char *function, *file; /* file: NULL when unknown */
    const char *whole;           /* as the map has it */
    uint32_t line;               /* where the function begins; 0: unknown */
    uint64_t start;
};
/* False when the map does not name the frame. `generated` may be NULL. The texts live as long as
 * it does. */
bool generated_find(const struct generated *generated, const struct fw_frame *frame,
                    struct generated_name *name);

#endif
