/*
 * ARM exception index tables, decoded to unwind rows.
 *
 * Specification: "Exception Handling ABI for the Arm Architecture" (EHABI32), sections 6 (index
 * table entries), 7 (exception handling table entries) and 10 (frame unwinding instructions).
 *
 * Invariant: the row is what the whole instruction sequence means or nothing. The virtual stack
 * pointer is kept as "register + offset"; a sequence that leaves this form (which no compiler
 * emits) is refused as bad information instead of being followed half way.
 *
 * The tables describe the body of a function: inside prologue and epilogue they are not exact, and
 * an entry covers everything up to the next one, even code that nobody described.
 */
#include "unwind/sources.h"

enum {
    ENTRY_SIZE = 8,
    CANTUNWIND = 1,
    REG_SP = 13,
    REG_LR = 14,
    REG_PC = 15,
    REG_COUNT = 16,
    MAX_OPCODES = 4 * 256 + 3, /* 255 additional words is the most that the formats can say */
};

static struct reader section_reader(const struct unwind_image *image,
                                    const struct unwind_section *section, uint64_t offset)
{
    struct reader r = reader_at(section->data, section->size, offset);
    r.swap = image->big_endian != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return r;
}

/* A place-relative 31-bit offset stored at `place`. */
static uint64_t prel31(uint32_t word, uint64_t place)
{
    int32_t offset = (int32_t)(word << 1) >> 1;
    return (uint32_t)(place + (uint64_t)(int64_t)offset);
}

struct entry {
    uint64_t lo, hi;
    uint64_t place; /* address of the entry's second word */
    uint32_t word;
};

/* Where the code of entry `i` starts. The Thumb bit is not set in these, but costs nothing to drop.
 */
static uint64_t entry_start(const struct unwind_image *image, size_t i)
{
    struct reader r = section_reader(image, &image->exidx, (uint64_t)i * ENTRY_SIZE);
    return prel31(reader_u32(&r), image->exidx.vaddr + (uint64_t)i * ENTRY_SIZE) & ~1ull;
}

static bool find_entry(const struct unwind_image *image, uint64_t vaddr, struct entry *entry)
{
    size_t count = image->exidx.size / ENTRY_SIZE;
    size_t below = 0, above = count; /* entries before `below` start at or before vaddr */

    if (!image->exidx.data)
        return false;
    while (below < above) {
        size_t middle = below + (above - below) / 2;
        if (entry_start(image, middle) <= vaddr)
            below = middle + 1;
        else
            above = middle;
    }
    if (below == 0)
        return false;

    size_t i = below - 1;
    struct reader r = section_reader(image, &image->exidx, (uint64_t)i * ENTRY_SIZE + 4);
    entry->lo = entry_start(image, i);
    entry->hi = i + 1 < count ? entry_start(image, i + 1) : image->hi;
    entry->place = image->exidx.vaddr + (uint64_t)i * ENTRY_SIZE + 4;
    entry->word = reader_u32(&r);
    return entry->lo <= vaddr && vaddr < entry->hi;
}

/* The frame unwinding instructions: bytes packed into words, most significant byte first. */
struct opcodes {
    struct reader words;
    uint32_t word;
    unsigned in_word; /* bytes of `word` not yet taken */
    unsigned left;    /* whole words that follow */
};

/* The next instruction byte. Past the end come `finish` instructions (EHABI32 section 10.3). */
static uint8_t opcode_next(struct opcodes *ops)
{
    if (ops->in_word == 0) {
        if (ops->left == 0)
            return 0xb0;
        ops->word = reader_u32(&ops->words);
        ops->in_word = 4;
        ops->left--;
    }
    ops->in_word--;
    return (uint8_t)(ops->word >> (8 * ops->in_word));
}

/* The compact models (personality routines 0, 1 and 2) start their word with 0x80 | index. */
static bool opcodes_compact(struct opcodes *ops, uint32_t word)
{
    ops->word = word;
    switch (word >> 24) {
    case 0x80: ops->in_word = 3; return true;
    case 0x81:
    case 0x82:
        ops->in_word = 2;
        ops->left = word >> 16 & 0xff;
        return true;
    default: return false;
    }
}

static bool opcodes_of(const struct unwind_image *image, const struct entry *entry,
                       struct opcodes *ops)
{
    *ops = (struct opcodes){.left = 0};
    if (entry->word >> 31) /* inline; only personality routine 0 fits */
        return entry->word >> 24 == 0x80 && opcodes_compact(ops, entry->word);

    uint64_t table = prel31(entry->word, entry->place);
    if (!image->extab.data || table < image->extab.vaddr)
        return false;
    ops->words = section_reader(image, &image->extab, table - image->extab.vaddr);
    uint32_t word = reader_u32(&ops->words);
    if (word >> 31)
        return opcodes_compact(ops, word) && !ops->words.failed;
    /* The generic model: a personality routine of the language. Those in use (C++, Rust, Go's
     * gccgo, Objective-C) share the layout that GCC gave them: count of further words in the top
     * byte, then instructions. */
    ops->word = reader_u32(&ops->words);
    ops->left = ops->word >> 24;
    ops->in_word = 3;
    return !ops->words.failed;
}

/* The virtual machine of section 10.3: where each register was popped from, against vsp's base. */
struct machine {
    uint8_t base; /* vsp is this register (as it is in the frame) + offset */
    int64_t offset;
    uint32_t popped;           /* bit per register */
    int64_t slot[REG_COUNT];   /* base + slot[i], when popped */
    bool vsp_loaded;           /* sp itself was popped: nothing may follow */
    enum unwind_status status; /* UNWIND_OK while the sequence makes sense */
};

static void pop_mask(struct machine *m, uint32_t mask)
{
    for (unsigned i = 0; i < REG_COUNT; i++) {
        if (!(mask >> i & 1))
            continue;
        m->slot[i] = m->offset;
        m->popped |= 1u << i;
        m->offset += 4;
    }
    m->vsp_loaded = mask >> REG_SP & 1;
}

/* VFP and WMMX registers are not tracked; only the room they take counts. */
static void pop_wide(struct machine *m, unsigned count, unsigned extra)
{
    m->offset += 8 * (int64_t)count + extra;
}

static void set_vsp(struct machine *m, unsigned reg)
{
    /* Slots found so far count from the old base; and a popped register is not in its register. */
    if (m->popped)
        m->status = UNWIND_BAD_INFO;
    m->base = (uint8_t)reg;
    m->offset = 0;
}

/* 0x80 .. 0xbf, apart from `finish`. */
static void run_pop(struct machine *m, struct opcodes *ops, uint8_t op)
{
    if (op < 0x90) {
        uint32_t mask = (uint32_t)(op & 0xf) << 12 | (uint32_t)opcode_next(ops) << 4;
        if (mask == 0)
            m->status = UNWIND_ROOT; /* refuse to unwind */
        else
            pop_mask(m, mask);
    } else if (op < 0xa0) {
        if (op == 0x9d || op == 0x9f)
            m->status = UNWIND_BAD_INFO; /* reserved for register to register moves */
        else
            set_vsp(m, op & 0xf);
    } else if (op < 0xb0) {
        pop_mask(m, ((2u << (op & 7)) - 1) << 4 | (op & 8 ? 1u << REG_LR : 0));
    } else if (op == 0xb1) {
        uint8_t mask = opcode_next(ops);
        if (mask == 0 || mask > 0xf)
            m->status = UNWIND_BAD_INFO;
        else
            pop_mask(m, mask);
    } else if (op == 0xb2) {
        uint64_t value = 0;
        uint8_t byte = 0x80;
        for (unsigned shift = 0; byte & 0x80; shift += 7) {
            byte = opcode_next(ops);
            if (shift > 28) { /* more than the 32-bit stack could hold */
                m->status = UNWIND_BAD_INFO;
                return;
            }
            value |= (uint64_t)(byte & 0x7f) << shift;
        }
        m->offset += 0x204 + (int64_t)(value << 2);
    } else if (op == 0xb3) {
        pop_wide(m, (opcode_next(ops) & 0xfu) + 1, 4); /* FSTMFDX */
    } else if (op == 0xb4) {
        m->offset += 4; /* return address authentication code */
    } else if (op == 0xb5) {
        /* vsp becomes the modifier of the authentication: no effect here */
    } else if (op >= 0xb8) {
        pop_wide(m, (op & 7u) + 1, 4); /* FSTMFDX D8.. */
    } else {
        m->status = UNWIND_BAD_INFO;
    }
}

/* 0xc0 .. 0xff: WMMX and VFP. */
static void run_coprocessor(struct machine *m, struct opcodes *ops, uint8_t op)
{
    if (op <= 0xc5) {
        pop_wide(m, (op & 7u) + 1, 0); /* wR10.. */
    } else if (op == 0xc6 || op == 0xc8 || op == 0xc9) {
        pop_wide(m, (opcode_next(ops) & 0xfu) + 1, 0); /* wR[s].., D[16 + s].., D[s].. */
    } else if (op == 0xc7) {
        uint8_t mask = opcode_next(ops);
        if (mask == 0 || mask > 0xf)
            m->status = UNWIND_BAD_INFO;
        else
            m->offset += 4 * __builtin_popcount(mask); /* wCGR0 .. wCGR3 */
    } else if ((op & 0xf8) == 0xd0) {
        pop_wide(m, (op & 7u) + 1, 0); /* D8.. */
    } else {
        m->status = UNWIND_BAD_INFO;
    }
}

static enum unwind_status run(struct machine *m, struct opcodes *ops)
{
    for (unsigned i = 0; i < MAX_OPCODES; i++) {
        uint8_t op = opcode_next(ops);
        if (ops->words.failed)
            return UNWIND_BAD_INFO;
        if (op == 0xb0)
            return UNWIND_OK;
        if (m->vsp_loaded)
            return UNWIND_BAD_INFO;
        if (op < 0x40)
            m->offset += ((op & 0x3f) << 2) + 4;
        else if (op < 0x80)
            m->offset -= ((op & 0x3f) << 2) + 4;
        else if (op < 0xc0)
            run_pop(m, ops, op);
        else
            run_coprocessor(m, ops, op);
        if (m->status != UNWIND_OK)
            return ops->words.failed ? UNWIND_BAD_INFO : m->status;
    }
    return UNWIND_BAD_INFO;
}

static void fill_row(const struct machine *m, const struct entry *entry, struct unwind_row *row)
{
    *row = (struct unwind_row){
        .cfa_how = CFA_REG,
        .cfa_reg = m->base,
        .cfa_offset = m->offset,
        .method = FW_METHOD_EXIDX,
        .ra_reg = m->popped >> REG_PC & 1 ? REG_PC : REG_LR,
        .lo = entry->lo,
        .hi = entry->hi,
    };
    for (unsigned i = 0; i < REG_COUNT; i++)
        if (m->popped >> i & 1)
            row->reg[i] = (struct reg_row){.how = REG_AT_CFA, .offset = m->slot[i] - m->offset};
    if (row->reg[row->ra_reg].how == REG_UNSPECIFIED)
        row->reg[row->ra_reg].how = REG_SAME;
}

enum unwind_status exidx_find(const struct unwind_image *image, uint64_t vaddr,
                              struct unwind_row *row)
{
    struct entry entry;
    if (!find_entry(image, vaddr, &entry))
        return UNWIND_NO_INFO;
    row->lo = entry.lo;
    row->hi = entry.hi;
    if (entry.word == CANTUNWIND) {
        *row = (struct unwind_row){.method = FW_METHOD_EXIDX,
                                   .cfa_reg = REG_SP,
                                   .ra_reg = REG_LR,
                                   .lo = entry.lo,
                                   .hi = entry.hi,
                                   .reg[REG_LR].how = REG_UNDEFINED};
        return UNWIND_ROOT;
    }

    struct opcodes ops;
    if (!opcodes_of(image, &entry, &ops))
        return UNWIND_BAD_INFO;
    struct machine m = {.base = REG_SP};
    enum unwind_status status = run(&m, &ops);
    if (status == UNWIND_OK)
        fill_row(&m, &entry, row);
    return status;
}
