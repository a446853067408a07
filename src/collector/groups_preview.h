/*
 * What other rules would do to a project's groups, without doing it.
 *
 * Looks at the stacks with the most blocked time, GROUPS_PREVIEW_STACKS at most; `stacks_of` says
 * how many there are. Hold no connection.
 */
#ifndef COLLECTOR_GROUPS_PREVIEW_H
#define COLLECTOR_GROUPS_PREVIEW_H

#include "collector/groups.h"

enum { GROUPS_PREVIEW_STACKS = 20000, GROUPS_PREVIEW_SHOWN = 50, GROUPS_PREVIEW_EXAMPLES = 20 };

struct groups_preview { /* all zero before groups_preview; texts are in its arena */
    struct arena arena;
    uint64_t stacks, stacks_of;
    uint64_t groups_now, groups_then;
    uint64_t examined_reports, moved_reports;
    struct groups_preview_split { /* a group whose stacks would part */
        int64_t group;
        uint64_t into;
    } split[GROUPS_PREVIEW_SHOWN];
    size_t split_count;
    struct groups_preview_merge { /* groups whose stacks would be together */
        const char *title;
        uint64_t groups;
    } merged[GROUPS_PREVIEW_SHOWN];
    size_t merged_count;
    struct groups_preview_move { /* from where to where, most reports first */
        int64_t from, to;        /* groups; to 0: one that there is not yet */
        const char *then;        /* title of where they would be */
        uint64_t stacks, reports, blocked_ns;
    } moves[GROUPS_PREVIEW_SHOWN];
    size_t move_count;
    uint64_t moves_of;              /* how many there are */
    struct groups_preview_example { /* stacks that would move, those that blocked longest first */
        int64_t stack, from, to;
        uint64_t reports, blocked_ns;
        const char *then;
        const char *why_now, *why_then; /* JSON, as hang_group.why */
    } examples[GROUPS_PREVIEW_EXAMPLES];
    size_t example_count;
};

fw_error groups_preview(struct collector *c, int64_t project, const struct group_rules *rules,
                        struct groups_preview *preview, struct fw_failure *why);
void groups_preview_free(struct groups_preview *preview);

#endif
