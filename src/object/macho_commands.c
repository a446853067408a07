/*
 * Mach-O header and load commands, read one at a time.
 *
 * Invariant: nothing is read beyond the command that a reader stands for, whatever its counts say.
 *
 * <mach-o/loader.h>; thread states in <mach/arm/_structs.h> and <mach/i386/_structs.h>.
 */
#include "object/macho_format.h"

enum {
    MAGIC_32 = 0xfeedface,
    MAGIC_64 = 0xfeedfacf,
    MAGIC_32_SWAPPED = 0xcefaedfe,
    MAGIC_64_SWAPPED = 0xcffaedfe,
};

bool macho_read_header(struct reader *r, struct macho_header *header)
{
    *header = (struct macho_header){0};
    r->swap = false;
    uint32_t magic = reader_u32(r);
    header->swap = magic == MAGIC_32_SWAPPED || magic == MAGIC_64_SWAPPED;
    header->is_64 = magic == MAGIC_64 || magic == MAGIC_64_SWAPPED;
    if (!header->swap && !header->is_64 && magic != MAGIC_32)
        return false;
    r->swap = header->swap;
    header->cpu_type = reader_u32(r);
    header->cpu_subtype = reader_u32(r);
    header->file_type = reader_u32(r);
    header->command_count = reader_u32(r);
    header->commands_size = reader_u32(r);
    header->flags = reader_u32(r);
    if (header->is_64)
        reader_skip(r, 4);
    return !r->failed;
}

bool macho_next_command(struct reader *r, uint32_t *command, struct reader *body)
{
    if (reader_left(r) < 8)
        return false;
    struct reader ahead = *r;
    *command = reader_u32(&ahead);
    uint32_t size = reader_u32(&ahead);
    if (size < 8) {
        r->failed = true;
        return false;
    }
    *body = reader_sub(r, size);
    reader_skip(body, 8);
    return !r->failed;
}

static uint64_t word(struct reader *r, bool is_64)
{
    return is_64 ? reader_u64(r) : reader_u32(r);
}

static void read_name(struct reader *r, char name[MACHO_NAME_SIZE + 1])
{
    const uint8_t *bytes;
    name[0] = name[MACHO_NAME_SIZE] = 0;
    if (reader_take(r, MACHO_NAME_SIZE, &bytes))
        memcpy(name, bytes, MACHO_NAME_SIZE);
}

void macho_read_segment(struct reader *r, bool is_64, struct macho_segment *segment)
{
    const size_t section_size = is_64 ? 80 : 68;
    read_name(r, segment->name);
    segment->vaddr = word(r, is_64);
    segment->memory_size = word(r, is_64);
    segment->offset = word(r, is_64);
    segment->file_size = word(r, is_64);
    reader_skip(r, 4); /* the most that the protection may become */
    segment->protection = reader_u32(r);
    segment->section_count = reader_u32(r);
    reader_skip(r, 4); /* flags */
    size_t room = reader_left(r) / section_size;
    if (r->failed)
        segment->section_count = 0;
    else if (segment->section_count > room)
        segment->section_count = (uint32_t)room;
}

void macho_read_section(struct reader *r, bool is_64, struct macho_section *section)
{
    read_name(r, section->name);
    read_name(r, section->segment);
    section->vaddr = word(r, is_64);
    section->size = word(r, is_64);
    section->offset = reader_u32(r);
    reader_skip(r, 4); /* alignment */
    section->relocs = reader_u32(r);
    section->reloc_count = reader_u32(r);
    section->flags = reader_u32(r);
    section->indirect = reader_u32(r);
    uint32_t stub_size = reader_u32(r);
    if (is_64)
        reader_skip(r, 4);
    section->stub_size = (section->flags & S_TYPE_MASK) == S_SYMBOL_STUBS ? stub_size : 0;
}

uint64_t macho_thread_entry(struct reader *r, uint32_t cpu_type, bool is_64)
{
    static const struct {
        uint32_t cpu_type, flavor, pc; /* pc: its index in words of the architecture */
    } states[] = {
        {CPU_X86_64, 4, 16}, {CPU_I386, 1, 10}, {CPU_ARM, 1, 15},
        {CPU_ARM64, 6, 32},  {CPU_PPC, 1, 0},
    };
    uint32_t flavor = reader_u32(r);
    reader_skip(r, 4);
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
        if (states[i].cpu_type == cpu_type && states[i].flavor == flavor) {
            reader_skip(r, (uint64_t)states[i].pc * (is_64 ? 8 : 4));
            return word(r, is_64);
        }
    return 0;
}
