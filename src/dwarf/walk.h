/*
 * The walk over one unit's DIEs: functions, inlined calls and call sites, in one pass.
 */
#ifndef DWARF_WALK_H
#define DWARF_WALK_H

#include "dwarf/names.h"
#include "dwarf/ranges.h"

/* Fills in functions, inlines, calls and ranges of `result`, and makes subjects for them. False
 * when memory ran out. */
bool walk_unit(const struct view *view, const struct dwarf_options *options, struct arena *arena,
               struct subjects *subjects, struct dwarf_unit *result,
               struct dwarf_problems *problems);

#endif
