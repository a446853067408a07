/* capture/stack_table.c and unwind/stack_id.h. */
#include "framewalk/framewalk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

/* --- ids ----------------------------------------------------------------------------------- */

static int compare_ids(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static size_t duplicates(uint64_t *ids, size_t count)
{
    size_t n = 0;
    qsort(ids, count, sizeof *ids, compare_ids);
    for (size_t i = 1; i < count; i++)
        n += ids[i] == ids[i - 1];
    return n;
}

/* One function calling itself, from itself, from two that take turns: every depth is another stack.
 */
static void recursion(void **state)
{
    (void)state;
    enum { DEPTH = 1000, SITES = 300 };
    static struct fw_frame frames[DEPTH];
    static uint64_t ids[DEPTH * SITES * 2];
    size_t n = 0;
    for (uint64_t site = 0; site < SITES; site++)
        for (uint64_t turns = 0; turns < 2; turns++) {
            for (uint32_t i = 0; i < DEPTH; i++)
                frames[i].address = 0x401000 + site * 5 + (i & turns) * 0x1000;
            for (uint32_t depth = 2; depth < DEPTH; depth += 3)
                ids[n++] = fw_stack_id(frames, depth);
        }
    assert_true(n > 190000);
    assert_int_equal(duplicates(ids, n), 0);
}

static void swap(struct fw_frame *a, struct fw_frame *b)
{
    struct fw_frame was = *a;
    *a = *b;
    *b = was;
}

/* All orders of nine frames (Heap's algorithm). */
static size_t permute(struct fw_frame *frames, size_t count, size_t size, uint64_t *ids, size_t n)
{
    if (size <= 1) {
        ids[n] = fw_stack_id(frames, count);
        return n + 1;
    }
    for (size_t i = 0; i < size; i++) {
        n = permute(frames, count, size - 1, ids, n);
        swap(&frames[size % 2 ? 0 : i], &frames[size - 1]);
    }
    return n;
}

static void permutations(void **state)
{
    (void)state;
    enum { FRAMES = 9, ORDERS = 362880 };
    static const uint64_t strides[] = {1, 4, 16, 0x1000, 0x100000000, 0x123457};
    static uint64_t ids[6 * ORDERS];
    size_t n = 0;
    for (size_t s = 0; s < 6; s++) {
        struct fw_frame frames[FRAMES] = {{0}};
        for (uint64_t i = 0; i < FRAMES; i++)
            frames[i].address = 0x7f0000001000 + s * 0x77000 + i * strides[s];
        n = permute(frames, FRAMES, FRAMES, ids, n);
    }
    assert_int_equal(n, 6 * ORDERS);
    assert_int_equal(duplicates(ids, n), 0);
}

/* Stacks as programs have them: a tree of calls where each function calls few others. */
static void call_trees(void **state)
{
    (void)state;
    enum { STACKS = 2000000 };
    uint64_t *ids = malloc(STACKS * sizeof *ids);
    struct fw_frame frames[24] = {{0}};
    assert_non_null(ids);
    for (uint64_t i = 0; i < STACKS; i++) {
        for (uint64_t level = 0; level < 24; level++) /* the number's digits are the way taken */
            frames[23 - level].address = 0x400000 + level * 64 + (i >> level & 1) * 8;
        ids[i] = fw_stack_id(frames, 24);
    }
    size_t same = duplicates(ids, STACKS);
    free(ids);
    assert_int_equal(same, 0);
}

static void id_of_a_walk(void **state)
{
    (void)state;
    struct fw_frame frames[128];
    struct fw_stack stack = {.frames = frames, .capacity = 128};
    assert_true(fw_capture(&stack, 0) > 0);
    assert_int_equal(stack.omitted, 0);
    assert_int_equal(stack.id, fw_stack_id(frames, stack.count));
    assert_int_not_equal(stack.id, fw_stack_id(frames, stack.count - 1));
}

/* --- the table ----------------------------------------------------------------------------- */

enum { DEPTH = 8 };

static _Alignas(16) char memory[1 << 20];

/* The stack with the number `n`. */
static struct fw_stack numbered(uint64_t n, struct fw_frame *frames)
{
    for (uint64_t i = 0; i < DEPTH; i++)
        frames[i] = (struct fw_frame){.address = 0x1000 + n * 16 + i, .kind = FW_FRAME_RETURN};
    struct fw_stack stack = {.frames = frames, .capacity = DEPTH, .count = DEPTH, .head = DEPTH};
    stack.end = FW_END_ROOT;
    stack.id = fw_stack_id(frames, DEPTH);
    return stack;
}

static uint64_t number_of(const struct fw_stack_entry *entry)
{
    return (entry->frames[0].address - 0x1000) / 16;
}

static void layout(void **state)
{
    (void)state;
    assert_null(fw_stack_table_init(NULL, 4096, 0));
    assert_null(fw_stack_table_init(memory, 4095, 0));
    assert_null(fw_stack_table_init(memory + 8, 4096, 0));
    assert_null(fw_stack_table_init(memory, 4096, 4096 / 16));
    assert_null(fw_stack_table_init(memory, 4096, UINT32_MAX));
    assert_non_null(fw_stack_table_init(memory, 4096, 0));
    assert_non_null(fw_stack_table_init(memory, 4096, 1));
    for (size_t size = 4096; size < 9000; size += 7) { /* never outside of its memory */
        memset(memory, 0x5a, sizeof memory);
        struct fw_stack_table *table = fw_stack_table_init(memory, size, (uint32_t)(size % 40));
        assert_non_null(table);
        struct fw_frame frames[DEPTH];
        for (uint64_t n = 0; n < 400; n++) {
            struct fw_stack stack = numbered(n, frames);
            fw_stack_table_add(table, &stack, 1, NULL);
        }
        for (size_t i = size; i < size + 64; i++)
            assert_int_equal(memory[i], 0x5a);
    }
}

static void counts_once(void **state)
{
    (void)state;
    struct fw_stack_table *table = fw_stack_table_init(memory, sizeof memory, DEPTH);
    struct fw_frame frames[DEPTH];
    for (uint64_t round = 0; round < 3; round++)
        for (uint64_t n = 0; n < 1000; n++) {
            struct fw_stack stack = numbered(n, frames);
            uint32_t index = UINT32_MAX;
            assert_int_equal(fw_stack_table_add(table, &stack, n + 1, &index), FW_OK);
            assert_int_equal(index, n);
        }
    assert_int_equal(fw_stack_table_count(table), 1000);
    assert_int_equal(fw_stack_table_dropped(table), 0);
    struct fw_stack_entry entry;
    for (uint32_t n = 0; n < 1000; n++) {
        assert_int_equal(fw_stack_table_get(table, n, &entry), FW_OK);
        struct fw_stack stack = numbered(n, frames);
        assert_int_equal(entry.id, stack.id);
        assert_int_equal(entry.count, 3 * (n + 1));
        assert_int_equal(entry.frame_count, DEPTH);
        assert_int_equal(entry.head, DEPTH);
        assert_int_equal(entry.end, FW_END_ROOT);
        assert_memory_equal(entry.frames, frames, sizeof frames);
    }
    assert_int_equal(fw_stack_table_get(table, 1000, &entry), FW_ERR_NOT_FOUND);
}

static void unusual_stacks(void **state)
{
    (void)state;
    struct fw_stack_table *table = fw_stack_table_init(memory, sizeof memory, DEPTH);
    struct fw_frame frames[DEPTH];
    struct fw_stack stack = numbered(5, frames);
    struct fw_stack_entry entry;
    stack.id = 0;
    stack.head = 6;
    stack.omitted = UINT64_MAX / 2;
    assert_int_equal(fw_stack_table_add(table, &stack, 7, NULL), FW_OK);
    assert_int_equal(fw_stack_table_add(table, &stack, 1, NULL), FW_OK);
    assert_int_equal(fw_stack_table_get(table, 0, &entry), FW_OK);
    assert_int_equal(entry.id, 0);
    assert_int_equal(entry.count, 8);
    assert_int_equal(entry.head, 6);
    assert_int_equal(entry.omitted, UINT64_MAX / 2);
    struct fw_stack none = {.end = FW_END_UNAVAILABLE, .id = 1};
    assert_int_equal(fw_stack_table_add(table, &none, 1, NULL), FW_OK);
    assert_int_equal(fw_stack_table_get(table, 1, &entry), FW_OK);
    assert_int_equal(entry.frame_count, 0);
    stack.head = DEPTH + 1;
    assert_int_equal(fw_stack_table_add(table, &stack, 1, NULL), FW_ERR_ARGUMENT);
}

static void full(void **state)
{
    (void)state;
    struct fw_stack_table *table = fw_stack_table_init(memory, 8192, DEPTH);
    struct fw_frame frames[DEPTH];
    uint64_t n = 0;
    struct fw_stack stack = numbered(0, frames);
    while (fw_stack_table_add(table, &stack, 1, NULL) == FW_OK)
        stack = numbered(++n, frames);
    assert_in_range(n, 30, 60);
    assert_int_equal(fw_stack_table_count(table), n);
    assert_int_equal(fw_stack_table_dropped(table), 1);
    assert_int_equal(fw_stack_table_add(table, &stack, 9, NULL), FW_ERR_FULL);
    assert_int_equal(fw_stack_table_dropped(table), 10);
    stack = numbered(0, frames); /* those that are in it still count */
    assert_int_equal(fw_stack_table_add(table, &stack, 2, NULL), FW_OK);
    struct fw_stack_entry entry;
    assert_int_equal(fw_stack_table_get(table, 0, &entry), FW_OK);
    assert_int_equal(entry.count, 3);
}

/* --- many at once, signal handlers among them ---------------------------------------------- */

enum { ADDERS = 4, STACKS = 700, TIMES = 40000 };

static struct fw_stack_table *shared;
static _Atomic uint64_t added, interrupting;

static void add(uint64_t n)
{
    struct fw_frame frames[DEPTH];
    struct fw_stack stack = numbered(n, frames);
    uint32_t index = UINT32_MAX;
    struct fw_stack_entry entry;
    if (fw_stack_table_add(shared, &stack, 1, &index) != FW_OK)
        abort();
    if (fw_stack_table_get(shared, index, &entry) == FW_OK && number_of(&entry) != n)
        abort();
    added++;
}

static void on_timer(int signal)
{
    (void)signal;
    uint64_t n = interrupting++;
    for (uint64_t i = 0; i < 5; i++)
        add((n * 5 + i) % STACKS);
}

static void *add_many(void *context)
{
    uint64_t n = (uintptr_t)context;
    for (int i = 0; i < TIMES; i++) {
        n = n * 6364136223846793005u + 1442695040888963407u;
        add((n >> 33) % STACKS);
    }
    return NULL;
}

static void from_everywhere(void **state)
{
    (void)state;
    shared = fw_stack_table_init(memory, sizeof memory, DEPTH);
    added = 0;
    struct sigaction action = {.sa_handler = on_timer, .sa_flags = SA_RESTART};
    sigaction(SIGPROF, &action, NULL);
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_PROF, &often, NULL);
    pthread_t threads[ADDERS];
    for (uintptr_t i = 0; i < ADDERS; i++)
        pthread_create(&threads[i], NULL, add_many, (void *)(i + 1));
    for (int i = 0; i < ADDERS; i++)
        pthread_join(threads[i], NULL);
    setitimer(ITIMER_PROF, &never, NULL);

    static unsigned times_seen[STACKS];
    uint64_t sum = 0;
    for (uint32_t i = 0; i < fw_stack_table_count(shared); i++) {
        struct fw_stack_entry entry;
        if (fw_stack_table_get(shared, i, &entry) != FW_OK)
            continue; /* two were faster than one with the same stack */
        sum += entry.count;
        times_seen[number_of(&entry)]++;
    }
    assert_int_equal(sum, added);
    for (int i = 0; i < STACKS; i++)
        assert_int_equal(times_seen[i], 1);
    assert_int_equal(fw_stack_table_dropped(shared), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recursion),       cmocka_unit_test(permutations),
        cmocka_unit_test(call_trees),      cmocka_unit_test(id_of_a_walk),
        cmocka_unit_test(layout),          cmocka_unit_test(counts_once),
        cmocka_unit_test(unusual_stacks),  cmocka_unit_test(full),
        cmocka_unit_test(from_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
