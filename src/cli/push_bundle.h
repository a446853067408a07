/*
 * A source bundle (docs/symbol-server.md): "SYSB", version 2, a zip with manifest.json and the
 * files. The same files give the same bytes, so that the collector knows what it has.
 */
#ifndef CLI_PUSH_BUNDLE_H
#define CLI_PUSH_BUNDLE_H

#include "base/reader.h"
#include "symmap/symmap.h"

struct push_source {
    const char *path;  /* as the debug file has it, clean (symbolicate/source_path.h) */
    const char *local; /* on this machine */
};

/* *bundle is mapped. False: *why says it. A file that cannot be read any more is left out. */
bool push_bundle_make(const struct push_source *sources, size_t count,
                      const struct symmap_identity *identity, struct span *bundle, char *why,
                      size_t size);

#endif
