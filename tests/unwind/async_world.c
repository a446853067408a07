/* Made-up stacks with async functions: async_world.h. */
#include "async_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "cfi_bytes.h"
#include "unwind/async.h"

enum { CACHE_BITS = 7 };

static const struct unwind_image *find_image(void *context, uint64_t address)
{
    const struct world *w = context;
    return address >= w->image.lo && address < w->image.hi ? &w->image : NULL;
}

static size_t context_size(const struct world *w)
{
    return 2 * (size_t)w->arch->pointer_size;
}

static bool read_context(void *context, uint64_t address, void *to, size_t size)
{
    const struct world *w = context;
    uint64_t offset = address - w->heap_lo, end = w->context_count * context_size(w);
    if (!w->contexts_slow || offset >= end || size > end - offset)
        return false;
    memcpy(to, w->heap + offset, size);
    return true;
}

/* Registers as the tables number them. */
struct numbers {
    uint8_t sp, fp, ra, other;
};

static struct numbers numbers_of(const struct arch *arch)
{
    return arch == &arch_x86_64 ? (struct numbers){7, 6, 16, 3} : (struct numbers){31, 29, 30, 19};
}

static bool is_trampoline(enum kind kind)
{
    return kind == TRAMPOLINE || kind == SIGTRAMP;
}

static void put_tables(struct world *w, struct bytes *tables)
{
    const struct numbers n = numbers_of(w->arch);
    const uint8_t ra = 0x80 | n.ra, fp = 0x80 | n.fp, other = 0x80 | n.other;
    const bool pushes = w->arch->lr == ARCH_NO_REG;
    const struct cie_form form = {.version = 1,
                                  .augmentation = "zR",
                                  .code_align = 1,
                                  .data_align = -8,
                                  .return_column = n.ra,
                                  .address_size = w->arch->pointer_size};
    struct cie_form signal_form = form;
    signal_form.augmentation = "zRS";
    const size_t cie = put_cie(tables, &form, PROGRAM(0x0c, n.sp, 0));
    const size_t signal_cie = put_cie(tables, &signal_form, PROGRAM(0x0c, n.sp, 0));
    const struct program programs[NO_TABLE] = {
        [RECORD] = PROGRAM(0x0c, n.fp, 16, ra, 1, fp, 2),
        [RECORD_SP] = PROGRAM(0x0e, WORLD_SP_FRAME, ra, 1, fp, 2),
        [FRAMELESS] = PROGRAM(0x0e, WORLD_SP_FRAME, ra, 1),
        [BY_REGISTER] = PROGRAM(0x0c, n.other, 32, ra, 1, other, 3),
        [TRAMPOLINE] = PROGRAM(0x0e, WORLD_SP_FRAME, ra, 1, fp, 2, other, 3),
        [SIGTRAMP] = PROGRAM(0x0c, n.fp, 16, ra, 1, fp, 2),
        [ENTRY] = pushes ? PROGRAM(0x0e, 8, ra, 1) : PROGRAM(0x0e, 0),
    };
    for (unsigned k = 0; k < NO_TABLE; k++) {
        const bool signal = is_trampoline((enum kind)k);
        put_fde(tables, signal ? &signal_form : &form, signal ? signal_cie : cie,
                WORLD_CODE + k * WORLD_KIND_CODE, WORLD_KIND_CODE, programs[k]);
    }
    put(tables, 0, 4);
}

/* Calls all over, so that each address may be returned to. */
static void put_code(struct world *w, uint8_t *code)
{
    static const uint8_t x86_64[8] = {0xe8, 0, 1, 0, 0, 0x0f, 0x1f, 0};
    static const uint8_t aarch64[8] = {0x1f, 0x20, 0x03, 0xd5, 0, 0, 0, 0x94};
    for (size_t i = 0; i < KINDS * WORLD_KIND_CODE; i++)
        code[i] = (w->arch == &arch_x86_64 ? x86_64 : aarch64)[i % 8];
}

void world_create(struct world *w, const struct arch *arch, bool direct, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->arch = arch;
    w->random = seed * 2 + 1;
    w->stack_lo = direct ? (uintptr_t)w->stack : 0x7000000;
    w->heap_lo = 0x60000000;
    struct bytes *tables = calloc(1, sizeof *tables);
    uint8_t *code = malloc(KINDS * WORLD_KIND_CODE);
    struct rule_cache *cache = calloc(1, RULE_CACHE_SIZE(CACHE_BITS));
    assert_true(tables && code && cache);
    rule_cache_init(cache, CACHE_BITS);
    put_tables(w, tables);
    put_code(w, code);
    w->image = (struct unwind_image){.arch = arch,
                                     .lo = WORLD_CODE,
                                     .hi = WORLD_CODE + KINDS * WORLD_KIND_CODE,
                                     .text = {code, KINDS * WORLD_KIND_CODE, WORLD_CODE},
                                     .eh_frame = {tables->data, tables->size, 0x50000}};
    const bool has_pac = arch == &arch_aarch64;
    w->signature = has_pac ? UINT64_C(0xff7f800000000000) : 0;
    w->space = (struct walk_space){.arch = arch,
                                   .find_image = find_image,
                                   .context = w,
                                   .cache = cache,
                                   .pac_mask = w->signature,
                                   .swift_async = true};
}

void world_destroy(struct world *w)
{
    free(w->space.cache);
    free((void *)w->image.eh_frame.data); /* the first member of the bytes */
    free((void *)w->image.text.data);
}

uint64_t world_random(struct world *w, uint64_t below)
{
    w->random = w->random * 6364136223846793005u + 1442695040888963407u;
    return (w->random >> 33) % below;
}

/* Another signature each time, as they depend on the place. */
uint64_t world_sign(struct world *w, uint64_t pointer)
{
    return pointer == 0 ? 0 : pointer | (w->signature & world_random(w, 1 << 30) << 34);
}

uint64_t world_code(struct world *w, enum kind kind)
{
    uint64_t call = 1 + world_random(w, WORLD_KIND_CODE / 8 - 2); /* behind a call */
    uint64_t code = WORLD_CODE + kind * WORLD_KIND_CODE + call * 8;
    return w->arch == &arch_x86_64 ? code + 5 : code;
}

/* The pointer number `n` of the context. */
static void set_pointer(struct world *w, uint64_t context, unsigned n, uint64_t value)
{
    const unsigned size = w->arch->pointer_size;
    const uint64_t is_signed = world_sign(w, value);
    memcpy(w->heap + (context - w->heap_lo) + n * size, &is_signed, size);
}

static uint64_t get_pointer(const struct world *w, uint64_t context, unsigned n)
{
    const unsigned size = w->arch->pointer_size;
    uint64_t value = 0;
    memcpy(&value, w->heap + (context - w->heap_lo) + n * size, size);
    return value & ~w->signature;
}

void world_reparent(struct world *w, uint64_t context, uint64_t parent)
{
    set_pointer(w, context, 0, parent);
}

uint64_t world_context(struct world *w, uint64_t parent, uint64_t resume)
{
    assert_true(w->context_count < WORLD_CONTEXTS);
    const uint64_t context = w->heap_lo + context_size(w) * w->context_count++;
    set_pointer(w, context, 0, parent);
    set_pointer(w, context, 1, resume);
    return context;
}

uint64_t world_chain(struct world *w, size_t count)
{
    uint64_t context = 0;
    while (count--)
        context = world_context(w, context, world_code(w, (enum kind)world_random(w, KINDS)));
    return context;
}

void world_poke(struct world *w, uint64_t address, uint64_t value)
{
    uint64_t at = (address - w->stack_lo) / 8;
    assert_true(address % 8 == 0 && at < WORLD_STACK / 8);
    w->stack[at] = value;
}

void world_begin(struct world *w)
{
    w->context_count = w->frame_count = 0;
    for (size_t i = 0; i < WORLD_STACK / 8; i++) /* what earlier calls left */
        w->stack[i] = world_random(w, 2) ? w->stack_lo + 8 * world_random(w, WORLD_STACK / 8)
                                         : WORLD_TAG | world_random(w, 1 << 30);
    w->regs = (struct regs){{0}, 0};
    regs_set(&w->regs, w->arch->pc, 0);
    regs_set(&w->regs, w->arch->sp, w->stack_lo + WORLD_STACK);
    regs_set(&w->regs, w->arch->fp, 0);
    regs_set(&w->regs, numbers_of(w->arch).other, 0);
    w->memory = (struct memory){.range = {{w->stack_lo, WORLD_STACK, (const uint8_t *)w->stack}},
                                .slow = read_context,
                                .context = w};
}

static void enter(struct world *w, enum kind kind, bool is_async, uint64_t context)
{
    const struct arch *arch = w->arch;
    const unsigned other = numbers_of(arch).other;
    uint64_t *r = w->regs.r;
    const uint64_t cfa = r[arch->sp], caller = r[arch->pc];
    const uint64_t fp = is_async ? async_untag(r[arch->fp]) | WORLD_TAG : r[arch->fp];
    uint64_t sp = cfa - WORLD_SP_FRAME;

    if (kind == ENTRY && arch->lr != ARCH_NO_REG) {
        regs_set(&w->regs, arch->lr, world_sign(w, caller));
        sp = cfa;
    } else {
        world_poke(w, cfa - 8, world_sign(w, caller));
    }
    switch (kind) {
    case RECORD:
    case SIGTRAMP:
    case NO_TABLE: sp = cfa - 32 - 8 * world_random(w, 8); /* fallthrough */
    case RECORD_SP:
        world_poke(w, cfa - 16, fp);
        if (is_async)
            world_poke(w, cfa - 24, world_sign(w, context));
        r[arch->fp] = cfa - 16;
        break;
    case BY_REGISTER:
        world_poke(w, cfa - 24, r[other]);
        r[other] = cfa - 32;
        sp = cfa - 40 - 8 * world_random(w, 8);
        break;
    case TRAMPOLINE:
        world_poke(w, cfa - 16, r[arch->fp]);
        world_poke(w, cfa - 24, r[other]);
        break;
    case ENTRY:
        if (arch->lr == ARCH_NO_REG)
            sp = cfa - 8;
        break;
    default: break;
    }
    r[arch->sp] = sp;

    assert_true(w->frame_count < WORLD_FRAMES);
    r[arch->pc] = world_code(w, kind);
    w->frame[w->frame_count].pc = r[arch->pc];
    w->frame[w->frame_count].context = context;
    w->frame[w->frame_count].is_async = is_async;
    w->frame[w->frame_count].is_signal = is_trampoline(kind);
    w->frame[w->frame_count].exact = is_trampoline(kind);
    if (is_trampoline(kind) && w->frame_count > 0)
        w->frame[w->frame_count - 1].exact = true;
    w->frame_count++;
    w->memory.range[1] =
        w->contexts_slow
            ? (struct memory_range){0, 0, NULL}
            : (struct memory_range){w->heap_lo, w->context_count * context_size(w), w->heap};
}

void world_enter(struct world *w, enum kind kind)
{
    enter(w, kind, false, 0);
}

void world_enter_async(struct world *w, enum kind kind, uint64_t context)
{
    enter(w, kind, true, context);
}

static bool is_context(const struct world *w, uint64_t address)
{
    uint64_t offset = address - w->heap_lo;
    return offset % context_size(w) == 0 && offset < w->context_count * context_size(w);
}

size_t world_expect(const struct world *w, struct fw_frame *frames, uint8_t *end)
{
    size_t count = 0;
    uint64_t context = 0;
    *end = FW_END_ROOT;
    for (size_t i = w->frame_count; i-- > 0 && context == 0;) {
        const bool exact = w->frame[i].exact || i + 1 == w->frame_count;
        frames[count++] = (struct fw_frame){.address = w->frame[i].pc,
                                            .kind = exact ? FW_FRAME_EXACT : FW_FRAME_RETURN,
                                            .flags = w->frame[i].is_signal ? FW_FRAME_SIGNAL : 0};
        context = w->frame[i].is_async ? w->frame[i].context : 0;
    }
    while (context != 0 && count < WORLD_FOUND) {
        if (!is_context(w, context)) {
            *end = FW_END_BAD_MEMORY;
            break;
        }
        const uint64_t resume = get_pointer(w, context, 1);
        if (resume == 0)
            break;
        if (find_image((void *)(uintptr_t)w, resume) == NULL) {
            *end = FW_END_NOT_CODE;
            break;
        }
        frames[count++] = (struct fw_frame){.address = resume,
                                            .kind = FW_FRAME_EXACT,
                                            .method = FW_METHOD_ASYNC,
                                            .flags = FW_FRAME_ASYNC};
        context = get_pointer(w, context, 0);
    }
    return count;
}

void world_walk(const struct world *w, const struct walk_options *options, struct fw_stack *stack)
{
    walk_stack(&w->space, &w->memory, &w->regs, options, stack);
}
