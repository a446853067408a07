// Sends the reports that Monitor.m keeps to a collector, over NSURLSession. In Objective-C.
//
//     [Upload start];    // when the app is up
@import Framewalk;
@import FramewalkUpload;

#import <Foundation/Foundation.h>

static struct fw_upload *upload;

@interface Upload : NSObject
+ (BOOL)start;
+ (void)stop;
@end

@implementation Upload

+ (BOOL)start
{
    NSArray<NSString *> *caches =
        NSSearchPathForDirectoriesInDomains(NSCachesDirectory, NSUserDomainMask, YES);
    NSString *folder = [caches.firstObject stringByAppendingString:@"/framewalk"];
    struct fw_failure why;
    struct fw_upload_options options = {.size = sizeof options};
    options.folder = folder.fileSystemRepresentation;
    options.url = "https://reports.example.com"; // yours
    options.key = "fwk_...";                     // it can only send; who has the app has it
    // Without this reports wait for Wi-Fi and power. They are a few kilobytes each.
    options.allow = FW_UPLOAD_ON_CELLULAR | FW_UPLOAD_ON_EXPENSIVE;
    if (fw_upload_start(&options, &upload, &why) == FW_OK)
        return YES;
    NSLog(@"reports are not sent: %s", why.message);
    return NO;
}

// What is not sent stays in the folder, for the next start of the app.
+ (void)stop
{
    fw_upload_stop(upload, 1000);
    upload = NULL;
}

@end

int main(void)
{
    @autoreleasepool {
        if (![Upload start])
            return 1;
        [[NSRunLoop mainRunLoop] runUntilDate:[NSDate dateWithTimeIntervalSinceNow:10]];
        struct fw_upload_totals totals = {.size = sizeof totals};
        fw_upload_totals(upload, &totals);
        NSLog(@"%llu sent, %llu wait. %s", totals.sent, totals.waiting, totals.message);
        [Upload stop];
    }
}
