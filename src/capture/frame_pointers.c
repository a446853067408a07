/*
 * The stack of the calling thread by frame records alone. A record is two words at the frame
 * pointer: the caller's frame pointer, then the return address (x86 by convention; AAPCS64
 * section 6.4.6). Records lie further out the older they are; anything else ends the walk.
 */
#include "arch/arch.h"
#include "framewalk/capture.h"
#include "os/linux/self_context.h"
#include "os/linux/self_stack.h"
#include "unwind/stack_id.h"

struct record {
    uintptr_t next;
    uintptr_t return_address;
};

/* The walk's position. Records inside [fp, end) are read directly, others through checked memory.
 */
struct chain {
    struct self_stack stack;
    uintptr_t fp, end;
    uintptr_t code_mask;
    fw_end why;
};

static void chain_begin(struct chain *chain, uintptr_t fp)
{
    self_stack_begin(&chain->stack, fp);
    chain->fp = fp;
    chain->end = self_stack_end(&chain->stack);
    chain->code_mask = (uintptr_t)~self_pac_mask();
    chain->why = FW_END_ROOT;
}

static __attribute__((noinline)) bool read_elsewhere(struct chain *chain, struct record *record)
{
    uintptr_t fp = chain->fp;
    bool own = chain->end > (uintptr_t)chain->stack.memory.range[0].lo;
    const struct memory_range *other = &chain->stack.memory.range[1];
    bool on_other = fp - other->lo < other->size;
    /* On the thread's own stack nothing lies beyond its end; another stack is followed page by
     * page. */
    if (fp % sizeof(uintptr_t) || (own && !on_other) ||
        !memory_read(&chain->stack.memory, fp, record, sizeof *record)) {
        chain->why = FW_END_BAD_MEMORY;
        return false;
    }
    return true;
}

/* The next return address, 0 at the end of the chain. */
static inline uintptr_t chain_next(struct chain *chain)
{
    struct record record;
    uintptr_t fp = chain->fp;
    if (fp == 0)
        return 0;
    if (__builtin_expect(
            fp < chain->end && chain->end - fp >= sizeof record && fp % sizeof(uintptr_t) == 0, 1))
        record = *(const struct record *)fp;
    else if (!read_elsewhere(chain, &record))
        return 0;
    if (__builtin_expect(record.next <= fp && record.next != 0, 0)) {
        chain->why = FW_END_LOOP;
        record.next = 0; /* this frame is still good, nothing behind it */
    }
    chain->fp = record.next;
    return record.return_address & chain->code_mask;
}

static uint32_t walk_records(struct fw_stack *stack, uintptr_t fp, uint32_t skip)
{
    struct chain chain;
    uint64_t id = STACK_ID_START;
    uint32_t count = 0;
    uintptr_t address;
    chain_begin(&chain, fp);
    while ((address = chain_next(&chain)) != 0) {
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
    return count;
}

/* Frame address 0 is this function's own record, whose return address lies in the caller. */
__attribute__((noinline)) uint32_t fw_capture_frame_pointers(struct fw_stack *stack, uint32_t skip)
{
    return walk_records(stack, (uintptr_t)__builtin_frame_address(0), skip);
}

uint32_t fw_capture_from_frame_pointer(struct fw_stack *stack, const void *frame_pointer)
{
    return walk_records(stack, (uintptr_t)frame_pointer, 0);
}

int fw_backtrace_from_fp(void *start_fp, void **buffer, int size)
{
    struct chain chain;
    uintptr_t address;
    int count = 0;
    chain_begin(&chain, (uintptr_t)start_fp);
    while (count < size && (address = chain_next(&chain)) != 0)
        buffer[count++] = (void *)address;
    return count;
}
