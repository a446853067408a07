/* What the two text writers, single stacks and sampled trees, use of each other. */
#ifndef CLI_DUMP_TEXT_H
#define CLI_DUMP_TEXT_H

#include "cli/fold.h"
#include "cli/frame_text.h"

/* dump_tree.c: the rest of the title line of a sampled group, and its call tree. False when out of
 * memory. */
bool dump_tree_group(struct frame_names *names, const struct fold_group *group,
                     struct style *style);

#endif
