/*
 * Symbol tables: .symtab and .dynsym, the latter also without section headers.
 *
 * Names are offsets into a string table that is cut behind its last NUL when the table is found, so
 * a name is checked by one comparison and never scanned. Without section headers the number of
 * dynamic symbols is known only from the hash tables.
 *
 * System V gABI chapter 4, "Symbol Table"; chapter 5, "Hash Table"; the DT_GNU_HASH layout as
 * emitted by GNU ld and lld: { u32 buckets, u32 first symbol, u32 bloom words, u32 shift }, bloom
 * words of the class's size, buckets, and one chain word per symbol whose lowest bit ends a chain.
 */
#include "object/elf_internal.h"

static size_t symbol_size(const struct object *object)
{
    return object->is_64 ? 24 : 16;
}

/* Number of symbols that DT_GNU_HASH knows of; 0 when it is broken. */
static uint64_t count_of_gnu_hash(const struct object *object, struct span table)
{
    struct reader r = object_reader(object, table);
    uint32_t buckets = reader_u32(&r);
    uint32_t first = reader_u32(&r);
    uint32_t bloom = reader_u32(&r);
    reader_skip(&r, 4);
    reader_skip(&r, (uint64_t)bloom * (object->is_64 ? 8 : 4));
    uint32_t last = 0;
    for (uint32_t i = 0; i < buckets && !r.failed; i++) {
        uint32_t bucket = reader_u32(&r);
        last = bucket > last ? bucket : last;
    }
    if (r.failed)
        return 0;
    if (last < first)
        return first;
    reader_skip(&r, (uint64_t)(last - first) * 4);
    uint64_t count = last;
    uint32_t chain;
    do {
        chain = reader_u32(&r);
        count++;
    } while (!r.failed && !(chain & 1));
    return r.failed ? 0 : count;
}

static uint64_t count_of_hash(const struct object *object, struct span table)
{
    struct reader r = object_reader(object, table);
    reader_skip(&r, 4);
    return reader_u32(&r);
}

static fw_error find_through_dynamic(const struct object *object, struct elf_symtab *table)
{
    const struct elf_dynamic *d = &object->elf->dynamic;
    if (!d->symtab || !d->strtab)
        return FW_ERR_NOT_FOUND;
    uint64_t count = 0;
    if (d->gnu_hash)
        count = count_of_gnu_hash(object, object_at(object, d->gnu_hash));
    if (count == 0 && d->hash)
        count = count_of_hash(object, object_at(object, d->hash));
    *table = (struct elf_symtab){
        .symbols = object_at(object, d->symtab),
        .strings = span_strings(span_cut(object_at(object, d->strtab), 0, d->strtab_size)),
        .entry_size = symbol_size(object),
    };
    uint64_t room = table->symbols.size / table->entry_size;
    table->count = (size_t)(count < room ? count : room);
    return table->count ? FW_OK : FW_ERR_NOT_FOUND;
}

static fw_error find_through_sections(const struct object *object, uint32_t type,
                                      struct elf_symtab *table)
{
    const struct section *found = NULL;
    for (size_t i = 1; i < object->section_count && !found; i++)
        if (object->sections[i].view.type == type)
            found = &object->sections[i];
    if (!found)
        return FW_ERR_NOT_FOUND;
    if (!found->inside)
        return FW_ERR_TRUNCATED;
    if (found->elf.link == 0 || found->elf.link >= object->section_count)
        return FW_ERR_CORRUPT;
    *table = (struct elf_symtab){
        .symbols = object_section_bytes(object, found),
        .strings = span_strings(object_section_bytes(object, &object->sections[found->elf.link])),
        .entry_size = found->elf.entry_size ? (size_t)found->elf.entry_size : symbol_size(object),
    };
    if (found->elf.entry_size > UINT32_MAX || table->entry_size < symbol_size(object))
        return FW_ERR_CORRUPT;
    table->count = table->symbols.size / table->entry_size;
    for (size_t i = 1; i < object->section_count; i++) {
        const struct section *s = &object->sections[i];
        if (s->view.type == SHT_SYMTAB_SHNDX && s->elf.link == found->view.index)
            table->extended = object_section_bytes(object, s);
    }
    return FW_OK;
}

fw_error elf_symtab_find(const struct object *object, bool dynamic, struct elf_symtab *table)
{
    fw_error error = find_through_sections(object, dynamic ? SHT_DYNSYM : SHT_SYMTAB, table);
    return error != FW_OK && dynamic && find_through_dynamic(object, table) == FW_OK ? FW_OK
                                                                                     : error;
}

static inline uint16_t load_u16(const uint8_t *p, bool swap)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return swap ? __builtin_bswap16(v) : v;
}

static inline uint32_t load_u32(const uint8_t *p, bool swap)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return swap ? __builtin_bswap32(v) : v;
}

static inline uint64_t load_u64(const uint8_t *p, bool swap)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return swap ? __builtin_bswap64(v) : v;
}

/* Entry `i`, which is below table->count: the whole of it lies in the table, so its fields are not
 * checked one by one. Large tables are read for one address. */
static inline void read_entry(const struct object *object, const struct elf_symtab *table, size_t i,
                              struct elf_symbol *symbol)
{
    const uint8_t *p = table->symbols.data + i * table->entry_size;
    const bool swap = object->swap;
    uint32_t name = load_u32(p, swap);
    uint16_t section;
    if (object->is_64 && !swap) { /* the most usual, and so in the fewest steps */
        symbol->info = p[4];
        section = load_u16(p + 6, false);
        symbol->value = load_u64(p + 8, false);
        symbol->size = load_u64(p + 16, false);
    } else if (object->is_64) {
        symbol->info = p[4];
        section = load_u16(p + 6, swap);
        symbol->value = load_u64(p + 8, swap);
        symbol->size = load_u64(p + 16, swap);
    } else {
        symbol->value = load_u32(p + 4, swap);
        symbol->size = load_u32(p + 8, swap);
        symbol->info = p[12];
        section = load_u16(p + 14, swap);
    }
    symbol->section = section;
    symbol->reserved = section >= SHN_LORESERVE;
    if (section == SHN_XINDEX) {
        struct reader x = object_reader(object, span_cut(table->extended, i * 4, 4));
        symbol->section = reader_u32(&x);
        symbol->reserved = x.failed;
    }
    symbol->name = name < table->strings.size ? (const char *)table->strings.data + name : "";
}

bool elf_symtab_read(const struct object *object, const struct elf_symtab *table, size_t i,
                     struct elf_symbol *symbol)
{
    if (i >= table->count)
        return false;
    read_entry(object, table, i, symbol);
    return true;
}

/* $a, $t, $d, $x and these with a suffix: they mark code and data for disassemblers (ELF for the
 * Arm Architecture, section 5.5.5). */
static bool is_mapping_symbol(const char *name)
{
    return name[0] == '$' && name[1] && strchr("atdx", name[1]) && (name[2] == 0 || name[2] == '.');
}

fw_error elf_symbols(struct object *object, bool dynamic, object_symbol_call each, void *context)
{
    struct elf_symtab table;
    fw_error error = elf_symtab_find(object, dynamic, &table);
    if (error != FW_OK)
        return error;
    const bool arm = object->machine == EM_ARM, mapped = arm || object->machine == EM_AARCH64;
    const bool relocatable = object->elf->type == ET_REL;
    const char *file = NULL; /* STT_FILE stands before the local symbols of its object file */
    for (size_t i = 1; i < table.count; i++) {
        struct elf_symbol s;
        read_entry(object, &table, i, &s);
        uint8_t type = s.info & 0xf, binding = s.info >> 4;
        if (type == STT_FILE)
            file = s.name[0] ? s.name : NULL; /* "": what follows is the linker's own */
        if ((s.section == SHN_UNDEF && !s.reserved) || type == STT_SECTION || type == STT_FILE ||
            (mapped && is_mapping_symbol(s.name)))
            continue;
        bool code = type == STT_FUNC || type == STT_GNU_IFUNC;
        struct object_symbol symbol = {
            .vaddr = s.value,
            .size = s.size,
            .name = s.name,
            .binding = binding,
            .type = type,
            .section = s.reserved ? 0 : s.section,
            .file = binding == STB_LOCAL ? file : NULL,
            .thumb = arm && code && (s.value & 1),
        };
        if (symbol.thumb)
            symbol.vaddr &= ~(uint64_t)1;
        if (relocatable && symbol.section < object->section_count)
            symbol.vaddr += object->sections[symbol.section].view.vaddr;
        if (!each(context, &symbol))
            break;
    }
    return FW_OK;
}
