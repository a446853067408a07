/* The dylib that host_module.c needs, found by @rpath. */
#include "machhost/host_module.h"

int needed_value(void)
{
    return 41;
}
