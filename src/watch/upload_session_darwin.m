/*
 * One request over NSURLSession: upload_curl.c's counterpart on Apple's systems.
 *
 * Certificates are checked as the app's transport security says, TLS is 1.2 or later, redirects are
 * not followed (the key is for the host that was configured), and nothing is kept: no cookies, no
 * cache, no credentials. An answer's body is read up to UPLOAD_ANSWER_MAX and no further.
 *
 * The session itself refuses networks that `allow` does not name, at the moment of the request:
 * what was asked before could be another network by then. That there is no network, or none that
 * may be used, is no failure (`later`).
 *
 * A request ends by itself: a minute without a byte, five minutes in all; and at once when another
 * thread calls upload_client_abort. The delegate's calls come one after the other on the session's
 * queue, and the thread that sends looks at what they left only after the last one.
 */
#import <Foundation/Foundation.h>

#include "watch/upload_internal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SILENT_SECONDS = 60, MOST_SECONDS = 300 };

@interface FramewalkUploadSession : NSObject <NSURLSessionDataDelegate>
@end

@implementation FramewalkUploadSession {
    NSURLSession *_session;
    uint8_t _allow;
    pthread_mutex_t _guard; /* of the two below */
    NSURLSessionTask *_task;
    bool _aborted;
    /* The answer, as it comes. */
    dispatch_semaphore_t _ended;
    NSMutableData *_body;
    NSError *_error;
    bool _tooLong;
}

- (instancetype)initAllowing:(uint8_t)allow
{
    self = [super init];
    if (!self)
        return nil;
    _allow = allow;
    pthread_mutex_init(&_guard, NULL);
    NSURLSessionConfiguration *how = [NSURLSessionConfiguration ephemeralSessionConfiguration];
    how.timeoutIntervalForRequest = SILENT_SECONDS;
    how.timeoutIntervalForResource = MOST_SECONDS;
    how.HTTPShouldSetCookies = NO;
    how.HTTPCookieStorage = nil;
    how.URLCache = nil;
    how.URLCredentialStorage = nil;
    how.HTTPMaximumConnectionsPerHost = 1;
    how.allowsCellularAccess = (allow & FW_UPLOAD_ON_CELLULAR) != 0;
    if (@available(macOS 10.15, iOS 13, tvOS 13, watchOS 6, *)) {
        how.allowsExpensiveNetworkAccess = (allow & FW_UPLOAD_ON_EXPENSIVE) != 0;
        how.allowsConstrainedNetworkAccess = (allow & FW_UPLOAD_ON_CONSTRAINED) != 0;
        how.TLSMinimumSupportedProtocolVersion = tls_protocol_version_TLSv12;
    }
    _session = [NSURLSession sessionWithConfiguration:how delegate:self delegateQueue:nil];
    return self;
}

- (void)dealloc
{
    pthread_mutex_destroy(&_guard);
}

/* The session keeps its delegate until then. */
- (void)close
{
    [_session invalidateAndCancel];
}

- (void)abort
{
    pthread_mutex_lock(&_guard);
    _aborted = true;
    [_task cancel];
    pthread_mutex_unlock(&_guard);
}

- (bool)isAborted
{
    pthread_mutex_lock(&_guard);
    const bool aborted = _aborted;
    pthread_mutex_unlock(&_guard);
    return aborted;
}

// MARK: the delegate

- (void)URLSession:(NSURLSession *)session
                          task:(NSURLSessionTask *)task
    willPerformHTTPRedirection:(NSHTTPURLResponse *)response
                    newRequest:(NSURLRequest *)request
             completionHandler:(void (^)(NSURLRequest *))completionHandler
{
    (void)session, (void)task, (void)response, (void)request;
    completionHandler(nil); /* the redirect itself is the answer */
}

- (void)URLSession:(NSURLSession *)session
          dataTask:(NSURLSessionDataTask *)task
    didReceiveData:(NSData *)data
{
    (void)session;
    if (data.length > UPLOAD_ANSWER_MAX - _body.length) {
        _tooLong = true;
        [task cancel];
        return;
    }
    [_body appendData:data];
}

- (void)URLSession:(NSURLSession *)session
                    task:(NSURLSessionTask *)task
    didCompleteWithError:(NSError *)error
{
    (void)session, (void)task;
    _error = error;
    dispatch_semaphore_signal(_ended);
}

// MARK: one request

static NSURLRequest *make_request(const struct fw_upload_request *from)
{
    NSURL *url = [NSURL URLWithString:[NSString stringWithUTF8String:from->url]];
    if (!url)
        return nil;
    NSMutableURLRequest *request = [NSMutableURLRequest requestWithURL:url];
    request.HTTPMethod = @"POST";
    request.HTTPBody = [NSData dataWithBytes:from->body length:from->body_size];
    for (const char *const *header = from->headers; *header; header++) {
        const char *colon = strstr(*header, ": ");
        NSString *name = colon ? [[NSString alloc] initWithBytes:*header
                                                          length:(NSUInteger)(colon - *header)
                                                        encoding:NSASCIIStringEncoding]
                               : nil;
        if (name)
            [request setValue:[NSString stringWithUTF8String:colon + 2] forHTTPHeaderField:name];
    }
    return request;
}

/* nil when it was given up before. */
- (NSURLSessionTask *)startTask:(NSURLRequest *)request
{
    NSURLSessionTask *task = nil;
    pthread_mutex_lock(&_guard);
    if (!_aborted)
        task = _task = [_session dataTaskWithRequest:request];
    [task resume];
    pthread_mutex_unlock(&_guard);
    return task;
}

- (bool)powerIsLow
{
    if (_allow & FW_UPLOAD_ON_LOW_POWER)
        return false;
    if (@available(macOS 12, iOS 9, tvOS 9, watchOS 2, *))
        return NSProcessInfo.processInfo.lowPowerModeEnabled;
    return false;
}

/* No network, or none of those that may be used. */
static bool wants_network(NSError *error)
{
    return
        [error.domain isEqualToString:NSURLErrorDomain] &&
        (error.code == NSURLErrorNotConnectedToInternet || error.code == NSURLErrorDataNotAllowed ||
         error.code == NSURLErrorInternationalRoamingOff);
}

static void say(struct fw_upload_response *response, const char *why)
{
    snprintf(response->message, sizeof response->message, "%s", why ? why : "not reached");
}

- (void)conclude:(NSURLSessionTask *)task into:(struct fw_upload_response *)response
{
    NSHTTPURLResponse *answer = (NSHTTPURLResponse *)task.response;
    if (_tooLong) {
        say(response, "the answer is longer than any collector's");
    } else if ([self isAborted]) {
        say(response, "given up");
    } else if (_error) {
        response->later = wants_network(_error);
        say(response, _error.localizedDescription.UTF8String);
    } else if (![answer isKindOfClass:[NSHTTPURLResponse class]]) {
        say(response, "the answer is none of HTTP");
    } else {
        NSString *after = answer.allHeaderFields[@"Retry-After"];
        response->status = (uint32_t)answer.statusCode;
        response->retry_after =
            after ? upload_retry_after(after.UTF8String, (int64_t)time(NULL)) : 0;
        response->body_size = _body.length;
        response->body = malloc(_body.length + 1);
        if (response->body)
            memcpy(response->body, _body.bytes, _body.length);
        else
            response->body_size = 0;
    }
}

- (void)send:(const struct fw_upload_request *)what into:(struct fw_upload_response *)response
{
    NSURLRequest *request = make_request(what);
    if (!request) {
        say(response, "the collector's URL is none, or out of memory");
        return;
    }
    if ([self powerIsLow]) {
        response->later = true;
        say(response, "waits until Low Power Mode is over");
        return;
    }
    _ended = dispatch_semaphore_create(0);
    _body = [NSMutableData data];
    _error = nil;
    _tooLong = false;
    NSURLSessionTask *task = [self startTask:request];
    if (!task) {
        say(response, "given up");
        return;
    }
    dispatch_semaphore_wait(_ended, DISPATCH_TIME_FOREVER);
    [self conclude:task into:response];
}

@end

static FramewalkUploadSession *of(struct upload_client *client)
{
    return (__bridge FramewalkUploadSession *)(void *)client;
}

struct upload_client *upload_client_open(const struct upload_settings *settings,
                                         struct fw_failure *why)
{
    if (settings->options.ca_file) {
        failure_say(why, FW_ERR_UNSUPPORTED, 0,
                    "ca_file: NSURLSession trusts what the system and the app trust");
        return NULL;
    }
    @autoreleasepool {
        FramewalkUploadSession *session =
            [[FramewalkUploadSession alloc] initAllowing:settings->options.allow];
        if (!session)
            failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
        return (struct upload_client *)(__bridge_retained void *)session;
    }
}

void upload_client_send(struct upload_client *client, const struct fw_upload_request *request,
                        struct fw_upload_response *response)
{
    @autoreleasepool {
        [of(client) send:request into:response];
    }
}

void upload_client_abort(struct upload_client *client)
{
    @autoreleasepool {
        [of(client) abort];
    }
}

void upload_client_close(struct upload_client *client)
{
    if (!client)
        return;
    @autoreleasepool {
        FramewalkUploadSession *session =
            (__bridge_transfer FramewalkUploadSession *)(void *)client;
        [session close];
    }
}
