/*
 * dlopen() and its like on Apple platforms, called through the watch: pointers that dlsym() gives
 * out lead through the watch, classes of new images are looked for, unloaded images are forgotten.
 * (Pointers of new images are dyld's to tell of: bound_pointers_darwin.c.)
 *
 * The functions are called from here on the caller's behalf. That is only the same where they do
 * not ask who calls (dlopen(3): @rpath, @loader_path and names without a folder; dlsym(3):
 * RTLD_NEXT and RTLD_SELF). Where they do, the thunk goes on to them as for any other function.
 *
 * No lock is held while they work: constructors run in them. And these may call them, while dyld's
 * lock is theirs, which who looks functions up under the watch's lock waits for: so that one is
 * never waited for here.
 */
#include "watch/calls_internal.h"

#include <dlfcn.h>
#include <string.h>

#include "os/darwin/image_list.h"

#if __has_feature(ptrauth_calls)
#include <ptrauth.h>
#define FUNCTION_AT(type, plain)                                                                   \
    ((type)ptrauth_sign_unauthenticated((void *)(plain), ptrauth_key_function_pointer, 0))
#define PLAIN(pointer) ((uintptr_t)ptrauth_strip((pointer), ptrauth_key_function_pointer))
#else
#define FUNCTION_AT(type, plain) ((type)(plain))
#define PLAIN(pointer)           ((uintptr_t)(pointer))
#endif

/* The pointer to give out for what dlsym() found. */
static void *led_through(const char *symbol, void *found)
{
    struct found_image image;
    char path[1];
    const uintptr_t target = PLAIN(found);
    uintptr_t thunk = 0;
    if (!image_list_find(target, &image, path, sizeof path)) /* no code */
        return found;
    if (!calls_lock_try())
        return found;
    struct fw_calls *calls = atomic_load(&calls_current);
    image_list_hold(); /* what gives thunks away to dyld's images */
    for (uint32_t i = 0; calls && i < calls->names && !thunk; i++)
        if (strcmp(calls->text[i], symbol) == 0 && !calls_led(calls, target))
            thunk = calls_lead(calls, i, target);
    image_list_let_go();
    calls_unlock();
    return thunk ? FUNCTION_AT(void *, thunk) : found;
}

static bool find_symbol(const struct calls_saved *saved, uintptr_t target, void **result)
{
    void *handle = (void *)calls_argument(saved, 0);
    const char *symbol = (const char *)calls_argument(saved, 1);
    if (handle == RTLD_NEXT || handle == RTLD_SELF || !symbol)
        return false;
    *result = FUNCTION_AT(void *(*)(void *, const char *), target)(handle, symbol);
    if (*result)
        *result = led_through(symbol, *result);
    return true;
}

static bool open_it(const struct calls_saved *saved, uintptr_t target, void **handle)
{
    const char *path = (const char *)calls_argument(saved, 0);
    if (!path || path[0] != '/')
        return false;
    *handle =
        FUNCTION_AT(void *(*)(const char *, int), target)(path, (int)calls_argument(saved, 1));
    if (*handle)
        calls_images_later(false);
    return true;
}

uintptr_t calls_loader_call(enum calls_loader what, struct calls_saved *saved, uintptr_t target)
{
    void *result = NULL;
    bool done = false;
    if (what == CALLS_DLOPEN) {
        done = open_it(saved, target, &result);
    } else if (what == CALLS_DLSYM) {
        done = find_symbol(saved, target, &result);
    } else if (what == CALLS_DLCLOSE) {
        const int status = FUNCTION_AT(int (*)(void *), target)((void *)calls_argument(saved, 0));
        result = (void *)(intptr_t)status;
        calls_images_later(true);
        done = true;
    }
    if (!done)
        return target;
    calls_return(saved, (uintptr_t)result);
    return (uintptr_t)calls_thunk_return;
}
