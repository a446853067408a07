/*
 * Which hangs are the same: the key of a stack, the title of its group, and why.
 * docs/grouping.md is the specification.
 *
 * Pure: no database, no clock. The same frames and rules give the same key on every machine.
 * Thread-safe; rules may be shared, an arena belongs to one thread.
 */
#ifndef COLLECTOR_GROUPING_H
#define COLLECTOR_GROUPING_H

#include "base/arena.h"
#include "framewalk/error.h"

#include <stdbool.h>

struct group_frame {      /* a function of the stack, inlined ones too; innermost first */
    const char *image;    /* file name; "" unknown */
    const char *path;     /* as the report has it; NULL: unknown */
    const char *function; /* demangled; NULL: unknown */
    const char *file;     /* NULL: unknown */
    uint32_t line;
    uint64_t offset;  /* in the image; of the function's start where that is known and no name is */
    bool own_symbols; /* somebody uploaded this image's debug file: it is the app's */
    bool is_main;     /* the image is the report's executable, or came with it */
    bool inlined;     /* into the next */
    bool tail_call;
};

enum group_section { GROUP_APP, GROUP_SYSTEM, GROUP_UNNAMED };

struct group_rules;
/* One rule a line (docs/grouping.md); NULL: the built-in ones alone. The failure's `place` is the
 * line. */
fw_error group_rules_parse(const char *text, struct group_rules **rules, struct fw_failure *why);
void group_rules_free(struct group_rules *rules);
/* The built-in rules as text, to be shown and edited from. */
const char *group_rules_builtin(void);

struct group_answer { /* in the arena */
    uint8_t key[16];
    enum group_section section;
    const char *title; /* the blamed function: "Shop::load_prices"; never "" */
    const char *leaf;  /* "cpu", "lock", "semaphore", "ipc", "disk", "network", "wait" */
    const char *file;  /* of the blamed frame; NULL */
    uint32_t line;
    const char *image;  /* of the blamed frame */
    uint32_t blamed;    /* its index in frames; UINT32_MAX: none */
    const char *search; /* functions and files of the stack, one a line, lower case */
    const char *
        why; /* JSON: [{"frame": 0, "function": ..., "role": "leaf|app|wrapper|system|root|skipped",
                 "rule": "which rule said so", "in_key": true}, ...] and the key's parts */
};
/* `frames` innermost first. FW_ERR_MEMORY. */
fw_error group_stack(const struct group_rules *rules, const struct group_frame *frames,
                     size_t count, struct arena *arena, struct group_answer *answer);

#endif
