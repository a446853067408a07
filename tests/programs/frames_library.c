/* The other image of frames.c: called through stubs, calls back, calls itself through a stub. */
#include "frames.h"

long frames_leaf(long a, long b)
{
    return a * 17 + b;
}

long frames_tail(long n)
{
    return frames_leaf(n, 4);
}

long frames_apply(long (*function)(long, long), long n)
{
    return function(n, 1) + function(n, frames_leaf(n, 2));
}

void frames_sort(long *values, long count, int (*compare)(const void *, const void *))
{
    for (long i = 1; i < count; i++)
        for (long j = i; j > 0 && compare(&values[j - 1], &values[j]) > 0; j--) {
            long swap = values[j];
            values[j] = values[j - 1];
            values[j - 1] = swap;
        }
}
