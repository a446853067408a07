/* Frames that compilers of Apple's platforms make when they are told to, by a flag or an attribute:
 * code of leaf functions that is worth sharing (outliner), parts seldom run (hot-cold splitting),
 * the calling conventions of Swift; and those that assembler like objc_msgSend makes. For the
 * shadow-stack oracle; needs clang. */
#include "frames.h"

typedef unsigned long word;

static volatile word sink, memory[16];

/* The same instructions again and again, so that the outliner shares them. */
#define SHARED                                                                                     \
    {                                                                                              \
        word a = memory[0], b = memory[1], c = memory[2];                                          \
        a ^= b * 0x9E3779B97F4A7C15u;                                                              \
        c += a >> 7;                                                                               \
        b ^= c << 3;                                                                               \
        memory[3] = a;                                                                             \
        memory[4] = b ^ c;                                                                         \
        memory[5] = a + b + c;                                                                     \
        memory[6] = a * b;                                                                         \
        memory[7] = c * a;                                                                         \
    }

NOINLINE static word leaf(word a, word b)
{
    return a * 3 + b;
}

NOINLINE static word sharing_leaf(word n)
{
    memory[0] = n;
    SHARED return memory[3] + 1;
}

NOINLINE static word sharing_at_end(word n)
{
    memory[1] = n * 3;
    SHARED memory[9] = 2;
    return memory[4] + n;
}

NOINLINE static word sharing_sometimes(word n)
{
    if (n & 1) {
        memory[2] = n;
        SHARED return n + memory[5];
    }
    return n * 7;
}

NOINLINE static word sharing_twice(word n)
{
    word a = sharing_leaf(n);
    SHARED memory[11] = a;
    a += sharing_at_end(a);
    SHARED return a + memory[3];
}

NOINLINE static word sharing_among_arguments(word a, word b, word c, word d, word e, word f, word g,
                                             word h, word i, word j)
{
    SHARED return a + b + c + d + e + f + g + h + i + j + memory[3];
}

__attribute__((cold)) NOINLINE static void seldom(word n)
{
    memory[13] = n;
    SHARED
}

NOINLINE static word with_cold_part(word n)
{
    word a = sharing_leaf(n);
    if (a != 1234567) {
        seldom(a + 1);
        seldom(a + 2);
        memory[15] = a;
        a += sharing_sometimes(a);
    }
    return n + a;
}

NOINLINE static word many_epilogues(word n)
{
    if (n == 0)
        return leaf(1, 2);
    word a = leaf(n, 3);
    if (n == 1) {
        memory[3] = a;
        return a;
    }
    if (n == 2) {
        word b = leaf(a, n);
        memory[4] = b;
        return a + b;
    }
    for (word i = 0; i < n; i++) {
        a += leaf(a, i);
        if (a % 7 == 3)
            return leaf(a, a);
    }
    return a;
}

NOINLINE static word switching_leaf(word n, word a)
{
    switch (n) {
    case 0: memory[0] = a; break;
    case 1: memory[1] = a * 3; break;
    case 2: memory[3] = a * 7; break;
    case 3: return a + 4;
    case 4: a ^= memory[5]; break;
    case 5: memory[2] = 1; break;
    case 6: return 3;
    }
    return a + memory[1];
}

NOINLINE static word switching_to_tails(word n, word a)
{
    switch (n) {
    case 0: return leaf(a, 1);
    case 1: return switching_leaf(a, n);
    case 2: return many_epilogues(a);
    case 3: return sharing_twice(a);
    case 4: return sharing_leaf(a);
    case 5: return with_cold_part(a);
    }
    return 0;
}

/* Half in the red zone, and as much as fits into it. */
NOINLINE static word red_zone(word n)
{
    volatile word room[8], more[8];
    for (word i = 0; i < 8; i++)
        room[i] = more[7 - i] = n + i;
    return room[n & 7] + more[n & 3];
}

#define SWIFT   __attribute__((swiftcall))
#define CONTEXT __attribute__((swift_context))
#define ERROR   __attribute__((swift_error_result))

SWIFT NOINLINE static word method(word n, CONTEXT void *self)
{
    word a = leaf(n, 1), b = leaf(a, 2);
    sink = a;
    return a + b + *(word *)self;
}

SWIFT NOINLINE static word throwing(word n, CONTEXT void *self, ERROR void **error)
{
    word a = leaf(n, 1);
    if (a & 1)
        *error = self;
    word b = leaf(a, 2), c = leaf(b, a);
    sink = b;
    return a * c + b;
}

SWIFT NOINLINE static word rethrowing(word n, CONTEXT void *self, ERROR void **error)
{
    word a = throwing(n, self, error);
    if (*error)
        return 7;
    a += throwing(a + 1, self, error);
    return a + leaf(a, n);
}

SWIFT NOINLINE static word throwing_leaf(word n, CONTEXT void *self, ERROR void **error)
{
    *error = self;
    return n;
}

__attribute__((preserve_most)) NOINLINE static void preserving(word n)
{
    memory[3] = leaf(n, 2);
    memory[4] = leaf(n, memory[3]);
}

NOINLINE static word calling_preserving(word n)
{
    preserving(n);
    word a = leaf(n, n);
    preserving(a);
    return a + n;
}

int main(void)
{
    word total = 0, self = 5;
    for (word i = 0; i < 3; i++) {
        void *error = 0;
        total += sharing_leaf(i) + sharing_at_end(i) + sharing_sometimes(i) + sharing_twice(i);
        total += sharing_among_arguments(1, 2, 3, 4, 5, 6, 7, 8, 9, i) + with_cold_part(i);
        total += method(i, &self) + throwing(i, &self, &error);
        error = 0;
        total += rethrowing(i, &self, &error) + throwing_leaf(i, &self, &error);
        total += calling_preserving(i) + red_zone(i) + many_epilogues(i) + many_epilogues(i + 3);
    }
    for (word i = 0; i < 8; i++) {
        total += switching_leaf(i, total) + switching_to_tails(i, i);
        total += frames_dispatch(i, leaf) + frames_put_aside(i, leaf);
    }
    sink = total;
    return 0;
}
