/*
 * A model of the Objective-C runtime, as a dylib of the Mach-O host: classes as clang compiles them
 * (__objc_classlist), their method tables, and the public calls that Framewalk looks up. No
 * messages: a test calls implementations. What class_copyMethodList and its kin answer is as in
 * <objc/runtime.h>.
 */
#ifndef MACHHOST_MODELS_OBJC_H
#define MACHHOST_MODELS_OBJC_H

typedef struct model_class *Class;
typedef struct model_method *Method;
typedef const struct model_selector *SEL;
typedef void (*IMP)(void);

Class objc_lookUpClass(const char *name);
Class object_getClass(void *object);
Class class_getSuperclass(Class class);
SEL sel_registerName(const char *name);
Method *class_copyMethodList(Class class, unsigned *count);
SEL method_getName(Method method);
IMP method_getImplementation(Method method);
IMP method_setImplementation(Method method, IMP implementation);

#endif
