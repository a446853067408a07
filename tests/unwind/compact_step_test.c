/*
 * Steps through Mach-O images: every prologue and epilogue of recorded arm64 and x86_64 files,
 * against a count of their pushes and pops that knows nothing of the analysis; and stubs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object/object.h"
#include "support/function_starts.h"
#include "unwind/one_image.h"
#include "unwind/sources.h"
#include "unwind/x86_decode.h"

#define DATA FW_SHARED_DATA "/unwind/framehop/macos/"

static struct object *open_recorded(const char *name, const char *arch, struct unwind_image *image)
{
    char path[512];
    struct object *object = NULL;
    const struct object_choice choice = {.arch = arch};
    snprintf(path, sizeof path, DATA "%s", name);
    if (object_open_choice(path, &choice, &object, NULL) != FW_OK) {
        print_message("skip: no %s\n", path);
        skip();
    }
    object_unwind_image(object, NULL, image);
    return object;
}

/* ---- prologues and epilogues ---- */

struct tally {
    unsigned long prologue, epilogue, wrong;
};

typedef void (*function_call)(const struct unwind_image *image, uint64_t lo, uint64_t hi,
                              struct tally *tally);

static void each_function(const struct unwind_image *image, function_call call, struct tally *tally)
{
    struct reader r = reader_over(image->function_starts.data, image->function_starts.size);
    uint64_t at = image->header, last = 0;
    while (reader_left(&r)) {
        uint64_t distance = reader_uleb(&r);
        if (distance == 0)
            break;
        at += distance;
        if (last)
            call(image, last, at, tally);
        last = at;
    }
}

static uint32_t word_at(const struct unwind_image *image, uint64_t vaddr)
{
    struct reader r = reader_at(image->text.data, image->text.size, vaddr - image->text.vaddr);
    return reader_u32(&r);
}

static bool is_branch_arm64(uint32_t word)
{
    return (word & 0x7c000000) == 0x14000000 || (word & 0xfe000000) == 0x54000000 ||
           (word & 0x7c000000) == 0x34000000 || (word & 0xfe000000) == 0xd6000000;
}

/* How far an instruction moves sp down: sub sp, sp, #n; stp, str with [sp, #-n]!. */
static int64_t sp_down_arm64(uint32_t word)
{
    if ((word & 0xff8003ff) == 0xd10003ff)
        return (int64_t)(word >> 10 & 0xfff) << (word >> 22 & 1 ? 12 : 0);
    if ((word & 0xbfc003e0) == 0xa98003e0 || (word & 0xffc003e0) == 0x6d8003e0)
        return -((int64_t)((uint64_t)word << 42) >> 57) * 8;
    if ((word & 0xffe00fe0) == 0xf8000fe0)
        return -((int64_t)((uint64_t)word << 43) >> 55);
    return 0;
}

/* add sp, sp, #n; ldp, ldr with [sp], #n. */
static bool sp_up_arm64(uint32_t word)
{
    return (word & 0xff8003ff) == 0x910003ff || (word & 0xbfc003e0) == 0xa8c003e0 ||
           (word & 0xffc003e0) == 0x6cc003e0 || (word & 0xffe00fe0) == 0xf84007e0;
}

/* Until x29 is set up, and once x29 and x30 were reloaded, nothing can be found through x29. Up to
 * the first branch or the epilogue, sp is where the instructions before have put it. */
static void check_arm64(const struct unwind_image *image, uint64_t lo, uint64_t hi,
                        struct tally *tally)
{
    bool prologue = true, epilogue = false, straight = true;
    int64_t cfa = 0;
    for (uint64_t at = lo; at < hi; at += 4) {
        const uint32_t word = word_at(image, at);
        struct unwind_row row;
        tally->prologue += prologue;
        tally->epilogue += epilogue;
        if (straight && row_at(image, at, true, &row) && row.cfa_reg == 31 && row.cfa_offset != cfa)
            tally->wrong++;
        cfa += sp_down_arm64(word);
        straight = straight && !sp_up_arm64(word);
        if ((prologue || epilogue) && row_at(image, at, true, &row) && row.cfa_reg == 29)
            tally->wrong++;
        if ((word & 0xffc003ff) == 0x910003fd) /* add x29, sp, #n */
            prologue = false;
        if (is_branch_arm64(word))
            prologue = epilogue = straight = false;
        if ((word & 0xfe407fff) == 0xa8407bfd) /* ldp x29, x30, [sp...] */
            epilogue = true;
    }
}

static bool decode_at(const struct unwind_image *image, uint64_t at, struct x86_insn *insn)
{
    struct reader r = reader_at(image->text.data, image->text.size, at - image->text.vaddr);
    return !r.failed && x86_decode(r, true, insn);
}

static bool cfa_is(const struct unwind_image *image, uint64_t at, bool body, int64_t cfa)
{
    struct unwind_row row;
    bool found = row_at(image, at, true, &row);
    /* In the body of a function with a frame pointer either register will do. */
    if (found && ((body && row.cfa_reg == 6) || (row.cfa_reg == 7 && row.cfa_offset == cfa)))
        return true;
    print_error("%#llx: CFA is sp + %lld, found %d r%u%+lld\n", (unsigned long long)at,
                (long long)cfa, found, row.cfa_reg, (long long)row.cfa_offset);
    return false;
}

/* From the start: pushes and `sub` up to the first branch. From the first pop on: pops down to the
 * return, or the jump that leaves. */
static void check_x86_64(const struct unwind_image *image, uint64_t lo, uint64_t hi,
                         struct tally *tally)
{
    struct x86_insn insn;
    int64_t cfa = 8;
    for (uint64_t at = lo; at < hi && decode_at(image, at, &insn); at += insn.length) {
        tally->prologue++;
        tally->wrong += !cfa_is(image, at, at > lo, cfa);
        if (insn.kind == X86_PUSH)
            cfa += 8;
        else if (insn.kind == X86_ADD && insn.reg == X86_SP)
            cfa -= insn.value;
        else if (insn.kind >= X86_CALL || (insn.writes >> X86_SP & 1) || insn.kind == X86_POP)
            break;
    }
    enum { MOST = 16 };
    uint64_t places[MOST + 1], count = 0;
    for (uint64_t at = lo; at < hi && decode_at(image, at, &insn); at += insn.length) {
        uint64_t target = at + insn.length + (uint64_t)insn.target;
        bool leaves = insn.kind == X86_RET || insn.kind == X86_JUMP_INDIRECT ||
                      (insn.kind == X86_JUMP && (target < lo || target >= hi));
        if (insn.kind == X86_POP && count < MOST) {
            places[count++] = at;
            continue;
        }
        places[count] = at;
        for (uint64_t i = 0; leaves && count && i <= count; i++) {
            tally->epilogue++;
            tally->wrong += !cfa_is(image, places[i], i == 0, 8 * (int64_t)(count - i) + 8);
        }
        count = 0;
    }
}

static void prologues_and_epilogues(void **state)
{
    static const struct {
        const char *file, *arch;
        function_call check;
        unsigned long prologue, epilogue;
    } list[] = {
        {"arm64/fp/query-api", "arm64", check_arm64, 15000, 16000},
        {"arm64/fp/libmozglue-fat.dylib", "arm64", check_arm64, 6000, 3000},
        {"x86_64/fp/libmozglue.dylib", "x86_64", check_x86_64, 5000, 2000},
        {"x86_64/nofp/libmozglue.dylib", "x86_64", check_x86_64, 5000, 2000},
        {"x86_64/nofp/firefox-esr-78", "x86_64", check_x86_64, 80, 30},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct unwind_image image;
        struct tally tally = {0};
        struct object *object = open_recorded(list[i].file, list[i].arch, &image);
        each_function(&image, list[i].check, &tally);
        print_message("%s: %lu places in prologues, %lu in epilogues, %lu wrong\n", list[i].file,
                      tally.prologue, tally.epilogue, tally.wrong);
        assert_int_equal(tally.wrong, 0);
        assert_true(tally.prologue > list[i].prologue && tally.epilogue > list[i].epilogue);
        object_close(object);
    }
}

static const char *const *linked; /* compact_program.c, compiled in several ways and linked */

static void prologues_and_epilogues_of_linked(void **state)
{
    (void)state;
    if (!*linked) {
        print_message("skip: no linker for Apple's targets\n");
        skip();
    }
    for (const char *const *file = linked; *file; file++) {
        struct unwind_image image;
        struct tally tally = {0};
        struct object *object;
        assert_int_equal(object_open(*file, &object, NULL), FW_OK);
        object_unwind_image(object, NULL, &image);
        each_function(&image, image.arch->id == ARCH_X86_64 ? check_x86_64 : check_arm64, &tally);
        print_message("%s: %lu places in prologues, %lu in epilogues, %lu wrong\n",
                      strrchr(*file, '/') + 1, tally.prologue, tally.epilogue, tally.wrong);
        assert_int_equal(tally.wrong, 0);
        assert_true(tally.prologue > 50 && tally.epilogue > 5);
        assert_non_null(image.plt[0].data);
        for (uint64_t at = 0; at < image.plt[0].size; at += image.arch->id == ARCH_X86_64 ? 6 : 4) {
            struct unwind_row row;
            assert_true(row_at(&image, image.plt[0].vaddr + at, true, &row));
            assert_int_equal(row.cfa_offset, image.arch->id == ARCH_X86_64 ? 8 : 0);
        }
        object_close(object);
    }
}

/* ---- places ---- */

static void places(void **state)
{
    /* The disassembly at each address, and what lies between sp and the CFA there. `in_lr`: the
     * return address has not been saved, or was reloaded. */
    static const struct {
        const char *file, *arch;
        uint64_t at;
        int64_t cfa;
        bool in_lr;
    } list[] = {
#define FAT   "arm64/fp/libmozglue-fat.dylib", "arm64"
#define QUERY "arm64/fp/query-api", "arm64"
#define NOFP  "x86_64/nofp/libmozglue.dylib", "x86_64"
        {FAT, 0x70f4, 0, true},   /* stp x20, x19, [sp, #-0x20]! */
        {FAT, 0x70f8, 32, true},  /* stp x29, x30, [sp, #0x10] */
        {FAT, 0x70fc, 32, false}, /* add x29, sp, #0x10 */
        {FAT, 0x72a0, 32, false}, /* ldp x29, x30, [sp, #0x10] */
        {FAT, 0x72a4, 32, true},  /* ldp x20, x19, [sp], #0x20 */
        {FAT, 0x72a8, 0, true},   /* ret */
        {FAT, 0x73b8, 32, true},  /* ldp x20, x19, [sp], #0x20, before a tail call */
        {FAT, 0x73bc, 0, true},   /* br x1 */
        /* a prologue in the middle of a function, which has DWARF alone */
        {QUERY, 0x10000fae4, 0, true},   /* mov x2, x0 */
        {QUERY, 0x10000fafc, 0, true},   /* b malloc's stub */
        {QUERY, 0x10000fb10, 0, true},   /* ret */
        {QUERY, 0x10000fb18, 32, true},  /* stp x29, x30, [sp, #0x10] */
        {QUERY, 0x10000fb1c, 32, false}, /* str xzr, [sp, #0x8] */
        {QUERY, 0x10000fb44, 32, true},  /* add sp, sp, #0x20 */
        {QUERY, 0x10000fb48, 0, true},   /* ret */
        {QUERY, 0x1001d2d18, 0, true},   /* __stubs: nop */
        {QUERY, 0x1001d2d1c, 0, true},   /* ldr x16, slot */
        {QUERY, 0x1001d2d20, 0, true},   /* br x16 */
        {QUERY, 0x1001d309c, 0, true},   /* __stub_helper: adr x17 */
        {QUERY, 0x1001d30a4, 0, true},   /* stp x16, x17, [sp, #-0x10]! */
        {QUERY, 0x1001d30a8, 16, true},  /* nop */
        {QUERY, 0x1001d30b0, 16, true},  /* br x16 */
        {QUERY, 0x1001d30b4, 0, true},   /* ldr w16, number */
        {QUERY, 0x1001d30b8, 0, true},   /* b __stub_helper */
        {NOFP, 0x6caf8, 8, false},       /* __stubs: jmp *slot */
        {NOFP, 0x6ce10, 16, false},      /* __stub_helper: lea r11, entered by jmp */
        {NOFP, 0x6ce17, 16, false},      /* push r11 */
        {NOFP, 0x6ce19, 24, false},      /* jmp *binder */
        {NOFP, 0x6ce20, 8, false},       /* push $0 */
        {NOFP, 0x6ce25, 16, false},      /* jmp __stub_helper */
        {NOFP, 0x2ba93, 224, false},     /* add $0xa8, %rsp */
        {NOFP, 0x2ba9a, 56, false},      /* pop %rbx */
        {NOFP, 0x2baa4, 8, false},       /* jmp another function's stub */
        {NOFP, 0x2baa9, 224, false},     /* the body goes on behind it */
        {NOFP, 0x2bafa, 224, false},     /* call abort, the last of the function */
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        struct unwind_image image;
        struct unwind_row row;
        struct object *object = open_recorded(list[i].file, list[i].arch, &image);
        const struct arch *arch = image.arch;
        assert_true(row_at(&image, list[i].at, true, &row));
        const struct reg_row *ra = &row.reg[row.ra_reg];
        bool fp = row.cfa_reg == arch->fp && row.cfa_offset == 2 * arch->pointer_size;
        bool right = (fp || (row.cfa_reg == arch->sp && row.cfa_offset == list[i].cfa)) &&
                     (ra->how == REG_AT_CFA) == !list[i].in_lr;
        /* The frame pointer will do between its setting up and its reload. */
        if (fp && (list[i].in_lr || list[i].cfa == 0))
            right = false;
        if (arch->lr == ARCH_NO_REG)
            right = right && ra->how == REG_AT_CFA && ra->offset == -8;
        if (!right)
            print_error("%s %#llx: r%u%+lld, return address how %d%+lld\n", list[i].file,
                        (unsigned long long)list[i].at, row.cfa_reg, (long long)row.cfa_offset,
                        ra->how, (long long)ra->offset);
        assert_true(right);
        object_close(object);
    }
}

/* Stubs that no recorded file has. */
static void other_stubs(void **state)
{
    static const uint8_t helper_i386[] = {
        0x68, 0, 0, 0, 0, 0xff, 0x25, 0, 0, 0, 0, 0x90, /* push cache; jmp *binder; nop */
        0x68, 7, 0, 0, 0, 0xe9, 0,    0, 0, 0,          /* push $7; jmp to the beginning */
    };
    static const uint8_t objc_x86_64[] = {0x48, 0x8b, 0x35, 0,    0, 0, 0, /* mov selector, %rsi */
                                          0xff, 0x25, 0x41, 0x53, 0, 0};   /* jmp *objc_msgSend */
    static const uint32_t helper_arm[] = {
        0xe52dc004, 0xe59fc010, 0xe08fc00c, 0xe52dc004,    /* push ip; ip = cache; push ip */
        0xe59fc008, 0xe08fc00c, 0xe59cf000, 0,          0, /* ldr pc, [binder]; two distances */
        0xe59fc000, 0xeafffff4, 7,                         /* ip = 7; b to the beginning */
    };
    static const uint32_t auth_arm64[] = {0x90000011, 0x91002231, 0xf9400230, 0xd71f0a11};
    static const struct {
        const struct arch *arch;
        const void *code;
        size_t size;
        struct {
            unsigned at;
            int cfa;
        } places[8];
    } list[] = {
        {&arch_i386, helper_i386, sizeof helper_i386, {{0, 8}, {5, 12}, {12, 4}, {17, 8}}},
        {&arch_x86_64, objc_x86_64, sizeof objc_x86_64, {{0, 8}, {7, 8}}},
        {&arch_arm_apple,
         helper_arm,
         sizeof helper_arm,
         {{0, 0}, {4, 4}, {8, 4}, {12, 4}, {16, 8}, {24, 8}, {36, 0}, {40, 0}}},
        {&arch_aarch64, auth_arm64, sizeof auth_arm64, {{0, 0}, {4, 0}, {8, 0}, {12, 0}}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        const struct unwind_image image = {
            .arch = list[i].arch,
            .macho = true,
            .lo = 0x1000,
            .hi = 0x2000,
            .text = {list[i].code, list[i].size, 0x1000},
            .plt = {{NULL, 0, 0}, {list[i].code, list[i].size, 0x1000}}};
        struct unwind_row row;
        for (unsigned k = 0; k < 8 && (k == 0 || list[i].places[k].at); k++) {
            assert_true(row_at(&image, 0x1000 + list[i].places[k].at, true, &row));
            assert_int_equal(row.cfa_reg, image.arch->sp);
            assert_int_equal(row.cfa_offset, list[i].places[k].cfa);
        }
    }
}

int main(int argc, char **argv)
{
    (void)argc;
    linked = (const char *const *)argv + 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prologues_and_epilogues),
        cmocka_unit_test(prologues_and_epilogues_of_linked),
        cmocka_unit_test(places),
        cmocka_unit_test(other_stubs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
