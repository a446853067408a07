/* Memory that runs out anywhere between fw_symbolicator_create and fw_symbols_free: an error or the
 * whole answer, and nothing is lost. */
#include "symbolicate/programs.h"

#include "support/alloc_fail.h"

#include <unistd.h>

struct attempt {
    struct fw_symbolicator_options options;
    struct fw_address addresses[MANY];
    size_t count; /* 0: as a stack */
    struct fw_stack_address stack[8];
    size_t stack_count;
    struct fw_symbols *expected; /* NULL: this one is to be kept as what is right */
    const char *cache;           /* NULL: none; emptied before each attempt */
};

static fw_error check(fw_error error, const struct fw_failure *why)
{
    if (error != FW_OK) {
        assert_int_equal(error, FW_ERR_MEMORY);
        assert_int_equal(why->code, FW_ERR_MEMORY);
        assert_true(why->message[0] != '\0');
    }
    return error;
}

static fw_error answer(struct attempt *a, struct fw_source *source)
{
    struct fw_symbols *symbols;
    struct fw_failure why = {0};
    fw_error error;
    if (a->count) {
        error = fw_symbolicate(source, a->addresses, a->count, &symbols, &why);
    } else {
        for (size_t i = 0; i < a->stack_count; i++)
            a->stack[i].source = source;
        error = fw_symbolicate_stack(a->stack, a->stack_count, &symbols, &why);
    }
    if (check(error, &why) != FW_OK) {
        assert_null(symbols);
        return error;
    }
    if (!a->expected) {
        a->expected = symbols;
        return FW_OK;
    }
    assert_int_equal(symbols->count, a->expected->count);
    for (size_t i = 0; i < symbols->count; i++)
        assert_true(same_answer(&symbols->items[i], &a->expected->items[i]));
    fw_symbols_free(symbols);
    return FW_OK;
}

static bool attempt(void *context)
{
    struct attempt *a = context;
    struct fw_symbolicator *symbolicator;
    const struct fw_source_request request = {.size = sizeof request, .path = programs[0]};
    struct fw_source *source;
    struct fw_failure why = {0};
    alloc_fail_pause();
    if (a->cache)
        assert_int_equal(system(a->cache), 0);
    alloc_fail_resume();
    fw_error error = fw_symbolicator_create(&a->options, &symbolicator);
    if (error != FW_OK) {
        assert_int_equal(error, FW_ERR_MEMORY);
        assert_null(symbolicator);
        return false;
    }
    error = check(fw_source_open(symbolicator, &request, &source, &why), &why);
    if (error == FW_OK)
        error = answer(a, source);
    else
        assert_null(source);
    fw_source_close(source);
    fw_symbolicator_destroy(symbolicator);
    return error == FW_OK;
}

static void prepare(struct attempt *a, struct functions *functions)
{
    static const char *const folders[] = {"/nowhere/at/all", NULL};
    a->options = (struct fw_symbolicator_options){.size = sizeof a->options,
                                                  .cache_folder = "",
                                                  .debug_folders = folders,
                                                  .sysroot = "/nowhere",
                                                  .threads = 1,
                                                  .no_debuginfod = true};
    read_functions(programs[0], functions);
    many_addresses(functions, a->addresses);
}

static void each(struct attempt *a)
{
    assert_true(attempt(a));
    struct fw_symbols *expected = a->expected;
    assert_non_null(expected);
    assert_true(alloc_fail_each(attempt, a) > 20);
    fw_symbols_free(expected);
}

static void a_few_addresses(void **state)
{
    (void)state;
    static struct attempt a;
    struct functions functions;
    prepare(&a, &functions);
    a.count = 3;
    each(&a);
}

static void many_addresses_and_the_cache(void **state)
{
    (void)state;
    static struct attempt a;
    struct functions functions;
    char folder[] = "/tmp/framewalk-memory-XXXXXX";
    assert_non_null(mkdtemp(folder));
    prepare(&a, &functions);
    a.count = MANY;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    a.options.cache_folder = folder;
    a.cache = command;
    each(&a);
    assert_int_equal(system(command), 0);
}

/* With a chain of tail calls across units: a small map, then the whole one. */
static void a_stack(void **state)
{
    (void)state;
    static struct attempt a;
    struct functions functions;
    prepare(&a, &functions);
    uint64_t bottom = 0, across = 0, size = 0;
    for (size_t i = 0; i < functions.count; i++) {
        if (strcmp(functions.item[i].name, "bottom") == 0)
            bottom = functions.item[i].vaddr;
        if (strcmp(functions.item[i].name, "across") == 0) {
            across = functions.item[i].vaddr;
            size = functions.item[i].size;
        }
    }
    assert_true(bottom && across);
    /* Somewhere in across() a call returns: every place is asked, that one has a chain. */
    size_t most = 0;
    for (uint64_t at = 1; at < size; at++) {
        struct attempt one = a;
        one.stack[0].address = (struct fw_address){bottom, FW_ADDRESS_LINK};
        one.stack[1].address =
            (struct fw_address){across + at, FW_ADDRESS_LINK | FW_ADDRESS_RETURN};
        one.stack_count = 2;
        assert_true(attempt(&one));
        if (one.expected->items[0].frame_count > most) {
            most = one.expected->items[0].frame_count;
            memcpy(a.stack, one.stack, sizeof a.stack);
            a.stack_count = 2;
        }
        fw_symbols_free(one.expected);
    }
    assert_int_equal(most, 4); /* bottom, same_name, far_one, same_name */
    each(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_few_addresses),
        cmocka_unit_test(many_addresses_and_the_cache),
        cmocka_unit_test(a_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
