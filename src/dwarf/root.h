/*
 * The first DIE of a unit and what it says about reading the others: bases, language, line table
 * (DWARF 5 sections 3.1.1 to 3.1.3). Read once for each unit, on first use.
 */
#ifndef DWARF_ROOT_H
#define DWARF_ROOT_H

#include "dwarf/form.h"

/* Makes `view` read the DIEs of `unit`. `skeleton` is the view of the unit that stands for this
 * one in the main file; NULL otherwise. False when memory ran out. Thread-safe. */
bool view_open(struct view *view, const struct unit *unit, const struct view *skeleton);
/* The same for the root alone, of which only the attributes may be used then (`view->root`): does
 * not compile the unit's whole table of abbreviations for it. */
bool view_open_root(struct view *view, const struct unit *unit);
/* Without the root: where the unit lies, its sizes and byte order. */
void view_begin(struct view *view, const struct unit *unit, const struct view *skeleton);

#endif
