/* Aborts three calls deep; built for foreign architectures, whose cores an emulator writes. */
#include <stdlib.h>

#define NOINLINE __attribute__((noinline, noclone))

static volatile int sink;

NOINLINE static int inner(int x)
{
    if (x > 5)
        abort();
    return x + 1;
}

NOINLINE static int middle(int x)
{
    return inner(x + 3) + sink;
}

NOINLINE static int outer(int x)
{
    return middle(x * 2) + sink;
}

int main(int argc, char **argv)
{
    (void)argv;
    return outer(argc + 1) + sink;
}
