/* Chains of tail calls of which the source tells what must be shown. Built as a shared object by
 * several compilers at -O2 -g; the test calls tail_run with a callback that takes the stack. */
#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, noipa))
#endif

typedef void (*taker)(void);

static taker take;
static volatile int chosen;
static volatile int sink;

/* Not a tail call: something is done after it. */
NOINLINE static void bottom(void)
{
    take();
    sink++;
}

/* ---- one way only: one() jumps to two(), two() to bottom() ---- */
NOINLINE static void two(void)
{
    sink += 2;
    bottom();
}

NOINLINE static void one(void)
{
    sink += 1;
    two();
}

NOINLINE static void one_way(void)
{
    one();
    sink++;
}

/* ---- one jump ---- */
NOINLINE static void single(void)
{
    sink += 3;
    bottom();
}

NOINLINE static void single_jump(void)
{
    single();
    sink++;
}

/* ---- two ways to the same place: none is shown ---- */
NOINLINE static void left(void)
{
    sink += 5;
    bottom();
}

NOINLINE static void right(void)
{
    sink += 7;
    bottom();
}

NOINLINE static void fork_in_the_road(void)
{
    if (chosen)
        left();
    else
        right();
}

NOINLINE static void two_ways(void)
{
    fork_in_the_road();
    sink++;
}

/* ---- two jumps to one function: the function is certain, the line is not ---- */
NOINLINE static void twin(void)
{
    if (chosen) {
        sink += 11;
        bottom();
    } else {
        sink -= 11;
        bottom();
    }
}

NOINLINE static void two_places(void)
{
    twin();
    sink++;
}

/* ---- a jump through a pointer may lead anywhere ---- */
static void (*volatile pointer)(void) = bottom;

NOINLINE static void through_pointer(void)
{
    sink += 13;
    pointer();
}

NOINLINE static void unknown_way(void)
{
    through_pointer();
    sink++;
}

/* ---- a circle: how often it was gone round is not known ---- */
NOINLINE static void there(int n);

NOINLINE static void back(int n)
{
    sink += n;
    there(n - 1);
}

NOINLINE static void there(int n)
{
    sink -= n;
    if (n > 0)
        back(n);
    else
        bottom();
}

NOINLINE static void circle(void)
{
    there(chosen);
    sink++;
}

/* ---- no tail call at all ---- */
NOINLINE static void direct(void)
{
    bottom();
    sink++;
}

__attribute__((visibility("default"))) void tail_run(int which, int choice, taker callback);

void tail_run(int which, int choice, taker callback)
{
    take = callback;
    chosen = choice;
    switch (which) {
    case 0: one_way(); break;
    case 1: single_jump(); break;
    case 2: two_ways(); break;
    case 3: two_places(); break;
    case 4: unknown_way(); break;
    case 5: circle(); break;
    default: direct(); break;
    }
    sink++;
}
