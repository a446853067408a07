/*
 * The walker over hostile tables, code, registers and stack. Besides not crashing, three walks must
 * agree: with an empty rule cache, with the rules that the first one left, and one that asks for
 * bare addresses.
 *
 * Input: architecture (bit 7: Swift async frames), register values, then four chunks (.eh_frame,
 * .ARM.exidx, code, stack, which also holds async contexts) with 16-bit lengths.
 */
#include "unwind.h"
#include "unwind/rule.h"
#include "unwind/walk.h"

enum {
    CODE = 0x10000,
    TABLE = 0x20000,
    EXIDX = 0x30000,
    STACK = 0x7000000,
    CAPACITY = 64,
    TAIL = 16,
    BITS = 6
};

static void walk(const struct walk_space *space, const struct memory *memory,
                 const struct regs *regs, void **addresses, struct fw_frame *frames,
                 struct fw_stack *stack)
{
    const struct walk_options options = {
        .exact_first = true, .max_walk = 2000, .addresses = addresses};
    *stack =
        (struct fw_stack){.frames = frames, .capacity = CAPACITY, .tail = addresses ? 0 : TAIL};
    walk_stack(space, memory, regs, &options, stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct arch *const archs[] = {&arch_x86_64, &arch_aarch64, &arch_arm, &arch_i386,
                                               &arch_arm64_32};
    struct reader r = reader_over(data, size);
    const uint8_t what = reader_u8(&r);
    const struct arch *arch = archs[(what & 0x7f) % 5];
    struct regs regs = {{0}, 0};
    for (unsigned i = 0; i < arch->reg_count; i++)
        regs_set(&regs, i, STACK + reader_u8(&r) * (uint64_t)arch->pointer_size);
    regs_set(&regs, arch->pc, CODE + reader_u16(&r) % 4096);

    struct unwind_image image = {.arch = arch, .lo = CODE, .hi = CODE + 0x10000};
    image.eh_frame = chunk(&r, TABLE);
    image.exidx = chunk(&r, EXIDX);
    image.extab = image.exidx;
    image.text = chunk(&r, CODE);
    struct unwind_section stack_bytes = chunk(&r, STACK);
    const struct memory memory = {.range = {{STACK, stack_bytes.size, stack_bytes.data}}};

    struct rule_cache *cache = calloc(1, RULE_CACHE_SIZE(BITS));
    if (!cache)
        abort();
    rule_cache_init(cache, BITS);
    const struct walk_space space = {.arch = arch,
                                     .find_image = find_image,
                                     .context = &image,
                                     .cache = cache,
                                     .swift_async = what & 0x80};

    struct fw_frame cold_frames[CAPACITY], warm_frames[CAPACITY];
    void *addresses[CAPACITY];
    struct fw_stack cold, warm, bare;
    walk(&space, &memory, &regs, NULL, cold_frames, &cold);
    walk(&space, &memory, &regs, NULL, warm_frames, &warm);
    walk(&space, &memory, &regs, addresses, NULL, &bare);
    if (cold.count > CAPACITY || cold.count != warm.count || cold.end != warm.end ||
        cold.id != warm.id || cold.omitted != warm.omitted ||
        memcmp(cold_frames, warm_frames, cold.count * sizeof *cold_frames) != 0)
        abort();
    for (uint32_t i = 0; i < cold.head && i < bare.count; i++)
        if ((uintptr_t)addresses[i] !=
            cold_frames[i].address + (cold_frames[i].flags & FW_FRAME_ASYNC ? 1 : 0))
            abort();

    free(cache);
    free((void *)image.eh_frame.data);
    free((void *)image.exidx.data);
    free((void *)image.text.data);
    free((void *)stack_bytes.data);
    return 0;
}
