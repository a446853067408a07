/*
 * A symbol store of its own in a temporary folder, and debug files put into it by hand, as an
 * upload would leave them.
 */
#ifndef TESTS_COLLECTOR_STORE_MAP_H
#define TESTS_COLLECTOR_STORE_MAP_H

#include "collector/symbols.h"

struct test_store {
    char folder[64];
    struct collector collector; /* db, blobs and symbols */
};

/* Ends the test when it fails. `maps_bytes` as of symbols_open. */
void test_store_open(struct test_store *store, uint64_t maps_bytes);
void test_store_close(struct test_store *store);

struct stored_file {
    uint8_t id[64];
    size_t id_size;
    char arch[16];
};
/* Converts the debug file at `path` and stores it and its map; rows and blobs are committed, and
 * nobody was told (symbols_changed). False, and `why`, when it cannot. */
bool store_debug_file(struct collector *c, const char *path, struct stored_file *stored,
                      struct fw_failure *why);
/* The same for bytes that are said to be a map of this image. */
bool store_map_bytes(struct collector *c, const struct stored_file *image, const void *bytes,
                     size_t size, struct fw_failure *why);

#endif
