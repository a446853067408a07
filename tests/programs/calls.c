/* Call patterns of C: recursion, callbacks, tail calls, many and large arguments, nested returns.
 * For the shadow-stack oracle; prints a checksum so that nothing is optimised away. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline, noclone))

struct large {
    long word[12];
};

static volatile long sink;

NOINLINE static long fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE static long deep(int n, long sum)
{
    char room[64];
    memset(room, n, sizeof room);
    if (n == 0)
        return sum;
    return deep(n - 1, sum + room[n % 64]) + room[0];
}

NOINLINE static long leaf(long a, long b)
{
    return a * 31 + b;
}

NOINLINE static long tail(long a, long b)
{
    if (a & 1)
        return leaf(b, a);
    return leaf(a, b + 1);
}

NOINLINE static long even(long n);
NOINLINE static long odd(long n)
{
    return n == 0 ? 0 : even(n - 1);
}
NOINLINE static long even(long n)
{
    return n == 0 ? 1 : odd(n - 1);
}

NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g, long h, double x,
                          double y)
{
    return leaf(a + b, c + d) + leaf(e + f, g + h) + (long)(x * y);
}

NOINLINE static struct large make(long seed)
{
    struct large l;
    for (int i = 0; i < 12; i++)
        l.word[i] = leaf(seed, i);
    return l;
}

NOINLINE static long take(struct large l, int n)
{
    return n == 0 ? l.word[0] : take(make(l.word[n % 12]), n - 1) + l.word[n % 12];
}

NOINLINE static long sum(int n, ...)
{
    va_list list;
    long total = 0;
    va_start(list, n);
    for (int i = 0; i < n; i++)
        total += leaf(va_arg(list, long), va_arg(list, int));
    va_end(list);
    return total;
}

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    sink = leaf(x, y);
    return (x > y) - (x < y);
}

NOINLINE static long shrink_wrapped(long n)
{
    if (n > 100)
        return n; /* no frame on this path */
    long a = leaf(n, 1), b = leaf(n, 2), c = leaf(n, 3), d = leaf(n, 4);
    return leaf(a, b) + leaf(c, d) + leaf(b, a);
}

NOINLINE static long switching(int n)
{
    switch (n % 8) {
    case 0: return leaf(n, 0);
    case 1: return tail(n, 2);
    case 2: return shrink_wrapped(n);
    case 3: return sum(2, 1L, 2, 3L, 4);
    case 4: return deep(3, n);
    case 5: return fibonacci(4) + n;
    case 6: return take(make(n), 1);
    default: return -n;
    }
}

typedef long (*operation)(long, long);
static operation volatile operations[] = {leaf, tail};

NOINLINE static long indirect(int n)
{
    long total = 0;
    for (int i = 0; i < n; i++)
        total += operations[i % 2](i, n);
    return total;
}

NOINLINE static long huge_frame(long n)
{
    volatile char room[20000];
    room[n] = 1;
    room[19999] = (char)n;
    return leaf(room[n], room[19999]);
}

static void at_exit(void)
{
    sink = leaf(1, fibonacci(3));
}

int main(void)
{
    atexit(at_exit);
    long values[200];
    for (int i = 0; i < 200; i++)
        values[i] = (i * 7919) % 311;
    qsort(values, 200, sizeof *values, compare);
    long total = fibonacci(10) + deep(40, 0) + tail(3, 4) + even(20);
    total +=
        many(1, 2, 3, 4, 5, 6, 7, 8, 1.5, 2.5) + take(make(5), 8) + sum(3, 1L, 2, 3L, 4, 5L, 6);
    for (int i = 0; i < 64; i++)
        total += switching(i) + indirect(5);
    total += huge_frame(10) + shrink_wrapped(50) + shrink_wrapped(500);
    printf("%ld %ld\n", total, values[100]);
    return 0;
}
