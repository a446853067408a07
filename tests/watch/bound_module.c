/* A library that calls those of bound_target.c in every way: linked with lazy binding and with
 * chained fixups. */
#include "watch/bound_module.h"

static int constructed;

__attribute__((constructor)) static void construct(void)
{
    constructed = target_add(1, 1);
}

static int direct(int a, int b)
{
    return target_add(a, b);
}

static int (*const table[])(int, int) = {target_add, direct};
static int (*volatile variable)(int, int) = target_add;

static int by_table(int a, int b)
{
    return (*(int (*const volatile *)(int, int))table)(a, b);
}

static int by_variable(int a, int b)
{
    return variable(a, b);
}

static int in_constructor(void)
{
    return constructed;
}

static double mixed(void)
{
    return target_mixed(1, 0.5, "a", 1000000000000, 2, 3, 4, 0.25, 5);
}

static int (*address(void))(int, int)
{
    return target_add;
}

const struct bound_calls *bound_calls(void)
{
    static const struct bound_calls calls = {direct,         by_table, by_variable,
                                             in_constructor, mixed,    address};
    return &calls;
}
