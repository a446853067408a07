/*
 * Source bundles of any form: what is written is bounded, and what was accepted is an index in
 * which every path is found and every file can be read. The input's bytes are read as stored
 * sources too, and as a path.
 */
#include "collector/source_bundle.h"

#include <stdlib.h>

enum { LIMIT = 1 << 22, ROOM = 1 << 23, KEPT = 4096 };

struct input {
    const uint8_t *data;
    size_t size;
};

struct output {
    uint8_t *bytes;
    size_t size;
};

static ssize_t give(void *context, const void **bytes)
{
    struct input *in = context;
    size_t n = in->size < 300 ? in->size : 300;
    *bytes = in->data;
    in->data += n;
    in->size -= n;
    return (ssize_t)n;
}

static bool take(void *context, uint64_t offset, struct span bytes)
{
    struct output *out = context;
    if (offset > ROOM || bytes.size > ROOM - offset)
        abort();
    if (bytes.size)
        memcpy(out->bytes + offset, bytes.data, bytes.size);
    if (offset + bytes.size > out->size)
        out->size = (size_t)offset + bytes.size;
    return true;
}

/* `sound`: it was written by us. */
static void read_store(struct span bytes, bool sound)
{
    struct source_store store;
    struct source_entry entry, found;
    if (source_store_open(bytes, &store, NULL) != FW_OK) {
        if (sound)
            abort();
        return;
    }
    for (uint32_t i = 0; i < store.count && i < KEPT; i++) {
        char path[SOURCE_PATH_MAX], clean[SOURCE_PATH_MAX];
        uint8_t *text;
        size_t size;
        if (!source_store_at(&store, i, &entry)) {
            if (sound)
                abort();
            continue;
        }
        fw_error error = source_store_read(&entry, &text, &size, NULL);
        if (error == FW_OK && size > SOURCE_FILE_BYTES)
            abort();
        free(text);
        if (sound && error != FW_OK)
            abort();
        if (entry.name.size >= sizeof path)
            continue;
        memcpy(path, entry.name.data, entry.name.size);
        path[entry.name.size] = 0;
        bool there = source_store_find(&store, path, &found);
        if (sound && (!there || found.packed.data != entry.packed.data ||
                      !source_path_clean(path, clean, sizeof clean) || strcmp(path, clean) != 0))
            abort();
    }
}

static void clean_path(const uint8_t *data, size_t size)
{
    char path[600], clean[512], again[512];
    size_t n = size < sizeof path - 1 ? size : sizeof path - 1;
    if (n)
        memcpy(path, data, n);
    path[n] = 0;
    if (source_path_clean(path, clean, sizeof clean) &&
        (!source_path_clean(clean, again, sizeof again) || strcmp(clean, again) != 0 ||
         (clean[0] == '/') != (path[0] == '/')))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    static uint8_t room[ROOM];
    struct output out = {room, 0};
    struct source_bundle bundle;
    struct fw_failure why = {0};
    const struct unpack_source source = {give, &in};
    const struct source_bundle_output output = {take, &out};
    fw_error error = source_bundle_read(&source, LIMIT, &output, &bundle, &why);
    if (error == FW_OK && (bundle.size != out.size || bundle.id_size < 4 || !bundle.files))
        abort();
    if (error != FW_OK && !why.message[0])
        abort();
    if (error == FW_OK)
        read_store((struct span){out.bytes, out.size}, true);
    read_store((struct span){data, size}, false);
    clean_path(data, size);
    return 0;
}
