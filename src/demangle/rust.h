/* Names of Rust, inside of the demangler. */
#ifndef DEMANGLE_RUST_H
#define DEMANGLE_RUST_H

#include "demangle/demangle.h"
#include "demangle/text.h"

/*
 * Legacy names look like C++'s nested names: only with their hash, or with escapes for < and its
 * like, are they taken for Rust's, unless the options say that they are. False: not understood.
 */
bool rust_decode(const char *name, size_t length, const struct demangle_options *options,
                 struct text *text);

/* rust_v0.c: reads `name`, which begins behind the prefix; *used is where what is not part of the
 * name begins. */
bool rust_v0(const char *name, size_t length, const struct demangle_options *options,
             struct text *text, size_t *used);
/* A character as UTF-8. False: there is no such character. */
bool rust_character(struct text *text, unsigned long code);

#endif
