/*
 * Stacks of this process as text, in one call: for logs, for a debugger's console, and for code
 * that used backtrace_symbols(), +[NSThread callStackSymbols] or a library that returned strings.
 *
 *     char *text = fw_text_all_threads();
 *     if (text)
 *         puts(text);
 *     free(text);
 *
 * A frame is a line as callStackSymbols has it: number, image, address, symbol + offset in decimal.
 *
 *     Thread 26751 "Shop" (main) S (sleeping), queue "com.apple.main-thread"
 *     0   libsystem_kernel.dylib              0x00000001a7b0e1d4 semaphore_wait_trap + 8
 *     1   Shop                                0x0000000104c8b0a4 $s4Shop4CartC4saveyyF + 128
 *
 * Names are mangled, as they are there; `framewalk demangle` filters whole texts. What the format
 * cannot say stands on lines of its own: "... 12 frames left out", "incomplete: " and "no stack: "
 * with the reason. Lines of Swift functions that wait for an async one end with " [async]".
 *
 * Every function here is thread-safe, allocates and takes locks: it must not be called in a signal
 * handler, while threads are stopped, in the child of a fork() of a program with several threads,
 * or in a callback of dl_iterate_phdr(). Capture there, with fw_capture or fw_threads_capture, and
 * call fw_text_stack later.
 *
 * They share one index of names, made at the first call and kept. The symbols of an image are read
 * when the first frame in it is to be named, which takes some milliseconds for an image of ordinary
 * size, and memory in proportion to its symbols; images that no stack leads through cost nothing.
 * Later calls find a name in well under a microsecond.
 */
#ifndef FRAMEWALK_TEXT_H
#define FRAMEWALK_TEXT_H

#include "threads.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Drop-in for backtrace_symbols() of <execinfo.h>, in Apple's format on every system: `count` lines
 * for what fw_backtrace stored. One block of memory holds the array and the lines: free() the
 * array. NULL when out of memory or `count` is negative.
 *
 * They are taken as return addresses: the symbol is that of the call before the address, which is
 * right also where the call never returns and another function begins behind it. The offset counts
 * up to the address itself, as it does there. To name the function that begins at an address, ask
 * for the address + 1.
 */
FW_API char **fw_backtrace_symbols(void *const *addresses, int count);

/*
 * One thread, or all of them, each with a line that says who it is. free() the text; NULL when out
 * of memory. Of one thread up to 256 frames are shown, of all up to 128 each; of deeper stacks the
 * middle is left out. The calling thread's stack begins with the function that made the call.
 *
 * fw_text_thread says so in its text when there is no such thread, and a thread that the system
 * lets nobody stop has the reason in place of its stack.
 */
FW_API char *fw_text_this_thread(void);
FW_API char *fw_text_main_thread(void);
FW_API char *fw_text_thread(fw_thread_id id);
FW_API char *fw_text_all_threads(void);

/* The lines of a stack that was captured before, without a line for its thread. */
FW_API char *fw_text_stack(const struct fw_stack *stack);

#ifdef __cplusplus
}
#endif
#endif
