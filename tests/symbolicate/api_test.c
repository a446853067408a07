/* What symbolicate.h promises: versions of structs, spaces of addresses, reasons, ownership. */
#include "symbolicate/programs.h"

#include <unistd.h>

#include "object/debug_sections.h"
#include "support/sanitizers.h"
#include "symmap/convert.h"
#include "symmap/export.h"

static struct fw_symbolicator *symbolicator;
static struct functions functions;

static int set_up(void **state)
{
    (void)state;
    const struct fw_symbolicator_options options = {
        .size = sizeof options, .cache_folder = "", .no_debuginfod = true};
    read_functions(programs[0], &functions);
    return fw_symbolicator_create(&options, &symbolicator) != FW_OK;
}

static int tear_down(void **state)
{
    (void)state;
    fw_symbolicator_destroy(symbolicator);
    return 0;
}

/* ---- versions ---- */

static const char *name_with(const struct fw_symbolicator_options *options, char name[256])
{
    struct fw_symbolicator *s;
    assert_int_equal(fw_symbolicator_create(options, &s), FW_OK);
    for (size_t i = 0; i < PROGRAM_COUNT; i++) {
        if (!strstr(programs[i], "_g++"))
            continue;
        struct functions all;
        read_functions(programs[i], &all);
        struct fw_source *source = open_source(s, programs[i]);
        struct fw_symbols *symbols;
        struct fw_address address = {0};
        for (size_t k = 0; k < all.count; k++)
            if (strncmp(all.item[k].name, "_Z", 2) == 0)
                address.value = all.item[k].vaddr;
        assert_int_equal(fw_symbolicate(source, &address, 1, &symbols, NULL), FW_OK);
        snprintf(name, 256, "%s", symbols->items[0].frames[0].function);
        fw_source_close(source);
        fw_symbols_free(symbols);
    }
    fw_symbolicator_destroy(s);
    return name;
}

static void structs_of_older_callers_are_read_as_far_as_they_go(void **state)
{
    (void)state;
    char shown[256] = "", mangled[256] = "", older[256] = "";
    struct fw_symbolicator_options options = {.size = sizeof options, .cache_folder = ""};
    name_with(&options, shown);
    options.mangled = true;
    name_with(&options, mangled);
    if (shown[0])
        assert_string_not_equal(shown, mangled);
    options.size = offsetof(struct fw_symbolicator_options, mangled);
    name_with(&options, older);
    assert_string_equal(older, shown);

    const uint8_t other[4] = {1, 2, 3, 4};
    struct fw_source_request request = {
        .size = sizeof request, .path = programs[0], .id = other, .id_size = sizeof other};
    struct fw_source *source;
    struct fw_failure why;
    assert_int_equal(fw_source_open(symbolicator, &request, &source, &why), FW_ERR_NOT_FOUND);
    assert_null(source);
    assert_non_null(strstr(why.message, "01020304"));
    request.size = offsetof(struct fw_source_request, id);
    assert_int_equal(fw_source_open(symbolicator, &request, &source, &why), FW_OK);
    fw_source_close(source);
}

static void structs_of_newer_callers_are_read_when_the_rest_is_zero(void **state)
{
    (void)state;
    struct {
        struct fw_symbolicator_options options;
        uint64_t more;
    } newer = {.options = {.size = sizeof newer, .cache_folder = ""}};
    struct fw_symbolicator *s;
    assert_int_equal(fw_symbolicator_create(&newer.options, &s), FW_OK);
    fw_symbolicator_destroy(s);
    newer.more = 1;
    assert_int_equal(fw_symbolicator_create(&newer.options, &s), FW_ERR_UNSUPPORTED);
    assert_null(s);

    struct {
        struct fw_source_request request;
        uint64_t more;
    } asked = {.request = {.size = sizeof asked, .path = programs[0]}};
    struct fw_source *source;
    assert_int_equal(fw_source_open(symbolicator, &asked.request, &source, NULL), FW_OK);
    fw_source_close(source);
    asked.more = 1;
    assert_int_equal(fw_source_open(symbolicator, &asked.request, &source, NULL),
                     FW_ERR_UNSUPPORTED);
}

static void sizes_that_no_version_has_are_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 1, sizeof(size_t), 5000, SIZE_MAX};
    struct fw_source *open = open_source(symbolicator, programs[0]);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const struct fw_symbolicator_options options = {.size = sizes[i]};
        const struct fw_source_request request = {.size = sizes[i], .path = programs[0]};
        struct fw_source_info info = {.size = sizes[i]};
        struct fw_symbolicator *s;
        struct fw_source *source;
        assert_int_equal(fw_symbolicator_create(&options, &s), FW_ERR_ARGUMENT);
        assert_int_equal(fw_source_open(symbolicator, &request, &source, NULL), FW_ERR_ARGUMENT);
        assert_int_equal(fw_source_info(open, &info), FW_ERR_ARGUMENT);
    }
    fw_source_close(open);
}

static void info_is_written_as_far_as_the_callers_struct_goes(void **state)
{
    (void)state;
    struct fw_source *source = open_source(symbolicator, programs[0]);
    struct {
        struct fw_source_info info;
        uint64_t more;
    } newer = {.info = {.size = sizeof newer}, .more = 7};
    assert_int_equal(fw_source_info(source, &newer.info), FW_OK);
    assert_int_equal(newer.info.size, sizeof newer);
    assert_int_equal(newer.info.kind, FW_SOURCE_DWARF);
    assert_string_equal(newer.info.path, programs[0]);
    assert_true(newer.info.id_size >= 16);
    assert_int_equal(newer.more, 0);
    struct fw_source_info older = {.size = offsetof(struct fw_source_info, base), .base = 99};
    assert_int_equal(fw_source_info(source, &older), FW_OK);
    assert_string_equal(older.path, programs[0]);
    assert_int_equal(older.base, 99);
    fw_source_close(source);
}

/* ---- addresses ---- */

static void no_addresses_give_an_empty_answer(void **state)
{
    (void)state;
    struct fw_source *source = open_source(symbolicator, programs[0]);
    struct fw_symbols *symbols;
    assert_int_equal(fw_symbolicate(source, NULL, 0, &symbols, NULL), FW_OK);
    assert_int_equal(symbols->count, 0);
    fw_symbols_free(symbols);
    assert_int_equal(fw_symbolicate_stack(NULL, 0, &symbols, NULL), FW_OK);
    assert_int_equal(symbols->count, 0);
    fw_symbols_free(symbols);
    fw_symbols_free(NULL);
    fw_source_close(source);
    fw_source_close(NULL);
    fw_symbolicator_destroy(NULL);
}

static void counts_beyond_memory_are_an_error(void **state)
{
    (void)state;
    struct fw_source *source = open_source(symbolicator, programs[0]);
    const struct fw_address address = {0};
    const struct fw_stack_address frame = {0};
    struct fw_symbols *symbols;
    struct fw_failure why;
    assert_int_equal(fw_symbolicate(source, &address, SIZE_MAX, &symbols, &why), FW_ERR_MEMORY);
    assert_null(symbols);
    assert_int_equal(why.code, FW_ERR_MEMORY);
    assert_int_equal(fw_symbolicate_stack(&frame, SIZE_MAX, &symbols, &why), FW_ERR_MEMORY);
    assert_null(symbols);
    if (!UNDER_ASAN && !UNDER_TSAN) { /* which end the program */
        assert_int_equal(fw_symbolicate(source, &address, SIZE_MAX / 64, &symbols, &why),
                         FW_ERR_MEMORY);
        assert_null(symbols);
    }
    fw_source_close(source);
}

static void address_spaces(void **state)
{
    (void)state;
    struct fw_source *source = open_source(symbolicator, programs[0]);
    struct fw_source_info info = {.size = sizeof info};
    assert_int_equal(fw_source_info(source, &info), FW_OK);
    uint64_t start = functions.item[3].vaddr; /* code is not moved in these: offset == address */
    const struct fw_address addresses[] = {
        {start, FW_ADDRESS_LINK},
        {start - info.base, FW_ADDRESS_IMAGE},
        {start, FW_ADDRESS_FILE},
        {start + 1, FW_ADDRESS_LINK | FW_ADDRESS_RETURN},
        {start + 1, FW_ADDRESS_FILE | FW_ADDRESS_RETURN},
    };
    struct fw_symbols *symbols;
    struct fw_failure why;
    assert_int_equal(fw_symbolicate(source, addresses, 5, &symbols, &why), FW_OK);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(symbols->items[i].reason, FW_REASON_NONE);
        assert_string_equal(symbols->items[i].frames[0].function, functions.item[3].name);
        assert_int_equal(symbols->items[i].frames[0].start, start);
        assert_int_equal(symbols->items[i].frames[0].offset, i >= 3 ? 1 : 0);
    }
    fw_symbols_free(symbols);

    const struct fw_address wrong = {start, 5};
    assert_int_equal(fw_symbolicate(source, &wrong, 1, &symbols, &why), FW_ERR_ARGUMENT);
    assert_null(symbols);
    assert_non_null(strstr(why.message, "space 5"));
    const struct fw_stack_address frame = {source, wrong};
    assert_int_equal(fw_symbolicate_stack(&frame, 1, &symbols, &why), FW_ERR_ARGUMENT);
    fw_source_close(source);
}

static enum fw_reason reason(struct fw_source *source, uint64_t value, uint32_t space)
{
    const struct fw_address address = {value, space};
    struct fw_symbols *symbols;
    assert_int_equal(fw_symbolicate(source, &address, 1, &symbols, NULL), FW_OK);
    enum fw_reason result = symbols->items[0].reason;
    assert_int_equal(result == FW_REASON_NONE, symbols->items[0].frame_count != 0);
    assert_non_null(fw_reason_text(result));
    fw_symbols_free(symbols);
    return result;
}

static void reasons(void **state)
{
    (void)state;
    struct fw_source *source = open_source(symbolicator, programs[0]);
    static const uint64_t outside[] = {0,         1, 0x100000, UINT32_MAX, (uint64_t)UINT32_MAX + 1,
                                       UINT64_MAX};
    for (int times = 0; times < 2; times++) { /* small maps, then the whole one */
        for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
            for (uint32_t space = FW_ADDRESS_LINK; space <= FW_ADDRESS_FILE; space++) {
                assert_int_equal(reason(source, outside[i], space), FW_REASON_OUTSIDE);
                assert_int_equal(reason(source, outside[i], space | FW_ADDRESS_RETURN),
                                 FW_REASON_OUTSIDE);
            }
        assert_int_equal(reason(source, functions.item[0].vaddr, FW_ADDRESS_LINK), FW_REASON_NONE);
    }
    fw_source_close(source);
    assert_string_equal(fw_reason_text((enum fw_reason)99), "unknown");
}

static void maps_know_no_offsets_in_files(void **state)
{
    (void)state;
    char folder[] = "/tmp/framewalk-api-XXXXXX", path[512];
    assert_non_null(mkdtemp(folder));
    const struct fw_symbolicator_options options = {.size = sizeof options, .cache_folder = folder};
    struct fw_symbolicator *s;
    assert_int_equal(fw_symbolicator_create(&options, &s), FW_OK);
    struct fw_source *source = open_source(s, programs[0]);
    struct fw_address addresses[MANY];
    struct fw_symbols *from_file, *from_map;
    many_addresses(&functions, addresses);
    assert_int_equal(fw_symbolicate(source, addresses, MANY, &from_file, NULL), FW_OK);
    struct fw_source_info info = {.size = sizeof info};
    assert_int_equal(fw_source_info(source, &info), FW_OK);
    int used = snprintf(path, sizeof path, "%s/", folder);
    for (size_t i = 0; i < info.id_size; i++)
        used += snprintf(path + used, sizeof path - (size_t)used, "%02x", info.id[i]);
    snprintf(path + used, sizeof path - (size_t)used, "%s%s-v1.symmap", info.arch[0] ? "-" : "",
             info.arch);
    fw_source_close(source);

    struct fw_source *map = open_source(s, path); /* what the cache keeps is a map like any other */
    assert_int_equal(fw_source_info(map, &info), FW_OK);
    assert_int_equal(info.kind, FW_SOURCE_MAP);
    assert_int_equal(fw_symbolicate(map, addresses, MANY, &from_map, NULL), FW_OK);
    for (size_t i = 0; i < MANY; i++)
        assert_true(same_answer(&from_file->items[i], &from_map->items[i]));
    assert_int_equal(reason(map, functions.item[0].vaddr, FW_ADDRESS_FILE), FW_REASON_NO_OFFSETS);
    assert_int_equal(reason(map, UINT64_MAX, FW_ADDRESS_LINK), FW_REASON_OUTSIDE);
    assert_int_equal(reason(map, 0, FW_ADDRESS_LINK), FW_REASON_GAP);
    fw_source_close(map);
    fw_symbols_free(from_file);
    fw_symbols_free(from_map);
    fw_symbolicator_destroy(s);
    unlink(path);
    rmdir(folder);
}

static void write_exported(const char *path, bool gsym, struct span from)
{
    struct symmap *map;
    uint8_t *bytes;
    size_t size;
    assert_int_equal(symmap_open_bytes(from, true, "map", &map, NULL), FW_OK);
    assert_int_equal((gsym ? export_gsym : export_breakpad)(map, &bytes, &size, NULL), FW_OK);
    symmap_close(map);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
}

/* What llvm-gsymutil and Breakpad's dump_syms write are sources too. */
static void files_of_other_tools_are_sources(void **state)
{
    (void)state;
    char path[] = "/tmp/framewalk-api-XXXXXX";
    close(mkstemp(path));
    struct object *object;
    uint8_t *bytes;
    size_t size;
    const struct convert_options how = {.threads = 1};
    assert_int_equal(object_open(programs[0], &object, NULL), FW_OK);
    assert_int_equal(symmap_convert(object, NULL, NULL, &how, &bytes, &size, NULL, NULL), FW_OK);
    object_close(object);

    struct fw_source *original = open_source(symbolicator, programs[0]);
    struct fw_address addresses[MANY];
    struct fw_symbols *expected, *symbols;
    many_addresses(&functions, addresses);
    assert_int_equal(fw_symbolicate(original, addresses, MANY, &expected, NULL), FW_OK);
    for (int gsym = 0; gsym < 2; gsym++) {
        write_exported(path, gsym, (struct span){bytes, size});
        struct fw_source *source = open_source(symbolicator, path);
        struct fw_source_info info = {.size = sizeof info};
        assert_int_equal(fw_source_info(source, &info), FW_OK);
        assert_int_equal(info.kind, FW_SOURCE_MAP);
        assert_int_equal(fw_symbolicate(source, addresses, MANY, &symbols, NULL), FW_OK);
        for (size_t i = 0; i < MANY; i++) {
            const struct fw_resolved *a = &expected->items[i], *b = &symbols->items[i];
            assert_true(a->frame_count && b->frame_count == a->frame_count);
            for (size_t k = 0; k < a->frame_count; k++) {
                assert_string_equal(a->frames[k].function, b->frames[k].function);
                assert_true(same_text(a->frames[k].file, b->frames[k].file));
                assert_int_equal(a->frames[k].line, b->frames[k].line);
            }
        }
        fw_symbols_free(symbols);
        fw_source_close(source);
    }
    fw_symbols_free(expected);
    fw_source_close(original);
    free(bytes);
    unlink(path);
}

/* ---- answers ---- */

static void few_and_many_give_the_same(void **state)
{
    (void)state;
    struct fw_address addresses[MANY];
    for (size_t p = 0; p < PROGRAM_COUNT; p++) {
        struct functions all;
        read_functions(programs[p], &all);
        many_addresses(&all, addresses);
        struct fw_source *many = open_source(symbolicator, programs[p]);
        struct fw_symbols *whole, *one;
        assert_int_equal(fw_symbolicate(many, addresses, MANY, &whole, NULL), FW_OK);
        fw_source_close(many); /* answers outlive their source */
        struct fw_source *few = open_source(symbolicator, programs[p]);
        for (size_t i = 0; i < MANY; i += 9) {
            assert_int_equal(fw_symbolicate(few, &addresses[i], 1, &one, NULL), FW_OK);
            assert_true(same_answer(&whole->items[i], &one->items[0]));
            fw_symbols_free(one);
        }
        fw_source_close(few);
        fw_symbols_free(whole);
    }
}

/* A real library with a debug file of its own, dwz included: places all over its code. */
static void few_and_many_of_libc_give_the_same(void **state)
{
    (void)state;
    static const char path[] = "/lib/x86_64-linux-gnu/libc.so.6";
    struct object *object = NULL;
    if (access(path, R_OK) != 0 || object_open(path, &object, NULL) != FW_OK)
        skip();
    const struct object_range *code;
    size_t count;
    assert_int_equal(object_code_ranges(object, &code, &count), FW_OK);
    uint64_t lo = code[0].lo, size = code[count - 1].hi - lo;
    object_close(object);
    struct fw_source *many = open_source(symbolicator, path),
                     *few = open_source(symbolicator, path);
    struct fw_source_info info = {.size = sizeof info};
    assert_int_equal(fw_source_info(many, &info), FW_OK);
    if (info.kind != FW_SOURCE_DWARF) {
        fw_source_close(many);
        fw_source_close(few);
        skip(); /* libc6-dbg is not installed */
    }
    struct fw_address addresses[MANY];
    struct fw_symbols *whole, *one;
    for (size_t i = 0; i < MANY; i++)
        addresses[i] = (struct fw_address){lo + size / MANY * i + i % 7, FW_ADDRESS_LINK};
    assert_int_equal(fw_symbolicate(many, addresses, MANY, &whole, NULL), FW_OK);
    size_t named = 0;
    for (size_t i = 0; i < MANY; i++)
        named += whole->items[i].frame_count && whole->items[i].frames->file;
    assert_true(named > MANY / 2);
    for (size_t i = 0; i < MANY; i += 50) { /* all from small maps */
        assert_int_equal(fw_symbolicate(few, &addresses[i], 50, &one, NULL), FW_OK);
        for (size_t k = 0; k < 50; k++)
            if (!same_answer(&whole->items[i + k], &one->items[k]))
                fail_msg("0x%llx differs", (unsigned long long)addresses[i + k].value);
        fw_symbols_free(one);
    }
    fw_source_close(many);
    fw_source_close(few);
    fw_symbols_free(whole);
}

static void texts_are_kept_once(void **state)
{
    (void)state;
    struct fw_source *source = open_source(symbolicator, programs[0]);
    const struct fw_address addresses[] = {{functions.item[3].vaddr, FW_ADDRESS_LINK},
                                           {functions.item[4].vaddr, FW_ADDRESS_LINK},
                                           {functions.item[3].vaddr, FW_ADDRESS_LINK}};
    struct fw_symbols *symbols;
    assert_int_equal(fw_symbolicate(source, addresses, 3, &symbols, NULL), FW_OK);
    const struct fw_symbol_frame *a = symbols->items[0].frames, *b = symbols->items[2].frames;
    assert_ptr_equal(a->function, b->function);
    assert_ptr_equal(a->mangled, b->mangled);
    assert_ptr_equal(a->file, b->file);
    assert_ptr_not_equal(a->function, symbols->items[1].frames->function);
    fw_symbols_free(symbols);
    fw_source_close(source);
}

static void functions_of_equal_names_are_told_apart_by_their_files(void **state)
{
    (void)state;
    struct fw_source *source = open_source(symbolicator, programs[0]);
    struct fw_address addresses[2];
    size_t found = 0;
    for (size_t i = 0; i < functions.count && found < 2; i++)
        if (strcmp(functions.item[i].name, "same_name") == 0)
            addresses[found++] = (struct fw_address){functions.item[i].vaddr, FW_ADDRESS_LINK};
    assert_int_equal(found, 2);
    struct fw_symbols *symbols;
    assert_int_equal(fw_symbolicate(source, addresses, 2, &symbols, NULL), FW_OK);
    const struct fw_symbol_frame *a = symbols->items[0].frames, *b = symbols->items[1].frames;
    assert_string_equal(a->function, "same_name");
    assert_string_equal(b->function, "same_name");
    bool a_first = strstr(a->file, "tail_units_a.c") != NULL;
    assert_non_null(strstr(a_first ? b->file : a->file, "tail_units_b.c"));
    assert_int_not_equal(a->start, b->start);
    fw_symbols_free(symbols);
    fw_source_close(source);
}

static void what_cannot_be_opened_is_said(void **state)
{
    (void)state;
    struct fw_source_request request = {.size = sizeof request, .path = "/nowhere/at/all"};
    struct fw_source *source;
    struct fw_failure why = {0};
    assert_int_equal(fw_source_open(symbolicator, &request, &source, &why), FW_ERR_NOT_FOUND);
    assert_null(source);
    assert_non_null(strstr(why.message, "/nowhere/at/all"));
    request.path = __FILE__;
    assert_int_equal(fw_source_open(symbolicator, &request, &source, &why), FW_ERR_FORMAT);
    assert_int_equal(fw_source_open(symbolicator, &request, &source, NULL), FW_ERR_FORMAT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(structs_of_older_callers_are_read_as_far_as_they_go),
        cmocka_unit_test(structs_of_newer_callers_are_read_when_the_rest_is_zero),
        cmocka_unit_test(sizes_that_no_version_has_are_refused),
        cmocka_unit_test(info_is_written_as_far_as_the_callers_struct_goes),
        cmocka_unit_test(no_addresses_give_an_empty_answer),
        cmocka_unit_test(counts_beyond_memory_are_an_error),
        cmocka_unit_test(address_spaces),
        cmocka_unit_test(reasons),
        cmocka_unit_test(maps_know_no_offsets_in_files),
        cmocka_unit_test(files_of_other_tools_are_sources),
        cmocka_unit_test(few_and_many_give_the_same),
        cmocka_unit_test(few_and_many_of_libc_give_the_same),
        cmocka_unit_test(texts_are_kept_once),
        cmocka_unit_test(functions_of_equal_names_are_told_apart_by_their_files),
        cmocka_unit_test(what_cannot_be_opened_is_said),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
