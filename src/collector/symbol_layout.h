/*
 * What a path of a symbol server asks for. Pure: no database, no file; nothing of a path ever
 * becomes part of a file name of ours.
 *
 * Layouts, each with the letter case that its clients use (others are not found):
 *
 *     unified      nn/nnnn.../executable, /debuginfo, /breakpad              lower
 *     GDB          [.build-id/]nn/nnnn..., nn/nnnn....debug                  lower
 *     SSQP         NAME/elf-buildid-ID/NAME, _.debug/elf-buildid-sym-ID/_.debug,
 *                  NAME/mach-uuid-ID/NAME, _.dwarf/mach-uuid-sym-ID/_.dwarf  id lower
 *     symstore     the same, perhaps below the name's first two letters
 *     LLDB         XXXX/XXXX/XXXX/XXXX/XXXX/XXXXXXXXXXXX, .app the executable   upper
 *     Breakpad     NAME/ID AGE/NAME.sym                                      upper, age lower
 *
 * The id alone decides; names are not compared with what we have.
 */
#ifndef COLLECTOR_SYMBOL_LAYOUT_H
#define COLLECTOR_SYMBOL_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum symbol_wanted { SYMBOL_EXECUTABLE = 1, SYMBOL_DEBUGINFO = 2, SYMBOL_BREAKPAD = 3 };

struct symbol_wish {
    enum symbol_wanted wanted;
    uint8_t id[64];
    size_t id_size;
    bool breakpad; /* `id` is that of Breakpad: see symbols_take_breakpad */
};

/* `path` without what stands before the layout: "ab/cdef/debuginfo". False: it is none. */
bool symbol_layout_read(const char *path, struct symbol_wish *wish);

/* An id as these paths have it: hexadecimal in lower case, 2 to 64 whole bytes. */
bool symbol_id_read(const char *text, size_t length, uint8_t id[64], size_t *size);

#endif
