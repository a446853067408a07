#include "symmap/import.h"

#include "base/array.h"
#include "symmap/export.h"
#include "symmap/import_unit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { UNIT_FUNCTIONS = 4096 };

fw_error import_fail(struct import *import, fw_error code, uint64_t place, const char *format, ...)
{
    struct fw_failure *why = &import->failure;
    *why = (struct fw_failure){.code = code, .place = place};
    int used = snprintf(why->message, sizeof why->message, "%.100s: ", import->label);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->message + used, sizeof why->message - (size_t)used, format, arguments);
    va_end(arguments);
    return code;
}

fw_error import_no_memory(struct import *import)
{
    return import_fail(import, FW_ERR_MEMORY, 0, "%s", fw_error_text(FW_ERR_MEMORY));
}

bool import_file(struct import *import, const char *directory, const char *name)
{
    if (!array_room(&import->files, &import->file_capacity, import->file_count,
                    sizeof *import->files))
        return false;
    import->files[import->file_count++] = (struct dwarf_file_name){"", directory, name};
    return true;
}

static int sequence_order(const void *left, const void *right)
{
    const struct dwarf_sequence *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->first_row < b->first_row ? -1 : a->first_row > b->first_row;
}

static void sort_sequences(struct import *import)
{
    struct dwarf_sequence *all = import->sequences;
    for (size_t i = 1; i < import->sequence_count; i++)
        if (all[i - 1].lo > all[i].lo) {
            qsort(all, import->sequence_count, sizeof *all, sequence_order);
            return;
        }
}

/* The unit at hand becomes flat code. */
static bool flush(struct import *import)
{
    if (!import->function_count)
        return true;
    sort_sequences(import);
    if (!array_room(&import->units, &import->unit_capacity, import->unit_count,
                    sizeof *import->units))
        return false;
    const struct dwarf_unit unit = {.ranges = import->ranges,
                                    .range_count = import->range_count,
                                    .functions = import->functions,
                                    .function_count = import->function_count,
                                    .inlines = import->inlines,
                                    .inline_count = import->inline_count,
                                    .subjects = import->subjects,
                                    .subject_count = import->subject_count};
    const struct dwarf_lines lines = {.rows = import->rows,
                                      .row_count = import->row_count,
                                      .sequences = import->sequences,
                                      .sequence_count = import->sequence_count,
                                      .files = import->files,
                                      .file_count = import->file_count};
    const struct flatten_options options = {0};
    arena_reset(&import->scratch);
    if (code_flatten(&unit, &lines, &options, &import->scratch,
                     &import->units[import->unit_count]) != FW_OK)
        return false;
    import->unit_count++;
    import->function_count = import->inline_count = import->range_count = 0;
    import->subject_count = import->row_count = import->sequence_count = 0;
    return true;
}

/* Names are compared by what they say when the map is written; here each use is its own. */
static bool add_subject(struct import *import, const char *name, uint32_t *number)
{
    if (!array_room(&import->subjects, &import->subject_capacity, import->subject_count,
                    sizeof *import->subjects))
        return false;
    bool known = name && name[0] && strcmp(name, EXPORT_UNKNOWN) != 0;
    *number = (uint32_t)import->subject_count;
    import->subjects[import->subject_count++] =
        (struct dwarf_subject){.name = known ? name : NULL, .linkage = known};
    return true;
}

bool import_range(struct import *import, uint64_t lo, uint64_t hi)
{
    if (!array_room(&import->ranges, &import->range_capacity, import->range_count,
                    sizeof *import->ranges))
        return false;
    import->ranges[import->range_count++] = (struct object_range){lo, hi};
    struct dwarf_function *function = &import->functions[import->function_count - 1];
    if (function->inline_count)
        import->inlines[import->inline_count - 1].range_count++;
    return true;
}

bool import_function(struct import *import, uint64_t lo, uint64_t hi, const char *name)
{
    uint32_t subject;
    if ((import->function_count == UNIT_FUNCTIONS && !flush(import)) ||
        !array_room(&import->functions, &import->function_capacity, import->function_count,
                    sizeof *import->functions) ||
        !add_subject(import, name, &subject))
        return false;
    import->functions[import->function_count++] =
        (struct dwarf_function){.subject = subject,
                                .first_range = (uint32_t)import->range_count,
                                .range_count = 1,
                                .entry = lo,
                                .first_inline = (uint32_t)import->inline_count,
                                .die = ++import->die};
    return import_range(import, lo, hi);
}

bool import_call(struct import *import, uint32_t parent, const char *name, uint32_t file,
                 uint32_t line, uint32_t *number)
{
    uint32_t subject;
    if (!array_room(&import->inlines, &import->inline_capacity, import->inline_count,
                    sizeof *import->inlines) ||
        !add_subject(import, name, &subject))
        return false;
    *number = (uint32_t)import->inline_count;
    import->inlines[import->inline_count++] =
        (struct dwarf_inline){.subject = subject,
                              .parent = parent,
                              .first_range = (uint32_t)import->range_count,
                              .call_file = file,
                              .call_line = line};
    import->functions[import->function_count - 1].inline_count++;
    return true;
}

/* Rows from here on belong to no sequence yet. */
static size_t first_open_row(const struct import *import)
{
    const struct dwarf_sequence *all = import->sequences;
    size_t count = import->sequence_count;
    return count ? (size_t)all[count - 1].first_row + all[count - 1].row_count : 0;
}

bool import_line(struct import *import, uint64_t address, uint32_t file, uint32_t line)
{
    size_t count = import->row_count;
    if (count > first_open_row(import) && import->rows[count - 1].address == address)
        import->row_count--; /* the last at an address stands */
    if (!array_room(&import->rows, &import->row_capacity, import->row_count, sizeof *import->rows))
        return false;
    import->rows[import->row_count++] =
        (struct dwarf_row){.address = address, .file = file, .line = line, .is_statement = true};
    return true;
}

bool import_lines_end(struct import *import, uint64_t hi)
{
    size_t count = import->sequence_count, first = first_open_row(import);
    if (first == import->row_count)
        return true;
    uint64_t lo = import->rows[first].address;
    if (lo >= hi) {
        import->row_count = first;
        return true;
    }
    if (!array_room(&import->sequences, &import->sequence_capacity, count,
                    sizeof *import->sequences))
        return false;
    import->sequences[import->sequence_count++] =
        (struct dwarf_sequence){lo, hi, (uint32_t)first, (uint32_t)(import->row_count - first)};
    return true;
}

bool import_symbol(struct import *import, uint64_t lo, uint64_t hi, const char *name)
{
    if (!array_room(&import->symbols, &import->symbol_capacity, import->symbol_count,
                    sizeof *import->symbols))
        return false;
    import->symbols[import->symbol_count++] =
        (struct symmap_symbol){.lo = lo, .hi = hi, .name = name};
    return true;
}

static fw_error build(struct import *import, uint8_t **map, size_t *size)
{
    if (!flush(import))
        return import_no_memory(import);
    const struct symmap_source source = {.identity = import->identity,
                                         .units = import->units,
                                         .unit_count = import->unit_count,
                                         .symbols = import->symbols,
                                         .symbol_count = import->symbol_count};
    return symmap_build(&source, 1, map, size, NULL, &import->failure);
}

static void release(struct import *import)
{
    for (size_t i = 0; i < import->unit_count; i++)
        code_unit_free(&import->units[i]);
    free(import->units);
    free(import->files);
    free(import->functions);
    free(import->inlines);
    free(import->ranges);
    free(import->subjects);
    free(import->rows);
    free(import->sequences);
    free(import->symbols);
    arena_free(&import->strings);
    arena_free(&import->scratch);
}

fw_error import_map(struct span bytes, const char *label, uint8_t **map, size_t *size,
                    struct fw_failure *why)
{
    struct import import = {.label = label,
                            .identity = {.object = "", .producer = "", .converter = "framewalk"}};
    fw_error error = import_file(&import, "", "") ? FW_OK : import_no_memory(&import);
    if (error == FW_OK && import_is_gsym(bytes))
        error = import_gsym(&import, bytes);
    else if (error == FW_OK && import_is_breakpad(bytes))
        error = import_breakpad(&import, bytes);
    else if (error == FW_OK)
        error = import_fail(&import, FW_ERR_FORMAT, 0, "neither GSYM nor Breakpad text");
    if (error == FW_OK)
        error = build(&import, map, size);
    if (error != FW_OK && why)
        *why = import.failure;
    release(&import);
    return error;
}
