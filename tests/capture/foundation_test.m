/*
 * <framewalk/foundation.h>, compiled with ARC as a program would, with the models of Foundation's
 * threads and arrays of the Mach-O host.
 */
#include <framewalk/foundation.h>

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FRAME __attribute__((noinline, disable_tail_calls))

NSArray<NSString *> *asks_for_symbols(NSUInteger limit);
FRAME NSArray<NSString *> *asks_for_symbols(NSUInteger limit)
{
    NSArray<NSString *> *lines = fw_call_stack_symbols(limit);
    __asm__ volatile("");
    return lines;
}

NSArray<NSString *> *calls_who_asks(NSUInteger limit);
FRAME NSArray<NSString *> *calls_who_asks(NSUInteger limit)
{
    NSArray<NSString *> *lines = asks_for_symbols(limit);
    __asm__ volatile("");
    return lines;
}

static bool is_line(NSArray<NSString *> *lines, NSUInteger index, const char *text)
{
    return strstr([lines objectAtIndex:index].UTF8String, text) != NULL;
}

/* The first line is of the function that asks, whatever the compiler made of the header. */
static void symbols(void **state)
{
    (void)state;
    NSArray<NSString *> *lines = calls_who_asks(0);
    assert_true(lines.count > 3);
    assert_true(is_line(lines, 0, " asks_for_symbols + "));
    assert_true(is_line(lines, 1, " calls_who_asks + "));
    lines = calls_who_asks(2);
    assert_int_equal(lines.count, 2);
    assert_true(is_line(lines, 0, " asks_for_symbols + "));
    lines = calls_who_asks(1000000);
    assert_true(lines.count > 3);
}

static struct {
    NSThread *thread;
    _Atomic fw_thread_id id;
    _Atomic bool deaf, over, ended;
} other;

static void begin_thread(bool deaf)
{
    other.id = 0;
    other.over = other.ended = false;
    other.deaf = deaf;
    [NSThread detachNewThreadWithBlock:^{
        other.thread = [NSThread currentThread];
        other.id = fw_thread_self();
        while (!other.over)
            if (!other.deaf)
                [NSThread sleepForTimeInterval:0.001];
            else
                usleep(1000);
        other.ended = true;
    }];
    while (!other.id)
        usleep(1000);
}

static void end_thread(void)
{
    other.over = true;
    while (!other.ended || other.thread.isExecuting)
        usleep(1000);
}

static void threads_are_found(void **state)
{
    (void)state;
    begin_thread(false);
    other.thread.name = @"its own";
    assert_int_equal(fw_thread_of_nsthread(other.thread), other.id);
    assert_string_equal(other.thread.name.UTF8String, "its own");
    assert_int_equal(fw_thread_of_nsthread_asked(other.thread, 60), other.id);
    end_thread();
    assert_int_equal(fw_thread_of_nsthread(other.thread), 0);
    assert_int_equal(fw_thread_of_nsthread([NSThread currentThread]), fw_thread_self());
    assert_int_equal(fw_thread_of_nsthread_asked([NSThread currentThread], 0), fw_thread_self());
}

/* Neither takes the name nor answers: no thread, and never another one. */
static void a_deaf_thread(void **state)
{
    (void)state;
    begin_thread(true);
    assert_int_equal(fw_thread_of_nsthread(other.thread), 0);
    assert_int_equal(fw_thread_of_nsthread_asked(other.thread, 0.05), 0);
    other.deaf = false; /* it answers late, to nobody */
    end_thread();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(symbols),
        cmocka_unit_test(threads_are_found),
        cmocka_unit_test(a_deaf_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
