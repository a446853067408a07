/*
 * A source bundle as others make it (docs/symbol-server.md): "SYSB", a version, and a zip with
 * manifest.json, which says which entry is which source file of which image. Becomes stored sources
 * (source_store.h).
 *
 * Read by the converter, behind its walls, and by the same rules as other archives (unpack.h).
 * Nothing is believed: the manifest must name each file that is there, once, and nothing else; no
 * file has more than SOURCE_FILE_BYTES.
 */
#ifndef COLLECTOR_SOURCE_BUNDLE_H
#define COLLECTOR_SOURCE_BUNDLE_H

#include "collector/source_store.h"
#include "collector/unpack.h"

enum {
    SOURCE_BUNDLE_HEADER = 8,     /* bytes before the zip: "SYSB", u32 version */
    SOURCE_BUNDLE_LIMIT = 1 << 30 /* bytes of all its files */
};
#define SOURCE_BUNDLE_MAGIC "SYSB"

struct source_bundle { /* what the manifest says of the image */
    uint8_t id[64];    /* build id or UUID */
    size_t id_size;
    char arch[16];  /* "": not told */
    char name[128]; /* of the image's file */
    uint32_t files;
    uint64_t size; /* of what was written */
};

bool source_bundle_is(struct span start);

struct source_bundle_output { /* where the stored sources go; false ends it, the caller knows why */
    bool (*write)(void *context, uint64_t offset, struct span bytes);
    void *context;
};

/* `source` gives the upload from its start. Errors as of unpack(); FW_ERR_CORRUPT,
 * FW_ERR_UNSUPPORTED also of the manifest. */
fw_error source_bundle_read(const struct unpack_source *source, uint64_t limit,
                            const struct source_bundle_output *output, struct source_bundle *bundle,
                            struct fw_failure *why);

#endif
