/*
 * The Mach-O host's signals: what a handler is told, what it may change, on which stack it runs,
 * and that the frame chain leads through _sigtramp.
 */
#include "cmocka.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#define PC(context)    (context)->uc_mcontext->__ss.__rip
#define SP(context)    (context)->uc_mcontext->__ss.__rsp
#define FIRST(context) (context)->uc_mcontext->__ss.__rdi
#define POKE_SIZE      6
#else
#define PC(context)    (context)->uc_mcontext->__ss.__pc
#define SP(context)    (context)->uc_mcontext->__ss.__sp
#define FIRST(context) (context)->uc_mcontext->__ss.__x[0]
#define POKE_SIZE      4
#endif

static volatile sig_atomic_t handled;
static uint64_t seen_pc, seen_sp, seen_first, handler_sp;
static uintptr_t seen_address, returns_to;

/* In the handler's own frame, whatever is inlined otherwise: who returns where is looked at. */
static inline __attribute__((always_inline)) void note_here(int signal, const siginfo_t *info,
                                                            const void *argument)
{
    const ucontext_t *context = argument;
    handled = signal;
    seen_pc = PC(context);
    seen_sp = SP(context);
    seen_first = FIRST(context);
    seen_address = (uintptr_t)info->si_addr;
    handler_sp = (uintptr_t)__builtin_frame_address(0);
    returns_to = (uintptr_t)__builtin_return_address(0) & 0xffffffffffff;
}

static void note(int signal, siginfo_t *info, void *argument)
{
    note_here(signal, info, argument);
}

static void note_and_skip(int signal, siginfo_t *info, void *argument)
{
    ucontext_t *context = argument;
    note_here(signal, info, argument);
    PC(context) += POKE_SIZE;
}

static void install(int signal, void (*handler)(int, siginfo_t *, void *), int flags)
{
    struct sigaction action = {0};
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | flags;
    assert_int_equal(sigaction(signal, &action, NULL), 0);
}

/* A store to its argument, of which the handler skips the instruction. */
__attribute__((noinline)) static void poke(int *at)
{
#if defined(__x86_64__)
    __asm__ volatile("movl $1, (%%rdi)" ::"D"(at) : "memory");
#else
    register int *x0 __asm__("x0") = at;
    __asm__ volatile("str wzr, [%0]" ::"r"(x0) : "memory");
#endif
}

static bool within(uint64_t address, const void *function)
{
    return address >= (uint64_t)(uintptr_t)function &&
           address < (uint64_t)(uintptr_t)function + 128;
}

static void test_fault(void **state)
{
    (void)state;
    install(SIGSEGV, note_and_skip, 0);
    int *unreadable = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANON, -1, 0);
    for (int i = 0; i < 10; i++) {
        handled = 0;
        poke(unreadable + i);
        assert_int_equal(handled, SIGSEGV);
        assert_int_equal(seen_address, (uintptr_t)(unreadable + i));
        assert_int_equal(seen_first, (uintptr_t)(unreadable + i));
        assert_true(within(seen_pc, (void *)poke));
        assert_true(handler_sp < seen_sp - 128); /* the red zone is left alone */
        assert_true(handler_sp > seen_sp - 65536);
    }
    Dl_info info;
    assert_true(dladdr((void *)returns_to, &info) != 0);
    assert_string_equal(info.dli_sname, "_sigtramp");
    assert_int_equal(munmap(unreadable, 4096), 0);
}

static void test_raise(void **state)
{
    (void)state;
    install(SIGUSR1, note, 0);
    handled = 0;
    errno = EILSEQ;
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(handled, SIGUSR1);
    assert_int_equal(errno, EILSEQ);
    Dl_info info;
    assert_true(dladdr((void *)(uintptr_t)seen_pc, &info) != 0);
    assert_string_equal(info.dli_sname, "raise"); /* as if it were the system call */
}

static void test_mask(void **state)
{
    (void)state;
    sigset_t set, old, now;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &set, &old), 0);
    handled = 0;
    raise(SIGUSR1);
    assert_int_equal(handled, 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, &old, &now), 0);
    assert_int_equal(handled, SIGUSR1);
    assert_int_equal(now, set);
}

static void test_other_stack(void **state)
{
    (void)state;
    static char stack[SIGSTKSZ];
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)},
                  none = {.ss_flags = SS_DISABLE};
    assert_int_equal(sigaltstack(&other, NULL), 0);
    install(SIGUSR2, note, SA_ONSTACK);
    raise(SIGUSR2);
    assert_in_range(handler_sp, (uintptr_t)stack, (uintptr_t)stack + sizeof(stack));
    assert_not_in_range(seen_sp, (uintptr_t)stack, (uintptr_t)stack + sizeof(stack));
    assert_int_equal(sigaltstack(&none, NULL), 0);
}

static jmp_buf back;

static void jump(int signal, siginfo_t *info, void *argument)
{
    note(signal, info, argument);
    longjmp(back, 5);
}

static void test_jump(void **state)
{
    (void)state;
    install(SIGBUS, jump, 0);
    for (int i = 0; i < 3; i++) { /* the mask is put back, so it comes again */
        const int value = setjmp(back);
        if (value == 0)
            raise(SIGBUS);
        assert_int_equal(value, 5);
    }
}

static _Atomic int ticks;
static double sum;

static void tick(int signal, siginfo_t *info, void *argument)
{
    volatile double product = 3.0; /* disturbs the floating point registers */
    for (int i = 0; i < 10; i++)
        product *= 1.5;
    ticks++;
    (void)signal, (void)info, (void)argument;
}

static void test_timer(void **state)
{
    (void)state;
    install(SIGPROF, tick, SA_RESTART);
    const struct itimerval each = {{0, 1000}, {0, 1000}}, none = {{0, 0}, {0, 0}};
    assert_int_equal(setitimer(ITIMER_PROF, &each, NULL), 0);
    double expected = 0;
    for (int round = 0; ticks < 50 && round < 1000000; round++) {
        double value = 0.5;
        for (int i = 0; i < 1000; i++)
            value = value * 1.000001 + 0.25;
        if (round == 0)
            expected = value;
        sum = value;
        assert_true(value == expected);
        char *memory = malloc(100);
        pthread_setname_np("timed");
        free(memory);
    }
    assert_int_equal(setitimer(ITIMER_PROF, &none, NULL), 0);
    assert_true(ticks >= 50);
}

static void *kill_me(void *argument)
{
    pthread_kill(*(pthread_t *)argument, SIGUSR1);
    return NULL;
}

static void test_kill_thread(void **state)
{
    (void)state;
    pthread_t self = pthread_self(), thread;
    handled = 0;
    assert_int_equal(pthread_create(&thread, NULL, kill_me, &self), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(handled, SIGUSR1);
}

/* A signal that nobody handles ends a process, with Darwin's number. */
static void test_child(void **state)
{
    (void)state;
    int status = 0;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR2, SIG_DFL);
        raise(SIGUSR2);
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGUSR2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fault),       cmocka_unit_test(test_raise),
        cmocka_unit_test(test_mask),        cmocka_unit_test(test_other_stack),
        cmocka_unit_test(test_jump),        cmocka_unit_test(test_timer),
        cmocka_unit_test(test_kill_thread), cmocka_unit_test(test_child),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
