/* ELF files as symbolication uses them: debug sections unpacked and relocated, code ranges,
 * function starts, links to other files. Unpacked sections are limited to 16 MB here, so that the
 * time goes into our code. */
#include "object/codecs.h"
#include "object/debug_sections.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LIMIT = 16 << 20 };

static volatile uint64_t sink;

static uint8_t *limited_zlib(const uint8_t *data, size_t data_size, size_t size)
{
    return size <= LIMIT ? object_codecs_all.zlib(data, data_size, size) : NULL;
}

static uint8_t *limited_zstd(const uint8_t *data, size_t data_size, size_t size)
{
    return size <= LIMIT ? object_codecs_all.zstd(data, data_size, size) : NULL;
}

static bool count_start(void *context, uint64_t vaddr)
{
    *(uint64_t *)context += vaddr;
    return true;
}

static uint64_t use(struct object *object)
{
    static const char *const names[] = {"info",        "abbrev",   "line",   "str",   "line_str",
                                        "str_offsets", "addr",     "ranges", "frame", "rnglists",
                                        "types",       "cu_index", "aranges"};
    enum { NAMES = sizeof names / sizeof names[0] };
    uint64_t sum = 0;
    struct span data;
    struct object_inflation list[8];
    size_t count = object_inflations(object, names, NAMES, false, list, 8);
    for (size_t i = 0; i < count; i++)
        object_inflation_run(&list[i]);
    object_inflations_take(object, list, count);
    for (size_t i = 0; i < 2 * NAMES; i++) {
        struct fw_failure why = {0};
        if (object_debug_section(object, names[i / 2], i & 1, &data, &why) == FW_OK)
            for (size_t k = 0; k < data.size; k += 64)
                sum += data.data[k];
    }
    const struct object_range *ranges;
    if (object_code_ranges(object, &ranges, &count) == FW_OK)
        for (size_t i = 0; i < count; i++) {
            if (ranges[i].lo >= ranges[i].hi || (i && ranges[i].lo < ranges[i - 1].hi))
                abort();
            sum += ranges[i].lo;
        }
    object_function_starts(object, count_start, &sum);
    const char *path;
    if (object_debugaltlink(object, &path, &data))
        sum += strlen(path) + (data.size ? data.data[data.size - 1] : 0);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct object_codecs codecs = {.zlib = limited_zlib, .zstd = limited_zstd};
    struct object *object;
    object_set_codecs(&codecs);
    if (object_open_bytes(data, size, false, "bytes", &object, NULL) == FW_OK) {
        sink = use(object);
        object_close(object);
    }
    return 0;
}
