/*
 * What is of use out of an upload: the debug files of a zip, a tar (packed with gzip, xz or zstd),
 * or a single packed file. Streaming, by libarchive.
 *
 * Nothing that the archive says is believed: bytes are counted as they are produced, holes of
 * sparse files included. No name of the archive is ever used for a file; the caller gets numbers.
 * This file opens, reads and writes nothing itself.
 *
 * Refused, with the entry's name: absolute paths, "..", backslashes, links, devices, names that
 * come twice, encrypted entries, damaged ones, more than UNPACK_ENTRIES entries, more bytes than
 * `limit`, more than UNPACK_RATIO bytes for one once UNPACK_RATIO_FROM were produced. Archives in
 * archives are left packed, and counted.
 */
#ifndef COLLECTOR_UNPACK_H
#define COLLECTOR_UNPACK_H

#include "base/reader.h"
#include "framewalk/error.h"

#include <sys/types.h>

enum { UNPACK_ENTRIES = 100000, UNPACK_RATIO = 200, UNPACK_RATIO_FROM = 64 << 20 };

struct unpack_source { /* the upload's bytes, from its start on */
    /* The next bytes, valid until the next call; 0 at the end, negative: failed. */
    ssize_t (*read)(void *context, const void **bytes);
    void *context;
};

struct unpack_sink { /* each returns false to end it all; the caller knows why */
    /* A file that is of use begins: `name` as the archive has it, for messages (but see `all`). */
    bool (*begin)(void *context, const char *name);
    /* Offsets ascend; what is left out are zeros. */
    bool (*write)(void *context, uint64_t offset, struct span bytes);
    bool (*end)(void *context, uint64_t size);
    void *context;
    bool all; /* every file is of use, and `begin` gets its whole name as it is */
};

struct unpack_sum {
    uint64_t entries, files; /* of these, files of use */
    uint64_t archives;       /* archives in the archive */
    uint64_t produced;       /* bytes, whether of use or not */
};

/* FW_ERR_FORMAT: no archive. FW_ERR_CORRUPT, FW_ERR_FULL (a limit), FW_ERR_UNSUPPORTED (refused).
 * FW_ERR_SYSTEM: `source` or `sink` ended it. */
fw_error unpack(const struct unpack_source *source, uint64_t limit, const struct unpack_sink *sink,
                struct unpack_sum *sum, struct fw_failure *why);

#endif
