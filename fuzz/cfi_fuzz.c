/*
 * Hostile call frame information: rows at many addresses through header, index and scan, and every
 * expression that they lead to, evaluated. Besides memory safety it checks what a row promises: its
 * range covers the address, its expressions lie inside the section, and index and scan agree.
 *
 * Input: byte 0 architecture, byte order and known bases; bytes 1..4 sizes of .eh_frame_hdr and
 * .eh_frame (the rest is .debug_frame), bytes 5..8 their addresses, bytes 9..16 a value for
 * registers and addresses; then the sections.
 */

#include "unwind.h"
#include "unwind/cfi.h"
#include "unwind/sources.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
    const uint64_t *seed = context;
    if (address % 7 == 0)
        return false;
    for (size_t i = 0; i < size; i++)
        ((uint8_t *)to)[i] = (uint8_t)((address + i) * 31 ^ *seed);
    return true;
}

static void evaluate(const struct unwind_image *image, struct span expr, uint64_t seed)
{
    struct regs regs = {.known = seed | 0xff};
    for (unsigned i = 0; i < ARCH_MAX_REGS; i++)
        regs.r[i] = seed * (i + 1);
    struct memory memory = {.slow = read_memory, .context = &seed};
    uint64_t result = 0;
    if (expr_eval(image->arch, expr, seed & 1, seed, &regs, &memory, &result) == UNWIND_OK)
        expect(image->arch->pointer_size == 8 || result <= UINT32_MAX);
}

static void check_expression(const struct unwind_image *image, const struct unwind_section *section,
                             struct span expr, uint64_t seed)
{
    expect(expr.data >= section->data && expr.data <= section->data + section->size);
    expect(expr.size <= (size_t)(section->data + section->size - expr.data));
    evaluate(image, expr, seed);
}

static void check_row(const struct unwind_image *image, const struct unwind_section *section,
                      uint64_t vaddr, const struct unwind_row *row, uint64_t seed)
{
    expect(row->lo <= vaddr && vaddr < row->hi);
    expect(row->ra_reg < image->arch->reg_count);
    if (row->cfa_how == CFA_EXPR)
        check_expression(image, section, row->cfa_expr, seed);
    else
        expect(row->cfa_reg < image->arch->reg_count);
    for (unsigned i = 0; i < ARCH_MAX_REGS; i++) {
        const struct reg_row *rule = &row->reg[i];
        if (rule->how == REG_AT_EXPR || rule->how == REG_VAL_EXPR)
            check_expression(image, section, rule->expr, seed);
        else if (rule->how == REG_IN_REG)
            expect(rule->reg < image->arch->reg_count);
    }
}

static void look_up(const struct unwind_image *image, const struct unwind_image *indexed,
                    uint64_t vaddr, uint64_t seed)
{
    struct unwind_image headless = *image;
    headless.eh_frame_hdr.data = NULL;
    struct unwind_row row, other;
    if (cfi_find_eh(image, vaddr, &row) == UNWIND_OK)
        check_row(image, &image->eh_frame, vaddr, &row, seed);
    if (cfi_find_eh(indexed, vaddr, &row) == UNWIND_OK)
        check_row(image, &image->eh_frame, vaddr, &row, seed);

    struct unwind_image index_only = *indexed;
    index_only.eh_frame_hdr.data = NULL;
    enum unwind_status status = cfi_find_eh(&headless, vaddr, &row);
    expect(cfi_find_eh(&index_only, vaddr, &other) == status);
    expect(status != UNWIND_OK || (row.lo == other.lo && row.hi == other.hi));

    status = cfi_find_debug(image, vaddr, &row);
    if (status == UNWIND_OK)
        check_row(image, &image->debug_frame, vaddr, &row, seed);
    expect(cfi_find_debug(indexed, vaddr, &other) == status);
    expect(status != UNWIND_OK || (row.lo == other.lo && row.hi == other.hi));
}

struct search {
    const struct unwind_image *image, *indexed;
    uint64_t seed;
    unsigned left; /* ranges that are still looked at */
};

static void look_up_range(void *context, uint64_t lo, uint64_t hi)
{
    struct search *s = context;
    expect(lo < hi);
    if (s->left == 0)
        return;
    s->left--;
    uint64_t at[] = {lo, lo + 1, lo + (hi - lo) / 3, lo + (hi - lo) / 2, hi - 1, hi, lo - 1};
    for (unsigned i = 0; i < sizeof at / sizeof *at; i++)
        look_up(s->image, s->indexed, at[i], s->seed);
}

static struct unwind_section take(struct reader *r, uint64_t size, uint64_t vaddr)
{
    struct reader sub = reader_sub(r, size < reader_left(r) ? size : reader_left(r));
    return (struct unwind_section){sub.begin, reader_left(&sub), vaddr};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct arch *const archs[] = {&arch_x86_64, &arch_aarch64, &arch_arm, &arch_i386};
    struct reader r = reader_over(data, size);
    uint8_t flags = reader_u8(&r);
    uint16_t header_size = reader_u16(&r), eh_size = reader_u16(&r);
    uint16_t header_vaddr = reader_u16(&r), eh_vaddr = reader_u16(&r);
    uint64_t seed = reader_u64(&r);
    if (r.failed)
        return 0;
    struct unwind_image image = {.arch = archs[flags & 3], .big_endian = flags & 4};
    image.got_vaddr = flags & 8 ? 0x1800 : 0;
    image.text_vaddr = flags & 16 ? 0x400 : 0;
    image.eh_frame_hdr = take(&r, header_size, header_vaddr);
    image.eh_frame = take(&r, eh_size, eh_vaddr);
    image.debug_frame = take(&r, reader_left(&r), 0);

    struct unwind_image indexed = image;
    struct cfi_index *eh = cfi_index_build(&image, false);
    struct cfi_index *debug = cfi_index_build(&image, true);
    indexed.eh_index = eh;
    indexed.debug_index = debug;
    struct search search = {&image, &indexed, seed, 16};
    if (eh)
        cfi_index_ranges(eh, look_up_range, &search);
    search.left = 16;
    if (debug)
        cfi_index_ranges(debug, look_up_range, &search);
    look_up(&image, &indexed, seed, seed);
    look_up(&image, &indexed, eh_vaddr, seed);
    evaluate(&image, (struct span){image.debug_frame.data, image.debug_frame.size}, seed);
    cfi_index_destroy(eh);
    cfi_index_destroy(debug);
    return 0;
}
