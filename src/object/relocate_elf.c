/*
 * Relocations of debug sections in relocatable ELF files, of any machine whose objects hold DWARF.
 *
 * Only what compilers put into data is known here: absolute and relative words, and the pairs of
 * differences that RISC-V keeps for its linker to shorten code. A relocation that is unknown, that
 * lies outside its section or names no symbol is left out and said; the others stand.
 *
 * Invariant: nothing outside of [piece, piece + size) is written.
 *
 * System V gABI chapter 4, "Relocation", and the processor supplements; for RISC-V the
 * "Relocations" chapter of its ELF psABI. The addend is in the record (RELA) or in the place itself
 * (REL).
 */
#include "object/debug_sections_elf.h"

#include <stdlib.h>

enum operation {
    OP_NONE,     /* hints for linkers */
    OP_ABSOLUTE, /* S + A */
    OP_RELATIVE, /* S + A - P */
    OP_ADD,      /* V + S + A */
    OP_SUB,      /* V - S - A */
    OP_SET_LOW6, /* the low 6 bits become those of S + A */
    OP_SUB_LOW6,
    OP_SET_ULEB, /* ULEB128 of the same length becomes S + A */
    OP_SUB_ULEB,
};

struct rule {
    uint16_t type; /* R_* of the machine */
    uint8_t operation;
    uint8_t size; /* bytes of the place */
};

static const struct rule x86_64_rules[] = {
    {0, OP_NONE, 0},      {1, OP_ABSOLUTE, 8},  {2, OP_RELATIVE, 4},  {10, OP_ABSOLUTE, 4},
    {11, OP_ABSOLUTE, 4}, {12, OP_ABSOLUTE, 2}, {13, OP_RELATIVE, 2}, {14, OP_ABSOLUTE, 1},
    {15, OP_RELATIVE, 1}, {17, OP_ABSOLUTE, 8}, /* DTPOFF64: offset in the thread's block */
    {21, OP_ABSOLUTE, 4}, {24, OP_RELATIVE, 8},
};
static const struct rule i386_rules[] = {
    {0, OP_NONE, 0},      {1, OP_ABSOLUTE, 4},  {2, OP_RELATIVE, 4},  {20, OP_ABSOLUTE, 2},
    {21, OP_RELATIVE, 2}, {22, OP_ABSOLUTE, 1}, {23, OP_RELATIVE, 1}, {32, OP_ABSOLUTE, 4},
};
static const struct rule aarch64_rules[] = {
    {0, OP_NONE, 0},       {256, OP_NONE, 0},     {257, OP_ABSOLUTE, 8},
    {258, OP_ABSOLUTE, 4}, {259, OP_ABSOLUTE, 2}, {260, OP_RELATIVE, 8},
    {261, OP_RELATIVE, 4}, {262, OP_RELATIVE, 2}, {1029, OP_ABSOLUTE, 8},
};
static const struct rule aarch64_ilp32_rules[] = {
    {0, OP_NONE, 0},     {1, OP_ABSOLUTE, 4}, {2, OP_ABSOLUTE, 2},
    {3, OP_RELATIVE, 4}, {4, OP_RELATIVE, 2}, {185, OP_ABSOLUTE, 4},
};
static const struct rule arm_rules[] = {
    {0, OP_NONE, 0},     {2, OP_ABSOLUTE, 4}, {3, OP_RELATIVE, 4},   {5, OP_ABSOLUTE, 2},
    {8, OP_ABSOLUTE, 1}, {40, OP_NONE, 0},    {106, OP_ABSOLUTE, 4}, /* V4BX; TLS_LDO32 */
};
static const struct rule ppc_rules[] = {
    {0, OP_NONE, 0},      {1, OP_ABSOLUTE, 4},  {3, OP_ABSOLUTE, 2},
    {24, OP_ABSOLUTE, 4}, {26, OP_RELATIVE, 4}, {78, OP_ABSOLUTE, 4},
};
static const struct rule ppc64_rules[] = {
    {0, OP_NONE, 0},      {1, OP_ABSOLUTE, 4},  {3, OP_ABSOLUTE, 2},
    {24, OP_ABSOLUTE, 4}, {26, OP_RELATIVE, 4}, {38, OP_ABSOLUTE, 8},
    {43, OP_ABSOLUTE, 8}, {44, OP_RELATIVE, 8}, {78, OP_ABSOLUTE, 8},
};
static const struct rule s390_rules[] = {
    {0, OP_NONE, 0},      {1, OP_ABSOLUTE, 1},  {3, OP_ABSOLUTE, 2},  {4, OP_ABSOLUTE, 4},
    {5, OP_RELATIVE, 4},  {16, OP_RELATIVE, 2}, {22, OP_ABSOLUTE, 8}, {23, OP_RELATIVE, 8},
    {52, OP_ABSOLUTE, 4}, {54, OP_ABSOLUTE, 8},
};
static const struct rule riscv_rules[] = {
    {0, OP_NONE, 0},      {1, OP_ABSOLUTE, 4},  {2, OP_ABSOLUTE, 8},  {8, OP_ABSOLUTE, 4},
    {9, OP_ABSOLUTE, 8},  {33, OP_ADD, 1},      {34, OP_ADD, 2},      {35, OP_ADD, 4},
    {36, OP_ADD, 8},      {37, OP_SUB, 1},      {38, OP_SUB, 2},      {39, OP_SUB, 4},
    {40, OP_SUB, 8},      {43, OP_NONE, 0},     {51, OP_NONE, 0},     {52, OP_SUB_LOW6, 1},
    {53, OP_SET_LOW6, 1}, {54, OP_ABSOLUTE, 1}, {55, OP_ABSOLUTE, 2}, {56, OP_ABSOLUTE, 4},
    {57, OP_RELATIVE, 4}, {60, OP_SET_ULEB, 0}, {61, OP_SUB_ULEB, 0},
};
static const struct rule mips_rules[] = {
    {0, OP_NONE, 0},      {2, OP_ABSOLUTE, 4},  {18, OP_ABSOLUTE, 8},
    {39, OP_ABSOLUTE, 4}, {41, OP_ABSOLUTE, 8}, {248, OP_RELATIVE, 4},
};

struct machine {
    const struct rule *rules;
    size_t count;
};

#define MACHINE(rules)                                                                             \
    (struct machine)                                                                               \
    {                                                                                              \
        (rules), sizeof(rules) / sizeof(rules)[0]                                                  \
    }

static struct machine machine_of(const struct object *object)
{
    switch (object->machine) {
    case EM_X86_64: return MACHINE(x86_64_rules);
    case EM_386: return MACHINE(i386_rules);
    case EM_AARCH64: return object->is_64 ? MACHINE(aarch64_rules) : MACHINE(aarch64_ilp32_rules);
    case EM_ARM: return MACHINE(arm_rules);
    case EM_PPC: return MACHINE(ppc_rules);
    case EM_PPC64: return MACHINE(ppc64_rules);
    case EM_S390: return MACHINE(s390_rules);
    case EM_RISCV: return MACHINE(riscv_rules);
    case EM_MIPS: return MACHINE(mips_rules);
    default: return (struct machine){NULL, 0};
    }
}

/* Records come in long runs of one or two types, so the last rule is asked first. */
static const struct rule *rule_of(const struct machine *machine, const struct rule *last,
                                  uint32_t type)
{
    if (last && last->type == type)
        return last;
    for (size_t i = 0; i < machine->count; i++)
        if (machine->rules[i].type == type)
            return &machine->rules[i];
    return NULL;
}

struct record {
    uint64_t offset;
    uint32_t symbol, type;
    uint64_t addend;
};

/* r_info of 64-bit MIPS is { u32 symbol, u8 special, u8 third, u8 second, u8 first type }, which in
 * little-endian files does not read as one number. */
static void read_mips64_info(struct reader *r, struct record *record)
{
    record->symbol = reader_u32(r);
    reader_skip(r, 3);
    record->type = reader_u8(r);
}

static struct record read_record(const struct object *object, struct reader *r, bool rela)
{
    struct record record = {.offset = object_word(object, r)};
    if (object->is_64 && object->machine == EM_MIPS) {
        read_mips64_info(r, &record);
    } else if (object->is_64) {
        uint64_t info = reader_u64(r);
        record.symbol = (uint32_t)(info >> 32);
        record.type = (uint32_t)info;
    } else {
        uint32_t info = reader_u32(r);
        record.symbol = info >> 8;
        record.type = info & 0xff;
    }
    if (rela && object->is_64)
        record.addend = reader_u64(r);
    else if (rela)
        record.addend = (uint64_t)(int32_t)reader_u32(r);
    return record;
}

static uint64_t load(const uint8_t *place, unsigned size, bool swap)
{
    struct reader r = reader_over(place, size);
    r.swap = swap;
    return reader_uint(&r, size);
}

static void store(uint8_t *place, unsigned size, bool big_endian, uint64_t value)
{
    for (unsigned i = 0; i < size; i++) {
        unsigned shift = 8 * (big_endian ? size - 1 - i : i);
        place[i] = (uint8_t)(value >> shift);
    }
}

/* An addend of REL has a sign. */
static uint64_t extend(uint64_t value, unsigned size)
{
    if (size >= 8)
        return value;
    unsigned shift = 64 - 8 * size;
    return (uint64_t)((int64_t)(value << shift) >> shift);
}

/* Puts `value` into the ULEB128 that stands at `place`, without changing its length; `subtract`:
 * takes it away from what is there. False when there is none inside of `room` bytes. */
static bool change_uleb(uint8_t *place, uint64_t room, uint64_t value, bool subtract)
{
    struct reader r = reader_over(place, (size_t)(room < 16 ? room : 16));
    uint64_t old = reader_uleb(&r);
    if (r.failed)
        return false;
    if (subtract)
        value = old - value;
    size_t length = reader_offset(&r);
    for (size_t i = 0; i < length; i++, value >>= 7)
        place[i] = (uint8_t)((value & 0x7f) | (i + 1 < length ? 0x80 : 0));
    return true;
}

/* False when the place lies outside of the section. */
static bool apply(const struct object *object, const struct elf_piece *piece,
                  const struct record *record, const struct rule *rule, bool rela, uint64_t symbol)
{
    if (rule->operation == OP_NONE)
        return true;
    if (record->offset >= piece->size || rule->size > piece->size - record->offset)
        return false;
    uint8_t *place = piece->data + record->offset;
    if (rule->operation == OP_SET_ULEB || rule->operation == OP_SUB_ULEB)
        return change_uleb(place, piece->size - record->offset, symbol + record->addend,
                           rule->operation == OP_SUB_ULEB);
    unsigned size = rule->size;
    uint64_t value = symbol + record->addend;
    bool place_matters = !rela || rule->operation >= OP_ADD;
    uint64_t old = place_matters ? load(place, size, object->swap) : 0;
    switch (rule->operation) {
    case OP_RELATIVE: value -= piece->address + record->offset; /* fall through */
    case OP_ABSOLUTE:
        if (!rela)
            value += extend(old, size);
        break;
    case OP_ADD: value = old + value; break;
    case OP_SUB: value = old - value; break;
    case OP_SET_LOW6: value = (old & ~(uint64_t)0x3f) | (value & 0x3f); break;
    case OP_SUB_LOW6: value = (old & ~(uint64_t)0x3f) | ((old - value) & 0x3f); break;
    default: break;
    }
    store(place, size, object->big_endian, value);
    return true;
}

/* The value of every symbol of the table, counted from where its section lies. */
static fw_error read_symbols(struct object *object, struct elf_debug *debug)
{
    struct elf_symtab table;
    if (elf_symtab_find(object, false, &table) != FW_OK)
        table.count = 0;
    debug->symbols = calloc(table.count + 1, sizeof *debug->symbols);
    if (!debug->symbols)
        return FW_ERR_MEMORY;
    debug->symbol_count = table.count;
    for (size_t i = 1; i < table.count; i++) {
        struct elf_symbol s;
        elf_symtab_read(object, &table, i, &s);
        if (s.reserved && s.section != SHN_ABS)
            continue; /* SHN_COMMON has an alignment for value */
        debug->symbols[i] = s.value;
        if (object->machine == EM_ARM && (s.info & 0xf) == STT_FUNC)
            debug->symbols[i] &= ~(uint64_t)1; /* Thumb, which DWARF does not mark */
        if (!s.reserved && s.section < object->section_count)
            debug->symbols[i] += debug->addresses[s.section];
    }
    return FW_OK;
}

/* Remembers the first relocation that could not be applied. */
static void complain(const struct object *object, const struct section *table, size_t i,
                     const struct record *record, fw_error code, const char *what,
                     struct fw_failure *why)
{
    if (why->code == FW_OK)
        object_fail(why, code, 0, table->view.offset, object->label,
                    "%s: relocation %zu (type %u at 0x%llx) %s", table->view.name, i, record->type,
                    (unsigned long long)record->offset, what);
}

static void apply_table(struct object *object, const struct elf_debug *debug,
                        const struct section *table, const struct elf_piece *piece,
                        struct fw_failure *why)
{
    bool rela = table->view.type == SHT_RELA;
    const size_t size = (object->is_64 ? 16u : 8u) + (rela ? (object->is_64 ? 8u : 4u) : 0u);
    struct machine machine = machine_of(object);
    const struct rule *rule = NULL;
    struct span bytes = object_section_bytes(object, table);
    struct reader r = object_reader(object, bytes);
    for (size_t i = 0; i < bytes.size / size; i++) {
        struct record record = read_record(object, &r, rela);
        rule = rule_of(&machine, rule, record.type);
        if (!rule)
            complain(object, table, i, &record, FW_ERR_UNSUPPORTED, "is unknown", why);
        else if (record.symbol && record.symbol >= debug->symbol_count)
            complain(object, table, i, &record, FW_ERR_CORRUPT, "names no symbol", why);
        else if (!apply(object, piece, &record, rule, rela,
                        record.symbol ? debug->symbols[record.symbol] : 0))
            complain(object, table, i, &record, FW_ERR_CORRUPT, "lies outside of its section", why);
    }
}

fw_error elf_relocate(struct object *object, const struct elf_piece *piece, struct fw_failure *why)
{
    struct elf_debug *debug = object->elf->debug;
    uint32_t next = debug->first_table[piece->section];
    if (next && !debug->symbols && read_symbols(object, debug) != FW_OK)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    for (; next; next = debug->next_table[next]) {
        const struct section *table = &object->sections[next];
        if (!table->inside || table->view.size > debug->budget) {
            object_fail(why, FW_ERR_TRUNCATED, 0, table->view.offset, object->label,
                        "%s lies beyond the end of the file", table->view.name);
            continue;
        }
        debug->budget -= table->view.size;
        apply_table(object, debug, table, piece, why);
    }
    return FW_OK;
}
