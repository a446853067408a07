/*
 * Demangling: the name in a symbol table to the name in the source.
 *
 * C++ (Itanium C++ ABI, chapter 5) and Rust (legacy and v0, RFC 2603) are told apart by their
 * prefix. Mangled names come from files of unknown origin, so both ends are capped: a name longer
 * than DEMANGLE_MAX_INPUT is left alone (the parser recurses), and output ends at the caller's
 * buffer however long it would have become (a name of 200 bytes can describe gigabytes).
 */
#ifndef DEMANGLE_DEMANGLE_H
#define DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DEMANGLE_MAX_INPUT = 8192, /* parsed within 1.5 MB of stack */
    DEMANGLE_TEXT_SIZE = 16384 /* a good size for `text` */
};

/*
 * Writes the demangled form of `mangled` into `text` (terminated; cut with "..." when it does not
 * fit). The hash that ends a legacy Rust name is left out. False when the name is not mangled, not
 * understood or too long: then `text` is undefined and the name is to be shown as it is.
 *
 * `size` is at least 4. Thread-safe; not async-signal-safe (allocates for names with Unicode).
 */
bool demangle(const char *mangled, char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
