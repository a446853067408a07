/* Functions of another image, of every kind of signature, for the tests of the call watch. */
#ifndef TESTS_WATCH_CALLS_TARGET_H
#define TESTS_WATCH_CALLS_TARGET_H

#include <stdarg.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct target_pair { /* in two registers */
    double a;
    long b;
};
struct target_large { /* through memory */
    long value[12];
};

int target_plain(int value);
double target_doubles(double a, double b, double c, double d, double e, double f, double g,
                      double h);
double target_variadic(int count, ...);
long target_stack(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j);
long double target_long_double(long double a, int b, long double c);
struct target_pair target_pair(double a, long b);
struct target_large target_large(long first);
/* Calls `back`, which may leave by longjmp(). */
void target_calls_back(void (*back)(void *context), void *context);
/* Calls itself `depth` times through its own linkage table. */
int target_recursive(int depth);
/* Chosen at run time. */
int target_chosen(int value);
/* Two versions where the linker has them: target_versioned@OLD adds 1, @@NEW adds 2. */
int target_versioned(int value);

#if defined(__x86_64__)
void target_registers(void); /* leaves all registers alone */
#endif

#ifdef __cplusplus
}
#endif
#endif
