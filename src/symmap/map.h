/*
 * An open symbol map: its sections, found and bounded once. What is inside of them is checked where
 * it is read. Shared by the readers of symmap (open.c, lookup.c, rows.c, functions.c).
 */
#ifndef SYMMAP_MAP_H
#define SYMMAP_MAP_H

#include "symmap/format.h"
#include "symmap/symmap.h"

struct symmap {
    struct symmap_identity identity;
    struct span bytes;
    bool mapped; /* `bytes` is to be unmapped */

    struct span section[SECTION_END]; /* by id; empty when absent */
    uint32_t block_count, index_count, function_count, subject_count, file_count;
    uint32_t alias_count, call_count;
    uint8_t unit_shift, index_shift;
    bool columns;
};

/* What the head of a function says. */
struct head {
    uint32_t flags; /* HEAD_* */
    uint32_t number, start, size, subject;
    uint32_t whole;       /* with HEAD_PART: number + 1 of the function it is a part of, or 0 */
    uint32_t tail_calls;  /* with HEAD_TAIL_CALLS */
    uint32_t source_name; /* with HEAD_SOURCE_NAME, else 0 */
};

/* One walk over the rows of a block. A block needs nothing but itself and the context nodes of its
 * function, of which only the lengths are read here. */
struct rows {
    const uint8_t *p, *end;  /* what is left of the block; end of SECTION_CODE */
    const uint8_t *function; /* head of the function: contexts are distances from here */
    uint64_t recent;         /* order of the slots */
    uint32_t next_node;      /* the next new node */
    unsigned left;           /* rows still to come */
    unsigned unit_shift;
    bool columns;
    uint64_t lo, hi;                          /* of the row */
    unsigned slot;                            /* of the row */
    bool no_line;                             /* of the row: line 0 */
    uint32_t column;                          /* of the row */
    uint32_t context[16], line[16], file[16]; /* by slot; lines are relative to the subject's */
};

/* False when the block is not sound. */
bool map_rows_begin(const struct symmap *map, uint32_t block, struct rows *rows);
/* The next row; false at the end and when the rest is not sound: rows->left is then not 0. */
bool map_rows_next(struct rows *rows);
/* Frames of the row that `rows` stands on. False when a context is not sound. */
bool map_frames(const struct symmap *map, const struct rows *rows, struct symmap_frame *frames,
                size_t capacity, size_t *count);

/* Head at this place of SECTION_CODE; *nodes is the place right after it (may be NULL). */
bool map_head(const struct symmap *map, uint64_t place, struct head *head);
uint32_t map_frame_flags(uint32_t head_flags, bool named);

/* NULL when the offset is 0 or outside. */
static inline const char *map_string(const struct symmap *map, uint32_t offset)
{
    const struct span *strings = &map->section[SECTION_STRINGS];
    return offset && offset < strings->size ? (const char *)strings->data + offset : NULL;
}

static inline uint32_t map_u32(const struct symmap *map, enum section_id id, uint32_t i)
{
    return get_u32(map->section[id].data + (size_t)i * 4);
}

static inline struct format_pair map_pair(const struct symmap *map, enum section_id id, uint32_t i)
{
    const uint8_t *p = map->section[id].data + (size_t)i * PAIR_SIZE;
    return (struct format_pair){get_u32(p), get_u32(p + 4)};
}

/* The subject, or one of which nothing is known when there is none of this number. */
static inline struct format_subject map_subject(const struct symmap *map, uint32_t i)
{
    if (i >= map->subject_count)
        return (struct format_subject){0};
    const uint8_t *p = map->section[SECTION_SUBJECTS].data + (size_t)i * SUBJECT_SIZE;
    return (struct format_subject){get_u32(p), get_u32(p + 4), get_u32(p + 8)};
}

#endif
