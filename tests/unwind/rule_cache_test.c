/* unwind/rule.h, rule.c: what the cache keeps and forgets, and which rows fit a rule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "unwind/rule.h"

enum { BITS = 4, SOME_RULE = RULE_SP | FW_METHOD_CFI << 3 };

static int make_cache(void **state)
{
    struct rule_cache *cache = calloc(1, RULE_CACHE_SIZE(BITS));
    if (cache)
        rule_cache_init(cache, BITS);
    *state = cache;
    return !cache;
}

static int free_cache(void **state)
{
    free(*state);
    return 0;
}

static void keeps_kinds_of_address_apart(void **state)
{
    struct rule_cache *cache = *state;
    rule_cache_put(cache, 0x1000, true, SOME_RULE);
    assert_int_equal(rule_cache_get(cache, 0x1000, true), SOME_RULE);
    assert_int_equal(rule_cache_get(cache, 0x1000, false), RULE_NONE);
    assert_int_equal(rule_cache_get(cache, 0x1000 + (2u << BITS), true), RULE_NONE);
}

/* Programs that load and unload plug-ins for days clear it any number of times. */
static void forgets_for_ever(void **state)
{
    struct rule_cache *cache = *state;
    rule_cache_put(cache, 0x1000, false, SOME_RULE);
    for (unsigned i = 0; i < 70000; i++) {
        rule_cache_clear(cache);
        assert_int_equal(rule_cache_get(cache, 0x1000, false), RULE_NONE);
    }
    rule_cache_put(cache, 0x1000, false, SOME_RULE);
    assert_int_equal(rule_cache_get(cache, 0x1000, false), SOME_RULE);
}

static struct unwind_row row_of(const struct arch *arch, uint8_t ra_reg, int64_t ra_at)
{
    struct unwind_row row = {.cfa_reg = arch->sp, .cfa_offset = 32, .ra_reg = ra_reg};
    row.reg[ra_reg] = (struct reg_row){.how = REG_AT_CFA, .offset = ra_at};
    return row;
}

/* A rule knows of one place for return address and link register together. */
static void return_address_of_another_column(void **state)
{
    (void)state;
    struct unwind_row row = row_of(&arch_aarch64, arch_aarch64.lr, -8);
    assert_int_equal(rule_kind(rule_pack(&arch_aarch64, &row)), RULE_SP);
    row = row_of(&arch_aarch64, 28, -8);
    row.reg[arch_aarch64.lr] = (struct reg_row){.how = REG_AT_CFA, .offset = -16};
    assert_int_equal(rule_kind(rule_pack(&arch_aarch64, &row)), RULE_SLOW);
    row = row_of(&arch_arm, arch_arm.pc, -4); /* pop {..., pc} */
    assert_int_equal(rule_kind(rule_pack(&arch_arm, &row)), RULE_SP);
    row.reg[arch_arm.lr] = (struct reg_row){.how = REG_AT_CFA, .offset = -8};
    assert_int_equal(rule_kind(rule_pack(&arch_arm, &row)), RULE_SLOW);
    row = row_of(&arch_x86_64, arch_x86_64.pc, -8);
    assert_int_equal(rule_kind(rule_pack(&arch_x86_64, &row)), RULE_SP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_kinds_of_address_apart, make_cache, free_cache),
        cmocka_unit_test_setup_teardown(forgets_for_ever, make_cache, free_cache),
        cmocka_unit_test(return_address_of_another_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
