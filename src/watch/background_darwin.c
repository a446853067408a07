/*
 * background_darwin.h over CoreFoundation's centre of local notifications, which is the
 * NSNotificationCenter that the frameworks post to. <CoreFoundation/CFNotificationCenter.h>.
 *
 * A program may have several of the frameworks (Mac Catalyst has UIKit and AppKit): it is hidden as
 * long as one says so.
 */
#include "watch/background_darwin.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

typedef const void *cf_ref;
typedef void notified(cf_ref center, void *observer, cf_ref name, const void *object, cf_ref info);

static const struct source {
    const char *hides, *shows; /* symbols, which are strings of CoreFoundation */
} sources[] = {
    {"UIApplicationDidEnterBackgroundNotification", "UIApplicationWillEnterForegroundNotification"},
    {"NSApplicationDidHideNotification", "NSApplicationDidUnhideNotification"},
    {"WKApplicationDidEnterBackgroundNotification", "WKApplicationWillEnterForegroundNotification"},
    {"NSExtensionHostDidEnterBackgroundNotification",
     "NSExtensionHostWillEnterForegroundNotification"},
};
enum { SOURCES = sizeof sources / sizeof *sources, DELIVER_AT_ONCE = 4 };

static struct {
    void (*changed)(bool hidden);
    uint32_t hidden; /* a bit for each source */
} observed;

static void change(const void *source, bool hidden)
{
    const uint32_t bit = 1u << ((const struct source *)source - sources);
    const bool before = observed.hidden != 0;
    observed.hidden = hidden ? observed.hidden | bit : observed.hidden & ~bit;
    if ((observed.hidden != 0) != before)
        observed.changed(!before);
}

static void hides(cf_ref center, void *observer, cf_ref name, const void *object, cf_ref info)
{
    (void)center, (void)name, (void)object, (void)info;
    change(observer, true);
}

static void shows(cf_ref center, void *observer, cf_ref name, const void *object, cf_ref info)
{
    (void)center, (void)name, (void)object, (void)info;
    change(observer, false);
}

bool background_observe(void (*changed)(bool hidden))
{
    cf_ref (*center)(void);
    void (*add)(cf_ref center, const void *observer, notified *function, cf_ref name,
                const void *object, long suspension);
    *(void **)&center = dlsym(RTLD_DEFAULT, "CFNotificationCenterGetLocalCenter");
    *(void **)&add = dlsym(RTLD_DEFAULT, "CFNotificationCenterAddObserver");
    if (observed.changed || !center || !add)
        return false;
    observed.changed = changed;
    bool any = false;
    for (const struct source *source = sources; source < sources + SOURCES; source++) {
        const cf_ref *hide = dlsym(RTLD_DEFAULT, source->hides);
        const cf_ref *show = dlsym(RTLD_DEFAULT, source->shows);
        if (!hide || !show || !*hide || !*show) /* this framework is not there */
            continue;
        add(center(), source, hides, *hide, NULL, DELIVER_AT_ONCE);
        add(center(), source, shows, *show, NULL, DELIVER_AT_ONCE);
        any = true;
    }
    return any;
}
