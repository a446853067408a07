/*
 * The symbol store answers at every address what the library answers there, for places, stacks and
 * tail calls; and it sees at once what has come or changed.
 */
#include "collector/store_map.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "framewalk/symbolicate.h"
#include "object/object.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const programs[] = {SYMBOL_PROGRAMS};
enum { PROGRAMS = sizeof programs / sizeof *programs, NAMES = 64, THREADS = 4 };

static struct stored_file must_store(struct test_store *store, const char *path)
{
    struct stored_file file;
    struct fw_failure why = {0};
    if (!store_debug_file(&store->collector, path, &file, &why))
        fail_msg("%s: %s", path, why.message);
    return file;
}

static struct symbols_image *take(struct test_store *store, const struct stored_file *file)
{
    return symbols_take(store->collector.symbols, 0, file->id, file->id_size, file->arch);
}

static struct fw_source *open_library(struct fw_symbolicator **symbolicator, const char *path)
{
    const struct fw_symbolicator_options options = {
        .size = sizeof options, .cache_folder = "", .no_debuginfod = true};
    struct fw_source_request request = {.size = sizeof request, .path = path};
    struct fw_source *source;
    assert_int_equal(fw_symbolicator_create(&options, symbolicator), FW_OK);
    assert_int_equal(fw_source_open(*symbolicator, &request, &source, NULL), FW_OK);
    return source;
}

/* The bounds of the code, as linked. */
static void code_of(const char *path, uint64_t *lo, uint64_t *hi, uint64_t *base)
{
    struct object *object;
    struct unwind_section text;
    assert_int_equal(object_open(path, &object, NULL), FW_OK);
    assert_int_equal(object_section_data(object, ".text", &text, NULL), FW_OK);
    *lo = text.vaddr;
    *hi = text.vaddr + text.size;
    *base = object_base(object);
    object_close(object);
}

static void same_text(const char *ours, const char *theirs)
{
    if (!ours || !theirs)
        assert_true(!ours && !theirs);
    else
        assert_string_equal(ours, theirs);
}

static void same_name(const struct report_name *ours, const struct fw_symbol_frame *theirs)
{
    bool tail = theirs->flags & FW_SYMBOL_TAIL_CALL;
    same_text(ours->function, theirs->function);
    same_text(ours->file, theirs->file);
    assert_int_equal(ours->line, theirs->line);
    assert_int_equal(ours->flags & REPORT_TAIL_CALL, tail ? REPORT_TAIL_CALL : 0);
    if (tail)
        return;
    assert_int_equal(ours->flags & REPORT_INLINED,
                     theirs->flags & FW_SYMBOL_INLINED ? REPORT_INLINED : 0);
    assert_true(ours->has_offset);
    assert_int_equal(ours->offset, theirs->offset);
    assert_int_equal(ours->size, theirs->size);
}

/* ---- places ---- */

static size_t compare_place(const struct symbols_image *image, struct fw_source *source,
                            uint64_t value, unsigned space, unsigned kind)
{
    struct fw_address address = {value,
                                 space == REPORT_LINKED ? FW_ADDRESS_LINK : FW_ADDRESS_IMAGE};
    if (kind == REPORT_RETURN)
        address.space |= FW_ADDRESS_RETURN;
    struct fw_symbols *theirs;
    struct report_name names[NAMES];
    struct arena arena = {0};
    assert_int_equal(fw_symbolicate(source, &address, 1, &theirs, NULL), FW_OK);
    size_t count = symbols_names(image, value, space, kind, &arena, names, NAMES);
    assert_int_equal(count, theirs->items[0].frame_count);
    for (size_t i = 0; i < count; i++)
        same_name(&names[i], &theirs->items[0].frames[i]);
    fw_symbols_free(theirs);
    arena_free(&arena);
    return count;
}

static void test_places(void **state)
{
    (void)state;
    struct test_store store;
    size_t inlined = 0;
    test_store_open(&store, 1 << 30);
    for (size_t p = 0; p < PROGRAMS; p++) {
        struct stored_file file = must_store(&store, programs[p]);
        struct symbols_image *image = take(&store, &file);
        struct fw_symbolicator *symbolicator;
        struct fw_source *source = open_library(&symbolicator, programs[p]);
        uint64_t lo, hi, base;
        assert_non_null(image);
        code_of(programs[p], &lo, &hi, &base);
        for (uint64_t at = lo; at <= hi; at++) {
            for (unsigned kind = REPORT_EXACT; kind <= REPORT_RETURN; kind++) {
                inlined += compare_place(image, source, at, REPORT_LINKED, kind) > 1;
                compare_place(image, source, at - base, REPORT_FROM_LOAD, kind);
            }
        }
        compare_place(image, source, 0, REPORT_FROM_LOAD, REPORT_RETURN);
        compare_place(image, source, UINT64_MAX, REPORT_FROM_LOAD, REPORT_EXACT);
        fw_source_close(source);
        fw_symbolicator_destroy(symbolicator);
        symbols_drop(image);
    }
    assert_true(inlined > 0);
    test_store_close(&store);
}

/* With little room the outermost function stays: it is the one that is really there. */
static void test_room(void **state)
{
    (void)state;
    struct test_store store;
    test_store_open(&store, 1 << 30);
    struct stored_file file = must_store(&store, programs[PROGRAMS - 1]);
    struct symbols_image *image = take(&store, &file);
    uint64_t lo, hi, base;
    size_t seen = 0;
    code_of(programs[PROGRAMS - 1], &lo, &hi, &base);
    for (uint64_t at = lo; at < hi; at++) {
        struct report_name all[NAMES], one;
        struct arena arena = {0};
        size_t count = symbols_names(image, at, REPORT_LINKED, REPORT_EXACT, &arena, all, NAMES);
        size_t few = symbols_names(image, at, REPORT_LINKED, REPORT_EXACT, &arena, &one, 1);
        assert_int_equal(few, count > 0);
        if (count > 1) {
            same_text(one.function, all[count - 1].function);
            seen++;
        }
        assert_int_equal(symbols_names(image, at, REPORT_LINKED, REPORT_EXACT, &arena, NULL, 0), 0);
        arena_free(&arena);
    }
    assert_true(seen > 0);
    symbols_drop(image);
    test_store_close(&store);
}

/* ---- stacks ---- */

struct starts {
    uint64_t at[64];
    size_t count;
};

static bool add_start(void *context, const struct object_symbol *symbol)
{
    struct starts *starts = context;
    if (symbol->type == SYMBOL_FUNCTION && symbol->size && starts->count < 64)
        starts->at[starts->count++] = symbol->vaddr;
    return true;
}

struct tails {
    size_t chains, ambiguous;
};

static void compare_stack(const struct symbols_image *image, struct fw_source *source,
                          uint64_t inner, uint64_t outer, struct tails *tails)
{
    const struct symbols_place places[] = {{image, inner, REPORT_LINKED, REPORT_EXACT},
                                           {image, outer, REPORT_LINKED, REPORT_RETURN}};
    const struct fw_stack_address stack[] = {
        {source, {inner, FW_ADDRESS_LINK}}, {source, {outer, FW_ADDRESS_LINK | FW_ADDRESS_RETURN}}};
    struct symbols_found found[2];
    struct arena arena = {0};
    struct fw_symbols *theirs;
    assert_int_equal(symbols_stack(places, 2, &arena, found), FW_OK);
    assert_int_equal(fw_symbolicate_stack(stack, 2, &theirs, NULL), FW_OK);
    const struct fw_resolved *callee = &theirs->items[0], *caller = &theirs->items[1];
    size_t own = callee->frame_count;
    while (own && callee->frames[own - 1].flags & FW_SYMBOL_TAIL_CALL)
        own--;
    assert_int_equal(found[0].count, own);
    assert_int_equal(found[0].tail_calls, 0);
    bool last_ambiguous = own && callee->frames[own - 1].flags & FW_SYMBOL_AMBIGUOUS_TAIL;
    assert_int_equal(found[0].ambiguous, last_ambiguous && caller->frame_count);
    if (caller->frame_count) { /* of an unknown caller nothing is shown */
        size_t tail = callee->frame_count - own;
        assert_int_equal(found[1].tail_calls, tail);
        assert_int_equal(found[1].count, tail + caller->frame_count);
        for (size_t i = 0; i < tail; i++)
            same_name(&found[1].names[i], &callee->frames[own + i]);
        for (size_t i = 0; i < caller->frame_count; i++)
            same_name(&found[1].names[tail + i], &caller->frames[i]);
        tails->chains += tail > 0;
        tails->ambiguous += last_ambiguous;
    }
    fw_symbols_free(theirs);
    arena_free(&arena);
}

static void test_stacks(void **state)
{
    (void)state;
    struct test_store store;
    struct tails tails = {0};
    test_store_open(&store, 1 << 30);
    for (size_t p = 0; p < PROGRAMS; p++) {
        struct stored_file file = must_store(&store, programs[p]);
        struct symbols_image *image = take(&store, &file);
        struct fw_symbolicator *symbolicator;
        struct fw_source *source = open_library(&symbolicator, programs[p]);
        struct object *object;
        struct starts starts = {0};
        uint64_t lo, hi, base;
        assert_int_equal(object_open(programs[p], &object, NULL), FW_OK);
        assert_int_equal(object_symbols(object, false, add_start, &starts), FW_OK);
        object_close(object);
        code_of(programs[p], &lo, &hi, &base);
        for (uint64_t at = lo; at < hi; at++)
            for (size_t i = 0; i < starts.count; i++)
                compare_stack(image, source, starts.at[i], at, &tails);
        fw_source_close(source);
        fw_symbolicator_destroy(symbolicator);
        symbols_drop(image);
    }
    assert_true(tails.chains > 0);
    assert_true(tails.ambiguous > 0);
    test_store_close(&store);
}

/* Unknown places part stacks: nothing is inferred over them. */
static void test_parted(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct symbols_found found[2];
    const struct symbols_place nowhere[2] = {{.offset = 1}, {.offset = 2, .kind = REPORT_RETURN}};
    assert_int_equal(symbols_stack(nowhere, 2, &arena, found), FW_OK);
    assert_int_equal(found[0].count, 0);
    assert_int_equal(found[1].count, 0);
    assert_int_equal(symbols_stack(NULL, 0, &arena, NULL), FW_OK);
    arena_free(&arena);
}

/* ---- what comes and goes ---- */

static void test_late(void **state)
{
    (void)state;
    struct test_store store, other;
    test_store_open(&store, 1 << 30);
    test_store_open(&other, 1 << 30);
    struct stored_file file = must_store(&other, programs[0]);
    assert_null(take(&store, &file));
    must_store(&store, programs[0]);
    symbols_changed(store.collector.symbols, file.id, file.id_size);
    struct symbols_image *image = take(&store, &file);
    assert_non_null(image);
    assert_null(symbols_take(store.collector.symbols, 0, file.id, 0, NULL));
    assert_null(symbols_take(store.collector.symbols, 0, file.id, 65, NULL));
    assert_null(symbols_take(store.collector.symbols, 0, file.id, file.id_size - 1, NULL));
    symbols_drop(image);
    test_store_close(&store);
    test_store_close(&other);
}

/* Another server on the same database sees it by itself, a little later. */
static void test_other_server(void **state)
{
    (void)state;
    struct test_store store, other;
    struct fw_failure why = {0};
    test_store_open(&store, 1 << 30);
    test_store_open(&other, 1 << 30);
    struct stored_file file = must_store(&other, programs[0]);
    struct symbols *second;
    assert_int_equal(symbols_open(&store.collector, 1 << 30, &second, &why), FW_OK);
    assert_null(symbols_take(second, 0, file.id, file.id_size, NULL));
    must_store(&store, programs[0]);
    struct symbols_image *image = NULL;
    for (unsigned i = 0; !image && i < 2000; i++) { /* 20 s: there is no limit to be measured */
        usleep(10000);
        image = symbols_take(second, 0, file.id, file.id_size, NULL);
    }
    assert_non_null(image);
    symbols_drop(image);
    symbols_close(second);
    test_store_close(&store);
    test_store_close(&other);
}

/* Another map for the same id is taken at once; who holds the old one keeps it. */
static void test_replaced(void **state)
{
    (void)state;
    struct test_store store;
    struct fw_failure why = {0};
    test_store_open(&store, 1 << 30);
    struct stored_file file = must_store(&store, programs[0]);
    struct symbols_image *first = take(&store, &file);
    assert_non_null(first);
    static const char damaged[] = "FWSYMMAP and then nothing of the kind";
    assert_true(store_map_bytes(&store.collector, &file, damaged, sizeof damaged, &why));
    symbols_changed(store.collector.symbols, file.id, file.id_size);
    struct symbols_image *second = take(&store, &file); /* whatever it is, it is no damaged one */
    uint64_t lo, hi, base;
    struct report_name name;
    struct arena arena = {0};
    code_of(programs[0], &lo, &hi, &base);
    size_t named = 0;
    for (uint64_t at = lo; at < hi; at++)
        named += symbols_names(first, at, REPORT_LINKED, REPORT_EXACT, &arena, &name, 1);
    assert_true(named > 0);
    arena_free(&arena);
    symbols_drop(second);
    symbols_drop(first);
    test_store_close(&store);
}

static void test_only_damaged(void **state)
{
    (void)state;
    struct test_store store;
    struct fw_failure why = {0};
    const struct stored_file file = {.id = {1, 2, 3, 4}, .id_size = 4, .arch = "x86_64"};
    test_store_open(&store, 1 << 30);
    assert_true(store_map_bytes(&store.collector, &file, "x", 1, &why));
    assert_null(take(&store, &file));
    test_store_close(&store);
}

/* A Breakpad id is the changed beginning of a build id. */
static void test_breakpad_id(void **state)
{
    (void)state;
    static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    struct test_store store, other;
    test_store_open(&store, 1 << 30);
    test_store_open(&other, 1 << 30);
    struct stored_file file = must_store(&other, programs[0]);
    uint8_t id[16];
    for (size_t i = 0; i < 16; i++)
        id[i] = file.id[order[i]];
    assert_null(symbols_take_breakpad(store.collector.symbols, 0, id));
    must_store(&store, programs[0]);
    symbols_changed(store.collector.symbols, file.id, file.id_size);
    struct symbols_image *image = symbols_take_breakpad(store.collector.symbols, 0, id);
    assert_non_null(image);
    symbols_drop(image);
    id[15] ^= 1;
    assert_null(symbols_take_breakpad(store.collector.symbols, 0, id));
    test_store_close(&store);
    test_store_close(&other);
}

/* ---- many at once ---- */

struct crowd {
    struct test_store *store;
    struct stored_file files[PROGRAMS];
    atomic_size_t named;
    uint64_t lo[PROGRAMS], hi[PROGRAMS];
};

static void *ask_often(void *context)
{
    struct crowd *crowd = context;
    struct symbols *symbols = crowd->store->collector.symbols;
    for (size_t round = 0; round < 40; round++) {
        size_t p = round % PROGRAMS;
        struct symbols_image *image = take(crowd->store, &crowd->files[p]);
        if (!image)
            continue;
        struct arena arena = {0};
        struct report_name name;
        for (uint64_t at = crowd->lo[p]; at < crowd->hi[p]; at += 3)
            crowd->named += symbols_names(image, at, REPORT_LINKED, REPORT_EXACT, &arena, &name, 1);
        arena_free(&arena);
        symbols_drop(image);
        if (round % 8 == 7)
            symbols_changed(symbols, crowd->files[p].id, crowd->files[p].id_size);
    }
    return NULL;
}

/* One byte of room: each map is closed as soon as another is taken. */
static void test_crowd(void **state)
{
    (void)state;
    struct test_store store;
    struct crowd crowd = {.store = &store};
    pthread_t threads[THREADS];
    test_store_open(&store, 1);
    for (size_t p = 0; p < PROGRAMS; p++) {
        uint64_t base;
        crowd.files[p] = must_store(&store, programs[p]);
        code_of(programs[p], &crowd.lo[p], &crowd.hi[p], &base);
    }
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &crowd), 0);
    for (size_t i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    size_t once = crowd.named;
    crowd.named = 0;
    ask_often(&crowd);
    assert_true(crowd.named > 0);
    assert_int_equal(once, crowd.named * THREADS);
    test_store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),       cmocka_unit_test(test_room),
        cmocka_unit_test(test_stacks),       cmocka_unit_test(test_parted),
        cmocka_unit_test(test_late),         cmocka_unit_test(test_other_server),
        cmocka_unit_test(test_replaced),     cmocka_unit_test(test_breakpad_id),
        cmocka_unit_test(test_only_damaged), cmocka_unit_test(test_crowd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
