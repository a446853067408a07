#include "tail_units.h"

static taker take;
volatile int chosen, sink;

/* Not a tail call: something is done after it. */
NOINLINE void bottom(void)
{
    take();
    sink++;
}

/* ---- here, there and back: same_name() jumps to far_one(), that to another same_name(), that to
 * bottom() ---- */
NOINLINE static void same_name(void)
{
    sink += 1;
    far_one();
}

NOINLINE static void across(void)
{
    same_name();
    sink++;
}

/* ---- two ways, both through the other unit ---- */
NOINLINE static void fork_in_the_road(void)
{
    if (chosen)
        far_left();
    else
        far_right();
}

NOINLINE static void two_ways(void)
{
    fork_in_the_road();
    sink++;
}

/* ---- a jump in a part that is seldom run, which GCC puts elsewhere (often.cold) ---- */
NOINLINE static void often(int n)
{
    if (n) {
        sink += n;
        rare();
    } else {
        sink -= n;
    }
}

NOINLINE static void cold_way(void)
{
    often(chosen);
    sink++;
}

/* ---- a call from such a part, whose function is on the stack ---- */
NOINLINE static void usual(int n)
{
    if (n) {
        rare();
        sink += n;
    }
    sink++;
}

NOINLINE static void cold_call(void)
{
    usual(chosen);
    sink++;
}

/* ---- each frame called the next one itself ---- */
NOINLINE static void deeper(int n)
{
    if (n)
        deeper(n - 1);
    else
        bottom();
    sink++;
}

/* ---- the jump lies in a function that was inlined ---- */
static inline __attribute__((always_inline)) void helper(void)
{
    sink += 3;
    far_one();
}

NOINLINE static void with_helper(void)
{
    sink += 4;
    helper();
}

NOINLINE static void inlined_jump(void)
{
    with_helper();
    sink++;
}

void tail_run(int which, int choice, taker callback)
{
    take = callback;
    chosen = choice;
    switch (which) {
    case 0: across(); break;
    case 1: two_ways(); break;
    case 2: cold_way(); break;
    case 3: cold_call(); break;
    case 4: deeper(2); break;
    default: inlined_jump(); break;
    }
    sink++;
}
