/*
 * The stack of the calling thread (framewalk/capture.h): registers by an assembly entry or from a
 * signal's context, memory and images of this process, and the walker. Everything here is
 * async-signal-safe but fw_images_refresh.
 */
#include "capture/self.h"

#include "arch/entry.h"
#include "framewalk/capture.h"
#include "os/self_context.h"
#include "os/self_stack.h"
#include "unwind/async.h"
#include "unwind/rule.h"

enum { CACHE_BITS = 13 };

static struct rule_slot cache_slots[1 << CACHE_BITS];
static struct rule_cache cache = {.mask = (1 << CACHE_BITS) - 1, .slot = cache_slots};

void self_space(struct self_images *images, struct walk_space *space)
{
    self_images_begin(images);
    *space = (struct walk_space){.arch = &ARCH_NATIVE,
                                 .find_image = self_images_find,
                                 .context = images,
                                 .cache = &cache,
                                 .pac_mask = self_pac_mask(),
                                 .is_code = self_images_is_code,
                                 .swift_async = SELF_SWIFT_ASYNC,
                                 .sigtramp = self_sigtramp()};
}

static void walk_self(struct fw_stack *stack, const struct regs *regs,
                      const struct walk_options *options)
{
    struct self_images images;
    struct walk_space space;
    struct self_stack memory;
    self_space(&images, &space);
    self_stack_begin(&memory, (uintptr_t)regs->r[ARCH_NATIVE.sp]);
    walk_stack(&space, &memory.memory, regs, options, stack);
    self_images_end(&images);
}

/* Called by the assembly entries with the registers of their callers. */
uint32_t capture_from_entry(struct fw_stack *stack, uintptr_t skip, const ARCH_NATIVE_WORD *saved);
int capture_addresses_from_entry(void **buffer, intptr_t size, const ARCH_NATIVE_WORD *saved);

__attribute__((used)) uint32_t capture_from_entry(struct fw_stack *stack, uintptr_t skip,
                                                  const ARCH_NATIVE_WORD *saved)
{
    struct regs regs;
    entry_regs(saved, &regs);
    const struct walk_options options = {.skip = (uint32_t)skip};
    walk_self(stack, &regs, &options);
    return stack->count;
}

FW_ENTRY(fw_capture, capture_from_entry);

__attribute__((used)) int capture_addresses_from_entry(void **buffer, intptr_t size,
                                                       const ARCH_NATIVE_WORD *saved)
{
    int capacity = (int)size;
    if (!buffer || capacity <= 0)
        return 0;
    struct regs regs;
    entry_regs(saved, &regs);
    struct fw_stack stack = {.capacity = (uint32_t)capacity};
    const struct walk_options options = {.addresses = buffer};
    walk_self(&stack, &regs, &options);
    return (int)stack.count;
}

FW_ENTRY(fw_backtrace, capture_addresses_from_entry);

uint32_t fw_capture_context(struct fw_stack *stack, const void *ucontext, uint32_t skip)
{
    struct regs regs;
    self_context_regs(ucontext, &regs);
    const struct walk_options options = {.skip = skip, .exact_first = true};
    walk_self(stack, &regs, &options);
    return stack->count;
}

static void forget_rules(void)
{
    rule_cache_clear(&cache);
}

void fw_images_refresh(void)
{
    self_images_refresh(forget_rules);
}

/* So that images are known before the first capture, which may be in a signal handler. */
static __attribute__((constructor)) void learn_images_at_start(void)
{
    fw_images_refresh();
}
