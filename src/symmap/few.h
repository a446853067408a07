/*
 * Which parts of an image have a say in the answers for a few addresses. A map of these alone
 * answers there what the whole map answers (tests/symmap/one_answer_test.c).
 */
#ifndef SYMMAP_FEW_H
#define SYMMAP_FEW_H

#include "symmap/convert.h"
#include "symmap/symbol_list.h"

/* Whether one of the ranges holds one of the addresses, which are ascending. */
bool few_cover(const struct object_range *ranges, size_t count, const uint64_t *addresses,
               size_t address_count);

/* The list of the symbols that decide about the addresses of options->only: where symbols end one
 * another, and which of them names a function of the units. `debug` may be NULL. FW_ERR_MEMORY. */
fw_error few_symbols(struct object *object, struct object *debug, const struct code_unit *units,
                     size_t unit_count, const struct convert_options *options,
                     struct symbol_list *symbols);

#endif
