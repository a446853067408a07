/*
 * Demangling of Swift names: every mangling since Swift 1 ("_T", "_T0", "$S", "$s", "$e" and the
 * names of macro expansions), as specified by docs/ABI/Mangling.rst of the Swift project.
 *
 * Names come from files of unknown origin. Nodes, nesting, work and output are capped, so a name
 * costs at most SWIFT_MAX_MEMORY bytes, well under 256 KB of stack, and time in proportion to its
 * length and the caps, whatever it says.
 */
#ifndef DEMANGLE_SWIFT_H
#define DEMANGLE_SWIFT_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    SWIFT_MAX_INPUT = 1 << 16, /* a longer name is not understood */
    SWIFT_MAX_MEMORY = 1 << 21 /* for the parse of one name */
};

enum swift_style {
    SWIFT_FULL,      /* everything the name says, as `swift-demangle` prints it */
    SWIFT_SIMPLIFIED /* for people: no modules, types or where clauses, as in a debugger */
};

/* Whether the name begins like a mangled Swift name (also with Mach-O's extra underscore). */
bool swift_is_mangled(const char *name);

/*
 * Writes the demangled form of the `length` bytes at `mangled` into `text` (terminated; cut with
 * "..." when it does not fit). False when the name is not understood: then `text` is undefined and
 * the name is to be shown as it is. `size` is at least 4.
 *
 * Thread-safe; not async-signal-safe (long names are parsed with memory from malloc).
 */
bool swift_demangle(const char *mangled, size_t length, enum swift_style style, char *text,
                    size_t size);

#ifdef __cplusplus
}
#endif
#endif
