/*
 * Threads and libpthread's objects over Linux's. A Darwin mutex or lock holds Linux's own object in
 * place behind its signature (both begin as zeroes); a condition is a counter that is waited on.
 */
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
    lock();
    thread->dead = true;
    unlock();
    futex_wake(&thread->stop, 1 << 30);
}

/* A thread takes no signal before the loader knows it, and none when it is about to be forgotten;
 * it can be stopped as long as it is listed. */
static void block_signals(sigset_t *before)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, stop_signal());
    pthread_sigmask(SIG_BLOCK, &all, before);
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
    pthread_sigmask(SIG_SETMASK, &thread->blocked, NULL);
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
    block_signals(NULL);
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
    pthread_t linux_thread;
    sigset_t before;
    block_signals(&before);
    thread->blocked = before;
    const int error = pthread_create(&linux_thread, &own, thread_main, thread);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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

enum { SIGNATURE_RECURSIVE = 0x32AAABA2, SIGNATURE_MUTEX = 0x32AAABA7 };

static pthread_mutex_t *linux_mutex(struct darwin_opaque *mutex)
{
    _Static_assert(sizeof(pthread_mutex_t) <= 56, "Darwin's mutex has no room for Linux's");
    pthread_mutex_t *own = (void *)mutex->opaque;
    if (__atomic_load_n(&mutex->signature, __ATOMIC_ACQUIRE) == SIGNATURE_RECURSIVE) {
        lock();
        if (mutex->signature == SIGNATURE_RECURSIVE) {
            pthread_mutexattr_t attr;
            pthread_mutexattr_init(&attr);
            pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_RECURSIVE);
            pthread_mutex_init(own, &attr);
            __atomic_store_n(&mutex->signature, SIGNATURE_MUTEX, __ATOMIC_RELEASE);
        }
        unlock();
    }
    return own;
}

int shim_pthread_mutexattr_init(struct darwin_opaque *attr)
{
    memset(attr->opaque, 0, 8);
    return 0;
}

int shim_pthread_mutexattr_destroy(struct darwin_opaque *attr)
{
    (void)attr;
    return 0;
}

int shim_pthread_mutexattr_settype(struct darwin_opaque *attr, int type)
{
    attr->opaque[0] = (char)type;
    return 0;
}

int shim_pthread_mutex_init(struct darwin_opaque *mutex, const struct darwin_opaque *attr)
{
    memset(mutex->opaque, 0, 56);
    mutex->signature = attr && attr->opaque[0] == 2 ? SIGNATURE_RECURSIVE : SIGNATURE_MUTEX;
    return 0;
}

int shim_pthread_mutex_destroy(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_destroy(linux_mutex(mutex)));
}

int shim_pthread_mutex_lock(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_lock(linux_mutex(mutex)));
}

int shim_pthread_mutex_trylock(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_trylock(linux_mutex(mutex)));
}

int shim_pthread_mutex_unlock(struct darwin_opaque *mutex)
{
    return darwin_errno(pthread_mutex_unlock(linux_mutex(mutex)));
}

static _Atomic uint32_t *cond_word(struct darwin_opaque *cond)
{
    return (void *)cond->opaque;
}

int shim_pthread_cond_init(struct darwin_opaque *cond, const void *attr)
{
    (void)attr;
    atomic_store(cond_word(cond), 0);
    return 0;
}

int shim_pthread_cond_destroy(struct darwin_opaque *cond)
{
    (void)cond;
    return 0;
}

static int cond_wait(struct darwin_opaque *cond, struct darwin_opaque *mutex,
                     const struct timespec *span)
{
    const uint32_t seen = atomic_load(cond_word(cond));
    shim_pthread_mutex_unlock(mutex);
    const long status =
        syscall(SYS_futex, cond_word(cond), FUTEX_WAIT_PRIVATE, seen, span, NULL, 0);
    const bool late = status != 0 && errno == ETIMEDOUT;
    shim_pthread_mutex_lock(mutex);
    return late ? darwin_errno(ETIMEDOUT) : 0;
}

int shim_pthread_cond_wait(struct darwin_opaque *cond, struct darwin_opaque *mutex)
{
    return cond_wait(cond, mutex, NULL);
}

int shim_pthread_cond_timedwait_relative_np(struct darwin_opaque *cond, struct darwin_opaque *mutex,
                                            const struct timespec *span)
{
    return cond_wait(cond, mutex, span);
}

int shim_pthread_cond_timedwait(struct darwin_opaque *cond, struct darwin_opaque *mutex,
                                const struct timespec *until)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    struct timespec span = {until->tv_sec - now.tv_sec, until->tv_nsec - now.tv_nsec};
    if (span.tv_nsec < 0) {
        span.tv_sec--;
        span.tv_nsec += 1000000000;
    }
    if (span.tv_sec < 0)
        return darwin_errno(ETIMEDOUT);
    return cond_wait(cond, mutex, &span);
}

int shim_pthread_cond_signal(struct darwin_opaque *cond)
{
    atomic_fetch_add(cond_word(cond), 1);
    futex_wake(cond_word(cond), 1);
    return 0;
}

int shim_pthread_cond_broadcast(struct darwin_opaque *cond)
{
    atomic_fetch_add(cond_word(cond), 1);
    futex_wake(cond_word(cond), 1 << 30);
    return 0;
}

/* 0 not run, 1 running, 2 done. */
int shim_pthread_once(struct darwin_opaque *once, void *routine)
{
    _Atomic uint32_t *state = (void *)once->opaque;
    uint32_t fresh = 0;
    if (atomic_compare_exchange_strong(state, &fresh, 1)) {
        callback(routine, 0, 0, 0);
        atomic_store(state, 2);
        futex_wake(state, 1 << 30);
    }
    while (atomic_load(state) != 2)
        futex_wait(state, 1, NULL);
    return 0;
}

static pthread_rwlock_t *linux_rwlock(struct darwin_opaque *rwlock)
{
    return (void *)rwlock->opaque;
}

int shim_pthread_rwlock_init(struct darwin_opaque *rwlock, const void *attr)
{
    (void)attr;
    memset(rwlock->opaque, 0, sizeof(pthread_rwlock_t));
    return 0;
}

int shim_pthread_rwlock_destroy(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_destroy(linux_rwlock(rwlock)));
}

int shim_pthread_rwlock_rdlock(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_rdlock(linux_rwlock(rwlock)));
}

int shim_pthread_rwlock_wrlock(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_wrlock(linux_rwlock(rwlock)));
}

int shim_pthread_rwlock_unlock(struct darwin_opaque *rwlock)
{
    return darwin_errno(pthread_rwlock_unlock(linux_rwlock(rwlock)));
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

/* 0 free, 1 held, 2 held and waited for. */
void shim_os_unfair_lock_lock(_Atomic uint32_t *word)
{
    uint32_t seen = 0;
    if (atomic_compare_exchange_strong(word, &seen, 1))
        return;
    while (atomic_exchange(word, 2) != 0)
        futex_wait(word, 2, NULL);
}

bool shim_os_unfair_lock_trylock(_Atomic uint32_t *word)
{
    uint32_t seen = 0;
    return atomic_compare_exchange_strong(word, &seen, 1);
}

void shim_os_unfair_lock_unlock(_Atomic uint32_t *word)
{
    if (atomic_exchange(word, 0) == 2)
        futex_wake(word, 1);
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
