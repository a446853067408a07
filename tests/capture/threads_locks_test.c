/*
 * The contract of framewalk/threads.h about locks and memory: threads that hold the malloc, loader
 * or stdio lock are captured like others, and nothing is allocated meanwhile.
 */
#include "capture/targets.h"
#include "support/platform.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

#if defined(__GLIBC__) && !UNDER_ASAN && !UNDER_TSAN
#define COUNT_ALLOCATIONS 1

/* Every allocation of the program, libc's own included, goes through here. */
#pragma GCC visibility push(default)
static _Atomic unsigned allocations;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size)
{
    allocations++;
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    allocations++;
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    allocations++;
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size)
{
    allocations++;
    return __libc_memalign(alignment, size);
}

void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset)
{
    allocations++;
#ifdef SYS_mmap2
    return (void *)syscall(SYS_mmap2, at, size, protection, flags, fd, offset >> 12);
#else
    return (void *)syscall(SYS_mmap, at, size, protection, flags, fd, offset);
#endif
}
#pragma GCC visibility pop
#else
#define COUNT_ALLOCATIONS 0
static _Atomic unsigned allocations;
#endif

static struct fw_thread threads[16];
static struct fw_frame frames[16 * 64];

/* Captures everybody `times` times, and each time the thread `id`'s whole stack is there. */
static void capture_often(fw_thread_id id, unsigned times, bool may_allocate)
{
    const uint32_t patience = patience_ms();
    if (emulated())
        times = 3;
    unsigned before = allocations, bad = 0;
    for (unsigned i = 0; i < times; i++) {
        size_t count = 0;
        struct fw_threads_options options = {.size = sizeof options, .timeout_ms = patience};
        fw_error error = fw_threads_capture(threads, 16, &count, frames, 16 * 64, &options);
        bool found = false;
        for (size_t j = 0; j < count && j < 16; j++)
            found |= threads[j].id == id && threads[j].stack.unavailable == FW_AVAILABLE &&
                     FRAMES_IN(&threads[j].stack, known_caller) == 1;
        bad += error != FW_OK || !found;
    }
    unsigned after = allocations;
    assert_int_equal(bad, 0);
    if (!may_allocate)
        assert_int_equal(after, before);
}

static void nothing_is_allocated(void **state)
{
    (void)state;
    if (!COUNT_ALLOCATIONS)
        skip();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct target asleep = {.body = read_pipe, .context = ends};
    struct target blocking = {.body = read_pipe, .context = ends, .block_signals = true};
    struct target running = {.body = spin};
    target_begin_asleep(&asleep);
    target_begin_asleep(&blocking);
    target_begin(&running, 0);
    void *volatile kept = malloc(1);
    free(kept);
    assert_true(allocations > 0);
    capture_often(asleep.id, 20, false);
    capture_often(running.id, 20, false);

    unsigned before = allocations;
    fw_thread_id ids[16];
    size_t count;
    static _Alignas(16) char memory[8192];
    struct fw_stack_table *table = fw_stack_table_init(memory, sizeof memory, 16);
    fw_error listed = fw_threads_list(ids, 16, &count);
    fw_error added = fw_stack_table_add(table, &threads[0].stack, 1, NULL);
    assert_int_equal(allocations, before);
    assert_int_equal(listed, FW_OK);
    assert_int_equal(added, FW_OK);

    assert_int_equal(write(ends[1], "xx", 2), 2);
    target_end(&asleep);
    target_end(&blocking);
    target_end(&running);
    close(ends[0]);
    close(ends[1]);
}

KNOWN(allocate) static void allocate(struct target *target)
{
    target->ready = true;
    for (size_t n = 1; !target->leave; n = n * 7 % 100003) {
        void *volatile a = malloc(n);
        void *volatile b = calloc(1, n * 3);
        free(a);
        free(b);
    }
}

static void inside_malloc(void **state)
{
    (void)state;
    NEEDS_TABLES_OF_LIBC();
    struct target target = {.body = allocate};
    target_begin(&target, 0);
    capture_often(target.id, 300, true);
    target_end(&target);
}

KNOWN(hold_stdio) static void hold_stdio(struct target *target)
{
    flockfile(stdout);
    flockfile(stderr);
    target->ready = true;
    wait_until_leave(target);
    funlockfile(stderr);
    funlockfile(stdout);
}

static void stdio_locked(void **state)
{
    (void)state;
    struct target target = {.body = hold_stdio};
    target_begin(&target, 0);
    capture_often(target.id, 20, true);
    target_end(&target);
}

static int sleep_in_iteration(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)info;
    (void)size;
    struct target *target = context;
    target->ready = true;
    wait_until_leave(target);
    return 1;
}

KNOWN(hold_loader) static void hold_loader(struct target *target)
{
    dl_iterate_phdr(sleep_in_iteration, target);
    NOT_A_TAIL_CALL();
}

static void loader_locked(void **state)
{
    (void)state;
    struct target target = {.body = hold_loader};
    target_begin(&target, 0);
    capture_often(target.id, 20, true);
    target_end(&target);
}

#ifdef SLOW_MODULE
/* The module's constructor calls this, in the middle of dlopen(). */
static struct target *loading;
__attribute__((visibility("default"))) void slow_module_loads(void);

void slow_module_loads(void)
{
    loading->ready = true;
    wait_until_leave(loading);
}

KNOWN(load) static void load(struct target *target)
{
    loading = target;
    void *module = dlopen(SLOW_MODULE, RTLD_NOW);
    target->context = module;
    target->ready = true;
}

static void inside_dlopen(void **state)
{
    (void)state;
    struct target target = {.body = load};
    target_begin(&target, 0);
    capture_often(target.id, 20, true);
    bool inside = false;
    for (size_t i = 0; i < 16; i++)
        inside |= threads[i].id == target.id && FRAMES_IN(&threads[i].stack, load) == 1;
    target_end(&target);
    assert_non_null(target.context);
    assert_true(inside);
    dlclose(target.context);
}
#endif

int main(void)
{
    LEAVE_UNDER_TSAN();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_allocated), cmocka_unit_test(inside_malloc),
        cmocka_unit_test(stdio_locked),         cmocka_unit_test(loader_locked),
#ifdef SLOW_MODULE
        cmocka_unit_test(inside_dlopen),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
