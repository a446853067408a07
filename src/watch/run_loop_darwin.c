/*
 * fw_hang_watch_run_loop(): the main run loop of an Apple program as a watched loop.
 *
 * CoreFoundation is not linked: its functions are looked up when it is there, as are the public
 * names of its modes. <CoreFoundation/CFRunLoop.h>.
 *
 * Marks. One run of the loop notifies its observers
 *
 *     Entry, then as often as it turns: BeforeTimers, BeforeSources, [BeforeWaiting, AfterWaiting];
 *     then Exit
 *
 * - AfterWaiting and BeforeSources begin a turn: events that came in meanwhile are served behind
 *   either. (A loop that finds work each time never waits: without BeforeSources a long series of
 *   short turns would look like one long one.)
 * - BeforeWaiting ends it.
 * - Entry and Exit begin one, too. Behind Exit of a nested run (a modal panel, a tracked drag) its
 *   caller goes on, and AppKit serves every event between two runs of the main run loop, outside of
 *   both. A program that leaves its run loop for good says fw_hang_idle() or unwatches.
 *
 * Those that begin come first of all observers of their activity, the one that ends comes last:
 * what other observers do (Core Animation commits in BeforeWaiting) belongs to the turn.
 *
 * The loop's own wait. Where a run in a private mode has no observer of ours, marks are missed. So
 * its wait is recognised on the stack: the kernel's library innermost, then one or two frames of
 * CoreFoundation, then the place to which CoreFoundation's own turning function returns. That place
 * is learned from the stacks of our observers, which the same function calls: no private name is
 * needed. A callout of the loop has more of CoreFoundation's frames in between.
 */
#include "framewalk/hang.h"

#include "framewalk/capture.h"
#include "os/darwin/image_list.h"
#include "os/darwin/nap.h"
#include "watch/background_darwin.h"
#include "watch/hang_marks.h"
#include "watch/hang_sites.h"

#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#if __has_feature(ptrauth_calls)
#include <ptrauth.h>
#endif

enum { /* CFRunLoopActivity */
       ENTRY = 1 << 0,
       BEFORE_SOURCES = 1 << 2,
       BEFORE_WAITING = 1 << 5,
       AFTER_WAITING = 1 << 6,
       EXIT = 1 << 7,
       ASCII = 0x0600, /* kCFStringEncodingASCII */
       ENDED_NAP_NS = 20000,
};

typedef const void *cf_ref;
typedef void observer_function(cf_ref observer, unsigned long activity, void *info);
struct observer_context { /* CFRunLoopObserverContext */
    long version;
    void *info;
    const void *(*retain)(const void *info);
    void (*release)(const void *info);
    cf_ref (*describe)(const void *info);
};

struct core_foundation {
    cf_ref (*main)(void);
    cf_ref (*create)(cf_ref allocator, unsigned long activities, unsigned char repeats, long order,
                     observer_function *function, struct observer_context *context);
    void (*add)(cf_ref loop, cf_ref observer, cf_ref mode);
    void (*release)(cf_ref object);
    cf_ref (*string)(cf_ref allocator, const char *text, uint32_t encoding);
    const cf_ref *common_modes;
};

static bool find_core_foundation(struct core_foundation *cf)
{
    *(void **)&cf->main = dlsym(RTLD_DEFAULT, "CFRunLoopGetMain");
    *(void **)&cf->create = dlsym(RTLD_DEFAULT, "CFRunLoopObserverCreate");
    *(void **)&cf->add = dlsym(RTLD_DEFAULT, "CFRunLoopAddObserver");
    *(void **)&cf->release = dlsym(RTLD_DEFAULT, "CFRelease");
    *(void **)&cf->string = dlsym(RTLD_DEFAULT, "CFStringCreateWithCString");
    cf->common_modes = dlsym(RTLD_DEFAULT, "kCFRunLoopCommonModes");
    return cf->main && cf->create && cf->add && cf->release && cf->string && cf->common_modes &&
           *cf->common_modes;
}

/* Where CoreFoundation's turning function returns to, and the images that a wait runs through. */
enum { RETURNS = 4, LOOKS = 32 };
static struct {
    uint64_t kernel, foundation; /* headers */
    _Atomic uint64_t returns[RETURNS];
    unsigned looks; /* the main thread's */
} idle_wait;

static uint64_t strip_code(const void *code)
{
#if __has_feature(ptrauth_calls)
    code = ptrauth_strip(code, ptrauth_key_function_pointer);
#endif
    return (uintptr_t)code;
}

/* The header of the image that has the code; 0 when there is none. */
static uint64_t image_at(uint64_t address)
{
    struct found_image image;
    char path[1];
    return image_list_find(address, &image, path, sizeof path) ? image.base : 0;
}

static void learn(uint64_t address)
{
    for (unsigned i = 0; i < RETURNS; i++) {
        const uint64_t known = atomic_load_explicit(&idle_wait.returns[i], memory_order_relaxed);
        if (known == address)
            return;
        if (!known) {
            atomic_store_explicit(&idle_wait.returns[i], address, memory_order_relaxed);
            return;
        }
    }
}

/* Called by an observer: its stack is the observer, the callout, the function that calls all
 * observers, the one that turns the loop, and the one that called that. Of the observer there are
 * as many frames as the compiler made: the callout is the first one of CoreFoundation. */
static void look_at_stack(void)
{
    enum { OWN_MOST = 3, CALLER = 3, FRAMES = OWN_MOST + CALLER + 1 };
    struct fw_frame frames[FRAMES];
    struct fw_stack stack = {.frames = frames, .capacity = FRAMES};
    idle_wait.looks++;
    const uint32_t count = fw_capture(&stack, 0);
    uint32_t callout = 0;
    while (callout < count && image_at(frames[callout].address) != idle_wait.foundation)
        callout++;
    if (callout + CALLER >= count)
        return;
    for (uint32_t i = callout; i <= callout + CALLER; i++)
        if (image_at(frames[i].address) != idle_wait.foundation)
            return;
    learn(frames[callout + CALLER].address);
}

static bool run_loop_waits(const struct fw_stack *stack)
{
    enum { KERNEL_MOST = 6, FOUNDATION_MOST = 2 };
    uint32_t at = 0, kernel, foundation;
    while (at < stack->head && at < KERNEL_MOST &&
           image_at(stack->frames[at].address) == idle_wait.kernel)
        at++;
    kernel = at;
    for (foundation = 0; foundation <= FOUNDATION_MOST && at < stack->head; foundation++, at++) {
        const uint64_t address = stack->frames[at].address;
        for (unsigned i = 0; i < RETURNS && kernel && foundation; i++)
            if (address == atomic_load_explicit(&idle_wait.returns[i], memory_order_relaxed))
                return true;
        if (image_at(address) != idle_wait.foundation)
            return false;
    }
    return false;
}

/* The one watch of the main run loop. Observers stay in it for ever once they are there: without a
 * watch they do nothing. */
static struct {
    _Atomic(struct fw_hang_watch *) watch; /* NULL: none */
    atomic_bool marking;                   /* the main thread is about to use it */
    bool observed;
} loop;

static void mark(void (*how)(struct fw_hang_watch *watch))
{
    /* Either whoever ends the watch sees this, or we see that it ended: both are sequentially
     * consistent. */
    atomic_store(&loop.marking, true);
    how(atomic_load(&loop.watch));
    atomic_store_explicit(&loop.marking, false, memory_order_release);
}

static void ended(void)
{
    atomic_store(&loop.watch, NULL);
    while (atomic_load(&loop.marking) && !pthread_main_np())
        nap_ns(ENDED_NAP_NS);
}

static void begins(cf_ref observer, unsigned long activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    mark(fw_hang_busy);
}

static void ends(cf_ref observer, unsigned long activity, void *info)
{
    (void)observer, (void)activity, (void)info;
    if (idle_wait.looks < LOOKS)
        look_at_stack();
    mark(fw_hang_idle);
}

static void hide(struct fw_hang_watch *watch)
{
    if (watch)
        fw_hang_set_background(watch->monitor, true);
}

static void show(struct fw_hang_watch *watch)
{
    if (watch)
        fw_hang_set_background(watch->monitor, false);
}

/* Behind other programs, or back: told on the main thread. A monitor that begins while the program
 * is hidden learns it, too. */
static bool is_hidden;

static void seen_by_nobody(bool hidden)
{
    is_hidden = hidden;
    mark(hidden ? hide : show);
}

static bool observe(const struct core_foundation *cf)
{
    struct observer_context context = {0, NULL, NULL, NULL, NULL};
    const cf_ref main_loop = cf->main();
    const cf_ref starting = cf->string(NULL, "UIInitializationRunLoopMode", ASCII);
    const cf_ref first = cf->create(NULL, ENTRY | BEFORE_SOURCES | AFTER_WAITING | EXIT, true,
                                    LONG_MIN, begins, &context);
    const cf_ref last = cf->create(NULL, BEFORE_WAITING, true, LONG_MAX, ends, &context);
    const cf_ref modes[] = {*cf->common_modes, starting}, observers[] = {first, last};
    const bool good = main_loop && starting && first && last;
    for (unsigned i = 0; good && i < 4; i++)
        cf->add(main_loop, observers[i & 1], modes[i >> 1]);
    if (starting)
        cf->release(starting);
    if (first)
        cf->release(first); /* the loop keeps it */
    if (last)
        cf->release(last);
    return good;
}

/* What a wait runs through: the image that has the kernel's traps, and CoreFoundation. */
static void find_images(const struct core_foundation *cf)
{
    const void *trap = dlsym(RTLD_DEFAULT, "mach_msg");
    idle_wait.kernel = image_at(strip_code(trap));
    idle_wait.foundation = image_at(strip_code((const void *)(uintptr_t)cf->main));
    if (idle_wait.kernel && idle_wait.foundation)
        hang_sites_add_pattern(run_loop_waits);
}

fw_error fw_hang_watch_run_loop(struct fw_hang_monitor *monitor, struct fw_hang_watch **watch)
{
    struct core_foundation cf;
    if (!monitor || !watch || !pthread_main_np())
        return FW_ERR_ARGUMENT;
    *watch = NULL;
    if (!find_core_foundation(&cf))
        return FW_ERR_UNSUPPORTED;
    if (atomic_load(&loop.watch))
        return FW_ERR_FULL;
    if (!loop.observed) {
        find_images(&cf);
        loop.observed = observe(&cf);
        if (!loop.observed)
            return FW_ERR_MEMORY;
        background_observe(seen_by_nobody);
    }
    const fw_error error = fw_hang_watch_thread(monitor, fw_thread_main(), "main", watch);
    if (error != FW_OK)
        return error;
    (*watch)->ended = ended;
    if (is_hidden)
        fw_hang_set_background(monitor, true);
    atomic_store(&loop.watch, *watch);
    fw_hang_busy(*watch);
    return FW_OK;
}
