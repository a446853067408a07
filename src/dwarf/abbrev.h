/*
 * Abbreviation tables (DWARF 5 section 7.5.3), compiled: what the walk does with a DIE, and a short
 * program that gets over its attributes and fetches those that matter.
 *
 * Invariant: the steps of an abbreviation depend on nothing but its declaration and the sizes of
 * addresses and offsets, so `tail` and each `offset` are exact; a table is immutable once compiled.
 */
#ifndef DWARF_ABBREV_H
#define DWARF_ABBREV_H

#include "dwarf/internal.h"

enum die_kind {               /* what the walk does with a DIE */
                DIE_END = 0,  /* code 0: ends the children of a DIE */
                DIE_LEAF,     /* nothing of interest, no children */
                DIE_JUMP,     /* nothing of interest, children that hold no code */
                DIE_TYPE,     /* a type: children that hold code in some languages only */
                DIE_ABSTRACT, /* a function without code of its own */
                DIE_ENTER,    /* children that may hold code */
                DIE_FUNCTION, /* a subprogram that may have code */
                DIE_INLINE,   /* an inlined call */
                DIE_CALL,     /* a call site */
                DIE_BAD       /* no such abbreviation, or one that cannot be read */
};

enum die_slot { /* attributes that are fetched; several attributes may share one */
                SLOT_LOW_PC = 0,
                SLOT_HIGH_PC,
                SLOT_RANGES,
                SLOT_ENTRY_PC,
                SLOT_NAME,
                SLOT_LINKAGE,
                SLOT_ORIGIN,
                SLOT_SPECIFICATION,
                SLOT_CALL_FILE,
                SLOT_CALL_LINE,
                SLOT_CALL_COLUMN,
                SLOT_DECL_FILE,
                SLOT_DECL_LINE,
                SLOT_ARTIFICIAL,
                SLOT_TRAMPOLINE,
                SLOT_ALL_CALLS,
                SLOT_CALL_PC,
                SLOT_RETURN_PC,
                SLOT_TAIL_CALL,
                SLOT_LANGUAGE,
                SLOT_PRODUCER,
                SLOT_COMP_DIR,
                SLOT_STMT_LIST,
                SLOT_STR_OFFSETS_BASE,
                SLOT_ADDR_BASE,
                SLOT_RNGLISTS_BASE,
                SLOT_GNU_RANGES_BASE,
                SLOT_DWO_NAME,
                SLOT_DWO_ID,
                SLOT_SIBLING,
                SLOT_COUNT,
                SLOT_NONE = SLOT_COUNT /* only to be got over */
};

struct die_step {
    uint16_t offset; /* from the end of the variable attribute before it, or of the code */
    uint16_t form;
    uint8_t slot;
    uint8_t width;    /* bytes; 0: none (flag_present, implicit_const), or variable */
    bool variable;    /* its size is known only from its bytes */
    int32_t constant; /* value of one of no bytes */
};

struct abbrev {
    uint32_t first_step;
    uint16_t step_count;
    uint16_t tag;
    uint16_t tail; /* bytes after the last variable attribute; all when there is none */
    uint8_t kind;  /* DIE_* */
    bool fixed;    /* no variable attribute */
    bool children;
    uint8_t sibling;       /* bytes from DW_AT_sibling to the end; 0: there is none, or it cannot be
                              said */
    uint8_t sibling_width; /* its bytes */
};

struct abbrev_table {
    struct abbrev *dense; /* by code */
    uint64_t dense_count;
    struct abbrev_coded {
        uint64_t code;
        struct abbrev abbrev;
    } *sparse; /* ascending by code: those that dense[] would be too large for */
    size_t sparse_count;
    struct die_step *steps;
    struct fw_failure broken; /* where compiling stopped; code FW_OK: nowhere */
};

/* The table of a unit, compiled if it is not yet. NULL when memory ran out. Thread-safe. */
const struct abbrev_table *abbrev_table_of(const struct unit *unit);
/* A table of one's own that is good for DIEs of this code: quick when its declaration comes early.
 * NULL when memory ran out; for abbrev_table_free. */
struct abbrev_table *abbrev_table_for(const struct unit *unit, uint64_t code);
void abbrev_table_free(struct abbrev_table *table);
const struct abbrev *abbrev_sparse(const struct abbrev_table *table, uint64_t code);

/* Never NULL. */
static inline const struct abbrev *abbrev_find(const struct abbrev_table *table, uint64_t code)
{
    return code < table->dense_count ? &table->dense[code] : abbrev_sparse(table, code);
}

#endif
