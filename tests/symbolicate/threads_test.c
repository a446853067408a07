/*
 * One source, many threads: cold, when each question makes a small map; while one of them makes the
 * whole map; and warm. Several sources of one symbolicator at the same time. Under the thread
 * sanitizer this proves that nothing is shared without care; the answers are compared everywhere.
 */
#include "symbolicate/programs.h"

#include <pthread.h>

#include "support/sanitizers.h"

enum { THREADS = 8, ROUNDS = 6, STACK = 4 };

static struct fw_symbolicator *symbolicator;

struct program {
    struct functions functions;
    struct fw_source *source;
    struct fw_address addresses[MANY];
    struct fw_symbols *expected;
};

static void program_open(struct program *p, const char *path)
{
    read_functions(path, &p->functions);
    many_addresses(&p->functions, p->addresses);
    struct fw_source *other = open_source(symbolicator, path);
    assert_int_equal(fw_symbolicate(other, p->addresses, MANY, &p->expected, NULL), FW_OK);
    fw_source_close(other);
    p->source = open_source(symbolicator, path);
}

static void program_close(struct program *p)
{
    fw_source_close(p->source);
    fw_symbols_free(p->expected);
}

struct worker {
    pthread_t thread;
    struct program *programs;
    size_t program_count;
    unsigned number;
    size_t wrong;
};

static void ask(struct worker *w, struct program *p, size_t first, size_t count)
{
    struct fw_symbols *symbols;
    if (fw_symbolicate(p->source, p->addresses + first, count, &symbols, NULL) != FW_OK) {
        w->wrong++;
        return;
    }
    for (size_t i = 0; i < count; i++)
        w->wrong += !same_answer(&symbols->items[i], &p->expected->items[first + i]);
    fw_symbols_free(symbols);
}

/* A made-up stack: what matters is that frames and reasons are right. */
static void ask_stack(struct worker *w, struct program *p, size_t first)
{
    struct fw_stack_address stack[STACK] = {{0}};
    struct fw_symbols *symbols;
    for (size_t i = 0; i < STACK - 1; i++)
        stack[i] = (struct fw_stack_address){p->source, p->addresses[first + i]};
    if (fw_symbolicate_stack(stack, STACK, &symbols, NULL) != FW_OK) {
        w->wrong++;
        return;
    }
    for (size_t i = 0; i < STACK - 1; i++)
        w->wrong += !same_answer(&symbols->items[i], &p->expected->items[first + i]);
    w->wrong += symbols->items[STACK - 1].reason != FW_REASON_UNKNOWN_FILE;
    fw_symbols_free(symbols);
}

static void *work(void *context)
{
    struct worker *w = context;
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct program *p = &w->programs[(w->number + round) % w->program_count];
        size_t first = (w->number * 37 + round * 11) % (MANY - STACK);
        struct fw_source_info info = {.size = sizeof info};
        w->wrong += fw_source_info(p->source, &info) != FW_OK;
        ask(w, p, first, 3);
        ask_stack(w, p, first);
    }
    ask(w, &w->programs[w->number % w->program_count], 0, MANY);
    return NULL;
}

static void run_all(struct program *p, size_t count)
{
    struct worker workers[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.programs = p, .program_count = count, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
    }
    size_t wrong = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        wrong += workers[i].wrong;
    }
    assert_int_equal(wrong, 0);
}

static void one_source_cold_and_warm(void **state)
{
    (void)state;
    static struct program p;
    program_open(&p, programs[0]);
    run_all(&p, 1);
    run_all(&p, 1);
    program_close(&p);
}

static void several_sources(void **state)
{
    (void)state;
    static struct program p[PROGRAM_COUNT];
    for (size_t i = 0; i < PROGRAM_COUNT; i++)
        program_open(&p[i], programs[i]);
    run_all(p, PROGRAM_COUNT);
    for (size_t i = 0; i < PROGRAM_COUNT; i++)
        program_close(&p[i]);
}

static void *open_and_ask(void *context)
{
    struct program *p = context;
    struct worker w = {0};
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct program own = *p;
        own.source = open_source(symbolicator, programs[0]);
        ask(&w, &own, round, round % 2 ? MANY - round : 1);
        fw_source_close(own.source);
    }
    return w.wrong ? p : NULL;
}

static void sources_are_opened_and_closed_by_all(void **state)
{
    (void)state;
    static struct program p;
    program_open(&p, programs[0]);
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, open_and_ask, &p), 0);
    for (unsigned i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    program_close(&p);
}

/* A thread that is cancelled in the middle leaves the source usable to the others. */
static void *ask_until_cancelled(void *context)
{
    struct worker w = {0};
    struct program *p = context;
    for (;;) {
        pthread_testcancel();
        ask(&w, p, 0, 2);
    }
    return NULL;
}

static void cancelled_threads_leave_no_lock(void **state)
{
    (void)state;
    static struct program p;
    for (int times = 0; times < 3; times++) {
        program_open(&p, programs[0]);
        pthread_t thread;
        assert_int_equal(pthread_create(&thread, NULL, ask_until_cancelled, &p), 0);
        struct worker w = {0};
        ask(&w, &p, 0, 2);
        pthread_cancel(thread);
        assert_int_equal(pthread_join(thread, NULL), 0);
        ask(&w, &p, 0, MANY);
        assert_int_equal(w.wrong, 0);
        program_close(&p);
    }
}

static void *ask_everything(void *context)
{
    struct program *p = context;
    struct worker w = {0};
    ask(&w, p, 0, 2);
    ask_stack(&w, p, 7);
    ask(&w, p, 0, MANY);
    return w.wrong ? p : NULL;
}

/* Only names that nest deeply need the stack that the header speaks of. */
static void usual_names_need_little_stack(void **state)
{
    (void)state;
    if (UNDER_ASAN || UNDER_TSAN) /* their frames are larger */
        skip();
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        static struct program p;
        program_open(&p, programs[i]);
        pthread_attr_t attributes;
        pthread_t thread;
        void *wrong;
        assert_int_equal(pthread_attr_init(&attributes), 0);
        assert_int_equal(pthread_attr_setstacksize(&attributes, 128 << 10), 0);
        assert_int_equal(pthread_create(&thread, &attributes, ask_everything, &p), 0);
        assert_int_equal(pthread_join(thread, &wrong), 0);
        assert_null(wrong);
        pthread_attr_destroy(&attributes);
        program_close(&p);
    }
}

static int set_up(void **state)
{
    (void)state;
    const struct fw_symbolicator_options options = {
        .size = sizeof options, .cache_folder = "", .threads = 2, .no_debuginfod = true};
    return fw_symbolicator_create(&options, &symbolicator) != FW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    fw_symbolicator_destroy(symbolicator);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_source_cold_and_warm),
        cmocka_unit_test(several_sources),
        cmocka_unit_test(sources_are_opened_and_closed_by_all),
        cmocka_unit_test(cancelled_threads_leave_no_lock),
        cmocka_unit_test(usual_names_need_little_stack),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
