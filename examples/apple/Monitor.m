// Watches the main run loop for hangs, and counts who asks for the pasteboard: reports go into a
// folder that survives a kill. In Objective-C.
//
//     [Monitor start];    // first thing in main(), before UIApplicationMain()
@import Framewalk;

#import <Foundation/Foundation.h>

static struct fw_reports *reports;
static struct fw_hang_monitor *monitor;
static struct fw_calls *calls;

// In the monitor's thread, while the main thread hangs, perhaps in malloc(): must not allocate.
// Here it only notes that there is something new to upload.
static void HangEnded(void *context, const struct fw_hang_event *event)
{
    bool *something = context;
    if (event->ended && event->report_id[0])
        __atomic_store_n(something, true, __ATOMIC_RELAXED);
}

@interface Monitor : NSObject
+ (void)start;
@end

@implementation Monitor

// Library/Caches is not backed up, and files there can be written once the device was unlocked
// after it started, unless the app asks for more protection.
+ (NSString *)folder
{
    NSArray<NSString *> *caches =
        NSSearchPathForDirectoriesInDomains(NSCachesDirectory, NSUserDomainMask, YES);
    return [caches.firstObject stringByAppendingString:@"/framewalk"];
}

+ (void)start
{
    static bool something;
    struct fw_failure why;
    struct fw_reports_options kept = {.size = sizeof kept};
    kept.folder = [self folder].fileSystemRepresentation;
    kept.app = NSBundle.mainBundle.bundleIdentifier.UTF8String;
    if (fw_reports_open(&kept, &reports, &why) != FW_OK)
        NSLog(@"no reports: %s", why.message);

    struct fw_hang_options options = {.size = sizeof options};
    options.reports = reports; // NULL is fine: totals and on_hang remain
    options.on_hang = HangEnded;
    options.context = &something;
    struct fw_hang_watch *watch;
    if (fw_hang_start(&options, &monitor) != FW_OK ||
        fw_hang_watch_run_loop(monitor, &watch) != FW_OK)
        NSLog(@"hangs are not watched");

    const char *names[] = {"+[UIPasteboard generalPasteboard]", "getaddrinfo"};
    struct fw_calls_options watched = {.size = sizeof watched, .names = names, .count = 2};
    watched.reports = reports;
    watched.write_seconds = 60;
    if (fw_calls_start(&watched, &calls) != FW_OK)
        NSLog(@"calls are not watched");
}

@end

int main(void)
{
    @autoreleasepool {
        [Monitor start];
        dispatch_async(dispatch_get_main_queue(), ^{
            [NSThread sleepForTimeInterval:1]; // the hang
        });
        [[NSRunLoop mainRunLoop] runUntilDate:[NSDate dateWithTimeIntervalSinceNow:3]];
        struct fw_hang_totals totals = {.size = sizeof totals};
        fw_hang_totals(monitor, &totals);
        NSLog(@"%llu hangs, %.0f ms in all", totals.hangs, (double)totals.hang_ns / 1e6);
        fw_calls_stop(calls);
        fw_hang_stop(monitor);
        fw_reports_close(reports);
    }
}
