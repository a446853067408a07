/*
 * Signals with Darwin's numbers, structures and frames. Linux delivers to the loader's handler on a
 * stack of its own; that builds Darwin's frame on the program's stack (below the red zone) and
 * returns into _sigtramp, which calls the program's handler. __sigreturn raises a signal of the
 * loader's, whose handler puts the registers back that were interrupted: so nothing of ours is on
 * the way, and handlers may nest, wait or jump out.
 */
#include "internal.h"
#include "shims.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
struct darwin_mcontext {
    _STRUCT_X86_EXCEPTION_STATE64 es;
    _STRUCT_X86_THREAD_STATE64 ss;
    _STRUCT_X86_FLOAT_STATE64 fs;
};
#else
struct darwin_mcontext {
    _STRUCT_ARM_EXCEPTION_STATE64 es;
    _STRUCT_ARM_THREAD_STATE64 ss;
    _STRUCT_ARM_NEON_STATE64 ns;
};
#endif

struct darwin_stack {
    void *sp;
    size_t size;
    int flags;
};
struct darwin_ucontext {
    int onstack;
    uint32_t mask;
    struct darwin_stack stack;
    struct darwin_ucontext *link;
    size_t mcsize;
    struct darwin_mcontext *mcontext;
};
struct darwin_siginfo {
    int signo, error, code, pid, uid, status;
    void *address;
    void *value;
    long band;
    unsigned long pad[7];
};
struct darwin_sigaction {
    void *handler;
    uint32_t mask;
    int flags;
};
enum { D_ONSTACK = 1, D_RESTART = 2, D_RESETHAND = 4, D_NODEFER = 16, D_SIGINFO = 64 };
enum { SIGNAL_LIMIT = 32, FLOAT_LIMIT = 16384 };

/* What lies on the program's stack while its handler runs. */
struct frame {
    struct darwin_ucontext context;
    struct darwin_mcontext machine;
    struct darwin_siginfo info;
    ucontext_t linux_context;
    struct registers shown; /* what the handler was told; what it changes is taken over */
    struct record record;
    size_t float_size;
    char floats[FLOAT_LIMIT];
};

static struct darwin_sigaction actions[SIGNAL_LIMIT];

/* Darwin's number -> Linux's. */
static const int linux_signals[SIGNAL_LIMIT] = {
    0,       SIGHUP,  SIGINT,    SIGQUIT, SIGILL,   SIGTRAP, SIGABRT, 0,
    SIGFPE,  SIGKILL, SIGBUS,    SIGSEGV, SIGSYS,   SIGPIPE, SIGALRM, SIGTERM,
    SIGURG,  SIGSTOP, SIGTSTP,   SIGCONT, SIGCHLD,  SIGTTIN, SIGTTOU, SIGIO,
    SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGWINCH, 0,       SIGUSR1, SIGUSR2};

int darwin_signal(int number)
{
    for (int i = 1; i < SIGNAL_LIMIT; i++) {
        if (linux_signals[i] == number)
            return i;
    }
    return 0;
}

static int return_signal(void)
{
    return SIGRTMIN + 2;
}

static void linux_mask(uint32_t mask, sigset_t *set)
{
    sigemptyset(set);
    for (int i = 1; i < SIGNAL_LIMIT; i++) {
        if (mask >> (i - 1) & 1 && linux_signals[i])
            sigaddset(set, linux_signals[i]);
    }
}

static uint32_t darwin_mask(const sigset_t *set)
{
    uint32_t mask = 0;
    for (int i = 1; i < SIGNAL_LIMIT; i++) {
        if (linux_signals[i] && sigismember(set, linux_signals[i]) == 1)
            mask |= 1u << (i - 1);
    }
    return mask;
}

static void save_floats(const ucontext_t *context, struct frame *frame)
{
#if defined(__x86_64__)
    uint32_t magic = 0, size = 512;
    const char *area = (const char *)context->uc_mcontext.fpregs;
    memcpy(&magic, area + 464, 4);
    if (magic == 0x46505853) /* the frame says how long the extended area is */
        memcpy(&size, area + 468, 4);
    if (size > FLOAT_LIMIT)
        size = 512;
    memcpy(frame->floats, area, size);
    frame->float_size = size;
#else
    (void)context;
    frame->float_size = 0; /* they are within the context itself */
#endif
}

static void *frame_place(const struct darwin_sigaction *action, uint64_t sp, struct thread *self)
{
    const char *low = self->altstack.sp;
    const bool inside = self->altstack.enabled && sp >= (uint64_t)(uintptr_t)low &&
                        sp < (uint64_t)(uintptr_t)(low + self->altstack.size);
    uint64_t top = sp - 128; /* the red zone */
    if (action->flags & D_ONSTACK && self->altstack.enabled && !inside)
        top = (uint64_t)(uintptr_t)(low + self->altstack.size);
    return (void *)(uintptr_t)((top - sizeof(struct frame)) & ~(uint64_t)63);
}

static void enter_trampoline(ucontext_t *context, const struct frame *frame, uint64_t handler,
                             int number)
{
    const uint64_t trampoline = (uint64_t)(uintptr_t)system_symbol("__sigtramp");
    const uint64_t sp = ((uint64_t)(uintptr_t)frame & ~(uint64_t)15) - 64;
#if defined(__x86_64__)
    greg_t *g = context->uc_mcontext.gregs;
    g[REG_RIP] = (greg_t)trampoline;
    g[REG_RSP] = (greg_t)sp;
    g[REG_RBP] = (greg_t)frame->shown.fp;
    g[REG_RBX] = (greg_t)(uintptr_t)&frame->context;
    g[REG_RDI] = (greg_t)handler;
    g[REG_RSI] = 1;
    g[REG_RDX] = number;
    g[REG_RCX] = (greg_t)(uintptr_t)&frame->info;
    g[REG_R8] = (greg_t)(uintptr_t)&frame->context;
    g[REG_R9] = 0;
    g[REG_EFL] &= ~(greg_t)0x400;
#else
    mcontext_t *m = &context->uc_mcontext;
    m->pc = trampoline;
    m->sp = sp;
    m->regs[19] = (uint64_t)(uintptr_t)&frame->context;
    m->regs[0] = handler;
    m->regs[1] = 1;
    m->regs[2] = (unsigned)number;
    m->regs[3] = (uint64_t)(uintptr_t)&frame->info;
    m->regs[4] = (uint64_t)(uintptr_t)&frame->context;
    m->regs[5] = 0;
    m->regs[29] = frame->shown.fp;
    m->regs[30] = frame->shown.pc;
#endif
}

static int darwin_code(int number, int code)
{
    return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ? code : 0;
}

/* A crash that the program does not handle: say where, in terms of images. */
static void crash(int number, const struct registers *registers)
{
    say("signal %d (%s)", number, strsignal(number));
    describe_registers(registers);
    signal(number, SIG_DFL);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
}

static void deliver(int number, siginfo_t *linux_info, void *linux_context)
{
    ucontext_t *context = linux_context;
    struct thread *self = thread_self();
    const int darwin = darwin_signal(number);
    struct darwin_sigaction *action = &actions[darwin];
    struct registers registers;
    if (!self)
        _exit(128 + number);
    if (self->critical && linux_info->si_code <= 0) { /* as if it came after the system call */
        self->deferred |= 1u << (darwin - 1);
        return;
    }
    context_registers(context, &machhost_record, &registers);
    const uint64_t handler = (uint64_t)(uintptr_t)action->handler;
    if (handler <= 1) {
        crash(number, &registers);
        return;
    }
#if defined(__x86_64__)
    const uint64_t sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#else
    const uint64_t sp = context->uc_mcontext.sp;
#endif
    struct frame *frame = frame_place(action, sp, self);
    memset(frame, 0, offsetof(struct frame, floats));
    frame->linux_context = *context;
    frame->shown = registers;
    frame->record = machhost_record;
    save_floats(context, frame);
    registers_show(&registers, &frame->machine.ss);
    frame->context = (struct darwin_ucontext){.mask = darwin_mask(&context->uc_sigmask),
                                              .mcsize = sizeof(frame->machine),
                                              .mcontext = &frame->machine};
    frame->info = (struct darwin_siginfo){.signo = darwin,
                                          .code = darwin_code(number, linux_info->si_code),
                                          .address = linux_info->si_addr};
    if (linux_info->si_code <= 0) {
        frame->info.pid = linux_info->si_pid;
        frame->info.address = NULL;
    }
    sigset_t blocked;
    linux_mask(action->mask | (action->flags & D_NODEFER ? 0 : 1u << (darwin - 1)), &blocked);
    sigorset(&context->uc_sigmask, &context->uc_sigmask, &blocked);
    if (action->flags & D_RESETHAND)
        *action = (struct darwin_sigaction){0};
    machhost_record.in_host = 0;
    enter_trampoline(context, frame, handler, darwin);
}

static void take_over(const struct registers *shown, const struct darwin_mcontext *now,
                      ucontext_t *context)
{
    struct darwin_mcontext before = {0};
    registers_show(shown, &before.ss);
    if (memcmp(&before.ss, &now->ss, sizeof(before.ss)) == 0)
        return;
#if defined(__x86_64__)
    greg_t *g = context->uc_mcontext.gregs;
    g[REG_RIP] = (greg_t)now->ss.__rip;
    g[REG_RSP] = (greg_t)now->ss.__rsp;
    g[REG_RBP] = (greg_t)now->ss.__rbp;
    g[REG_RAX] = (greg_t)now->ss.__rax;
    g[REG_RBX] = (greg_t)now->ss.__rbx;
    g[REG_RDI] = (greg_t)now->ss.__rdi;
#else
    mcontext_t *m = &context->uc_mcontext;
    m->pc = now->ss.__pc;
    m->sp = now->ss.__sp;
    m->regs[29] = now->ss.__fp;
    m->regs[30] = now->ss.__lr;
    memcpy(m->regs, now->ss.__x, sizeof(now->ss.__x));
#endif
}

/* The loader's own signal: __sigreturn waits in the kernel for it. */
static void put_back(int number, siginfo_t *info, void *linux_context)
{
    (void)number;
    ucontext_t *context = linux_context;
    struct frame *frame = info->si_value.sival_ptr;
    machhost_record = frame->record;
    take_over(&frame->shown, &frame->machine, &frame->linux_context);
    context->uc_sigmask = frame->linux_context.uc_sigmask;
#if defined(__x86_64__)
    memcpy(context->uc_mcontext.gregs, frame->linux_context.uc_mcontext.gregs,
           sizeof(context->uc_mcontext.gregs));
    memcpy(context->uc_mcontext.fpregs, frame->floats, frame->float_size);
#else
    context->uc_mcontext = frame->linux_context.uc_mcontext;
#endif
}

void shim___sigreturn(void *context)
{
    struct frame *frame = context; /* the first of its fields */
    siginfo_t info = {.si_code = SI_QUEUE};
    info.si_value.sival_ptr = frame;
    syscall(SYS_rt_tgsigqueueinfo, getpid(), thread_self()->tid, return_signal(), &info);
    for (;;)
        pause();
}

static void install(int linux_number, int flags)
{
    struct sigaction action = {.sa_sigaction = deliver,
                               .sa_flags =
                                   SA_SIGINFO | SA_ONSTACK | (flags & D_RESTART ? SA_RESTART : 0)};
    sigfillset(&action.sa_mask);
    sigaction(linux_number, &action, NULL);
}

void signals_start(void)
{
    struct sigaction action = {.sa_sigaction = put_back, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigfillset(&action.sa_mask);
    sigaction(return_signal(), &action, NULL);
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE};
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
        install(crashes[i], 0);
    stop_start();
}

void signals_thread_start(struct thread *thread)
{
    enum { SIZE = 64 << 10 };
    stack_t stack = {.ss_size = SIZE};
    stack.ss_sp = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp == MAP_FAILED)
        abort();
    thread->signal_stack = stack.ss_sp;
    sigaltstack(&stack, NULL);
}

int shim_sigaction(int number, const struct darwin_sigaction *action, struct darwin_sigaction *old)
{
    if (number <= 0 || number >= SIGNAL_LIMIT || !linux_signals[number] ||
        (action && (number == 9 || number == 17))) {
        errno = EINVAL;
        return -1;
    }
    if (old)
        *old = actions[number];
    if (!action)
        return 0;
    actions[number] = *action;
    const int linux_number = linux_signals[number];
    if (action->handler == (void *)1)
        signal(linux_number, SIG_IGN);
    else if (action->handler || number == 11 || number == 10 || number == 4 || number == 5 ||
             number == 8)
        install(linux_number, action->flags);
    else
        signal(linux_number, SIG_DFL);
    return 0;
}

void *shim_signal(int number, void *handler)
{
    struct darwin_sigaction old, action = {.handler = handler, .flags = D_RESTART};
    return shim_sigaction(number, &action, &old) == 0 ? old.handler : (void *)-1;
}

int shim_sigaltstack(const struct darwin_stack *stack, struct darwin_stack *old)
{
    struct thread *self = thread_self();
    if (old)
        *old = (struct darwin_stack){self->altstack.sp, self->altstack.size,
                                     self->altstack.enabled ? 0 : 4};
    if (stack) {
        self->altstack.enabled = !(stack->flags & 4);
        self->altstack.sp = stack->sp;
        self->altstack.size = stack->size;
    }
    return 0;
}

int shim_pthread_sigmask(int how, const uint32_t *set, uint32_t *old)
{
    static const int hows[] = {0, SIG_BLOCK, SIG_UNBLOCK, SIG_SETMASK};
    sigset_t own, before;
    if (set)
        linux_mask(*set, &own);
    if (set && (how < 1 || how > 3))
        return EINVAL;
    const int error = pthread_sigmask(set ? hows[how] : SIG_BLOCK, set ? &own : NULL, &before);
    if (old)
        *old = darwin_mask(&before);
    return darwin_errno(error);
}

int shim_sigprocmask(int how, const uint32_t *set, uint32_t *old)
{
    const int error = shim_pthread_sigmask(how, set, old);
    errno = error;
    return error ? -1 : 0;
}

void signals_deferred(struct thread *self)
{
    const uint32_t mask = self->deferred;
    self->deferred = 0;
    for (int i = 1; i < SIGNAL_LIMIT; i++) {
        if (mask >> (i - 1) & 1)
            syscall(SYS_tgkill, getpid(), self->tid, linux_signals[i]);
    }
}

static int linux_number(int number)
{
    return number >= 0 && number < SIGNAL_LIMIT ? linux_signals[number] : -1;
}

int shim_kill(int pid, int number)
{
    return kill(pid, linux_number(number));
}

int shim_raise(int number)
{
    return syscall(SYS_tgkill, getpid(), thread_self()->tid, linux_number(number)) == 0 ? 0 : -1;
}

int shim_pthread_kill(const struct thread *thread, int number)
{
    if (thread->dead)
        return darwin_errno(ESRCH);
    return syscall(SYS_tgkill, getpid(), thread->tid, linux_number(number)) == 0
               ? 0
               : darwin_errno(errno);
}
