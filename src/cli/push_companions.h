/*
 * Debug files whose DWARF is in other files as well: .dwo, .dwp, the supplementary file of dwz. The
 * collector reads each file alone, so their names are put together here, where the others lie, and
 * sent as a symbol map beside the file.
 */
#ifndef CLI_PUSH_COMPANIONS_H
#define CLI_PUSH_COMPANIONS_H

#include "cli/progress.h"
#include "cli/push_find.h"

/* Adds a map to be made for each file that is wanted and refers to others. */
void push_companions_plan(struct push_found *found);
/* Makes it, when `file` is such a map; true at once for others. False: its fate is set. */
bool push_companions_make(struct push_file *file, struct progress *progress);
/* The map is mapped, or not sent: its file goes. */
void push_companions_drop(struct push_file *file);
/* Whether names are missing from what was sent, because a companion was not found. */
bool push_companions_missed(const struct push_found *found);

#endif
