/*
 * Functions of the shapes that compact unwind tells apart, to be compiled for Apple's targets: leaf
 * or not, few or all registers saved, small and large frames, frames of a size known at run time
 * only, variable arguments, floating point, tail calls, calls that do not come back. Nothing here
 * is ever run.
 */
#include <stdarg.h>
#include <stddef.h>

long take(long a, long b);
double take_double(double a);
long take_bytes(char *bytes, size_t size);
_Noreturn void leave(int code);
extern long (*volatile through)(long);

#if defined(__aarch64__) || defined(__arm__)
#ifdef __arm__
#define ODD_REGISTER "r4"
#else
#define ODD_REGISTER "w19"
#endif
/* No encoding says this: without such a function, compilers leave the call frame information of all
 * the others out. */
__asm__(".globl _odd\n_odd:\n.cfi_startproc\n.cfi_def_cfa_offset 48\n.cfi_offset " ODD_REGISTER
        ", -40\nnop\n"
        ".cfi_endproc\n");
#endif

long leaf(long a)
{
    return a * 3 + 1;
}

long leaf_with_array(long a)
{
    volatile long room[20];
    for (int i = 0; i < 20; i++)
        room[i] = a + i;
    return room[a % 20];
}

long calls_once(long a)
{
    return take(a, 1) + 1;
}

long keeps_one(long a)
{
    return take(a, 1) + a;
}

long keeps_two(long a, long b)
{
    return take(a, b) + take(b, a) + a * b;
}

long keeps_three(long a, long b, long c)
{
    return take(a, b) + take(b, c) + take(c, a) + a * b * c;
}

long keeps_all(long a, long b, long c, long d)
{
    long e = take(a, b), f = take(c, d), g = take(e, a), h = take(f, b), i = take(g, c);
    for (long n = take(h, d); n > 0; n--) {
        a += take(b, n) * i;
        b += take(c, e);
        c ^= take(d, f);
        d -= take(a, g) + h;
        e += take(f, i);
        f += take(g, e);
        g ^= take(h, a);
        h += take(i, b);
        i -= take(e, n);
    }
    return a + b + c + d + e + f + g + h + i;
}

long middle_frame(long a)
{
    char room[200];
    return take_bytes(room, sizeof room) + a;
}

long large_frame(long a, long b)
{
    char room[5000];
    return take_bytes(room, sizeof room) + take(a, b) + a + b;
}

long huge_frame(long a, long b)
{
    char room[300000];
    return take_bytes(room, sizeof room) + take(a, b) + a + b;
}

long sized_at_run_time(size_t size, long a)
{
    char room[size];
    return take_bytes(room, size) + a;
}

long variable(long first, ...)
{
    va_list list;
    long sum = first;
    va_start(list, first);
    for (long i = 0; i < first; i++)
        sum += take(va_arg(list, long), sum);
    va_end(list);
    return sum;
}

double keeps_double(double a, double b)
{
    return take_double(a) + take_double(b) * a + b;
}

double keeps_both(double a, double b, long c)
{
    double d = take_double(a) * b, e = take_double(b) + a;
    for (long i = take(c, 1); i > 0; i--) {
        a += take_double(d) * b;
        b -= take_double(e) + c;
        d += take_double(a);
        e -= (double)take(c, i);
    }
    return a + b + d + e;
}

long tail(long a)
{
    return take(a + 1, 2);
}

long tail_with_frame(long a)
{
    take(a, 1);
    return take(a + 1, 2);
}

long tail_through(long a)
{
    take(a, 1);
    return through(a);
}

long early(long a, long b)
{
    if (a < 10)
        return b;
    return keeps_two(a, b) + keeps_one(a);
}

long leaves(long a)
{
    if (a < 0)
        leave(1);
    return take(a, a) + a;
}

_Noreturn void only_leaves(int code)
{
    take(code, 1);
    leave(code);
}

long chooses(long a, long b)
{
    switch (a) {
    case 0: return take(b, 1);
    case 1: return take(b, 2) + b;
    case 2: return take(b, 4) * b;
    case 3: return take(a, b) - b;
    case 4: return take(a, 9) + a;
    case 5: return b;
    default: return take(a, a);
    }
}
