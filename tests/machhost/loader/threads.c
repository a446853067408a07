/* Threads over Linux's: their records, their own data, and what libpthread tells of them. */
#include "internal.h"
#include "shims.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

__thread struct record machhost_record;
struct thread *machhost_threads;
static __thread jmp_buf thread_leave;
static pthread_mutex_t big_lock = PTHREAD_MUTEX_INITIALIZER;
static uint32_t port_count = 0x10;
static uint64_t id_count = 0x1000;

enum { CALL_NONE = -2 }; /* in no shim: the loader's own, before and after Mach-O code */

struct thread *thread_self(void)
{
    return machhost_record.thread;
}

void lock(void)
{
    thread_self()->critical++;
    atomic_signal_fence(memory_order_seq_cst);
    pthread_mutex_lock(&big_lock);
}

void unlock(void)
{
    pthread_mutex_unlock(&big_lock);
    atomic_signal_fence(memory_order_seq_cst);
    struct thread *self = thread_self();
    if (--self->critical == 0 && self->deferred)
        signals_deferred(self);
}

void futex_wait(const _Atomic uint32_t *word, uint32_t value, const struct timespec *span)
{
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, span, NULL, 0);
}

void futex_wake(_Atomic uint32_t *word, int count)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* A caller of Mach-O code that seems to have none itself. */
static void record_as_root(struct thread *thread, uint64_t *root)
{
    machhost_record.thread = thread;
    machhost_record.tlv = (char *)thread->tlv;
    machhost_record.call = (uint64_t)CALL_NONE;
    machhost_record.sp = (uint64_t)(uintptr_t)root;
    machhost_record.fp = 0;
    machhost_record.lr = 0;
    machhost_record.in_host = 1;
}

/* Threads are listed in the order of their creation, the main one first. */
static void thread_list(struct thread *thread)
{
    struct thread **end = &machhost_threads;
    while (*end)
        end = &(*end)->next;
    thread->port = ++port_count << 8 | 3;
    thread->id = ++id_count;
    __atomic_store_n(end, thread, __ATOMIC_RELEASE);
}

static void thread_bounds(struct thread *thread)
{
    pthread_attr_t attr;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attr) == 0) {
        pthread_attr_getstack(&attr, &low, &size);
        pthread_attr_destroy(&attr);
    }
    thread->stack_top = (char *)low + size;
    thread->stack_size = size;
}

void threads_start(void)
{
    static uint64_t root[2];
    struct thread *thread = calloc(1, sizeof(*thread));
    enum { MAIN_STACK = 8 << 20, GUARD = 1 << 16 };
    char *stack = mmap(NULL, MAIN_STACK + GUARD, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!thread || stack == MAP_FAILED)
        abort();
    mprotect(stack, GUARD, PROT_NONE);
    thread->main = true;
    thread->tid = (int)syscall(SYS_gettid);
    thread->stack_top = stack + GUARD + MAIN_STACK;
    thread->stack_size = MAIN_STACK;
    thread->linux_thread = pthread_self();
    record_as_root(thread, root);
    signals_thread_start(thread);
    thread_list(thread);
}

int run_main(void *function, int argc, char **argv, char **envp, const char **apple)
{
    struct callout out = {
        .function = function,
        .arguments = {(uint64_t)argc, (uint64_t)(uintptr_t)argv, (uint64_t)(uintptr_t)envp,
                      (uint64_t)(uintptr_t)apple},
        .sp = thread_self()->stack_top - 4096, /* there is always something above main's frame */
        .trampoline = image_symbol(image_dyld, "_start"),
        .saved = machhost_record,
    };
    return (int)machhost_callout(&out);
}

uint64_t callback(void *function, uint64_t a, uint64_t b, uint64_t c)
{
    static _Atomic(void *) trampoline; /* looked up once: sorting calls back often */
    if (!trampoline)
        trampoline = system_symbol("_machhost_callback");
    struct callout out = {
        .function = function,
        .arguments = {a, b, c},
        .fp = machhost_record.fp,
#if defined(__x86_64__)
        .ra = *(const uint64_t *)(uintptr_t)machhost_record.sp,
#else
        .ra = machhost_record.lr,
#endif
        .trampoline = trampoline,
        .saved = machhost_record,
    };
    return machhost_callout(&out);
}

struct key {
    bool used;
    void *destructor;
};
static struct key keys[TSD_LIMIT] = {[0] = {.used = true}};

static void run_destructors(struct thread *thread)
{
    for (int round = 0; round < 4; round++) {
        for (size_t i = 0; i < TSD_LIMIT; i++) {
            void *value = thread->tsd[i];
            thread->tsd[i] = NULL;
            if (value && keys[i].used && keys[i].destructor)
                callback(keys[i].destructor, (uint64_t)(uintptr_t)value, 0, 0);
        }
    }
}

/* From here on nobody can stop the thread; whoever tries to now has stopped it before. */
static void thread_ends(struct thread *thread)
{
    uint32_t none = 0;
    while (!atomic_compare_exchange_strong(&thread->stop, &none, STOP_DEAD)) {
        none = 0;
        syscall(SYS_tgkill, getpid(), thread->tid, stop_signal());
        sched_yield();
    }
    sigset_t all; /* the process's signals are for those that live */
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    lock();
    thread->dead = true;
    unlock();
    futex_wake(&thread->stop, 1 << 30);
}

static void *thread_main(void *argument)
{
    uint64_t root[2] = {0, 0};
    struct thread *thread = argument;
    thread->tid = (int)syscall(SYS_gettid);
    thread_bounds(thread);
    /* What glibc keeps above is no part of the stack that Darwin's libpthread tells of. */
    thread->stack_size -= (size_t)(thread->stack_top - (char *)(root + 2));
    thread->stack_top = (char *)(root + 2);
    record_as_root(thread, root);
    signals_thread_start(thread);
    lock();
    thread_list(thread);
    unlock();
    atomic_store(&thread->started, 1);
    futex_wake(&thread->started, 1);
    pthread_sigmask(SIG_SETMASK, &thread->mask, NULL);
    struct callout out = {
        .function = (void *)(uintptr_t)thread->start,
        .arguments = {(uint64_t)(uintptr_t)thread->argument},
        .trampoline = system_symbol("_thread_start"),
        .saved = machhost_record,
    };
    if (setjmp(thread_leave) == 0)
        thread->result = (void *)(uintptr_t)machhost_callout(&out);
    record_as_root(thread, root);
    run_destructors(thread);
    thread_ends(thread);
    return NULL;
}

void shim_pthread_exit(void *value)
{
    if (thread_self()->main)
        host_exit(0);
    thread_self()->result = value;
    longjmp(thread_leave, 1);
}

/* Darwin's attributes, as this host lays them out in the opaque bytes. */
struct attributes {
    uint64_t stack_size;
    uint32_t detached;
};

int shim_pthread_attr_init(struct darwin_opaque *attr)
{
    memset(attr->opaque, 0, sizeof(struct attributes));
    return 0;
}

int shim_pthread_attr_destroy(struct darwin_opaque *attr)
{
    (void)attr;
    return 0;
}

int shim_pthread_attr_setdetachstate(struct darwin_opaque *attr, int state)
{
    ((struct attributes *)(void *)attr->opaque)->detached = state == 2;
    return 0;
}

int shim_pthread_attr_setstacksize(struct darwin_opaque *attr, size_t size)
{
    if (size < 8192 || size % 4096)
        return darwin_errno(EINVAL);
    ((struct attributes *)(void *)attr->opaque)->stack_size = size;
    return 0;
}

int shim_pthread_create(struct thread **made, const struct darwin_opaque *attr,
                        void *(*start)(void *), void *argument)
{
    enum { DEFAULT_STACK = 512 << 10, SHIMS_NEED = 128 << 10 };
    const struct attributes *wanted = attr ? (const void *)attr->opaque : NULL;
    struct thread *thread = calloc(1, sizeof(*thread));
    if (!thread)
        return darwin_errno(EAGAIN);
    thread->start = start;
    thread->argument = argument;
    thread->detached = wanted && wanted->detached;
    pthread_attr_t own;
    pthread_attr_init(&own);
    pthread_attr_setstacksize(
        &own, (wanted && wanted->stack_size ? wanted->stack_size : DEFAULT_STACK) + SHIMS_NEED);
    if (thread->detached)
        pthread_attr_setdetachstate(&own, PTHREAD_CREATE_DETACHED);
    sigset_t all;
    sigfillset(&all);
    pthread_attr_setsigmask_np(&own, &all);
    pthread_sigmask(SIG_BLOCK, NULL, &thread->mask);
    pthread_t linux_thread;
    const int error = pthread_create(&linux_thread, &own, thread_main, thread);
    pthread_attr_destroy(&own);
    if (error)
        return darwin_errno(error);
    thread->linux_thread = linux_thread;
    *made = thread;
    while (atomic_load(&thread->started) == 0)
        futex_wait(&thread->started, 0, NULL);
    return 0;
}

int shim_pthread_join(struct thread *thread, void **value)
{
    const int error = pthread_join(thread->linux_thread, NULL);
    if (!error && value)
        *value = thread->result;
    return darwin_errno(error);
}

int shim_pthread_detach(struct thread *thread)
{
    return darwin_errno(pthread_detach(thread->linux_thread));
}

int shim_pthread_equal(const struct thread *a, const struct thread *b)
{
    return a == b;
}

struct thread *shim_pthread_self(void)
{
    return thread_self();
}

int shim_pthread_main_np(void)
{
    return thread_self()->main;
}

uint32_t shim_pthread_mach_thread_np(const struct thread *thread)
{
    return thread->dead ? 0 : thread->port;
}

struct thread *shim_pthread_from_mach_thread_np(uint32_t port)
{
    struct thread *found = NULL;
    lock();
    for (struct thread *each = machhost_threads; each; each = each->next) {
        if (each->port == port && !each->dead)
            found = each;
    }
    unlock();
    return found;
}

void *shim_pthread_get_stackaddr_np(const struct thread *thread)
{
    return thread->stack_top;
}

size_t shim_pthread_get_stacksize_np(const struct thread *thread)
{
    return thread->stack_size;
}

int shim_pthread_threadid_np(const struct thread *thread, uint64_t *id)
{
    *id = thread ? thread->id : thread_self()->id;
    return 0;
}

int shim_pthread_getname_np(const struct thread *thread, char *name, size_t size)
{
    lock();
    snprintf(name, size, "%s", thread->name);
    unlock();
    return 0;
}

int shim_pthread_setname_np(const char *name)
{
    if (strlen(name) >= sizeof(thread_self()->name))
        return darwin_errno(ENAMETOOLONG);
    lock();
    snprintf(thread_self()->name, sizeof(thread_self()->name), "%s", name);
    unlock();
    return 0;
}

int shim_pthread_key_create(unsigned long *key, void *destructor)
{
    int error = darwin_errno(EAGAIN);
    lock();
    for (size_t i = 1; i < TSD_LIMIT && error; i++) {
        if (keys[i].used)
            continue;
        keys[i] = (struct key){true, destructor};
        *key = i;
        error = 0;
    }
    unlock();
    return error;
}

int shim_pthread_key_delete(unsigned long key)
{
    if (key >= TSD_LIMIT || !keys[key].used)
        return darwin_errno(EINVAL);
    keys[key].used = false;
    return 0;
}

void *shim_pthread_getspecific(unsigned long key)
{
    return key < TSD_LIMIT ? thread_self()->tsd[key] : NULL;
}

int shim_pthread_setspecific(unsigned long key, void *value)
{
    if (key >= TSD_LIMIT || !keys[key].used)
        return darwin_errno(EINVAL);
    thread_self()->tsd[key] = value;
    return 0;
}

/* In the child of fork there is only the thread that called. */
static void alone(void)
{
    struct thread *self = thread_self();
    self->tid = (int)syscall(SYS_gettid);
    for (struct thread *each = machhost_threads; each; each = each->next) {
        if (each == self)
            continue;
        each->dead = true;
        each->rights = 0;
        atomic_store(&each->stop, STOP_DEAD);
    }
}

int shim_fork(void)
{
    lock();
    const int child = fork();
    if (child == 0)
        alone();
    unlock();
    return child;
}

int shim_pthread_atfork(void *prepare, void *parent, void *child)
{
    (void)prepare, (void)parent, (void)child;
    return 0;
}

/* A thread's first use of an image's thread-local variables. Key: offset in the thread's table. */
static const struct image *tlv_images[TLV_LIMIT];
size_t tlv_register(struct image *image)
{
    for (size_t i = 0; i < TLV_LIMIT; i++) {
        if (tlv_images[i])
            continue;
        tlv_images[i] = image;
        return i * sizeof(char *);
    }
    return SIZE_MAX;
}

void tlv_release(const struct image *image)
{
    for (size_t i = 0; i < TLV_LIMIT; i++) {
        if (tlv_images[i] != image)
            continue;
        lock();
        for (struct thread *each = machhost_threads; each; each = each->next) {
            free(each->tlv[i]);
            each->tlv[i] = NULL;
        }
        unlock();
        tlv_images[i] = NULL;
    }
}

void *machhost_tlv_slow(const uint64_t *descriptor)
{
    const size_t index = descriptor[1] / sizeof(char *);
    const struct image *image = tlv_images[index];
    char *block = aligned_alloc(64, (image->tlv_size + 64) & ~(uint64_t)63);
    if (!block)
        abort();
    memcpy(block, image->tlv_start, image->tlv_size);
    thread_self()->tlv[index] = block;
    return block + descriptor[2];
}
