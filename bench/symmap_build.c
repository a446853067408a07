/* symmap_build IMAGE DEBUG [ADDRESSES]: what building a symbol map of already flattened code costs
 * on one and on two threads, how large each section is, and how long opening and looking up take.
 */
#include "bench.h"
#include "object/codecs.h"
#include "symmap/convert.h"
#include "symmap/format.h"
#include "symmap/symbol_list.h"

#include <string.h>

enum { ROUNDS = 7, LOOKUPS = 200000, CAPACITY = 256 };

static struct code_unit *read_units(struct object *code, struct object *debug, size_t *count)
{
    struct dwarf *dwarf;
    struct fw_failure why = {0};
    bench_require(dwarf_open(debug, NULL, &dwarf, &why) == FW_OK, 1, why.message);
    struct dwarf_options read = {.calls = true};
    object_code_ranges(code, &read.code, &read.code_count);
    struct flatten_options flatten = {.columns = false};
    struct arena scratch = {0};
    *count = dwarf_unit_count(dwarf);
    struct code_unit *units = calloc(*count + 1, sizeof *units);
    for (size_t i = 0; i < *count; i++) {
        struct dwarf_unit unit;
        struct dwarf_lines lines = {0};
        arena_reset(&scratch);
        if (dwarf_unit_read(dwarf, i, &read, &scratch, &unit, NULL) != FW_OK)
            continue;
        if (unit.has_lines)
            dwarf_lines_read(&unit.line, &scratch, &lines, NULL);
        code_flatten(&unit, &lines, &flatten, &scratch, &units[i]);
    }
    arena_free(&scratch);
    return units; /* names stay in the DWARF, which stays open */
}

/* Processor time of all threads: other work on the machine disturbs it less than the clock. */
static uint64_t spent(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static double build_once(const struct symmap_source *source, unsigned threads, uint8_t **bytes,
                         size_t *size)
{
    free(*bytes);
    uint64_t start = bench_now();
    bench_require(symmap_build(source, threads, bytes, size, NULL, NULL) == FW_OK, 1, "build");
    return (double)(bench_now() - start) / 1e6;
}

static void print_sections(const uint8_t *bytes, size_t size, size_t rows)
{
    for (uint32_t i = 0; i < get_u32(bytes + HEADER_SECTIONS); i++) {
        const uint8_t *entry = bytes + HEADER_SIZE + i * ENTRY_SIZE;
        printf("%-14s %10llu\n", section_name(get_u32(entry)),
               (unsigned long long)get_u64(entry + ENTRY_LENGTH));
    }
    printf("%-14s %10zu, %.2f bytes a row\n", "file", size, (double)size / (double)rows);
}

static bool count_row(void *context, const struct symmap_row *row)
{
    size_t *counts = context;
    counts[0] += row->frame_count != 0;
    counts[1] += row->frame_count == 0;
    counts[2] += row->frame_count;
    return true;
}

static void measure_lookups(const struct symmap *map, uint64_t end)
{
    static uint64_t offsets[LOOKUPS];
    struct symmap_frame frames[CAPACITY];
    size_t count, known = 0, all = 0;
    for (size_t i = 0; i < LOOKUPS;) {
        offsets[i] = ((uint64_t)rand() << 31 | (uint64_t)rand()) % end;
        if (symmap_lookup(map, offsets[i], frames, CAPACITY, &count) == FW_OK)
            i++; /* of code, as what is asked for is */
    }
    double best = 1e9;
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t start = spent();
        known = all = 0;
        for (size_t i = 0; i < LOOKUPS; i++) {
            known += symmap_lookup(map, offsets[i], frames, CAPACITY, &count) == FW_OK;
            all += count;
        }
        double each = (double)(spent() - start) / (double)LOOKUPS;
        best = each < best ? each : best;
    }
    printf("lookup %.0f ns, %.1f frames\n", best, (double)all / (double)known);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    object_set_codecs(&object_codecs_all);
    struct object *image, *debug;
    struct fw_failure why = {0};
    bench_require(object_open(argv[1], &image, &why) == FW_OK, 1, why.message);
    bench_require(object_open(argv[2], &debug, &why) == FW_OK, 1, why.message);
    struct symmap_source source = {.identity = {.base = object_base(image), .object = "x"}};
    source.units = read_units(debug, debug, &source.unit_count);
    struct symbol_list symbols = {0};
    bench_require(symbol_list_build(image, debug, &symbols) == FW_OK, 1, "symbols");
    source.symbols = symbols.items;
    source.symbol_count = symbols.count;
    size_t functions = 0, rows = 0, contexts = 0, calls = 0, subjects = 0, files = 0;
    for (size_t i = 0; i < source.unit_count; i++) {
        functions += source.units[i].function_count;
        rows += source.units[i].row_count;
        contexts += source.units[i].context_count;
        calls += source.units[i].call_count;
        subjects += source.units[i].subject_count;
        files += source.units[i].file_count;
    }
    printf("%zu units, %zu functions, %zu rows, %zu contexts, %zu calls, %zu subjects, %zu files, "
           "%zu symbols\n",
           source.unit_count, functions, rows, contexts, calls, subjects, files, symbols.count);
    double best[2] = {1e9, 1e9}, used[2] = {1e9, 1e9};
    uint8_t *bytes = NULL;
    size_t size = 0;
    for (int round = 0; round < ROUNDS; round++)
        for (unsigned threads = 1; threads <= 2; threads++) {
            uint64_t before = spent();
            double took = build_once(&source, threads, &bytes, &size);
            double work = (double)(spent() - before) / 1e6;
            used[threads - 1] = work < used[threads - 1] ? work : used[threads - 1];
            best[threads - 1] = took < best[threads - 1] ? took : best[threads - 1];
        }
    printf("build %.0f ms on one thread, %.0f ms on two: %.2f; processor time %.0f and %.0f ms\n",
           best[0], best[1], best[0] / best[1], used[0], used[1]);
    print_sections(bytes, size, rows);
    struct symmap *map;
    uint64_t start = bench_now();
    bench_require(symmap_open_bytes((struct span){bytes, size}, false, "x", &map, &why) == FW_OK, 1,
                  why.message);
    printf("open %.2f ms\n", (double)(bench_now() - start) / 1e6);
    size_t counts[3] = {0};
    start = bench_now();
    bench_require(symmap_each_row(map, count_row, counts) == FW_OK, 1, "each_row");
    printf("each row %.0f ms: %zu rows, %zu gaps, %zu frames\n",
           (double)(bench_now() - start) / 1e6, counts[0], counts[1], counts[2]);
    uint64_t end = 0;
    for (size_t i = 0; i < symbols.count; i++)
        end = symbols.items[i].hi > end ? symbols.items[i].hi : end;
    measure_lookups(map, end - source.identity.base);
    symmap_close(map);
    return 0;
}
