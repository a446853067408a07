/*
 * Stopping threads. thread_suspend adds one to the target's count and sends it a real-time signal;
 * its handler parks on the same word until the count is zero. A thread in a place from which its
 * registers could not be told exactly does not park but asks to be sent the signal again.
 * No lock is taken here: whoever is stopped may hold any lock but those of the loader.
 */
#include "internal.h"

#include <errno.h>
#include <mach/kern_return.h>
#include <mach/message.h>
#include <mach/thread_status.h>
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../host.h"

static _Atomic uint64_t stop_windows, stop_total, stop_longest;

uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

int stop_signal(void)
{
    return SIGRTMIN + 1;
}

/* What a shim's caller is seen at: the thunk of the call. */
static uint64_t call_place(uint64_t call)
{
    static uint64_t tlv, start;
    if (call < INDEX_COUNT)
        return machhost_thunks[call];
    if (!tlv) {
        tlv = (uint64_t)(uintptr_t)system_symbol("_tlv_get_addr");
        start = (uint64_t)(uintptr_t)system_symbol("_thread_start");
    }
    return call == (uint64_t)-1 ? tlv : start;
}

static void machine_registers(const ucontext_t *context, struct registers *r)
{
#if defined(__x86_64__)
    static const int order[16] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                  REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                  REG_R12, REG_R13, REG_R14, REG_R15};
    const greg_t *g = context->uc_mcontext.gregs;
    for (size_t i = 0; i < 16; i++)
        r->x[i] = (uint64_t)g[order[i]];
    r->pc = (uint64_t)g[REG_RIP];
    r->sp = (uint64_t)g[REG_RSP];
    r->fp = (uint64_t)g[REG_RBP];
    r->lr = 0;
    r->flags = (uint64_t)g[REG_EFL];
#else
    const mcontext_t *m = &context->uc_mcontext;
    for (size_t i = 0; i < 29; i++)
        r->x[i] = m->regs[i];
    r->pc = m->pc;
    r->sp = m->sp;
    r->fp = m->regs[29];
    r->lr = m->regs[30];
    r->flags = m->pstate;
#endif
}

static void record_registers(const struct record *record, struct registers *r)
{
    memset(r, 0, sizeof(*r));
    r->pc = call_place(record->call);
    r->sp = record->sp;
    r->fp = record->fp;
    r->lr = record->lr;
#if defined(__x86_64__)
    r->lr = 0;
    r->x[3] = record->saved[0];
    r->x[6] = record->fp;
    r->x[7] = record->sp;
    memcpy(&r->x[12], &record->saved[1], 4 * sizeof(uint64_t));
    r->flags = 0x202;
#else
    memcpy(&r->x[19], record->saved, sizeof(record->saved));
#endif
}

bool context_registers(const ucontext_t *context, const struct record *record, struct registers *r)
{
    machine_registers(context, r);
    const uint64_t pc = r->pc;
    if (image_text(pc))
        return true;
    if (record->in_host) {
        record_registers(record, r);
        return true;
    }
    if (pc < (uint64_t)(uintptr_t)machhost_asm_first ||
        pc >= (uint64_t)(uintptr_t)machhost_asm_last)
        return false;
    uint64_t call = record->call;
    if (pc < (uint64_t)(uintptr_t)machhost_enter_noted) {
#if defined(__x86_64__)
        call = r->x[11];
#else
        call = r->x[16];
#endif
    } else if (pc >= (uint64_t)(uintptr_t)machhost_tlv_get) {
        call = (uint64_t)-1;
    }
    r->pc = call_place(call);
    return true;
}

void stop_handler(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info;
    struct thread *self = thread_self();
    if (!self || atomic_load(&self->stop) < STOP_ONE)
        return;
    const int error = errno;
    struct registers registers;
    if (self->critical || !context_registers(context, &machhost_record, &registers)) {
        atomic_fetch_or(&self->stop, STOP_RETRY);
        futex_wake(&self->stop, 1 << 30);
        errno = error;
        return;
    }
    self->parked = context;
    self->record = &machhost_record;
    self->stopped_since = now_ns();
    uint32_t seen = atomic_fetch_or(&self->stop, STOP_PARKED) | STOP_PARKED;
    futex_wake(&self->stop, 1 << 30);
    for (;;) {
        if (seen >= STOP_ONE) {
            futex_wait(&self->stop, seen, NULL);
            seen = atomic_load(&self->stop);
        } else if (atomic_compare_exchange_strong(&self->stop, &seen, 0)) {
            break;
        }
    }
    errno = error;
}

void stop_start(void)
{
    struct sigaction action = {.sa_sigaction = stop_handler,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&action.sa_mask);
    sigaction(stop_signal(), &action, NULL);
}

static void send_stop(const struct thread *thread)
{
    syscall(SYS_tgkill, getpid(), thread->tid, stop_signal());
}

static int stop_thread(struct thread *thread)
{
    const uint64_t asked = now_ns();
    const uint32_t before = atomic_fetch_add(&thread->stop, STOP_ONE);
    if (before & STOP_DEAD) {
        atomic_fetch_sub(&thread->stop, STOP_ONE);
        return MACH_SEND_INVALID_DEST;
    }
    if (before < STOP_ONE)
        send_stop(thread);
    if (thread == thread_self())
        return KERN_SUCCESS; /* it was parked in the system call above, and somebody resumed it */
    for (;;) {
        const uint32_t seen = atomic_load(&thread->stop);
        if (seen & STOP_PARKED) {
            /* It may not have left its place since it was resumed last. */
            if (before < STOP_ONE && thread->stopped_since < asked)
                thread->stopped_since = asked;
            return KERN_SUCCESS;
        }
        if (seen & STOP_RETRY) {
            atomic_fetch_and(&thread->stop, ~(uint32_t)STOP_RETRY);
            sched_yield();
            send_stop(thread);
        } else {
            futex_wait(&thread->stop, seen, NULL);
        }
    }
}

static void count_window(uint64_t since)
{
    const uint64_t span = now_ns() - since;
    atomic_fetch_add(&stop_windows, 1);
    atomic_fetch_add(&stop_total, span);
    uint64_t longest = atomic_load(&stop_longest);
    while (span > longest && !atomic_compare_exchange_weak(&stop_longest, &longest, span))
        ;
}

static int resume_thread(struct thread *thread)
{
    const uint64_t since = thread->stopped_since;
    uint32_t seen = atomic_load(&thread->stop);
    do {
        if (seen < STOP_ONE)
            return seen & STOP_DEAD ? MACH_SEND_INVALID_DEST : KERN_FAILURE;
    } while (!atomic_compare_exchange_weak(&thread->stop, &seen, seen - STOP_ONE));
    if (seen - STOP_ONE < STOP_ONE) {
        futex_wake(&thread->stop, 1 << 30);
        count_window(since);
    }
    return KERN_SUCCESS;
}

/* The thread whose port that is, dead or not: the list only grows. */
static struct thread *thread_by_port(uint32_t port)
{
    for (struct thread *each = __atomic_load_n(&machhost_threads, __ATOMIC_ACQUIRE); each;
         each = __atomic_load_n(&each->next, __ATOMIC_ACQUIRE)) {
        if (each->port == port)
            return each;
    }
    return NULL;
}

int shim_thread_suspend(uint32_t port)
{
    INJECT(thread_suspend);
    struct thread *thread = thread_by_port(port);
    if (!thread)
        return MACH_SEND_INVALID_DEST;
    const int result = stop_thread(thread);
    if (result == KERN_SUCCESS && thread != thread_self())
        machhost_record.holding++;
    return result;
}

int shim_thread_resume(uint32_t port)
{
    INJECT(thread_resume);
    struct thread *thread = thread_by_port(port);
    if (!thread)
        return MACH_SEND_INVALID_DEST;
    const int result = resume_thread(thread);
    if (result == KERN_SUCCESS && machhost_record.holding > 0)
        machhost_record.holding--;
    return result;
}

#if defined(__x86_64__)
enum { FLAVOR_64 = x86_THREAD_STATE64, FLAVOR_UNIFIED = x86_THREAD_STATE };
void registers_show(const struct registers *r, darwin_state *s)
{
    *s = (darwin_state){
        .__rax = r->x[0],
        .__rdx = r->x[1],
        .__rcx = r->x[2],
        .__rbx = r->x[3],
        .__rsi = r->x[4],
        .__rdi = r->x[5],
        .__rbp = r->fp,
        .__rsp = r->sp,
        .__r8 = r->x[8],
        .__r9 = r->x[9],
        .__r10 = r->x[10],
        .__r11 = r->x[11],
        .__r12 = r->x[12],
        .__r13 = r->x[13],
        .__r14 = r->x[14],
        .__r15 = r->x[15],
        .__rip = r->pc,
        .__rflags = r->flags,
        .__cs = 0x2b,
    };
}
#else
enum { FLAVOR_64 = ARM_THREAD_STATE64, FLAVOR_UNIFIED = ARM_THREAD_STATE };
void registers_show(const struct registers *r, darwin_state *s)
{
    *s = (darwin_state){
        .__fp = r->fp, .__lr = r->lr, .__sp = r->sp, .__pc = r->pc, .__cpsr = (uint32_t)r->flags};
    memcpy(s->__x, r->x, sizeof(s->__x));
}
#endif

static int give_state(const struct registers *r, int flavor, uint32_t *state, uint32_t *count)
{
    enum { WORDS = sizeof(darwin_state) / sizeof(uint32_t) };
    darwin_state filled;
    registers_show(r, &filled);
    if (flavor == FLAVOR_64) {
        if (*count < WORDS)
            return KERN_INVALID_ARGUMENT;
        memcpy(state, &filled, sizeof(filled));
        *count = WORDS;
    } else if (flavor == FLAVOR_UNIFIED) {
        if (*count < WORDS + 2)
            return KERN_INVALID_ARGUMENT;
        state[0] = FLAVOR_64;
        state[1] = WORDS;
        memcpy(state + 2, &filled, sizeof(filled));
        *count = WORDS + 2;
    } else {
        return KERN_INVALID_ARGUMENT;
    }
    return KERN_SUCCESS;
}

int shim_thread_get_state(uint32_t port, int flavor, uint32_t *state, uint32_t *count)
{
    INJECT(thread_get_state);
    struct thread *thread = thread_by_port(port);
    if (!thread)
        return MACH_SEND_INVALID_DEST;
    struct registers registers;
    if (thread == thread_self()) {
        record_registers(&machhost_record, &registers);
        return give_state(&registers, flavor, state, count);
    }
    /* The kernel stops a running thread for this by itself. */
    int result = stop_thread(thread);
    if (result != KERN_SUCCESS)
        return result;
    context_registers(thread->parked, thread->record, &registers);
    result = give_state(&registers, flavor, state, count);
    uint32_t seen = atomic_load(&thread->stop);
    while (!atomic_compare_exchange_weak(&thread->stop, &seen, seen - STOP_ONE))
        ;
    if (seen - STOP_ONE < STOP_ONE)
        futex_wake(&thread->stop, 1 << 30);
    return result;
}

unsigned shim_machhost_suspended(void)
{
    unsigned count = 0;
    for (struct thread *each = machhost_threads; each; each = each->next)
        count += atomic_load(&each->stop) >= STOP_ONE;
    return count;
}

void shim_machhost_stopped(struct machhost_times *times)
{
    times->windows = atomic_load(&stop_windows);
    times->total = atomic_load(&stop_total);
    times->longest = atomic_load(&stop_longest);
}

void shim_machhost_stopped_reset(void)
{
    atomic_store(&stop_windows, 0);
    atomic_store(&stop_total, 0);
    atomic_store(&stop_longest, 0);
}
