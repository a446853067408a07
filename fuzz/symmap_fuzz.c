/*
 * Symbol maps of any bytes: open, look up, walk all rows, functions and calls. Opened as they are,
 * and then with the checksums made right, so that what lies behind them is reached as well.
 */
#include "base/crc32c.h"
#include "symmap/checksum.h"
#include "symmap/format.h"
#include "symmap/symmap.h"

#include <stdlib.h>

enum { FRAMES = 16, ROWS = 20000 };

static void use_frame(const struct symmap_frame *frame)
{
    static volatile size_t sum;
    const char *const texts[] = {frame->name, frame->source_name, frame->directory, frame->file};
    for (size_t i = 0; i < 4; i++)
        sum += texts[i] ? strlen(texts[i]) : 0;
}

static bool see_row(void *context, const struct symmap_row *row)
{
    size_t *left = context;
    for (size_t i = 0; i < row->frame_count && i < FRAMES; i++)
        use_frame(&row->frames[i]);
    return --*left;
}

static bool see_call(void *context, uint64_t offset, uint32_t target)
{
    size_t *left = context;
    (void)offset;
    (void)target;
    return --*left;
}

static void exercise(const struct symmap *map, const uint8_t *data, size_t size)
{
    struct symmap_frame frames[FRAMES];
    struct symmap_function function;
    uint32_t target;
    size_t count, left = ROWS;
    for (size_t i = 0; i + 4 <= size && i < 512; i += 4) { /* offsets that the bytes speak of */
        if (symmap_lookup(map, get_u32(data + i), frames, FRAMES, &count) == FW_OK)
            for (size_t k = 0; k < count && k < FRAMES; k++)
                use_frame(&frames[k]);
        symmap_call_at(map, get_u32(data + i), &target);
    }
    for (uint64_t offset = 0; offset < 256; offset++)
        symmap_lookup(map, offset, frames, FRAMES, &count);
    symmap_each_row(map, see_row, &left);
    for (uint32_t i = 0; i <= symmap_function_count(map) && i < 256; i++) {
        symmap_function(map, i, &function);
        for (size_t k = 0; k < symmap_alias_count(map, i) && k < 64; k++)
            symmap_alias(map, i, k);
        left = ROWS;
        symmap_tail_calls(map, i, see_call, &left);
    }
}

static void repair(uint8_t *data, size_t size)
{
    memcpy(data, FORMAT_MAGIC, 8);
    put_u16(data + HEADER_MAJOR, FORMAT_MAJOR);
    put_u64(data + HEADER_SIZE_OF_FILE, size);
    uint32_t sections = get_u32(data + HEADER_SECTIONS) % (SECTIONS_LIMIT + 1);
    if (sections > (size - HEADER_SIZE) / ENTRY_SIZE)
        sections = (uint32_t)((size - HEADER_SIZE) / ENTRY_SIZE);
    put_u32(data + HEADER_SECTIONS, sections);
    for (uint32_t i = 0; i < sections; i++) {
        uint8_t *entry = data + HEADER_SIZE + (size_t)i * ENTRY_SIZE;
        uint64_t offset = get_u64(entry + ENTRY_OFFSET), length = get_u64(entry + ENTRY_LENGTH);
        if (offset <= size && length <= size - offset)
            put_u32(entry + ENTRY_SUM, checksum_of(data + offset, (size_t)length));
    }
    put_u32(data + HEADER_DIRECTORY_SUM, crc32c(data + HEADER_SIZE, sections * ENTRY_SIZE));
    put_u32(data + HEADER_SUM, crc32c(data, HEADER_SUM));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct symmap *map;
    if (symmap_open_bytes((struct span){data, size}, false, "input", &map, NULL) == FW_OK) {
        exercise(map, data, size);
        symmap_close(map);
    }
    if (size < HEADER_SIZE)
        return 0;
    uint8_t *copy = malloc(size);
    memcpy(copy, data, size);
    repair(copy, size);
    if (symmap_open_bytes((struct span){copy, size}, false, "input", &map, NULL) == FW_OK) {
        exercise(map, copy, size);
        symmap_close(map);
    }
    free(copy);
    return 0;
}
