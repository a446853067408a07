/* See calls_target.h. */
#include "watch/calls_target.h"

#pragma GCC visibility push(default)

int target_plain(int value)
{
    return value + 1;
}

double target_doubles(double a, double b, double c, double d, double e, double f, double g,
                      double h)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}

double target_variadic(int count, ...)
{
    double sum = 0;
    va_list list;
    va_start(list, count);
    for (int i = 0; i < count; i++)
        sum += va_arg(list, double) * (i + 1);
    va_end(list);
    return sum;
}

long target_stack(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j)
{
    return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * j;
}

long double target_long_double(long double a, int b, long double c)
{
    return a * b + c;
}

struct target_pair target_pair(double a, long b)
{
    return (struct target_pair){a * 2, b * 3};
}

struct target_large target_large(long first)
{
    struct target_large large;
    for (int i = 0; i < 12; i++)
        large.value[i] = first + i;
    return large;
}

void target_calls_back(void (*back)(void *context), void *context)
{
    back(context);
}

int target_recursive(int depth)
{
    int (*self)(int) = target_recursive;
    __asm__("" : "+r"(self)); /* compilers would call themselves directly */
    return depth == 0 ? 0 : self(depth - 1) + 1;
}

#if defined(__ELF__)
static int add_three(int value)
{
    return value + 3;
}

static int (*choose(void))(int)
{
    return add_three;
}

int target_chosen(int value) __attribute__((ifunc("choose")));

int target_old(int value);
int target_old(int value)
{
    return value + 1;
}
int target_new(int value);
int target_new(int value)
{
    return value + 2;
}
__asm__(".symver target_old, target_versioned@OLD");
__asm__(".symver target_new, target_versioned@@NEW");
#endif

#if defined(__x86_64__)
void target_registers(void)
{
    __asm__ volatile("");
}
#endif
