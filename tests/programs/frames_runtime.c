/* What frames_cxx.cpp refers to of a C++ runtime, by the names of the Itanium C++ ABI. None of the
 * functions is ever called but operator delete, which has nothing to free. */
#define NEVER_CALLED(name)                                                                         \
    void name(void);                                                                               \
    void name(void)                                                                                \
    {                                                                                              \
        __builtin_trap();                                                                          \
    }

NEVER_CALLED(__cxa_allocate_exception)
NEVER_CALLED(__cxa_begin_catch)
NEVER_CALLED(__cxa_end_catch)
NEVER_CALLED(__cxa_free_exception)
NEVER_CALLED(__cxa_pure_virtual)
NEVER_CALLED(__cxa_rethrow)
NEVER_CALLED(__cxa_throw)
NEVER_CALLED(__gxx_personality_v0)
NEVER_CALLED(_Unwind_Resume)
NEVER_CALLED(_ZSt9terminatev)

void *_ZTVN10__cxxabiv117__class_type_infoE[4];
void *_ZTVN10__cxxabiv120__si_class_type_infoE[4];

void _ZdlPvm(void *p, unsigned long size);
void _ZdlPvm(void *p, unsigned long size)
{
    (void)p, (void)size;
}
