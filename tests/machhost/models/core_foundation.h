/*
 * A model of CoreFoundation's run loop, as a dylib of the Mach-O host: the public calls that
 * Framewalk looks up, and frames as they are on a real stack (CFRunLoopRunSpecific calls
 * __CFRunLoopRun, which calls observers, sources, and __CFRunLoopServiceMachPort to wait). Which
 * activity comes when is as in <CoreFoundation/CFRunLoop.h> and the documentation of run loops.
 * There is one run loop, the main thread's; strings are C strings. Notifications are delivered in
 * the thread that posts them.
 */
#ifndef MACHHOST_MODELS_CORE_FOUNDATION_H
#define MACHHOST_MODELS_CORE_FOUNDATION_H

#include <stdint.h>

typedef const char *CFStringRef;
typedef struct model_observer *CFRunLoopObserverRef;
typedef struct model_loop *CFRunLoopRef;
typedef unsigned long CFRunLoopActivity;
enum {
    kCFRunLoopEntry = 1 << 0,
    kCFRunLoopBeforeTimers = 1 << 1,
    kCFRunLoopBeforeSources = 1 << 2,
    kCFRunLoopBeforeWaiting = 1 << 5,
    kCFRunLoopAfterWaiting = 1 << 6,
    kCFRunLoopExit = 1 << 7,
};
enum { kCFRunLoopRunFinished = 1, kCFRunLoopRunStopped, kCFRunLoopRunTimedOut };

extern const CFStringRef kCFRunLoopCommonModes, kCFRunLoopDefaultMode;

CFRunLoopRef CFRunLoopGetMain(void);
CFRunLoopObserverRef CFRunLoopObserverCreate(
    const void *allocator, unsigned long activities, unsigned char repeats, long order,
    void (*function)(CFRunLoopObserverRef, CFRunLoopActivity, void *info), const void *context);
void CFRunLoopAddObserver(CFRunLoopRef loop, CFRunLoopObserverRef observer, CFStringRef mode);
CFStringRef CFStringCreateWithCString(const void *allocator, const char *text, uint32_t encoding);
void CFRelease(const void *object);
int CFRunLoopRunInMode(CFStringRef mode, double seconds, unsigned char return_after_source);
void CFRunLoopStop(CFRunLoopRef loop);

typedef void (*CFNotificationCallback)(struct model_loop *center, void *observer, CFStringRef name,
                                       const void *object, const void *info);
struct model_loop *CFNotificationCenterGetLocalCenter(void);
void CFNotificationCenterAddObserver(struct model_loop *center, const void *observer,
                                     CFNotificationCallback callback, CFStringRef name,
                                     const void *object, long suspension);
void CFNotificationCenterPostNotification(struct model_loop *center, CFStringRef name,
                                          const void *object, const void *info,
                                          unsigned char immediately);
/* Of UIKit and AppKit: their values are not their names. */
extern const CFStringRef UIApplicationDidEnterBackgroundNotification,
    UIApplicationWillEnterForegroundNotification, NSApplicationDidHideNotification,
    NSApplicationDidUnhideNotification;

/* The model's own: `function` runs as a source of version 0, or as one that a message brings. Any
 * thread. */
void model_post(void (*function)(void *), void *argument, int by_message);
/* Blocks in a message of CoreFoundation's own, until model_answer: CFUserNotification and its kin.
 */
void model_ask(void);
void model_answer(void);

#endif
