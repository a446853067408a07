#undef assert
#ifdef NDEBUG
#define assert(condition) ((void)0)
#else
#define assert(condition)                                                                          \
    (__builtin_expect(!(condition), 0) ? __assert_rtn(__func__, __FILE__, __LINE__, #condition)    \
                                       : (void)0)
#endif
#ifndef MACHHOST_ASSERT_H
#define MACHHOST_ASSERT_H
void __assert_rtn(const char *function, const char *file, int line, const char *condition)
    __attribute__((noreturn));
#define static_assert _Static_assert
#endif
