/*
 * One question to one source: the map that answers it, and frames copied out of it into memory that
 * the answer owns. What lookup.c and stack.c share.
 *
 * Nothing of the map is pointed to by what was copied: maps may go away before answers do. Texts
 * are copied once for each question, however many frames show them.
 */
#ifndef SYMBOLICATE_LOOKUP_H
#define SYMBOLICATE_LOOKUP_H

#include "symbolicate/internal.h"

struct answer { /* what fw_symbols really is */
    struct fw_symbols symbols;
    struct arena arena; /* everything that is shown */
};

/* `*items` are all zero, `count` of them. NULL when memory ran out. */
struct answer *answer_begin(size_t count, struct fw_resolved **items, struct fw_symbols **symbols,
                            struct fw_failure *why);
/* Hands the answer out, or frees it when there was an error and says which in *why. `answer` may be
 * NULL with an error. */
fw_error answer_finish(struct answer *answer, fw_error error, struct fw_symbols **symbols,
                       struct fw_failure *why);

struct place {      /* one address of the question */
    uint64_t vaddr; /* link-time, of an instruction: a byte of the call for a return address */
    bool returns;
    enum fw_reason reason; /* not FW_REASON_NONE: no lookup is needed to know this */
};

/* FW_ERR_ARGUMENT for an address space that there is not. */
fw_error place_of(const struct fw_source *source, const struct fw_address *address,
                  struct place *place, struct fw_failure *why);

struct lookup {
    struct fw_source *source;
    struct symmap *map;
    uint8_t *bytes;   /* of a small map, which is this question's; NULL: the map is the source's */
    bool needs_whole; /* the small map could not tell about tail calls */
    bool needs_jumps; /* it could, but was not made for the places of the jumps */
    bool knows_jumps; /* it was */
    struct texts texts;
    struct symmap_frame *found; /* room for what one lookup in the map finds */
    size_t found_capacity;
};

/* Gets the map that knows all places. */
fw_error lookup_begin(struct lookup *lookup, const struct place *places, size_t count,
                      struct fw_failure *why);
/* Of one that never began, too. */
void lookup_end(struct lookup *lookup);

/* The frames at `offset` of the map into lookup->found. FW_ERR_NOT_FOUND, FW_ERR_CORRUPT, or
 * FW_ERR_MEMORY. */
fw_error lookup_frames(struct lookup *lookup, uint64_t offset, size_t *count);
/* False when memory ran out. `offset` counts from the piece's start; `flags` are added. */
bool lookup_copy(struct lookup *lookup, struct arena *arena, const struct symmap_frame *from,
                 uint64_t offset, uint32_t flags, struct fw_symbol_frame *to);
/* The answer for one place. *outer_function is its number in the map, CODE_NONE without frames. */
fw_error lookup_place(struct lookup *lookup, struct arena *arena, const struct place *place,
                      struct fw_resolved *symbol, uint32_t *outer_function);

#endif
