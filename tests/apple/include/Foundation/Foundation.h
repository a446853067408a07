/*
 * Names and types of Foundation and libdispatch that the examples, the package's Objective-C and
 * the model of the Mach-O host use, so that they are compiled where there is no SDK. Facts only;
 * with an SDK the real headers are taken (sdk_test.sh).
 */
#ifndef TESTS_APPLE_FOUNDATION_H
#define TESTS_APPLE_FOUNDATION_H

#include <stdbool.h>
#include <stdint.h>

#if __has_include(<objc/NSObject.h>) /* Apple's, of libobjc and libdispatch */
#include <dispatch/dispatch.h>
#include <objc/NSObject.h>
#else
typedef unsigned long NSUInteger;
#if defined(__OBJC_BOOL_IS_BOOL)
typedef bool BOOL;
#else
typedef signed char BOOL;
#endif
#define YES                   __objc_yes
#define NO                    __objc_no
#define NSEC_PER_SEC          1000000000ull
#define nil                   ((void *)0)

__attribute__((objc_root_class))
@interface NSObject {
    Class isa;
}
+ (instancetype)alloc;
+ (Class)class;
- (instancetype)init;
- (BOOL)isKindOfClass:(Class)class;
@end

typedef uint64_t dispatch_time_t;
typedef NSObject *dispatch_queue_t;
typedef NSObject *dispatch_semaphore_t;
#define DISPATCH_TIME_NOW     0ull
#define DISPATCH_TIME_FOREVER (~0ull)
dispatch_time_t dispatch_time(dispatch_time_t when, int64_t ns);
dispatch_queue_t dispatch_get_main_queue(void);
void dispatch_async(dispatch_queue_t queue, void (^block)(void));
dispatch_semaphore_t dispatch_semaphore_create(intptr_t value);
intptr_t dispatch_semaphore_wait(dispatch_semaphore_t semaphore, dispatch_time_t until);
intptr_t dispatch_semaphore_signal(dispatch_semaphore_t semaphore);
#endif

typedef double NSTimeInterval;

@protocol NSFastEnumeration
@end
#define SINCE(mac, phone, watch)                                                                   \
    __attribute__((availability(macos, introduced = mac)))                                         \
    __attribute__((availability(ios, introduced = phone)))                                         \
    __attribute__((availability(tvos, introduced = phone)))                                        \
    __attribute__((availability(watchos, introduced = watch)))

enum { NSASCIIStringEncoding = 1 };
@interface NSString : NSObject
@property(readonly) const char *fileSystemRepresentation;
@property(readonly) const char *UTF8String;
+ (instancetype)stringWithUTF8String:(const char *)text;
- (instancetype)initWithBytes:(const void *)bytes
                       length:(NSUInteger)size
                     encoding:(NSUInteger)encoding;
- (BOOL)isEqualToString:(NSString *)other;
- (NSString *)stringByAppendingString:(NSString *)text;
@end

@interface NSConstantString : NSString {
    const char *_text;
    unsigned int _length;
}
@end

@interface NSArray<Item> : NSObject
@property(readonly) Item firstObject;
@property(readonly) NSUInteger count;
- (Item)objectAtIndex:(NSUInteger)index;
@end
@interface NSMutableArray<Item> : NSArray <Item>
+ (instancetype)array;
- (void)addObject:(Item)item;
@end

@interface NSDictionary<Key, Value> : NSObject
- (Value)objectForKeyedSubscript:(Key)key;
@end

@interface NSData : NSObject
@property(readonly) NSUInteger length;
@property(readonly) const void *bytes;
+ (instancetype)data;
+ (instancetype)dataWithBytes:(const void *)bytes length:(NSUInteger)size;
@end
@interface NSMutableData : NSData
- (void)appendData:(NSData *)data;
@end

@interface NSError : NSObject
@property(readonly) NSString *domain;
@property(readonly) long code;
@property(readonly) NSString *localizedDescription;
@end

@interface NSBundle : NSObject
@property(class, readonly) NSBundle *mainBundle;
@property(readonly) NSString *bundlePath;
@property(readonly) NSString *bundleIdentifier;
@end

@interface NSThread : NSObject
@property(class, readonly) NSThread *currentThread;
@property(copy) NSString *name;
@property(readonly) BOOL isMainThread;
@property(readonly, getter=isExecuting) BOOL executing;
+ (void)detachNewThreadWithBlock:(void (^)(void))block;
+ (void)sleepForTimeInterval:(NSTimeInterval)seconds;
@end

@interface NSObject (Threads)
- (void)performSelector:(SEL)selector
               onThread:(NSThread *)thread
             withObject:(id)object
          waitUntilDone:(BOOL)wait;
@end
@interface NSBlockOperation : NSObject
+ (instancetype)blockOperationWithBlock:(void (^)(void))block;
- (void)start;
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

@interface NSProcessInfo : NSObject
@property(class, readonly) NSProcessInfo *processInfo;
@property(readonly, getter=isLowPowerModeEnabled) BOOL lowPowerModeEnabled SINCE(12.0, 9.0, 2.0);
@end

// MARK: loading of URLs

extern NSString *const NSURLErrorDomain;
enum {
    NSURLErrorNotConnectedToInternet = -1009,
    NSURLErrorInternationalRoamingOff = -1018,
    NSURLErrorDataNotAllowed = -1020,
};
typedef uint16_t tls_protocol_version_t;
enum { tls_protocol_version_TLSv12 = 0x0303 };

@class NSHTTPCookieStorage, NSURLCache, NSURLCredentialStorage, NSOperationQueue;
@class NSURLSession, NSURLSessionDataTask;

@interface NSURL : NSObject
+ (instancetype)URLWithString:(NSString *)text;
@end
@interface NSURLRequest : NSObject
@end
@interface NSMutableURLRequest : NSURLRequest
@property(strong) NSString *HTTPMethod;
@property(strong) NSData *HTTPBody;
+ (instancetype)requestWithURL:(NSURL *)url;
- (void)setValue:(NSString *)value forHTTPHeaderField:(NSString *)name;
@end
@interface NSURLResponse : NSObject
@end
@interface NSHTTPURLResponse : NSURLResponse
@property(readonly) long statusCode;
@property(readonly) NSDictionary *allHeaderFields;
@end

@interface NSURLSessionConfiguration : NSObject
@property(class, readonly) NSURLSessionConfiguration *ephemeralSessionConfiguration;
@property NSTimeInterval timeoutIntervalForRequest, timeoutIntervalForResource;
@property BOOL HTTPShouldSetCookies, allowsCellularAccess;
@property(strong) NSHTTPCookieStorage *HTTPCookieStorage;
@property(strong) NSURLCache *URLCache;
@property(strong) NSURLCredentialStorage *URLCredentialStorage;
@property long HTTPMaximumConnectionsPerHost;
@property BOOL allowsExpensiveNetworkAccess SINCE(10.15, 13.0, 6.0);
@property BOOL allowsConstrainedNetworkAccess SINCE(10.15, 13.0, 6.0);
@property tls_protocol_version_t TLSMinimumSupportedProtocolVersion SINCE(10.15, 13.0, 6.0);
@end

@interface NSURLSessionTask : NSObject
@property(readonly) NSURLResponse *response;
- (void)resume;
- (void)cancel;
@end
@interface NSURLSessionDataTask : NSURLSessionTask
@end

@protocol NSURLSessionDelegate
@end
@protocol NSURLSessionTaskDelegate <NSURLSessionDelegate>
@optional
- (void)URLSession:(NSURLSession *)session
                          task:(NSURLSessionTask *)task
    willPerformHTTPRedirection:(NSHTTPURLResponse *)response
                    newRequest:(NSURLRequest *)request
             completionHandler:(void (^)(NSURLRequest *))completionHandler;
- (void)URLSession:(NSURLSession *)session
                    task:(NSURLSessionTask *)task
    didCompleteWithError:(NSError *)error;
@end
@protocol NSURLSessionDataDelegate <NSURLSessionTaskDelegate>
@optional
- (void)URLSession:(NSURLSession *)session
          dataTask:(NSURLSessionDataTask *)task
    didReceiveData:(NSData *)data;
@end

@interface NSURLSession : NSObject
+ (NSURLSession *)sessionWithConfiguration:(NSURLSessionConfiguration *)configuration
                                  delegate:(id<NSURLSessionDelegate>)delegate
                             delegateQueue:(NSOperationQueue *)queue;
- (NSURLSessionDataTask *)dataTaskWithRequest:(NSURLRequest *)request;
- (void)invalidateAndCancel;
@end

void NSLog(NSString *format, ...);

#endif
