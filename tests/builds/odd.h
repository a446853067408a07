/*
 * Programs whose own source says what their stacks are, to be built in many odd ways.
 *
 * Every function of the chain lies in a section of its own, so the program knows where each begins
 * and ends whatever the compiler, the linker and strip made of it. A chain is written as one letter
 * a frame, innermost first; '-' stands for any number of frames of other code (libc).
 */
#ifndef TESTS_BUILDS_ODD_H
#define TESTS_BUILDS_ODD_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "framewalk/capture.h"

#define ODD_CHAIN(name)                                                                            \
    extern const char __start_chain_##name[] __attribute__((visibility("hidden")));                \
    extern const char __stop_chain_##name[] __attribute__((visibility("hidden")));                 \
    __attribute__((noinline, used, section("chain_" #name)))

/* Keeps the call before it from being the last thing that its function does. */
#define STAY() __asm__ volatile("" ::: "memory")

enum { ODD_FRAMES = 256 };
struct odd_range {
    char letter;
    const char *lo, *hi;
};
#define ODD_RANGE(letter, name) {letter, __start_chain_##name, __stop_chain_##name}

static struct fw_frame odd_frames[ODD_FRAMES];
static struct fw_stack odd_stack;
static int odd_failures;
/* "chain": libc has no unwind information, a stack may end behind the chain. "early": the chain's
 * own functions have none, it may end anywhere. It must then say so. */
static int odd_may_end_behind, odd_may_end_early;

static void odd_begin(int argc, char **argv)
{
    odd_may_end_behind = argc > 1;
    odd_may_end_early = argc > 1 && strcmp(argv[1], "early") == 0;
}

static void odd_reset(void)
{
    memset(&odd_stack, 0, sizeof odd_stack);
    odd_stack.frames = odd_frames;
    odd_stack.capacity = ODD_FRAMES;
}

/* The stack as letters, "-" for a run of other code. */
static void odd_spell(const struct odd_range *ranges, size_t count, char *text)
{
    char last = 0;
    for (uint32_t i = 0; i < odd_stack.count; i++) {
        uint64_t at = odd_frames[i].address - (odd_frames[i].kind == FW_FRAME_RETURN);
        char letter = '-';
        for (size_t k = 0; k < count; k++)
            if (at >= (uintptr_t)ranges[k].lo && at < (uintptr_t)ranges[k].hi)
                letter = ranges[k].letter;
        if (letter != '-' || last != '-')
            *text++ = letter;
        last = letter;
    }
    *text = 0;
}

/* Whether what there is is a beginning. */
static int odd_beginning(const char *text, const char *expected)
{
    size_t length = strlen(text);
    if (length && text[length - 1] == '-')
        length--;
    return strncmp(text, expected, length) == 0;
}

static void odd_expect(const char *what, const struct odd_range *ranges, size_t count,
                       const char *expected)
{
    char text[ODD_FRAMES + 1];
    size_t length = strlen(expected);
    odd_spell(ranges, count, text);
    int whole = (odd_stack.end == FW_END_ROOT || odd_may_end_behind) &&
                strncmp(text, expected, length) == 0 &&
                (text[length] == 0 || strcmp(text + length, "-") == 0);
    int early = odd_may_end_early && odd_stack.end != FW_END_ROOT && odd_beginning(text, expected);
    if (!whole && !early) {
        odd_failures++;
        printf("%s: expected %s, got %s: %s\n", what, expected, text,
               fw_end_text((fw_end)odd_stack.end));
        for (uint32_t i = 0; i < odd_stack.count; i++)
            printf("    %#llx %s\n", (unsigned long long)odd_frames[i].address,
                   fw_method_text((fw_method)odd_frames[i].method));
    } else if (early) {
        printf("%s: %s of %s: %s\n", what, text, expected, fw_end_text((fw_end)odd_stack.end));
    }
}

#endif
