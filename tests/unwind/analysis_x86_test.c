/* Instruction analysis of x86: every instruction of the functions of analysis_x86_code.S, with and
 * without known function bounds; signal trampolines; bytes that are no code; and the decoder's
 * lengths against objdump over the whole C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "support/function_starts.h"
#include "unwind/analysis.h"
#include "unwind/x86_decode.h"

enum { EXPECT_SP, EXPECT_BP, EXPECT_ROOT, SAME = 0x7000, LOST = 0x7001, LINK_BASE = 0x400000 };

struct expect {
    const uint8_t *at;
    int32_t exact, reg, cfa, bp, bx, modes, bits, unused;
};

struct bounds {
    const uint8_t *lo, *hi;
};

extern const struct expect __start_fixture_expect[], __stop_fixture_expect[];
extern const struct bounds __start_fixture_bounds[], __stop_fixture_bounds[];
extern const uint8_t __start_fixture_code[], __stop_fixture_code[], fixture_entry[];

static uint64_t link_address(const uint8_t *at)
{
    return LINK_BASE + (uint64_t)(at - __start_fixture_code);
}

static const uint8_t *earlier(const uint8_t *a, const uint8_t *b)
{
    return a && (!b || a < b) ? a : b;
}

/* The starts and ends of all functions, in order. */
static struct unwind_section list_bounds(void)
{
    static uint8_t bytes[4096];
    struct starts_list starts = {.bytes = bytes};
    const uint8_t *last = NULL, *next;
    do {
        next = NULL;
        for (const struct bounds *b = __start_fixture_bounds; b < __stop_fixture_bounds; b++) {
            next = b->lo > last ? earlier(next, b->lo) : next;
            next = b->hi > last ? earlier(next, b->hi) : next;
        }
        last = next;
        if (next)
            starts_add(&starts, link_address(next));
    } while (next && starts.size + 10 <= sizeof bytes);
    return (struct unwind_section){bytes, starts.size, 0};
}

static const struct bounds *function_around(uint64_t vaddr)
{
    for (const struct bounds *b = __start_fixture_bounds; b < __stop_fixture_bounds; b++)
        if (vaddr >= link_address(b->lo) && vaddr < link_address(b->hi))
            return b;
    return NULL;
}

static struct unwind_image fixture(int bits, bool bounded)
{
    size_t size = (size_t)(__stop_fixture_code - __start_fixture_code);
    return (struct unwind_image){.arch = bits == 64 ? &arch_x86_64 : &arch_i386,
                                 .lo = LINK_BASE,
                                 .hi = LINK_BASE + size,
                                 .entry = bits == 64 ? link_address(fixture_entry) : 0,
                                 .text = {__start_fixture_code, size, LINK_BASE},
                                 .function_starts =
                                     bounded ? list_bounds() : (struct unwind_section){NULL, 0, 0}};
}

static int32_t place(const struct reg_row *reg)
{
    switch (reg->how) {
    case REG_SAME: return SAME;
    case REG_UNDEFINED: return LOST;
    case REG_AT_CFA: return (int32_t)reg->offset;
    default: return 0;
    }
}

static bool check(const struct expect *e, bool bounded)
{
    struct unwind_image image = fixture(e->bits, bounded);
    const struct arch *arch = image.arch;
    uint64_t vaddr = link_address(e->at) - !e->exact;
    struct unwind_row row;
    bool wanted = e->modes >> bounded & 1;
    if (e->modes >> bounded & 4)
        return true;
    enum unwind_status status = analysis_find(&image, vaddr, e->exact, &row);
    if (e->reg == EXPECT_ROOT)
        return status == UNWIND_ROOT;
    if (status != (wanted ? UNWIND_OK : UNWIND_NO_INFO)) {
        print_error("status %d at %#lx, ", status, (unsigned long)vaddr);
        return false;
    }
    if (!wanted)
        return true;
    unsigned bx = 3;
    int32_t got_bp = place(&row.reg[arch->fp]), got_bx = place(&row.reg[bx]);
    bool ok =
        row.cfa_how == CFA_REG && row.cfa_reg == (e->reg == EXPECT_BP ? arch->fp : arch->sp) &&
        row.cfa_offset == e->cfa && got_bp == e->bp && got_bx == e->bx &&
        row.reg[arch->pc].how == REG_AT_CFA && row.reg[arch->pc].offset == -arch->pointer_size &&
        row.ra_reg == arch->pc && row.lo <= vaddr && vaddr < row.hi && !row.signal_frame;
    bool at_entry = e->reg == EXPECT_SP && e->cfa == arch->pointer_size;
    ok = ok && row.method == (at_entry ? FW_METHOD_LINK_REGISTER : FW_METHOD_ANALYSIS);
    if (!ok)
        print_error("%#lx: cfa %u%+ld bp %d bx %d, expected %d%+d %d %d, ", (unsigned long)vaddr,
                    row.cfa_reg, (long)row.cfa_offset, got_bp, got_bx, e->reg, e->cfa, e->bp,
                    e->bx);
    return ok;
}

static void every_instruction(void **state)
{
    (void)state;
    unsigned wrong = 0;
    for (const struct expect *e = __start_fixture_expect; e < __stop_fixture_expect; e++)
        for (int bounded = 0; bounded < 2; bounded++)
            if (!check(e, bounded)) {
                print_error("record %d, bounds %d\n", (int)(e - __start_fixture_expect), bounded);
                wrong++;
            }
    assert_true(__stop_fixture_expect - __start_fixture_expect > 100);
    assert_int_equal(wrong, 0);
}

/* Every function again, with a table that says nothing of what it does to the stack pointer. */
static void tables_that_say_nothing(void **state)
{
    (void)state;
    unsigned corrected = 0;
    for (const struct expect *e = __start_fixture_expect; e < __stop_fixture_expect; e++) {
        struct unwind_image image = fixture(e->bits, true);
        const struct arch *arch = image.arch;
        uint64_t vaddr = link_address(e->at) - !e->exact;
        const struct bounds *function = function_around(vaddr);
        if (e->reg == EXPECT_ROOT || !(e->modes & 2) || !function)
            continue;
        struct unwind_row row = {.cfa_reg = arch->sp,
                                 .cfa_offset = arch->pointer_size,
                                 .ra_reg = arch->pc,
                                 .method = FW_METHOD_CFI,
                                 .lo = link_address(function->lo),
                                 .hi = link_address(function->hi)};
        row.reg[arch->pc] = (struct reg_row){.how = REG_AT_CFA, .offset = -arch->pointer_size};
        struct unwind_row told = row;
        analysis_correct(&image, vaddr, e->exact, &row);
        bool right = e->reg == EXPECT_SP && e->cfa == arch->pointer_size;
        if (right || row.method == FW_METHOD_CFI) {
            assert_memory_equal(&row, &told, sizeof row);
            continue;
        }
        corrected++;
        assert_true(row.cfa_reg == arch->sp || row.cfa_reg == arch->fp);
        if (e->reg == EXPECT_SP || row.cfa_reg == arch->fp)
            assert_int_equal(row.cfa_offset, e->cfa);
        told.signal_frame = true;
        row = told;
        analysis_correct(&image, vaddr, e->exact, &row);
        assert_memory_equal(&row, &told, sizeof row);
    }
    assert_true(corrected > 50);
}

static void addresses_between_instructions_do_not_crash(void **state)
{
    (void)state;
    for (int bits = 32; bits <= 64; bits += 32)
        for (int mode = 0; mode < 4; mode++) {
            struct unwind_image image = fixture(bits, mode & 1);
            struct unwind_row row;
            for (uint64_t at = image.lo - 2; at < image.hi + 2; at++) {
                analysis_find(&image, at, mode >> 1, &row);
                sigframe_find(&image, at, &row);
            }
        }
}

/* Each pair of bytes as an instruction's beginning, cut at every length. */
static void decoder_stays_inside(void **state)
{
    (void)state;
    struct x86_insn insn, cut;
    for (unsigned first = 0; first < 65536; first++) {
        uint8_t bytes[16] = {(uint8_t)first, (uint8_t)(first >> 8), 0x84, 0x84, 0x84, 0x84, 0x84};
        for (int is_64 = 0; is_64 < 2; is_64++) {
            bool ok = x86_decode(reader_over(bytes, sizeof bytes), is_64, &insn);
            if (!ok)
                continue;
            assert_in_range(insn.length, 1, 15);
            assert_true(x86_decode(reader_over(bytes, insn.length), is_64, &cut));
            assert_int_equal(cut.length, insn.length);
            assert_false(x86_decode(reader_over(bytes, insn.length - 1u), is_64, &cut));
        }
    }
    const uint8_t prefixes[16] = {0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
                                  0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90};
    assert_false(x86_decode(reader_over(prefixes, 16), true, &insn));
    assert_true(x86_decode(reader_over(prefixes + 1, 15), true, &insn));
}

static void written_registers(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[8];
        uint16_t writes;
        bool is_64;
    } cases[] = {
        {{0x88, 0xc5}, 1 << 1, true},                         /* mov %al, %ch */
        {{0x40, 0x88, 0xc5}, 1 << 5, true},                   /* mov %al, %bpl */
        {{0x49, 0x0f, 0xaf, 0xec}, 1 << 5, true},             /* imul %r12, %rbp */
        {{0x0f, 0x94, 0xc3}, 1 << 3, true},                   /* sete %bl */
        {{0x48, 0xf7, 0xf3}, 1 << 0 | 1 << 2, true},          /* div %rbx */
        {{0x48, 0x39, 0xe5}, 0, true},                        /* cmp %rsp, %rbp */
        {{0x48, 0x83, 0xfc, 0x08}, 0, true},                  /* cmp $8, %rsp */
        {{0x48, 0x83, 0xe4, 0xf0}, 1 << 4, true},             /* and $-16, %rsp */
        {{0x66, 0x0f, 0x7e, 0xc5}, 1 << 5, true},             /* movd %xmm0, %ebp */
        {{0xf3, 0x0f, 0x7e, 0xe5}, 0, true},                  /* movq %xmm5, %xmm4 */
        {{0xc4, 0xe2, 0xe0, 0xf3, 0xcd}, 1 << 3, true},       /* blsr %rbp, %rbx */
        {{0xc5, 0xf9, 0xd7, 0xe8}, 1 << 5, true},             /* vpmovmskb %xmm0, %ebp */
        {{0xc5, 0xfb, 0x93, 0xe9}, 1 << 5, true},             /* kmovd %k1, %ebp */
        {{0x48, 0x87, 0xdd}, 1 << 3 | 1 << 5, true},          /* xchg %rbx, %rbp */
        {{0x0f, 0xa2}, 0xf, true},                            /* cpuid */
        {{0xf3, 0x48, 0xab}, 1 << 1 | 1 << 6 | 1 << 7, true}, /* rep stos */
        {{0x0f, 0xb6, 0x6c, 0x24, 0x08}, 1 << 5, false},      /* movzbl 8(%esp), %ebp */
        {{0x0f, 0xcd}, 1 << 5, false},                        /* bswap %ebp */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct x86_insn insn;
        assert_true(x86_decode(reader_over(cases[i].bytes, 8), cases[i].is_64, &insn));
        if (insn.writes != cases[i].writes)
            print_error("case %zu: %#x\n", i, insn.writes);
        assert_int_equal(insn.writes, cases[i].writes);
    }
}

/* ------------------------------------------------------------------ objdump */

struct listing {
    bool is_64;
    unsigned long instructions, wrong;
    uint8_t bytes[32];
    size_t size;
    char text[128];
};

static void listing_check(struct listing *l)
{
    struct x86_insn insn;
    uint8_t *bytes = l->bytes;
    if (l->size == 0 || strstr(l->text, "(bad)"))
        return;
    if (bytes[0] == 0x9b && l->size > 1) { /* objdump joins fwait with what follows */
        bytes++;
        l->size--;
    }
    l->instructions++;
    if (!x86_decode(reader_over(bytes, sizeof l->bytes - 1), l->is_64, &insn) ||
        insn.length != l->size) {
        if (l->wrong++ < 20)
            print_error("%zu bytes, not %u: %s", l->size, insn.length, l->text);
    }
}

/* A line of objdump is `address: bytes<TAB>text`; without text it goes on with the line before. */
static void listing_line(struct listing *l, char *line)
{
    char *bytes = strchr(line, '\t');
    if (!bytes)
        return;
    char *text = strchr(bytes + 1, '\t');
    if (text) {
        listing_check(l);
        l->size = 0;
        snprintf(l->text, sizeof l->text, "%s", text + 1);
        *text = '\0';
        memset(l->bytes, 0, sizeof l->bytes);
    }
    for (char *at = bytes + 1, *end; l->size < sizeof l->bytes - 2; at = end) {
        unsigned long byte = strtoul(at, &end, 16);
        if (end == at)
            break;
        l->bytes[l->size++] = (uint8_t)byte;
    }
}

static void compare_with_objdump(const char *path, bool is_64)
{
    char command[256], line[512];
    if (access(path, R_OK) != 0) {
        print_message("no %s\n", path);
        skip();
    }
    snprintf(command, sizeof command, "objdump -d -j .text %s 2>/dev/null", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    struct listing l = {.is_64 = is_64};
    while (fgets(line, sizeof line, pipe))
        listing_line(&l, line);
    if (pclose(pipe) != 0) {
        print_message("no objdump\n");
        skip();
    }
    listing_check(&l);
    print_message("%s: %lu instructions, %lu differ\n", path, l.instructions, l.wrong);
    assert_true(l.instructions > 10000);
    assert_int_equal(l.wrong, 0);
}

static void lengths_agree_with_objdump(void **state)
{
    (void)state;
    compare_with_objdump("/lib/x86_64-linux-gnu/libc.so.6", true);
}

static void lengths_agree_with_objdump_32(void **state)
{
    (void)state;
    compare_with_objdump("/lib32/libc.so.6", false);
}

/* ------------------------------------------------------------------ signal trampolines */

static struct unwind_image image_of(const struct arch *arch, const uint8_t *code, size_t size)
{
    return (struct unwind_image){
        .arch = arch, .lo = 0x1000, .hi = 0x1000 + size, .text = {code, size, 0x1000}};
}

static void trampoline_64(void **state)
{
    (void)state;
    /* nop; mov $15, %rax; syscall; nop */
    static const uint8_t code[] = {0x90, 0x48, 0xc7, 0xc0, 15, 0, 0, 0, 0x0f, 0x05, 0x90};
    struct unwind_image image = image_of(&arch_x86_64, code, sizeof code);
    struct unwind_row row;
    for (uint64_t at = 0xfff; at < 0x1000 + sizeof code + 1; at++) {
        enum unwind_status status = sigframe_find(&image, at, &row);
        assert_int_equal(status, at == 0x1001 || at == 0x1008 ? UNWIND_OK : UNWIND_NO_INFO);
    }
    assert_int_equal(sigframe_find(&image, 0x1001, &row), UNWIND_OK);
    assert_true(row.signal_frame);
    assert_int_equal(row.method, FW_METHOD_SIGNAL);
    assert_int_equal(row.cfa_reg, arch_x86_64.sp);
    /* ucontext_t of <sys/ucontext.h>: uc_mcontext.gregs is at 40; REG_R8 first, REG_RIP is 16 */
    static const uint8_t greg[17] = {13, 12, 14, 11, 9, 8, 10, 15, 0, 1, 2, 3, 4, 5, 6, 7, 16};
    for (unsigned i = 0; i < 17; i++) {
        assert_int_equal(row.reg[i].how, REG_AT_CFA);
        assert_int_equal(row.cfa_offset + row.reg[i].offset, 40 + 8 * greg[i]);
    }
    image.text.size = 9; /* cut inside the syscall */
    assert_int_equal(sigframe_find(&image, 0x1001, &row), UNWIND_NO_INFO);
}

static void end_of_context(void **state)
{
    (void)state;
    static const uint8_t code[] = {
        0x48, 0x89, 0xdc,             /* mov %rbx, %rsp */
        0x48, 0x8b, 0x3c, 0x24,       /* mov (%rsp), %rdi */
        0x48, 0x85, 0xff,             /* test %rdi, %rdi */
        0x74, 0x08,                   /* je */
        0xe8, 0x0f, 0xf6, 0xfe, 0xff, /* call setcontext */
        0x48, 0x89, 0xc7,             /* mov %rax, %rdi */
        0xe8, 0xa7, 0xcc, 0xfe, 0xff, /* call exit */
        0xf4,                         /* hlt */
    };
    struct unwind_image image = image_of(&arch_x86_64, code, sizeof code);
    struct unwind_row row;
    assert_int_equal(sigframe_find(&image, 0x1000, &row), UNWIND_ROOT);
    assert_int_equal(sigframe_find(&image, 0x1007, &row), UNWIND_ROOT);
    assert_int_equal(sigframe_find(&image, 0x1011, &row), UNWIND_ROOT);
    assert_int_equal(sigframe_find(&image, 0x1001, &row), UNWIND_NO_INFO);
    image.text.size = 10;
    assert_int_equal(sigframe_find(&image, 0x1000, &row), UNWIND_NO_INFO);
}

static void trampolines_32(void **state)
{
    (void)state;
    static const uint8_t rt[] = {0xb8, 173, 0, 0, 0, 0xcd, 0x80};
    static const uint8_t old[] = {0x58, 0xb8, 119, 0, 0, 0, 0xcd, 0x80};
    struct unwind_image image = image_of(&arch_i386, rt, sizeof rt);
    struct unwind_row row;
    assert_int_equal(sigframe_find(&image, 0x1000, &row), UNWIND_OK);
    /* sig, &info, &uc, siginfo (128), flags, link, stack (12), then the registers; eip is at 56 */
    assert_int_equal(row.cfa_offset + row.reg[8].offset, 4 * 3 + 128 + 20 + 56);
    assert_int_equal(row.cfa_offset + row.reg[4].offset, 4 * 3 + 128 + 20 + 28);
    assert_int_equal(sigframe_find(&image, 0x1005, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset + row.reg[8].offset, 4 * 3 + 128 + 20 + 56);
    assert_int_equal(sigframe_find(&image, 0x1001, &row), UNWIND_NO_INFO);

    image = image_of(&arch_i386, old, sizeof old);
    assert_int_equal(sigframe_find(&image, 0x1000, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset + row.reg[8].offset, 4 + 56);
    assert_int_equal(sigframe_find(&image, 0x1001, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset + row.reg[8].offset, 56);
    assert_int_equal(sigframe_find(&image, 0x1006, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset + row.reg[5].offset, 24);
    assert_true(row.signal_frame);
}

/* movl $0, 0x68(%rdi,%rax,4), whose last five bytes are `push $0` where a PLT stub would begin, and
 * a jump behind it. */
static void bytes_like_a_stub(void **state)
{
    (void)state;
    enum { JUMP = 0x15, CFA = 48 };
    static const uint8_t code[] = {
        0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec, 0x18,                /* a frame */
        0x90, 0x90, 0x90, 0x90, 0xc7, 0x44, 0x87, 0x68, 0,    0,    0,    0, /* movl */
        0xe9, 0,    0,    0,    0,    0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0xc3};
    struct unwind_image image = {.arch = &arch_x86_64,
                                 .macho = true,
                                 .lo = LINK_BASE,
                                 .hi = LINK_BASE + sizeof code,
                                 .text = {code, sizeof code, LINK_BASE}};
    struct unwind_row row;
    assert_int_equal(analysis_find(&image, LINK_BASE + JUMP, true, &row), UNWIND_OK);
    assert_int_equal(row.cfa_reg, arch_x86_64.sp);
    assert_int_equal(row.cfa_offset, CFA);
    image.macho = false; /* an ELF image whose only stub lies elsewhere */
    image.plt[0] = (struct unwind_section){code, 1, LINK_BASE};
    assert_int_equal(analysis_find(&image, LINK_BASE + JUMP, true, &row), UNWIND_OK);
    assert_int_equal(row.cfa_offset, CFA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_instruction),
        cmocka_unit_test(tables_that_say_nothing),
        cmocka_unit_test(addresses_between_instructions_do_not_crash),
        cmocka_unit_test(decoder_stays_inside),
        cmocka_unit_test(written_registers),
        cmocka_unit_test(lengths_agree_with_objdump),
        cmocka_unit_test(lengths_agree_with_objdump_32),
        cmocka_unit_test(trampoline_64),
        cmocka_unit_test(trampolines_32),
        cmocka_unit_test(end_of_context),
        cmocka_unit_test(bytes_like_a_stub),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
