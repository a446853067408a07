/* Names on Apple when the kernel refuses: what can vanish is read through it, the rest is not. */
#include "framewalk/names.h"
#include "machhost/host.h"

#include <dlfcn.h>
#include <mach/mach.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const char *function_at(const struct fw_names *names, const void *address, bool *known)
{
    const struct fw_frame frame = {.address = (uintptr_t)address, .kind = FW_FRAME_EXACT};
    struct fw_name name;
    *known = fw_names_lookup(names, &frame, &name) == FW_OK;
    return *known && name.function ? name.function : "";
}

static void every_read_that_fails(void **state)
{
    (void)state;
    void *plugin = dlopen(PLUGIN, RTLD_NOW);
    assert_non_null(plugin);
    const void *run = dlsym(plugin, "plugin_run");
    unsigned whole = 0, nameless = 0, missing = 0;
    for (unsigned after = 0; after < 40; after++) {
        struct fw_names *names;
        bool known;
        machhost_fail("vm_read_overwrite", after, KERN_INVALID_ADDRESS);
        assert_int_equal(fw_names_create(&names), FW_OK);
        machhost_fail_all("vm_read_overwrite", 0);
        const char *function = function_at(names, run, &known);
        whole += strcmp(function, "plugin_run") == 0;
        nameless += known && !function[0];
        missing += !known;
        assert_true(!function[0] || strcmp(function, "plugin_run") == 0);
        /* What stays is not asked for. */
        assert_string_equal(function_at(names, (const void *)function_at, &known), "function_at");
        /* And what was missing comes with the next refresh. */
        assert_int_equal(fw_names_refresh(names), FW_OK);
        assert_string_equal(function_at(names, run, &known), "plugin_run");
        fw_names_destroy(names);
    }
    print_message("%u whole, %u without names, %u missing\n", whole, nameless, missing);
    assert_true(whole > 0);
    assert_true(nameless > 3); /* part of the tables is none */
    assert_true(missing > 0);
    dlclose(plugin);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_read_that_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
