/* collector/grouping.c and the built-in rules: failures that users of other trackers report, as
 * stacks; and real reports, which other tools wrote. */
#include "collector/grouping.h"
#include "report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

enum { DEPTH = 64 };

struct stack { /* innermost first */
    struct group_frame frames[DEPTH];
    size_t count;
};

static struct group_rules *builtin;
static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    return group_rules_parse(NULL, &builtin, NULL) != FW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    group_rules_free(builtin);
    arena_free(&arena);
    return 0;
}

/* "image!function" each; "image+0x12" without a name; "*" in front: the report's executable. */
static struct stack stack_of(const char *const *lines)
{
    struct stack s = {.count = 0};
    for (; *lines; lines++) {
        struct group_frame *f = &s.frames[s.count++];
        const char *at = *lines;
        f->is_main = *at == '*';
        at += f->is_main;
        const char *mark = strchr(at, '!'), *plus = strchr(at, '+');
        size_t size = (size_t)((mark ? mark : plus) - at);
        char *image = arena_take(&arena, size + 1);
        memcpy(image, at, size);
        image[size] = '\0';
        f->image = image;
        f->function = mark ? mark + 1 : NULL;
        f->offset = mark ? 0x4000 : strtoull(plus + 1, NULL, 16);
    }
    return s;
}
#define STACK(...) stack_of((const char *const[]){__VA_ARGS__, NULL})

static struct group_answer answer_by(const struct group_rules *rules, const struct stack *s)
{
    struct group_answer answer;
    assert_int_equal(group_stack(rules, s->frames, s->count, &arena, &answer), FW_OK);
    json_t *why = json_loads(answer.why, 0, NULL);
    assert_non_null(why);
    assert_int_equal(json_array_size(json_object_get(why, "frames")),
                     s->count < 128 ? s->count : 128);
    json_decref(why);
    assert_true(*answer.title);
    return answer;
}

static struct group_answer answer_of(struct stack s)
{
    return answer_by(builtin, &s);
}

static bool same(const struct group_answer *a, const struct group_answer *b)
{
    return memcmp(a->key, b->key, sizeof a->key) == 0;
}

#define LOOP                                                                                       \
    "CoreFoundation!__CFRunLoopDoSource0", "CoreFoundation!__CFRunLoopRun",                        \
        "CoreFoundation!CFRunLoopRunSpecific", "GraphicsServices!GSEventRunModal",                 \
        "UIKitCore!-[UIApplication _run]", "UIKitCore!UIApplicationMain", "*Shop!main",            \
        "dyld!start"

/* dd-sdk-ios#3205: 60 different hangs below one swizzled sendEvent were one issue. */
static void swizzled_send_event_is_not_blamed(void **state)
{
    (void)state;
    struct group_answer answers[60];
    for (int i = 0; i < 60; i++) {
        char *work = arena_take(&arena, 64), *screen = arena_take(&arena, 64);
        snprintf(work, 64, "*Shop!Shop.Work%d.run() -> ()", i);
        snprintf(screen, 64, "UIKitCore!-[UIScreen%d draw]", i);
        answers[i] = answer_of(i % 2 ? STACK("libsystem_kernel.dylib!__ulock_wait", work,
                                             "UIKitCore!-[UIWindow sendEvent:]",
                                             "*Shop!-[UIApplication swizzled_sendEvent:]",
                                             "*Shop!swizzled_sendEvent", LOOP)
                                     : STACK(screen, "UIKitCore!-[UIWindow sendEvent:]",
                                             "*Shop!swizzled_sendEvent", LOOP));
        assert_int_equal(answers[i].section, i % 2 ? GROUP_APP : GROUP_SYSTEM);
        assert_null(strstr(answers[i].title, "swizzled"));
    }
    int groups = 0;
    for (int i = 0; i < 60; i++) {
        int j = 0;
        while (j < i && !same(&answers[j], &answers[i]))
            j++;
        groups += j == i;
    }
    assert_int_equal(groups, 60);
}

/* sentry#115320, #102187: hangs without a frame of the app were one heap. */
static void system_only_is_a_section_not_a_heap(void **state)
{
    (void)state;
    struct group_answer draw = answer_of(STACK(
        "CoreText!TFont::draw", "UIFoundation!-[NSString drawInRect:]",
        "CoreFoundation!__CFRUNLOOP_IS_CALLING_OUT_TO_AN_OBSERVER_CALLBACK_FUNCTION__", LOOP));
    struct group_answer prefs = answer_of(
        STACK("libsystem_kernel.dylib!mach_msg2_trap", "libsystem_kernel.dylib!mach_msg",
              "CoreFoundation!CFPREFERENCES_IS_WAITING_FOR_CFPREFSD",
              "CoreFoundation!__CFRUNLOOP_IS_CALLING_OUT_TO_A_TIMER_CALLBACK_FUNCTION__", LOOP));
    struct group_answer prefs_block =
        answer_of(STACK("libsystem_kernel.dylib!mach_msg2_trap", "libsystem_kernel.dylib!mach_msg",
                        "CoreFoundation!CFPREFERENCES_IS_WAITING_FOR_CFPREFSD",
                        "CoreFoundation!__CFRUNLOOP_IS_CALLING_OUT_TO_A_BLOCK__", LOOP));
    assert_int_equal(draw.section, GROUP_SYSTEM);
    assert_int_equal(prefs.section, GROUP_SYSTEM);
    assert_string_equal(prefs.leaf, "ipc");
    assert_string_equal(prefs.title, "CFPREFERENCES_IS_WAITING_FOR_CFPREFSD");
    assert_false(same(&draw, &prefs));
    assert_false(same(&prefs, &prefs_block)); /* came in by another way */
}

/* sentry#8317: a stack that waits in the run loop is no hang anywhere. */
static void idle_loops_are_one_group(void **state)
{
    (void)state;
    struct group_answer apple = answer_of(
        STACK("libsystem_kernel.dylib!mach_msg2_trap", "libsystem_kernel.dylib!mach_msg2_internal",
              "libsystem_kernel.dylib!mach_msg", "CoreFoundation!__CFRunLoopServiceMachPort",
              "CoreFoundation!__CFRunLoopRun", "CoreFoundation!CFRunLoopRunSpecific",
              "UIKitCore!UIApplicationMain", "*Shop!main"));
    struct group_answer glib =
        answer_of(STACK("libc.so.6!__poll", "libglib-2.0.so.0!g_main_context_iterate.isra.0",
                        "libglib-2.0.so.0!g_main_loop_run", "*shop!Shop::run()", "*shop!main"));
    struct group_answer node =
        answer_of(STACK("libc.so.6!epoll_pwait", "node!uv__io_poll", "node!uv_run", "node!main"));
    struct group_answer busy = answer_of(
        STACK("libc.so.6!__poll", "*shop!Shop::ask()", "libglib-2.0.so.0!g_main_context_dispatch",
              "libglib-2.0.so.0!g_main_loop_run", "*shop!Shop::run()", "*shop!main"));
    struct group_answer nested =
        answer_of(STACK("libc.so.6!__poll", "libglib-2.0.so.0!g_main_context_iterate",
                        "libglib-2.0.so.0!g_main_loop_run", "*shop!Shop::confirm()",
                        "libglib-2.0.so.0!g_main_dispatch", "libglib-2.0.so.0!g_main_loop_run",
                        "*shop!Shop::run()", "*shop!main"));
    assert_string_equal(apple.leaf, "idle");
    assert_int_equal(apple.section, GROUP_SYSTEM);
    assert_true(same(&apple, &glib));
    assert_true(same(&apple, &node));
    assert_string_equal(busy.title, "Shop::ask");
    assert_int_equal(busy.section, GROUP_APP);
    assert_string_equal(nested.title, "Shop::confirm");
    assert_string_equal(nested.leaf, "loop");
}

static void builds_do_not_matter(void **state)
{
    (void)state;
    struct stack one =
        STACK("libc.so.6!futex_wait", "libc.so.6!pthread_mutex_lock", "*shop!std::mutex::lock()",
              "*shop!Shop::prices(int)", "*shop!Shop::load(std::string const&)", "*shop!main");
    struct stack two = STACK("libc.so.6!futex_wait", "libc.so.6!___pthread_mutex_lock",
                             "*shop!Shop::prices(int) [clone .part.0]", "*shop!Shop::prices(int)",
                             "*shop!Shop::load(std::__cxx11::string const&)", "*shop!main");
    for (size_t i = 0; i < two.count; i++) {
        two.frames[i].offset = 0x777000 + i;
        two.frames[i].line = 4711;
        two.frames[i].inlined = i == 2;
    }
    struct group_answer a = answer_of(one), b = answer_of(two);
    assert_true(same(&a, &b));
    assert_string_equal(a.leaf, "lock");
    assert_string_equal(a.title, "Shop::prices");

    struct group_answer deep = answer_of(
        STACK("*shop!Shop::walk(int)", "*shop!Shop::each(int)", "*shop!Shop::walk(int)",
              "*shop!Shop::each(int)", "*shop!Shop::walk(int)", "*shop!Shop::top()", "*shop!main"));
    struct group_answer flat = answer_of(
        STACK("*shop!Shop::walk(int)", "*shop!Shop::each(int)", "*shop!Shop::top()", "*shop!main"));
    assert_true(same(&deep, &flat));
}

static void leaf_classes(void **state)
{
    (void)state;
    static const struct {
        const char *leaf, *functions[3];
    } all[] = {
        {"lock", {"futex_wait", "__lll_lock_wait", "pthread_mutex_lock"}},
        {"wait", {"__futex_abstimed_wait_common", "pthread_cond_wait", NULL}},
        {"network", {"__libc_read", "SSL_read", NULL}},
        {"timer", {"clock_nanosleep@@GLIBC_2.17", "__nanosleep", "usleep"}},
        {"disk", {"fsync", NULL, NULL}},
        {"io", {"__GI___libc_read", NULL, NULL}},
        {"semaphore",
         {"semaphore_wait_trap", "_dispatch_sema4_wait", "_dispatch_semaphore_wait_slow"}},
        {"ipc", {"mach_msg2_trap", "mach_msg", "xpc_connection_send_message_with_reply_sync"}},
        {"cpu", {"memcpy", NULL, NULL}},
        {"unknown", {NULL, NULL, NULL}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct stack s = {.count = 0};
        for (size_t f = 0; f < 3 && (f == 0 || all[i].functions[f]); f++)
            s.frames[s.count++] =
                (struct group_frame){.image = "libc.so.6", .function = all[i].functions[f]};
        s.frames[s.count++] =
            (struct group_frame){.image = "shop", .function = "work", .is_main = true};
        assert_string_equal(answer_of(s).leaf, all[i].leaf);
    }
}

static void unnamed_frames_count_by_image_and_piece(void **state)
{
    (void)state;
    struct group_answer a = answer_of(STACK("libcart.so.1+0x12010", "*shop!main"));
    struct group_answer near = answer_of(STACK("libcart.so.1+0x12040", "*shop!main"));
    struct group_answer far = answer_of(STACK("libcart.so.1+0x99040", "*shop!main"));
    assert_int_equal(a.section, GROUP_UNNAMED);
    assert_string_equal(a.title, "libcart.so near 0x12000");
    assert_true(same(&a, &near));
    assert_false(same(&a, &far));
    struct stack none = {.count = 0};
    struct group_answer empty = answer_of(none);
    assert_int_equal(empty.section, GROUP_UNNAMED);
    assert_int_equal(empty.blamed, UINT32_MAX);
}

static void main_is_the_last_to_blame(void **state)
{
    (void)state;
    struct group_answer a =
        answer_of(STACK("libc.so.6!sleep", "*shop!main", "libc.so.6!__libc_start_main"));
    assert_string_equal(a.title, "main");
    assert_int_equal(a.section, GROUP_APP);
    struct group_answer thread = answer_of(STACK("libc.so.6!sleep", "*shop!Shop::poller(void*)",
                                                 "libc.so.6!start_thread", "libc.so.6!clone3"));
    assert_string_equal(thread.title, "Shop::poller");
}

static void uploaded_system_images_stay_system(void **state)
{
    (void)state;
    struct stack s = STACK("libc.so.6!qsort", "libcart.so!cart_sort", "*shop!main");
    s.frames[0].own_symbols = s.frames[1].own_symbols = true; /* libc6-dbg was uploaded */
    assert_string_equal(answer_of(s).title, "cart_sort");
}

static void rules_of_the_project_come_first(void **state)
{
    (void)state;
    struct group_rules *rules;
    assert_int_equal(group_rules_parse("# ours\n\nfunction:Shop::guard* -> wrapper\n"
                                       "image:libcart.so function:cart_* -> system\n"
                                       "function:Shop::ask -> leaf network\n"
                                       "function:-[Cart load: with:] -> skip\n",
                                       &rules, NULL),
                     FW_OK);
    struct stack s = STACK("*shop!Shop::ask(int)", "libcart.so!cart_get", "*shop!Shop::guarded()",
                           "*shop!Shop::buy()", "*shop!main");
    struct group_answer plain = answer_of(s), ruled = answer_by(rules, &s);
    assert_string_equal(plain.title, "Shop::ask");
    assert_string_equal(ruled.title, "Shop::buy");
    assert_string_equal(ruled.leaf, "network");
    assert_non_null(strstr(ruled.why, "line 3: function:Shop::guard* -> wrapper"));
    assert_non_null(strstr(ruled.why, "\"role\":\"wrapper\""));
    assert_non_null(strstr(ruled.why, "\"parts\":[\"leaf: network\",\"shop:Shop::buy\"]"));
    group_rules_free(rules);
}

static void bad_rules_are_refused_with_their_line(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\nfunction:main",
        "\nfunction:main -> boss",
        "\nmain -> root",
        "\nfunction: -> root",
        "\nfunction:x -> leaf",
        "\nfunction:x -> leaf Two Words",
        "\nis:mine -> app",
        "\nfunction:\xff -> app",
        "\nfunction:a\x1b -> app",
        "\n-> app",
        "\nfunction:a function:b function:c function:d function:e -> app",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct group_rules *rules;
        struct fw_failure why;
        assert_int_equal(group_rules_parse(bad[i], &rules, &why), FW_ERR_FORMAT);
        assert_null(rules);
        assert_int_equal(why.place, 2);
        assert_non_null(strstr(why.message, "line 2"));
    }
    /* The built-in ones may be copied into a project's. */
    struct group_rules *rules;
    assert_int_equal(group_rules_parse(group_rules_builtin(), &rules, NULL), FW_OK);
    group_rules_free(rules);
}

/* --- Real reports ------------------------------------------------------------------------------
 */

/* An image of which only the id is known is called by it. */
static const char *image_name(const struct report_image *image)
{
    if (*image->name)
        return image->name;
    char *name = arena_take(&arena, image->id_size * 2 + 1);
    name[0] = '\0';
    for (uint32_t i = 0; i < image->id_size; i++)
        snprintf(name + i * 2, 3, "%02x", image->id[i]);
    return name;
}

static struct stack frames_of(const struct report *r, const struct report_thread *t)
{
    struct stack s = {.count = 0};
    for (uint32_t i = 0; i < t->frame_count && s.count < DEPTH; i++) {
        const struct report_frame *f = &r->frames[t->first_frame + i];
        const struct report_image *image = f->image == REPORT_NONE ? NULL : &r->images[f->image];
        struct group_frame base = {.image = image ? image_name(image) : "",
                                   .path = image ? image->path : NULL,
                                   .offset = f->offset,
                                   .is_main = image && r->info.process &&
                                              strcmp(image->name, r->info.process) == 0};
        for (uint32_t n = 0; n < f->name_count && s.count < DEPTH; n++) {
            s.frames[s.count] = base;
            s.frames[s.count].function = r->names[f->first_name + n].function;
            s.frames[s.count++].file = r->names[f->first_name + n].file;
        }
        if (!f->name_count)
            s.frames[s.count++] = base;
    }
    return s;
}

static struct report *read_report(const char *name, char **text)
{
    char path[512];
    snprintf(path, sizeof path, "%s/reports/%s", FW_SHARED_DATA, name);
    FILE *file = fopen(path, "rb");
    if (!file)
        skip();
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    *text = malloc((size_t)size);
    assert_int_equal(fread(*text, 1, (size_t)size, file), size);
    fclose(file);
    struct report *r;
    assert_int_equal(report_read((struct span){(uint8_t *)*text, (size_t)size}, &r, NULL), FW_OK);
    return r;
}

static void threads_of_a_mac_crash(void **state)
{
    (void)state;
    char *text;
    struct report *r = read_report("ips-309-recoverylogd.ips", &text);
    unsigned stacks = 0, blamed = 0;
    for (size_t i = 0; i < r->thread_count; i++) {
        struct group_answer a = answer_of(frames_of(r, &r->threads[i]));
        stacks += r->threads[i].frame_count > 0;
        blamed += a.blamed != UINT32_MAX || strcmp(a.leaf, "idle") == 0;
    }
    assert_true(stacks > 0);
    assert_int_equal(blamed, stacks);
    report_free(r);
    free(text);
}

/* A stackshot of hundreds of threads: whatever sleeps in the kernel's traps is no heap, and the
 * same stacks are the same groups. */
static void threads_of_a_stackshot(void **state)
{
    (void)state;
    char *text;
    struct report *r = read_report("ips-288-stackshot-bridgeos75.ips", &text);
    size_t threads = 0, distinct = 0;
    struct group_answer *answers = calloc(r->thread_count, sizeof *answers);
    for (size_t i = 0; i < r->thread_count; i++) {
        if (!r->threads[i].frame_count)
            continue;
        answers[threads] = answer_of(frames_of(r, &r->threads[i]));
        struct group_answer again = answer_of(frames_of(r, &r->threads[i]));
        assert_true(same(&answers[threads], &again));
        size_t j = 0;
        while (j < threads && !same(&answers[j], &answers[threads]))
            j++;
        distinct += j == threads;
        threads++;
    }
    print_message("  %zu threads, %zu groups\n", threads, distinct);
    assert_true(threads > 100);
    assert_true(distinct >= 10);
    free(answers);
    report_free(r);
    free(text);
}

/* Frames of scripts are in no image: their files tell whose they are, and part them. */
static void scripts_are_told_apart_by_their_files(void **state)
{
    (void)state;
    static const char asyncio[] = "/usr/lib/python3.11/asyncio/base_events.py";
    const struct group_frame frames[] = {
        {.image = "libc.so.6", .function = "clock_nanosleep"},
        {.image = "", .function = "get", .file = "/usr/lib/python3/dist-packages/requests/api.py"},
        {.image = "", .function = "load", .file = "/opt/shop/cart.py", .line = 7},
        {.image = "", .function = "tick", .file = "/opt/shop/main.py", .line = 9},
        {.image = "", .function = "_run_once", .file = asyncio},
        {.image = "", .function = "<module>", .file = "/opt/shop/main.py"},
        {.image = "python3.11", .is_main = true},
    };
    struct stack s = {.count = 7}, other;
    memcpy(s.frames, frames, sizeof frames);
    struct group_answer a = answer_of(s), b;
    assert_string_equal(a.title, "load");
    assert_string_equal(a.image, "cart.py");
    assert_string_equal(a.leaf, "timer");
    assert_int_equal(a.section, GROUP_APP);
    other = s;
    other.frames[5].function = "start"; /* outside of the loop */
    b = answer_of(other);
    assert_true(same(&a, &b));
    other.frames[2].file = "/opt/shop/list.py"; /* another load */
    b = answer_of(other);
    assert_false(same(&a, &b));
    other.frames[2].file = "/srv/2/cart.py"; /* installed elsewhere */
    b = answer_of(other);
    assert_true(same(&a, &b));
}

/* How a process ended itself says nothing of why. */
static void ends_are_in_no_key(void **state)
{
    (void)state;
    struct group_answer a = answer_of(
        STACK("libsystem_kernel.dylib!__abort_with_payload",
              "libsystem_kernel.dylib!abort_with_payload_wrapper_internal",
              "libsystem_c.dylib!_os_crash_msg", "libxpc.dylib!xpc_listener_set_event_handler"));
    assert_string_equal(a.title, "xpc_listener_set_event_handler");
    assert_int_equal(a.section, GROUP_SYSTEM);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(swizzled_send_event_is_not_blamed),
        cmocka_unit_test(system_only_is_a_section_not_a_heap),
        cmocka_unit_test(idle_loops_are_one_group),
        cmocka_unit_test(builds_do_not_matter),
        cmocka_unit_test(leaf_classes),
        cmocka_unit_test(unnamed_frames_count_by_image_and_piece),
        cmocka_unit_test(main_is_the_last_to_blame),
        cmocka_unit_test(uploaded_system_images_stay_system),
        cmocka_unit_test(rules_of_the_project_come_first),
        cmocka_unit_test(bad_rules_are_refused_with_their_line),
        cmocka_unit_test(scripts_are_told_apart_by_their_files),
        cmocka_unit_test(ends_are_in_no_key),
        cmocka_unit_test(threads_of_a_mac_crash),
        cmocka_unit_test(threads_of_a_stackshot),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
