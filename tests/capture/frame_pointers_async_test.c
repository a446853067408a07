/*
 * Walks of frame pointers alone over records of Swift async functions: capture/frame_pointers.c as
 * it is compiled where such records exist, over records made by hand on this thread's stack and on
 * another one.
 */
#define SELF_SWIFT_ASYNC              true
#define fw_capture_frame_pointers     async_capture_frame_pointers
#define fw_capture_from_frame_pointer async_capture_from_frame_pointer
#define fw_backtrace_from_fp          async_backtrace_from_fp
#include "capture/frame_pointers.c" /* the test's own copy */

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "framewalk/stack_table.h"

#define TAG ((uint64_t)1 << 60)

enum { RECORDS = 8, CONTEXTS = 40 };

/* As on the stack of an async function: its context lies below the record. */
struct extended {
    uint64_t context, fp, return_address;
};

struct stacks {
    struct extended record[RECORDS];
    uint64_t (*context)[2];
};

static uint64_t resume_of(unsigned i)
{
    return 0x2000 + 16 * i;
}

/* RECORDS records, of which `first_async` and one further out are async, and `count` contexts. */
static void build(struct stacks *s, unsigned first_async, unsigned count)
{
    memset(s->record, 0xee, sizeof s->record);
    for (unsigned i = 0; i < RECORDS; i++) {
        uint64_t next = i + 1 < RECORDS ? (uintptr_t)&s->record[i + 1].fp : 0;
        bool is_async = i == first_async || i == first_async + 2;
        s->record[i].return_address = 0x1000 + i;
        s->record[i].fp = next | (is_async ? TAG : 0);
        if (is_async)
            s->record[i].context = count ? (uintptr_t)s->context[0] : 0;
    }
    for (unsigned i = 0; i < count; i++) {
        s->context[i][0] = i + 1 < count ? (uintptr_t)s->context[i + 1] : 0;
        s->context[i][1] = resume_of(i);
    }
}

/* `records` frames of records, then `contexts` of the chain. */
static void expect(const struct stacks *s, unsigned records, unsigned contexts, fw_end end)
{
    struct fw_frame frames[RECORDS + 2 * CONTEXTS];
    void *addresses[RECORDS + 2 * CONTEXTS];
    const unsigned room = RECORDS + 2 * CONTEXTS;
    struct fw_stack stack = {.frames = frames, .capacity = room};
    assert_int_equal(fw_capture_from_frame_pointer(&stack, &s->record[0].fp), records + contexts);
    assert_int_equal(stack.end, end);
    assert_int_equal(stack.id, fw_stack_id(frames, stack.count));
    const int count = fw_backtrace_from_fp((void *)&s->record[0].fp, addresses, (int)room);
    assert_int_equal(count, records + contexts);
    for (unsigned i = 0; i < records + contexts; i++) {
        bool is_async = i >= records;
        const struct fw_frame as = {
            .address = is_async ? resume_of(i - records) : 0x1000 + i,
            .kind = is_async ? FW_FRAME_EXACT : FW_FRAME_RETURN,
            .method = is_async ? FW_METHOD_ASYNC : FW_METHOD_FRAME_POINTER,
            .flags = is_async ? FW_FRAME_ASYNC : 0,
        };
        assert_memory_equal(&frames[i], &as, sizeof as);
        assert_int_equal((uintptr_t)addresses[i], as.address + is_async);
    }
}

static void chains(struct stacks *s)
{
    for (unsigned first = 0; first < RECORDS; first++) {
        build(s, first, CONTEXTS);
        expect(s, first, CONTEXTS, FW_END_ROOT);
        build(s, first, 1);
        expect(s, first, 1, FW_END_ROOT);
        build(s, first, 0); /* none of them has a context */
        expect(s, RECORDS, 0, FW_END_ROOT);
    }
}

static void on_this_stack(void **state)
{
    struct stacks s = {.context = *state};
    chains(&s);
}

static void on_another_stack(void **state)
{
    struct stacks *s = malloc(sizeof *s);
    assert_non_null(s);
    s->context = *state;
    chains(s);
    free(s);
}

static void broken_chains(void **state)
{
    struct stacks s = {.context = *state};
    build(&s, 2, CONTEXTS);
    s.context[5][0] = 64; /* not mapped */
    expect(&s, 2, 6, FW_END_BAD_MEMORY);
    s.context[5][0] = (uintptr_t)s.context[6] + 4;
    expect(&s, 2, 6, FW_END_BAD_MEMORY);
    s.context[5][1] = 0;
    expect(&s, 2, 5, FW_END_ROOT);
    build(&s, 2, 5);
    s.context[4][0] = (uintptr_t)s.context[4];
    s.record[4].context = 64;
    struct fw_frame frames[64];
    struct fw_stack stack = {.frames = frames, .capacity = 64};
    fw_capture_from_frame_pointer(&stack, &s.record[0].fp);
    assert_int_equal(stack.end, FW_END_LOOP);
    assert_in_range(stack.count, 2 + 5, 2 + 3 * 5);
    s.record[2].context = 64;
    expect(&s, 2, 0, FW_END_BAD_MEMORY);
}

static void room_and_skip(void **state)
{
    struct stacks s = {.context = *state};
    build(&s, 2, 5);
    for (uint32_t capacity = 0; capacity < 9; capacity++) {
        struct fw_frame frames[9];
        void *addresses[9];
        struct fw_stack stack = {.frames = frames, .capacity = capacity};
        const uint32_t shown = capacity < 7 ? capacity : 7;
        assert_int_equal(fw_capture_from_frame_pointer(&stack, &s.record[0].fp), shown);
        assert_int_equal(stack.end, capacity < 7 ? FW_END_LIMIT : FW_END_ROOT);
        assert_int_equal(fw_backtrace_from_fp(&s.record[0].fp, addresses, (int)capacity), shown);
    }
    /* The records of the test itself lie further out than these: skip into the contexts. */
    struct fw_frame frames[9];
    struct fw_stack stack = {.frames = frames, .capacity = 9};
    assert_int_equal(walk_records(&stack, (uintptr_t)&s.record[0].fp, 4), 3);
    assert_int_equal(frames[0].address, resume_of(2));
}

/* In the prologue of an async function the register is tagged; the record it points to is the
 * caller's. */
static void tagged_register(void **state)
{
    struct stacks s = {.context = *state};
    build(&s, 1, 2);
    struct fw_frame frames[9];
    struct fw_stack stack = {.frames = frames, .capacity = 9};
    const void *fp = (const void *)((uintptr_t)&s.record[0].fp | (uintptr_t)TAG);
    assert_int_equal(fw_capture_from_frame_pointer(&stack, fp), 3);
    assert_int_equal(frames[0].address, 0x1000);
}

static int make_contexts(void **state)
{
    *state = calloc(CONTEXTS, sizeof(uint64_t[2]));
    return *state == NULL;
}

static int free_contexts(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    if (sizeof(void *) == 4)
        return 77; /* no such records there */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_this_stack),   cmocka_unit_test(on_another_stack),
        cmocka_unit_test(broken_chains),   cmocka_unit_test(room_and_skip),
        cmocka_unit_test(tagged_register),
    };
    return cmocka_run_group_tests(tests, make_contexts, free_contexts);
}
