/*
 * The symbol map, format version 1 (docs/symbol-map.md): one file per image and architecture,
 * little-endian, sectioned, checksummed, mapped and searched in place.
 *
 * Reading: symmap_open checks the header, the section directory and all checksums, and refuses a
 * damaged file; after that lookups allocate nothing, take no lock, are bounded by (log blocks +
 * rows of a block + depth), may run in any number of threads, and are async-signal-safe as long as
 * the file is not truncated in place. Every offset is still checked at lookup: a checksum proves
 * that a file is what was written, not that what wrote it was right.
 */
#ifndef SYMMAP_SYMMAP_H
#define SYMMAP_SYMMAP_H

#include "symmap/code.h"

/* ---- reading ---- */

struct symmap;

#define SYMMAP_MAGIC   "FWSYMMAP" /* the first 8 bytes of a file */
#define SYMMAP_VERSION 1u         /* files of another major version are refused */

fw_error symmap_open(const char *path, struct symmap **map, struct fw_failure *why);
/* Bytes that outlive the map. `trusted`: made by this process just now, checksums are not computed
 * again. */
fw_error symmap_open_bytes(struct span bytes, bool trusted, const char *label, struct symmap **map,
                           struct fw_failure *why);
void symmap_close(struct symmap *map);

struct symmap_identity {
    uint8_t id[64]; /* build id or UUID, raw */
    uint32_t id_size;
    uint8_t id_kind;       /* SYMMAP_ID_* */
    char arch[16];         /* "x86_64", "arm64e", ... as object_arch_name */
    uint64_t base;         /* link-time address that offset 0 of lookups stands for */
    const char *object;    /* file name of the image; "" unknown */
    const char *producer;  /* of the debug information; "" unknown */
    const char *converter; /* "framewalk 0.1.0" */
    bool incomplete;       /* files that its debug information names were missing: names and lines
                              that were in them are not here */
};
enum { SYMMAP_ID_NONE = 0, SYMMAP_ID_BUILD_ID, SYMMAP_ID_UUID, SYMMAP_ID_TEXT_HASH };
const struct symmap_identity *symmap_identity(const struct symmap *map);

enum symmap_frame_flags {
    SYMMAP_FRAME_INLINED = 1,     /* inlined into the next frame */
    SYMMAP_FRAME_FROM_SYMBOL = 2, /* only the symbol table knows this function */
    SYMMAP_FRAME_SYNTHESIZED = 4, /* bounds known from unwind tables or function starts; no name */
    SYMMAP_FRAME_ARTIFICIAL = 8,
    SYMMAP_FRAME_PART = 16, /* .cold and the like: `start` is this part's */
    SYMMAP_FRAME_PLT = 32   /* a stub: `name` is what it leads to */
};

struct symmap_frame {
    const char *name;             /* mangled; NULL: unknown */
    const char *source_name;      /* short name of the debug file where `name` came from the symbol
                                     table; else NULL */
    const char *directory, *file; /* path is directory/file, or file alone when directory is "";
                                     NULL: unknown */
    uint32_t line, column;        /* 0: unknown */
    uint32_t function;    /* number of the (outer) function in the map; aliases, tail calls */
    uint64_t start, size; /* of the outer function's piece, as offsets from base */
    uint32_t flags;
};

/* Frames at `offset` (link-time address - base), innermost first, into frames[capacity]; *count is
 * how many there are, which may be more than were written. FW_ERR_NOT_FOUND: the map says that
 * nothing is known there. */
fw_error symmap_lookup(const struct symmap *map, uint64_t offset, struct symmap_frame *frames,
                       size_t capacity, size_t *count);

/* The source files that anything in the map is of, in no order; directory and file as in
 * symmap_frame. False past the last; *file is NULL for one that is damaged. */
bool symmap_file(const struct symmap *map, uint32_t number, const char **directory,
                 const char **file);

/* Names of other functions with the same code (ICF, aliases of the symbol table). */
size_t symmap_alias_count(const struct symmap *map, uint32_t function);
const char *symmap_alias(const struct symmap *map, uint32_t function, size_t i);

/* Call sites. Functions are numbered as in symmap_frame. */
enum {
    SYMMAP_CALL_INDIRECT = UINT32_MAX,     /* through a pointer */
    SYMMAP_CALL_ELSEWHERE = UINT32_MAX - 1 /* of no function of this map, or not known which */
};
struct symmap_function {
    const char *name; /* of the function, never of an inlined one */
    uint64_t start, size;
    uint32_t flags;      /* symmap_frame_flags */
    uint32_t whole;      /* of a part: the function that it is a part of, which has the tail calls;
                            else, or when that is not known, its own number */
    bool all_tail_calls; /* the list of its tail calls is whole */
    bool has_tail_calls;
};
size_t symmap_function_count(const struct symmap *map);
bool symmap_function(const struct symmap *map, uint32_t function, struct symmap_function *result);
/* What the call that returns to `return_offset` calls: a function number; in a partial map also
 * SYMMAP_CALL_ELSEWHERE. FW_ERR_NOT_FOUND when not known: only calls whose target has tail calls
 * are kept, and indirect ones tell nothing. */
fw_error symmap_call_at(const struct symmap *map, uint64_t return_offset, uint32_t *target);
/* The tail calls of a function; stops when `each` returns false. `target` is a function number or
 * one of SYMMAP_CALL_*; `offset` lies inside the jump. */
fw_error symmap_tail_calls(const struct symmap *map, uint32_t function,
                           bool (*each)(void *context, uint64_t offset, uint32_t target),
                           void *context);

/* Every row in address order, for verification and export; stops when `each` returns false. A gap
 * is a row with frame count 0. */
struct symmap_row {
    uint64_t lo, hi; /* offsets from base */
    const struct symmap_frame *frames;
    size_t frame_count;
};
fw_error symmap_each_row(const struct symmap *map,
                         bool (*each)(void *context, const struct symmap_row *row), void *context);

/* ---- writing ---- */

struct symmap_symbol { /* a function of the symbol table; bounds already decided */
    uint64_t lo, hi;   /* link-time */
    const char *name;  /* NULL: only bounds are known (synthesized) */
    uint32_t flags;    /* SYMMAP_FRAME_PLT */
    const char *file;  /* of its code that has no line rows; NULL: unknown */
};

struct symmap_source { /* all of it borrowed until symmap_build returns */
    struct symmap_identity identity;
    const struct code_unit *units; /* in the order of the debug file: the order never depends on
                                      threads */
    size_t unit_count;
    const struct symmap_symbol *symbols; /* any order of addresses; of equal `lo` the longest that
                                            has a name is the name, of equally long ones the last,
                                            as in llvm-symbolizer; the others become aliases */
    size_t symbol_count;
    bool columns;
    bool partial; /* more units exist than are given: keep calls of functions elsewhere */
};

struct symmap_problems { /* by category */
    uint64_t overlaps;   /* functions that overlap another in part: the rest of the later is kept */
    uint64_t duplicates; /* functions with the same range in several units */
    uint64_t aliases;
    uint64_t too_far; /* beyond what offsets can say */
};

/*
 * Encodes a map into malloc'ed *bytes. The result depends on `source` alone, not on `threads`.
 * `problems` may be NULL.
 */
fw_error symmap_build(const struct symmap_source *source, unsigned threads, uint8_t **bytes,
                      size_t *size, struct symmap_problems *problems, struct fw_failure *why);

#endif
