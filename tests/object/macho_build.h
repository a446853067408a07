/*
 * Small Mach-O files made by hand, of either class and byte order: what no compiler here writes.
 *
 *     struct macho_build b;
 *     macho_begin(&b, true, false, CPU_X86_64, 3, MH_DYLIB);
 *     size_t text = macho_segment(&b, "__TEXT", ...);
 *     macho_section(&b, ...);
 *     macho_end_command(&b, text);
 *     macho_end(&b);
 */
#ifndef TESTS_OBJECT_MACHO_BUILD_H
#define TESTS_OBJECT_MACHO_BUILD_H

#include "object/macho_internal.h"

struct macho_build {
    uint8_t bytes[1 << 14];
    size_t used;
    uint32_t commands;
    bool is_64, big;
};

static inline void macho_put(struct macho_build *b, uint64_t value, size_t size)
{
    for (size_t i = 0; i < size; i++)
        b->bytes[b->used++] = (uint8_t)(value >> 8 * (b->big ? size - 1 - i : i));
}

static inline void macho_put32(struct macho_build *b, uint64_t value)
{
    macho_put(b, value, 4);
}

static inline void macho_word(struct macho_build *b, uint64_t value)
{
    macho_put(b, value, b->is_64 ? 8 : 4);
}

static inline void macho_name(struct macho_build *b, const char *name)
{
    memset(b->bytes + b->used, 0, 16);
    memcpy(b->bytes + b->used, name, strnlen(name, 16));
    b->used += 16;
}

static inline void macho_begin(struct macho_build *b, bool is_64, bool big, uint32_t cpu,
                               uint32_t subtype, uint32_t type)
{
    memset(b, 0, sizeof *b);
    b->is_64 = is_64;
    b->big = big;
    macho_put32(b, is_64 ? 0xfeedfacf : 0xfeedface);
    macho_put32(b, cpu);
    macho_put32(b, subtype);
    macho_put32(b, type);
    b->used = is_64 ? 32 : 28;
}

/* Where the command begins, for macho_end_command. */
static inline size_t macho_command(struct macho_build *b, uint32_t command)
{
    size_t start = b->used;
    b->commands++;
    macho_put32(b, command);
    macho_put32(b, 0);
    return start;
}

static inline void macho_patch32(struct macho_build *b, size_t place, uint64_t value)
{
    size_t used = b->used;
    b->used = place;
    macho_put32(b, value);
    b->used = used;
}

static inline void macho_end_command(struct macho_build *b, size_t start)
{
    macho_patch32(b, start + 4, b->used - start);
}

static inline size_t macho_segment(struct macho_build *b, const char *name, uint64_t vaddr,
                                   uint64_t memory_size, uint64_t offset, uint64_t file_size,
                                   uint32_t protection, uint32_t sections)
{
    size_t start = macho_command(b, b->is_64 ? 0x19 : 1);
    macho_name(b, name);
    macho_word(b, vaddr);
    macho_word(b, memory_size);
    macho_word(b, offset);
    macho_word(b, file_size);
    macho_put32(b, 7);
    macho_put32(b, protection);
    macho_put32(b, sections);
    macho_put32(b, 0);
    return start;
}

struct macho_place {
    uint64_t vaddr, size, offset;
    uint32_t relocs, reloc_count, flags, indirect, stub_size;
};

static inline void macho_section(struct macho_build *b, const char *name, const char *segment,
                                 struct macho_place place)
{
    macho_name(b, name);
    macho_name(b, segment);
    macho_word(b, place.vaddr);
    macho_word(b, place.size);
    macho_put32(b, place.offset & UINT32_MAX);
    macho_put32(b, 0);
    macho_put32(b, place.relocs);
    macho_put32(b, place.reloc_count);
    macho_put32(b, place.flags);
    macho_put32(b, place.indirect);
    macho_put32(b, place.stub_size);
    if (b->is_64)
        macho_put32(b, 0);
}

/* One command of up to four words. */
static inline void macho_words(struct macho_build *b, uint32_t command, const uint32_t *words,
                               size_t count)
{
    size_t start = macho_command(b, command);
    for (size_t i = 0; i < count; i++)
        macho_put32(b, words[i]);
    macho_end_command(b, start);
}

static inline void macho_end(struct macho_build *b)
{
    macho_patch32(b, 16, b->commands);
    macho_patch32(b, 20, b->used - (b->is_64 ? 32 : 28));
}

struct macho_entry {
    const char *name;
    uint8_t type, section;
    uint16_t desc;
    uint64_t value;
};

/* A table of symbols at `offset` with its strings behind it; returns LC_SYMTAB's words. */
static inline void macho_symtab(struct macho_build *b, size_t offset,
                                const struct macho_entry *entries, uint32_t count,
                                uint32_t words[4])
{
    size_t strings = offset + count * (b->is_64 ? 16u : 12u), next = 1;
    b->used = offset;
    for (uint32_t i = 0; i < count; i++) {
        macho_put32(b, next);
        macho_put(b, entries[i].type, 1);
        macho_put(b, entries[i].section, 1);
        macho_put(b, entries[i].desc, 2);
        macho_word(b, entries[i].value);
        memcpy(b->bytes + strings + next, entries[i].name, strlen(entries[i].name) + 1);
        next += strlen(entries[i].name) + 1;
    }
    b->used = strings + next;
    words[0] = (uint32_t)offset;
    words[1] = count;
    words[2] = (uint32_t)strings;
    words[3] = (uint32_t)next;
}

#endif
