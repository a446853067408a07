/* Packing rows into rules, and forgetting them. */
#include "unwind/rule.h"

static bool words(int64_t bytes, unsigned word, int64_t lowest, int64_t highest, int64_t *result)
{
    if (bytes % word)
        return false;
    *result = bytes / word;
    return *result >= lowest && *result <= highest;
}

static bool keeps_value(const struct reg_row *reg)
{
    return reg->how == REG_UNSPECIFIED || reg->how == REG_SAME;
}

/* A walk by rules takes the caller's link register for its return address, as calls leave it. */
static bool lr_is_return_address(const struct arch *arch, const struct unwind_row *row)
{
    return row->ra_reg == arch->lr ||
           (row->ra_reg == arch->pc && row->reg[arch->lr].how == REG_UNSPECIFIED);
}

rule_t rule_pack(const struct arch *arch, const struct unwind_row *row)
{
    const struct reg_row *ra = &row->reg[row->ra_reg < ARCH_MAX_REGS ? row->ra_reg : arch->pc];
    const struct reg_row *fp = &row->reg[arch->fp];
    rule_t method = (rule_t)(row->method & 15) << 3;
    int64_t cfa_words, ra_words = 0, fp_words = 0;

    if (ra->how == REG_UNDEFINED)
        return RULE_ROOT | method;
    if (row->signal_frame || row->cfa_how != CFA_REG || row->reg[arch->sp].how != REG_UNSPECIFIED)
        return RULE_SLOW | method;
    if (row->cfa_reg != arch->sp && row->cfa_reg != arch->fp)
        return RULE_SLOW | method;
    if (row->ra_reg != arch->pc && row->reg[arch->pc].how != REG_UNSPECIFIED)
        return RULE_SLOW | method;
    if (!words(row->cfa_offset, arch->register_size, 0, 0x7fffff, &cfa_words))
        return RULE_SLOW | method;

    if (ra->how == REG_AT_CFA) {
        if (!words(ra->offset, arch->register_size, -0x10000, 0xffff, &ra_words) || ra_words == 0)
            return RULE_SLOW | method;
    } else if (!keeps_value(ra) || row->ra_reg != arch->lr) {
        return RULE_SLOW | method;
    }
    if (fp->how == REG_AT_CFA) {
        if (!words(fp->offset, arch->register_size, -0x10000, 0xffff, &fp_words) || fp_words == 0)
            return RULE_SLOW | method;
    } else if (!keeps_value(fp)) {
        return RULE_SLOW | method;
    }
    if (arch->lr == ARCH_NO_REG ? ra_words != -1 : !lr_is_return_address(arch, row))
        return RULE_SLOW | method;
    return (row->cfa_reg == arch->sp ? RULE_SP : RULE_FP) | method |
           ((rule_t)fp_words & 0x1ffff) << 7 | ((rule_t)ra_words & 0x1ffff) << 24 |
           (rule_t)cfa_words << 41;
}

/* Generations come again after 256 steps: what is left of the first ones must be gone by then. */
void rule_cache_clear(struct rule_cache *cache)
{
    const uint64_t step = (uint64_t)1 << 56;
    uint64_t now = __atomic_load_n(&cache->generation, __ATOMIC_RELAXED);
    do {
        if (now + step == 0)
            for (uint64_t i = 0; i <= cache->mask; i++)
                __atomic_store_n(&cache->slot[i].rule, (rule_t)RULE_NONE, __ATOMIC_RELAXED);
    } while (!__atomic_compare_exchange_n(&cache->generation, &now, now + step, false,
                                          __ATOMIC_RELAXED, __ATOMIC_RELAXED));
}
