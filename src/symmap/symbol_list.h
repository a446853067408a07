/*
 * What the symbol tables of an image and its debug file know, as a symbol map takes it: one name
 * for each address that a function starts at, its aliases, and functions of which only the bounds
 * are known (unwind tables, LC_FUNCTION_STARTS).
 */
#ifndef SYMMAP_SYMBOL_LIST_H
#define SYMMAP_SYMBOL_LIST_H

#include "object/excerpt.h"
#include "object/symbols.h"
#include "symmap/symmap.h"

struct symbol_list {
    struct symmap_symbol *items; /* in the order that symmap_source wants; names may repeat */
    size_t count;
    size_t named;            /* until symbol_list_finish: the first of the items, ascending */
    struct symbols *symbols; /* owns some of the names */
    struct excerpt *excerpt; /* of the symbol tables: what the list was made of; NULL: all */
};

/* `debug` may be NULL. The objects must outlive the list. FW_ERR_MEMORY is the only error. */
fw_error symbol_list_build(struct object *object, struct object *debug, struct symbol_list *list);
/* The same for a few windows (ascending, apart), in two steps: what lies in the ranges of the
 * excerpt is what the whole list has there. Between the steps items may be left out (with `named`
 * kept true). The list is to be freed after an error, too. */
fw_error symbol_list_near(struct object *object, struct object *debug,
                          const struct object_range *windows, size_t count,
                          struct symbol_list *list);
fw_error symbol_list_finish(struct object *object, struct object *debug, struct symbol_list *list);
void symbol_list_free(struct symbol_list *list);

#endif
