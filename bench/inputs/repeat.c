/*
 * repeat [--dsym] INPUT OUTPUT BYTES: an executable's debug file of at least BYTES of DWARF, made
 * of real units: .debug_info, .debug_line, .debug_rnglists and the functions of the symbol table of
 * an ELF file (64 bits, little-endian, DWARF 5 of 32-bit offsets) many times over. Each copy lies
 * at addresses of its own; abbreviations, strings and location lists are shared, as a linker would.
 * --dsym: a Mach-O companion file instead of ELF; beyond 4 GB its section offsets wrap, as those of
 * real ones do.
 *
 * The input is trusted: it is one that fetch.sh made.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum section { INFO, ABBREV, LINE, STR, LINE_STR, LOCLISTS, RNGLISTS, SYMTAB, STRTAB, SECTIONS };
static const char *const elf_names[SECTIONS] = {
    ".debug_info",     ".debug_abbrev",   ".debug_line", ".debug_str", ".debug_line_str",
    ".debug_loclists", ".debug_rnglists", ".symtab",     ".strtab"};
static const char *const macho_names[SECTIONS] = {"__debug_info",
                                                  "__debug_abbrev",
                                                  "__debug_line",
                                                  "__debug_str",
                                                  "__debug_line_str",
                                                  "__debug_loclists",
                                                  "__debug_rnglists",
                                                  "",
                                                  ""};

struct bytes {
    const uint8_t *data;
    uint64_t size;
};

/* A number in a section that is different in each copy. */
struct patch {
    uint32_t place;
    uint8_t size;
    uint8_t by; /* BY_ADDRESS, or the section whose size is added for each copy */
};
enum { BY_ADDRESS = SECTIONS };

struct patches {
    struct patch *at;
    size_t count, capacity;
};

static struct bytes input[SECTIONS];
static struct patches patches[SECTIONS];

static void die(const char *what)
{
    fprintf(stderr, "repeat: %s\n", what);
    exit(1);
}

static void add_patch(enum section section, uint64_t place, unsigned size, unsigned by)
{
    struct patches *list = &patches[section];
    if (list->count == list->capacity) {
        list->capacity = list->capacity ? 2 * list->capacity : 1024;
        list->at = realloc(list->at, list->capacity * sizeof *list->at);
        if (list->at == NULL)
            die("no memory");
    }
    list->at[list->count++] = (struct patch){(uint32_t)place, (uint8_t)size, (uint8_t)by};
}

/* ---- reading ---- */

static uint64_t fixed(const uint8_t **p, unsigned size)
{
    uint64_t value = 0;
    memcpy(&value, *p, size);
    *p += size;
    return value;
}

static uint64_t uleb(const uint8_t **p)
{
    uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
        const uint8_t byte = *(*p)++;
        value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return value;
    }
}

static void skip_string(const uint8_t **p)
{
    *p += strlen((const char *)*p) + 1;
}

struct attribute {
    uint16_t name, form;
};
struct abbreviation {
    bool children;
    uint16_t tag;
    unsigned count;
    struct attribute attributes[64];
};
static struct abbreviation abbreviations[65536];

static void read_abbreviations(uint64_t offset)
{
    const uint8_t *p = input[ABBREV].data + offset;
    for (uint64_t code; (code = uleb(&p)) != 0;) {
        if (code >= 65536)
            die("too many abbreviations");
        struct abbreviation *a = &abbreviations[code];
        a->tag = (uint16_t)uleb(&p);
        a->children = *p++;
        a->count = 0;
        for (;;) {
            const uint64_t name = uleb(&p), form = uleb(&p);
            if (form == 0x21) /* DW_FORM_implicit_const */
                uleb(&p);
            if (name == 0 && form == 0)
                break;
            if (a->count == 64)
                die("too many attributes");
            a->attributes[a->count++] = (struct attribute){(uint16_t)name, (uint16_t)form};
        }
    }
}

/* What a section offset of this attribute points into; 0: nothing that is repeated. */
static unsigned offset_target(unsigned name)
{
    switch (name) {
    case 0x10: return LINE;     /* DW_AT_stmt_list */
    case 0x55: return RNGLISTS; /* DW_AT_ranges */
    default: return 0;
    }
}

static void read_attribute(const uint8_t **p, struct attribute attribute, bool of_unit)
{
    const uint64_t place = (uint64_t)(*p - input[INFO].data);
    switch (attribute.form) {
    case 0x01: /* addr; zero is what a linker left of dropped code, but the base of a unit */
        if (fixed(p, 8) != 0 || of_unit)
            add_patch(INFO, place, 8, BY_ADDRESS);
        break;
    case 0x17: /* sec_offset */
        *p += 4;
        if (offset_target(attribute.name))
            add_patch(INFO, place, 4, offset_target(attribute.name));
        break;
    case 0x10: /* ref_addr */
        *p += 4;
        add_patch(INFO, place, 4, INFO);
        break;
    case 0x0b:
    case 0x0c:
    case 0x11: *p += 1; break; /* data1, flag, ref1 */
    case 0x05:
    case 0x12: *p += 2; break; /* data2, ref2 */
    case 0x06:
    case 0x13:
    case 0x0e:
    case 0x1f: *p += 4; break; /* data4, ref4, strp, line_strp */
    case 0x07:
    case 0x14:
    case 0x20: *p += 8; break;  /* data8, ref8, ref_sig8 */
    case 0x1e: *p += 16; break; /* data16 */
    case 0x0d:
    case 0x0f:
    case 0x15: uleb(p); break; /* sdata, udata, ref_udata */
    case 0x08: skip_string(p); break;
    case 0x0a: *p += fixed(p, 1); break; /* blocks, exprloc */
    case 0x03: *p += fixed(p, 2); break;
    case 0x04: *p += fixed(p, 4); break;
    case 0x09:
    case 0x18: *p += uleb(p); break;
    case 0x19:
    case 0x21: break; /* flag_present, implicit_const */
    default: die("a form that is not expected here");
    }
}

static void read_unit(const uint8_t *p, const uint8_t *end)
{
    if (fixed(&p, 2) != 5)
        die("not DWARF 5");
    const uint64_t type = fixed(&p, 1);
    p++; /* address size */
    const uint64_t abbrev = fixed(&p, 4);
    if (type == 2) /* DW_UT_type */
        p += 12;
    else if (type != 1 && type != 3)
        die("a kind of unit that is not expected here");
    read_abbreviations(abbrev);
    while (p < end) {
        const uint64_t code = uleb(&p);
        if (code == 0)
            continue;
        const struct abbreviation *a = &abbreviations[code];
        for (unsigned i = 0; i < a->count; i++)
            read_attribute(&p, a->attributes[i], a->tag == 0x11);
    }
}

static void read_line_program(const uint8_t *p, const uint8_t *end)
{
    const uint64_t version = fixed(&p, 2);
    if (version >= 5)
        p += 2;
    const uint64_t header = fixed(&p, 4);
    const uint8_t *program = p + header;
    p += version >= 4 ? 5 : 4; /* to opcode_base */
    const uint8_t opcode_base = *p++;
    const uint8_t *lengths = p;
    for (p = program; p < end;) {
        const uint8_t opcode = *p++;
        if (opcode >= opcode_base)
            continue;
        if (opcode == 0) {
            const uint64_t size = uleb(&p);
            if (*p == 2) /* DW_LNE_set_address */
                add_patch(LINE, (uint64_t)(p + 1 - input[LINE].data), 8, BY_ADDRESS);
            p += size;
        } else if (opcode == 9) { /* DW_LNS_fixed_advance_pc */
            p += 2;
        } else {
            for (unsigned i = 0; i < lengths[opcode - 1]; i++)
                uleb(&p);
        }
    }
}

static void read_ranges(const uint8_t *p, const uint8_t *end)
{
    p += 8 + 4 * (*(const uint32_t *)(p + 4)); /* header with its offsets */
    while (p < end) {
        const uint8_t kind = *p++;
        const uint64_t place = (uint64_t)(p - input[RNGLISTS].data);
        switch (kind) {
        case 0: break; /* end_of_list */
        case 4:
            uleb(&p);
            uleb(&p);
            break; /* offset_pair */
        case 5:    /* base_address */
        case 6:    /* start_end */
        case 7:    /* start_length */
            add_patch(RNGLISTS, place, 8, BY_ADDRESS);
            p += 8;
            if (kind == 6) {
                add_patch(RNGLISTS, place + 8, 8, BY_ADDRESS);
                p += 8;
            } else if (kind == 7) {
                uleb(&p);
            }
            break;
        default: die("a range entry that is not expected here");
        }
    }
}

/* Calls `read` with what follows the length of each unit of a section. */
static void each_unit(enum section section, void (*read)(const uint8_t *, const uint8_t *))
{
    const uint8_t *p = input[section].data, *end = p + input[section].size;
    while (p < end) {
        const uint64_t length = fixed(&p, 4);
        if (length > (uint64_t)(end - p))
            die("a unit of 64-bit DWARF, or a broken one");
        read(p, p + length);
        p += length;
    }
}

/* ---- the symbols: functions alone, names shared ---- */

static Elf64_Sym *functions;
static size_t function_count;
static uint64_t lowest = UINT64_MAX, highest;

static void read_functions(void)
{
    const Elf64_Sym *symbols = (const Elf64_Sym *)input[SYMTAB].data;
    const size_t count = input[SYMTAB].size / sizeof *symbols;
    functions = calloc(count, sizeof *functions);
    for (size_t i = 0; i < count && functions != NULL; i++) {
        if (ELF64_ST_TYPE(symbols[i].st_info) != STT_FUNC || symbols[i].st_shndx == 0)
            continue;
        functions[function_count++] = symbols[i];
        if (symbols[i].st_value < lowest)
            lowest = symbols[i].st_value;
        if (symbols[i].st_value + symbols[i].st_size > highest)
            highest = symbols[i].st_value + symbols[i].st_size;
    }
    if (function_count == 0)
        die("no functions");
}

/* ---- writing ---- */

static FILE *out;
static uint64_t copies, shift, base; /* base: added to all addresses */

static bool repeated(enum section section)
{
    return section == INFO || section == LINE || section == RNGLISTS;
}

static uint64_t size_of(enum section section)
{
    return input[section].size * (repeated(section) ? copies : 1);
}

static void put(const void *data, size_t size)
{
    if (size != 0 && fwrite(data, size, 1, out) != 1)
        die("cannot write");
}

static void put_section(enum section section)
{
    const struct patches *list = &patches[section];
    const uint64_t size = input[section].size;
    uint8_t *copy = malloc(size);
    if (copy == NULL)
        die("no memory");
    for (uint64_t k = 0; k < (repeated(section) ? copies : 1); k++) {
        memcpy(copy, input[section].data, size);
        for (size_t i = 0; i < list->count; i++) {
            const struct patch *patch = &list->at[i];
            uint64_t value = 0;
            memcpy(&value, copy + patch->place, patch->size);
            value += patch->by == BY_ADDRESS ? base + k * shift : k * input[patch->by].size;
            if (patch->size == 4 && value > UINT32_MAX)
                die("more than 32-bit DWARF can say");
            memcpy(copy + patch->place, &value, patch->size);
        }
        put(copy, size);
    }
    free(copy);
}

static void put_elf_functions(void)
{
    put(&(Elf64_Sym){0}, sizeof(Elf64_Sym));
    for (uint64_t k = 0; k < copies; k++)
        for (size_t i = 0; i < function_count; i++) {
            Elf64_Sym symbol = functions[i];
            symbol.st_value += base + k * shift;
            symbol.st_shndx = 1;
            symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
            put(&symbol, sizeof symbol);
        }
}

enum { NOTE_SIZE = 36 };
static void put_build_id(void)
{
    const uint32_t header[4] = {4, 20, 3, 0x00554e47}; /* NT_GNU_BUILD_ID, "GNU" */
    uint8_t id[20];
    memset(id, 0xb1, sizeof id);
    put(header, sizeof header);
    put(id, sizeof id);
}

static void put_elf(void)
{
    char names[512] = "";
    size_t names_size = 1;
    Elf64_Shdr sections[SECTIONS + 4] = {{0}};
    uint64_t place = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr);
    unsigned count = 1;
    const Elf64_Shdr text = {.sh_type = SHT_NOBITS,
                             .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                             .sh_addr = lowest,
                             .sh_size = highest + (copies - 1) * shift - lowest};
    const Elf64_Shdr note = {.sh_type = SHT_NOTE, .sh_size = NOTE_SIZE};
    sections[count++] = text;
    sections[count++] = note;
    for (unsigned s = 0; s < SECTIONS; s++)
        sections[count++] = (Elf64_Shdr){.sh_type = SHT_PROGBITS, .sh_size = size_of(s)};
    sections[3 + SYMTAB].sh_type = SHT_SYMTAB;
    sections[3 + SYMTAB].sh_size = (copies * function_count + 1) * sizeof(Elf64_Sym);
    sections[3 + SYMTAB].sh_entsize = sizeof(Elf64_Sym);
    sections[3 + SYMTAB].sh_link = 3 + STRTAB;
    sections[3 + SYMTAB].sh_info = 1;
    sections[3 + STRTAB].sh_type = SHT_STRTAB;
    sections[count++] = (Elf64_Shdr){.sh_type = SHT_STRTAB, .sh_size = sizeof names};
    for (unsigned i = 1; i < count; i++) {
        const char *name = i == 1           ? ".text"
                           : i == 2         ? ".note.gnu.build-id"
                           : i == count - 1 ? ".shstrtab"
                                            : elf_names[i - 3];
        sections[i].sh_name = (uint32_t)names_size;
        strcpy(names + names_size, name);
        names_size += strlen(name) + 1;
        sections[i].sh_addralign = 1;
        sections[i].sh_offset = place;
        if (sections[i].sh_type != SHT_NOBITS)
            place += sections[i].sh_size;
    }
    const Elf64_Phdr load = {.p_type = PT_LOAD,
                             .p_flags = PF_R | PF_X,
                             .p_vaddr = 0,
                             .p_paddr = 0,
                             .p_memsz = text.sh_addr + text.sh_size,
                             .p_align = 4096};
    Elf64_Ehdr header = {.e_type = ET_EXEC,
                         .e_machine = EM_X86_64,
                         .e_version = 1,
                         .e_phoff = sizeof header,
                         .e_shoff = place,
                         .e_ehsize = sizeof header,
                         .e_phentsize = sizeof load,
                         .e_phnum = 1,
                         .e_shentsize = sizeof *sections,
                         .e_shnum = (uint16_t)count,
                         .e_shstrndx = (uint16_t)(count - 1)};
    memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = 1;
    put(&header, sizeof header);
    put(&load, sizeof load);
    put_build_id();
    for (unsigned s = 0; s < SYMTAB; s++)
        put_section(s);
    put_elf_functions();
    put_section(STRTAB);
    put(names, sizeof names);
    put(sections, count * sizeof *sections);
}

/* The structures of <mach-o/loader.h> and <mach-o/nlist.h>, 64-bit. */
struct segment {
    uint32_t command, size;
    char name[16];
    uint64_t address, memory, offset, file;
    uint32_t most, first, sections, flags;
};
struct section_64 {
    char name[16], segment[16];
    uint64_t address, size;
    uint32_t offset, align, relocations, relocation_count, flags, reserved[3];
};
struct nlist {
    uint32_t name;
    uint8_t type, section;
    uint16_t description;
    uint64_t value;
};

/* C names begin with `_` here: the string before each name must end so, and in a copy it does. */
static char *macho_strings(uint64_t *size, uint32_t *places)
{
    char *strings = malloc(2 * input[STRTAB].size + 2 * function_count + 2);
    if (strings == NULL)
        die("no memory");
    strings[0] = 0;
    *size = 1;
    for (size_t i = 0; i < function_count; i++) {
        const char *name = (const char *)input[STRTAB].data + functions[i].st_name;
        places[i] = (uint32_t)*size;
        strings[(*size)++] = '_';
        const size_t length = strlen(name) + 1;
        memcpy(strings + *size, name, length);
        *size += length;
    }
    return strings;
}

static void put_dsym(void)
{
    uint32_t *places = calloc(function_count, sizeof *places);
    uint64_t strings_size;
    if (places == NULL)
        die("no memory");
    char *strings = macho_strings(&strings_size, places);
    enum { DWARF = SYMTAB };
    const uint32_t commands_size = 24 + 24 + (uint32_t)(2 * sizeof(struct segment)) +
                                   (1 + DWARF) * (uint32_t)sizeof(struct section_64);
    const uint64_t text_size = highest + (copies - 1) * shift;
    const uint64_t symbols_size = copies * function_count * sizeof(struct nlist);
    const uint64_t start = 4096; /* the symbols stand before the DWARF, within 32 bits */
    const uint64_t dwarf = (start + symbols_size + strings_size + 4095) & ~UINT64_C(4095);
    const uint32_t header[8] = {0xfeedfacf, 0x01000007,    3, 10 /* MH_DSYM */,
                                4,          commands_size, 0, 0};
    const uint32_t uuid[6] = {0x1b, 24, 0xb1b1b1b1, 0xb1b1b1b1, 0xb1b1b1b1, 0xb1b1b1b1};
    const uint32_t symtab[6] = {2,
                                24,
                                (uint32_t)start,
                                (uint32_t)(copies * function_count),
                                (uint32_t)(start + symbols_size),
                                (uint32_t)strings_size};
    const struct segment text = {0x19,
                                 sizeof text + sizeof(struct section_64),
                                 "__TEXT",
                                 base,
                                 (text_size + 4095) & ~UINT64_C(4095),
                                 0,
                                 0,
                                 5,
                                 5,
                                 1,
                                 0};
    const struct section_64 code = {.name = "__text",
                                    .segment = "__TEXT",
                                    .address = base + lowest,
                                    .size = text_size - lowest,
                                    .flags = 0x80000400};
    uint64_t whole = 0;
    for (unsigned s = 0; s < DWARF; s++)
        whole += size_of(s);
    const struct segment debug = {0x19,      sizeof debug + DWARF * sizeof(struct section_64),
                                  "__DWARF", text.address + text.memory,
                                  whole,     dwarf,
                                  whole,     7,
                                  3,         DWARF,
                                  0};
    put(header, sizeof header);
    put(uuid, sizeof uuid);
    put(symtab, sizeof symtab);
    put(&text, sizeof text);
    put(&code, sizeof code);
    put(&debug, sizeof debug);
    uint64_t place = 0;
    for (unsigned s = 0; s < DWARF; s++) {
        struct section_64 section = {.segment = "__DWARF",
                                     .address = debug.address + place,
                                     .size = size_of(s),
                                     .offset = (uint32_t)(dwarf + place),
                                     .flags = 0x02000000};
        memcpy(section.name, macho_names[s], strnlen(macho_names[s], sizeof section.name));
        put(&section, sizeof section);
        place += size_of(s);
    }
    fseek(out, (long)start, SEEK_SET);
    for (uint64_t k = 0; k < copies; k++)
        for (size_t i = 0; i < function_count; i++) {
            const struct nlist symbol = {places[i], 0x0f, 1, 0,
                                         functions[i].st_value + base + k * shift};
            put(&symbol, sizeof symbol);
        }
    put(strings, strings_size);
    fseek(out, (long)dwarf, SEEK_SET);
    for (unsigned s = 0; s < DWARF; s++)
        put_section(s);
    free(strings);
    free(places);
}

static void open_input(const char *path)
{
    struct stat status;
    const int fd = open(path, O_RDONLY);
    if (fd < 0 || fstat(fd, &status) != 0)
        die("cannot open the input");
    const uint8_t *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        die("cannot map the input");
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + elf->e_shoff);
    const char *names = (const char *)file + sections[elf->e_shstrndx].sh_offset;
    for (unsigned i = 0; i < elf->e_shnum; i++)
        for (unsigned s = 0; s < SECTIONS; s++)
            if (strcmp(names + sections[i].sh_name, elf_names[s]) == 0)
                input[s] = (struct bytes){file + sections[i].sh_offset, sections[i].sh_size};
}

int main(int argc, char **argv)
{
    const bool dsym = argc > 1 && strcmp(argv[1], "--dsym") == 0;
    argv += dsym;
    if (argc - dsym != 4)
        return 2;
    open_input(argv[1]);
    each_unit(INFO, read_unit);
    each_unit(LINE, read_line_program);
    each_unit(RNGLISTS, read_ranges);
    read_functions();
    uint64_t once = 0, each = 0;
    for (unsigned s = 0; s < SYMTAB; s++)
        *(repeated(s) ? &each : &once) += input[s].size;
    copies = (strtoull(argv[3], NULL, 10) - once + each - 1) / each;
    shift = (highest + (1 << 20)) & ~UINT64_C(0xfffff);
    base = dsym ? UINT64_C(0x100000000) : 0;
    out = fopen(argv[2], "wb");
    if (out == NULL)
        die("cannot open the output");
    if (dsym)
        put_dsym();
    else
        put_elf();
    if (fclose(out) != 0)
        die("cannot write");
    fprintf(stderr, "%llu copies, %llu bytes of DWARF\n", (unsigned long long)copies,
            (unsigned long long)(once + copies * each));
    return 0;
}
