/*
 * What the symbol tables of an image and its debug file know, as a symbol map takes it: one name
 * for each address that a function starts at, its aliases, and functions of which only the bounds
 * are known (unwind tables, LC_FUNCTION_STARTS).
 */
#ifndef SYMMAP_SYMBOL_LIST_H
#define SYMMAP_SYMBOL_LIST_H

#include "object/symbols.h"
#include "symmap/symmap.h"

struct symbol_list {
    struct symmap_symbol *items; /* in the order that symmap_source wants; names may repeat */
    size_t count;
    struct symbols *symbols; /* owns some of the names */
};

/* `debug` may be NULL. The objects must outlive the list. FW_ERR_MEMORY is the only error. */
fw_error symbol_list_build(struct object *object, struct object *debug, struct symbol_list *list);
void symbol_list_free(struct symbol_list *list);

#endif
