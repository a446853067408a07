/*
 * The state of a symbolic execution: values of registers and of the slots that were stored to.
 * Where it is run, and what follows from it: simulate_find.c.
 */
#include "unwind/simulate.h"

enum { FAR_OFFSET = 1 << 28 };

struct reader simulate_code(const struct unwind_image *image, uint64_t at)
{
    struct reader r = reader_at(image->text.data, image->text.size, at - image->text.vaddr);
    r.swap = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    if (!image->text.data || at < image->text.vaddr)
        r.failed = true;
    return r;
}

uint32_t simulate_word(const struct unwind_image *image, uint64_t at)
{
    struct reader r = simulate_code(image, at);
    return reader_u32(&r);
}

struct value sim_add(struct value value, int64_t amount)
{
    int64_t sum = value.offset + amount;
    if (value.kind != VALUE_ENTRY || sum > FAR_OFFSET || sum < -FAR_OFFSET)
        return (struct value){.kind = VALUE_UNKNOWN};
    value.offset = (int32_t)sum;
    return value;
}

static bool overlaps(const struct slot *slot, uint8_t base, int32_t offset, unsigned size)
{
    return slot->base == base && slot->offset < offset + (int32_t)size &&
           offset < slot->offset + slot->size;
}

static void drop_slot(struct sim *sim, unsigned i)
{
    sim->slot[i] = sim->slot[--sim->slot_count];
}

/* What lies below sp may be overwritten at any time. */
static void drop_below(struct sim *sim, struct value sp)
{
    for (unsigned i = sim->slot_count; i-- > 0;)
        if (sim->slot[i].base == sp.reg && sim->slot[i].offset < sp.offset)
            drop_slot(sim, i);
}

void sim_set(struct sim *sim, unsigned reg, struct value value)
{
    if (reg >= SIM_REGS)
        return;
    sim->reg[reg] = value;
    if (reg == sim->sp && value.kind == VALUE_ENTRY)
        drop_below(sim, value);
}

void sim_lose(struct sim *sim, unsigned reg)
{
    sim_set(sim, reg, (struct value){.kind = VALUE_UNKNOWN});
}

void sim_store(struct sim *sim, struct value address, struct value value, unsigned size)
{
    if (address.kind != VALUE_ENTRY)
        return; /* through a pointer: not into the slots that hold saved registers */
    for (unsigned i = sim->slot_count; i-- > 0;)
        if (overlaps(&sim->slot[i], address.reg, address.offset, size))
            drop_slot(sim, i);
    if (sim->slot_count == SIM_SLOTS) {
        sim->lossy = true;
        return;
    }
    sim->slot[sim->slot_count++] = (struct slot){
        .offset = address.offset, .base = address.reg, .size = (uint8_t)size, .value = value};
}

struct value sim_load(const struct sim *sim, struct value address, unsigned size)
{
    const struct value unknown = {.kind = VALUE_UNKNOWN};
    if (address.kind != VALUE_ENTRY)
        return unknown;
    for (unsigned i = 0; i < sim->slot_count; i++) {
        const struct slot *slot = &sim->slot[i];
        if (!overlaps(slot, address.reg, address.offset, size))
            continue;
        bool whole = slot->offset == address.offset && slot->size == size;
        return whole ? slot->value : unknown;
    }
    /* Memory as it was at the beginning, unless it was no part of the stack then. */
    if (sim->lossy || (address.reg == sim->sp && address.offset < 0))
        return unknown;
    return (struct value){VALUE_SLOT, address.reg, address.offset};
}

bool sim_same(struct value a, struct value b)
{
    return a.kind == b.kind && a.reg == b.reg && a.offset == b.offset;
}

void sim_meet(struct sim *sim, const struct sim *other)
{
    for (unsigned i = 0; i < SIM_REGS; i++)
        if (!sim_same(sim->reg[i], other->reg[i]))
            sim_lose(sim, i);
    for (unsigned i = sim->slot_count; i-- > 0;) {
        struct slot slot = sim->slot[i];
        bool in_both = false;
        for (unsigned j = 0; j < other->slot_count && !in_both; j++)
            in_both = other->slot[j].base == slot.base && other->slot[j].offset == slot.offset &&
                      sim_same(other->slot[j].value, slot.value);
        if (!in_both)
            sim->slot[i].value = (struct value){.kind = VALUE_UNKNOWN};
    }
    sim->lossy |= other->lossy;
    sim->outermost &= other->outermost;
}

void sim_begin(struct sim *sim, const struct arch *arch)
{
    *sim = (struct sim){.sp = arch->sp};
    for (unsigned i = 0; i < SIM_REGS; i++)
        if (i != arch->pc)
            sim->reg[i] = (struct value){VALUE_ENTRY, (uint8_t)i, 0};
}

void sim_call(struct sim *sim, const struct isa *isa)
{
    for (unsigned i = 0; i < SIM_REGS; i++)
        if (isa->call_clobbers >> i & 1)
            sim_lose(sim, i);
}

bool sim_is_entry(struct value value, unsigned reg)
{
    return value.kind == VALUE_ENTRY && value.reg == reg && value.offset == 0;
}
