/* The model of CoreFoundation's run loop (core_foundation.h). */
#include "core_foundation.h"

#include <mach/mach.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define FRAME __attribute__((noinline, disable_tail_calls))

enum { OBSERVERS = 64, WORK = 64 };

struct model_observer {
    unsigned long activities;
    long order;
    void (*function)(CFRunLoopObserverRef, CFRunLoopActivity, void *);
    void *info;
};

struct added {
    struct model_observer *observer;
    CFStringRef mode;
};

struct work {
    void (*function)(void *);
    void *argument;
};

struct queue {
    struct work work[WORK];
    unsigned first, count;
};

static struct model_loop {
    pthread_mutex_t lock;
    struct added added[OBSERVERS]; /* by order */
    unsigned count;
    struct queue sources, messages;
    semaphore_t port, answer;
    int stopped;
} loop = {.lock = PTHREAD_MUTEX_INITIALIZER};

const CFStringRef kCFRunLoopCommonModes = "kCFRunLoopCommonModes";
const CFStringRef kCFRunLoopDefaultMode = "kCFRunLoopDefaultMode";

__attribute__((constructor)) static void start(void)
{
    semaphore_create(mach_task_self(), &loop.port, SYNC_POLICY_FIFO, 0);
    semaphore_create(mach_task_self(), &loop.answer, SYNC_POLICY_FIFO, 0);
}

CFRunLoopRef CFRunLoopGetMain(void)
{
    return &loop;
}

CFStringRef CFStringCreateWithCString(const void *allocator, const char *text, uint32_t encoding)
{
    (void)allocator, (void)encoding;
    return strdup(text);
}

void CFRelease(const void *object)
{
    (void)object; /* lives for ever */
}

CFRunLoopObserverRef CFRunLoopObserverCreate(
    const void *allocator, unsigned long activities, unsigned char repeats, long order,
    void (*function)(CFRunLoopObserverRef, CFRunLoopActivity, void *info), const void *context)
{
    (void)allocator, (void)repeats;
    struct model_observer *observer = calloc(1, sizeof *observer);
    if (!observer)
        return NULL;
    *observer = (struct model_observer){activities, order, function, NULL};
    if (context)
        memcpy(&observer->info, (const char *)context + sizeof(long), sizeof(void *));
    return observer;
}

void CFRunLoopAddObserver(CFRunLoopRef run_loop, CFRunLoopObserverRef observer, CFStringRef mode)
{
    pthread_mutex_lock(&run_loop->lock);
    unsigned at = run_loop->count < OBSERVERS ? run_loop->count++ : OBSERVERS - 1;
    for (; at > 0 && run_loop->added[at - 1].observer->order > observer->order; at--)
        run_loop->added[at] = run_loop->added[at - 1];
    run_loop->added[at] = (struct added){observer, mode};
    pthread_mutex_unlock(&run_loop->lock);
}

/* Common modes: the default one and that of tracking. */
static int in_mode(CFStringRef of, CFStringRef mode)
{
    return strcmp(of, mode) == 0 ||
           (strcmp(of, kCFRunLoopCommonModes) == 0 && (strcmp(mode, kCFRunLoopDefaultMode) == 0 ||
                                                       strcmp(mode, "UITrackingRunLoopMode") == 0));
}

FRAME void
__CFRUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION__(struct model_observer *observer,
                                                              CFRunLoopActivity activity)
{
    observer->function(observer, activity, observer->info);
}

FRAME void __CFRunLoopDoObservers(CFStringRef mode, CFRunLoopActivity activity)
{
    for (unsigned i = 0; i < loop.count; i++)
        if (loop.added[i].observer->activities & activity && in_mode(loop.added[i].mode, mode))
            __CFRUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION__(loop.added[i].observer,
                                                                          activity);
}

static int take(struct queue *queue, struct work *work)
{
    pthread_mutex_lock(&loop.lock);
    const int found = queue->count > 0;
    if (found) {
        *work = queue->work[queue->first];
        queue->first = (queue->first + 1) % WORK;
        queue->count--;
    }
    pthread_mutex_unlock(&loop.lock);
    return found;
}

FRAME void __CFRUNLOOP_IS_CALLING_OUT_TO_A_SOURCE0_PERFORM_FUNCTION__(const struct work *work)
{
    work->function(work->argument);
}

FRAME void __CFRUNLOOP_IS_CALLING_OUT_TO_A_SOURCE1_PERFORM_FUNCTION__(const struct work *work)
{
    work->function(work->argument);
}

FRAME int __CFRunLoopDoSource0(void)
{
    struct work work;
    if (!take(&loop.sources, &work))
        return 0;
    __CFRUNLOOP_IS_CALLING_OUT_TO_A_SOURCE0_PERFORM_FUNCTION__(&work);
    return 1;
}

FRAME int __CFRunLoopDoSources0(void)
{
    int any = 0;
    while (__CFRunLoopDoSource0())
        any = 1;
    return any;
}

FRAME int __CFRunLoopDoSource1(void)
{
    struct work work;
    if (!take(&loop.messages, &work))
        return 0;
    __CFRUNLOOP_IS_CALLING_OUT_TO_A_SOURCE1_PERFORM_FUNCTION__(&work);
    return 1;
}

FRAME int __CFRunLoopServiceMachPort(mach_port_t port, mach_msg_timeout_t timeout_ms)
{
    const mach_msg_return_t result =
        mach_msg(NULL, MACH_RCV_MSG | MACH_RCV_TIMEOUT, 0, 0, port, timeout_ms, 0);
    return result == MACH_MSG_SUCCESS;
}

FRAME int __CFRunLoopRun(CFStringRef mode, double seconds, unsigned char return_after_source)
{
    const mach_msg_timeout_t timeout_ms = (mach_msg_timeout_t)(seconds * 1000);
    for (;;) {
        __CFRunLoopDoObservers(mode, kCFRunLoopBeforeTimers);
        __CFRunLoopDoObservers(mode, kCFRunLoopBeforeSources);
        int handled = __CFRunLoopDoSources0(), woken = 1;
        if (!handled && seconds > 0) {
            __CFRunLoopDoObservers(mode, kCFRunLoopBeforeWaiting);
            woken = __CFRunLoopServiceMachPort(loop.port, timeout_ms);
            __CFRunLoopDoObservers(mode, kCFRunLoopAfterWaiting);
            handled = __CFRunLoopDoSource1();
        }
        if (handled && return_after_source)
            return kCFRunLoopRunFinished;
        if (loop.stopped) {
            loop.stopped = 0;
            return kCFRunLoopRunStopped;
        }
        if (!woken || (!handled && seconds <= 0))
            return kCFRunLoopRunTimedOut;
    }
}

FRAME int CFRunLoopRunSpecific(CFRunLoopRef run_loop, CFStringRef mode, double seconds,
                               unsigned char return_after_source)
{
    (void)run_loop;
    __CFRunLoopDoObservers(mode, kCFRunLoopEntry);
    const int result = __CFRunLoopRun(mode, seconds, return_after_source);
    __CFRunLoopDoObservers(mode, kCFRunLoopExit);
    return result;
}

FRAME int CFRunLoopRunInMode(CFStringRef mode, double seconds, unsigned char return_after_source)
{
    return CFRunLoopRunSpecific(&loop, mode, seconds, return_after_source);
}

void CFRunLoopStop(CFRunLoopRef run_loop)
{
    run_loop->stopped = 1;
    semaphore_signal(run_loop->port);
}

void model_post(void (*function)(void *), void *argument, int by_message)
{
    struct queue *queue = by_message ? &loop.messages : &loop.sources;
    pthread_mutex_lock(&loop.lock);
    if (queue->count < WORK)
        queue->work[(queue->first + queue->count++) % WORK] = (struct work){function, argument};
    pthread_mutex_unlock(&loop.lock);
    semaphore_signal(loop.port);
}

FRAME void model_ask(void)
{
    mach_msg(NULL, MACH_RCV_MSG, 0, 0, loop.answer, 0, 0);
}

void model_answer(void)
{
    semaphore_signal(loop.answer);
}

/* --- notifications --- */

const CFStringRef UIApplicationDidEnterBackgroundNotification = "model: UIKit hides";
const CFStringRef UIApplicationWillEnterForegroundNotification = "model: UIKit shows";
const CFStringRef NSApplicationDidHideNotification = "model: AppKit hides";
const CFStringRef NSApplicationDidUnhideNotification = "model: AppKit shows";

static struct registration {
    CFNotificationCallback callback;
    const void *observer;
    CFStringRef name;
} registrations[OBSERVERS];
static unsigned registered;

struct model_loop *CFNotificationCenterGetLocalCenter(void)
{
    return &loop;
}

void CFNotificationCenterAddObserver(struct model_loop *center, const void *observer,
                                     CFNotificationCallback callback, CFStringRef name,
                                     const void *object, long suspension)
{
    (void)center, (void)object, (void)suspension;
    if (registered < OBSERVERS)
        registrations[registered++] = (struct registration){callback, observer, name};
}

void CFNotificationCenterPostNotification(struct model_loop *center, CFStringRef name,
                                          const void *object, const void *info,
                                          unsigned char immediately)
{
    (void)immediately;
    for (unsigned i = 0; i < registered; i++)
        if (strcmp(registrations[i].name, name) == 0)
            registrations[i].callback(center, (void *)(uintptr_t)registrations[i].observer, name,
                                      object, info);
}
