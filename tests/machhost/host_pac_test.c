/*
 * Signed return addresses: built with -mbranch-protection=pac-ret, which the emulated processor
 * obeys. What lies on the stack is not the address alone, and programs run all the same.
 */
#include "cmocka.h"

static uintptr_t stored, returned;

__attribute__((noinline)) static int leaf(int n)
{
    const uintptr_t *frame = __builtin_frame_address(0);
    stored = frame[1];
    returned = (uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0));
    __asm__ volatile("" ::: "memory", "x30"); /* so that the address is stored */
    return n + 1;
}

__attribute__((noinline)) static int recurse(int n)
{
    const int below = n > 0 ? recurse(n - 1) : leaf(0);
    __asm__ volatile("" ::: "memory");
    return below + 1;
}

static void test_signed(void **state)
{
    (void)state;
    assert_int_equal(recurse(100), 102);
    assert_int_not_equal(stored >> 48, 0);
    assert_int_equal(stored & 0xffffffffffff, returned & 0xffffffffffff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_signed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
