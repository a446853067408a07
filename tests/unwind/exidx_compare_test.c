/*
 * Every entry of real exception index tables, compared with what `readelf --unwind` (binutils)
 * prints for it.
 *
 * test_exidx_compare FILE... compares those files instead of the usual ones.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "object/object.h"
#include "unwind/sources.h"

static const char *const *files;

/* What the printed instructions of one entry come to. */
struct printed {
    uint64_t function;
    bool cannot, refused, decoded, finished;
    uint8_t base;
    int64_t offset;
    bool popped[16];
    int64_t slot[16];
};

/* "pop {r4, r5, r14}", "pop {D8-D9}", after the bytes of the instruction. */
static void print_pop(struct printed *p, const char *list, bool fstmfdx)
{
    unsigned first, last;
    if (sscanf(list, "{D%u-D%u}", &first, &last) == 2 ||
        (sscanf(list, "{D%u}", &first) == 1 && (last = first, true))) {
        p->offset += 8 * ((int64_t)last - first + 1) + (fstmfdx ? 4 : 0);
        return;
    }
    for (const char *at = list; *at && *at != '}'; at++) {
        if (sscanf(at, "r%u", &first) != 1 || at[0] != 'r')
            continue;
        p->popped[first] = true;
        p->slot[first] = p->offset;
        p->offset += 4;
    }
}

static void print_instruction(struct printed *p, const char *line)
{
    const char *text;
    unsigned op, reg;
    int64_t amount;

    if (p->finished || sscanf(line, " 0x%x", &op) != 1)
        return;
    p->decoded = true;
    if ((text = strstr(line, "pop {")))
        print_pop(p, text + 4, op == 0xb3 || (op & 0xf8) == 0xb8);
    else if ((text = strstr(line, "vsp = vsp + ")) && sscanf(text + 12, "%" SCNi64, &amount) == 1)
        p->offset += amount;
    else if ((text = strstr(line, "vsp = vsp - ")) && sscanf(text + 12, "%" SCNi64, &amount) == 1)
        p->offset -= amount;
    else if ((text = strstr(line, "vsp = r")) && sscanf(text + 7, "%u", &reg) == 1) {
        p->base = (uint8_t)reg;
        p->offset = 0;
    } else if (strstr(line, "finish"))
        p->finished = true;
    else if (strstr(line, "efuse"))
        p->refused = true;
    else
        fail_msg("not understood: %s", line);
}

static void compare(const struct unwind_image *image, const struct printed *p)
{
    struct unwind_row row;
    enum unwind_status status = exidx_find(image, p->function, &row);
    if (p->cannot || p->refused) {
        assert_int_equal(status, UNWIND_ROOT);
        return;
    }
    assert_int_equal(status, UNWIND_OK);
    assert_int_equal(row.lo, p->function);
    assert_int_equal(row.cfa_reg, p->base);
    assert_int_equal(row.cfa_offset, p->offset);
    for (unsigned i = 0; i < 16; i++) {
        assert_int_equal(row.reg[i].how == REG_AT_CFA, p->popped[i]);
        if (p->popped[i])
            assert_int_equal(row.reg[i].offset, p->slot[i] - p->offset);
    }
    assert_int_equal(row.ra_reg, p->popped[15] ? 15 : 14);
}

/* ---- against .debug_frame, for the entries that readelf does not decode ---- */

static unsigned functions;

static void compare_function(void *context, uint64_t lo, uint64_t hi)
{
    const struct unwind_image *image = context;
    struct unwind_row row, truth, body = {.lo = 0};

    if (exidx_find(image, lo, &row) != UNWIND_OK)
        return;
    /* The body is what has the row that holds for the most places. */
    for (uint64_t at = lo; at < hi; at = truth.hi) {
        assert_int_equal(cfi_find_debug(image, at, &truth), UNWIND_OK);
        if (truth.hi - at > body.hi - body.lo)
            body = truth;
    }
    functions++;
    assert_int_equal(row.lo, lo);
    assert_int_equal(row.cfa_reg, body.cfa_reg);
    assert_int_equal(row.cfa_offset, body.cfa_offset);
    for (unsigned i = 4; i < 15; i++) {
        assert_int_equal(row.reg[i].how == REG_AT_CFA, body.reg[i].how == REG_AT_CFA);
        if (row.reg[i].how == REG_AT_CFA)
            assert_int_equal(row.reg[i].offset, body.reg[i].offset);
    }
}

static void against_debug_frame(void **state)
{
    (void)state;
    functions = 0;
    for (const char *const *file = files; *file; file++) {
        struct object *object;
        struct unwind_image image;
        if (object_open(*file, &object, NULL) != FW_OK)
            continue;
        object_unwind_image(object, NULL, &image);
        struct cfi_index *index = cfi_index_build(&image, true);
        if (index) {
            image.debug_index = index;
            cfi_index_ranges(index, compare_function, &image);
        }
        cfi_index_destroy(index);
        object_close(object);
    }
    print_message("%u functions\n", functions);
    if (functions == 0) {
        print_message("skip: no .debug_frame in these files\n");
        skip();
    }
}

/* Entries compared; 0 when the file or readelf is not there. */
static unsigned compare_file(const char *path)
{
    char command[1024], line[1024];
    struct object *object;
    struct unwind_image image;
    struct printed p = {.function = 0};
    unsigned count = 0;
    bool open = false;

    if (object_open(path, &object, NULL) != FW_OK)
        return 0;
    object_unwind_image(object, NULL, &image);
    snprintf(command, sizeof command, "LC_ALL=C readelf --unwind '%s' 2>/dev/null", path);
    FILE *readelf = popen(command, "r");
    assert_non_null(readelf);
    for (bool more = true; more;) {
        more = fgets(line, sizeof line, readelf) != NULL;
        bool entry = more && line[0] == '0';
        if (open && (entry || !more) && (p.decoded || p.cannot)) {
            compare(&image, &p);
            count++;
        }
        if (entry) {
            p = (struct printed){.base = 13, .cannot = strstr(line, "[cantunwind]") != NULL};
            open = sscanf(line, "%" SCNx64, &p.function) == 1;
        } else if (more && line[0] == ' ') {
            print_instruction(&p, line);
        }
    }
    pclose(readelf);
    object_close(object);
    print_message("%s: %u entries\n", path, count);
    return count;
}

static void every_entry(void **state)
{
    (void)state;
    unsigned count = 0;
    for (const char *const *file = files; *file; file++)
        count += compare_file(*file);
    if (count == 0) {
        print_message("skip: no test data, or no readelf\n");
        skip();
    }
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {
        FW_SHARED_DATA "/unwind/framehop/android/arm/release-libmozglue.so", NULL};
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_entry),
                                       cmocka_unit_test(against_debug_frame)};
    files = argc > 1 ? (const char *const *)argv + 1 : usual;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
