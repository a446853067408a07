/* setjmp and longjmp over Mach-O frames: the record of the call has the caller's registers. */
#include "internal.h"
#include "shims.h"

#include <string.h>

void machhost_jump(const uint64_t *registers, int value) __attribute__((noreturn));
int shim_pthread_sigmask(int how, const uint32_t *set, uint32_t *old);

enum { SET_MASK = 3 };
#if defined(__x86_64__)
enum { WORDS = 8 }; /* rbx, r12 to r15, rbp, rsp, rip, as machhost_jump reads them */
#else
enum { WORDS = 13 }; /* x19 to x28, x29, sp, pc */
#endif

int shim__setjmp(uint64_t *buffer)
{
    const struct record *record = &machhost_record;
#if defined(__x86_64__)
    memcpy(buffer, record->saved, 5 * sizeof(uint64_t));
    buffer[5] = record->fp;
    buffer[6] = record->sp + 8;
    buffer[7] = *(const uint64_t *)(uintptr_t)record->sp;
#else
    memcpy(buffer, record->saved, 10 * sizeof(uint64_t));
    buffer[10] = record->fp;
    buffer[11] = record->sp;
    buffer[12] = record->lr;
#endif
    return 0;
}

int shim_setjmp(uint64_t *buffer)
{
    shim_pthread_sigmask(SET_MASK, NULL, (uint32_t *)(void *)&buffer[WORDS]);
    return shim__setjmp(buffer);
}

void shim__longjmp(const uint64_t *buffer, int value)
{
    machhost_jump(buffer, value ? value : 1);
}

void shim_longjmp(const uint64_t *buffer, int value)
{
    shim_pthread_sigmask(SET_MASK, (const uint32_t *)(const void *)&buffer[WORDS], NULL);
    machhost_jump(buffer, value ? value : 1);
}
