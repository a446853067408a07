/* The model of Foundation's loading of URLs (foundation.h). Without ARC; nothing is ever released.
 */
#import <Foundation/Foundation.h>

#include "foundation.h"
#include "messages.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void (*model_server)(struct model_exchange *exchange);
bool model_low_power;
int model_sessions;
_Atomic bool model_is_stuck;

@implementation NSObject
+ (instancetype)alloc
{
    return model_new(self);
}
+ (Class)class
{
    return self;
}
- (instancetype)init
{
    return self;
}
- (BOOL)isKindOfClass:(Class)class
{
    return (BOOL)model_is_kind(self, class);
}
@end

/* Instances are laid out as constant strings are. */
@implementation NSString {
  @public
    long _flags;
    const char *_text;
    long _length;
}
+ (instancetype)stringWithUTF8String:(const char *)text
{
    return [[self alloc] initWithBytes:text length:strlen(text) encoding:4];
}
- (instancetype)initWithBytes:(const void *)bytes
                       length:(NSUInteger)size
                     encoding:(NSUInteger)encoding
{
    (void)encoding;
    char *copy = calloc(1, size + 1);
    _text = memcpy(copy, bytes, size);
    _length = (long)size;
    return self;
}
- (const char *)UTF8String
{
    return _text;
}
- (NSString *)stringByAppendingString:(NSString *)text
{
    NSString *both = [NSString alloc];
    char *copy = calloc(1, (size_t)(_length + text->_length) + 1);
    both->_text = strcat(strcpy(copy, _text), text->_text);
    both->_length = _length + text->_length;
    return both;
}
- (BOOL)isEqualToString:(NSString *)other
{
    return other && strcmp(_text, other->_text) == 0;
}
@end

char __CFConstantStringClassReference[40];

__attribute__((constructor)) static void start(void)
{
    memcpy(__CFConstantStringClassReference, (const void *)[NSString class],
           sizeof __CFConstantStringClassReference);
}

NSString *const NSURLErrorDomain = @"NSURLErrorDomain";

@implementation NSData {
  @public
    char *_bytes;
    NSUInteger _length;
}
+ (instancetype)data
{
    return [self alloc];
}
+ (instancetype)dataWithBytes:(const void *)bytes length:(NSUInteger)size
{
    NSData *data = [self alloc];
    data->_bytes = memcpy(malloc(size + 1), bytes, size);
    data->_length = size;
    return data;
}
- (const void *)bytes
{
    return _bytes;
}
- (NSUInteger)length
{
    return _length;
}
@end
@implementation NSMutableData
- (void)appendData:(NSData *)data
{
    _bytes = realloc(_bytes, _length + data->_length + 1);
    memcpy(_bytes + _length, data->_bytes, data->_length);
    _length += data->_length;
}
@end

@implementation NSDictionary {
  @public
    NSString *_key, *_value;
}
- (id)objectForKeyedSubscript:(id)key
{
    return [_key isEqualToString:key] ? _value : nil;
}
@end

@implementation NSError {
  @public
    long _code;
}
- (NSString *)domain
{
    return NSURLErrorDomain;
}
- (long)code
{
    return _code;
}
- (NSString *)localizedDescription
{
    return @"the model's error";
}
@end

@implementation NSProcessInfo
+ (NSProcessInfo *)processInfo
{
    return [self alloc];
}
- (BOOL)isLowPowerModeEnabled
{
    return model_low_power;
}
@end

@implementation NSURL {
  @public
    NSString *_text;
}
+ (instancetype)URLWithString:(NSString *)text
{
    NSURL *url = [self alloc];
    url->_text = text;
    return url;
}
@end

@implementation NSURLRequest
@end
@implementation NSMutableURLRequest {
  @public
    NSURL *_url;
    const char *_names[16], *_values[16];
    int _used;
}
@synthesize HTTPMethod = _HTTPMethod;
@synthesize HTTPBody = _HTTPBody;
+ (instancetype)requestWithURL:(NSURL *)url
{
    NSMutableURLRequest *request = [self alloc];
    request->_url = url;
    return request;
}
- (void)setValue:(NSString *)value forHTTPHeaderField:(NSString *)name
{
    _names[_used] = name.UTF8String;
    _values[_used++] = value.UTF8String;
}
@end

@implementation NSURLResponse
@end
@implementation NSHTTPURLResponse {
  @public
    long _status;
    NSDictionary *_fields;
}
- (long)statusCode
{
    return _status;
}
- (NSDictionary *)allHeaderFields
{
    return _fields;
}
@end

@implementation NSURLSessionConfiguration
+ (NSURLSessionConfiguration *)ephemeralSessionConfiguration
{
    return [self alloc];
}
@end

static NSURLSessionDataTask *model_task(NSURLSession *session, NSURLRequest *request);

@implementation NSURLSession {
  @public
    NSURLSessionConfiguration *_how;
    id _delegate;
}
+ (NSURLSession *)sessionWithConfiguration:(NSURLSessionConfiguration *)configuration
                                  delegate:(id<NSURLSessionDelegate>)delegate
                             delegateQueue:(NSOperationQueue *)queue
{
    (void)queue;
    NSURLSession *session = [self alloc];
    session->_how = configuration;
    session->_delegate = delegate;
    model_sessions++;
    return session;
}
- (NSURLSessionDataTask *)dataTaskWithRequest:(NSURLRequest *)request
{
    return model_task(self, request);
}
- (void)invalidateAndCancel
{
    model_sessions--;
}
@end

@implementation NSURLSessionTask {
  @public
    NSURLSession *_session;
    NSMutableURLRequest *_request;
    NSHTTPURLResponse *_answer;
    _Atomic bool _cancelled;
}
- (NSURLResponse *)response
{
    return _answer;
}

static bool followed;

- (void)redirect
{
    followed = false;
    [_session->_delegate URLSession:_session
                               task:self
         willPerformHTTPRedirection:_answer
                         newRequest:_request
                  completionHandler:^(NSURLRequest *request) {
                      followed = request != nil;
                  }];
}

- (void)answer:(const struct model_exchange *)exchange
{
    _answer = [NSHTTPURLResponse alloc];
    _answer->_status = exchange->status;
    _answer->_fields = [NSDictionary alloc];
    _answer->_fields->_key = @"Retry-After";
    if (exchange->retry_after)
        _answer->_fields->_value = [NSString stringWithUTF8String:exchange->retry_after];
}

- (void)run
{
    struct model_exchange exchange = {.url = _request->_url->_text->_text,
                                      .method = _request.HTTPMethod.UTF8String,
                                      .body = _request.HTTPBody.bytes,
                                      .body_size = _request.HTTPBody.length,
                                      .cellular = _session->_how.allowsCellularAccess,
                                      .expensive = _session->_how.allowsExpensiveNetworkAccess,
                                      .constrained = _session->_how.allowsConstrainedNetworkAccess,
                                      .cookies = _session->_how.HTTPShouldSetCookies,
                                      .tls = _session->_how.TLSMinimumSupportedProtocolVersion,
                                      .silent_seconds = _session->_how.timeoutIntervalForRequest,
                                      .most_seconds = _session->_how.timeoutIntervalForResource};
    memcpy(exchange.names, _request->_names, sizeof exchange.names);
    memcpy(exchange.values, _request->_values, sizeof exchange.values);
    model_server(&exchange);
    while (exchange.stuck && !_cancelled) {
        model_is_stuck = true;
        usleep(1000);
    }
    if (!exchange.error)
        [self answer:&exchange];
    if (exchange.redirects)
        [self redirect];
    for (int i = 0; i < exchange.times && !_cancelled && !exchange.error; i++)
        [_session->_delegate URLSession:_session
                               dataTask:(NSURLSessionDataTask *)self
                         didReceiveData:[NSData dataWithBytes:exchange.answer
                                                       length:strlen(exchange.answer)]];
    NSError *error = nil;
    if (exchange.error || _cancelled || followed) {
        error = [NSError alloc];
        error->_code = exchange.error ? exchange.error : -999;
    }
    [_session->_delegate URLSession:_session task:self didCompleteWithError:error];
}

static void *run(void *task)
{
    [(NSURLSessionTask *)task run];
    return NULL;
}

- (void)resume
{
    pthread_t thread;
    pthread_create(&thread, NULL, run, self);
    pthread_detach(thread);
}

- (void)cancel
{
    _cancelled = true;
}
@end
@implementation NSURLSessionDataTask
@end

static NSURLSessionDataTask *model_task(NSURLSession *session, NSURLRequest *request)
{
    NSURLSessionDataTask *task = [NSURLSessionDataTask alloc];
    task->_session = session;
    task->_request = (NSMutableURLRequest *)request;
    return task;
}

// MARK: libdispatch

@interface ModelSemaphore : NSObject
@end
@implementation ModelSemaphore {
  @public
    pthread_mutex_t _guard;
    pthread_cond_t _changed;
    intptr_t _value;
}
@end

dispatch_semaphore_t dispatch_semaphore_create(intptr_t value)
{
    ModelSemaphore *semaphore = [ModelSemaphore alloc];
    pthread_mutex_init(&semaphore->_guard, NULL);
    pthread_cond_init(&semaphore->_changed, NULL);
    semaphore->_value = value;
    return semaphore;
}

intptr_t dispatch_semaphore_signal(dispatch_semaphore_t of)
{
    ModelSemaphore *semaphore = (ModelSemaphore *)of;
    pthread_mutex_lock(&semaphore->_guard);
    semaphore->_value++;
    pthread_cond_signal(&semaphore->_changed);
    pthread_mutex_unlock(&semaphore->_guard);
    return 0;
}

intptr_t dispatch_semaphore_wait(dispatch_semaphore_t of, dispatch_time_t until)
{
    ModelSemaphore *semaphore = (ModelSemaphore *)of;
    pthread_mutex_lock(&semaphore->_guard);
    int late = 0;
    while (semaphore->_value == 0 && !late) {
        const struct timespec left = {(long)(until / NSEC_PER_SEC), (long)(until % NSEC_PER_SEC)};
        if (until == DISPATCH_TIME_FOREVER)
            pthread_cond_wait(&semaphore->_changed, &semaphore->_guard);
        else
            late =
                pthread_cond_timedwait_relative_np(&semaphore->_changed, &semaphore->_guard, &left);
    }
    const bool had = semaphore->_value > 0;
    semaphore->_value -= had;
    pthread_mutex_unlock(&semaphore->_guard);
    return !had;
}

dispatch_time_t dispatch_time(dispatch_time_t when, int64_t ns)
{
    return when + (dispatch_time_t)ns; /* from now on */
}
