/* A library that is opened later: it calls functions of libcalls_target and libc, and defines one.
 */
#include <stdlib.h>
#include <unistd.h>

#include "watch/calls_target.h"

int plugin_calls(int times);
int plugin_calls(int times)
{
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += target_plain(i);
    return sum;
}

int plugin_parent(void);
int plugin_parent(void)
{
    return (int)getppid();
}

int plugin_defined(int value);
int plugin_defined(int value)
{
    return value * 2;
}

/* Calls in a constructor are seen where the loader has told of the image by then. */
static __attribute__((constructor)) void at_load(void)
{
    (void)getppid();
}
