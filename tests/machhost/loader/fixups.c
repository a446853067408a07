/*
 * Rebases and binds of an image that is mapped: LC_DYLD_INFO's opcodes, and chained fixups with
 * 64-bit pointers (formats 2 and 6). Files are those that our own build made: a broken one is
 * refused where it is noticed, not everywhere.
 */
#include "internal.h"

#include <mach-o/fixup-chains.h>
#include <string.h>

typedef uint64_t binder_function(struct image *image, int ordinal, bool weak, const char *name);

static uint64_t uleb(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    do {
        if (shift < 64)
            value |= (uint64_t)(**at & 0x7f) << shift;
        shift += 7;
    } while (*(*at)++ & 0x80);
    return value;
}

static int64_t sleb(const uint8_t **at)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = *(*at)++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (byte & 0x40 && shift < 64)
        value |= ~(uint64_t)0 << shift;
    return (int64_t)value;
}

static const struct load_command *first_command(const struct image *image)
{
    return (const void *)(image->header + 1);
}

static const struct load_command *next_command(const struct load_command *command)
{
    return (const void *)((const char *)command + command->cmdsize);
}

static uint64_t segment_start(const struct image *image, unsigned index)
{
    const struct load_command *command = first_command(image);
    for (uint32_t i = 0; i < image->header->ncmds; i++, command = next_command(command)) {
        if (command->cmd == LC_SEGMENT_64 && index-- == 0)
            return ((const struct segment_command_64 *)(const void *)command)->vmaddr +
                   (uint64_t)image->slide;
    }
    return 0;
}

static void *linkedit(const struct image *image, uint32_t offset)
{
    return (void *)(uintptr_t)(image->linkedit->vmaddr + (uint64_t)image->slide + offset -
                               image->linkedit->fileoff);
}

static void rebase(const struct image *image, const uint8_t *at, const uint8_t *end)
{
    uint64_t where = 0;
    while (at < end) {
        const uint8_t opcode = *at & REBASE_OPCODE_MASK, low = *at & REBASE_IMMEDIATE_MASK;
        uint64_t count = 0, skip = 0;
        at++;
        switch (opcode) {
        case REBASE_OPCODE_DONE: return;
        case REBASE_OPCODE_SET_TYPE_IMM: break;
        case REBASE_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB:
            where = segment_start(image, low) + uleb(&at);
            break;
        case REBASE_OPCODE_ADD_ADDR_ULEB: where += uleb(&at); break;
        case REBASE_OPCODE_ADD_ADDR_IMM_SCALED: where += low * sizeof(uint64_t); break;
        case REBASE_OPCODE_DO_REBASE_IMM_TIMES: count = low; break;
        case REBASE_OPCODE_DO_REBASE_ULEB_TIMES: count = uleb(&at); break;
        case REBASE_OPCODE_DO_REBASE_ADD_ADDR_ULEB:
            count = 1;
            skip = uleb(&at);
            break;
        case REBASE_OPCODE_DO_REBASE_ULEB_TIMES_SKIPPING_ULEB:
            count = uleb(&at);
            skip = uleb(&at);
            break;
        default: return;
        }
        for (; count > 0; count--) {
            *(uint64_t *)(uintptr_t)where += (uint64_t)image->slide;
            where += sizeof(uint64_t) + skip;
        }
    }
}

static const char *bind(struct image *image, const uint8_t *at, const uint8_t *end, bool lazy,
                        binder_function *binder)
{
    uint64_t where = 0;
    int ordinal = 0;
    int64_t addend = 0;
    bool weak = false;
    const char *name = NULL;
    while (at < end) {
        const uint8_t opcode = *at & BIND_OPCODE_MASK, low = *at & BIND_IMMEDIATE_MASK;
        uint64_t count = 0, skip = 0;
        at++;
        switch (opcode) {
        case BIND_OPCODE_DONE:
            if (!lazy)
                return NULL;
            break;
        case BIND_OPCODE_SET_DYLIB_ORDINAL_IMM: ordinal = low; break;
        case BIND_OPCODE_SET_DYLIB_ORDINAL_ULEB: ordinal = (int)uleb(&at); break;
        case BIND_OPCODE_SET_DYLIB_SPECIAL_IMM: ordinal = low ? (int8_t)(0xf0 | low) : 0; break;
        case BIND_OPCODE_SET_SYMBOL_TRAILING_FLAGS_IMM:
            weak = low & BIND_SYMBOL_FLAGS_WEAK_IMPORT;
            name = (const char *)at;
            at += strlen(name) + 1;
            break;
        case BIND_OPCODE_SET_TYPE_IMM: break;
        case BIND_OPCODE_SET_ADDEND_SLEB: addend = sleb(&at); break;
        case BIND_OPCODE_SET_SEGMENT_AND_OFFSET_ULEB:
            where = segment_start(image, low) + uleb(&at);
            break;
        case BIND_OPCODE_ADD_ADDR_ULEB: where += uleb(&at); break;
        case BIND_OPCODE_DO_BIND: count = 1; break;
        case BIND_OPCODE_DO_BIND_ADD_ADDR_ULEB:
            count = 1;
            skip = uleb(&at);
            break;
        case BIND_OPCODE_DO_BIND_ADD_ADDR_IMM_SCALED:
            count = 1;
            skip = low * sizeof(uint64_t);
            break;
        case BIND_OPCODE_DO_BIND_ULEB_TIMES_SKIPPING_ULEB:
            count = uleb(&at);
            skip = uleb(&at);
            break;
        default: return "unknown bind opcode";
        }
        for (; count > 0 && name; count--) {
            const uint64_t target = binder(image, ordinal, weak, name);
            if (target == UINT64_MAX)
                return name;
            *(uint64_t *)(uintptr_t)where = target ? target + (uint64_t)addend : 0;
            where += sizeof(uint64_t) + skip;
        }
    }
    return NULL;
}

static const char *chain(struct image *image, uint16_t format, uint64_t place, uint64_t preferred,
                         const uint64_t *targets, uint32_t target_count)
{
    for (;;) {
        uint64_t *at = (uint64_t *)(uintptr_t)place;
        const uint64_t raw = *at;
        const uint64_t next = raw >> 51 & 0xfff;
        if (raw >> 63) {
            const uint32_t ordinal = raw & 0xffffff;
            if (ordinal >= target_count)
                return "chained bind of no import";
            const uint64_t addend = raw >> 24 & 0xff;
            *at = targets[ordinal] ? targets[ordinal] + addend : 0;
        } else {
            const uint64_t target = raw & 0xfffffffffULL;
            const uint64_t base = format == DYLD_CHAINED_PTR_64_OFFSET
                                      ? preferred + (uint64_t)image->slide
                                      : (uint64_t)image->slide;
            *at = (base + target) | (raw >> 36 & 0xff) << 56;
        }
        if (next == 0)
            return NULL;
        place += next * 4;
    }
}

static const char *chained(struct image *image, const char *data, binder_function *binder)
{
    static uint64_t targets[4096];
    const struct dyld_chained_fixups_header *header = (const void *)data;
    const char *imports = data + header->imports_offset, *names = data + header->symbols_offset;
    if (header->imports_count > sizeof(targets) / sizeof(targets[0]))
        return "too many imports";
    for (uint32_t i = 0; i < header->imports_count; i++) {
        const size_t width = header->imports_format == DYLD_CHAINED_IMPORT          ? 4
                             : header->imports_format == DYLD_CHAINED_IMPORT_ADDEND ? 8
                                                                                    : 0;
        if (!width)
            return "unknown format of imports";
        uint32_t word;
        int32_t addend = 0;
        memcpy(&word, imports + i * width, 4);
        if (width == 8)
            memcpy(&addend, imports + i * width + 4, 4);
        const char *name = names + (word >> 9);
        const uint64_t target = binder(image, (int8_t)(word & 0xff), word >> 8 & 1, name);
        if (target == UINT64_MAX)
            return name;
        targets[i] = target ? target + (uint64_t)(int64_t)addend : 0;
    }
    const uint64_t base = (uint64_t)(uintptr_t)image->header;
    const struct dyld_chained_starts_in_image *starts =
        (const void *)(data + header->starts_offset);
    for (uint32_t s = 0; s < starts->seg_count; s++) {
        if (!starts->seg_info_offset[s])
            continue;
        const struct dyld_chained_starts_in_segment *segment =
            (const void *)((const char *)starts + starts->seg_info_offset[s]);
        if (segment->pointer_format != DYLD_CHAINED_PTR_64 &&
            segment->pointer_format != DYLD_CHAINED_PTR_64_OFFSET)
            return "unknown format of chained pointers";
        for (uint16_t p = 0; p < segment->page_count; p++) {
            if (segment->page_start[p] == DYLD_CHAINED_PTR_START_NONE)
                continue;
            const char *error =
                chain(image, segment->pointer_format,
                      base + segment->segment_offset + (uint64_t)p * segment->page_size +
                          segment->page_start[p],
                      base - (uint64_t)image->slide, targets, header->imports_count);
            if (error)
                return error;
        }
    }
    return NULL;
}

const char *fixups_apply(struct image *image, binder_function *binder)
{
    const struct load_command *command = first_command(image);
    for (uint32_t i = 0; i < image->header->ncmds; i++, command = next_command(command)) {
        const char *error = NULL;
        if (command->cmd == LC_DYLD_INFO || command->cmd == LC_DYLD_INFO_ONLY) {
            const struct dyld_info_command *info = (const void *)command;
            const uint8_t *at = linkedit(image, info->rebase_off);
            rebase(image, at, at + info->rebase_size);
            at = linkedit(image, info->bind_off);
            error = bind(image, at, at + info->bind_size, false, binder);
            at = linkedit(image, info->lazy_bind_off);
            if (!error)
                error = bind(image, at, at + info->lazy_bind_size, true, binder);
        } else if (command->cmd == LC_DYLD_CHAINED_FIXUPS) {
            const struct linkedit_data_command *data = (const void *)command;
            error = chained(image, linkedit(image, data->dataoff), binder);
        }
        if (error)
            return error;
    }
    return NULL;
}
