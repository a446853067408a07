/* What the files of grouping share: normalised names (grouping_names.c) and what rules say of a
 * frame (grouping_rules.c). */
#ifndef COLLECTOR_GROUPING_INNER_H
#define COLLECTOR_GROUPING_INNER_H

#include "collector/grouping.h"

enum { GROUP_NAME_MAX = 1000 }; /* bytes of a normalised name at most */

/* A function's name without what differs between builds: docs/grouping.md, "Names". NULL: there is
 * no name in it. `*failed` is set when memory ran out. In the arena. */
const char *group_name(const char *function, struct arena *arena, bool *failed);
/* The file name of an image without versions: "libshop.so.1.2" -> "libshop.so". */
const char *group_image_name(const char *image, struct arena *arena, bool *failed);

enum group_action {
    GROUP_ACT_APP,
    GROUP_ACT_WRAPPER,
    GROUP_ACT_SYSTEM,
    GROUP_ACT_ROOT, /* start of a program or thread */
    GROUP_ACT_LOOP, /* of an event loop */
    GROUP_ACT_SKIP,
    GROUP_ACT_LEAF, /* what a thread waits for */
    GROUP_ACT_ENTRY /* a system frame that tells by what the loop came in */
};

struct group_ruling {
    enum group_action action;
    const char *word; /* of leaf and entry: "lock", "timer"; else NULL */
    const char *text; /* the rule, for people: lives as long as the rules; or constant */
    uint32_t line;    /* of the project's rules; 0: built in */
};
/* What the first rule that fits says. `name` is the normalised one, or NULL. */
struct group_ruling group_rule_of(const struct group_rules *rules, const struct group_frame *frame,
                                  const char *name);

/* The text of the built-in rules, and its version: counts up with every change of what keys come
 * out, so that servers notice (groups_jobs.c). */
extern const char group_builtin_text[];
enum { GROUP_BUILTIN_VERSION = 2 };

#endif
