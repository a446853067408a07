/* Every Mach-O file of the shared test data, slice by slice, beside what LLVM's tools read in it:
 * architecture, UUID, sections, symbols, function starts, contents of debug sections. */
#include "object/debug_sections.h"
#include "object/fixture.h"

#include <elf.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *paths[512];
static size_t path_count;

static int take_path(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)place;
    static const unsigned char magics[][4] = {{0xcf, 0xfa, 0xed, 0xfe}, {0xce, 0xfa, 0xed, 0xfe},
                                              {0xfe, 0xed, 0xfa, 0xce}, {0xfe, 0xed, 0xfa, 0xcf},
                                              {0xca, 0xfe, 0xba, 0xbe}, {0xca, 0xfe, 0xba, 0xbf}};
    unsigned char magic[8];
    FILE *file = type == FTW_F && status->st_size > 8 ? fopen(path, "rb") : NULL;
    if (!file)
        return 0;
    bool good = fread(magic, 1, 8, file) == 8;
    fclose(file);
    for (size_t i = 0; good && i < 6; i++)
        if (memcmp(magic, magics[i], 4) == 0 && path_count < 512)
            paths[path_count++] = strdup(path);
    return 0;
}

/* Two lists of lines are the same when sorted. */
struct lines {
    char **list;
    size_t count, capacity;
};

__attribute__((format(printf, 2, 3))) static void add_line(struct lines *lines, const char *format,
                                                           ...)
{
    if (lines->count == lines->capacity) {
        lines->capacity = lines->capacity ? lines->capacity * 2 : 256;
        lines->list = realloc(lines->list, lines->capacity * sizeof *lines->list);
        assert_non_null(lines->list);
    }
    va_list arguments;
    va_start(arguments, format);
    assert_true(vasprintf(&lines->list[lines->count++], format, arguments) >= 0);
    va_end(arguments);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t same_lines(const char *what, const char *path, struct lines *ours,
                         struct lines *theirs)
{
    size_t count = ours->count, shared = count < theirs->count ? count : theirs->count;
    if (count)
        qsort(ours->list, count, sizeof *ours->list, by_text);
    if (theirs->count)
        qsort(theirs->list, theirs->count, sizeof *theirs->list, by_text);
    for (size_t i = 0; i < shared; i++)
        if (strcmp(ours->list[i], theirs->list[i]) != 0)
            fail_msg("%s: %s: ours '%s', LLVM '%s'", path, what, ours->list[i], theirs->list[i]);
    if (count != theirs->count)
        fail_msg("%s: %s: ours %zu, LLVM %zu, behind '%s'", path, what, count, theirs->count,
                 shared ? ours->list[shared - 1] : "");
    for (size_t i = 0; i < count; i++) {
        free(ours->list[i]);
        free(theirs->list[i]);
    }
    free(ours->list);
    free(theirs->list);
    return count;
}

static bool ours_symbol(void *context, const struct object_symbol *symbol)
{
    add_line(context, "%" PRIx64 " %s", symbol->vaddr, symbol->name);
    return true;
}

static bool ours_start(void *context, uint64_t vaddr)
{
    add_line(context, "%" PRIx64, vaddr);
    return true;
}

/* Every line of a tool's output, one after the other. */
static char *next_line(char **text)
{
    char *line = *text;
    if (!line || !*line)
        return NULL;
    char *end = strchr(line, '\n');
    *text = end ? end + 1 : NULL;
    if (end)
        *end = 0;
    return line;
}

static size_t compare_symbols(struct object *object, const char *path)
{
    struct lines ours = {0}, theirs = {0};
    object_symbols(object, false, ours_symbol, &ours);
    char *text = fixture_output("llvm-nm-19 -p slice 2>/dev/null || true"), *rest = text;
    size_t digits = object_is_64(object) ? 16 : 8;
    for (char *line; (line = next_line(&rest));) {
        if (strlen(line) < digits + 4 || line[0] == ' ' || strchr("UuAaCIi-?w", line[digits + 1]))
            continue;
        const char *name = line + digits + 3;
        if (strncmp(name, "ltmp", 4) == 0 || strncmp(name, "l_", 2) == 0 || name[0] == 'L')
            continue;
        uint64_t vaddr = strtoull(line, NULL, 16);
        add_line(&theirs, "%" PRIx64 " %s", vaddr, name + (name[0] == '_'));
    }
    free(text);
    return same_lines("symbols", path, &ours, &theirs);
}

static size_t compare_starts(struct object *object, const char *path)
{
    struct lines ours = {0}, theirs = {0};
    object_function_starts(object, ours_start, &ours);
    char *text = fixture_output("llvm-objdump-19 --macho --function-starts=addrs slice"),
         *rest = text;
    for (char *line; (line = next_line(&rest));)
        if (line[0] && strspn(line, "0123456789abcdef") == strlen(line)) {
            uint64_t vaddr = strtoull(line, NULL, 16);
            add_line(&theirs, "%" PRIx64,
                     object_machine(object) == EM_ARM ? vaddr & ~(uint64_t)1 : vaddr);
        }
    free(text);
    return same_lines("function starts", path, &ours, &theirs);
}

static size_t compare_sections(struct object *object, const char *path)
{
    struct lines ours = {0}, theirs = {0};
    struct object_section s;
    for (size_t i = 1; object_section_at(object, i, &s); i++)
        add_line(&ours, "%s %" PRIx64 " %" PRIx64 " %" PRIx64, s.name, s.vaddr, s.size, s.offset);
    char *text = fixture_output("llvm-readobj-19 --sections slice"), *rest = text;
    char name[64] = "";
    unsigned long long vaddr = 0, size = 0, offset;
    for (char *line; (line = next_line(&rest));) {
        sscanf(line, " Name: %63s", name);
        sscanf(line, " Address: %llx", &vaddr);
        sscanf(line, " Size: %llx", &size);
        if (sscanf(line, " Offset: %llu", &offset) == 1)
            add_line(&theirs, "%s %llx %llx %llx", name, vaddr, size, offset);
    }
    free(text);
    return same_lines("sections", path, &ours, &theirs);
}

static void compare_identity(struct object *object, const char *path)
{
    char *text = fixture_output("llvm-dwarfdump-19 --uuid slice 2>/dev/null"), hex[33] = "";
    struct span id = object_build_id(object);
    for (size_t i = 0; i < id.size; i++)
        snprintf(hex + 2 * i, 3, "%02X", id.data[i]);
    char theirs[33] = "", arch[32] = "";
    if (strncmp(text, "UUID: ", 6) == 0) {
        size_t used = 0;
        const char *at = text + 6;
        for (; *at && *at != ' ' && used < 32; at++)
            if (*at != '-')
                theirs[used++] = *at;
        assert_int_equal(sscanf(at, " (%31[^)])", arch), 1);
        bool thumb = strncmp(arch, "thumb", 5) == 0; /* armv7m, which has nothing else */
        if (strcmp(thumb ? arch + 5 : arch, object_arch_name(object) + (thumb ? 3 : 0)) != 0)
            fail_msg("%s: ours %s, LLVM %s", path, object_arch_name(object), arch);
    }
    if (strcmp(hex, theirs) != 0)
        fail_msg("%s: UUID: ours '%s', LLVM '%s'", path, hex, theirs);
    free(text);
}

/* Where nothing is relocated or inflated, contents are the bytes of the section. */
static size_t compare_contents(struct object *object)
{
    static const char *const names[] = {"info",        "abbrev",   "line",     "str",
                                        "str_offsets", "line_str", "rnglists", "aranges"};
    size_t found = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct span data;
        struct fw_failure why = {0};
        fw_error error = object_debug_section(object, names[i], false, &data, &why);
        if (error == FW_ERR_NOT_FOUND)
            continue;
        assert_int_equal(error, FW_OK);
        assert_int_equal(why.code, FW_OK);
        found++;
        if (object_type(object) == OBJECT_RELOCATABLE || data.size == 0)
            continue;
        char section[32];
        snprintf(section, sizeof section, "__debug_%s", names[i]);
        if (!fixture_try("llvm-objcopy-19 --dump-section __DWARF,%.16s=dump slice copy", section))
            continue; /* it refuses some files */
        size_t size;
        uint8_t *dump = fixture_read("dump", &size);
        assert_int_equal(size, data.size);
        assert_memory_equal(dump, data.data, size);
        free(dump);
    }
    return found;
}

struct totals {
    size_t slices, symbols, starts, sections, debug;
};

struct slice_call {
    const char *path;
    struct totals *totals;
    const uint8_t *bytes;
};

static bool compare_slice(void *context, const struct object_slice *slice)
{
    const struct slice_call *call = context;
    fixture_write("slice", call->bytes + slice->offset, (size_t)slice->size);
    struct object *object = fixture_open("slice");
    assert_string_equal(object_arch_name(object), slice->arch);
    call->totals->slices++;
    compare_identity(object, call->path);
    call->totals->sections += compare_sections(object, call->path);
    call->totals->symbols += compare_symbols(object, call->path);
    call->totals->starts += compare_starts(object, call->path);
    call->totals->debug += compare_contents(object);
    struct symbols *symbols = symbols_build(object, NULL);
    assert_non_null(symbols);
    symbols_destroy(symbols);
    object_close(object);
    return true;
}

static void same_as_llvm(void **state)
{
    (void)state;
    fixture_need("llvm-nm-19 llvm-readobj-19 llvm-objdump-19 llvm-dwarfdump-19");
    static const char *const folders[] = {FW_SHARED_DATA "/debug",
                                          FW_SHARED_DATA "/unwind/framehop"};
    for (size_t i = 0; i < 2; i++)
        nftw(folders[i], take_path, 16, FTW_PHYS);
    if (path_count == 0) {
        print_message("skipped: there is no " FW_SHARED_DATA "\n");
        skip();
    }
    struct totals totals = {0};
    size_t archives = 0;
    for (size_t i = 0; i < path_count; i++) {
        FILE *file = fopen(paths[i], "rb");
        assert_non_null(file);
        fseek(file, 0, SEEK_END);
        size_t size = (size_t)ftell(file);
        rewind(file);
        uint8_t *bytes = malloc(size);
        assert_non_null(bytes);
        assert_int_equal(fread(bytes, 1, size, file), size);
        fclose(file);
        struct fw_failure why = {0};
        struct slice_call call = {paths[i], &totals, bytes};
        if (strcmp(paths[i] + strlen(paths[i]) - 2, ".a") == 0)
            archives++; /* a fat file of archives */
        else if (object_slices(paths[i], compare_slice, &call, &why) != FW_OK)
            fail_msg("%s", why.message);
        free(bytes);
        free(paths[i]);
    }
    print_message("%zu slices of %zu files: %zu sections, %zu symbols, %zu function starts, %zu "
                  "debug sections\n",
                  totals.slices, path_count - archives, totals.sections, totals.symbols,
                  totals.starts, totals.debug);
    assert_true(totals.symbols && totals.starts && totals.debug);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_as_llvm)};
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
