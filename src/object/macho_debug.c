/*
 * Debug sections of Mach-O files: __debug_NAME or __zdebug_NAME of the segment __DWARF, the name
 * cut to 16 bytes ("__debug_str_offs" is .debug_str_offsets), and their relocations in object
 * files.
 *
 * The sections of an object file have addresses of their own that do not overlap, and the places
 * that relocations speak of are filled in as if it stayed there. So what refers to a section
 * (r_extern clear, all scattered entries and pairs of differences of i386 and Arm) is right as it
 * is; only references to symbols lack their symbol's value, which is what is added here. Undefined
 * symbols count as 0.
 *
 * <mach-o/reloc.h>, <mach-o/x86_64/reloc.h>, <mach-o/arm64/reloc.h>: entries of 8 bytes, a 32-bit
 * address, then symbol number (24 bits), pc-relative (1), length as a power of two (2), extern (1),
 * type (4), counted from the lowest bit, or from the highest in big-endian files; scattered
 * (32-bit) entries have the highest bit of the first word set.
 */
#include "object/debug_sections.h"
#include "object/macho_internal.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_SIZE = 16, RELOC_SIZE = 8, RELOC_UNSIGNED = 0 };

struct relocation {
    uint32_t place, symbol;
    uint8_t type, size; /* bytes at the place */
    bool relative, symbolic, scattered;
};

static struct relocation read_relocation(const struct object *object, struct reader *r)
{
    uint32_t place = reader_u32(r), info = reader_u32(r);
    struct relocation reloc = {.place = place, .scattered = !object->is_64 && (place >> 31)};
    unsigned length;
    if (object->big_endian) {
        reloc.symbol = info >> 8;
        reloc.relative = info >> 7 & 1;
        length = info >> 5 & 3;
        reloc.symbolic = info >> 4 & 1;
        reloc.type = info & 0xf;
    } else {
        reloc.symbol = info & 0xffffff;
        reloc.relative = info >> 24 & 1;
        length = info >> 25 & 3;
        reloc.symbolic = info >> 27 & 1;
        reloc.type = (uint8_t)(info >> 28);
    }
    reloc.size = (uint8_t)(1u << length);
    return reloc;
}

static uint64_t symbol_value(const struct object *object, uint32_t number)
{
    struct macho_symbol s;
    if (!macho_table_symbol(&object->macho->table, number, &s) || (s.type & N_TYPE) == N_UNDF)
        return 0; /* of common symbols the value is a size */
    return s.value;
}

/* The type that subtracts a symbol; the entry behind it adds one at the same place. */
static bool is_subtractor(const struct object *object, uint8_t type)
{
    return (object->macho->cpu_type == CPU_X86_64 && type == 5) ||
           ((object->macho->cpu_type == CPU_ARM64 || object->macho->cpu_type == CPU_ARM64_32) &&
            type == 1);
}

static void add_at(const struct object *object, uint8_t *data, size_t size, uint64_t amount)
{
    for (size_t i = 0, carry = 0; i < size; i++) {
        uint8_t *byte = &data[object->big_endian ? size - 1 - i : i];
        size_t sum = *byte + (size_t)(amount >> 8 * i & 0xff) + carry;
        *byte = (uint8_t)sum;
        carry = sum >> 8;
    }
}

/* False for an entry that cannot be applied. */
static bool apply(const struct object *object, const struct relocation *reloc, uint8_t *data,
                  size_t size)
{
    if (reloc->scattered || !reloc->symbolic)
        return true;
    bool subtract = is_subtractor(object, reloc->type);
    if (reloc->relative || (reloc->type != RELOC_UNSIGNED && !subtract) || reloc->place >= size ||
        reloc->size > size - reloc->place)
        return false;
    uint64_t value = symbol_value(object, reloc->symbol);
    add_at(object, data + reloc->place, reloc->size, subtract ? 0 - value : value);
    return true;
}

static fw_error relocate(struct object *object, struct section *section, struct span *data,
                         struct fw_failure *why)
{
    struct span table = span_cut(object->file, section->macho.relocs,
                                 (uint64_t)section->macho.reloc_count * RELOC_SIZE);
    uint8_t *copy = malloc(data->size ? data->size : 1);
    if (!copy) {
        object->no_memory = true;
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    }
    if (data->size)
        memcpy(copy, data->data, data->size);
    struct reader r = object_reader(object, table);
    while (reader_left(&r) >= RELOC_SIZE) {
        uint64_t offset = section->macho.relocs + reader_offset(&r);
        struct relocation reloc = read_relocation(object, &r);
        if (!apply(object, &reloc, copy, data->size) && !section->macho.misfit)
            section->macho.misfit = offset;
    }
    section->macho.relocated = copy;
    *data = (struct span){copy, data->size};
    return FW_OK;
}

static struct section *section_called(const struct object *object, const char *prefix,
                                      const char *name, bool dwo)
{
    char plain[64], whole[64];
    snprintf(plain, sizeof plain, "%s%s", prefix, name);
    snprintf(whole, sizeof whole, "%s%s%s", prefix, name, dwo ? ".dwo" : "");
    if (dwo && strncmp(plain, whole, NAME_SIZE) == 0)
        return NULL; /* nothing of ".dwo" would be left */
    whole[NAME_SIZE] = 0;
    struct section *other = NULL;
    for (size_t i = 1; i < object->section_count; i++) {
        struct section *s = &object->sections[i];
        if (s->empty || strcmp(s->view.name, whole) != 0)
            continue;
        if (s->macho.dwarf)
            return s;
        other = other ? other : s;
    }
    return other;
}

static struct section *find_section(const struct object *object, const char *name, bool dwo)
{
    struct section *found = section_called(object, "__debug_", name, dwo);
    return found ? found : section_called(object, "__zdebug_", name, dwo);
}

fw_error macho_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                             struct fw_failure *why)
{
    *data = (struct span){NULL, 0};
    struct section *section = find_section(object, name, dwo);
    if (!section)
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "no section __debug_%s%s",
                           name, dwo ? ".dwo" : "");
    struct span bytes;
    fw_error error = object_section_contents(object, section, &bytes, why);
    if (error == FW_OK && section->macho.relocated)
        bytes.data = section->macho.relocated;
    else if (error == FW_OK && object->macho->file_type == MH_OBJECT && section->macho.reloc_count)
        error = relocate(object, section, &bytes, why);
    if (error == FW_OK && section->macho.misfit)
        object_fail(why, FW_ERR_CORRUPT, 0, section->macho.misfit, object->label,
                    "a relocation of %s cannot be applied", section->view.name);
    if (error == FW_OK)
        *data = bytes;
    return error;
}

size_t macho_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                        struct object_inflation *list, size_t room)
{
    size_t found = 0;
    for (size_t i = 0; i < count && found < room; i++) {
        const struct section *section = find_section(object, names[i], dwo);
        if (section && object_inflation_of(object, section->view.index, &list[found]))
            found++;
    }
    return found;
}

void macho_function_starts(struct object *object, object_start_call each, void *context)
{
    (void)macho_starts(object, each, context);
}
