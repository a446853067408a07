/*
 * The stack of the calling thread by frame records alone. A record is two words at the frame
 * pointer: the caller's frame pointer, then the return address (x86 by convention; AAPCS64
 * section 6.4.6). Records lie further out the older they are; anything else ends the walk.
 */
#include "arch/arch.h"
#include "framewalk/capture.h"
#include "os/self_context.h"
#include "os/self_stack.h"
#include "unwind/stack_id.h"

struct record {
    uintptr_t next;
    uintptr_t return_address;
};

/* What a walk reads. Records up to `last` are read directly, others through checked memory. The
 * position itself stays with the caller, in a register: every load waits for the one before. */
struct chain {
    struct self_stack stack;
    uintptr_t last;
    uintptr_t code_mask;
    fw_end why;
};

static void chain_begin(struct chain *chain, uintptr_t fp)
{
    self_stack_begin(&chain->stack, fp);
    const uintptr_t end = self_stack_end(&chain->stack);
    chain->last = end > sizeof(struct record) ? end - sizeof(struct record) : 0;
    chain->code_mask = (uintptr_t)~self_pac_mask();
    chain->why = FW_END_ROOT;
}

/* The record at `fp`, which is not on the stack that the walk began on; zeros when there is none.
 */
static __attribute__((noinline)) struct record read_elsewhere(struct chain *chain, uintptr_t fp)
{
    struct record record = {0, 0};
    const struct memory_range *other = &chain->stack.memory.range[1];
    bool on_other = fp - other->lo < other->size;
    /* On the thread's own stack nothing lies beyond its end; another stack is followed page by
     * page. */
    if (fp % sizeof(uintptr_t) || (chain->stack.own && !on_other) ||
        !memory_read(&chain->stack.memory, fp, &record, sizeof record)) {
        chain->why = FW_END_BAD_MEMORY;
        return (struct record){0, 0};
    }
    return record;
}

/* The next return address, 0 at the end of the chain; *fp moves on to the record after it. */
static inline uintptr_t chain_next(struct chain *chain, uintptr_t last, uintptr_t *fp)
{
    struct record record;
    const uintptr_t at = *fp;
    if (at == 0)
        return 0;
    if (__builtin_expect(at <= last && at % sizeof(uintptr_t) == 0, 1))
        record = *(const struct record *)at;
    else
        record = read_elsewhere(chain, at);
    if (__builtin_expect(record.next <= at && record.next != 0, 0)) {
        chain->why = FW_END_LOOP;
        record.next = 0; /* this frame is still good, nothing behind it */
    }
    *fp = record.next;
    return record.return_address & chain->code_mask;
}

static uint32_t walk_records(struct fw_stack *stack, uintptr_t fp, uint32_t skip)
{
    struct chain chain;
    uint64_t id = STACK_ID_START;
    uint32_t count = 0;
    uintptr_t address;
    chain_begin(&chain, fp);
    const uintptr_t last = chain.last;
    while ((address = chain_next(&chain, last, &fp)) != 0) {
        if (skip) {
            skip--;
            continue;
        }
        if (count == stack->capacity) {
            chain.why = FW_END_LIMIT;
            break;
        }
        stack->frames[count++] = (struct fw_frame){
            .address = address, .kind = FW_FRAME_RETURN, .method = FW_METHOD_FRAME_POINTER};
        id = stack_id_step(id, address);
    }
    stack->count = stack->head = count;
    stack->omitted = 0;
    stack->id = id;
    stack->end = (uint8_t)chain.why;
    stack->unavailable = FW_AVAILABLE;
    return count;
}

/* Frame address 0 is this function's own record, whose return address lies in the caller. The walk
 * must not become a tail call: the record would be gone. */
__attribute__((noinline)) uint32_t fw_capture_frame_pointers(struct fw_stack *stack, uint32_t skip)
{
    uint32_t count = walk_records(stack, (uintptr_t)__builtin_frame_address(0), skip);
    __asm__ volatile("" : "+r"(count));
    return count;
}

uint32_t fw_capture_from_frame_pointer(struct fw_stack *stack, const void *frame_pointer)
{
    return walk_records(stack, (uintptr_t)frame_pointer, 0);
}

int fw_backtrace_from_fp(void *start_fp, void **buffer, int size)
{
    struct chain chain;
    uintptr_t address, fp = (uintptr_t)start_fp;
    int count = 0;
    chain_begin(&chain, fp);
    const uintptr_t last = chain.last;
    while (count < size && (address = chain_next(&chain, last, &fp)) != 0)
        buffer[count++] = (void *)address;
    return count;
}
