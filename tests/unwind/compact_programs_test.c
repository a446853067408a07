/*
 * Compact encodings of compact_program.c, compiled for each of Apple's architectures in several
 * ways (FILE arguments), against the call frame information that the compiler gives for the same
 * functions: the row of each encoding must be the last row of the function's FDE, which is that of
 * its body. Both are read as llvm-objdump and llvm-dwarfdump print them, so what is tested here is
 * the meaning of encodings alone.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "object/object.h"
#include "unwind/compact.h"

enum { FUNCTIONS = 64, LINE = 512 };

struct entry {
    uint64_t start, size;
    uint32_t encoding;
};

struct frame {
    uint64_t start, size;
    char row[LINE]; /* the last one: what follows the address */
};

struct program {
    struct unwind_image image;
    struct entry entries[FUNCTIONS];
    struct frame frames[FUNCTIONS];
    size_t entry_count, frame_count;
    unsigned compared, by_dwarf, frameless_indirect;
};

static FILE *run(const char *tool, const char *option, const char *path)
{
    char command[LINE * 2];
    snprintf(command, sizeof command, "%s %s '%s'", tool, option, path);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    return output;
}

static void read_entries(struct program *p, const char *path)
{
    FILE *dump = run(FW_LLVM_OBJDUMP, "--unwind-info", path);
    char line[LINE];
    struct entry *next = p->entries;
    unsigned long long start, size;
    while (fgets(line, sizeof line, dump) && p->entry_count < FUNCTIONS) {
        if (sscanf(line, " start: 0x%llx", &start) == 1)
            next->start = start;
        else if (sscanf(line, " length: 0x%llx", &size) == 1)
            next->size = size;
        else if (sscanf(line, " compact encoding: 0x%x", &next->encoding) == 1)
            next = &p->entries[++p->entry_count];
    }
    assert_int_equal(pclose(dump), 0);
}

static void read_frames(struct program *p, const char *path)
{
    FILE *dump = run(FW_LLVM_DWARFDUMP, "--eh-frame", path);
    char line[LINE];
    struct frame *frame = NULL;
    unsigned long long lo, hi;
    while (fgets(line, sizeof line, dump)) {
        const char *fde = strstr(line, "FDE cie="), *row = strstr(line, ": CFA=");
        if (fde && sscanf(fde, "FDE cie=%*x pc=%llx...%llx", &lo, &hi) == 2) {
            assert_true(p->frame_count < FUNCTIONS);
            frame = &p->frames[p->frame_count++];
            frame->start = lo & UINT32_MAX;
            frame->size = hi - lo;
        } else if (frame && row && line[0] == ' ') {
            snprintf(frame->row, sizeof frame->row, "%s", row + 2);
        }
    }
    assert_int_equal(pclose(dump), 0);
}

/* The frame of an entry. Starts are not relocated in objects of arm64: there, entries and frames
 * stand in one order. */
static const struct frame *frame_of(const struct program *p, size_t i)
{
    const struct entry *e = &p->entries[i];
    if (p->image.arch->id == ARCH_AARCH64)
        return i < p->frame_count && p->frames[i].size == e->size ? &p->frames[i] : NULL;
    for (size_t k = 0; k < p->frame_count; k++)
        if (p->frames[k].start == e->start && p->frames[k].size == e->size)
            return &p->frames[k];
    return NULL;
}

/* The register that a dump calls `name`; ARCH_NO_REG for those that are not followed. */
static unsigned register_named(const struct arch *arch, const char *name)
{
    char lower[16] = "";
    for (size_t i = 0; name[i] && i + 1 < sizeof lower; i++)
        lower[i] = (char)tolower((unsigned char)name[i]);
    if (arch->id == ARCH_AARCH64 && strcmp(lower, "wsp") == 0)
        return arch->sp;
    if (arch->id == ARCH_AARCH64 && lower[0] == 'w')
        lower[0] = 'x';
    /* llvm-dwarfdump does not know that .eh_frame has its own numbers of these two here. */
    if (arch->id == ARCH_I386 && (strcmp(lower, "esp") == 0 || strcmp(lower, "ebp") == 0))
        return strcmp(lower, "esp") == 0 ? arch->fp : arch->sp;
    for (unsigned i = 0; i < arch->reg_count; i++)
        if (strcmp(arch->reg_names[i], lower) == 0)
            return i;
    if (strcmp(lower, "rip") == 0 || strcmp(lower, "eip") == 0)
        return arch->pc;
    return ARCH_NO_REG;
}

static bool as_frame_says(const struct arch *arch, const struct unwind_row *row, const char *text)
{
    char name[16];
    long long offset = 0;
    uint64_t expected = 0, found = 0;
    if (sscanf(text, "CFA=%15[A-Za-z0-9]%lld", name, &offset) < 1 ||
        row->cfa_reg != register_named(arch, name) || row->cfa_offset != offset)
        return false;
    for (const char *at = strstr(text, ": "); at; at = strchr(at + 1, ',')) {
        if (sscanf(at + 2, "%15[A-Za-z0-9]=[CFA%lld]", name, &offset) != 2)
            return false;
        unsigned reg = register_named(arch, name);
        if (reg == ARCH_NO_REG)
            continue;
        if (row->reg[reg].how != REG_AT_CFA || row->reg[reg].offset != offset)
            return false;
        expected |= (uint64_t)1 << reg;
    }
    for (unsigned i = 0; i < arch->reg_count; i++)
        if (row->reg[i].how == REG_AT_CFA)
            found |= (uint64_t)1 << i;
    return found == expected;
}

static enum unwind_status decode(const struct program *p, const struct compact_entry *entry,
                                 struct unwind_row *row)
{
    switch (p->image.arch->id) {
    case ARCH_AARCH64: return compact_row_aarch64(entry, row);
    case ARCH_ARM: return compact_row_arm(entry, row);
    default: return compact_row_x86(&p->image, entry, row);
    }
}

static void compare(struct program *p, const char *path)
{
    const struct arch *arch = p->image.arch;
    for (size_t i = 0; i < p->entry_count; i++) {
        const struct entry *e = &p->entries[i];
        const struct frame *frame = frame_of(p, i);
        const struct compact_entry entry = {e->start, e->start + e->size, e->encoding};
        struct unwind_row row;
        if (compact_mode(e->encoding) == (arch->id == ARCH_AARCH64 ? 3 : 4)) {
            p->by_dwarf++;
            continue;
        }
        assert_non_null(frame);
        p->frameless_indirect += compact_mode(e->encoding) == 3;
        if (decode(p, &entry, &row) == UNWIND_OK && as_frame_says(arch, &row, frame->row)) {
            p->compared++;
            continue;
        }
        print_error("%s: %#llx, encoding %#x: r%u%+lld, frame %s", path,
                    (unsigned long long)e->start, e->encoding, row.cfa_reg,
                    (long long)row.cfa_offset, frame->row);
        fail();
    }
}

static const char *const *files;

static void encodings_say_what_frames_say(void **state)
{
    unsigned indirect = 0, compared[ARCH_I386 + 1] = {0};
    (void)state;
    for (const char *const *file = files; *file; file++) {
        static struct program p;
        struct object *object;
        p = (struct program){.compared = 0};
        assert_int_equal(object_open(*file, &object, NULL), FW_OK);
        object_unwind_image(object, NULL, &p.image);
        assert_non_null(p.image.arch);
        assert_int_equal(object_section_data(object, "__text", &p.image.text, NULL), FW_OK);
        read_entries(&p, *file);
        read_frames(&p, *file);
        compare(&p, *file);
        print_message("%s: %u encodings of %s, %u refer to DWARF\n", strrchr(*file, '/') + 1,
                      p.compared, p.image.arch->name, p.by_dwarf);
        assert_true(p.compared + p.by_dwarf >= 15);
        compared[p.image.arch->id] += p.compared;
        indirect += p.image.arch == &arch_x86_64 ? p.frameless_indirect : 0;
        object_close(object);
    }
    assert_true(indirect >= 2);
    for (unsigned arch = ARCH_X86_64; arch <= ARCH_I386; arch++)
        assert_true(compared[arch] > 60);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(encodings_say_what_frames_say)};
    (void)argc;
    files = (const char *const *)argv + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
