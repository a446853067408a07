/* Chains of tail calls that cross from one unit into another, compiled as C and as C++; see
 * tail_calls.c for those within one. */
#if defined(__clang__)
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone, noipa))
#endif

typedef void (*taker)(void);

extern volatile int chosen, sink;
void bottom(void);
void far_one(void);
void far_left(void);
void far_right(void);
__attribute__((cold)) void rare(void);

#ifdef __cplusplus
extern "C"
#endif
    __attribute__((visibility("default"))) void
    tail_run(int which, int choice, taker callback);
