/*
 * PLT stubs: a stub jumps through a GOT slot, a relocation fills that slot with a symbol; so the
 * stub's instructions lead to the slot's address, and that to the name. Stubs whose instructions
 * are not of a known form, or whose slot no named relocation fills (the common first entry,
 * R_*_IRELATIVE), get no name.
 *
 * System V psABI supplements of x86-64 and i386 (procedure linkage table, and the IBT forms with
 * .plt.sec), AArch64 (with BTI and PAC), Arm.
 */
#include "object/elf_internal.h"

#include <stdlib.h>

struct slot {
    uint64_t address;
    const char *name;
};

struct slots {
    struct slot *sorted; /* by address */
    size_t count, capacity;
    const char **by_index; /* names in the order of the PLT relocations */
    size_t index_count;
};

/* One decoded stub: which slot it goes through, or which relocation it names by number. */
struct stub {
    size_t begin, end; /* offsets in the section */
    bool by_index;
    uint64_t target;
};

struct relocation_types {
    uint32_t jump_slot, glob_dat;
};

static struct relocation_types types_of(const struct object *object)
{
    switch (object->machine) {
    case EM_X86_64: return (struct relocation_types){R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT};
    case EM_386: return (struct relocation_types){R_386_JMP_SLOT, R_386_GLOB_DAT};
    case EM_AARCH64: return (struct relocation_types){R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT};
    default: return (struct relocation_types){R_ARM_JUMP_SLOT, R_ARM_GLOB_DAT};
    }
}

static bool add_slot(struct slots *slots, uint64_t address, const char *name)
{
    if (slots->count == slots->capacity) {
        size_t capacity = slots->capacity ? slots->capacity * 2 : 256;
        struct slot *grown = realloc(slots->sorted, capacity * sizeof *grown);
        if (!grown)
            return false;
        slots->sorted = grown;
        slots->capacity = capacity;
    }
    slots->sorted[slots->count++] = (struct slot){address, name};
    return true;
}

/* Takes the named slots of one relocation section; `plt` says that stubs may name its entries by
 * number. */
static bool read_relocations(const struct object *object, const struct elf_symtab *symbols,
                             const char *name, bool plt, struct slots *slots)
{
    const struct section *section = object_section_named(object, name);
    if (!section)
        return true;
    struct relocation_types types = types_of(object);
    struct span bytes = object_section_bytes(object, section);
    bool addend = section->view.type == SHT_RELA;
    size_t size = (object->is_64 ? 16 : 8) + (addend ? (object->is_64 ? 8u : 4u) : 0u);
    size_t count = bytes.size / size;
    if (plt && count) {
        free(slots->by_index);
        slots->by_index = calloc(count, sizeof *slots->by_index);
        if (!slots->by_index)
            return false;
        slots->index_count = count;
    }
    for (size_t i = 0; i < count; i++) {
        struct reader r = object_reader(object, span_cut(bytes, i * size, size));
        uint64_t address = object_word(object, &r);
        uint64_t info = object_word(object, &r);
        uint32_t type = (uint32_t)(object->is_64 ? info & 0xffffffff : info & 0xff);
        uint64_t number = object->is_64 ? info >> 32 : info >> 8;
        struct elf_symbol symbol;
        if ((type != types.jump_slot && type != types.glob_dat) ||
            !elf_symtab_read(object, symbols, (size_t)number, &symbol) || !symbol.name[0])
            continue;
        if (plt)
            slots->by_index[i] = symbol.name;
        if (!add_slot(slots, address, symbol.name))
            return false;
    }
    return true;
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct slot *)a)->address, y = ((const struct slot *)b)->address;
    return x < y ? -1 : x > y;
}

static const char *slot_name(const struct slots *slots, const struct stub *stub)
{
    if (stub->by_index)
        return stub->target < slots->index_count ? slots->by_index[stub->target] : NULL;
    size_t lo = 0, hi = slots->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (slots->sorted[middle].address < stub->target)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < slots->count && slots->sorted[lo].address == stub->target ? slots->sorted[lo].name
                                                                          : NULL;
}

static uint32_t little_u32(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* x86: `jmp *slot` at the start of a fixed-size entry, perhaps behind endbr and a bnd prefix; or,
 * in the lazy half of an IBT table, `push number; jmp PLT0`. */
static bool decode_x86(const struct object *object, uint64_t vaddr, struct span bytes,
                       size_t entry_size, size_t at, struct stub *stub)
{
    size_t end = at + entry_size;
    if (end > bytes.size)
        return false;
    *stub = (struct stub){.begin = at, .end = end};
    const uint8_t *p = bytes.data;
    if (entry_size >= 16 && p[at] == 0xf3 && p[at + 1] == 0x0f && p[at + 2] == 0x1e)
        at += 4;
    if (p[at] == 0xf2)
        at++;
    if (end - at < 6)
        return false;
    uint32_t operand = little_u32(p + at + 2);
    if (p[at] == 0xff && p[at + 1] == 0x25) {
        stub->target = object->is_64 ? vaddr + at + 6 + (uint64_t)(int64_t)(int32_t)operand
                                     : (uint64_t)operand;
        return true;
    }
    if (!object->is_64 && p[at] == 0xff && p[at + 1] == 0xa3) {
        stub->target = (uint32_t)(object->elf->dynamic.pltgot + operand);
        return true;
    }
    if (p[at] == 0x68) {
        uint32_t pushed = little_u32(p + at + 1);
        stub->by_index = true;
        stub->target = object->is_64 ? pushed : pushed / 8; /* i386 pushes a byte offset */
        return true;
    }
    return false;
}

/* AArch64: [bti c;] adrp x16, page; ldr x17, [x16, #n]; add; [autia1716;] br x17 */
static bool decode_aarch64(uint64_t vaddr, struct span bytes, size_t at, struct stub *stub)
{
    const uint32_t bti_c = 0xd503245f, br_x17 = 0xd61f0220;
    if (bytes.size - at < 16)
        return false;
    uint32_t adrp = little_u32(bytes.data + at);
    uint32_t ldr = little_u32(bytes.data + at + 4);
    if ((adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
        return false;
    uint64_t pages = (uint64_t)(adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
    if (pages & 0x100000)
        pages |= ~(uint64_t)0x1fffff;
    stub->target = ((vaddr + at) & ~(uint64_t)0xfff) + (pages << 12) + (ldr >> 10 & 0xfff) * 8;
    stub->by_index = false;
    stub->begin = at >= 4 && little_u32(bytes.data + at - 4) == bti_c ? at - 4 : at;
    for (size_t i = at + 8; i < at + 20 && bytes.size - i >= 4; i += 4)
        if (little_u32(bytes.data + i) == br_x17) {
            stub->end = i + 4;
            return true;
        }
    return false;
}

static uint32_t arm_immediate(uint32_t instruction)
{
    uint32_t value = instruction & 0xff, turn = instruction >> 8 & 0xf;
    return turn ? value >> (2 * turn) | value << (32 - 2 * turn) : value;
}

/* Arm: [bx pc; nop;] add ip, pc, #a; add ip, ip, #b; ...; ldr pc, [ip, #c]! */
static bool decode_arm(uint64_t vaddr, struct span bytes, size_t at, struct stub *stub)
{
    if (bytes.size - at < 12 || (little_u32(bytes.data + at) & 0xfffff000) != 0xe28fc000)
        return false;
    uint32_t target = (uint32_t)(vaddr + at + 8) + arm_immediate(little_u32(bytes.data + at));
    for (size_t i = at + 4; i < at + 16 && bytes.size - i >= 4; i += 4) {
        uint32_t instruction = little_u32(bytes.data + i);
        if ((instruction & 0xfffff000) == 0xe28cc000) {
            target += arm_immediate(instruction);
        } else if ((instruction & 0xfffff000) == 0xe5bcf000) {
            uint32_t before = at >= 4 ? little_u32(bytes.data + at - 4) : 0;
            bool thumb = (before & 0xffff) == 0x4778;
            *stub =
                (struct stub){thumb ? at - 4 : at, i + 4, false, target + (instruction & 0xfff)};
            return true;
        } else {
            return false;
        }
    }
    return false;
}

struct stub_call {
    void (*each)(void *context, uint64_t lo, uint64_t hi, uint64_t limit, const char *name);
    void *context;
};

static void walk_section(struct object *object, const char *name, const struct slots *slots,
                         const struct stub_call *call)
{
    const struct section *section = object_section_named(object, name);
    if (!section || !(section->view.flags & SHF_EXECINSTR))
        return;
    struct span bytes = object_section_bytes(object, section);
    uint64_t vaddr = section->view.vaddr;
    bool x86 = object->machine == EM_X86_64 || object->machine == EM_386;
    size_t step = 4;
    if (x86)
        step = section->elf.entry_size == 8 ? 8 : 16;
    for (size_t at = 0; at < bytes.size;) {
        struct stub stub;
        bool found = x86 ? decode_x86(object, vaddr, bytes, step, at, &stub)
                     : object->machine == EM_AARCH64 ? decode_aarch64(vaddr, bytes, at, &stub)
                                                     : decode_arm(vaddr, bytes, at, &stub);
        const char *target = found ? slot_name(slots, &stub) : NULL;
        if (target)
            call->each(call->context, vaddr + stub.begin, vaddr + stub.end, vaddr + bytes.size,
                       target);
        at = found ? stub.end : at + step;
    }
}

bool elf_plt_stubs(struct object *object, object_stub_call each, void *context)
{
    struct elf_symtab symbols;
    if (!object_arch(object) || elf_symtab_find(object, true, &symbols) != FW_OK)
        return true;
    struct slots slots = {0};
    bool good = read_relocations(object, &symbols, ".rela.plt", true, &slots) &&
                read_relocations(object, &symbols, ".rel.plt", true, &slots);
    if (good && object_section_named(object, ".plt.got"))
        good = read_relocations(object, &symbols, ".rela.dyn", false, &slots) &&
               read_relocations(object, &symbols, ".rel.dyn", false, &slots);
    if (good && slots.count) {
        qsort(slots.sorted, slots.count, sizeof *slots.sorted, by_address);
        struct stub_call call = {each, context};
        walk_section(object, ".plt", &slots, &call);
        walk_section(object, ".plt.sec", &slots, &call);
        walk_section(object, ".plt.got", &slots, &call);
    }
    free(slots.sorted);
    free(slots.by_index);
    return good;
}
