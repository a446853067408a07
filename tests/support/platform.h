/*
 * What tests may expect of the architecture they run on.
 *
 * On armv7 much of libc (start_thread, clone, system call stubs, what gcc compiled without
 * -funwind-tables) is marked "cannot unwind" or has no entry at all. Its instructions often prove
 * the frame; where they do not, a walk ends with FW_END_NO_INFO, so a whole stack cannot be asked
 * for there.
 */
#ifndef TESTS_SUPPORT_PLATFORM_H
#define TESTS_SUPPORT_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

#include "framewalk/stack.h"

#if defined(__arm__)
enum { LIBC_HAS_TABLES = 0 };
#else
enum { LIBC_HAS_TABLES = 1 };
#endif

/* Where the code of a function begins: its pointer may carry the Thumb bit, addresses of frames do
 * not. */
#if defined(__arm__)
#define CODE_OF(function) ((uintptr_t)(function) & ~(uintptr_t)1)
#else
#define CODE_OF(function) ((uintptr_t)(function))
#endif

static inline bool reached_the_root(const struct fw_stack *stack)
{
    return stack->end == FW_END_ROOT || (!LIBC_HAS_TABLES && stack->end == FW_END_NO_INFO);
}

/* For a test whose chain of calls leads through libc. Use inside a cmocka test. */
#define NEEDS_TABLES_OF_LIBC()                                                                     \
    do {                                                                                           \
        if (!LIBC_HAS_TABLES) {                                                                    \
            print_message("skipped: libc of this architecture has no unwind tables there\n");      \
            skip();                                                                                \
        }                                                                                          \
    } while (0)

#endif
