/*
 * The instruction analyses of aarch64 and arm against compilers' own call frame information: at
 * every instruction of real libraries the analysis, which is shown the code and the bounds of
 * functions but no tables, must give the frame that the tables give, or say that it does not know.
 *
 * The files are those of the shared test data; FILE arguments replace them.
 */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "object/codecs.h"
#include "object/object.h"
#include "support/function_starts.h"
#include "unwind/sources.h"

struct range {
    uint64_t lo, hi;
    bool thumb;
};

struct checked {
    struct unwind_image tables; /* with unwind information */
    struct unwind_image code;   /* without */
    struct range *ranges;
    size_t count, room;
    bool debug_frame;
    struct range *mapping; /* hi: whether data begins at lo */
    size_t mapping_count, mapping_room;
    unsigned long places, proved, wrong, undecided;
};

static void *read_file(const char *path, size_t *size)
{
    gzFile file = gzopen(path, "rb"); /* reads plain files too */
    if (!file)
        return NULL;
    size_t room = 1 << 20;
    uint8_t *bytes = malloc(room);
    *size = 0;
    for (;;) {
        int n = gzread(file, bytes + *size, (unsigned)(room - *size));
        if (n <= 0)
            break;
        *size += (size_t)n;
        if (*size == room)
            bytes = realloc(bytes, room *= 2);
    }
    gzclose(file);
    return bytes;
}

static void add_range(void *context, uint64_t lo, uint64_t hi)
{
    struct checked *c = context;
    if (c->count == c->room)
        c->ranges = realloc(c->ranges, (c->room = 2 * c->room + 64) * sizeof *c->ranges);
    c->ranges[c->count++] = (struct range){lo, hi, false};
}

/* The registers from which the caller's state is computed, alike in both rows? CFA first: the same
 * register with the same offset, or another register, which cannot be compared here. */
static bool agree(const struct arch *arch, const struct unwind_row *a, const struct unwind_row *b)
{
    const struct reg_row *ra = &a->reg[a->ra_reg], *rb = &b->reg[b->ra_reg];
    bool stored_a = ra->how == REG_AT_CFA, stored_b = rb->how == REG_AT_CFA;
    /* The lazy resolver's table puts the CFA where its PLT entry began to push. */
    if (stored_a && stored_b && ra->offset >= 0 && a->cfa_reg == b->cfa_reg)
        return a->cfa_offset + ra->offset == b->cfa_offset + rb->offset;
    if (a->cfa_reg == b->cfa_reg && a->cfa_offset != b->cfa_offset)
        return false;
    if (stored_a && stored_b && ra->offset != rb->offset)
        return false;
    for (unsigned i = 0; i < arch->reg_count; i++)
        if ((arch->callee_saved >> i & 1) && a->reg[i].how == REG_AT_CFA &&
            b->reg[i].how == REG_AT_CFA && a->reg[i].offset != b->reg[i].offset)
            return false;
    return true;
}

/* GCC's tables for ARM lag behind where an epilogue takes its frame down in two instructions (add
 * sp, sp, #8192; add sp, sp, #12), and describe padding. */
static bool table_lags(const struct checked *c, uint64_t at, uint64_t previous)
{
    uint32_t word = 0, here = 0;
    if (c->code.arch->id != ARCH_ARM || at - c->code.text.vaddr + 4 > c->code.text.size)
        return false;
    memcpy(&word, c->code.text.data + (previous - c->code.text.vaddr), at - previous);
    memcpy(&here, c->code.text.data + (at - c->code.text.vaddr), 4);
    if ((here & 0xffff) == 0xbf00 || here == 0x8000f3af || here == 0xe320f000)
        return true;
    if ((here & 0xff00) == 0x3700) /* the other half, after something else */
        return true;
    if (at - previous == 2)
        return (word & 0xff80) == 0xb000 || (word & 0xff00) == 0x3700; /* add sp; adds r7 */
    return (word & 0xfffff000) == 0xe28dd000 || (word & 0xfbff) == 0xf10d ||
           (word & 0xfbff) == 0xf107 || (word & 0xfbff) == 0xf20d || (word & 0xfbff) == 0xf207;
}

static void check_place(struct checked *c, uint64_t at, uint64_t previous)
{
    struct unwind_row truth, row;
    enum unwind_status known = c->debug_frame ? cfi_find_debug(&c->tables, at, &truth)
                                              : cfi_find_eh(&c->tables, at, &truth);
    if (known != UNWIND_OK || truth.cfa_how != CFA_REG ||
        truth.reg[truth.ra_reg].how == REG_UNDEFINED)
        return;
    c->places++;
    if (analysis_find(&c->code, at, true, &row) != UNWIND_OK)
        return;
    c->proved++;
    if (agree(c->code.arch, &truth, &row) || table_lags(c, at, previous))
        return;
    if (c->wrong < 20)
        print_message("  %#llx: table r%u%+lld ra %+lld, analysis r%u%+lld ra %+lld\n",
                      (unsigned long long)at, truth.cfa_reg, (long long)truth.cfa_offset,
                      (long long)truth.reg[truth.ra_reg].offset, row.cfa_reg,
                      (long long)row.cfa_offset, (long long)row.reg[row.ra_reg].offset);
    c->wrong++;
}

static int by_start(const void *a, const void *b)
{
    const struct range *x = a, *y = b;
    return x->lo < y->lo ? -1 : x->lo > y->lo;
}

/* Bytes of the instruction at `at` in the function that starts at `lo`. */
static unsigned instruction_size(const struct checked *c, uint64_t lo, uint64_t at)
{
    const struct range *range =
        bsearch(&(struct range){.lo = lo}, c->ranges, c->count, sizeof *c->ranges, by_start);
    const struct unwind_section *text = &c->code.text;
    if (!range->thumb || at - text->vaddr + 1 >= text->size)
        return 4;
    return text->data[at - text->vaddr + 1] >= 0xe8 ? 4 : 2;
}

/* Data between the instructions, from ARM's mapping symbols: $a, $t and $d say what begins. */
static void note_data(struct checked *c, struct object *object)
{
    struct unwind_section table, names;
    if (c->code.arch->id != ARCH_ARM ||
        object_section_data(object, ".symtab", &table, NULL) != FW_OK ||
        object_section_data(object, ".strtab", &names, NULL) != FW_OK)
        return;
    for (size_t at = 0; at + sizeof(Elf32_Sym) <= table.size; at += sizeof(Elf32_Sym)) {
        Elf32_Sym symbol;
        memcpy(&symbol, table.data + at, sizeof symbol);
        const char *name = (const char *)names.data + symbol.st_name;
        if (symbol.st_name >= names.size || name[0] != '$' || !strchr("atd", name[1]))
            continue;
        if (c->mapping_count == c->mapping_room)
            c->mapping = realloc(c->mapping,
                                 (c->mapping_room = 2 * c->mapping_room + 64) * sizeof *c->mapping);
        c->mapping[c->mapping_count++] = (struct range){symbol.st_value, name[1] == 'd', false};
    }
    qsort(c->mapping, c->mapping_count, sizeof *c->mapping, by_start);
}

static bool is_data(const struct checked *c, uint64_t at)
{
    size_t below = 0, above = c->mapping_count;
    while (below < above) {
        size_t middle = (below + above) / 2;
        if (c->mapping[middle].lo <= at)
            below = middle + 1;
        else
            above = middle;
    }
    return below > 0 && c->mapping[below - 1].hi;
}

/* Every place near the ends, where frames are made and undone; a sample of those between. */
static void check_function(struct checked *c, uint64_t lo, uint64_t hi)
{
    enum { ENDS = 160, SAMPLE = 68 };
    uint64_t next = lo, previous = lo;
    for (uint64_t at = lo; at < hi; previous = at, at += instruction_size(c, lo, at)) {
        if (at < next || is_data(c, at))
            continue;
        check_place(c, at, previous);
        next = at - lo < ENDS || hi - at < ENDS ? at : at + SAMPLE;
    }
}

static bool note_thumb(void *context, const struct object_symbol *symbol)
{
    struct checked *c = context;
    struct range *range = bsearch(&(struct range){.lo = symbol->vaddr}, c->ranges, c->count,
                                  sizeof *c->ranges, by_start);
    if (range && symbol->thumb)
        range->thumb = true;
    return true;
}

/* Starts and ends of all functions, as a Mach-O image would list them. */
static void list_bounds(struct checked *c)
{
    struct starts_list starts = {.bytes = malloc(20 * c->count)};
    assert_non_null(starts.bytes);
    for (size_t i = 0; i < c->count; i++) {
        starts_add(&starts, c->ranges[i].lo);
        if (i + 1 == c->count || c->ranges[i].hi <= c->ranges[i + 1].lo)
            starts_add(&starts, c->ranges[i].hi);
    }
    c->code.function_starts = (struct unwind_section){starts.bytes, starts.size, 0};
}

/* How many places of the file were proved and wrong; false when the file is not there. */
static bool check_file(const char *path, bool with_bounds, struct checked *c)
{
    size_t size = 0;
    void *bytes = read_file(path, &size);
    struct object *object;
    *c = (struct checked){.places = 0};
    if (!bytes)
        return false;
    assert_int_equal(object_open_bytes(bytes, size, false, path, &object, NULL), FW_OK);
    object_unwind_image(object, NULL, &c->tables);
    c->debug_frame = c->tables.debug_frame.data != NULL;
    struct cfi_index *index = cfi_index_build(&c->tables, c->debug_frame);
    assert_non_null(index);
    if (c->debug_frame)
        c->tables.debug_index = index;
    else
        c->tables.eh_index = index;
    cfi_index_ranges(index, add_range, c);
    qsort(c->ranges, c->count, sizeof *c->ranges, by_start);

    c->code = (struct unwind_image){
        .arch = c->tables.arch,
        .lo = c->tables.lo,
        .hi = c->tables.hi,
        .text = c->tables.text,
    };
    if (with_bounds)
        list_bounds(c);
    note_data(c, object);
    object_symbols(object, false, note_thumb, c);
    object_symbols(object, true, note_thumb, c);
    for (size_t i = 0; i < c->count; i++)
        check_function(c, c->ranges[i].lo, c->ranges[i].hi);
    print_message("%s%s: %lu of %lu places proved, %lu wrong\n", path,
                  with_bounds ? "" : " without bounds", c->proved, c->places, c->wrong);
    cfi_index_destroy(index);
    object_close(object);
    free(c->ranges);
    free(c->mapping);
    free((void *)c->code.function_starts.data);
    free(bytes);
    return true;
}

static const char *const *files;

static void check_all(void **state)
{
    bool with_bounds = *(bool *)*state, any = false;
    for (const char *const *file = files; *file; file++) {
        struct checked c;
        if (!check_file(*file, with_bounds, &c))
            continue;
        any = true;
        assert_true(c.wrong == 0);
        assert_true(c.proved * 2 > c.places);
    }
    if (!any) {
        print_message("skip: no test data\n");
        skip();
    }
}

int main(int argc, char **argv)
{
#define DATA FW_SHARED_DATA "/unwind/"
    static const char *const usual[] = {
        DATA "framehop/linux/aarch64/libc-2.31.so",
        DATA "framehop/linux/aarch64/libpthread-2.31.so",
        NULL,
    };
    static bool yes = true, no = false;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(check_all, &yes),
        cmocka_unit_test_prestate(check_all, &no),
    };
    files = argc > 1 ? (const char *const *)argv + 1 : usual;
    object_set_codecs(&object_codecs_all);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
