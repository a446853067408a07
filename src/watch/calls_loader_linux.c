/*
 * dlopen() and its like, called through the watch: new images are looked at before the caller sees
 * them, unloaded ones are forgotten at once, and pointers that dlsym() gives out lead through the
 * watch.
 *
 * The functions are called from here on the caller's behalf. That is only the same where they do
 * not ask who calls (dlopen(3): the caller's namespace, its DT_RUNPATH and DT_RPATH, $ORIGIN in the
 * name; dlsym(3): RTLD_NEXT, RTLD_DEFAULT). Where they do, the thunk goes on to them as for any
 * other function, and what they did is seen with the next call of one of them, with
 * fw_calls_refresh, or with the next report that a watch writes by itself.
 *
 * The watch's lock is not held while they work: constructors run in them.
 */
#include "watch/calls_internal.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "watch/got_images.h"
#include "watch/got_names.h"

/* What dlopen() would ask of caller and ourselves. */
struct asks {
    uintptr_t caller;
    bool same;       /* both are in one namespace, and search by the same paths */
    bool same_space; /* in one namespace */
};

static void compare(void *context, const struct got_images *images)
{
    struct asks *asks = context;
    const struct got_image *caller = got_image_of_code(images, asks->caller);
    const struct got_image *self = got_image_of_code(images, images->self);
    bool paths = false;
    if (!caller || !self)
        return;
    asks->same_space = caller->space == self->space;
    for (size_t i = 0; i < images->count; i++)
        if (images->image[i].space == caller->space && i != 0)
            paths |= images->image[i].has_rpath;
    asks->same = asks->same_space &&
                 (caller == self || (!paths && !caller->has_runpath && !self->has_runpath));
}

/* glibc's lock, under which they are visited, guards what is kept from one visit to the next; other
 * loaders give callbacks none. */
static void visit(void (*work)(void *context, const struct got_images *images), void *context)
{
#if defined(__GLIBC__)
    static struct got_images kept;
    got_images_visit(&kept, work, context);
#else
    struct got_images images = {0};
    got_images_visit(&images, work, context);
    got_images_free(&images);
#endif
}

static struct asks asks_of(uintptr_t return_address)
{
    struct asks asks = {.caller = return_address - 1};
    visit(compare, &asks);
    return asks;
}

/* Whether opening `file` is the same for us as for the caller. */
static bool opens_the_same(const char *file, uintptr_t return_address, bool asks_space)
{
    const struct asks asks = asks_of(return_address);
    if (asks_space && !asks.same_space)
        return false;
    if (!file || !*file)
        return true;
    return strchr(file, '$') ? false : strchr(file, '/') ? true : asks.same;
}

/* The name's number, when dlsym() shall give out a pointer through the watch. */
static bool is_watched(const char *symbol, const char *version, uint32_t *number)
{
    bool found = false;
    calls_lock();
    const struct fw_calls *calls = atomic_load(&calls_current);
    for (uint32_t i = 0; calls && symbol && i < calls->watched && !found; i++) {
        const size_t length = strlen(symbol);
        const char *text = calls->text[i];
        if (strncmp(text, symbol, length) != 0 || (text[length] && text[length] != '@'))
            continue;
        const char *wanted = text[length] ? text + length + 1 + (text[length + 1] == '@') : NULL;
        found = !wanted || (version && strcmp(wanted, version) == 0);
        *number = i;
    }
    calls_unlock();
    return found;
}

struct answer {
    uintptr_t value;
    bool is_function;
};

static void check(void *context, const struct got_images *images)
{
    struct answer *answer = context;
    const struct got_image *image = got_image_of_code(images, answer->value);
    answer->is_function = image != NULL;
}

/* The pointer to give out for what dlsym() found. */
static uintptr_t led_through(uint32_t number, uintptr_t value)
{
    struct answer answer = {.value = value};
    visit(check, &answer);
    if (!answer.is_function)
        return value;
    calls_lock();
    struct fw_calls *calls = atomic_load(&calls_current);
    uintptr_t thunk = 0;
    if (calls && number < calls->watched && !calls_led(calls, value))
        thunk = calls_lead(calls, number, value);
    calls_unlock();
    return thunk ? thunk : value;
}

static bool open_it(const struct calls_saved *saved, uintptr_t target, void **handle)
{
    void *(*function)(const char *, int) = (void *(*)(const char *, int))target;
    const char *file = (const char *)calls_argument(saved, 0);
    if (!opens_the_same(file, saved->return_address, true))
        return false;
    *handle = function(file, (int)calls_argument(saved, 1));
    return true;
}

#if defined(__GLIBC__)
static bool open_in_space(const struct calls_saved *saved, uintptr_t target, void **handle)
{
    void *(*function)(Lmid_t, const char *, int) = (void *(*)(Lmid_t, const char *, int))target;
    const char *file = (const char *)calls_argument(saved, 1);
    if (!opens_the_same(file, saved->return_address, false))
        return false;
    *handle = function((Lmid_t)calls_argument(saved, 0), file, (int)calls_argument(saved, 2));
    return true;
}

#endif

static bool find_symbol(const struct calls_saved *saved, uintptr_t target, bool versioned,
                        void **result)
{
    void *handle = (void *)calls_argument(saved, 0);
    const char *symbol = (const char *)calls_argument(saved, 1);
    const char *version = versioned ? (const char *)calls_argument(saved, 2) : NULL;
    uint32_t number = 0;
    if (handle == RTLD_NEXT || !is_watched(symbol, version, &number) ||
        (handle == RTLD_DEFAULT && !asks_of(saved->return_address).same_space))
        return false;
    if (versioned)
        *result = ((void *(*)(void *, const char *, const char *))target)(handle, symbol, version);
    else
        *result = ((void *(*)(void *, const char *))target)(handle, symbol);
    if (!*result)
        return handle != RTLD_DEFAULT; /* the caller may see more than we do */
    *result = (void *)led_through(number, (uintptr_t)*result);
    return true;
}

uintptr_t calls_loader_call(enum calls_loader what, struct calls_saved *saved, uintptr_t target)
{
    void *result = NULL;
    bool done = false;
    switch (what) {
    case CALLS_DLOPEN: done = open_it(saved, target, &result); break;
#if defined(__GLIBC__) /* nobody else has namespaces */
    case CALLS_DLMOPEN: done = open_in_space(saved, target, &result); break;
#endif
    case CALLS_DLSYM: done = find_symbol(saved, target, false, &result); break;
    case CALLS_DLVSYM: done = find_symbol(saved, target, true, &result); break;
    case CALLS_DLCLOSE:
        result = (void *)(intptr_t)((int (*)(void *))target)((void *)calls_argument(saved, 0));
        done = true;
        break;
    default: break;
    }
    const int error = errno; /* as the function left it */
    if (what == CALLS_DLCLOSE)
        calls_images_gone();
    else if (what == CALLS_DLOPEN || what == CALLS_DLMOPEN || !done)
        calls_images_changed();
    errno = error;
    if (!done)
        return target;
    calls_return(saved, (uintptr_t)result);
    return (uintptr_t)calls_thunk_return;
}
