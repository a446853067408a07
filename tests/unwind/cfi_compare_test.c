/*
 * Every row of every FDE of real binaries, compared with what `readelf --debug-dump=frames-interp`
 * (binutils) says; and the three ways of searching compared with each other.
 *
 * test_cfi_compare [--debug-frame] FILE... compares those files instead of the usual ones.
 */
#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "object/object.h"
#include "unwind/sources.h"

enum { COLUMNS_MAX = 96, CELL_MAX = 24, REPORTED_MAX = 10 };

/* A row as readelf prints it. */
struct printed {
    uint64_t loc;
    unsigned count;
    char cfa[CELL_MAX];
    char name[COLUMNS_MAX][CELL_MAX];
    char cell[COLUMNS_MAX][CELL_MAX];
};

struct comparison {
    const char *path;
    struct unwind_image *image;
    bool debug_frame;
    bool dead; /* the current FDE is of a function that the linker left out */
    unsigned long fdes, rows, registers, differences;
    struct printed cie; /* row of the CIE of the current FDE */
    unsigned long return_column;
};

static unsigned column_register(const struct comparison *c, const char *name)
{
    const struct arch *arch = c->image->arch;
    if (!strcmp(name, "ra"))
        return (unsigned)c->return_column;
    for (unsigned i = 0; i < arch->reg_count; i++)
        if (!strcmp(name, arch->reg_names[i]))
            return i;
    /* readelf knows only r0 .. r15 of ARM */
    char *end;
    unsigned long n = strtoul(name + 1, &end, 10);
    return name[0] == 'r' && *end == 0 && arch->id == ARCH_ARM && n < 16 ? (unsigned)n
                                                                         : ARCH_NO_REG;
}

static bool cell_agrees(const struct comparison *c, const char *cell, const struct reg_row *rule)
{
    switch (cell[0]) {
    case 'u':
        return !strcmp(cell, "u") && (rule->how == REG_UNSPECIFIED || rule->how == REG_UNDEFINED);
    case 's': return !strcmp(cell, "s") && rule->how == REG_SAME;
    case 'c': return rule->how == REG_AT_CFA && rule->offset == strtoll(cell + 1, NULL, 10);
    case 'v':
        return !strcmp(cell, "vexp")
                   ? rule->how == REG_VAL_EXPR
                   : rule->how == REG_CFA_PLUS && rule->offset == strtoll(cell + 1, NULL, 10);
    case 'e': return !strcmp(cell, "exp") && rule->how == REG_AT_EXPR;
    case '(':   /* in another register */
    case 'r': { /* the same, of one that readelf has no name for */
        char name[CELL_MAX];
        size_t from = cell[0] == '(';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(cell + from, ")"), cell + from);
        return rule->how == REG_IN_REG && rule->reg == column_register(c, name);
    }
    default: return false;
    }
}

static bool cfa_agrees(const struct comparison *c, const char *cfa, const struct unwind_row *row)
{
    if (!strcmp(cfa, "exp"))
        return row->cfa_how == CFA_EXPR && row->cfa_expr.size > 0;
    char name[CELL_MAX];
    size_t length = strcspn(cfa, "+-");
    snprintf(name, sizeof name, "%.*s", (int)length, cfa);
    return row->cfa_how == CFA_REG && row->cfa_reg == column_register(c, name) &&
           row->cfa_offset == strtoll(cfa + length, NULL, 10);
}

static void differ(struct comparison *c, uint64_t vaddr, const char *what, const char *theirs)
{
    if (c->differences++ < REPORTED_MAX)
        print_error("%s: %#" PRIx64 ": %s, readelf says %s\n", c->path, vaddr, what, theirs);
}

/* The row in force at `vaddr`, which readelf prints as `p` for [lo, hi). */
static void compare_row(struct comparison *c, const struct printed *p, uint64_t vaddr, uint64_t lo,
                        uint64_t hi)
{
    struct unwind_row row;
    enum unwind_status status =
        c->debug_frame ? cfi_find_debug(c->image, vaddr, &row) : cfi_find_eh(c->image, vaddr, &row);
    if (status != UNWIND_OK) {
        differ(c, vaddr, "no row", p->cfa);
        return;
    }
    if (row.lo != lo || row.hi != hi)
        differ(c, vaddr, "the row's range differs", p->cfa);
    if (row.ra_reg != c->return_column)
        differ(c, vaddr, "return address column", "another");
    if (!cfa_agrees(c, p->cfa, &row))
        differ(c, vaddr, "CFA", p->cfa);
    uint64_t seen = 0;
    for (unsigned i = 0; i < p->count; i++) {
        unsigned n = column_register(c, p->name[i]);
        if (n == ARCH_NO_REG)
            continue;
        seen |= (uint64_t)1 << n;
        c->registers++;
        if (!cell_agrees(c, p->cell[i], &row.reg[n]))
            differ(c, vaddr, p->name[i], p->cell[i]);
    }
    for (unsigned n = 0; n < ARCH_MAX_REGS; n++)
        if (!(seen >> n & 1) && row.reg[n].how != REG_UNSPECIFIED)
            differ(c, vaddr, "a rule too many", "nothing");
}

/* `p` holds for [lo, hi): compares at both ends and in the middle. */
static void compare_range(struct comparison *c, const struct printed *p, uint64_t lo, uint64_t hi)
{
    if (lo >= hi || c->dead)
        return;
    c->rows++;
    compare_row(c, p, lo, lo, hi);
    if (hi - lo > 1)
        compare_row(c, p, hi - 1, lo, hi);
    if (hi - lo > 2)
        compare_row(c, p, lo + (hi - lo) / 2, lo, hi);
}

/* "LOC CFA rbx ra" */
static void parse_names(struct printed *p, char *line)
{
    p->count = 0;
    strtok(line, " \n");
    strtok(NULL, " \n");
    for (char *word; (word = strtok(NULL, " \n")) && p->count < COLUMNS_MAX; p->count++)
        snprintf(p->name[p->count], CELL_MAX, "%s", word);
}

/* "0000000000026006 rsp+24 c-16 r5 (rdi) c-8" */
static void parse_row(struct printed *p, char *line)
{
    unsigned n = 0;
    p->loc = strtoull(strtok(line, " \n"), NULL, 16);
    char *word = strtok(NULL, " \n");
    snprintf(p->cfa, CELL_MAX, "%s", word ? word : "");
    while ((word = strtok(NULL, " \n")) && n <= p->count) {
        if (word[0] == '(' && n > 0)
            n--; /* "r5 (rdi)": the name is what counts */
        if (n < p->count)
            snprintf(p->cell[n++], CELL_MAX, "%s", word);
    }
}

/* CIEs met so far: their offset, return address column and row. */
struct cies {
    size_t count;
    struct {
        uint64_t offset;
        unsigned long return_column;
        struct printed row;
    } *at;
};

static void compare_with_readelf(struct comparison *c, FILE *output)
{
    char line[1024];
    struct cies cies = {0};
    struct printed row = {0};
    bool in_fde = false, wanted = false, pending = false;
    uint64_t hi = 0, lo = 0, offset = 0, cie = 0;
    while (fgets(line, sizeof line, output)) {
        char *at;
        if (strstr(line, "Contents of the ")) {
            wanted = strstr(line, c->debug_frame ? ".debug_frame" : ".eh_frame") != NULL;
        } else if (!wanted) {
            continue;
        } else if ((at = strstr(line, " CIE \""))) {
            cies.at = realloc(cies.at, (cies.count + 1) * sizeof *cies.at);
            memset(&cies.at[cies.count], 0, sizeof *cies.at);
            cies.at[cies.count].offset = strtoull(line, NULL, 16);
            cies.at[cies.count++].return_column = strtoul(strstr(at, "ra=") + 3, NULL, 10);
            in_fde = false;
        } else if (sscanf(line, "%" SCNx64 " %*x %*x FDE cie=%" SCNx64 " pc=%" SCNx64 "..%" SCNx64,
                          &offset, &cie, &lo, &hi) == 4) {
            size_t i = cies.count;
            while (i > 0 && cies.at[i - 1].offset != cie)
                i--;
            assert_true(i > 0);
            c->cie = cies.at[i - 1].row;
            c->return_column = cies.at[i - 1].return_column;
            c->fdes++;
            c->dead = c->debug_frame && lo == 0;
            in_fde = true;
            row = c->cie;
            row.loc = lo;
            pending = true;
        } else if (strstr(line, " LOC ")) {
            parse_names(in_fde ? &row : &cies.at[cies.count - 1].row, line);
            pending = false;
        } else if (line[0] == '\n') {
            if (in_fde && pending)
                compare_range(c, &row, row.loc, hi);
            in_fde = pending = false;
        } else if (in_fde && strspn(line, "0123456789abcdef") >= 8) {
            uint64_t next = strtoull(line, NULL, 16);
            if (pending)
                compare_range(c, &row, row.loc, next);
            parse_row(&row, line);
            pending = true;
        } else if (cies.count && strspn(line, "0123456789abcdef") >= 8 && !strstr(line, "ZERO")) {
            parse_row(&cies.at[cies.count - 1].row, line);
        }
    }
    if (in_fde && pending)
        compare_range(c, &row, row.loc, hi);
    free(cies.at);
}

static bool have_readelf(void)
{
    return system("readelf --version >/dev/null 2>&1") == 0;
}

/* False when the file is absent. */
static bool compare_file(const char *path, bool debug_frame)
{
    struct object *object;
    if (object_open(path, &object, NULL) != FW_OK) {
        print_message("[   SKIP   ] %s: absent\n", path);
        return false;
    }
    struct unwind_image image;
    object_unwind_image(object, NULL, &image);
    struct comparison c = {.path = path, .image = &image, .debug_frame = debug_frame};
    struct cfi_index *index = cfi_index_build(&image, debug_frame);
    if (debug_frame)
        image.debug_index = index;
    else if (!image.eh_frame_hdr.data)
        image.eh_index = index;
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "LC_ALL=C readelf -wNF '%s' 2>/dev/null", path);
    FILE *output = popen(command, "r");
    assert_non_null(output);
    compare_with_readelf(&c, output);
    pclose(output);
    print_message("%s: %s of %s: %lu FDEs, %lu rows, %lu register rules compared, %lu differ\n",
                  path, debug_frame ? ".debug_frame" : ".eh_frame", image.arch->name, c.fdes,
                  c.rows, c.registers, c.differences);
    cfi_index_destroy(index);
    object_close(object);
    assert_int_equal(c.differences, 0);
    assert_true(c.rows > 0);
    return true;
}

static const char *const system_files[] = {
    "/lib/x86_64-linux-gnu/libc.so.6",
    "/lib/aarch64-linux-gnu/libc.so.6",
    "/lib64/ld-linux-x86-64.so.2",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
    "/usr/bin/python3",
    "/usr/lib32/libc.so.6",
    "/usr/aarch64-linux-gnu/lib/libc.so.6",
};

static const char *const recorded_files[] = {
    "aarch64/ld-2.31.so",
    "aarch64/libc-2.31.so",
    "aarch64/libpthread-2.31.so",
    "aarch64/vdso.so",
    "x86_64/fp/nightly-libsoftokn3.so",
    "x86_64/nofp/libc.so.6",
    "x86_64/nofp/libfontconfig.so.1",
    "x86_64/nofp/libglib-2.0.so.0",
    "x86_64/nofp/libpthread-2.19.so",
    "x86_64/nofp/release-libsoftokn3.so",
};

static void rows_of_system_libraries(void **state)
{
    (void)state;
    unsigned compared = 0;
    if (!have_readelf()) {
        print_message("readelf is missing\n");
        skip();
    }
    for (size_t i = 0; i < sizeof system_files / sizeof *system_files; i++)
        compared += compare_file(system_files[i], false);
    if (!compared)
        skip();
}

static void rows_of_recorded_libraries(void **state)
{
    (void)state;
    unsigned compared = 0;
    if (!have_readelf()) {
        print_message("readelf is missing\n");
        skip();
    }
    for (size_t i = 0; i < sizeof recorded_files / sizeof *recorded_files; i++) {
        char path[PATH_MAX];
        snprintf(path, sizeof path, FW_SHARED_DATA "/unwind/framehop/linux/%s", recorded_files[i]);
        compared += compare_file(path, false);
    }
    if (!compared)
        skip();
}

/* Compilers and options that lead to .debug_frame in all its forms. */
static const struct {
    const char *compiler, *options;
} builds[] = {
    {"cc", "-gdwarf-4"},
    {"cc", "-gdwarf-5 -fno-omit-frame-pointer"},
    {"gcc", "-gdwarf64 -gdwarf-5"},
    {"gcc", "-m32 -gdwarf-5"},
    {"aarch64-linux-gnu-gcc", "-gdwarf-5 -mbranch-protection=standard"},
    {"arm-linux-gnueabihf-gcc", "-gdwarf-5 -mthumb"},
    {"arm-linux-gnueabihf-gcc", "-gdwarf-4 -marm"},
};

static const char source[] =
    "int printf(const char *, ...); void *alloca_user(unsigned n);\n"
    "__attribute__((noinline)) static int leaf(int a, int b) { return a * b; }\n"
    "__attribute__((noinline)) int many(int n, int *p, long a, long b, long c, long d, long e)\n"
    "{ int s = 0; for (int i = 0; i < n; i++) { s += leaf(p[i], n); if (s < 0) return "
    "printf(\"x\");\n"
    "  if (p[i] > 7) s += many(n - 1, p, b, c, d, e, a); } return s + (int)(a * b + c * d + e); }\n"
    "int main(int argc, char **argv)\n"
    "{ char *b = __builtin_alloca((unsigned)argc * 16); b[0] = argv[0][0];\n"
    "  int p[4] = {argc, b[0], 8, 9}; return printf(\"%d\", many(4, p, 1, 2, 3, 4, argc)); }\n";

static void rows_of_debug_frame(void **state)
{
    (void)state;
    unsigned compared = 0;
    char folder[] = "/tmp/cfi_compareXXXXXX", c_file[64], program[64], command[512];
    if (!have_readelf() || !mkdtemp(folder)) {
        print_message("readelf is missing\n");
        skip();
    }
    snprintf(c_file, sizeof c_file, "%s/a.c", folder);
    snprintf(program, sizeof program, "%s/a.out", folder);
    FILE *out = fopen(c_file, "w");
    assert_non_null(out);
    fputs(source, out);
    fclose(out);
    for (size_t i = 0; i < sizeof builds / sizeof *builds; i++) {
        snprintf(
            command, sizeof command,
            "%s -O2 %s -fno-asynchronous-unwind-tables -fno-unwind-tables -o %s %s 2>/dev/null",
            builds[i].compiler, builds[i].options, program, c_file);
        print_message("%s %s\n", builds[i].compiler, builds[i].options);
        if (system(command) == 0)
            compared += compare_file(program, true);
        else
            print_message("[   SKIP   ] cannot build that\n");
    }
    unlink(c_file);
    unlink(program);
    rmdir(folder);
    if (!compared)
        skip();
}

/* The same row, wherever it was found. */
static bool same_row(const struct unwind_row *a, const struct unwind_row *b)
{
    bool same = a->cfa_how == b->cfa_how && a->cfa_reg == b->cfa_reg && a->ra_reg == b->ra_reg &&
                a->signal_frame == b->signal_frame && a->ra_signed == b->ra_signed &&
                a->cfa_offset == b->cfa_offset && a->cfa_expr.data == b->cfa_expr.data &&
                a->cfa_expr.size == b->cfa_expr.size && a->lo == b->lo && a->hi == b->hi;
    for (unsigned i = 0; i < ARCH_MAX_REGS; i++) {
        const struct reg_row *x = &a->reg[i], *y = &b->reg[i];
        same &= x->how == y->how && x->reg == y->reg && x->offset == y->offset &&
                x->expr.data == y->expr.data && x->expr.size == y->expr.size;
    }
    return same;
}

struct ways {
    struct unwind_image header, index, linear;
    unsigned long count, linear_count;
};

static void search_in_all_ways(struct ways *ways, uint64_t vaddr)
{
    struct unwind_row by_header, by_index, by_scan;
    enum unwind_status status = cfi_find_eh(&ways->header, vaddr, &by_header);
    assert_int_equal(cfi_find_eh(&ways->index, vaddr, &by_index), status);
    if (status == UNWIND_OK)
        assert_true(same_row(&by_header, &by_index));
    if (ways->count++ % 16 != 0) /* a scan takes long */
        return;
    ways->linear_count++;
    assert_int_equal(cfi_find_eh(&ways->linear, vaddr, &by_scan), status);
    if (status == UNWIND_OK)
        assert_true(same_row(&by_header, &by_scan));
}

static void search_range(void *context, uint64_t lo, uint64_t hi)
{
    search_in_all_ways(context, lo);
    search_in_all_ways(context, lo + (hi - lo) / 2);
    search_in_all_ways(context, hi - 1);
    search_in_all_ways(context, hi);
    search_in_all_ways(context, lo - 1);
}

static void header_index_and_scan_agree(void **state)
{
    (void)state;
    struct object *object;
    if (object_open(system_files[0], &object, NULL) != FW_OK &&
        object_open(system_files[1], &object, NULL) != FW_OK)
        skip();
    struct unwind_image image;
    object_unwind_image(object, NULL, &image);
    struct ways ways = {.header = image, .index = image, .linear = image};
    struct cfi_index *index = cfi_index_build(&image, false);
    assert_non_null(index);
    ways.index.eh_index = index;
    ways.index.eh_frame_hdr.data = ways.linear.eh_frame_hdr.data = NULL;
    cfi_index_ranges(index, search_range, &ways);
    print_message("%lu addresses by header and index, %lu of them by scan\n", ways.count,
                  ways.linear_count);
    cfi_index_destroy(index);
    object_close(object);
}

int main(int argc, char **argv)
{
    bool debug_frame = argc > 1 && !strcmp(argv[1], "--debug-frame");
    for (int i = 1 + debug_frame; i < argc; i++)
        compare_file(argv[i], debug_frame);
    if (argc > 1)
        return 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_system_libraries),
        cmocka_unit_test(rows_of_recorded_libraries),
        cmocka_unit_test(rows_of_debug_frame),
        cmocka_unit_test(header_index_and_scan_agree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
