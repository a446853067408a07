/* The model's runtime, for the classes of the model of Foundation. */
#ifndef MACHHOST_MODELS_MESSAGES_H
#define MACHHOST_MODELS_MESSAGES_H

#include <stddef.h>

void *model_method(void **arguments);
void *model_super_method(void **arguments);
/* An instance, zeroed. */
void *model_new(const void *class);
int model_is_kind(const void *object, const void *class);

/* As Block_copy(). */
void *model_copy_block(const void *block);
void _Block_object_assign(void *to, const void *object, int flags);
void _Block_object_dispose(const void *object, int flags);

void *objc_alloc(void *class);
void *objc_retain(void *object);
void *objc_autorelease(void *object);
void *objc_autoreleaseReturnValue(void *object);
void *objc_retainAutorelease(void *object);
void *objc_retainAutoreleaseReturnValue(void *object);
void *objc_retainAutoreleasedReturnValue(void *object);
void *objc_retainBlock(void *object);
void objc_release(void *object);
void objc_storeStrong(void **to, void *object);
void *objc_getProperty(void *object, const char *name, ptrdiff_t offset, signed char atomic);
void objc_setProperty_atomic(void *object, const char *name, void *value, ptrdiff_t offset);
void *objc_autoreleasePoolPush(void);
void objc_autoreleasePoolPop(void *pool);

#endif
