/*
 * The stack of the calling thread by frame records alone. A record is two words at the frame
 * pointer: the caller's frame pointer, then the return address (x86 by convention; AAPCS64
 * section 6.4.6). Records lie further out the older they are; anything else ends the walk. The
 * record of a Swift async function leads to its contexts (unwind/async.h), which are the rest.
 */
#include "arch/arch.h"
#include "framewalk/capture.h"
#include "os/self_context.h"
#include "os/self_stack.h"
#include "unwind/async.h"
#include "unwind/stack_id.h"

struct record {
    ARCH_NATIVE_WORD next;
    ARCH_NATIVE_WORD return_address;
};

/* What a walk reads. Records up to `last` are read directly, others through checked memory. The
 * position itself stays with the caller, in a register: every load waits for the one before. */
struct chain {
    struct self_stack stack;
    uintptr_t last;
    ARCH_NATIVE_WORD code_mask;
    fw_end why;
    bool is_async; /* an async function came: go on with `async` */
    struct async_chain async;
};

static void chain_begin(struct chain *chain, uintptr_t fp)
{
    self_stack_begin(&chain->stack, fp);
    const uintptr_t end = self_stack_end(&chain->stack);
    chain->last = end > sizeof(struct record) ? end - sizeof(struct record) : 0;
    chain->code_mask = (ARCH_NATIVE_WORD)~self_pac_mask();
    chain->why = FW_END_ROOT;
    chain->is_async = false;
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
    if (fp % sizeof(ARCH_NATIVE_WORD) || (chain->stack.own && !on_other) ||
        !memory_read(&chain->stack.memory, fp, &record, sizeof record)) {
        chain->why = FW_END_BAD_MEMORY;
        return (struct record){0, 0};
    }
    return record;
}

/* Whether the tagged record at `fp` leads to contexts. */
static __attribute__((noinline)) bool enter_async(struct chain *chain, uintptr_t fp)
{
    chain->is_async =
        async_begin(&chain->async, &chain->stack.memory, fp, sizeof(void *), chain->code_mask);
    return chain->is_async;
}

/* The next suspended async function, 0 at the end of its contexts. */
static uintptr_t async_chain_next(struct chain *chain)
{
    uint64_t resume;
    enum unwind_status status = async_next(&chain->async, &chain->stack.memory, &resume);
    if (status == UNWIND_OK)
        return (uintptr_t)resume;
    chain->why = status == UNWIND_ROOT   ? FW_END_ROOT
                 : status == UNWIND_LOOP ? FW_END_LOOP
                                         : FW_END_BAD_MEMORY;
    return 0;
}

/* The next return address, 0 at the end of the records; *fp moves on to the record after it. */
static inline uintptr_t chain_next(struct chain *chain, uintptr_t last, uintptr_t *fp)
{
    struct record record;
    const uintptr_t at = *fp;
    if (at == 0)
        return 0;
    if (__builtin_expect(at <= last && at % sizeof(ARCH_NATIVE_WORD) == 0, 1))
        record = *(const struct record *)at;
    else
        record = read_elsewhere(chain, at);
    if (SELF_SWIFT_ASYNC && __builtin_expect(async_is_tagged(record.next), 0)) {
        if (enter_async(chain, at))
            return 0;
        record.next = (ARCH_NATIVE_WORD)async_untag(record.next);
    }
    if (__builtin_expect(record.next <= at && record.next != 0, 0)) {
        chain->why = FW_END_LOOP;
        record.next = 0; /* this frame is still good, nothing behind it */
    }
    *fp = (uintptr_t)record.next;
    return (uintptr_t)(record.return_address & chain->code_mask);
}

/* The async frames behind the records: stores those that `skip` and the room leave, returns how
 * many frames there are then. */
static __attribute__((noinline)) uint32_t walk_contexts(struct fw_stack *stack, struct chain *chain,
                                                        uint32_t count, uint32_t skip, uint64_t *id)
{
    uintptr_t address;
    while ((address = async_chain_next(chain)) != 0) {
        if (skip) {
            skip--;
            continue;
        }
        if (count == stack->capacity) {
            chain->why = FW_END_LIMIT;
            break;
        }
        stack->frames[count++] = (struct fw_frame){.address = address,
                                                   .kind = FW_FRAME_EXACT,
                                                   .method = FW_METHOD_ASYNC,
                                                   .flags = FW_FRAME_ASYNC};
        *id = stack_id_async_step(*id, address);
    }
    return count;
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
    if (SELF_SWIFT_ASYNC && chain.is_async)
        count = walk_contexts(stack, &chain, count, skip, &id);
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

/* A frame pointer register as an address: in the prologue of an async function it is tagged. */
static uintptr_t frame_address(const void *frame_pointer)
{
    const uintptr_t fp = (uintptr_t)frame_pointer;
    return SELF_SWIFT_ASYNC ? (uintptr_t)async_untag(fp) : fp;
}

uint32_t fw_capture_from_frame_pointer(struct fw_stack *stack, const void *frame_pointer)
{
    return walk_records(stack, frame_address(frame_pointer), 0);
}

int fw_backtrace_from_fp(void *start_fp, void **buffer, int size)
{
    struct chain chain;
    uintptr_t address, fp = frame_address(start_fp);
    int count = 0;
    chain_begin(&chain, fp);
    const uintptr_t last = chain.last;
    while (count < size && (address = chain_next(&chain, last, &fp)) != 0)
        buffer[count++] = (void *)address;
    while (SELF_SWIFT_ASYNC && chain.is_async && count < size &&
           (address = async_chain_next(&chain)) != 0)
        buffer[count++] = (void *)(address + 1); /* so that address - 1 lies in the function */
    return count;
}
