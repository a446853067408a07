/*
 * Hostile Mach-O images under the unwinder, for each of Apple's architectures: __unwind_info,
 * __eh_frame, LC_FUNCTION_STARTS, stubs and code. Whatever they hold, an answer is a row around the
 * address that the walker can use, and a walk ends, the same with an empty rule cache as with the
 * rules that the first one left.
 *
 * Input: architecture, where __stubs lies, pc, register values; then five chunks (__unwind_info,
 * __eh_frame, function starts, code, stack) with 16-bit lengths.
 */
#include "unwind.h"
#include "unwind/compact.h"
#include "unwind/rule.h"
#include "unwind/sources.h"
#include "unwind/walk.h"

enum {
    BASE = 0x10000,
    CODE = 0x11000,
    FRAMES = 0x30000,
    STACK = 0x7000000,
    CAPACITY = 32,
    BITS = 5
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(const struct unwind_image *image, uint64_t vaddr)
{
    struct compact_entry entry;
    struct unwind_row row;
    if (compact_lookup(image, vaddr, &entry) == UNWIND_OK)
        expect(entry.lo <= vaddr && vaddr < entry.hi);
    if (compact_find(image, vaddr, &row) != UNWIND_OK)
        return;
    expect(row.lo <= vaddr && vaddr < row.hi);
    expect(row.ra_reg < image->arch->reg_count);
    expect(row.cfa_how != CFA_REG || row.cfa_reg < image->arch->reg_count);
    analysis_correct(image, vaddr, true, &row);
    expect(row.ra_reg < image->arch->reg_count);
}

static void walk(const struct walk_space *space, const struct memory *memory,
                 const struct regs *regs, struct fw_frame *frames, struct fw_stack *stack)
{
    const struct walk_options options = {.exact_first = true, .max_walk = 500};
    *stack = (struct fw_stack){.frames = frames, .capacity = CAPACITY};
    walk_stack(space, memory, regs, &options, stack);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct arch *const archs[] = {&arch_x86_64, &arch_aarch64, &arch_arm_apple,
                                               &arch_i386, &arch_arm64_32};
    struct reader r = reader_over(data, size);
    const struct arch *arch = archs[reader_u8(&r) % 5];
    uint8_t stubs = reader_u8(&r);
    struct regs regs = {{0}, 0};
    uint64_t pc = CODE + reader_u16(&r) % 4096;
    for (unsigned i = 0; i < arch->reg_count; i++)
        regs_set(&regs, i, STACK + reader_u8(&r) * (uint64_t)arch->register_size);
    regs_set(&regs, arch->pc, pc);

    struct unwind_image image = {
        .arch = arch, .macho = true, .lo = BASE, .hi = BASE + 0x10000, .header = BASE};
    image.unwind_info = chunk(&r, BASE + 0x8000);
    image.eh_frame = chunk(&r, FRAMES);
    image.function_starts = chunk(&r, 0);
    image.text = chunk(&r, CODE);
    if (image.text.size > stubs)
        image.plt[0] =
            (struct unwind_section){image.text.data + stubs, image.text.size - stubs, CODE + stubs};
    struct unwind_section stack_bytes = chunk(&r, STACK);
    const struct memory memory = {.range = {{STACK, stack_bytes.size, stack_bytes.data}}};

    for (uint64_t at = CODE - 2; at < CODE + 256; at += 2)
        ask(&image, at);

    struct rule_cache *cache = calloc(1, RULE_CACHE_SIZE(BITS));
    expect(cache);
    rule_cache_init(cache, BITS);
    const struct walk_space space = {
        .arch = arch, .find_image = find_image, .context = &image, .cache = cache};
    struct fw_frame cold_frames[CAPACITY], warm_frames[CAPACITY];
    struct fw_stack cold, warm;
    walk(&space, &memory, &regs, cold_frames, &cold);
    walk(&space, &memory, &regs, warm_frames, &warm);
    expect(cold.count <= CAPACITY && cold.count == warm.count && cold.end == warm.end);
    expect(memcmp(cold_frames, warm_frames, cold.count * sizeof *cold_frames) == 0);

    free(cache);
    free((void *)image.unwind_info.data);
    free((void *)image.eh_frame.data);
    free((void *)image.function_starts.data);
    free((void *)image.text.data);
    free((void *)stack_bytes.data);
    return 0;
}
