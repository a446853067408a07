#ifndef MACHHOST_SETJMP_H
#define MACHHOST_SETJMP_H
#if defined(__x86_64__)
typedef int jmp_buf[37];
typedef int sigjmp_buf[38];
#elif defined(__i386__)
typedef int jmp_buf[18];
typedef int sigjmp_buf[19];
#elif defined(__arm__)
typedef int jmp_buf[28];
typedef int sigjmp_buf[29];
#else
typedef int jmp_buf[48];
typedef int sigjmp_buf[49];
#endif
int setjmp(jmp_buf buffer) __attribute__((returns_twice));
void longjmp(jmp_buf buffer, int value) __attribute__((noreturn));
int _setjmp(jmp_buf buffer) __attribute__((returns_twice));
void _longjmp(jmp_buf buffer, int value) __attribute__((noreturn));
/* setjmp keeps the signal mask here. */
#define sigsetjmp(buffer, mask)   setjmp(buffer)
#define siglongjmp(buffer, value) longjmp(buffer, value)
#endif
