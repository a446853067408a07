/* The libraries of modules.cmake: loaded by tests, gone again, others in their place. */
#ifndef TESTS_CAPTURE_MODULES_H
#define TESTS_CAPTURE_MODULES_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>

/* Its function: calls what it is given. */
typedef void (*module_call)(void (*)(void));

static inline void *module_load(const char *path, module_call *call)
{
    void *module = dlopen(path, RTLD_NOW);
    if (!module)
        fail_msg("%s", dlerror());
    module_call (*entry)(void) = (module_call(*)(void))(uintptr_t)dlsym(module, "module_entry");
    assert_non_null(entry);
    *call = entry();
    return module;
}

#endif
