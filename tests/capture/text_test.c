/* Stacks as text: of real threads of this process, and bare addresses as backtrace_symbols. */
#include "capture/targets.h"
#include "framewalk/text.h"
#include "support/platform.h"

#include <dlfcn.h>

/* `line` is a whole line of the format; its symbol goes to `symbol` and what is added to it to
 * `offset`. */
static void parse_line(const char *line, unsigned *index, uint64_t *address, char *symbol,
                       uint64_t *offset)
{
    char *end;
    *index = (unsigned)strtoul(line, &end, 10);
    assert_true(end > line);
    const char *at = strstr(line + 4, " 0x");
    assert_non_null(at);
    assert_true(at - line >= 4 + 35);
    assert_int_not_equal(line[4], ' '); /* the image */
    *address = strtoull(at + 1, &end, 16);
    assert_int_equal(end - at - 1, 2 + 2 * sizeof(void *));
    assert_int_equal(*end, ' ');
    const char *plus = strstr(end, " + ");
    assert_true(plus && plus - end <= 255);
    memcpy(symbol, end + 1, (size_t)(plus - end - 1));
    symbol[plus - end - 1] = 0;
    *offset = strtoull(plus + 3, &end, 10);
    assert_true(end > plus + 3);
}

static unsigned lines_of(const char *text)
{
    unsigned lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* The line that begins with frame number `index`. */
static const char *frame_line(const char *text, unsigned index)
{
    char begin[16];
    snprintf(begin, sizeof begin, "\n%-4u", index);
    const char *line = strstr(text, begin);
    return line ? line + 1 : NULL;
}

static bool frame_is(const char *text, unsigned index, const char *function)
{
    char wanted[128];
    const char *line = frame_line(text, index);
    const char *end = line ? strchr(line, '\n') : NULL;
    snprintf(wanted, sizeof wanted, " %s + ", function);
    const char *found = line ? strstr(line, wanted) : NULL;
    return found && found < end;
}

__attribute__((noinline)) char *asks_for_this_thread(void);
__attribute__((noinline)) char *asks_for_this_thread(void)
{
    char *text = fw_text_this_thread();
    NOT_A_TAIL_CALL();
    return text;
}

__attribute__((noinline)) char *asks_for_all(void);
__attribute__((noinline)) char *asks_for_all(void)
{
    char *text = fw_text_all_threads();
    NOT_A_TAIL_CALL();
    return text;
}

__attribute__((noinline)) char *asks_for_main(void);
__attribute__((noinline)) char *asks_for_main(void)
{
    char *text = fw_text_main_thread();
    NOT_A_TAIL_CALL();
    return text;
}

static void this_thread(void **state)
{
    (void)state;
    char *text = asks_for_this_thread(), first[64];
    assert_non_null(text);
    struct fw_frame frame;
    struct fw_thread self = {.stack = {.frames = &frame, .capacity = 1}};
    struct fw_threads_options options = {.size = sizeof options, .frames = 2, .tail = 1};
    assert_int_equal(fw_thread_capture(fw_thread_self(), &self, &options), FW_OK);
    snprintf(first, sizeof first, "Thread %llu ", (unsigned long long)self.system_id);
    assert_memory_equal(text, first, strlen(first));
    assert_non_null(strstr(text, "(main, this thread)"));
    assert_true(frame_is(text, 0, "asks_for_this_thread"));
    assert_non_null(strstr(text, " main + "));
    assert_null(strstr(text, "incomplete"));
    assert_null(strstr(text, "fw_text"));
    for (unsigned i = 0; frame_line(text, i); i++) {
        unsigned index;
        uint64_t address, offset;
        char symbol[256];
        parse_line(frame_line(text, i), &index, &address, symbol, &offset);
        assert_int_equal(index, i);
    }
    free(text);
}

static void main_thread_from_itself(void **state)
{
    (void)state;
    char *text = asks_for_main();
    assert_non_null(text);
    assert_true(frame_is(text, 0, "asks_for_main"));
    free(text);
}

__attribute__((noinline)) void waits_in_text_test(struct target *target);
__attribute__((noinline)) void waits_in_text_test(struct target *target)
{
    target->ready = true;
    while (!target->leave)
        pause_ms(1);
    NOT_A_TAIL_CALL();
}

static void another_thread(void **state)
{
    (void)state;
    struct target target = {.body = waits_in_text_test};
    target_begin(&target, 0);
    char *text = fw_text_thread(target.id);
    assert_non_null(text);
    assert_non_null(strstr(text, " waits_in_text_test + "));
    assert_null(strstr(text, "this thread"));
    assert_null(strstr(text, "(main"));
    free(text);
    target_end(&target);
}

struct asker {
    char *text;
};

static void asks_for_the_main_thread(struct target *target)
{
    struct asker *asker = target->context;
    target->ready = true;
    asker->text = fw_text_main_thread();
    while (!target->leave)
        pause_ms(1);
}

static void main_thread_from_another(void **state)
{
    (void)state;
    struct asker asker = {NULL};
    struct target target = {.body = asks_for_the_main_thread, .context = &asker};
    target_begin(&target, 0);
    pause_ms(50);
    target_end(&target);
    assert_non_null(asker.text);
    assert_non_null(strstr(asker.text, " (main)"));
    assert_non_null(strstr(asker.text, " main + "));
    free(asker.text);
}

static void all_threads(void **state)
{
    (void)state;
    enum { THREADS = 12 };
    struct target targets[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        targets[i] = (struct target){.body = waits_in_text_test};
        target_begin(&targets[i], 0);
    }
    char *text = asks_for_all();
    assert_non_null(text);
    unsigned seen = 0, blocks = 0;
    for (const char *at = text; (at = strstr(at, " waits_in_text_test + ")); at++)
        seen++;
    for (const char *at = text; (at = strstr(at, "\n\nThread ")); at++)
        blocks++;
    assert_int_equal(seen, THREADS);
    assert_true(blocks >= THREADS);
    assert_non_null(strstr(text, " asks_for_all + "));
    assert_null(strstr(text, " fw_text_all_threads + "));
    assert_true(lines_of(text) > 3 * THREADS);
    free(text);
    for (unsigned i = 0; i < THREADS; i++)
        target_end(&targets[i]);
}

static void no_such_thread(void **state)
{
    (void)state;
    char *text = fw_text_thread(0x7ffffff0); /* one that has just ended may still be known */
    assert_non_null(text);
    assert_non_null(strstr(text, "\nno stack: there is no such thread\n"));
    free(text);
}

/* More frames than are shown: the middle is left out, and numbers go on behind the gap. */
__attribute__((noinline)) static char *deep(unsigned depth)
{
    char *text = depth ? deep(depth - 1) : fw_text_this_thread();
    NOT_A_TAIL_CALL();
    return text;
}

static void a_deep_stack(void **state)
{
    (void)state;
    char *text = deep(2000);
    assert_non_null(text);
    const char *gap = strstr(text, "\n... ");
    assert_non_null(gap);
    char *end;
    unsigned long long omitted = strtoull(gap + 5, &end, 10);
    assert_memory_equal(end, " frames left out\n", 17);
    assert_true(omitted > 1700 && omitted < 2000);
    const char *next = strchr(gap + 1, '\n') + 1, *before = gap;
    while (before[-1] != '\n')
        before--;
    assert_int_equal(strtoull(next, NULL, 10), strtoull(before, NULL, 10) + omitted + 1);
    assert_non_null(strstr(next, " main + "));
    assert_null(strstr(text, "incomplete"));
    free(text);
}

static void a_stack_of_before(void **state)
{
    (void)state;
    struct fw_frame frames[4] = {
        {.address = CODE_OF(asks_for_all) + 1, .kind = FW_FRAME_RETURN},
        {.address = CODE_OF(asks_for_main), .kind = FW_FRAME_EXACT, .flags = FW_FRAME_ASYNC},
        {.address = 16, .kind = FW_FRAME_RETURN},
    };
    struct fw_stack stack = {
        .frames = frames, .count = 3, .head = 1, .omitted = 5, .end = FW_END_LIMIT};
    char *text = fw_text_stack(&stack), tail[256];
    assert_non_null(text);
    assert_non_null(strstr(text, " asks_for_all + 1\n... 5 frames left out\n6   "));
    assert_non_null(strstr(text, " asks_for_main + 0 [async]\n7   ???  "));
    snprintf(tail, sizeof tail, " 0x0 + 16\nincomplete: %s\n", fw_end_text(FW_END_LIMIT));
    assert_string_equal(text + strlen(text) - strlen(tail), tail);
    free(text);
    stack = (struct fw_stack){.end = FW_END_ROOT};
    text = fw_text_stack(&stack);
    assert_string_equal(text, "");
    free(text);
}

static void symbols_of_a_backtrace(void **state)
{
    (void)state;
    void *addresses[64];
    int count = fw_backtrace(addresses, 64);
    assert_true(count > 2);
    char **lines = fw_backtrace_symbols(addresses, count);
    assert_non_null(lines);
    bool main_seen = false;
    for (int i = 0; i < count; i++) {
        unsigned index;
        uint64_t address, offset;
        char symbol[256];
        parse_line(lines[i], &index, &address, symbol, &offset);
        assert_int_equal(index, i);
        assert_int_equal(address, (uintptr_t)addresses[i]);
        main_seen |= strcmp(symbol, "main") == 0;
        assert_null(strchr(lines[i], '\n'));
    }
    assert_true(main_seen);
    free(lines);
}

/* The call that never returns is the last thing of its function: the address behind it belongs to
 * another one. */
static void a_call_at_the_end(void **state)
{
    (void)state;
    Dl_info info;
    void *end = (void *)CODE_OF(asks_for_main), *known[2] = {end, NULL};
    char **lines = fw_backtrace_symbols(known, 2);
    assert_non_null(lines);
    assert_null(strstr(lines[0], "asks_for_main"));
    assert_non_null(strstr(lines[1], "???"));
    free(lines);
    known[0] = (char *)end + 1;
    lines = fw_backtrace_symbols(known, 1);
    assert_non_null(lines);
    assert_non_null(strstr(lines[0], " asks_for_main + 1"));
    /* Without a symbol the offset counts from where the image begins, as dladdr says it. */
    assert_true(dladdr(end, &info) != 0);
    char *base = info.dli_fbase;
    free(lines);
    known[0] = base + 8;
    lines = fw_backtrace_symbols(known, 1);
    assert_non_null(lines);
    const char *name = strrchr(info.dli_fname, '/');
    char wanted[64];
    snprintf(wanted, sizeof wanted, " %.35s + 8", name ? name + 1 : info.dli_fname);
    assert_non_null(strstr(lines[0], wanted));
    free(lines);
}

static void no_addresses(void **state)
{
    (void)state;
    void *none[1] = {NULL};
    char **lines = fw_backtrace_symbols(none, 0);
    assert_non_null(lines);
    free(lines);
    assert_null(fw_backtrace_symbols(none, -1));
}

static _Atomic bool texts_enough;

static void *asks_again_and_again(void *unused)
{
    (void)unused;
    while (!texts_enough) {
        char *text = asks_for_this_thread();
        assert_true(text && frame_is(text, 0, "asks_for_this_thread"));
        free(text);
    }
    return NULL;
}

/* Images come and go meanwhile: what is loaded at the time of the call has its name. */
static void while_images_come_and_go(void **state)
{
    (void)state;
    pthread_t threads[3];
    texts_enough = false;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, asks_again_and_again, NULL), 0);
    for (int i = 0; i < 30; i++) {
        void *module = dlopen(MODULE_ONE, RTLD_NOW);
        assert_non_null(module);
        void *entry = dlsym(module, "module_entry"), *at[1] = {(void *)(CODE_OF(entry) + 1)};
        char **lines = fw_backtrace_symbols(at, 1);
        assert_non_null(lines);
        assert_non_null(strstr(lines[0], " module_entry + 1"));
        free(lines);
        dlclose(module);
        lines = fw_backtrace_symbols(at, 1);
        assert_non_null(lines);
        assert_non_null(strstr(lines[0], "???  "));
        free(lines);
    }
    texts_enough = true;
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
}

int main(void)
{
    LEAVE_UNDER_TSAN();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(this_thread),
        cmocka_unit_test(main_thread_from_itself),
        cmocka_unit_test(another_thread),
        cmocka_unit_test(main_thread_from_another),
        cmocka_unit_test(all_threads),
        cmocka_unit_test(no_such_thread),
        cmocka_unit_test(a_deep_stack),
        cmocka_unit_test(a_stack_of_before),
        cmocka_unit_test(symbols_of_a_backtrace),
        cmocka_unit_test(a_call_at_the_end),
        cmocka_unit_test(no_addresses),
        cmocka_unit_test(while_images_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
