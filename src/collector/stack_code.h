/*
 * A stack as the table `stack` keeps it, and its hash.
 *
 *   frames = for each frame, innermost first: uleb(image number * 8 + flags)
 *            sleb(offset - the last offset of the stack in that image, which begins as 0)
 *   flags = kind + 2 * space + 4 * named
 *
 * kind: enum report_frame_kind; space: enum report_space; named: the report brought names for this
 * frame (brought_names.h); image 0: none, the offset is an address, or of a named frame a hash of
 * its names: what a JIT compiler made lies elsewhere in every process.
 * The hash is the first 16 bytes of the SHA-256 of: for each frame the image's id_key (its size as
 * uleb before), flags as one byte, the offset as 8 bytes (little-endian); so it is the same on
 * every server and in every database.
 */
#ifndef COLLECTOR_STACK_CODE_H
#define COLLECTOR_STACK_CODE_H

#include "base/reader.h"
#include "framewalk/error.h"

struct stack_frame {
    int64_t image; /* row of `image`; 0: none */
    uint64_t offset;
    uint8_t kind, space;
    bool named;
};
static inline unsigned stack_flags(const struct stack_frame *frame)
{
    return (frame->kind & 1u) + 2 * (frame->space & 1u) + 4 * (unsigned)frame->named;
}
static inline struct stack_frame stack_frame_of(int64_t image, uint64_t offset, uint64_t flags)
{
    return (struct stack_frame){.image = image,
                                .offset = offset,
                                .kind = flags & 1,
                                .space = (uint8_t)(flags >> 1 & 1),
                                .named = (flags >> 2 & 1) != 0};
}

enum { STACK_CODE_FRAME_MAX = 20 }; /* bytes of one frame at most */
/* How many bytes were written; `out` has room for count * STACK_CODE_FRAME_MAX. */
size_t stack_encode(const struct stack_frame *frames, size_t count, uint8_t *out);
/* The frames of a code, and how many. FW_ERR_CORRUPT; FW_ERR_FULL when there are more than
 * `capacity`. */
fw_error stack_decode(struct span code, struct stack_frame *frames, size_t capacity, size_t *count);

/* id_keys: of each frame's image; empty when it has none. FW_ERR_MEMORY. */
fw_error stack_hash(const struct stack_frame *frames, const struct span *id_keys, size_t count,
                    uint8_t hash[16]);

#endif
