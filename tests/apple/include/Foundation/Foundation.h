/*
 * Names and types of Foundation and libdispatch that examples/apple/*.m use, so that they are
 * compiled where there is no SDK. Facts only; with an SDK the real headers are taken (sdk_test.sh).
 */
#ifndef TESTS_APPLE_FOUNDATION_H
#define TESTS_APPLE_FOUNDATION_H

#include <stdbool.h>
#include <stdint.h>

typedef double NSTimeInterval;
typedef unsigned long NSUInteger;
#if defined(__OBJC_BOOL_IS_BOOL)
typedef bool BOOL;
#else
typedef signed char BOOL;
#endif
#define YES          __objc_yes
#define NO           __objc_no
#define NSEC_PER_SEC 1000000000ull
#define nil          ((void *)0)

@protocol NSFastEnumeration
@end

__attribute__((objc_root_class))
@interface NSObject
+ (instancetype)alloc;
- (instancetype)init;
@end

@interface NSString : NSObject
@property(readonly) const char *fileSystemRepresentation;
@property(readonly) const char *UTF8String;
+ (instancetype)stringWithUTF8String:(const char *)text;
- (NSString *)stringByAppendingString:(NSString *)text;
@end

@interface NSConstantString : NSString {
    const char *_text;
    unsigned int _length;
}
@end

@interface NSArray<Item> : NSObject
@property(readonly) Item firstObject;
@end
@interface NSMutableArray<Item> : NSArray <Item>
+ (instancetype)array;
- (void)addObject:(Item)item;
@end

@interface NSBundle : NSObject
@property(class, readonly) NSBundle *mainBundle;
@property(readonly) NSString *bundlePath;
@property(readonly) NSString *bundleIdentifier;
@end

@interface NSThread : NSObject
+ (void)detachNewThreadWithBlock:(void (^)(void))block;
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds;
@end

@interface NSDate : NSObject
+ (instancetype)dateWithTimeIntervalSinceNow:(NSTimeInterval)seconds;
@end

@interface NSRunLoop : NSObject
@property(class, readonly) NSRunLoop *mainRunLoop;
- (void)runUntilDate:(NSDate *)date;
@end

enum { NSCachesDirectory = 13, NSUserDomainMask = 1 };
NSArray<NSString *> *NSSearchPathForDirectoriesInDomains(NSUInteger folder, NSUInteger domains,
                                                         BOOL expand);

void NSLog(NSString *format, ...);

typedef uint64_t dispatch_time_t;
typedef NSObject *dispatch_queue_t;
typedef NSObject *dispatch_semaphore_t;
#define DISPATCH_TIME_NOW 0ull
dispatch_time_t dispatch_time(dispatch_time_t when, int64_t ns);
dispatch_queue_t dispatch_get_main_queue(void);
void dispatch_async(dispatch_queue_t queue, void (^block)(void));
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);

#endif
