/*
 * Does a symbol map say what the debug file says? Every row of the map and every boundary of the
 * debug file is looked up again, through symmap_lookup, and compared with what the DWARF tree says
 * there: inlined calls are found by descending through their ranges, lines by searching the
 * sequences. Nothing is shared with the code that flattens, merges and encodes.
 *
 * A row is right when one function of the debug file that covers it wholly says the same at every
 * address of it. Functions that appear in several units, or share their code, need not agree with
 * each other: one of them is the one that was kept. Rows of symbols are right when the symbol table
 * has the symbol, and no line table contradicts.
 */
#ifndef SYMMAP_VERIFY_H
#define SYMMAP_VERIFY_H

#include "symmap/convert.h"

enum verify_kind {                      /* ways to differ */
                   VERIFY_FUNCTION = 0, /* another function, or another name for it */
                   VERIFY_INLINED,      /* other inlined calls */
                   VERIFY_CALL_SITE,    /* file or line from where something is inlined */
                   VERIFY_FILE,
                   VERIFY_LINE,
                   VERIFY_MISSING,  /* code of the debug file, or a symbol, that the map lacks */
                   VERIFY_INVENTED, /* what neither debug file nor symbol table has */
                   VERIFY_BROKEN,   /* the map cannot be read there */
                   VERIFY_KINDS
};
const char *verify_kind_text(enum verify_kind kind);

enum { VERIFY_EXAMPLES = 3 };

struct verify_report {
    uint64_t rows, functions, symbols, lookups;
    uint64_t from_symbols; /* rows of which only the symbol table knows */
    uint64_t shared;       /* functions of the debug file whose code another one owns: duplicates,
                              aliases, overlaps */
    uint64_t count[VERIFY_KINDS];
    struct {
        uint64_t address;
        char text[448];
    } example[VERIFY_KINDS][VERIFY_EXAMPLES]; /* those at the lowest addresses */
};
/* Sum of count[]. */
uint64_t verify_differences(const struct verify_report *report);

/* Arguments as for symmap_convert; of the options threads and progress are used. FW_OK also when
 * there are differences. */
fw_error symmap_verify(const struct symmap *map, struct object *object, struct object *debug,
                       const struct dwarf_companions *companions,
                       const struct convert_options *options, struct verify_report *report,
                       struct fw_failure *why);

#endif
