/*
 * Implementations of Objective-C methods, by name. The runtime is not linked: its functions are
 * looked up when it is there (<objc/runtime.h>).
 */
#ifndef WATCH_OBJC_METHODS_H
#define WATCH_OBJC_METHODS_H

#include <stdbool.h>
#include <stdint.h>

struct objc_runtime { /* NULL: the program has none */
    void *(*lookup_class)(const char *name);
    void *(*class_of)(void *object);
    void *(*superclass)(void *class);
    const void *(*selector)(const char *name);
    void **(*methods)(void *class, unsigned *count);
    const void *(*selector_of)(void *method);
    void *(*implementation)(void *method);
    void *(*set_implementation)(void *method, void *implementation);
};

/* Whether a name means a method: "-[Class selector]", "+[Class selector]". Categories are not part
 * of it. */
bool objc_method_is(const char *name);

/* Finds the runtime, unless it is known already. */
void objc_find_runtime(struct objc_runtime *runtime,
                       void *(*lookup)(void *handle, const char *name));

/* The method in the class that defines it: the one named, or the nearest of those that it inherits
 * from. NULL: none yet. Runs no code of classes: none is initialised or asked to resolve anything.
 * It stays for as long as the program runs, as images with classes do. */
void *objc_find_method(const struct objc_runtime *runtime, const char *name);

/* Of a method; as the runtime hands it out and wants it, on arm64e: the first signed, the second
 * plain. */
uintptr_t objc_implementation(const struct objc_runtime *runtime, void *method);
void objc_set_implementation(const struct objc_runtime *runtime, void *method, uintptr_t plain);

#endif
