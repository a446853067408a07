/* Stacks that do not move in the usual way: alloca, variable arrays, aligned frames, longjmp,
 * swapcontext, functions without frame inside inline assembly, the vDSO. */
#define _GNU_SOURCE
#include <alloca.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile long sink;

NOINLINE static void touch(void *p, size_t n)
{
    memset(p, 1, n);
    sink += ((char *)p)[n - 1];
}

NOINLINE static void with_alloca(int n)
{
    for (int i = 1; i < n; i++)
        touch(alloca((size_t)i * 24), (size_t)i);
}

NOINLINE static void with_array(int n)
{
    char room[n];
    touch(room, (size_t)n);
    if (n > 10)
        with_array(n / 2);
}

/* An aligned local makes the compiler address the frame by another register. */
NOINLINE static void aligned(int n, long a, long b, long c, long d, long e, long f, long g)
{
    _Alignas(64) char room[192];
    char *more = alloca((size_t)n);
    touch(room, sizeof room);
    touch(more, (size_t)n);
    sink += a + b + c + d + e + f + g;
    if (n > 1)
        aligned(n - 1, b, c, d, e, f, g, a);
}

NOINLINE static void aligned_only(int n)
{
    _Alignas(32) double room[8];
    for (int i = 0; i < 8; i++)
        room[i] = i * n;
    touch(room, sizeof room);
}

__attribute__((force_align_arg_pointer)) NOINLINE static void realigned(int n)
{
    char room[100];
    touch(room, (size_t)n);
}

static jmp_buf back;

NOINLINE static void jump(int depth)
{
    if (depth == 0)
        longjmp(back, 7);
    jump(depth - 1);
    sink++;
}

NOINLINE static void jumping(int depth)
{
    if (setjmp(back) == 0)
        jump(depth);
    touch(&depth, sizeof depth);
}

static ucontext_t main_context, worker[2];
static char worker_stack[2][65536];

NOINLINE static void yield(int self)
{
    swapcontext(&worker[self], self == 0 ? &worker[1] : &main_context);
}

static void work(int self)
{
    for (int i = 0; i < 3; i++) {
        with_alloca(4);
        yield(self);
    }
}

NOINLINE static void coroutines(void)
{
    for (int i = 0; i < 2; i++) {
        getcontext(&worker[i]);
        worker[i].uc_stack.ss_sp = worker_stack[i];
        worker[i].uc_stack.ss_size = sizeof worker_stack[i];
        worker[i].uc_link = &main_context;
        makecontext(&worker[i], (void (*)(void))work, 1, i);
    }
    for (int i = 0; i < 4; i++)
        swapcontext(&main_context, &worker[0]);
}

NOINLINE static void vdso(void)
{
    struct timespec ts;
    struct timeval tv;
    for (int i = 0; i < 3; i++) {
        clock_gettime(CLOCK_MONOTONIC, &ts);
        clock_gettime(CLOCK_REALTIME_COARSE, &ts);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts); /* falls back to a system call */
        gettimeofday(&tv, NULL);
        sink += ts.tv_nsec + time(NULL) + tv.tv_sec + clock_getres(CLOCK_MONOTONIC, &ts);
    }
}

#if defined(__x86_64__)
/* Assembler without unwind information, with and without a frame pointer. */
__asm__(".text\n"
        ".type bare, @function\n"
        "bare:\n"
        "    push %rbx\n"
        "    sub $32, %rsp\n"
        "    mov %rdi, %rbx\n"
        "    mov %rsp, %rdi\n"
        "    mov $32, %esi\n"
        "    call bare_callee\n"
        "    test %rbx, %rbx\n"
        "    je 1f\n"
        "    lea -1(%rbx), %rdi\n"
        "    call bare\n"
        "1:  add $32, %rsp\n"
        "    pop %rbx\n"
        "    ret\n"
        ".size bare, . - bare\n"
        ".type bare_framed, @function\n"
        "bare_framed:\n"
        "    push %rbp\n"
        "    mov %rsp, %rbp\n"
        "    and $-64, %rsp\n"
        "    sub $64, %rsp\n"
        "    call bare\n"
        "    leave\n"
        "    ret\n"
        ".size bare_framed, . - bare_framed\n");
void bare(long n);
void bare_framed(long n);
void bare_callee(void *p, size_t n);
void bare_callee(void *p, size_t n)
{
    touch(p, n);
}
#endif

int main(void)
{
    with_alloca(6);
    with_array(300);
    aligned(4, 1, 2, 3, 4, 5, 6, 7);
    aligned_only(3);
    realigned(5);
    jumping(0);
    jumping(6);
    coroutines();
    vdso();
#if defined(__x86_64__)
    bare(3);
    bare_framed(2);
#endif
    printf("%d\n", sink != 0);
    return 0;
}
