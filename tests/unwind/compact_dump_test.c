/*
 * Compact unwind of recorded Mach-O files, entry by entry, against the text dumps that other tools
 * made of them, and against llvm-objdump where it is installed. Files without dumps, and all slices
 * of fat ones, are compared with llvm-objdump alone.
 *
 * The dumps of x86_64 give every offset. Those of arm64 name the right registers, but each version
 * of the tool that made them counts their places in its own way: compact_programs_test.c and
 * compact_code_test.c prove the places.
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
#include "unwind/compact.h"
#include "unwind/sources.h"

#define DATA FW_SHARED_DATA "/unwind/framehop/macos/"

enum { LINE = 512 };

struct fixture {
    struct object *object; /* NULL for a bare section */
    uint8_t *bytes;
    struct unwind_image image;
};

static bool open_object(const char *path, const char *arch, struct fixture *f)
{
    struct object_choice choice = {.arch = arch};
    *f = (struct fixture){.bytes = NULL};
    if (object_open_choice(path, &choice, &f->object, NULL) != FW_OK)
        return false;
    object_unwind_image(f->object, NULL, &f->image);
    assert_true(f->image.macho);
    assert_non_null(f->image.unwind_info.data);
    return true;
}

static bool open_section(const char *path, const struct arch *arch, struct fixture *f)
{
    FILE *file = fopen(path, "rb");
    *f = (struct fixture){.object = NULL};
    if (!file)
        return false;
    enum { ROOM = 1 << 20 };
    f->bytes = malloc(ROOM);
    assert_non_null(f->bytes);
    size_t size = fread(f->bytes, 1, ROOM, file);
    fclose(file);
    f->image = (struct unwind_image){.arch = arch,
                                     .macho = true,
                                     .header = 0x100000000,
                                     .unwind_info = {f->bytes, size, 0x100000000}};
    return true;
}

static void close_fixture(struct fixture *f)
{
    object_close(f->object);
    free(f->bytes);
}

/* ---- dumps of unwindinfodump ---- */

/* What one line says of an entry. */
struct expected {
    uint64_t function; /* from the header */
    enum { COVERED, UNCOVERED, BY_DWARF, BY_CODE } kind;
    uint32_t fde;
    unsigned cfa_reg;
    long long cfa_offset;
    struct {
        unsigned reg;
        long long offset;
    } saved[32];
    unsigned saved_count;
};

static bool parse(const char *line, struct expected *e)
{
    unsigned long long function;
    int used = 0;
    *e = (struct expected){.kind = COVERED};
    if (line[0] != ' ' || sscanf(line, " 0x%llx: %n", &function, &used) != 1 || used == 0)
        return false;
    e->function = function;
    line += used;
    if (strncmp(line, "(uncovered)", 11) == 0)
        e->kind = UNCOVERED;
    else if (strncmp(line, "frameless indirect", 18) == 0)
        e->kind = BY_CODE;
    else if (sscanf(line, "(check eh_frame FDE %x)", &e->fde) == 1)
        e->kind = BY_DWARF;
    else
        assert_true(sscanf(line, "CFA=reg%u%lld", &e->cfa_reg, &e->cfa_offset) >= 1);
    for (const char *at = strchr(line, ':'); e->kind == COVERED && at; at = strstr(at + 1, "reg"))
        if (sscanf(at, "reg%u=[CFA%lld]", &e->saved[e->saved_count].reg,
                   &e->saved[e->saved_count].offset) >= 1 &&
            e->saved_count < 31 && strncmp(at, "reg31=", 6) != 0)
            e->saved_count++;
    return true;
}

static void check_registers(const struct arch *arch, const struct expected *e,
                            const struct unwind_row *row)
{
    uint64_t expected = 0, found = 0;
    for (unsigned i = 0; i < arch->reg_count; i++)
        if (row->reg[i].how == REG_AT_CFA)
            found |= (uint64_t)1 << i;
    for (unsigned i = 0; i < e->saved_count; i++) {
        unsigned reg = e->saved[i].reg;
        if (arch == &arch_x86_64)
            assert_int_equal(row->reg[reg].offset, e->saved[i].offset);
        if (arch == &arch_x86_64 || reg >= 19) /* d14, d15 are called 14 and 15 */
            expected |= (uint64_t)1 << reg;
    }
    assert_int_equal(found, expected);
}

static void check_entry(const struct unwind_image *image, const struct expected *e, uint64_t vaddr)
{
    struct unwind_row row;
    struct compact_entry entry;
    assert_int_equal(compact_lookup(image, vaddr, &entry), UNWIND_OK);
    assert_int_equal(entry.lo, image->header + e->function);
    if (e->kind == BY_DWARF) {
        assert_int_equal(compact_mode(entry.encoding), image->arch == &arch_x86_64 ? 4 : 3);
        assert_int_equal(entry.encoding & 0xffffff, e->fde);
        if (image->eh_frame.data && vaddr == entry.lo) { /* padding has no FDE */
            assert_int_equal(compact_find(image, vaddr, &row), UNWIND_OK);
            assert_int_equal(row.method, FW_METHOD_CFI);
        }
        return;
    }
    if (e->kind == UNCOVERED) {
        assert_int_equal(compact_find(image, vaddr, &row), UNWIND_NO_INFO);
        return;
    }
    assert_int_equal(compact_find(image, vaddr, &row), UNWIND_OK);
    assert_int_equal(row.method, FW_METHOD_COMPACT);
    if (e->kind == BY_CODE) { /* 255 words are the most that the encoding itself could say */
        assert_int_equal(compact_mode(entry.encoding), 3);
        assert_true(row.cfa_reg == image->arch->sp && row.cfa_offset > 255 * 8);
        return;
    }
    assert_int_equal(row.cfa_reg, e->cfa_reg);
    if (image->arch == &arch_x86_64 || e->cfa_reg == 31)
        assert_int_equal(row.cfa_offset, e->cfa_offset);
    else
        assert_int_equal(row.cfa_offset, 16); /* some versions count from the frame record */
    if (image->arch == &arch_x86_64 || e->cfa_reg != 31) /* frameless ones: not in the dumps */
        check_registers(image->arch, e, &row);
}

/* The first and the last address of every entry; how many there were. */
static unsigned compare_with_dump(struct fixture *f, const char *dump_path)
{
    FILE *dump = fopen(dump_path, "r");
    char line[LINE];
    struct expected next, last = {.kind = COVERED};
    unsigned entries = 0;
    assert_non_null(dump);
    while (fgets(line, sizeof line, dump)) {
        if (!parse(line, &next))
            continue;
        if (entries++)
            check_entry(&f->image, &last, f->image.header + next.function - 1);
        check_entry(&f->image, &next, f->image.header + next.function);
        last = next;
    }
    fclose(dump);
    print_message("%s: %u entries\n", dump_path, entries);
    return entries;
}

static void dumps(void **state)
{
    static const struct {
        const char *file, *dump;
        const struct arch *section_of; /* a bare section, not a file */
        unsigned entries;
    } list[] = {
        {"arm64/fp/query-api", "arm64/fp/query-api-unwindinfodump.txt", NULL, 2562},
        {"arm64/fp/query-api.__unwind_info", "arm64/fp/query-api-unwindinfodump.txt", &arch_aarch64,
         2562},
        {"arm64/nofp/rustup.__unwind_info", "arm64/nofp/rustup-unwindinfodump.txt", &arch_aarch64,
         5605},
        {"x86_64/fp/libmozglue.dylib", "x86_64/fp/libmozglue-unwindinfodump.txt", NULL, 546},
        {"x86_64/nofp/libmozglue.dylib", "x86_64/nofp/libmozglue-unwindinfodump.txt", NULL, 804},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char file[LINE], dump[LINE];
        struct fixture f;
        snprintf(file, sizeof file, DATA "%s", list[i].file);
        snprintf(dump, sizeof dump, DATA "%s", list[i].dump);
        if (!(list[i].section_of ? open_section(file, list[i].section_of, &f)
                                 : open_object(file, NULL, &f))) {
            print_message("skip: no %s\n", file);
            skip();
        }
        assert_int_equal(compare_with_dump(&f, dump), list[i].entries);
        close_fixture(&f);
    }
}

/* ---- dumps of __eh_frame: rows by address, where entries refer to them ---- */

static bool check_frame_row(const struct unwind_image *image, const char *line)
{
    unsigned long long at;
    unsigned cfa_reg;
    long long cfa_offset = 0;
    struct compact_entry entry;
    struct unwind_row row;
    if (sscanf(line, "  0x%llx: CFA=reg%u%lld", &at, &cfa_reg, &cfa_offset) < 2)
        return false;
    assert_int_equal(compact_lookup(image, at, &entry), UNWIND_OK);
    bool referred = compact_mode(entry.encoding) == (image->arch == &arch_x86_64 ? 4 : 3);
    enum unwind_status status =
        referred ? compact_find(image, at, &row) : cfi_find_eh(image, at, &row);
    assert_int_equal(status, UNWIND_OK);
    assert_int_equal(row.cfa_reg, cfa_reg);
    assert_int_equal(row.cfa_offset, cfa_offset);
    unsigned saved = 0, found = 0;
    for (const char *reg = strchr(line, ','); reg || saved == 0; reg = strchr(reg + 1, ',')) {
        unsigned number;
        long long offset;
        const char *from = reg ? reg + 2 : strstr(line, ": reg");
        if (!from ||
            sscanf(from + (*from == ':' ? 2 : 0), "reg%u=[CFA%lld]", &number, &offset) != 2)
            break;
        if (number < image->arch->reg_count) {
            saved++;
            assert_int_equal(row.reg[number].how, REG_AT_CFA);
            assert_int_equal(row.reg[number].offset, offset);
        }
        if (!reg)
            break;
    }
    for (unsigned i = 0; i < image->arch->reg_count; i++)
        found += row.reg[i].how == REG_AT_CFA;
    assert_true(found >= saved);
    return true;
}

static void frame_dumps(void **state)
{
    static const struct {
        const char *file, *dump;
        unsigned rows;
    } list[] = {
        {"arm64/fp/query-api", "arm64/fp/query-api-ehframe-objdump.txt", 6},
        {"x86_64/nofp/libmozglue.dylib", "x86_64/nofp/libmozglue-ehframe-objdump.txt", 201},
    };
    (void)state;
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        char path[LINE], line[LINE];
        struct fixture f;
        snprintf(path, sizeof path, DATA "%s", list[i].file);
        if (!open_object(path, NULL, &f)) {
            print_message("skip: no %s\n", path);
            skip();
        }
        snprintf(path, sizeof path, DATA "%s", list[i].dump);
        FILE *dump = fopen(path, "r");
        assert_non_null(dump);
        unsigned rows = 0;
        while (fgets(line, sizeof line, dump))
            rows += check_frame_row(&f.image, line);
        fclose(dump);
        print_message("%s: %u rows\n", path, rows);
        assert_true(rows >= list[i].rows);
        close_fixture(&f);
    }
}

/* ---- llvm-objdump ---- */

static void compare_with_objdump(const char *path, const char *arch)
{
    char command[2 * LINE], line[LINE];
    struct fixture f;
    if (!open_object(path, arch, &f)) {
        print_message("skip: no %s\n", path);
        skip();
    }
    snprintf(command, sizeof command, FW_LLVM_OBJDUMP " --unwind-info --arch=%s '%s'", arch, path);
    FILE *dump = popen(command, "r");
    assert_non_null(dump);
    unsigned entries = 0;
    while (fgets(line, sizeof line, dump)) {
        unsigned long long function;
        unsigned encoding, number;
        struct compact_entry entry;
        if (sscanf(line, " [%*u]: function offset=%llx, encoding[%u]=%x", &function, &number,
                   &encoding) != 3 &&
            sscanf(line, " [%*u]: function offset=%llx, encoding=%x", &function, &encoding) != 2)
            continue;
        assert_int_equal(compact_lookup(&f.image, f.image.header + function, &entry), UNWIND_OK);
        assert_int_equal(entry.lo, f.image.header + function);
        assert_int_equal(entry.encoding, encoding);
        entries++;
    }
    assert_int_equal(pclose(dump), 0);
    print_message("%s, %s: %u entries\n", path, arch, entries);
    assert_true(entries > 10);
    close_fixture(&f);
}

static void objdump(void **state)
{
    (void)state;
    if (FW_LLVM_OBJDUMP[0] != '/') {
        print_message("skip: no llvm-objdump\n");
        skip();
    }
    compare_with_objdump(DATA "arm64/fp/query-api", "arm64");
    compare_with_objdump(DATA "arm64/fp/libmozglue-fat.dylib", "arm64");
    compare_with_objdump(DATA "arm64/fp/libmozglue-fat.dylib", "x86_64");
    compare_with_objdump(DATA "x86_64/fp/libmozglue.dylib", "x86_64");
    compare_with_objdump(DATA "x86_64/nofp/libmozglue.dylib", "x86_64");
    compare_with_objdump(DATA "x86_64/nofp/firefox-esr-78", "x86_64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dumps),
        cmocka_unit_test(frame_dumps),
        cmocka_unit_test(objdump),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
