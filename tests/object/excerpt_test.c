/* An index of an excerpt says what the index of all symbols says, wherever the excerpt is said to
 * be right; on tables of every shape, drawn by lot: nested, overlapping, without sizes, with
 * aliases. */
#include "object/excerpt.h"
#include "object/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CODE = 4096, WINDOWS = 4, TRIES = 120, ROOM = 1 << 20 };

static uint64_t lot_state = 88172645463325252u;

static unsigned lot(unsigned below)
{
    lot_state ^= lot_state << 13;
    lot_state ^= lot_state >> 7;
    lot_state ^= lot_state << 17;
    return (unsigned)(lot_state >> 32) % below;
}

struct shape {
    unsigned symbols, largest; /* bytes that the largest covers */
    unsigned sizeless, labels; /* of 8 */
    bool grid;                 /* starts on multiples of 32, so that many have aliases */
};

static const struct shape shapes[] = {
    {100, 32, 0, 0, true},   {100, 32, 8, 0, true},  {100, 32, 3, 3, true},
    {60, 300, 3, 3, false},  {200, 64, 4, 4, false}, {30, 3000, 2, 4, false},
    {300, 100, 4, 7, false}, {12, 200, 6, 2, false}, {3, 64, 2, 0, true},
    {150, 100, 2, 2, true},
};

/* An assembler file of two sections with symbols by lot. */
static void write_source(const struct shape *shape)
{
    char *text = malloc(ROOM);
    assert_non_null(text);
    int used = snprintf(text, ROOM,
                        ".text\nbase0:\n.fill %d,1,0x90\n"
                        ".section .text.other,\"ax\",@progbits\nbase1:\n.fill %d,1,0x90\n",
                        CODE, CODE);
    for (unsigned i = 0; i < shape->symbols; i++) {
        unsigned start = lot(CODE), size = 1 + lot(shape->largest);
        if (shape->grid)
            start &= ~31u;
        if (size > CODE - start)
            size = CODE - start;
        char own[32];
        snprintf(own, sizeof own, "%ss%u", lot(4) ? "" : "_", i);
        used += snprintf(text + used, (size_t)(ROOM - used), ".set %s, base%u+%u\n", own, lot(2),
                         start);
        if (lot(2))
            used += snprintf(text + used, (size_t)(ROOM - used), ".globl %s\n", own);
        if (lot(8) >= shape->labels)
            used += snprintf(text + used, (size_t)(ROOM - used), ".type %s,@function\n", own);
        if (lot(8) >= shape->sizeless)
            used += snprintf(text + used, (size_t)(ROOM - used), ".size %s,%u\n", own, size);
    }
    snprintf(text + used, (size_t)(ROOM - used), ".section .note.GNU-stack,\"\",%%progbits\n");
    fixture_text("lot.s", text);
    free(text);
}

static int by_lo(const void *a, const void *b)
{
    const struct object_range *x = a, *y = b;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

static size_t draw_windows(const struct object_range *code, size_t code_count,
                           struct object_range *windows)
{
    size_t count = 1 + lot(WINDOWS), kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct object_range *range = &code[lot((unsigned)code_count)];
        windows[i].lo = range->lo + lot((unsigned)(range->hi - range->lo));
        windows[i].hi = windows[i].lo + 1 + (lot(2) ? 0 : lot(60));
    }
    qsort(windows, count, sizeof *windows, by_lo);
    for (size_t i = 0; i < count; i++)
        if (!kept || windows[i].lo > windows[kept - 1].hi)
            windows[kept++] = windows[i];
    return kept;
}

static void compare_at(const struct symbols *part, const struct symbols *whole, uint64_t vaddr)
{
    struct symbol_match a = {0}, b = {0};
    bool found = symbols_lookup(part, vaddr, &a), wanted = symbols_lookup(whole, vaddr, &b);
    if (found != wanted || (found && (strcmp(a.name, b.name) != 0 || a.vaddr != b.vaddr ||
                                      a.size != b.size || a.plt != b.plt)))
        fail_msg("0x%llx: in the excerpt %s, of all symbols %s", (unsigned long long)vaddr,
                 found ? a.name : "nothing", wanted ? b.name : "nothing");
}

/* Symbols in the indexes of the excerpts of one file, and in as many of all its symbols. */
struct sums {
    size_t part, whole;
};

static void compare(const char *name, const char *debug_name, struct sums *sums)
{
    struct object *object = fixture_open(name);
    struct object *debug = debug_name ? fixture_open(debug_name) : NULL;
    struct symbols *whole = symbols_build(object, debug);
    const struct object_range *code;
    size_t code_count;
    assert_int_equal(object_code_ranges(object, &code, &code_count), FW_OK);
    for (int i = 0; i < TRIES; i++) {
        struct object_range windows[WINDOWS];
        size_t count = draw_windows(code, code_count, windows), ranges = 0;
        struct excerpt *excerpt = excerpt_make(object, debug, windows, count);
        struct symbols *part = symbols_build_excerpt(object, debug, excerpt);
        assert_non_null(part);
        for (size_t k = 0; k < count; k++)
            assert_true(excerpt_holds(excerpt, windows[k].lo, windows[k].hi));
        const struct object_range *right = excerpt_ranges(excerpt, &ranges);
        for (size_t c = 0; c < code_count; c++)
            for (uint64_t at = code[c].lo; at < code[c].hi; at++)
                for (size_t k = 0; k < ranges; k++)
                    if (at >= right[k].lo && at < right[k].hi)
                        compare_at(part, whole, at);
        sums->part += symbols_count(part);
        sums->whole += symbols_count(whole);
        symbols_destroy(part);
        excerpt_free(excerpt);
    }
    symbols_destroy(whole);
    object_close(debug);
    object_close(object);
}

static void says_what_all_symbols_say(void **state)
{
    (void)state;
    fixture_need("gcc strip objcopy");
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct sums sums = {0};
        write_source(&shapes[i]);
        fixture_run("gcc -c lot.s -o lot.o && gcc -shared -nostdlib lot.o -o lot.so && "
                    "objcopy --only-keep-debug lot.so lot.debug && strip lot.so -o bare.so");
        compare("lot.so", NULL, &sums);
        compare("lot.o", NULL, &sums);
        compare("bare.so", NULL, &sums);
        compare("bare.so", "lot.debug", &sums);
        print_message("shape %zu: %zu of %zu symbols\n", i, sums.part, sums.whole);
    }
}

static void is_small(void **state)
{
    (void)state;
    fixture_need("gcc");
    struct sums sums = {0};
    write_source(&shapes[0]);
    fixture_run("gcc -c lot.s -o lot.o && gcc -shared -nostdlib lot.o -o lot.so");
    compare("lot.so", NULL, &sums);
    assert_true(sums.part < sums.whole / 4);
}

static void the_longest_alias_reaches(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("alias.s", ".text\n.type short,@function\nshort:\n.type long,@function\nlong:\n"
                            ".fill 32,1,0x90\n.size short,8\ninside:\n.fill 32,1,0x90\n"
                            ".size long,64\n.section .note.GNU-stack,\"\",%progbits\n");
    fixture_run("gcc -shared -nostdlib alias.s -o alias.so");
    struct object *object = fixture_open("alias.so");
    uint64_t at = fixture_nm("", "alias.so", "long") + 40;
    struct excerpt *excerpt = excerpt_make(object, NULL, &(struct object_range){at, at + 1}, 1);
    struct symbols *part = symbols_build_excerpt(object, NULL, excerpt);
    struct symbol_match match;
    assert_true(symbols_lookup(part, at, &match));
    assert_string_equal(match.name, "long");
    symbols_destroy(part);
    excerpt_free(excerpt);
    object_close(object);
}

/* Each reaches into the next: no way back to a clean cut but to read everything. */
static void a_chain_is_read_whole(void **state)
{
    (void)state;
    fixture_need("gcc");
    char text[16384];
    int used = snprintf(text, sizeof text, ".text\nbase:\n.fill 4096,1,0x90\n");
    for (unsigned i = 0; i < 100; i++)
        used += snprintf(text + used, sizeof text - (size_t)used,
                         ".set c%u, base+%u\n.type c%u,@function\n.size c%u,24\n", i, i * 16, i, i);
    snprintf(text + used, sizeof text - (size_t)used, ".section .note.GNU-stack,\"\",%%progbits\n");
    fixture_text("chain.s", text);
    fixture_run("gcc -shared -nostdlib chain.s -o chain.so");
    struct object *object = fixture_open("chain.so");
    struct symbols *whole = symbols_build(object, NULL);
    uint64_t at = fixture_nm("", "chain.so", "c90") + 20;
    struct excerpt *excerpt = excerpt_make(object, NULL, &(struct object_range){at, at + 1}, 1);
    struct symbols *part = symbols_build_excerpt(object, NULL, excerpt);
    assert_int_equal(symbols_count(part), symbols_count(whole));
    compare_at(part, whole, at);
    symbols_destroy(part);
    symbols_destroy(whole);
    excerpt_free(excerpt);
    object_close(object);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(says_what_all_symbols_say),
        cmocka_unit_test(is_small),
        cmocka_unit_test(the_longest_alias_reaches),
        cmocka_unit_test(a_chain_is_read_whole),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
