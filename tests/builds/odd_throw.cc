/* Stacks while C++ exceptions are under way. */
#include <exception>
#include <unistd.h>

#include "odd.h"

extern "C" {

struct guard {
    __attribute__((noinline)) ~guard();
};

ODD_CHAIN(innermost) void odd_innermost(void)
{
    odd_reset();
    fw_capture(&odd_stack, 0);
    STAY();
}

ODD_CHAIN(throws) void odd_throws(void)
{
    throw 7;
}

ODD_CHAIN(cleanup) void odd_cleanup(void)
{
    guard g;
    odd_throws();
    STAY();
}

ODD_CHAIN(catches) int odd_catches(int capture)
{
    try {
        odd_cleanup();
    } catch (int n) {
        if (capture)
            odd_innermost();
        return n;
    }
    return 0;
}

ODD_CHAIN(nobody) void odd_nobody(void) noexcept
{
    odd_throws();
    STAY();
}

ODD_CHAIN(terminated) void odd_terminated(void);
}

ODD_CHAIN(destructor) guard::~guard()
{
    odd_innermost();
    STAY();
}

static const odd_range ranges[] = {
    ODD_RANGE('i', innermost),  ODD_RANGE('t', throws), ODD_RANGE('c', cleanup),
    ODD_RANGE('k', catches),    ODD_RANGE('n', nobody), ODD_RANGE('T', terminated),
    ODD_RANGE('d', destructor),
};

static void expect(const char *what, const char *expected)
{
    odd_expect(what, ranges, sizeof ranges / sizeof *ranges, expected);
}

void odd_terminated(void)
{
    odd_innermost();
#ifdef __clang__ /* calls the handler from a landing pad of the noexcept function */
    expect("terminate handler", "iT-n");
#else
    expect("terminate handler", "iT-tn");
#endif
    fflush(stdout);
    _exit(odd_failures != 0);
}

int main(int argc, char **argv)
{
    odd_begin(argc, argv);
    for (int i = 0; i < 2; i++) {
        odd_catches(0);
        expect("destructor under a throw", "idck");
        odd_catches(1);
        expect("catch block", "ik");
    }
    std::set_terminate(odd_terminated);
    odd_nobody();
    return 1; /* not reached */
}
