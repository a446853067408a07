/*
 * The symbol map on disk, format version 1: numbers and layouts that the writer and the reader
 * share. docs/symbol-map.md is the specification; this file follows it table by table.
 *
 * Everything is little-endian and unaligned; nothing here is ever cast onto file bytes. The structs
 * say what lies where, through the static asserts below them, and hold values in host order.
 */
#ifndef SYMMAP_FORMAT_H
#define SYMMAP_FORMAT_H

#include "base/little_endian.h"

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define FORMAT_MAGIC "FWSYMMAP"

enum { FORMAT_MAJOR = 1, FORMAT_MINOR = 0 };

/* Header, at 0. */
enum {
    HEADER_MAGIC = 0,
    HEADER_MAJOR = 8,          /* u16: another one cannot be read */
    HEADER_MINOR = 10,         /* u16: a higher one only adds */
    HEADER_SECTIONS = 12,      /* u32 */
    HEADER_SIZE_OF_FILE = 16,  /* u64 */
    HEADER_DIRECTORY_SUM = 24, /* u32: crc32c of the section directory */
    HEADER_SUM = 28,           /* u32: crc32c of the 28 bytes before */
    HEADER_SIZE = 32
};

/* An entry of the section directory, which follows the header. */
enum {
    ENTRY_ID = 0,      /* u32 SECTION_* */
    ENTRY_FLAGS = 4,   /* u32 */
    ENTRY_OFFSET = 8,  /* u64, a multiple of 8 */
    ENTRY_LENGTH = 16, /* u64 */
    ENTRY_SUM = 24,    /* u32: checksum_of() the section */
    ENTRY_SIZE = 32
};
enum { ENTRY_MUST_UNDERSTAND = 1 };
enum { SECTIONS_LIMIT = 64 };

enum section_id {
    SECTION_IDENTITY = 1,
    SECTION_INDEX,        /* u32: first block at or after each 2^k bytes */
    SECTION_BLOCK_STARTS, /* u32: offset from base, ascending */
    SECTION_BLOCK_PLACES, /* u32: where the block lies in SECTION_CODE */
    SECTION_CODE,         /* functions: head, contexts, blocks */
    SECTION_FUNCTIONS,    /* u32: where the head lies in SECTION_CODE */
    SECTION_SUBJECTS,     /* SUBJECT_SIZE each */
    SECTION_FILES,        /* FILE_SIZE each */
    SECTION_STRINGS,      /* NUL-terminated; begins with an empty one */
    SECTION_ALIASES,      /* PAIR_SIZE each: function, name; by function */
    SECTION_CALLS,        /* PAIR_SIZE each: return offset, target; by offset */
    SECTION_TAIL_CALLS,   /* lists that heads of functions refer to */
    SECTION_END
};

/* What people call a section; "unknown" for an id that this version does not know. */
const char *section_name(uint32_t id);

/* Identity section: fixed part, then strings by offset into SECTION_STRINGS. */
enum {
    IDENTITY_BASE = 0,         /* u64 */
    IDENTITY_ID = 8,           /* 64 bytes */
    IDENTITY_ID_SIZE = 72,     /* u8 */
    IDENTITY_ID_KIND = 73,     /* u8 */
    IDENTITY_UNIT_SHIFT = 74,  /* u8: lengths of rows count 1 << this bytes */
    IDENTITY_FLAGS = 75,       /* u8 */
    IDENTITY_INDEX_SHIFT = 76, /* u8: an entry of SECTION_INDEX is for 1 << this bytes */
    IDENTITY_ARCH = 80,        /* 16 bytes, NUL-terminated */
    IDENTITY_OBJECT = 96,      /* u32 */
    IDENTITY_PRODUCER = 100,   /* u32 */
    IDENTITY_CONVERTER = 104,  /* u32 */
    IDENTITY_SIZE = 112
};
enum {
    IDENTITY_HAS_COLUMNS = 1,
    IDENTITY_INCOMPLETE = 2 /* files that the debug information names were missing */
};

struct format_subject {
    uint32_t name, file, line;
}; /* file: 0 none, else number + 1 */
enum { SUBJECT_SIZE = 12 };
struct format_file {
    uint32_t directory, name;
};
enum { FILE_SIZE = 8 };
struct format_pair {
    uint32_t key, value;
};
enum { PAIR_SIZE = 8 };
static_assert(sizeof(struct format_subject) == SUBJECT_SIZE, "a subject is packed");
static_assert(sizeof(struct format_file) == FILE_SIZE, "a file is packed");
static_assert(sizeof(struct format_pair) == PAIR_SIZE, "a pair is packed");
static_assert(HEADER_SIZE == HEADER_SUM + 4, "the checksum ends the header");
static_assert(HEADER_SIZE % 8 == 0 && ENTRY_SIZE % 8 == 0, "sections stay aligned");

/* Head of a function in SECTION_CODE: u8 flags, uleb number, u32 start, uleb size, uleb subject,
 * and what the flags add, in the order of the bits. */
enum {
    HEAD_PART = 1, /* + uleb: number of the function that holds the entry, plus 1, or 0 */
    HEAD_ARTIFICIAL = 2,
    HEAD_FROM_SYMBOL = 4, /* without a name: synthesized */
    HEAD_PLT = 8,
    HEAD_ALL_TAIL_CALLS = 16,
    HEAD_TAIL_CALLS = 32, /* + uleb: offset of its list in SECTION_TAIL_CALLS */
    HEAD_SOURCE_NAME = 64 /* + uleb: offset in SECTION_STRINGS */
};

/* What a tail call in a list leads to: one of these, or function number + TAIL_CALL_FUNCTION. */
enum { TAIL_CALL_INDIRECT = 0, TAIL_CALL_ELSEWHERE = 1, TAIL_CALL_FUNCTION = 2 };

/* Context node: u8 head; subject, 1 to 4 bytes; parent; call line; with columns, uleb call column.
 */
enum {
    NODE_PASS = 0x80,         /* no row begins with it: the next node is the new one */
    NODE_SUBJECT_SHIFT = 5,   /* 2 bits: bytes of the subject - 1 */
    NODE_PARENT_SHIFT = 2,    /* 3 bits */
    NODE_PARENT_FUNCTION = 0, /* the function itself */
    NODE_PARENT_NEAR = 1,     /* 1..4: NODE_NEAR + this bytes back */
    NODE_PARENT_U8 = 5,
    NODE_PARENT_U16 = 6,
    NODE_PARENT_U32 = 7,
    NODE_NEAR = 2,
    NODE_CALL_U8 = 0, /* call line - line of the parent's subject + CALL_BIAS */
    NODE_CALL_S16 = 1,
    NODE_CALL_LONG = 2, /* uleb: zigzag of the difference << 1 | file differs; then uleb file */
    NODE_CALL_NONE = 3, /* line 0, file of the parent's subject */
    CALL_BIAS = 16
};
static_assert(NODE_PARENT_SHIFT == 2 && NODE_SUBJECT_SHIFT == NODE_PARENT_SHIFT + 3, "one byte");

/* Block: u8 rows - 1, uleb distance back to the head of its function, uleb place of the next new
 * node from there, rows. A row is a u16: */
enum {
    ROW_LENGTH_BITS = 5, /* in units; 0: a uleb follows */
    ROW_MOVE_SHIFT = 5,  /* 4 bits */
    ROW_LINE_SHIFT = 9,  /* 7 bits */
    ROW_LENGTH_MAX = 31,
    MOVE_RECENT = 12,     /* 0..11: that recent context */
    MOVE_NEW = 12,        /* the next new one */
    MOVE_FUNCTION = 13,   /* the function itself, not recent */
    MOVE_BACK = 14,       /* + uleb: distance from the next new node back to it */
    LINE_KNOWN_BIAS = 62, /* subtracted where the context is recent */
    LINE_FIRST_BIAS = 4,  /* else */
    LINE_SHORT = 126,     /* below: the difference */
    LINE_NONE = 126,      /* line 0; what is remembered for the context stays */
    LINE_LONG = 127       /* uleb: zigzag of the difference << 1 | file changes; then uleb file */
};
static_assert(ROW_LINE_SHIFT + 7 == 16, "a row is two bytes");
/* File numbers in nodes and rows. */
enum { FILE_DEFAULT = 0, FILE_NONE = 1, FILE_FIRST = 2 };

enum {
    BLOCK_ROWS = 48,  /* what the writer puts into one; the reader takes 256 */
    DEPTH_LIMIT = 512 /* inlined calls in one another */
};

/* ---- numbers ---- */

/* Unsigned LEB128 of at most 35 bits; false at the end of the bytes or when it is longer. */
static inline bool get_uleb(const uint8_t **p, const uint8_t *end, uint64_t *value)
{
    const uint8_t *at = *p;
    uint64_t v = 0;
    for (unsigned shift = 0; shift < 35; shift += 7) {
        if (at == end)
            return false;
        uint8_t byte = *at++;
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) {
            *p = at;
            *value = v;
            return true;
        }
    }
    return false;
}

static inline uint8_t *put_uleb(uint8_t *p, uint64_t v)
{
    for (; v >= 0x80; v >>= 7)
        *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Differences of lines are taken modulo 2^32: 34 bits hold one and the bit beside it. */
static inline uint64_t zigzag(uint32_t difference)
{
    return (uint32_t)(difference << 1) ^ (difference >> 31 ? UINT32_MAX : 0);
}

static inline uint32_t unzigzag(uint64_t v)
{
    return (uint32_t)(v >> 1) ^ (v & 1 ? UINT32_MAX : 0);
}

/* ---- recent contexts ---- */

/* The order of the slots, most recent first, four bits each. */
#define RECENT_START UINT64_C(0xba9876543210)

/* Moves the slot of this rank to the front and returns it. */
static inline unsigned recent_use(uint64_t *order, unsigned rank)
{
    uint64_t slot = *order >> rank * 4 & 15;
    uint64_t before = *order & ((UINT64_C(1) << rank * 4) - 1);
    uint64_t after = *order >> rank * 4 >> 4 << rank * 4 << 4;
    *order = after | before << 4 | slot;
    return (unsigned)slot;
}

/* The slot that was not used for the longest time. */
static inline unsigned recent_new(uint64_t *order)
{
    uint64_t slot = *order >> (MOVE_RECENT - 1) * 4;
    *order = (*order << 4 & UINT64_C(0xffffffffffff)) | slot;
    return (unsigned)slot;
}

#endif
