/* A library whose functions are watched. */
#include "watch/bound_module.h"

int target_add(int a, int b)
{
    return a + b;
}

double target_mixed(int a, double b, const char *c, long d, int e, int f, int g, double h, int i)
{
    return a + b + c[0] + (double)d + e + f + g + h + i;
}
