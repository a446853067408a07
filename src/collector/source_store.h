/*
 * Source files of one image as the blob store keeps them: each packed by itself (zstd), with an
 * index of their paths, so that one file is found and read without the others.
 *
 *     0   magic "FWSRC\0\0\1"
 *     8   u32 count of files
 *     12  u32 bytes of the names
 *     16  u64 where the entries lie, SOURCE_ENTRY_SIZE each, by name
 *     24  u64 where the names lie, one behind the other
 *     32  contents
 *     entry: u64 where the contents lie, u32 their size packed, u32 their size, u32 where the name
 *            begins among the names, u32 its size
 *
 * Little-endian. It is written by the converter (source_bundle.h), which reads hostile input, so
 * the server checks all of it again: nothing outside of the bytes is read, and a file has at most
 * SOURCE_FILE_BYTES.
 *
 * Paths are clean (source_path_clean): two spellings of one path are one path.
 */
#ifndef COLLECTOR_SOURCE_STORE_H
#define COLLECTOR_SOURCE_STORE_H

#include "base/reader.h"
#include "framewalk/error.h"
#include "symbolicate/source_path.h"

enum {
    SOURCE_FILES_MAX = 100000,
    SOURCE_FILE_BYTES = 8 << 20, /* of one file */
    SOURCE_HEADER_SIZE = 32,
    SOURCE_ENTRY_SIZE = 24
};
#define SOURCE_MAGIC "FWSRC\0\0\1"

struct source_store {
    struct span bytes, entries, names;
    uint32_t count;
};

struct source_entry {
    struct span packed;
    uint32_t size; /* of the file */
    struct span name;
};

/* Borrows `bytes`. FW_ERR_CORRUPT. */
fw_error source_store_open(struct span bytes, struct source_store *store, struct fw_failure *why);
/* False when there is none, or it is damaged. */
bool source_store_at(const struct source_store *store, uint32_t index, struct source_entry *entry);
/* By a clean path. */
bool source_store_find(const struct source_store *store, const char *path,
                       struct source_entry *entry);
/* The file's contents, malloc'ed, with a NUL behind them that does not count. */
fw_error source_store_read(const struct source_entry *entry, uint8_t **text, size_t *size,
                           struct fw_failure *why);

#endif
