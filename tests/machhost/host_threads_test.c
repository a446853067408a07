/*
 * The Mach-O host's threads: stopping, registers, accounts, injected errors. With an argument the
 * program does one thing that the host must not let pass; tests.cmake says what it must answer.
 */
#include "cmocka.h"
#include "machhost/host.h"

#include <dlfcn.h>
#include <mach/mach.h>
#include <mach/mach_time.h>
#include <os/lock.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

struct stopped {
    uint64_t pc, sp, fp, ra;
};

static struct stopped state_of(thread_act_t thread)
{
    struct stopped stopped = {0};
#if defined(__x86_64__)
    x86_thread_state64_t state;
    mach_msg_type_number_t count = x86_THREAD_STATE64_COUNT;
    if (thread_get_state(thread, x86_THREAD_STATE64, (thread_state_t)&state, &count) == 0) {
        stopped = (struct stopped){state.__rip, state.__rsp, state.__rbp, 0};
        vm_size_t size;
        vm_read_overwrite(mach_task_self(), state.__rsp, 8, (vm_address_t)&stopped.ra, &size);
    }
#else
    arm_thread_state64_t state;
    mach_msg_type_number_t count = ARM_THREAD_STATE64_COUNT;
    if (thread_get_state(thread, ARM_THREAD_STATE64, (thread_state_t)&state, &count) == 0)
        stopped = (struct stopped){
            arm_thread_state64_get_pc(state), arm_thread_state64_get_sp(state),
            arm_thread_state64_get_fp(state), arm_thread_state64_get_lr(state) & 0xffffffffffff};
#endif
    return stopped;
}

static _Atomic int spinning, leave;
static semaphore_t blocked;

/* What the compiler places right behind a function is not known: its size is taken as small. */
static bool within(uint64_t address, const void *function)
{
    return address >= (uint64_t)(uintptr_t)function &&
           address < (uint64_t)(uintptr_t)function + 256;
}

__attribute__((noinline)) static void spin(void)
{
    spinning = 1;
    while (!leave)
        __asm__ volatile("");
}

static void *spin_thread(void *argument)
{
    spin();
    return argument;
}

__attribute__((noinline)) static void block(void)
{
    spinning = 1;
    semaphore_wait(blocked);
    __asm__ volatile("");
}

static void *block_thread(void *argument)
{
    block();
    return argument;
}

static pthread_t start(void *(*function)(void *))
{
    pthread_t thread;
    spinning = leave = 0;
    assert_int_equal(pthread_create(&thread, NULL, function, (void *)7), 0);
    while (!spinning)
        sched_yield();
    return thread;
}

static void end(pthread_t thread)
{
    void *result = NULL;
    leave = 1;
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, (void *)7);
}

static void test_running_thread(void **state)
{
    (void)state;
    const pthread_t thread = start(spin_thread);
    const mach_port_t port = pthread_mach_thread_np(thread);
    assert_ptr_equal(pthread_from_mach_thread_np(port), thread);
    const char *top = pthread_get_stackaddr_np(thread);
    const size_t size = pthread_get_stacksize_np(thread);
    for (int i = 0; i < 50; i++) {
        const kern_return_t suspended = thread_suspend(port);
        const struct stopped stopped = state_of(port);
        const kern_return_t resumed = thread_resume(port);
        assert_int_equal(suspended, KERN_SUCCESS);
        assert_int_equal(resumed, KERN_SUCCESS);
        assert_true(within(stopped.pc, (void *)spin));
        assert_in_range(stopped.sp, (uint64_t)(uintptr_t)top - size, (uint64_t)(uintptr_t)top);
    }
    end(thread);
}

static void test_blocked_thread(void **state)
{
    (void)state;
    assert_int_equal(semaphore_create(mach_task_self(), &blocked, SYNC_POLICY_FIFO, 0), 0);
    const pthread_t thread = start(block_thread);
    usleep(20000);
    const mach_port_t port = pthread_mach_thread_np(thread);
    const struct stopped stopped = state_of(port);
    Dl_info info;
    assert_true(dladdr((void *)(uintptr_t)stopped.pc, &info) != 0);
    assert_string_equal(info.dli_sname, "semaphore_wait");
    assert_true(within(stopped.ra, (void *)block));
    assert_int_equal(semaphore_signal(blocked), KERN_SUCCESS);
    end(thread);
}

static void test_counts_nest(void **state)
{
    (void)state;
    const pthread_t thread = start(spin_thread);
    const mach_port_t port = pthread_mach_thread_np(thread);
    const kern_return_t first = thread_suspend(port), second = thread_suspend(port);
    const unsigned both = machhost_suspended();
    const kern_return_t third = thread_resume(port);
    const unsigned one = machhost_suspended();
    const kern_return_t fourth = thread_resume(port);
    assert_int_equal(first | second | third | fourth, KERN_SUCCESS);
    assert_int_equal(both, 1);
    assert_int_equal(one, 1);
    assert_int_equal(machhost_suspended(), 0);
    assert_int_equal(thread_resume(port), KERN_FAILURE);
    end(thread);
}

static void test_rights(void **state)
{
    (void)state;
    thread_act_array_t list = NULL;
    mach_msg_type_number_t count = 0;
    const pthread_t thread = start(spin_thread);
    assert_int_equal(task_threads(mach_task_self(), &list, &count), KERN_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(machhost_rights(), 2);
    assert_int_equal(machhost_arrays(), 1);
    const mach_port_t self = mach_thread_self();
    assert_int_equal(self, list[0]);
    assert_int_equal(machhost_rights(), 3);
    assert_int_equal(mach_port_mod_refs(mach_task_self(), self, MACH_PORT_RIGHT_SEND, -1), 0);
    mach_port_urefs_t refs = 0;
    assert_int_equal(mach_port_get_refs(mach_task_self(), self, MACH_PORT_RIGHT_SEND, &refs), 0);
    assert_int_equal(refs, 2); /* libpthread's and the list's */
    end(thread);
    /* The thread is gone; the name stays until the right is given back. */
    assert_int_equal(thread_suspend(list[1]), MACH_SEND_INVALID_DEST);
    for (mach_msg_type_number_t i = 0; i < count; i++)
        assert_int_equal(mach_port_deallocate(mach_task_self(), list[i]), KERN_SUCCESS);
    assert_int_equal(mach_port_deallocate(mach_task_self(), list[1]), KERN_INVALID_NAME);
    assert_int_equal(vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof(*list)),
                     KERN_SUCCESS);
    assert_int_equal(machhost_check(), 0);
}

static void leave_and_join(void *thread)
{
    leave = 1;
    pthread_join(thread, NULL);
}

static void test_injected_errors(void **state)
{
    (void)state;
    const pthread_t thread = start(spin_thread);
    const mach_port_t port = pthread_mach_thread_np(thread);
    machhost_fail("thread_suspend", 1, KERN_TERMINATED);
    const kern_return_t first = thread_suspend(port);
    const kern_return_t second = thread_suspend(port);
    const kern_return_t back = thread_resume(port);
    assert_int_equal(first, KERN_SUCCESS);
    assert_int_equal(second, KERN_TERMINATED);
    assert_int_equal(back, KERN_SUCCESS);
    machhost_fail_all("vm_read_overwrite", KERN_PROTECTION_FAILURE);
    char byte = 0;
    vm_size_t size = 0;
    assert_int_equal(
        vm_read_overwrite(mach_task_self(), (vm_address_t)&size, 1, (vm_address_t)&byte, &size),
        KERN_PROTECTION_FAILURE);
    machhost_fail_all("vm_read_overwrite", 0);
    assert_int_equal(
        vm_read_overwrite(mach_task_self(), (vm_address_t)&size, 1, (vm_address_t)&byte, &size),
        KERN_SUCCESS);
    /* It dies between being listed and being stopped. */
    machhost_before("thread_suspend", 0, leave_and_join, thread);
    assert_int_equal(thread_suspend(port), MACH_SEND_INVALID_DEST);
    assert_true(pthread_from_mach_thread_np(port) == NULL);
}

static void test_memory(void **state)
{
    (void)state;
    char copy[8192];
    vm_size_t size = 0;
    vm_address_t pages = 0;
    assert_int_equal(vm_allocate(mach_task_self(), &pages, 8192, VM_FLAGS_ANYWHERE), KERN_SUCCESS);
    memset((void *)pages, 5, 8192);
    assert_int_equal(vm_read_overwrite(mach_task_self(), pages, 8192, (vm_address_t)copy, &size),
                     KERN_SUCCESS);
    assert_int_equal(size, 8192);
    assert_int_equal(copy[8191], 5);
    vm_address_t address = pages + 100;
    vm_region_basic_info_data_64_t info;
    mach_msg_type_number_t count = VM_REGION_BASIC_INFO_COUNT_64;
    mach_port_t object = MACH_PORT_NULL;
    assert_int_equal(vm_protect(mach_task_self(), pages + 4096, 4096, FALSE, VM_PROT_NONE), 0);
    assert_int_equal(vm_region_64(mach_task_self(), &address, &size, VM_REGION_BASIC_INFO_64,
                                  (vm_region_info_t)&info, &count, &object),
                     KERN_SUCCESS);
    assert_int_equal(info.protection, VM_PROT_READ | VM_PROT_WRITE);
    assert_int_equal(address + size, pages + 4096);
    assert_int_not_equal(
        vm_read_overwrite(mach_task_self(), pages, 8192, (vm_address_t)copy, &size), KERN_SUCCESS);
    assert_int_equal(vm_deallocate(mach_task_self(), pages, 8192), KERN_SUCCESS);
    assert_int_not_equal(vm_read_overwrite(mach_task_self(), pages, 1, (vm_address_t)copy, &size),
                         KERN_SUCCESS);
}

static void test_stopped_time(void **state)
{
    (void)state;
    const pthread_t thread = start(spin_thread);
    const mach_port_t port = pthread_mach_thread_np(thread);
    struct machhost_times times;
    machhost_stopped_reset();
    const uint64_t before = mach_absolute_time();
    for (int i = 0; i < 3; i++) {
        thread_suspend(port);
        thread_resume(port);
    }
    const uint64_t span = mach_absolute_time() - before;
    machhost_stopped(&times);
    assert_int_equal(times.windows, 3);
    assert_in_range(times.longest, 1, times.total);
    assert_in_range(times.total, 3, span);
    end(thread);
}

/* Threads that are stopped anywhere: in code, in calls, at their start, at their end. */
static os_unfair_lock unfair = OS_UNFAIR_LOCK_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static _Thread_local uint64_t local = 3;
static _Atomic uint64_t work;

static void *busy_thread(void *argument)
{
    char text[64];
    const struct timespec span = {0, 1000};
    while (!leave) {
        local++;
        char *memory = malloc(100 + local % 50);
        snprintf(text, sizeof(text), "%p %d", (void *)memory, 5);
        free(memory);
        os_unfair_lock_lock(&unfair);
        work++;
        os_unfair_lock_unlock(&unfair);
        pthread_mutex_lock(&mutex);
        pthread_cond_timedwait_relative_np(&cond, &mutex, &span);
        pthread_mutex_unlock(&mutex);
        pthread_setname_np("busy");
    }
    return argument;
}

static void *short_thread(void *argument)
{
    return argument;
}

static void *making_thread(void *argument)
{
    while (!leave) {
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, short_thread, argument), 0);
        assert_int_equal(pthread_join(thread, NULL), 0);
    }
    return argument;
}

static unsigned stop_each(void)
{
    thread_act_array_t list = NULL;
    mach_msg_type_number_t count = 0;
    unsigned seen = 0, unknown = 0;
    uint64_t places[64];
    assert_int_equal(task_threads(mach_task_self(), &list, &count), KERN_SUCCESS);
    const mach_port_t self = pthread_mach_thread_np(pthread_self());
    for (mach_msg_type_number_t i = 0; i < count && seen < 64; i++) {
        if (list[i] == self || thread_suspend(list[i]) != KERN_SUCCESS)
            continue;
        places[seen++] = state_of(list[i]).pc;
        thread_resume(list[i]);
    }
    for (unsigned i = 0; i < seen; i++) {
        Dl_info info;
        unknown += dladdr((void *)(uintptr_t)places[i], &info) == 0;
    }
    for (mach_msg_type_number_t i = 0; i < count; i++)
        mach_port_deallocate(mach_task_self(), list[i]);
    vm_deallocate(mach_task_self(), (vm_address_t)list, count * sizeof(*list));
    return unknown;
}

static void test_stopped_anywhere(void **state)
{
    (void)state;
    enum { BUSY = 4, ROUNDS = 300 };
    pthread_t threads[BUSY], maker;
    leave = 0;
    for (int i = 0; i < BUSY; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, busy_thread, (void *)7), 0);
    assert_int_equal(pthread_create(&maker, NULL, making_thread, (void *)7), 0);
    unsigned unknown = 0;
    for (int i = 0; i < ROUNDS; i++)
        unknown += stop_each();
    assert_int_equal(unknown, 0);
    for (int i = 0; i < BUSY; i++)
        end(threads[i]);
    end(maker);
    assert_true(work > 0);
    assert_int_equal(machhost_check(), 0);
}

static int misbehave(const char *how)
{
    pthread_t thread;
    thread_act_array_t list;
    mach_msg_type_number_t count;
    if (strcmp(how, "leak") == 0) {
        task_threads(mach_task_self(), &list, &count);
    } else if (strcmp(how, "forget") == 0) {
        pthread_create(&thread, NULL, spin_thread, NULL);
        thread_suspend(pthread_mach_thread_np(thread));
    } else if (strcmp(how, "overdraw") == 0) {
        mach_port_deallocate(mach_task_self(), pthread_mach_thread_np(pthread_self()));
    } else if (strcmp(how, "forbidden") == 0) {
        pthread_create(&thread, NULL, spin_thread, NULL);
        thread_suspend(pthread_mach_thread_np(thread));
        getpid();
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1)
        return misbehave(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running_thread),  cmocka_unit_test(test_blocked_thread),
        cmocka_unit_test(test_counts_nest),     cmocka_unit_test(test_rights),
        cmocka_unit_test(test_injected_errors), cmocka_unit_test(test_memory),
        cmocka_unit_test(test_stopped_time),    cmocka_unit_test(test_stopped_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
