// Catches hangs of the main thread, in Objective-C. When it has not answered for two seconds, the
// stacks of all threads are logged; while it goes on, the main thread is sampled, and stacks that
// were seen before cost next to nothing.
//
//     [[HangWatch alloc] init];    // once, from -application:didFinishLaunchingWithOptions:
@import Framewalk;
@import Framewalk.Foundation;

#import <Foundation/Foundation.h>

#include <pthread.h>
#include <stdlib.h>

static const int64_t kPatience = 2 * (int64_t)NSEC_PER_SEC;
static const int64_t kBetweenSamples = (int64_t)NSEC_PER_SEC / 20;
static const int64_t kBetweenQuestions = (int64_t)NSEC_PER_SEC / 2;

enum { kFrames = 128 };

@interface HangWatch : NSObject
@end

@implementation HangWatch {
    struct fw_stack_names *_names;
}

- (instancetype)init
{
    self = [super init];
    if (!self)
        return nil;
    // Frames of the app and of the frameworks inside it have names; those of the system are
    // counted.
    NSString *own = [[NSBundle mainBundle].bundlePath stringByAppendingString:@"/"];
    const char *images[] = {own.fileSystemRepresentation};
    struct fw_stack_names_options options = {
        .size = sizeof options, .images = images, .image_count = 1, .text = true};
    if (fw_stack_names_create(&_names, &options) != FW_OK)
        return nil;
    [NSThread detachNewThreadWithBlock:^{
        pthread_setname_np("hang watch");
        for (;;)
            [self askMainThread];
    }];
    return self;
}

- (void)askMainThread
{
    dispatch_semaphore_t answer = dispatch_semaphore_create(0);
    dispatch_async(dispatch_get_main_queue(), ^{
        dispatch_semaphore_signal(answer);
    });
    if (dispatch_semaphore_wait(answer, dispatch_time(DISPATCH_TIME_NOW, kPatience)) != 0) {
        [self logAllThreads];
        while (dispatch_semaphore_wait(answer, dispatch_time(DISPATCH_TIME_NOW, kBetweenSamples)) !=
               0)
            [self logMainThread];
    }
    [NSThread sleepForTimeInterval:(double)kBetweenQuestions / (double)NSEC_PER_SEC];
}

- (void)logAllThreads
{
    char *text = fw_text_all_threads();
    NSLog(@"The main thread hangs.\n%s", text ? text : "(out of memory)");
    free(text);
}

- (void)logMainThread
{
    struct fw_frame frames[kFrames];
    struct fw_thread thread = {.stack = {.frames = frames, .capacity = kFrames}};
    const struct fw_named_stack *named;
    if (fw_thread_capture(fw_thread_main(), &thread, NULL) != FW_OK)
        return;
    if (fw_stack_names_get(_names, &thread.stack, &named) != FW_OK)
        return;
    NSLog(@"%s", named->text);
    fw_stack_names_release(_names, named);
}

@end

int main(void)
{
    @autoreleasepool {
        HangWatch *watch = [[HangWatch alloc] init];
        NSLog(@"%@\n%@", watch, fw_call_stack_symbols(32));
        dispatch_async(dispatch_get_main_queue(), ^{
            [NSThread sleepForTimeInterval:5]; // the hang
        });
        [[NSRunLoop mainRunLoop] runUntilDate:[NSDate dateWithTimeIntervalSinceNow:10]];
    }
}
