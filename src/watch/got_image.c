/* Reading one loaded ELF image (got_image.h). */
#include "watch/got_image.h"

#include <elf.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ENTRIES = 4096 }; /* of a dynamic section, a version table, a hash chain */

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, SLOT = R_X86_64_GLOB_DAT, DATA = R_X86_64_64 };
#elif defined(__i386__)
enum { JUMP_SLOT = R_386_JMP_SLOT, SLOT = R_386_GLOB_DAT, DATA = R_386_32 };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, SLOT = R_AARCH64_GLOB_DAT, DATA = R_AARCH64_ABS64 };
#elif defined(__arm__)
enum { JUMP_SLOT = R_ARM_JUMP_SLOT, SLOT = R_ARM_GLOB_DAT, DATA = R_ARM_ABS32 };
#endif

#if __SIZEOF_POINTER__ == 8
#define INFO_SYMBOL(info) ELF64_R_SYM(info)
#define INFO_TYPE(info)   ELF64_R_TYPE(info)
#else
#define INFO_SYMBOL(info) ELF32_R_SYM(info)
#define INFO_TYPE(info)   ELF32_R_TYPE(info)
#endif

static const ElfW(Phdr) *
    segment_of(const struct got_image *image, uintptr_t address, size_t size, uint32_t flags)
{
    for (size_t i = 0; i < image->phdr_count; i++) {
        const ElfW(Phdr) *p = &image->phdr[i];
        const uintptr_t offset = address - image->bias - p->p_vaddr;
        if (p->p_type == PT_LOAD && (p->p_flags & flags) == flags && offset < p->p_memsz &&
            size <= p->p_memsz - offset)
            return p;
    }
    return NULL;
}

const void *got_bytes(const struct got_image *image, uintptr_t address, size_t size)
{
    return address && segment_of(image, address, size, PF_R) ? (const void *)address : NULL;
}

bool got_is_code(const struct got_image *image, uintptr_t address)
{
    return segment_of(image, address, 1, PF_X) != NULL;
}

bool got_is_data(const struct got_image *image, uintptr_t address)
{
    return address % sizeof(void *) == 0 &&
           segment_of(image, address, sizeof(void *), PF_R | PF_W) != NULL;
}

/* Copies an item of a table. */
static bool item(const struct got_image *image, uintptr_t table, size_t index, void *to,
                 size_t size)
{
    if (!table || index > (UINTPTR_MAX - table) / size)
        return false;
    const void *from = got_bytes(image, table + index * size, size);
    if (from)
        memcpy(to, from, size);
    return from != NULL;
}

/* Copies an entry of the dynamic section, which stands anywhere in a damaged image; false past its
 * end. */
static bool dynamic_entry(const struct got_image *image, size_t index, ElfW(Dyn) * entry)
{
    return index < MOST_ENTRIES &&
           item(image, (uintptr_t)image->map->l_ld, index, entry, sizeof *entry) &&
           entry->d_tag != DT_NULL;
}

const char *got_string(const struct got_image *image, uintptr_t offset)
{
    if (offset >= image->strings.size)
        return "";
    const char *text = (const char *)(image->strings.at + offset);
    return memchr(text, 0, image->strings.size - offset) ? text : "";
}

bool got_symbol(const struct got_image *image, size_t index, ElfW(Sym) * symbol)
{
    return item(image, image->symbols.at, index, symbol, sizeof *symbol);
}

/* Addresses in the dynamic section: the loader of glibc has added the bias, musl's has not. */
static uintptr_t address_of(const struct got_image *image, uintptr_t value)
{
    if (value >= image->lo && value < image->hi)
        return value;
    value += image->bias;
    return value >= image->lo && value < image->hi ? value : 0;
}

static void note_entry(struct got_image *image, const ElfW(Dyn) * d, struct got_table *strings)
{
    const uintptr_t value = (uintptr_t)d->d_un.d_val, address = address_of(image, value);
    switch (d->d_tag) {
    case DT_STRTAB: strings->at = address; break;
    case DT_STRSZ: strings->size = value; break;
    case DT_SYMTAB: image->symbols.at = address; break;
    case DT_HASH: image->hash = address; break;
    case DT_GNU_HASH: image->gnu_hash = address; break;
    case DT_VERSYM: image->versym = address; break;
    case DT_VERNEED: image->verneed = address; break;
    case DT_VERNEEDNUM: image->verneed_count = value; break;
    case DT_VERDEF: image->verdef = address; break;
    case DT_VERDEFNUM: image->verdef_count = value; break;
    case DT_REL: image->rel.at = address; break;
    case DT_RELSZ: image->rel.size = value; break;
    case DT_RELA: image->rela.at = address; break;
    case DT_RELASZ: image->rela.size = value; break;
    case DT_JMPREL: image->plt.at = address; break;
    case DT_PLTRELSZ: image->plt.size = value; break;
    case DT_PLTREL: image->plt_is_rela = value == DT_RELA; break;
    case DT_SYMBOLIC: image->symbolic = true; break;
    case DT_FLAGS: image->symbolic |= (value & DF_SYMBOLIC) != 0; break;
    case DT_SONAME: image->soname = value; break; /* an offset, until the strings are known */
    case DT_RUNPATH: image->has_runpath = true; break;
    case DT_RPATH: image->has_rpath = true; break;
    default: break;
    }
}

/* A table that is not in the image as a whole is none. */
static void check_table(const struct got_image *image, struct got_table *table)
{
    if (!got_bytes(image, table->at, table->size))
        *table = (struct got_table){0, 0};
}

static void note_segments(struct got_image *image)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    image->lo = UINTPTR_MAX;
    for (size_t i = 0; i < image->phdr_count; i++) {
        const ElfW(Phdr) *p = &image->phdr[i];
        const uintptr_t from = image->bias + p->p_vaddr, to = from + p->p_memsz;
        if (p->p_type == PT_LOAD && to > from) {
            image->lo = from < image->lo ? from : image->lo;
            image->hi = to > image->hi ? to : image->hi;
        } else if (p->p_type == PT_GNU_RELRO && to > from) { /* as the loader rounds it */
            image->relro = from & ~(page - 1);
            image->relro_size = (to & ~(page - 1)) - image->relro;
        }
    }
}

bool got_image_read(struct got_image *image, struct link_map *map, const ElfW(Phdr) * phdr,
                    size_t count)
{
    struct got_table strings = {0, 0};
    *image = (struct got_image){
        .map = map, .bias = map->l_addr, .phdr = phdr, .phdr_count = count, .lo = 0};
    note_segments(image);
    ElfW(Dyn) entry;
    for (size_t i = 0; dynamic_entry(image, i, &entry); i++)
        note_entry(image, &entry, &strings);
    check_table(image, &strings);
    check_table(image, &image->rel);
    check_table(image, &image->rela);
    check_table(image, &image->plt);
    image->strings = strings;
    if (image->soname)
        image->soname = (uintptr_t)got_string(image, image->soname);
    return image->symbols.at && strings.at;
}

/* The version number of a symbol, with its hidden bit; 1 (global) without a table. */
static uint16_t version_number(const struct got_image *image, size_t index)
{
    uint16_t number;
    return item(image, image->versym, index, &number, sizeof number) ? number : 1;
}

const char *got_wanted_version(const struct got_image *image, size_t index)
{
    const uint16_t number = version_number(image, index) & 0x7fff;
    uintptr_t at = image->verneed;
    if (number < 2)
        return NULL;
    for (size_t i = 0; at && i < image->verneed_count && i < MOST_ENTRIES; i++) {
        ElfW(Verneed) need;
        ElfW(Vernaux) aux;
        if (!item(image, at, 0, &need, sizeof need))
            return NULL;
        uintptr_t aux_at = at + need.vn_aux;
        for (unsigned j = 0; j < need.vn_cnt; j++) {
            if (!item(image, aux_at, 0, &aux, sizeof aux))
                return NULL;
            if ((aux.vna_other & 0x7fff) == number)
                return got_string(image, aux.vna_name);
            if (!aux.vna_next)
                break;
            aux_at += aux.vna_next;
        }
        at = need.vn_next ? at + need.vn_next : 0;
    }
    return NULL;
}

/* The name of version `number` that the image defines; NULL: none. */
static const char *defined_version(const struct got_image *image, unsigned number)
{
    uintptr_t at = image->verdef;
    for (size_t i = 0; at && i < image->verdef_count && i < MOST_ENTRIES; i++) {
        ElfW(Verdef) def;
        ElfW(Verdaux) aux;
        if (!item(image, at, 0, &def, sizeof def))
            return NULL;
        if ((def.vd_ndx & 0x7fff) == number)
            return item(image, at + def.vd_aux, 0, &aux, sizeof aux)
                       ? got_string(image, aux.vda_name)
                       : NULL;
        at = def.vd_next ? at + def.vd_next : 0;
    }
    return NULL;
}

/* Whether symbol `index` is a definition of `name` in `version`. *hidden: it is not the default. */
static bool is_definition(const struct got_image *image, size_t index, const char *name,
                          size_t length, const char *version, ElfW(Sym) * symbol, bool *hidden)
{
    if (!got_symbol(image, index, symbol) || symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
        return false;
    const char *text = got_string(image, symbol->st_name);
    if (strncmp(text, name, length) != 0 || text[length])
        return false;
    const uint16_t number = version_number(image, index);
    *hidden = number & 0x8000;
    if (!version || (number & 0x7fff) < 2)
        return true;
    const char *is = defined_version(image, number & 0x7fff);
    return is && strcmp(is, version) == 0;
}

struct search {
    const char *name, *version;
    size_t length;
    ElfW(Sym) * symbol;
    bool found;
};

/* True: the search is over. A hidden one is taken when nothing better comes, unless its version
 * was asked for. */
static bool look_at(const struct got_image *image, struct search *s, size_t index)
{
    ElfW(Sym) symbol;
    bool hidden;
    if (!is_definition(image, index, s->name, s->length, s->version, &symbol, &hidden))
        return false;
    if (!s->found || !hidden)
        *s->symbol = symbol;
    s->found = true;
    return s->version || !hidden;
}

static uint32_t gnu_hash_of(const char *name, size_t length)
{
    uint32_t h = 5381;
    for (size_t i = 0; i < length; i++)
        h = h * 33 + (uint8_t)name[i];
    return h;
}

static void search_gnu(const struct got_image *image, struct search *s)
{
    uint32_t header[4]; /* buckets, first symbol, words of the filter, its shift */
    uint32_t at, hash = gnu_hash_of(s->name, s->length);
    uintptr_t word;
    if (!item(image, image->gnu_hash, 0, header, sizeof header) || !header[0] || !header[2])
        return;
    const unsigned bits = sizeof word * 8;
    const uintptr_t filter = image->gnu_hash + sizeof header;
    if (!item(image, filter, hash / bits % header[2], &word, sizeof word) ||
        !(word >> hash % bits & word >> (hash >> (header[3] & 31)) % bits & 1))
        return;
    const uintptr_t buckets = filter + (uintptr_t)header[2] * sizeof word;
    const uintptr_t chain = buckets + (uintptr_t)header[0] * sizeof at;
    if (!item(image, buckets, hash % header[0], &at, sizeof at) || at < header[1])
        return;
    for (size_t i = 0; i < MOST_ENTRIES; i++, at++) {
        uint32_t other;
        if (!item(image, chain, at - header[1], &other, sizeof other))
            return;
        if ((other | 1) == (hash | 1) && look_at(image, s, at))
            return;
        if (other & 1)
            return;
    }
}

static void search_sysv(const struct got_image *image, struct search *s)
{
    uint32_t header[2], hash = 0, at;
    for (size_t i = 0; i < s->length; i++) {
        hash = (hash << 4) + (uint8_t)s->name[i];
        hash = (hash ^ (hash >> 24 & 0xf0)) & 0x0fffffff;
    }
    if (!item(image, image->hash, 0, header, sizeof header) || !header[0])
        return;
    const uintptr_t buckets = image->hash + sizeof header;
    const uintptr_t chain = buckets + (uintptr_t)header[0] * sizeof at;
    if (!item(image, buckets, hash % header[0], &at, sizeof at))
        return;
    for (size_t i = 0; at && i < MOST_ENTRIES; i++)
        if (look_at(image, s, at) || !item(image, chain, at, &at, sizeof at))
            return;
}

bool got_find(const struct got_image *image, const char *name, size_t length, const char *version,
              ElfW(Sym) * symbol)
{
    struct search s = {.name = name, .version = version, .length = length, .symbol = symbol};
    if (image->gnu_hash)
        search_gnu(image, &s);
    else
        search_sysv(image, &s);
    return s.found;
}

static enum got_kind kind_of(uint32_t type)
{
    return type == JUMP_SLOT ? GOT_JUMP_SLOT
           : type == SLOT    ? GOT_SLOT
           : type == DATA    ? GOT_DATA
                             : GOT_OTHER;
}

static void relocations_in(const struct got_image *image, const struct got_table *table,
                           bool is_rela,
                           void (*each)(void *context, const struct got_relocation *relocation),
                           void *context)
{
    const size_t size = is_rela ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
    for (size_t i = 0; i < table->size / size; i++) {
        ElfW(Rela) r = {0};
        memcpy(&r, (const char *)table->at + i * size, size);
        struct got_relocation relocation = {
            .kind = kind_of((uint32_t)INFO_TYPE(r.r_info)),
            .symbol = INFO_SYMBOL(r.r_info),
            .slot = image->bias + r.r_offset,
        };
        if (relocation.kind == GOT_OTHER || !relocation.symbol || r.r_addend != 0 ||
            !got_is_data(image, relocation.slot))
            continue;
        each(context, &relocation);
    }
}

void got_relocations(const struct got_image *image,
                     void (*each)(void *context, const struct got_relocation *relocation),
                     void *context)
{
    relocations_in(image, &image->rel, false, each, context);
    relocations_in(image, &image->rela, true, each, context);
    relocations_in(image, &image->plt, image->plt_is_rela, each, context);
}

void got_needed(const struct got_image *image, void (*each)(void *context, const char *name),
                void *context)
{
    ElfW(Dyn) entry;
    for (size_t i = 0; dynamic_entry(image, i, &entry); i++) {
        if (entry.d_tag == DT_NEEDED)
            each(context, got_string(image, (uintptr_t)entry.d_un.d_val));
    }
}
