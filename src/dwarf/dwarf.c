/*
 * Opening a debug file's DWARF and reading one unit of it: see dwarf.h.
 */
#include "dwarf/walk.h"

#include <stdlib.h>

static bool index_code_units(struct dwarf *dwarf)
{
    struct dwarf_file *file = &dwarf->main;
    dwarf->code_units = calloc(file->info_count ? file->info_count : 1, sizeof *dwarf->code_units);
    if (!dwarf->code_units || file->info_count >= DWARF_NONE)
        return false;
    for (size_t i = 0; i < file->info_count; i++) {
        uint8_t type = file->units[i].header.unit_type;
        if (type != DW_UT_type && type != DW_UT_split_type)
            dwarf->code_units[dwarf->code_unit_count++] = (uint32_t)i;
    }
    return true;
}

static fw_error no_memory(struct fw_failure *why)
{
    if (why)
        *why = (struct fw_failure){.code = FW_ERR_MEMORY, .message = "out of memory"};
    return FW_ERR_MEMORY;
}

fw_error dwarf_open(struct object *object, const struct dwarf_companions *companions,
                    struct dwarf **result, struct fw_failure *why)
{
    struct dwarf *dwarf = calloc(1, sizeof *dwarf);
    if (!dwarf)
        return no_memory(why);
    if (companions)
        dwarf->companions = *companions;
    pthread_mutex_init(&dwarf->lock, NULL);
    fw_error error = dwarf_file_open(&dwarf->main, dwarf, object, false, why);
    if (error == FW_OK && !index_code_units(dwarf))
        error = no_memory(why);
    if (error != FW_OK) {
        dwarf_close(dwarf);
        return error;
    }
    *result = dwarf;
    return FW_OK;
}

void dwarf_close(struct dwarf *dwarf)
{
    if (!dwarf)
        return;
    dwarf_file_close(&dwarf->main);
    free(dwarf->code_units);
    pthread_mutex_destroy(&dwarf->lock);
    free(dwarf);
}

static uint64_t file_size(const struct dwarf_file *file)
{
    uint64_t sum = 0;
    for (unsigned i = 0; file && i < SECTION_COUNT; i++)
        sum += file->section[i].size;
    return sum;
}

uint64_t dwarf_size(const struct dwarf *dwarf)
{
    return file_size(&dwarf->main) + file_size(dwarf->embedded) + file_size(dwarf->package) +
           file_size(dwarf->supplementary);
}

size_t dwarf_unit_count(const struct dwarf *dwarf)
{
    return dwarf->code_unit_count;
}

static const struct unit *code_unit(const struct dwarf *dwarf, size_t unit)
{
    return &dwarf->main.units[dwarf->code_units[unit]];
}

const struct dwarf_unit_header *dwarf_unit_header(const struct dwarf *dwarf, size_t unit)
{
    return &code_unit(dwarf, unit)->header;
}

static void set_line_input(const struct view *view, const struct dwarf_options *options,
                           struct dwarf_unit *result)
{
    const struct unit_root *root = view->root;
    const struct dwarf_file *file = view->file;
    result->has_lines = root->has_stmt_list;
    result->line = (struct dwarf_line_input){.line = file->section[SECTION_LINE],
                                             .str = file->section[SECTION_STR],
                                             .line_str = file->section[SECTION_LINE_STR],
                                             .str_offsets = file->section[SECTION_STR_OFFSETS],
                                             .str_offsets_base = view->str_offsets_base,
                                             .offset = root->stmt_list,
                                             .comp_dir = root->comp_dir,
                                             .unit_name = root->name,
                                             .address_size = view->address_size,
                                             .swap = view->swap,
                                             .keep_zero = options->keep_zero,
                                             .code = options->code,
                                             .code_count = options->code_count};
}

fw_error dwarf_unit_read(const struct dwarf *dwarf, size_t unit,
                         const struct dwarf_options *options, struct arena *arena,
                         struct dwarf_unit *result, struct dwarf_problems *problems)
{
    *result = (struct dwarf_unit){0};
    struct view view;
    if (!view_open(&view, code_unit(dwarf, unit), NULL))
        return FW_ERR_MEMORY;
    const struct unit_root *root = view.root;
    result->name = root->name;
    result->comp_dir = root->comp_dir;
    result->producer = root->producer;
    result->language = root->language;
    set_line_input(&view, options, result);
    struct subjects subjects;
    if (!subjects_begin(&subjects, &view, arena, problems) ||
        !walk_unit(&view, options, arena, &subjects, result, problems))
        return FW_ERR_MEMORY;
    result->subjects = subjects.items;
    result->subject_count = subjects.count;
    return FW_OK;
}

fw_error dwarf_unit_ranges(const struct dwarf *dwarf, size_t unit,
                           const struct dwarf_options *options, struct arena *arena,
                           struct object_range **ranges, size_t *count)
{
    struct view view;
    *ranges = NULL;
    *count = 0;
    if (!view_open(&view, code_unit(dwarf, unit), NULL))
        return FW_ERR_MEMORY;
    struct range_list list = {.arena = arena};
    struct range_reader reader = {.options = options, .list = &list};
    const struct unit_root *root = view.root;
    if (root->has_ranges)
        range_read_list(&reader, &view, root->ranges_form, root->ranges, view.unit->first_die);
    else if (root->has_low_pc && root->has_high_pc)
        range_add(&reader, &view, root->low_pc,
                  root->high_is_length ? root->low_pc + root->high_pc : root->high_pc);
    if (reader.no_memory)
        return FW_ERR_MEMORY;
    *ranges = list.items;
    *count = list.count;
    return FW_OK;
}

void dwarf_unit_done(const struct dwarf *dwarf, size_t unit)
{
    (void)dwarf;
    (void)unit;
}
