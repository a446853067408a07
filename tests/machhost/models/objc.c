/* The model of the Objective-C runtime (objc.h). Its structures are those of <objc/runtime.h>'s ABI
 * for 64 bits, as compilers write them. */
#include "objc.h"

#include <mach-o/dyld.h>
#include <mach-o/getsect.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct model_selector {
    char name[1];
};

struct model_method {
    SEL name;
    const char *types;
    IMP implementation;
};

struct method_list {
    uint32_t entry_size; /* flags in its low bits and its high half */
    uint32_t count;
    struct model_method methods[];
};

struct class_data {
    uint32_t flags, start, size, reserved;
    const uint8_t *layout;
    const char *name;
    struct method_list *methods;
};

struct model_class {
    Class isa, superclass;
    void *cache, *vtable;
    uintptr_t data; /* flags in its low bits */
};

enum { CLASSES = 64, SELECTORS = 256 };
static Class classes[CLASSES];
static unsigned class_count;
static const char *selectors[SELECTORS];
static unsigned selector_count;

/* What compiled classes refer to. */
void *_objc_empty_cache;
void *_objc_empty_vtable;

static struct class_data *data_of(Class class)
{
    return (struct class_data *)(class->data & ~(uintptr_t)7);
}

SEL sel_registerName(const char *name)
{
    for (unsigned i = 0; i < selector_count; i++)
        if (strcmp(selectors[i], name) == 0)
            return (SEL)(const void *)selectors[i];
    if (selector_count == SELECTORS)
        abort();
    return (SEL)(const void *)(selectors[selector_count++] = strdup(name));
}

/* Selectors are compared by address: those of the lists become the registered ones. */
static void register_names(Class class)
{
    struct method_list *list = data_of(class)->methods;
    for (uint32_t i = 0; list && i < list->count; i++)
        list->methods[i].name = sel_registerName(list->methods[i].name->name);
}

static void image_added(const struct mach_header *header, intptr_t slide)
{
    unsigned long size = 0;
    (void)slide;
    Class *list = NULL;
    static const char *const segments[] = {"__DATA_CONST", "__DATA"};
    for (unsigned i = 0; i < 2 && !list; i++)
        list = (Class *)(void *)getsectiondata((const void *)header, segments[i],
                                               "__objc_classlist", &size);
    for (unsigned i = 0; list && i < size / sizeof *list && class_count < CLASSES; i++) {
        classes[class_count++] = list[i];
        register_names(list[i]);
        register_names(list[i]->isa);
    }
}

__attribute__((constructor)) static void start(void)
{
    _dyld_register_func_for_add_image(image_added);
}

Class objc_lookUpClass(const char *name)
{
    for (unsigned i = 0; i < class_count; i++)
        if (strcmp(data_of(classes[i])->name, name) == 0)
            return classes[i];
    return NULL;
}

Class object_getClass(void *object)
{
    return *(Class *)object;
}

Class class_getSuperclass(Class class)
{
    return class->superclass;
}

Method *class_copyMethodList(Class class, unsigned *count)
{
    struct method_list *list = data_of(class)->methods;
    *count = list ? list->count : 0;
    Method *copy = *count ? calloc(*count + 1u, sizeof *copy) : NULL;
    for (unsigned i = 0; copy && i < *count; i++)
        copy[i] = &list->methods[i];
    return copy;
}

SEL method_getName(Method method)
{
    return method->name;
}

IMP method_getImplementation(Method method)
{
    return method->implementation;
}

IMP method_setImplementation(Method method, IMP implementation)
{
    const IMP before = method->implementation;
    method->implementation = implementation;
    return before;
}
