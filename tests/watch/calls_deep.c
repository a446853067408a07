/* A library with a function of its own by the name of one of libcalls_target. */
#include "watch/calls_target.h"

int target_plain(int value)
{
    return value + 1000;
}

int deep_calls(int value);
int deep_calls(int value)
{
    return target_plain(value);
}
