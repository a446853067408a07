/*
 * Bytes of hand-made debug sections, and an ELF file around them. Shared by the tests and the fuzz
 * target.
 */
#ifndef TESTS_DWARF_ELF_BYTES_H
#define TESTS_DWARF_ELF_BYTES_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    uint8_t data[16384];
    size_t size;
    bool big; /* byte order of what is put */
};

static inline void put_raw(struct bytes *b, const void *data, size_t size)
{
    if (size > sizeof b->data - b->size)
        abort();
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static inline void put_uint(struct bytes *b, uint64_t value, unsigned size)
{
    uint8_t raw[8];
    for (unsigned i = 0; i < size; i++)
        raw[b->big ? size - 1 - i : i] = (uint8_t)(value >> 8 * i);
    put_raw(b, raw, size);
}

static inline void put_u8(struct bytes *b, uint64_t value)
{
    put_uint(b, value, 1);
}

static inline void put_uleb(struct bytes *b, uint64_t value)
{
    do {
        put_u8(b, (value & 0x7f) | (value > 0x7f ? 0x80 : 0));
        value >>= 7;
    } while (value);
}

static inline void put_text(struct bytes *b, const char *text)
{
    put_raw(b, text, strlen(text) + 1);
}

/* Overwrites `size` bytes at `at`: lengths that are known afterwards. */
static inline void patch_uint(struct bytes *b, size_t at, uint64_t value, unsigned size)
{
    size_t end = b->size;
    b->size = at;
    put_uint(b, value, size);
    b->size = end;
}

struct elf_part {
    const char *name;
    const void *data;
    size_t size;
};

/* An executable file with these sections and a .text of zeros at [text, text + text_size). To be
 * freed. */
static inline uint8_t *elf_of(const struct elf_part *parts, size_t count, bool is_64, bool big,
                              uint64_t text, uint64_t text_size, size_t *size)
{
    size_t names = 1, bytes = 0, header = is_64 ? 64 : 52, entry = is_64 ? 64 : 40;
    for (size_t i = 0; i < count; i++) {
        names += strlen(parts[i].name) + 1;
        bytes += parts[i].size;
    }
    names += sizeof ".text" + sizeof ".shstrtab";
    struct bytes *b = calloc(1, sizeof *b);
    size_t table = header + bytes + names, total = table + (count + 3) * entry;
    uint8_t *file = calloc(1, total);
    if (!b || !file)
        abort();
    b->big = big;
    unsigned word = is_64 ? 8 : 4;
    put_raw(b, ELFMAG, 4);
    put_u8(b, is_64 ? 2 : 1);
    put_u8(b, big ? 2 : 1);
    put_u8(b, 1);
    while (b->size < 16)
        put_u8(b, 0);
    put_uint(b, ET_EXEC, 2);
    put_uint(b, is_64 ? (big ? EM_S390 : EM_X86_64) : (big ? EM_PPC : EM_386), 2);
    put_uint(b, 1, 4);
    put_uint(b, text, word);
    put_uint(b, 0, word);
    put_uint(b, table, word);
    put_uint(b, 0, 4);
    put_uint(b, header, 2);
    put_uint(b, 0, 2);
    put_uint(b, 0, 2);
    put_uint(b, entry, 2);
    put_uint(b, count + 3, 2);
    put_uint(b, count + 2, 2);
    memcpy(file, b->data, b->size);
    size_t at = header, name = header + bytes + 1;
    for (size_t i = 0; i < count + 3; i++) {
        bool part = i >= 1 && i <= count, code = i == 0 ? false : i == count + 1;
        const char *label = i == 0 ? "" : part ? parts[i - 1].name : code ? ".text" : ".shstrtab";
        size_t length = part ? parts[i - 1].size : i == count + 2 ? names : 0;
        b->size = 0;
        put_uint(b, i ? name - (header + bytes) : 0, 4);
        put_uint(b, i == 0 ? SHT_NULL : code ? SHT_NOBITS : SHT_PROGBITS, 4);
        put_uint(b, code ? SHF_ALLOC | SHF_EXECINSTR : 0, word);
        put_uint(b, code ? text : 0, word);
        put_uint(b, part ? at : i == count + 2 ? header + bytes : 0, word);
        put_uint(b, code ? text_size : length, word);
        put_uint(b, 0, 4);
        put_uint(b, 0, 4);
        put_uint(b, 1, word);
        put_uint(b, 0, word);
        memcpy(file + table + i * entry, b->data, entry);
        if (part && length)
            memcpy(file + at, parts[i - 1].data, length);
        at += part ? length : 0;
        if (i) {
            memcpy(file + name, label, strlen(label) + 1);
            name += strlen(label) + 1;
        }
    }
    free(b);
    *size = total;
    return file;
}

#endif
