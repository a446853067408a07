/*
 * Objective-C and Swift on Apple platforms: threads of Foundation, and a stack as an array of
 * strings.
 *
 *     #import <framewalk/foundation.h>      or      @import Framewalk.Foundation;
 *
 * This header is code that your program compiles, with ARC: Framewalk itself does not link
 * Foundation. All functions allocate, are thread-safe, and must not be called in signal handlers.
 */
#ifndef FRAMEWALK_FOUNDATION_H
#define FRAMEWALK_FOUNDATION_H

#if defined(__OBJC__)

#import <Foundation/Foundation.h>

#include "capture.h"
#include "text.h"
#include "threads.h"

#include <mach/mach.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FW_CALL_STACK_MOST = 1024 };

static inline NSArray<NSString *> *fw_foundation_lines(void *const *addresses, int count)
{
    NSMutableArray<NSString *> *lines = [NSMutableArray array];
    char **texts = count > 0 ? fw_backtrace_symbols(addresses, count) : NULL;
    for (int i = 0; texts && i < count; i++) {
        NSString *line = [NSString stringWithUTF8String:texts[i]];
        [lines addObject:line ? line : @"?"];
    }
    free(texts);
    return lines;
}

/*
 * What +[NSThread callStackSymbols] returns: a line for each frame of the calling thread, innermost
 * first, the first one in the function that calls this; through unwind tables, and with names of
 * private functions where the symbol table has them. At most `limit` frames (0, or more than
 * FW_CALL_STACK_MOST: that many). Empty when memory is short.
 */
static inline __attribute__((always_inline)) NSArray<NSString *> *
fw_call_stack_symbols(NSUInteger limit)
{
    const int most =
        limit == 0 || limit > FW_CALL_STACK_MOST ? (int)FW_CALL_STACK_MOST : (int)limit;
    void **addresses = (void **)calloc((size_t)most, sizeof *addresses);
    const int count = addresses ? fw_backtrace(addresses, most) : 0; /* inlined: its caller's */
    NSArray<NSString *> *lines = fw_foundation_lines(addresses, count);
    free(addresses);
    return lines;
}

static inline fw_thread_id fw_foundation_thread_named(const char *name)
{
    enum { ROOM = 1024 };
    fw_thread_id *ids = (fw_thread_id *)calloc(ROOM, sizeof *ids), found = 0;
    size_t count = 0;
    if (!ids)
        return 0;
    const fw_error error = fw_threads_list(ids, ROOM, &count);
    for (size_t i = 0; error == FW_OK && !found && i < count; i++) {
        thread_extended_info_data_t info;
        mach_msg_type_number_t size = THREAD_EXTENDED_INFO_COUNT;
        if (thread_info(ids[i], THREAD_EXTENDED_INFO, (thread_info_t)&info, &size) ==
                KERN_SUCCESS &&
            strncmp(info.pth_name, name, sizeof info.pth_name) == 0)
            found = ids[i];
    }
    free(ids);
    return found;
}

/*
 * The thread of an NSThread, found by its name: it is given one that no other thread has, is looked
 * for, and gets its own name back. It need not do anything for that, and may hang; but others can
 * see the name meanwhile, and it relies on Foundation handing a name on to the system at once,
 * which Apple does not promise. 0 when it is not found: it does not run, its name did not arrive,
 * or there are more than a thousand threads. Never another thread.
 */
static inline fw_thread_id fw_thread_of_nsthread(NSThread *thread)
{
    static uint32_t asked;
    char name[64];
    if (thread == [NSThread currentThread])
        return fw_thread_self();
    if (thread.isMainThread)
        return fw_thread_main();
    if (!thread.isExecuting)
        return 0;
    snprintf(name, sizeof name, "framewalk %d %p %u", (int)getpid(), (void *)&asked,
             (unsigned)__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED));
    NSString *before = thread.name;
    thread.name = [NSString stringWithUTF8String:name];
    const fw_thread_id found = fw_foundation_thread_named(name);
    thread.name = before;
    return found;
}

/*
 * The same by asking the thread, which tells its id when its run loop turns. Nothing of it is
 * changed, and nothing is relied upon that Apple does not promise; but a thread without a run loop,
 * or one that hangs, does not answer: 0 after `seconds`.
 */
static inline fw_thread_id fw_thread_of_nsthread_asked(NSThread *thread, NSTimeInterval seconds)
{
    if (thread == [NSThread currentThread])
        return fw_thread_self();
    __block fw_thread_id told = 0;
    dispatch_semaphore_t answered = dispatch_semaphore_create(0);
    NSBlockOperation *question = [NSBlockOperation blockOperationWithBlock:^{
        told = fw_thread_self();
        dispatch_semaphore_signal(answered);
    }];
    [question performSelector:@selector(start) onThread:thread withObject:nil waitUntilDone:NO];
    const int64_t ns = (int64_t)(seconds * 1e9);
    return dispatch_semaphore_wait(answered, dispatch_time(DISPATCH_TIME_NOW, ns)) == 0 ? told : 0;
}

#endif
#endif
