/*
 * Inside of the decoder of Rust's names, version 0: the place in the name, and what its parts need
 * of one another.
 */
#ifndef DEMANGLE_RUST_V0_H
#define DEMANGLE_RUST_V0_H

#include "demangle/rust.h"

#include <stdint.h>
#include <stdio.h>

enum { RUST_V0_DEPTH = 300, RUST_V0_STEPS = 100000 };

struct v0 {
    const char *start, *pos, *end;
    struct text *text;
    const struct demangle_options *options;
    unsigned depth, steps;
    unsigned skipping; /* more than 0: read, and not shown */
    uint64_t bound;    /* lifetimes of the binders around */
    bool failed;
};

struct identifier {
    const char *ascii, *punycode;
    size_t ascii_length, punycode_length;
};

static inline bool fail(struct v0 *v)
{
    v->failed = true;
    return false;
}

static inline char look(const struct v0 *v)
{
    return v->pos < v->end ? *v->pos : '\0';
}

static inline bool take(struct v0 *v, char c)
{
    if (v->failed || look(v) != c || c == '\0')
        return false;
    v->pos++;
    return true;
}

static inline char next(struct v0 *v)
{
    if (v->failed || v->pos == v->end) {
        v->failed = true;
        return '\0';
    }
    return *v->pos++;
}

static inline void put(struct v0 *v, const char *string)
{
    if (!v->skipping && !v->failed)
        text_string(v->text, string);
}

static inline void put_part(struct v0 *v, const char *start, size_t length)
{
    if (!v->skipping && !v->failed)
        text_add(v->text, start, length);
}

static inline void put_number(struct v0 *v, uint64_t number)
{
    if (!v->skipping && !v->failed)
        text_number(v->text, number);
}

/* Nothing more is read once the text is full: what remains of the name is not looked at. */
static inline bool enter(struct v0 *v)
{
    if (v->failed || v->text->full)
        return false;
    if (v->depth >= RUST_V0_DEPTH || ++v->steps > RUST_V0_STEPS)
        return fail(v);
    v->depth++;
    return true;
}

static inline uint64_t base62(struct v0 *v)
{
    if (take(v, '_'))
        return 0;
    uint64_t value = 0;
    while (!take(v, '_')) {
        char c = next(v);
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'z' ? (unsigned)(c - 'a') + 10
                         : c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 36
                                                : 62;
        if (digit == 62 || value > (UINT64_MAX - digit) / 62)
            return fail(v);
        value = value * 62 + digit;
    }
    return value == UINT64_MAX ? fail(v) : value + 1;
}

static inline uint64_t tagged_base62(struct v0 *v, char tag)
{
    if (!take(v, tag))
        return 0;
    uint64_t value = base62(v);
    return value == UINT64_MAX ? fail(v) : value + 1;
}

/* rust_v0.c */
/* What a letter stands for; NULL: no basic type. */
const char *rust_v0_basic_type(char letter);
struct identifier rust_v0_identifier(struct v0 *v);
void rust_v0_put_identifier(struct v0 *v, const struct identifier *name);
/* B: what stands further in front, once more. */
void rust_v0_back_reference(struct v0 *v, void (*print)(struct v0 *, bool), bool in_value);
/* Whether one more of a list follows; puts the separator before all but the first. */
bool rust_v0_more(struct v0 *v, size_t *count, const char *separator);
void rust_v0_path(struct v0 *v, bool in_value);
void rust_v0_type(struct v0 *v);

/* rust_v0_values.c: the constants that generic arguments may be. */
void rust_v0_constant(struct v0 *v, bool in_value);

#endif
