/*
 * Methods of Objective-C led away and back (src/watch/objc_methods_darwin.c, and what
 * bound_pointers_darwin.c does with it): classes compiled by clang, in a model of the runtime.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "machhost/models/objc.h"
#include "watch/objc_methods.h"
#include "watch/pointers.h"

enum { CLASS_METHOD, INHERITED, OVERRIDDEN, ABSENT, NO_CLASS, MALFORMED, NAMES };
static const char *const names[NAMES] = {
    "+[Base shared:]",     "-[Derived inherited:]", "-[Derived overridden:with:]",
    "-[Derived missing:]", "-[Nobody at:all:]",     "-[Derived",
};

static struct {
    uintptr_t target;
    unsigned calls;
} led_by[NAMES];

static int go_on(uint32_t name, void *self, SEL selector, int a, int b)
{
    led_by[name].calls++;
    return ((int (*)(void *, SEL, int, int))led_by[name].target)(self, selector, a, b);
}

static int spy_0(void *self, SEL selector, int a, int b)
{
    return go_on(CLASS_METHOD, self, selector, a, b);
}
static int spy_1(void *self, SEL selector, int a, int b)
{
    return go_on(INHERITED, self, selector, a, b);
}
static int spy_2(void *self, SEL selector, int a, int b)
{
    return go_on(OVERRIDDEN, self, selector, a, b);
}
/* Not in a segment of data, where they would be led back. */
static int (*spies[3])(void *, SEL, int, int)
    __attribute__((section("__OTHER,__spies"))) = {spy_0, spy_1, spy_2};

static uintptr_t lead(void *context, uint32_t name, uintptr_t target)
{
    (void)context;
    assert_true(name < 3);
    led_by[name].target = target;
    return (uintptr_t)spies[name];
}

static uintptr_t led(void *context, uintptr_t pointer)
{
    (void)context;
    for (uint32_t i = 0; i < 3; i++)
        if ((uintptr_t)spies[i] == pointer)
            return led_by[i].target;
    return 0;
}

static const struct pointers_owner owner = {names, NAMES, lead, led, NULL};

static void *symbol(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (!found)
        fail_msg("%s", name);
    return found;
}

/* What a message would do. */
static int send(const char *class_name, bool to_class, const char *name, int a, int b)
{
    Class (*lookup)(const char *) = (Class(*)(const char *))symbol("objc_lookUpClass");
    Class (*class_of)(void *) = (Class(*)(void *))symbol("object_getClass");
    Class (*superclass)(Class) = (Class(*)(Class))symbol("class_getSuperclass");
    SEL (*selector)(const char *) = (SEL(*)(const char *))symbol("sel_registerName");
    Method *(*list)(Class, unsigned *) =
        (Method * (*)(Class, unsigned *)) symbol("class_copyMethodList");
    SEL (*name_of)(Method) = (SEL(*)(Method))symbol("method_getName");
    IMP (*implementation)(Method) = (IMP(*)(Method))symbol("method_getImplementation");
    const SEL wanted = selector(name);
    void *object = NULL;
    for (Class class = to_class ? class_of(lookup(class_name)) : lookup(class_name); class;
         class = superclass(class)) {
        unsigned count;
        Method *methods = list(class, &count);
        for (unsigned i = 0; i < count; i++)
            if (name_of(methods[i]) == wanted)
                return ((int (*)(void *, SEL, int, int))implementation(methods[i]))(object, wanted,
                                                                                    a, b);
    }
    fail_msg("no method %s", name);
    return 0;
}

static void expect(unsigned each)
{
    memset(&led_by[0].calls, 0, sizeof led_by[0].calls);
    led_by[INHERITED].calls = led_by[OVERRIDDEN].calls = 0;
    assert_int_equal(send("Base", true, "shared:", 1, 0), 1001);
    assert_int_equal(led_by[CLASS_METHOD].calls, each);
    assert_int_equal(send("Derived", true, "shared:", 2, 0), 1002);
    assert_int_equal(led_by[CLASS_METHOD].calls, 2 * each);
    assert_int_equal(send("Derived", false, "inherited:", 7, 0), 8);
    assert_int_equal(led_by[INHERITED].calls, each);
    assert_int_equal(send("Derived", false, "overridden:with:", 6, 7), 42);
    assert_int_equal(led_by[OVERRIDDEN].calls, each);
    assert_int_equal(send("Base", false, "overridden:with:", 6, 7), 13); /* another method */
    assert_int_equal(led_by[OVERRIDDEN].calls, each);
}

static void names_of_methods(void **state)
{
    (void)state;
    assert_true(objc_method_is("-[A b]"));
    assert_true(objc_method_is("+[A b:c:]"));
    assert_false(objc_method_is("open"));
    assert_false(objc_method_is(""));
    assert_false(objc_method_is("-"));
    assert_false(objc_method_is("-A"));
}

/* Without a runtime, then with one, then with the classes. */
static void found_when_they_come(void **state)
{
    (void)state;
    struct pointers_count count;
    struct pointers *pointers = pointers_create(&owner);
    assert_non_null(pointers);
    pointers_refresh(pointers);
    pointers_count(pointers, CLASS_METHOD, &count);
    assert_false(count.found);
    assert_non_null(dlopen(RUNTIME, RTLD_NOW | RTLD_GLOBAL));
    pointers_refresh(pointers);
    pointers_count(pointers, CLASS_METHOD, &count);
    assert_false(count.found);
    assert_non_null(dlopen(CLASSES, RTLD_NOW));
    expect(0);
    pointers_refresh(pointers);
    for (uint32_t i = 0; i < NAMES; i++) {
        pointers_count(pointers, i, &count);
        assert_int_equal(count.found, i < ABSENT);
        assert_int_equal(count.pointers, i < ABSENT);
        assert_false(count.refused);
    }
    expect(1);
    pointers_refresh(pointers);
    expect(1);
    pointers_restore(pointers);
    expect(0);
    pointers_count(pointers, CLASS_METHOD, &count);
    assert_int_equal(count.pointers, 0);
    pointers_destroy(pointers);
}

static int foreign(void *self, SEL selector, int a, int b)
{
    (void)self, (void)selector, (void)b;
    return a - 1;
}

static Method method(const char *class_name, const char *name)
{
    struct objc_runtime runtime = {0};
    char text[64] = "-[";
    objc_find_runtime(&runtime, dlsym);
    strlcat(text, class_name, sizeof text);
    strlcat(text, " ", sizeof text);
    strlcat(text, name, sizeof text);
    strlcat(text, "]", sizeof text);
    return objc_find_method(&runtime, text);
}

/* Somebody swizzles while it is watched: that stays. */
static void others_swizzle(void **state)
{
    (void)state;
    IMP (*set)(Method, IMP) = (IMP(*)(Method, IMP))symbol("method_setImplementation");
    struct pointers *pointers = pointers_create(&owner);
    pointers_refresh(pointers);
    const IMP before = set(method("Derived", "inherited:"), (IMP)foreign);
    pointers_restore(pointers);
    assert_int_equal(send("Derived", false, "inherited:", 7, 0), 6);
    pointers_destroy(pointers);
    set(method("Derived", "inherited:"), (IMP)led(NULL, (uintptr_t)before));
    expect(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_methods),
        cmocka_unit_test(found_when_they_come),
        cmocka_unit_test(others_swizzle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
