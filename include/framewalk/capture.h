/*
 * Capture: the call stack of this thread, into memory of the caller.
 *
 * Every function of this header is async-signal-safe and thread-safe, allocates nothing and takes
 * no lock. The stack is read only inside its known bounds or through checked reads: a corrupt stack
 * ends the walk, it never faults. Works in tail-called and inlined callers: frames are those that
 * exist at run time.
 *
 *     struct fw_frame frames[64];
 *     struct fw_stack stack = {.frames = frames, .capacity = 64};
 *     fw_capture(&stack, 0);
 */
#ifndef FRAMEWALK_CAPTURE_H
#define FRAMEWALK_CAPTURE_H

#include "stack.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * The stack of the calling thread, through unwind information with a rule cache; works without
 * frame pointers. frames[0] is the return address into the function that called fw_capture; `skip`
 * leaves that many of the innermost frames out. Returns the number of frames stored (stack->count).
 *
 * Uses at most 10 KB of stack, while it meets code for the first time (4 KB when all its rules
 * are cached), 1 KB more where the compiler did not optimise: a handler on an alternate stack needs
 * that beside the kernel's own frame of 1 to 4 KB, so give sigaltstack() 16 KB or more. errno is
 * preserved.
 */
FW_API uint32_t fw_capture(struct fw_stack *stack, uint32_t skip);

/*
 * The same from a signal handler's third argument (`ucontext_t *`): the interrupted thread's stack,
 * beginning with the interrupted instruction (FW_FRAME_EXACT).
 */
FW_API uint32_t fw_capture_context(struct fw_stack *stack, const void *ucontext, uint32_t skip);

/*
 * The stack of the calling thread by frame pointers alone: the fastest way where all code keeps
 * them (-fno-omit-frame-pointer). Functions without a frame record are missing from it and nothing
 * can tell, which is why it is a function of its own and never a silent fallback of fw_capture.
 * Each record is checked: inside the stack, aligned, further out than the last. frames[0] is the
 * caller's return address, as for fw_capture.
 */
FW_API uint32_t fw_capture_frame_pointers(struct fw_stack *stack, uint32_t skip);

/* The same from the frame record at `frame_pointer`, for instance __builtin_frame_address(0):
 * frames[0] is the return address stored in that record. */
FW_API uint32_t fw_capture_from_frame_pointer(struct fw_stack *stack, const void *frame_pointer);

/*
 * Drop-in for backtrace() of <execinfo.h>: return addresses of the calling thread into `buffer`,
 * innermost first, at most `size`; returns how many. buffer[0] lies in the function that called
 * fw_backtrace. Unlike glibc's it is async-signal-safe from the first call. Callers of a Swift
 * async function are given as Apple's backtrace_async() does: one byte behind the function's first
 * one, so that address - 1 lies in the right function for all of them.
 */
FW_API int fw_backtrace(void **buffer, int size);

/* Drop-in for backtrace_from_fp() of Apple's <execinfo.h>: return addresses from the frame record
 * `start_fp` on. Follows Swift async functions as fw_backtrace does. */
FW_API int fw_backtrace_from_fp(void *start_fp, void **buffer, int size);

/*
 * Tells the unwinder that images were loaded or unloaded (dlopen, dlclose, JIT). Needed only after
 * an image was unloaded and another one was loaded at the same addresses; new images are found
 * without it. Not needed on Apple platforms, where the loader tells. No other function calls it.
 * Thread-safe; NOT async-signal-safe (takes the loader's lock for a moment).
 */
FW_API void fw_images_refresh(void);

#ifdef __cplusplus
}
#endif
#endif
