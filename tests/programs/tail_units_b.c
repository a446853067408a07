#include "tail_units.h"

NOINLINE static void same_name(void)
{
    sink += 2;
    bottom();
}

NOINLINE void far_one(void)
{
    sink += 3;
    same_name();
}

NOINLINE void far_left(void)
{
    sink += 5;
    bottom();
}

NOINLINE void far_right(void)
{
    sink += 7;
    bottom();
}

__attribute__((cold)) NOINLINE void rare(void)
{
    bottom();
    sink += 11;
}
