/*
 * A model of what compiled Objective-C calls: messages, and the counting of references, of which
 * nothing is counted and nothing released. Structures are those of <objc/runtime.h>'s ABI for 64
 * bits. Selectors are compared by their text; instance variables stand where the compiler put them,
 * for all classes are compiled against the same declarations.
 */
#include "messages.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct method {
    const char *name, *types;
    void *implementation;
};
struct method_list {
    uint32_t entry_size, count;
    struct method methods[];
};
struct class_data {
    uint32_t flags, start, size, reserved;
    const uint8_t *layout;
    const char *name;
    const struct method_list *methods;
};
struct model_class {
    struct model_class *isa, *superclass;
    void *cache, *vtable;
    uintptr_t data;
};
struct object {
    struct model_class *isa;
};
struct super { /* of a message to super: the class that sends it */
    struct object *receiver;
    struct model_class *class;
};

void *_objc_empty_cache, *_objc_empty_vtable;
void *_NSConcreteGlobalBlock[32], *_NSConcreteStackBlock[32];

static const struct class_data *data_of(const struct model_class *class)
{
    return (const struct class_data *)(class->data & ~(uintptr_t)7);
}

static void *nothing(void) /* what a message to nil gives */
{
    return NULL;
}

static void *find(const struct model_class *class, const char *name)
{
    for (const struct model_class *at = class; at; at = at->superclass) {
        const struct method_list *list = data_of(at)->methods;
        for (uint32_t i = 0; list && i < list->count; i++)
            if (strcmp(list->methods[i].name, name) == 0)
                return list->methods[i].implementation;
    }
    fprintf(stderr, "no method %s in %s\n", name, data_of(class)->name);
    abort();
}

void *model_method(void **arguments)
{
    const struct object *receiver = arguments[0];
    return receiver ? find(receiver->isa, arguments[1]) : (void *)(uintptr_t)nothing;
}

void *model_super_method(void **arguments)
{
    const struct super *super = arguments[0];
    arguments[0] = super->receiver;
    return find(super->class->superclass, arguments[1]);
}

void *model_new(const void *class)
{
    struct object *object = calloc(1, data_of(class)->size);
    object->isa = (struct model_class *)(uintptr_t)class;
    return object;
}

int model_is_kind(const void *object, const void *class)
{
    const struct model_class *at = object ? ((const struct object *)object)->isa : NULL;
    while (at && at != class)
        at = at->superclass;
    return at != NULL;
}

void *objc_alloc(void *class)
{
    return model_new(class);
}

void *objc_opt_class(struct object *object)
{
    return object ? object->isa->isa == object->isa ? object : (void *)object->isa : NULL;
}

signed char objc_opt_isKindOfClass(void *object, void *class)
{
    return (signed char)model_is_kind(object, class);
}

#define SAME(name)                                                                                 \
    void *name(void *object)                                                                       \
    {                                                                                              \
        return object;                                                                             \
    }
SAME(objc_retain)
SAME(objc_autorelease)
SAME(objc_autoreleaseReturnValue)
SAME(objc_retainAutorelease)
SAME(objc_retainAutoreleaseReturnValue)
SAME(objc_retainAutoreleasedReturnValue)
SAME(objc_retainBlock)

void objc_release(void *object)
{
    (void)object;
}

void objc_storeStrong(void **to, void *object)
{
    *to = object;
}

void *objc_getProperty(void *object, const char *name, ptrdiff_t offset, signed char atomic)
{
    (void)name, (void)atomic;
    return *(void **)((char *)object + offset);
}

void objc_setProperty_atomic(void *object, const char *name, void *value, ptrdiff_t offset)
{
    (void)name;
    *(void **)((char *)object + offset) = value;
}

void *objc_autoreleasePoolPush(void)
{
    return NULL;
}

void objc_autoreleasePoolPop(void *pool)
{
    (void)pool;
}

/* --- blocks: <Block.h>'s ABI --- */

struct block {
    void *isa;
    int32_t flags, reserved;
    void *invoke;
    const struct {
        uintptr_t reserved, size;
        void (*copy)(void *to, const void *from);
    } *descriptor;
};
struct by_reference { /* a __block variable */
    void *isa;
    struct by_reference *forwarding;
    int32_t flags;
    uint32_t size;
};
enum { HAS_COPY = 1 << 25, IS_BY_REFERENCE = 8 };

void *model_copy_block(const void *of)
{
    const struct block *block = of;
    void *copy = memcpy(malloc(block->descriptor->size), block, block->descriptor->size);
    if (block->flags & HAS_COPY)
        block->descriptor->copy(copy, block);
    return copy;
}

void _Block_object_assign(void *to, const void *object, int flags)
{
    struct by_reference *variable = (struct by_reference *)(uintptr_t)object;
    if (flags & IS_BY_REFERENCE && variable->forwarding == variable) {
        variable->forwarding = memcpy(malloc(variable->size), variable, variable->size);
        variable->forwarding->forwarding = variable->forwarding;
    }
    *(const void **)to = flags & IS_BY_REFERENCE ? variable->forwarding : object;
}

void _Block_object_dispose(const void *object, int flags)
{
    (void)object, (void)flags;
}

/* What @available becomes: every system is new enough. */
int __isPlatformVersionAtLeast(uint32_t platform, uint32_t major, uint32_t minor, uint32_t patch);
int __isPlatformVersionAtLeast(uint32_t platform, uint32_t major, uint32_t minor, uint32_t patch)
{
    (void)platform, (void)major, (void)minor, (void)patch;
    return 1;
}
uint32_t CFBundleGetVersionNumber(void *bundle);
uint32_t CFBundleGetVersionNumber(void *bundle)
{
    (void)bundle;
    return 0;
}
