/* Methods of Objective-C (objc_methods.h). */
#include "watch/objc_methods.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#if __has_feature(ptrauth_calls)
#include <ptrauth.h>
#endif

bool objc_method_is(const char *name)
{
    return (name[0] == '-' || name[0] == '+') && name[1] == '[';
}

void objc_find_runtime(struct objc_runtime *r, void *(*lookup)(void *handle, const char *name))
{
    if (r->set_implementation)
        return;
    *(void **)&r->lookup_class = lookup(RTLD_DEFAULT, "objc_lookUpClass");
    *(void **)&r->class_of = lookup(RTLD_DEFAULT, "object_getClass");
    *(void **)&r->superclass = lookup(RTLD_DEFAULT, "class_getSuperclass");
    *(void **)&r->selector = lookup(RTLD_DEFAULT, "sel_registerName");
    *(void **)&r->methods = lookup(RTLD_DEFAULT, "class_copyMethodList");
    *(void **)&r->selector_of = lookup(RTLD_DEFAULT, "method_getName");
    *(void **)&r->implementation = lookup(RTLD_DEFAULT, "method_getImplementation");
    *(void **)&r->set_implementation = lookup(RTLD_DEFAULT, "method_setImplementation");
    if (!r->lookup_class || !r->class_of || !r->superclass || !r->selector || !r->methods ||
        !r->selector_of || !r->implementation)
        r->set_implementation = NULL;
}

/* The class and the selector of "-[Class selector]"; false when the name is not of that form, or
 * longer than any that a compiler takes. */
struct parts {
    char class[256], selector[1024];
};

static bool part(char *to, size_t size, const char *from, const char *end)
{
    const size_t length = (size_t)(end - from);
    if (length == 0 || length >= size)
        return false;
    memcpy(to, from, length);
    to[length] = 0;
    return true;
}

static bool split(const char *name, struct parts *parts)
{
    const char *space = strchr(name, ' ');
    const char *end = space ? strchr(space, ']') : NULL;
    return end && !end[1] && part(parts->class, sizeof parts->class, name + 2, space) &&
           part(parts->selector, sizeof parts->selector, space + 1, end);
}

static void *own_method(const struct objc_runtime *r, void *class, const void *selector)
{
    unsigned count = 0;
    void *found = NULL, **methods = r->methods(class, &count);
    for (unsigned i = 0; i < count && !found; i++)
        if (r->selector_of(methods[i]) == selector)
            found = methods[i];
    free(methods);
    return found;
}

void *objc_find_method(const struct objc_runtime *r, const char *name)
{
    struct parts parts;
    if (!r->set_implementation || !split(name, &parts))
        return NULL;
    void *class = r->lookup_class(parts.class);
    if (class && name[0] == '+')
        class = r->class_of(class);
    if (!class)
        return NULL;
    const void *selector = r->selector(parts.selector);
    void *found = NULL;
    for (; class && !found; class = r->superclass(class))
        found = own_method(r, class, selector);
    return found;
}

uintptr_t objc_implementation(const struct objc_runtime *r, void *method)
{
    return (uintptr_t)r->implementation(method);
}

void objc_set_implementation(const struct objc_runtime *r, void *method, uintptr_t plain)
{
#if __has_feature(ptrauth_calls)
    plain = (uintptr_t)ptrauth_sign_unauthenticated((void *)plain, ptrauth_key_function_pointer, 0);
#endif
    r->set_implementation(method, (void *)plain);
}
