/* Frames of every shape that compilers of Apple's platforms make: leaf functions, frameless ones
 * with small and large stacks, frames with any number of saved registers, of general and of vector
 * ones, variable and aligned frames, tail calls, jump tables, functions that never return to where
 * they were called. For the shadow-stack oracle; needs nothing but memset and memcpy. */
#include <stdarg.h>
#include <stdint.h>

#include "frames.h"

struct large {
    long word[12];
};

static volatile long sink;

NOINLINE static long leaf(long a, long b)
{
    return a * 31 + b;
}

NOINLINE static long leaf_with_array(long n)
{
    volatile long room[20];
    for (int i = 0; i < 20; i++)
        room[i] = n + i;
    return room[n & 7] + room[19];
}

NOINLINE static long fibonacci(int n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

NOINLINE static long tail(long a, long b)
{
    if (a & 1)
        return leaf(b, a);
    return leaf(a, b + 1);
}

NOINLINE static long tail_with_frame(long a, long b)
{
    long c = leaf(a, b), d = leaf(b, c);
    sink = c;
    return tail(c + d, a);
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

/* One function for each number of callee-saved registers. */
#define KEEP1  long a = leaf(n, 1);
#define KEEP2  KEEP1 long b = leaf(n, 2);
#define KEEP3  KEEP2 long c = leaf(n, 3);
#define KEEP4  KEEP3 long d = leaf(n, 4);
#define KEEP5  KEEP4 long e = leaf(n, 5);
#define KEEP6  KEEP5 long f = leaf(n, 6);
#define KEEP9  KEEP6 long g = leaf(n, 7), h = leaf(n, 8), i = leaf(n, 9);
#define KEEP12 KEEP9 long j = leaf(n, 10), k = leaf(n, 11), l = leaf(n, 12);
NOINLINE static long keeping_1(long n)
{
    KEEP1 return leaf(a, n);
}
NOINLINE static long keeping_2(long n)
{
    KEEP2 return leaf(a, b) + n;
}
NOINLINE static long keeping_3(long n)
{
    KEEP3 return leaf(a, b) + leaf(c, n);
}
NOINLINE static long keeping_4(long n)
{
    KEEP4 return leaf(a, b) + leaf(c, d) + n;
}
NOINLINE static long keeping_5(long n)
{
    KEEP5 return leaf(a, b) + leaf(c, d) + leaf(e, n);
}
NOINLINE static long keeping_6(long n)
{
    KEEP6 return leaf(a, b) + leaf(c, d) + leaf(e, f) + n;
}
NOINLINE static long keeping_12(long n)
{
    KEEP12 return leaf(a, b) + leaf(c, d) + leaf(e, f) + leaf(g, h) + leaf(i, j) + leaf(k, l) + n;
}

/* Some of the callee-saved registers are declared as lost, so they are saved out of order. */
NOINLINE static long keeping_some(long n)
{
#if defined(__x86_64__)
    __asm__ volatile("" ::: "r12", "r15");
#elif defined(__aarch64__)
    __asm__ volatile("" ::: "x21", "x22", "x27");
#endif
    return leaf(n, 3) + n;
}

NOINLINE static double floating(double x, long n)
{
    double a = x * 2, b = x + 3, c = x / 7, d = x - 1, e = x * x;
    for (long i = 0; i < n; i++) {
        sink = leaf((long)a, i);
        a = a * b + (double)sink;
        e += c * d;
    }
    return a + b + c + d + e;
}

NOINLINE static long many(long a, long b, long c, long d, long e, long f, long g, long h, long i,
                          long j)
{
    return leaf(a + b, c + d) + leaf(e + f, g + h) + leaf(i, j);
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

NOINLINE static void fill(char *p, long n)
{
    for (long i = 0; i < n; i++)
        p[i] = (char)i;
    sink += p[n - 1];
}

NOINLINE static long large_frame(long n)
{
    volatile char room[20000];
    room[n] = 1;
    room[19999] = (char)n;
    return leaf(room[n], room[19999]);
}

NOINLINE static long page_frame(long n)
{
    volatile char room[4096];
    room[n] = 1;
    return leaf(room[n], n) + n;
}

NOINLINE static long large_leaf(long n)
{
    volatile char room[9000];
    room[n] = (char)n;
    return room[n];
}

/* More than the immediates of a compact encoding can say. */
NOINLINE static long huge_frame(long n)
{
    volatile char room[200000];
    room[n] = 1;
    KEEP6 return leaf(a, b) + leaf(c, d) + leaf(e, f) + room[n];
}

NOINLINE static void with_alloca(int n)
{
    for (int i = 1; i < n; i++)
        fill(__builtin_alloca((unsigned long)i * 24), i);
}

NOINLINE static void with_array(int n)
{
    char room[n];
    fill(room, n);
    if (n > 10)
        with_array(n / 2);
}

NOINLINE static void aligned(int n, long a, long b, long c, long d, long e, long f, long g)
{
    _Alignas(64) char room[192];
    char *more = __builtin_alloca((unsigned long)n);
    fill(room, sizeof room);
    fill(more, n);
    sink += a + b + c + d + e + f + g;
    if (n > 1)
        aligned(n - 1, b, c, d, e, f, g, a);
}

NOINLINE static void aligned_only(int n)
{
    _Alignas(64) double room[8];
    for (int i = 0; i < 8; i++)
        room[i] = i * n;
    fill((char *)room, sizeof room);
}

NOINLINE static long shrink_wrapped(long n)
{
    if (n > 100)
        return n; /* no frame on this path */
    KEEP4 return leaf(a, b) + leaf(c, d) + leaf(b, a);
}

NOINLINE static long early_out(long n)
{
    if (n == 0)
        return 1;
    long a = leaf(n, 2);
    if (a & 1)
        return leaf(a, 3) + 1;
    char room[300];
    fill(room, n + 2);
    return a + room[n] + leaf(a, n);
}

NOINLINE static long switching(int n)
{
    switch (n % 9) {
    case 0: return leaf(n, 0);
    case 1: return tail(n, 2);
    case 2: return shrink_wrapped(n);
    case 3: return sum(2, 1L, 2, 3L, 4);
    case 4: return keeping_5(n);
    case 5: return fibonacci(4) + n;
    case 6: return take(make(n), 1);
    case 7: return tail_with_frame(n, 3);
    default: return -n;
    }
}

typedef long (*operation)(long, long);
static operation volatile operations[] = {leaf, tail, tail_with_frame};

NOINLINE static long indirect(int n)
{
    long total = 0;
    for (int i = 0; i < n; i++)
        total += operations[i % 3](i, n);
    return total;
}

/* Has no return: control leaves it through the function that it calls last. */
NOINLINE static long returns_through(operation last, long n)
{
    sink = leaf(n, 5);
    return last(n, sink);
}

/* The last instruction of a function is a call that does not come back; behind it begins another
 * function. `frames_leave` (assembler) returns to where frames_enter was called. */
__attribute__((noreturn)) NOINLINE static void gives_up(long n)
{
    sink = leaf(n, 9);
    frames_leave(n);
}

NOINLINE static long after(long n)
{
    return n + 1;
}

NOINLINE static long calling_back(long n)
{
    if (n > 3)
        gives_up(n);
    return after(calling_back(n + 1));
}

static int compare(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    sink = leaf(x, y);
    return (x > y) - (x < y);
}

#if defined(FRAMES_LIBRARY)
NOINLINE static long through_stubs(long n)
{
    long values[16];
    for (int i = 0; i < 16; i++)
        values[i] = (i * 7919 + n) % 31;
    frames_sort(values, 16, compare);
    return values[3] + frames_leaf(n, 2) + frames_apply(leaf, n) + frames_tail(n);
}
#else
NOINLINE static long through_stubs(long n)
{
    return compare(&n, (const void *)&sink);
}
#endif

int main(void)
{
    long total = 0;
    for (int i = 0; i < 27; i++)
        total += switching(i) + indirect(4);
    total += leaf_with_array(3) + tail_with_frame(4, 5) + even(10);
    total += keeping_1(1) + keeping_2(2) + keeping_3(3) + keeping_4(4) + keeping_5(5);
    total += keeping_6(6) + keeping_12(12) + keeping_some(2) + (long)floating(1.5, 3);
    total += many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + take(make(5), 3) + sum(3, 1L, 2, 3L, 4, 5L, 6);
    total += large_frame(10) + page_frame(4) + large_leaf(5) + huge_frame(7);
    with_alloca(5);
    with_array(60);
    aligned(3, 1, 2, 3, 4, 5, 6, 7);
    aligned_only(3);
    total += shrink_wrapped(50) + shrink_wrapped(500) + early_out(0) + early_out(1) + early_out(2);
    total += returns_through(leaf, 3) + returns_through(tail, 2);
    total += frames_enter(calling_back, 1) + frames_bare(3) + frames_bare_framed(2);
    total += frames_bare_saving(4, leaf) + frames_system();
    total += through_stubs(4);
    sink = total;
    return 0;
}
