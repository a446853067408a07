/* Reading stored sources; see source_store.h. Pure: bytes in, bytes out. */
#include "collector/source_store.h"

#include "base/failure.h"
#include "base/little_endian.h"

#include <stdlib.h>
#include <zstd.h>

/* `size` bytes from `offset`; false when they are not there. */
static bool part_of(struct span bytes, uint64_t offset, uint64_t size, struct span *part)
{
    if (offset > bytes.size || size > bytes.size - offset)
        return false;
    *part = (struct span){bytes.data + offset, (size_t)size};
    return true;
}

fw_error source_store_open(struct span bytes, struct source_store *store, struct fw_failure *why)
{
    *store = (struct source_store){.bytes = bytes};
    if (bytes.size < SOURCE_HEADER_SIZE || memcmp(bytes.data, SOURCE_MAGIC, 8) != 0)
        return failure_say(why, FW_ERR_CORRUPT, 0, "no stored sources");
    store->count = get_u32(bytes.data + 8);
    if (store->count > SOURCE_FILES_MAX ||
        !part_of(bytes, get_u64(bytes.data + 16), (uint64_t)store->count * SOURCE_ENTRY_SIZE,
                 &store->entries) ||
        !part_of(bytes, get_u64(bytes.data + 24), get_u32(bytes.data + 12), &store->names))
        return failure_say(why, FW_ERR_CORRUPT, 0, "the index of stored sources is damaged");
    return FW_OK;
}

bool source_store_at(const struct source_store *store, uint32_t index, struct source_entry *entry)
{
    if (index >= store->count)
        return false;
    const uint8_t *p = store->entries.data + (size_t)index * SOURCE_ENTRY_SIZE;
    entry->size = get_u32(p + 12);
    return entry->size <= SOURCE_FILE_BYTES &&
           part_of(store->bytes, get_u64(p), get_u32(p + 8), &entry->packed) &&
           part_of(store->names, get_u32(p + 16), get_u32(p + 20), &entry->name);
}

static int compare(struct span name, const char *path, size_t length)
{
    size_t both = name.size < length ? name.size : length;
    int order = both ? memcmp(name.data, path, both) : 0;
    return order ? order : (name.size > length) - (name.size < length);
}

bool source_store_find(const struct source_store *store, const char *path,
                       struct source_entry *entry)
{
    size_t length = strlen(path);
    uint32_t low = 0, high = store->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!source_store_at(store, middle, entry))
            return false;
        int order = compare(entry->name, path, length);
        if (order == 0)
            return true;
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

fw_error source_store_read(const struct source_entry *entry, uint8_t **text, size_t *size,
                           struct fw_failure *why)
{
    *text = malloc((size_t)entry->size + 1);
    if (!*text)
        return failure_say(why, FW_ERR_MEMORY, 0, "no memory for a source file");
    size_t done = ZSTD_decompress(*text, entry->size, entry->packed.data, entry->packed.size);
    if (ZSTD_isError(done) || done != entry->size) {
        free(*text);
        *text = NULL;
        return failure_say(why, FW_ERR_CORRUPT, 0, "a stored source file is damaged");
    }
    (*text)[done] = 0;
    *size = done;
    return FW_OK;
}
