/*
 * Hard places of real libraries (framehop's fixtures), stepped instruction by instruction with a
 * stack made by hand. What must come out follows from the disassembly, which is shown beside it,
 * and from the ABI.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "object/codecs.h"
#include "object/object.h"
#include "unwind/rule.h"
#include "unwind/sources.h"
#include "unwind/walk.h"

#define LINUX FW_SHARED_DATA "/unwind/framehop/linux/"

enum { BIAS = 0x7f0000000, STACK = 0x10000, WORDS = 256 };

/* A library at BIAS, and a stack of which word i holds 0x1000 + i. */
struct place {
    struct object *object;
    struct unwind_image image;
    struct walk_space space;
    struct rule_cache *cache;
    uint64_t word[WORDS];
    struct memory memory;
    struct regs regs;
    bool exact, signal_frame;
    uint8_t method;
};

static const struct unwind_image *find_image(void *context, uint64_t address)
{
    const struct unwind_image *image = context;
    uint64_t vaddr = address - image->bias;
    return vaddr >= image->lo && vaddr < image->hi ? image : NULL;
}

static void open_place(struct place *p, const char *path)
{
    *p = (struct place){.exact = true};
    if (object_open(path, &p->object, NULL) != FW_OK) {
        print_message("skip: no %s\n", path);
        skip();
    }
    object_unwind_image(p->object, NULL, &p->image);
    p->image.bias = BIAS;
    p->cache = calloc(1, RULE_CACHE_SIZE(4));
    rule_cache_init(p->cache, 4);
    p->space = (struct walk_space){.arch = object_arch(p->object),
                                   .find_image = find_image,
                                   .context = &p->image,
                                   .cache = p->cache};
    p->memory = (struct memory){.range = {{STACK, sizeof p->word, (const uint8_t *)p->word}}};
}

static void close_place(struct place *p)
{
    object_close(p->object);
    free(p->cache);
}

/* A thread that stands at link-time `pc` with sp at word `sp_word`. */
static void stand_at(struct place *p, uint64_t pc, unsigned sp_word)
{
    const struct arch *arch = p->space.arch;
    for (unsigned i = 0; i < WORDS; i++)
        p->word[i] = 0x1000 + i;
    p->regs = (struct regs){.known = 0};
    regs_set(&p->regs, arch->pc, BIAS + pc);
    regs_set(&p->regs, arch->sp, STACK + 8 * sp_word);
    regs_set(&p->regs, arch->fp, 0x5555);
    p->exact = true;
}

static enum unwind_status step(struct place *p)
{
    return walk_step(&p->space, &p->memory, p->exact, &p->regs, &p->method, &p->signal_frame);
}

static void expect_state(const struct place *p, uint64_t pc, unsigned sp_word, uint64_t fp)
{
    const struct arch *arch = p->space.arch;
    assert_int_equal(p->regs.r[arch->pc], BIAS + pc);
    assert_int_equal(p->regs.r[arch->sp], STACK + 8 * sp_word);
    assert_true(regs_has(&p->regs, arch->fp));
    assert_int_equal(p->regs.r[arch->fp], fp);
}

/*
 * libc 2.34, clone: the parent's way back has no entry in .eh_frame.
 *
 *   1289d4  syscall
 *   1289d6  test   rax, rax
 *   1289d9  jl     1289ee
 *   1289db  je     1289de
 *   1289dd  ret
 *   1289de  xor    ebp, ebp      the child: outermost by its table
 */
static void syscall_without_entry(void **state)
{
    (void)state;
    static const uint64_t places[] = {0x1289d4, 0x1289d6, 0x1289d9, 0x1289db, 0x1289dd};
    enum { CALLER = 0x12970b }; /* behind a call */
    static struct place p;
    open_place(&p, LINUX "x86_64/nofp/libc.so.6");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        stand_at(&p, places[i], 8);
        p.word[8] = BIAS + CALLER;
        assert_int_equal(step(&p), UNWIND_OK);
        expect_state(&p, CALLER, 9, 0x5555);
        assert_int_equal(p.method, FW_METHOD_LINK_REGISTER); /* on top of the stack */
    }
    stand_at(&p, 0x1289e2, 8);
    assert_int_equal(step(&p), UNWIND_ROOT);
    close_place(&p);
}

/*
 * libpthread 2.19, PLT: one entry for all stubs, whose CFA is an expression over the low bits of
 * the address.
 *
 *   5540  push  [GOT+8]          two words pushed so far
 *   5546  jmp   [GOT+16]         three
 *   5550  jmp   [GOT+24]         none
 *   5556  push  0                none
 *   555b  jmp   5540             one
 */
static void plt_expression(void **state)
{
    (void)state;
    static const struct {
        uint64_t pc;
        unsigned pushed; /* words above the return address */
    } places[] = {{0x5540, 1}, {0x5546, 2}, {0x5550, 0}, {0x5556, 0},
                  {0x555b, 1}, {0x5560, 0}, {0x5566, 0}, {0x556b, 1}};
    enum { CALLER = 0x6f22 };
    static struct place p;
    open_place(&p, LINUX "x86_64/nofp/libpthread-2.19.so");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        stand_at(&p, places[i].pc, 8);
        p.word[8 + places[i].pushed] = BIAS + CALLER;
        assert_int_equal(step(&p), UNWIND_OK);
        expect_state(&p, CALLER, 9 + places[i].pushed, 0x5555);
    }
    close_place(&p);
}

/*
 * libpthread 2.19, _L_lock_531: the slow path of a lock, moved away from its function. Its table
 * calls the function its caller, by DW_CFA_val_expression.
 *
 *   6f0f  lea   rdi, lock
 *   6f16  sub   rsp, 128
 *   6f1d  call  __lll_lock_wait_private
 *   6f22  add   rsp, 128
 *   6f29  jmp   6d9b
 */
static void moved_lock(void **state)
{
    (void)state;
    static const struct {
        uint64_t pc;
        int sp_words; /* sp where the table's frames meet, 6f22, against sp here */
    } places[] = {{0x6f0f, -16}, {0x6f16, -16}, {0x6f1d, 0}, {0x6f29, -16}};
    static struct place p;
    open_place(&p, LINUX "x86_64/nofp/libpthread-2.19.so");
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        stand_at(&p, places[i].pc, 64);
        assert_int_equal(step(&p), UNWIND_OK);
        expect_state(&p, 0x6f22, (unsigned)(64 + places[i].sp_words), 0x5555);
        p.exact = false;
        assert_int_equal(step(&p), UNWIND_OK);
        expect_state(&p, 0x6d9b, (unsigned)(64 + places[i].sp_words + 16), 0x5555);
    }
    stand_at(&p, 0x6f22, 64); /* a thread waits for the lock: by far the most usual */
    p.exact = false;
    assert_int_equal(step(&p), UNWIND_OK);
    expect_state(&p, 0x6d9b, 80, 0x5555);
    close_place(&p);
}

enum { LR_CALLER = 0x45c, STACK_CALLER = 0x4a0 }; /* both behind a bl */

static void stand_in_vdso(struct place *p, uint64_t pc)
{
    stand_at(p, pc, 8);
    regs_set(&p->regs, 30, BIAS + LR_CALLER);
    p->word[8] = 0x6666;
    p->word[9] = BIAS + STACK_CALLER;
}

/*
 * aarch64 vDSO: .eh_frame without .eh_frame_hdr. __kernel_clock_gettime:
 *
 *   420  mov   w13, w0
 *   430  stp   x29, x30, [sp, #-16]!
 *   464  ldp   x29, x30, [sp], #16
 *   468  ret
 *   46c  mov   x1, x2               a branch within the frame leads here
 *   47c  ldp   x29, x30, [sp], #16
 *   480  ret
 *   484  tst   w0, #0x60            and here
 */
static void check_vdso(struct place *p, bool must_know)
{
    static const struct {
        uint64_t lo, hi;
        bool framed;
    } parts[] = {{0x300, 0x3bc, false}, {0x3c0, 0x41c, false}, {0x420, 0x434, false},
                 {0x434, 0x468, true},  {0x468, 0x46c, false}, {0x46c, 0x480, true},
                 {0x480, 0x484, false}, {0x484, 0x4b0, true}};
    unsigned known = 0, all = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        for (uint64_t pc = parts[i].lo; pc < parts[i].hi; pc += 4) {
            stand_in_vdso(p, pc);
            all++;
            enum unwind_status status = step(p);
            if (status != UNWIND_OK && !must_know)
                continue;
            assert_int_equal(status, UNWIND_OK);
            known++;
            if (parts[i].framed)
                expect_state(p, STACK_CALLER, 10, 0x6666);
            else
                expect_state(p, LR_CALLER, 8, 0x5555);
        }
    print_message("%u of %u places of the vDSO\n", known, all);
    assert_true(known * 2 > all);
}

static void no_header(void **state)
{
    (void)state;
    static struct place p;
    open_place(&p, LINUX "aarch64/vdso.so");
    assert_null(p.image.eh_frame_hdr.data);
    check_vdso(&p, true); /* by a scan */
    struct cfi_index *index = cfi_index_build(&p.image, false);
    assert_non_null(index);
    p.image.eh_index = index;
    check_vdso(&p, true);
    p.image.eh_index = NULL;
    cfi_index_destroy(index);
    p.image.eh_frame = (struct unwind_section){NULL, 0, 0};
    check_vdso(&p, false); /* by the instructions */
    close_place(&p);
}

/* __kernel_rt_sigreturn: mov x8, #139; svc #0. All registers come from the kernel's frame, whose
 * x0 lies 312 bytes above sp. */
static void signal_trampoline(void **state)
{
    (void)state;
    enum { X0 = 8 + 312 / 8 };
    static struct place p;
    open_place(&p, LINUX "aarch64/vdso.so");
    uint64_t trampoline = 0x5c0;
    while (trampoline < 0x5c8 && p.image.text.data[trampoline - p.image.text.vaddr] != 0x68)
        trampoline += 4; /* a nop may come first */
    stand_at(&p, trampoline, 8);
    p.word[X0 + 31] = STACK + 8 * 200;
    p.word[X0 + 32] = BIAS + 0x30c;
    assert_int_equal(step(&p), UNWIND_OK);
    assert_true(p.signal_frame);
    expect_state(&p, 0x30c, 200, 0x1000 + X0 + 29);
    for (unsigned i = 0; i <= 30; i++)
        assert_int_equal(p.regs.r[i], 0x1000 + X0 + i);
    close_place(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(syscall_without_entry),
        cmocka_unit_test(plt_expression),
        cmocka_unit_test(moved_lock),
        cmocka_unit_test(no_header),
        cmocka_unit_test(signal_trampoline),
    };
    object_set_codecs(&object_codecs_all);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
