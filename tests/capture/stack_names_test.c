/* The cache of names of repeated stacks: right names, bounded memory, images that change, threads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "capture/image_filter.h"
#include "capture/modules.h"
#include "framewalk/capture.h"
#include "framewalk/stack_names.h"
#include "framewalk/stack_table.h"
#include "framewalk/text.h"
#include "support/platform.h"

enum { DEPTH = 50 };

void first_known(void);
void first_known(void)
{
    __asm__ volatile("");
}
void second_known(void);
void second_known(void)
{
    __asm__ volatile("");
}

struct made {
    struct fw_frame frames[DEPTH];
    struct fw_stack stack;
};

/* A stack whose frames stand in `first_known`, but the innermost, which is number `n` of many. */
static void make(struct made *made, uint32_t n, uint32_t count)
{
    memset(made, 0, sizeof *made);
    for (uint32_t i = 0; i < count; i++)
        made->frames[i] = (struct fw_frame){
            .address = CODE_OF(first_known) + 1, .kind = FW_FRAME_RETURN, .method = FW_METHOD_CFI};
    made->frames[0] = (struct fw_frame){.address = 4096 + n, .kind = FW_FRAME_EXACT};
    made->stack = (struct fw_stack){.frames = made->frames,
                                    .capacity = DEPTH,
                                    .count = count,
                                    .head = count,
                                    .end = FW_END_ROOT,
                                    .id = fw_stack_id(made->frames, count)};
}

static struct fw_stack_names *create(struct fw_stack_names_options options)
{
    struct fw_stack_names *cache;
    options.size = sizeof options;
    assert_int_equal(fw_stack_names_create(&cache, &options), FW_OK);
    return cache;
}

static struct fw_stack_names_counters count(struct fw_stack_names *cache)
{
    struct fw_stack_names_counters counters;
    fw_stack_names_count(cache, &counters);
    return counters;
}

static const struct fw_named_stack *get(struct fw_stack_names *cache, const struct fw_stack *stack)
{
    const struct fw_named_stack *named = NULL;
    assert_int_equal(fw_stack_names_get(cache, stack, &named), FW_OK);
    assert_non_null(named);
    return named;
}

static void the_same_names_again(void **state)
{
    (void)state;
    struct fw_stack_names *cache = create((struct fw_stack_names_options){.text = true});
    struct fw_frame frames[64];
    struct fw_stack stack = {.frames = frames, .capacity = 64};
    fw_capture(&stack, 0);
    const struct fw_named_stack *first = get(cache, &stack), *second = get(cache, &stack);
    assert_ptr_equal(first, second);
    assert_int_equal(count(cache).hits, 1);
    assert_int_equal(count(cache).misses, 1);
    assert_int_equal(count(cache).stacks, 1);
    assert_int_equal(first->count, stack.count);
    assert_int_equal(first->left_out, 0);
    struct fw_names *names;
    assert_int_equal(fw_names_create(&names), FW_OK);
    for (uint32_t i = 0; i < stack.count; i++) {
        struct fw_name name;
        fw_names_lookup(names, &stack.frames[i], &name);
        assert_int_equal(first->frames[i].frame, i);
        assert_int_equal(first->frames[i].index, i);
        assert_int_equal(first->frames[i].name.offset, name.offset);
        assert_int_equal(first->frames[i].name.image_base, name.image_base);
        assert_int_equal(name.function == NULL, first->frames[i].name.function == NULL);
        if (name.function)
            assert_string_equal(first->frames[i].name.function, name.function);
        assert_string_equal(first->frames[i].name.image, name.image);
    }
    fw_names_destroy(names);
    char *text = fw_text_stack(&stack);
    assert_non_null(text);
    assert_string_equal(first->text, text);
    assert_int_equal(first->text_length, strlen(text));
    free(text);
    fw_stack_names_release(cache, first);
    fw_stack_names_release(cache, second);
    fw_stack_names_destroy(cache);
}

/* The same id proves nothing. */
static void an_id_that_two_stacks_share(void **state)
{
    (void)state;
    struct fw_stack_names *cache = create((struct fw_stack_names_options){.text = true});
    struct made a, b, c;
    make(&a, 1, 10);
    make(&b, 2, 10);
    make(&c, 1, 9);
    b.frames[3].address = (uintptr_t)second_known + 1;
    b.stack.id = c.stack.id = a.stack.id;
    const struct fw_named_stack *of_a = get(cache, &a.stack), *of_b = get(cache, &b.stack);
    const struct fw_named_stack *of_c = get(cache, &c.stack);
    assert_string_equal(of_a->frames[3].name.function, "first_known");
    assert_string_equal(of_b->frames[3].name.function, "second_known");
    assert_int_equal(of_c->count, 9);
    assert_ptr_equal(get(cache, &b.stack), of_b);
    fw_stack_names_release(cache, of_b);
    /* What a frame's address means counts, how it was found does not. */
    a.frames[3].kind = FW_FRAME_EXACT;
    const struct fw_named_stack *exact = get(cache, &a.stack);
    assert_ptr_not_equal(exact, of_a);
    a.frames[3].kind = FW_FRAME_RETURN;
    a.frames[4].method = FW_METHOD_FRAME_POINTER;
    assert_ptr_equal(get(cache, &a.stack), of_a);
    fw_stack_names_release(cache, of_a);
    /* Nor does how it ended go unseen. */
    a.stack.end = FW_END_NO_INFO;
    const struct fw_named_stack *cut = get(cache, &a.stack);
    assert_non_null(strstr(cut->text, "\nincomplete: "));
    assert_null(strstr(of_a->text, "incomplete"));
    const struct fw_named_stack *all[] = {of_a, of_b, of_c, exact, cut};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        fw_stack_names_release(cache, all[i]);
    fw_stack_names_destroy(cache);
}

static void memory_is_bounded(void **state)
{
    (void)state;
    const size_t sizes[] = {1, 20000, 300000, 4000000};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct fw_stack_names *cache =
            create((struct fw_stack_names_options){.memory = sizes[s], .text = true});
        const size_t tables = (size_t)count(cache).bytes;
        struct made made;
        for (uint32_t n = 0; n < 2000; n++) {
            make(&made, n, DEPTH);
            fw_stack_names_release(cache, get(cache, &made.stack));
            assert_true(count(cache).bytes <= tables + sizes[s]);
        }
        struct fw_stack_names_counters at_end = count(cache);
        assert_int_equal(at_end.misses, 2000);
        assert_int_equal(at_end.outdated, 0);
        if (sizes[s] >= 300000) {
            assert_int_equal(at_end.evicted + at_end.stacks, 2000);
            assert_true(at_end.bytes > sizes[s] / 2); /* it is used, too */
        }
        fw_stack_names_destroy(cache);
    }
}

/* What is asked for all the time stays. */
static void what_is_used_stays(void **state)
{
    (void)state;
    struct fw_stack_names *cache = create((struct fw_stack_names_options){.memory = 120000});
    struct made often, seldom;
    make(&often, 1000000, DEPTH);
    fw_stack_names_release(cache, get(cache, &often.stack));
    for (uint32_t n = 0; n < 500; n++) {
        make(&seldom, n, DEPTH);
        fw_stack_names_release(cache, get(cache, &seldom.stack));
        fw_stack_names_release(cache, get(cache, &often.stack));
    }
    assert_int_equal(count(cache).hits, 500);
    assert_true(count(cache).evicted > 400);
    fw_stack_names_destroy(cache);
}

/* Who holds names may use them whatever was forgotten meanwhile. */
static void held_names_stay_valid(void **state)
{
    (void)state;
    struct fw_stack_names *cache =
        create((struct fw_stack_names_options){.memory = 60000, .text = true});
    const struct fw_named_stack *held[100];
    struct made made;
    for (uint32_t n = 0; n < 100; n++) {
        make(&made, n, DEPTH);
        held[n] = get(cache, &made.stack);
    }
    assert_true(count(cache).evicted > 50);
    assert_true(count(cache).bytes > 200000); /* they are counted as long as they are there */
    for (uint32_t n = 0; n < 100; n++) {
        char number[32];
        snprintf(number, sizeof number, " 0x0 + %u\n", 4096 + n);
        assert_non_null(strstr(held[n]->text, number));
        assert_string_equal(held[n]->frames[DEPTH - 1].name.function, "first_known");
        fw_stack_names_release(cache, held[n]);
    }
    assert_true(count(cache).bytes < 70000);
    fw_stack_names_destroy(cache);
}

static void stacks_of_nothing(void **state)
{
    (void)state;
    struct fw_stack_names *cache = create((struct fw_stack_names_options){.text = true});
    struct fw_stack stack = {.end = FW_END_UNAVAILABLE, .unavailable = FW_UNAVAILABLE_EXITED};
    const struct fw_named_stack *named = get(cache, &stack);
    assert_int_equal(named->count, 0);
    assert_non_null(strstr(named->text, fw_unavailable_text(FW_UNAVAILABLE_EXITED)));
    fw_stack_names_release(cache, named);
    stack = (struct fw_stack){.end = FW_END_ROOT};
    named = get(cache, &stack);
    assert_string_equal(named->text, "");
    fw_stack_names_release(cache, named);
    fw_stack_names_release(cache, NULL);
    fw_stack_names_destroy(cache);
}

static void image_of(uintptr_t address, char path[4096])
{
    struct fw_names *names;
    struct fw_name name;
    struct fw_frame frame = {.address = address};
    assert_int_equal(fw_names_create(&names), FW_OK);
    assert_int_equal(fw_names_lookup(names, &frame, &name), FW_OK);
    snprintf(path, 4096, "%s", name.image);
    fw_names_destroy(names);
}

static void only_the_apps_own(void **state)
{
    (void)state;
    struct made made;
    make(&made, 0, 8);
    made.frames[2].address = made.frames[3].address = (uintptr_t)qsort + 1;
    made.frames[6].address = made.frames[7].address = (uintptr_t)qsort + 1;
    made.stack.head = 5;
    made.stack.omitted = 100;

    static char own[4096], system[4096], folder[4096];
    image_of((uintptr_t)first_known, own);
    image_of((uintptr_t)qsort, system);
    memcpy(folder, own, sizeof folder);
    strrchr(folder, '/')[1] = 0;
    const char *bare = strrchr(own, '/') + 1;
    const char *const lists[][2] = {{"nobody", bare}, {"/nowhere/x", own}, {folder, "/nowhere/"}};
    /* In the Mach-O host the system lies in the same folder. */
    const size_t different = strncmp(system, folder, strlen(folder)) == 0 ? 2 : 3;
    for (size_t l = 0; l < different; l++) {
        struct fw_stack_names *cache = create(
            (struct fw_stack_names_options){.images = lists[l], .image_count = 2, .text = true});
        const struct fw_named_stack *named = get(cache, &made.stack);
        static const uint32_t frames[] = {1, 4, 5}, before[] = {1, 2, 0};
        assert_int_equal(named->count, 3);
        assert_int_equal(named->left_out, 5);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(named->frames[i].frame, frames[i]);
            assert_int_equal(named->frames[i].left_out, before[i]);
            assert_int_equal(named->frames[i].index, frames[i] + (i == 2 ? 100 : 0));
            assert_string_equal(named->frames[i].name.function, "first_known");
        }
        assert_non_null(
            strstr(named->text, " first_known + 1\n... 2 frames of other images\n4   "));
        assert_non_null(strstr(named->text, " first_known + 1\n... 100 frames left out\n105 "));
        assert_memory_equal(named->text, "... 1 frame of other images\n1   ", 32);
        static const char end[] = " first_known + 1\n... 2 frames of other images\n";
        assert_string_equal(named->text + named->text_length - strlen(end), end);
        fw_stack_names_release(cache, named);
        fw_stack_names_destroy(cache);
    }

    struct fw_stack_names *cache =
        create((struct fw_stack_names_options){.images = lists[2] + 1, .image_count = 1});
    const struct fw_named_stack *named = get(cache, &made.stack);
    assert_int_equal(named->count, 0);
    assert_int_equal(named->left_out, 8);
    assert_null(named->text);
    fw_stack_names_release(cache, named);
    fw_stack_names_destroy(cache);
}

static void filters(void **state)
{
    (void)state;
    static const char *const list[] = {"/private/var/c/Shop.app/", "/usr/lib/libz.dylib",
                                       "libswiftCore.dylib", "/var/d/Extra.app/"};
    struct image_filter *filter = image_filter_create(list, 4);
    assert_non_null(filter);
    assert_true(image_filter_takes(filter, "/var/c/Shop.app/Shop"));
    assert_true(image_filter_takes(filter, "/private/var/c/Shop.app/Frameworks/A.framework/A"));
    assert_true(image_filter_takes(filter, "/private/var/d/Extra.app/Extra"));
    assert_false(image_filter_takes(filter, "/var/c/Shop.appendix"));
    assert_true(image_filter_takes(filter, "/usr/lib/libz.dylib"));
    assert_false(image_filter_takes(filter, "/usr/lib/libz.dylib.1"));
    assert_true(image_filter_takes(filter, "/usr/lib/swift/libswiftCore.dylib"));
    assert_true(image_filter_takes(filter, "libswiftCore.dylib"));
    assert_false(image_filter_takes(filter, "/usr/lib/swift/libswiftCore.dylib/x"));
    assert_false(image_filter_takes(filter, "/privatevar/c/Shop.app/Shop"));
    assert_false(image_filter_takes(filter, ""));
    assert_false(image_filter_takes(filter, NULL));
    image_filter_destroy(filter);
    filter = image_filter_create(NULL, 0);
    assert_false(image_filter_takes(filter, "/a"));
    image_filter_destroy(filter);
    assert_true(image_filter_takes(NULL, "/a"));
    assert_true(image_filter_takes(NULL, NULL));
}

/* A library makes way for another one, at the same addresses when the loader likes: the names are
 * those of what is loaded now. With names of one's own, and with the shared ones. */
static void images_that_change(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct fw_names *names = NULL;
        if (!shared)
            assert_int_equal(fw_names_create(&names), FW_OK);
        struct fw_stack_names *cache = create((struct fw_stack_names_options){.names = names});
        const struct fw_named_stack *before = NULL;
        uintptr_t last = 0;
        unsigned same_place = 0;
        for (int i = 0; i < 8; i++) {
            module_call call;
            void *module = module_load(i % 2 ? MODULE_TWO : MODULE_ONE, &call);
            struct made made;
            make(&made, 0, 3);
            made.frames[1].address = CODE_OF(call) + 1;
            made.stack.id = 12345; /* so that only the address tells */
            same_place += last == (uintptr_t)call;
            last = (uintptr_t)call;
            assert_int_equal(fw_stack_names_refresh(cache), FW_OK);
            const struct fw_named_stack *named = get(cache, &made.stack);
            assert_string_equal(named->frames[1].name.function,
                                i % 2 ? "function_two" : "function_one");
            if (before) { /* and what was handed out then is still what it was */
                assert_string_equal(before->frames[1].name.function,
                                    i % 2 ? "function_one" : "function_two");
                fw_stack_names_release(cache, before);
            }
            before = named;
            fw_stack_names_release(cache, get(cache, &made.stack));
            assert_int_equal(count(cache).hits, i + 1);
            dlclose(module);
        }
        fw_stack_names_release(cache, before);
        if (same_place)
            assert_true(count(cache).outdated > 0);
        else
            print_message("the loader never used the same addresses again\n");
        /* Nothing changed: nothing is named again. */
        struct made made;
        make(&made, 0, 3);
        fw_stack_names_refresh(cache);
        fw_stack_names_release(cache, get(cache, &made.stack));
        uint64_t misses = count(cache).misses;
        assert_int_equal(fw_stack_names_refresh(cache), FW_OK);
        fw_stack_names_release(cache, get(cache, &made.stack));
        assert_int_equal(count(cache).misses, misses);
        fw_stack_names_destroy(cache);
        fw_names_destroy(names);
    }
}

struct crowd {
    struct fw_stack_names *cache;
    _Atomic uint64_t asked;
    _Atomic bool enough, wrong;
};

static void *asks(void *context)
{
    struct crowd *crowd = context;
    const struct fw_named_stack *held[8] = {NULL};
    uint32_t random = (uint32_t)(uintptr_t)&random | 1;
    while (!crowd->enough) {
        struct made made;
        char number[32];
        random = random * 1664525 + 1013904223;
        uint32_t n = (random >> 8) % 97;
        make(&made, n, 20);
        const struct fw_named_stack **slot = &held[(random >> 20) % 8];
        fw_stack_names_release(crowd->cache, *slot);
        if (fw_stack_names_get(crowd->cache, &made.stack, slot) != FW_OK)
            crowd->wrong = true;
        snprintf(number, sizeof number, " 0x0 + %u\n", 4096 + n);
        if (!strstr((*slot)->text, number) ||
            strcmp((*slot)->frames[19].name.function, "first_known") != 0)
            crowd->wrong = true;
        crowd->asked++;
    }
    for (int i = 0; i < 8; i++)
        fw_stack_names_release(crowd->cache, held[i]);
    return NULL;
}

static void many_threads(void **state)
{
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        struct fw_names *names = NULL;
        if (!shared)
            assert_int_equal(fw_names_create(&names), FW_OK);
        struct crowd crowd = {.cache = create((struct fw_stack_names_options){
                                  .names = names, .memory = 300000, .text = true})};
        const uint64_t empty = count(crowd.cache).bytes;
        pthread_t threads[6];
        for (int i = 0; i < 6; i++)
            assert_int_equal(pthread_create(&threads[i], NULL, asks, &crowd), 0);
        for (int i = 0; i < 10; i++) {
            module_call call;
            void *module = module_load(i % 2 ? MODULE_TWO : MODULE_ONE, &call);
            uint64_t asked = crowd.asked;
            assert_int_equal(fw_stack_names_refresh(crowd.cache), FW_OK);
            while (crowd.asked < asked + 100)
                sched_yield();
            dlclose(module);
        }
        crowd.enough = true;
        for (int i = 0; i < 6; i++)
            pthread_join(threads[i], NULL);
        assert_false(crowd.wrong);
        struct fw_stack_names_counters counters = count(crowd.cache);
        assert_int_equal(counters.hits + counters.misses, crowd.asked);
        assert_true(counters.hits > 0 && counters.outdated > 0);
        assert_true(counters.bytes <= empty + 300000);
        fw_stack_names_destroy(crowd.cache);
        fw_names_destroy(names);
    }
}

static void arguments(void **state)
{
    (void)state;
    struct fw_stack_names *cache;
    struct fw_stack_names_options options = {.size = sizeof options - 1};
    assert_int_equal(fw_stack_names_create(&cache, &options), FW_ERR_ARGUMENT);
    options = (struct fw_stack_names_options){.size = sizeof options, .image_count = 1};
    assert_int_equal(fw_stack_names_create(&cache, &options), FW_ERR_ARGUMENT);
    assert_int_equal(fw_stack_names_create(NULL, NULL), FW_ERR_ARGUMENT);
    assert_int_equal(fw_stack_names_create(&cache, NULL), FW_OK);
    const struct fw_named_stack *named;
    assert_int_equal(fw_stack_names_get(cache, NULL, &named), FW_ERR_ARGUMENT);
    fw_stack_names_destroy(cache);
    fw_stack_names_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_names_again),
        cmocka_unit_test(an_id_that_two_stacks_share),
        cmocka_unit_test(memory_is_bounded),
        cmocka_unit_test(what_is_used_stays),
        cmocka_unit_test(held_names_stay_valid),
        cmocka_unit_test(stacks_of_nothing),
        cmocka_unit_test(only_the_apps_own),
        cmocka_unit_test(filters),
        cmocka_unit_test(images_that_change),
        cmocka_unit_test(many_threads),
        cmocka_unit_test(arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
