/* The texts of /proc about one thread, and register sets. */
#include "os/linux/procfs.h"

#include "os/linux/regset.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#define AFTER_NAME " 1 2 3 4 5 4194304 7 8 9 10 11 12 13 14 15 16 17 18 7654321 20 21\n"

static void stat_of_a_thread(void **state)
{
    (void)state;
    struct procfs_stat stat;
    assert_true(procfs_parse_stat("42 (name) S" AFTER_NAME, &stat));
    assert_int_equal(stat.state, 'S');
    assert_string_equal(stat.name, "name");
    assert_int_equal(stat.start, 7654321);
    assert_false(stat.kernel || stat.exiting);
    assert_true(procfs_parse_stat("42 (a) R) b) D" AFTER_NAME, &stat));
    assert_int_equal(stat.state, 'D');
    assert_string_equal(stat.name, "a) R) b");
    assert_true(procfs_parse_stat("42 (x\ny\\n) R" AFTER_NAME, &stat));
    assert_string_equal(stat.name, "x\ny\\n");
    assert_true(procfs_parse_stat("2 (kthreadd) I 0 0 0 0 -1 2129984 0 0 0 0 0 0 0 0 0 0 0 0 3 0\n",
                                  &stat));
    assert_true(stat.kernel);
    assert_int_equal(stat.state, 'D');
    assert_true(procfs_parse_stat("42 (a name that is far longer than any that the kernel keeps of "
                                  "a thread or of a worker) S" AFTER_NAME,
                                  &stat));
    assert_int_equal(strlen(stat.name), FW_THREAD_NAME_SIZE - 1);
    static const char *const broken[] = {
        "",          "42",         "42 (name",    "42 )name( S 1",
        "42 (name)", "42 (name) ", "42 (name) S", "42 (name) S 1 2 3"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_false(procfs_parse_stat(broken[i], &stat));
}

static void system_call_of_a_thread(void **state)
{
    (void)state;
    struct procfs_syscall call = {0};
    assert_int_equal(procfs_parse_syscall("running\n", &call), PROCFS_RUNNING);
    assert_int_equal(procfs_parse_syscall("-1 0x7ffd10 0x55d5\n", &call), PROCFS_ASLEEP);
    assert_true(call.sp == 0x7ffd10 && call.pc == 0x55d5 && !call.in_call);
    assert_int_equal(procfs_parse_syscall(
                         "0 0x3 0x7f 0x1 0x22 0xffffffffffffffff 0x5 0x7ffd18 0x7f12ec\n", &call),
                     PROCFS_ASLEEP);
    assert_true(call.sp == 0x7ffd18 && call.pc == 0x7f12ec && call.in_call);
    assert_true(call.argument[0] == 3 && call.argument[4] == UINT64_MAX && call.argument[5] == 5);
    static const char *const broken[] = {"", "\n", "0\n", "0 1 2 3\n", "zero 1 2\n", "1 x 2\n"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++)
        assert_int_equal(procfs_parse_syscall(broken[i], &call), PROCFS_GONE);
}

static void status_fields(void **state)
{
    (void)state;
    static const char text[] = "Name:\tTracerPid:\t9\nTracerPid:\t77\nUid:\t1000\t0\t0\t0\n"
                               "CapEff:\t000001ffffffffff\nEmpty:\n";
    uint64_t value;
    assert_true(procfs_parse_status(text, "TracerPid", 10, &value) && value == 77);
    assert_true(procfs_parse_status(text, "Uid", 10, &value) && value == 1000);
    assert_true(procfs_parse_status(text, "CapEff", 16, &value) && value == 0x1ffffffffff);
    assert_false(procfs_parse_status(text, "Empty", 10, &value));
    assert_false(procfs_parse_status(text, "Tracer", 10, &value));
    assert_true(procfs_status(getpid(), "Tgid", 10, &value) && value == (uint64_t)getpid());
}

/* Slot i of each set holds 0x1000 + i; the registers that matter are where the kernel puts them. */
static void register_sets(void **state)
{
    (void)state;
    static const struct {
        const struct arch *arch;
        unsigned slots, pc, sp, fp;
    } sets[] = {{&arch_x86_64, 27, 16, 19, 4},
                {&arch_i386, 17, 12, 15, 5},
                {&arch_aarch64, 34, 32, 31, 29},
                {&arch_arm, 18, 15, 13, 11}};
    for (size_t k = 0; k < sizeof sets / sizeof sets[0]; k++) {
        const struct arch *arch = sets[k].arch;
        uint8_t bytes[REGSET_MAX_SIZE] = {0};
        struct regs regs;
        for (unsigned i = 0; i < sets[k].slots; i++) {
            bytes[i * arch->pointer_size] = (uint8_t)i;
            bytes[i * arch->pointer_size + 1] = 0x10;
        }
        size_t size = sets[k].slots * (size_t)arch->pointer_size;
        assert_int_equal(regset_size(arch), size);
        assert_true(regset_decode(arch, reader_over(bytes, size), &regs));
        assert_int_equal(regs.r[arch->pc], 0x1000 + sets[k].pc);
        assert_int_equal(regs.r[arch->sp], 0x1000 + sets[k].sp);
        assert_int_equal(regs.r[arch->fp], 0x1000 + sets[k].fp);
        assert_true((regs.known & arch->callee_saved) == arch->callee_saved);
        assert_false(regset_decode(arch, reader_over(bytes, size - 1), &regs));
    }
    assert_ptr_equal(regset_arch(regset_size(&ARCH_NATIVE)), &ARCH_NATIVE);
    assert_null(regset_arch(100));
    assert_int_equal(regset_size(NULL), 0);
}

enum { SHORT_LIVED = 16, ROUNDS = 100 };

static void *until_written(void *end)
{
    char byte;
    while (read(*(int *)end, &byte, 1) < 0)
        ;
    return NULL;
}

static bool is_listed(const struct tid_list *list, pid_t tid)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->list[i] == tid)
            return true;
    return false;
}

struct lasting {
    _Atomic pid_t tid;
    int end;
};

static void *last(void *context)
{
    struct lasting *lasting = context;
    lasting->tid = (pid_t)syscall(SYS_gettid);
    return until_written(&lasting->end);
}

/* A thread that stays is listed, whoever in front of it exits meanwhile. */
static void lists_all_that_stay(void **state)
{
    (void)state;
    struct tid_list list = {0};
    int tasks = procfs_open_tasks(getpid());
    assert_true(tasks >= 0);
    assert_true(procfs_list_tasks(tasks, &list));
    const size_t others =
        list.count; /* this one, and what an emulator or sanitizer has of its own */
    for (int round = 0; round < ROUNDS; round++) {
        int leave[2], stay[2];
        pthread_t before[SHORT_LIVED], after;
        assert_int_equal(pipe(leave), 0);
        assert_int_equal(pipe(stay), 0);
        for (int i = 0; i < SHORT_LIVED; i++)
            assert_int_equal(pthread_create(&before[i], NULL, until_written, &leave[0]), 0);
        struct lasting lasting = {.end = stay[0]};
        assert_int_equal(pthread_create(&after, NULL, last, &lasting), 0);
        while (!lasting.tid)
            sched_yield();
        close(leave[1]);
        do {
            assert_true(procfs_list_tasks(tasks, &list));
            assert_true(is_listed(&list, lasting.tid));
        } while (list.count > others + 1);
        for (int i = 0; i < SHORT_LIVED; i++)
            pthread_join(before[i], NULL);
        close(stay[1]);
        pthread_join(after, NULL);
        close(leave[0]);
        close(stay[0]);
    }
    free(list.list);
    close(tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_of_a_thread),    cmocka_unit_test(system_call_of_a_thread),
        cmocka_unit_test(status_fields),       cmocka_unit_test(register_sets),
        cmocka_unit_test(lists_all_that_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
