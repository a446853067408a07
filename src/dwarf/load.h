/*
 * Unpacking the compressed sections of a debug file on several threads, before it is read.
 */
#ifndef DWARF_LOAD_H
#define DWARF_LOAD_H

#include "object/debug_sections.h"

/*
 * Inflates all sections that the DWARF reader may ask for (with `dwo`, their .dwo forms), the
 * largest first, on at most `threads` threads, this one included. Without it dwarf_open does the
 * same one by one; nothing else changes. What cannot be inflated is left for object_debug_section
 * to explain. The object must not be used meanwhile. Does nothing where nothing is packed.
 */
void dwarf_sections_load(struct object *object, bool dwo, unsigned threads);

#endif
