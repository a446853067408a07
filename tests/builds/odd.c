/*
 * Stacks with frames of every shape that C compilers make: fixed, variable, realigned, huge; under
 * libc, under signal handlers, on an alternate stack, on a thread. The argument says
 * what has no unwind information: see odd_begin.
 */
#include <alloca.h>
#include <pthread.h>
#include <signal.h>

#include "odd.h"

static volatile int zero;
static volatile char sink;

ODD_CHAIN(innermost) void odd_innermost(void)
{
    odd_reset();
    fw_capture(&odd_stack, 0);
    STAY();
}

static void (*volatile inner)(void) = odd_innermost;

ODD_CHAIN(fixed) void odd_fixed(void)
{
    volatile char bytes[200];
    bytes[zero] = 1;
    inner();
    sink = bytes[zero];
}

ODD_CHAIN(variable) void odd_variable(int n)
{
    char *a = alloca((size_t)n);
    char b[n];
    memset(a, 1, (size_t)n);
    memset(b, 2, (size_t)n);
    inner();
    sink = (char)(a[zero] + b[zero]);
}

/* A frame aligned beyond what the ABI gives, of a size known at run time only: found through a
 * register that holds the incoming stack pointer. */
ODD_CHAIN(realigned) void odd_realigned(int n)
{
    __attribute__((aligned(128))) volatile char wide[256];
    char *a = alloca((size_t)n);
    memset(a, 3, (size_t)n);
    wide[zero] = a[zero];
    inner();
    sink = (char)(wide[zero] + a[zero]);
}

/* Arithmetic on vectors: with -mavx2 and the like, spilled to an aligned frame. */
typedef float vector __attribute__((vector_size(64)));
static volatile float numbers[16] = {1, 2, 3, 4};

ODD_CHAIN(vectors) void odd_vectors(void)
{
    vector v, w;
    for (int i = 0; i < 16; i++) {
        v[i] = numbers[i];
        w[i] = numbers[15 - i];
    }
    vector sum = v * w + v;
    inner();
    sum += v;
    for (int i = 0; i < 16; i++)
        sink = (char)(sink + (char)sum[i]);
}

ODD_CHAIN(huge) void odd_huge(void)
{
    volatile char bytes[2 << 20];
    bytes[zero] = 1;
    inner();
    sink = bytes[zero];
}

/* Every callee-saved register in use across the call. */
ODD_CHAIN(pressed) int odd_pressed(int a, int b, int c, int d, int e, int f, int g, int h)
{
    int x = a * b, y = c * d, z = e * f, u = g * h, v = a + h, w = b + g;
    inner();
    return x + y * 3 + z * 5 + u * 7 + v * 11 + w * 13;
}

ODD_CHAIN(recursive) int odd_recursive(int depth)
{
    if (depth == 0) {
        inner();
        return zero;
    }
    int below = odd_recursive(depth - 1);
    STAY();
    return below + 1;
}

ODD_CHAIN(compare) int odd_compare(const void *a, const void *b)
{
    odd_fixed();
    return *(const int *)a - *(const int *)b;
}

ODD_CHAIN(handler) void odd_handler(int signal)
{
    (void)signal;
    inner();
    STAY();
}

ODD_CHAIN(context) void odd_context(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    odd_reset();
    fw_capture_context(&odd_stack, context, 0);
}

ODD_CHAIN(raises) void odd_raises(int signal)
{
    raise(signal);
    STAY();
}

static const struct odd_range ranges[] = {
    ODD_RANGE('i', innermost), ODD_RANGE('f', fixed),     ODD_RANGE('v', variable),
    ODD_RANGE('a', realigned), ODD_RANGE('x', vectors),   ODD_RANGE('h', huge),
    ODD_RANGE('p', pressed),   ODD_RANGE('r', recursive), ODD_RANGE('c', compare),
    ODD_RANGE('H', handler),   ODD_RANGE('s', raises),    ODD_RANGE('C', context),
};

static void expect(const char *what, const char *expected)
{
    odd_expect(what, ranges, sizeof ranges / sizeof *ranges, expected);
}

static void frames_of_all_shapes(void)
{
    for (int i = 0; i < 2; i++) { /* by decoded rows, then by cached rules */
        odd_fixed();
        expect("fixed", "if");
        odd_variable(100 + zero);
        expect("variable", "iv");
        odd_realigned(100 + zero);
        expect("realigned", "ia");
        odd_vectors();
        expect("vectors", "ix");
        odd_huge();
        expect("huge", "ih");
        sink = (char)odd_pressed(1, 2, 3, 4, 5, 6, 7, 8);
        expect("pressed", "ip");
        sink = (char)odd_recursive(5);
        expect("recursive", "irrrrrr");
    }
}

static void under_libc(void)
{
    int list[2] = {2, 1};
    qsort(list, 2, sizeof *list, odd_compare);
    expect("qsort", "ifc");
}

static void under_signals(void)
{
    static char alternate[1 << 16];
    stack_t stack;
    struct sigaction action;
    memset(&stack, 0, sizeof stack);
    memset(&action, 0, sizeof action);
    stack.ss_sp = alternate;
    stack.ss_size = sizeof alternate;
    sigaltstack(&stack, NULL);
    action.sa_handler = odd_handler;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &action, NULL);
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = odd_context;
    sigaction(SIGALRM, &action, NULL);
    for (int i = 0; i < 2; i++) {
        odd_raises(SIGUSR1);
        expect("handler", "iH-s");
        odd_raises(SIGUSR2);
        expect("alternate stack", "iH-s");
        odd_raises(SIGALRM);
        expect("context", "-s");
    }
}

static void *on_thread(void *unused)
{
    (void)unused;
    odd_fixed();
    expect("thread", "if");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    odd_begin(argc, argv);
    frames_of_all_shapes();
    under_libc();
    under_signals();
    if (pthread_create(&thread, NULL, on_thread, NULL) == 0)
        pthread_join(thread, NULL);
    return odd_failures != 0;
}
