/*
 * Demangling: the name in a symbol table to the name in the source.
 *
 * Languages are told apart by their prefixes: Swift, Rust (legacy and v0, RFC 2603) and C++
 * (Itanium C++ ABI, chapter 5). Names of C, of Objective-C methods (`-[Class method:]`) and of C's
 * blocks are readable and left alone. Mangled names come from files of unknown origin: input, depth
 * and time are capped, and output ends at the caller's buffer however long it would have become (a
 * name of 200 bytes can describe gigabytes).
 *
 * What stands behind a mangled name is shown behind the demangled one:
 *
 *     .cold .part.1 .isra.0 .constprop.0 .lto_priv.0 .llvm.123 .__uniq.1 .resume   f() (.cold)
 *     @plt @VERSION @@VERSION                                                      f()@plt
 *
 * as LLVM and the binutils do. Rust's `.llvm.HASH` is left out, its others follow without brackets.
 */
#ifndef DEMANGLE_DEMANGLE_H
#define DEMANGLE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    DEMANGLE_MAX_INPUT = 65536, /* bytes; longer names are left alone */
    DEMANGLE_TEXT_SIZE = 16384  /* a good size for `text` */
};

enum demangle_language {
    DEMANGLE_NONE, /* in options: by the prefix; as a result: not mangled, or not understood */
    DEMANGLE_CXX,
    DEMANGLE_RUST,
    DEMANGLE_SWIFT,
};

enum demangle_style {
    DEMANGLE_FULL,          /* void std::sort<int*>(int*, int*) */
    DEMANGLE_NO_PARAMETERS, /* std::sort<int*>: neither parameters nor what the function returns */
    DEMANGLE_SIMPLIFIED,    /* std::sort: no template or generic arguments and no suffixes either */
};

struct demangle_options {
    enum demangle_style style;
    enum demangle_language language; /* only this one, also where the prefix says nothing */
    bool types;                      /* C++: a type alone is a name too ("i" is int) */
    bool hashes;                     /* Rust: with the hashes of items and crates */
};

/*
 * Writes the demangled form of `mangled` into `text` (terminated; cut with "..." when it does not
 * fit) and says what language it was. DEMANGLE_NONE when the name is not mangled, not understood,
 * or too long: then `text` is undefined, and the name is to be shown as it is. `options` may be
 * NULL: all zero. Where memory ran out errno is ENOMEM, which the caller sets to 0 before; then the
 * answer, DEMANGLE_NONE too, is not to be believed.
 *
 * `size` is at least 4. Thread-safe; not async-signal-safe (long names allocate).
 */
enum demangle_language demangle(const char *mangled, const struct demangle_options *options,
                                char *text, size_t size);

#ifdef __cplusplus
}
#endif
#endif
