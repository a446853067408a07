/*
 * Opening a debug file's DWARF and reading one unit of it: see dwarf.h.
 */
#include "dwarf/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

static fw_error nothing_there(const struct dwarf_file *file, struct fw_failure *why)
{
    fw_error code = file->broken.code == FW_OK ? FW_ERR_NOT_FOUND : file->broken.code;
    if (why && file->broken.code != FW_OK)
        *why = file->broken;
    else if (why) {
        *why = (struct fw_failure){.code = code};
        snprintf(why->message, sizeof why->message, "%s: no DWARF", object_label(file->object));
    }
    return code;
}

static fw_error open_supplementary(struct dwarf *dwarf, struct fw_failure *why)
{
    struct object *object = dwarf->companions.supplementary;
    if (!object)
        return FW_OK;
    struct dwarf_file *file = calloc(1, sizeof *file);
    if (!file)
        return no_memory(why);
    fw_error error = dwarf_file_open(file, dwarf, object, ROLE_SUPPLEMENTARY, why);
    if (error == FW_OK)
        dwarf->supplementary = file;
    else
        free(file);
    return error == FW_ERR_MEMORY ? error : FW_OK; /* without it some names are missing */
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
    fw_error error = dwarf_file_open(&dwarf->main, dwarf, object, ROLE_MAIN, why);
    if (error == FW_OK && !dwarf->main.unit_count)
        error = nothing_there(&dwarf->main, why);
    if (error == FW_OK)
        error = open_supplementary(dwarf, why);
    if (error == FW_OK)
        error = dwarf_split_open(dwarf, why);
    if (error == FW_OK && (!index_code_units(dwarf) || !dwarf_aranges_open(dwarf)))
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
    dwarf_split_close(dwarf);
    if (dwarf->supplementary)
        dwarf_file_close(dwarf->supplementary);
    free(dwarf->supplementary);
    dwarf_file_close(&dwarf->main);
    free(dwarf->aranges);
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

fw_error dwarf_unit_about(const struct dwarf *dwarf, size_t unit, struct dwarf_unit_about *about)
{
    struct view view;
    if (!view_open_root(&view, code_unit(dwarf, unit)))
        return FW_ERR_MEMORY;
    const struct unit_root *root = view.root;
    *about = (struct dwarf_unit_about){root->name, root->comp_dir, root->producer, root->dwo_name,
                                       root->language};
    return FW_OK;
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

/* What of the problems of indexing belongs to this read: told with the first unit. */
static void tell_index(const struct dwarf *dwarf, size_t unit, struct dwarf_problems *problems)
{
    const struct dwarf_file *file = &dwarf->main;
    if (unit || file->broken.code == FW_OK || !problems)
        return;
    if (!problems->count[DWARF_PROBLEM_UNIT]++)
        problems->first[DWARF_PROBLEM_UNIT] = file->broken;
}

fw_error dwarf_unit_read(const struct dwarf *dwarf, size_t unit,
                         const struct dwarf_options *options, struct arena *arena,
                         struct dwarf_unit *result, struct dwarf_problems *problems)
{
    *result = (struct dwarf_unit){0};
    struct view own, other, *view = &own;
    const struct unit *split;
    tell_index(dwarf, unit, problems);
    if (!view_open(&own, code_unit(dwarf, unit), NULL) ||
        !dwarf_split_find(own.unit, own.root, &split, problems))
        return FW_ERR_MEMORY;
    const struct unit_root *root = own.root, *inner = root;
    if (split) {
        if (!view_open(&other, split, &own))
            return FW_ERR_MEMORY;
        view = &other;
        inner = other.root;
    }
    result->name = inner->name ? inner->name : root->name;
    result->comp_dir = root->comp_dir ? root->comp_dir : inner->comp_dir;
    result->producer = inner->producer ? inner->producer : root->producer;
    result->language = inner->language;
    set_line_input(&own, options, result);
    struct subjects subjects;
    if (!subjects_begin(&subjects, view, arena, problems) ||
        !walk_unit(view, options, arena, &subjects, result, problems) ||
        !subjects_qualify(&subjects))
        return FW_ERR_MEMORY;
    result->subjects = subjects.items;
    result->subject_count = subjects.count;
    /* Some skeletons say what is inlined (clang's -fsplit-dwarf-inlining). */
    if (dwarf_split_lacks(own.unit, root, split) && result->function_count == 0)
        result->has_lines = false;
    return FW_OK;
}

/* Entries of one list of a unit's ranges: more than any linker makes, less than a lie can. */
enum { UNIT_RANGES = 1 << 20 };

static bool read_root_ranges(struct range_reader *reader, struct view *view)
{
    if (!view_open_root(view, view->unit))
        return false;
    const struct unit_root *root = view->root;
    if (root->has_ranges)
        range_read_list(reader, view, root->ranges_form, root->ranges, view->unit->first_die);
    else if (root->has_low_pc && root->has_high_pc)
        range_add(reader, view, root->low_pc,
                  root->high_is_length ? root->low_pc + root->high_pc : root->high_pc);
    return true;
}

fw_error dwarf_unit_ranges(const struct dwarf *dwarf, size_t unit,
                           const struct dwarf_options *options, struct arena *arena,
                           struct object_range **ranges, size_t *count)
{
    struct view view;
    *ranges = NULL;
    *count = 0;
    struct range_list list = {.arena = arena};
    struct range_reader reader = {.options = options, .budget = UNIT_RANGES, .list = &list};
    view_begin(&view, code_unit(dwarf, unit), NULL);
    aranges_read(&reader, &view);
    if (list.count == 0 && !reader.no_memory && !read_root_ranges(&reader, &view))
        return FW_ERR_MEMORY;
    if (reader.no_memory)
        return FW_ERR_MEMORY;
    *ranges = list.items;
    *count = list.count;
    return FW_OK;
}

/* Whole pages only: what shares one with a neighbour stays. */
static void give_back(const struct unit *unit, uint64_t from, uint64_t to)
{
    const uint8_t *data = dwarf_unit_section(unit).data;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t lo = ((uintptr_t)data + (uintptr_t)from + page - 1) / page * page;
    uintptr_t hi = ((uintptr_t)data + (uintptr_t)to) / page * page;
    if (lo < hi && object_maps(unit->file->object, (const void *)lo, hi - lo))
        (void)madvise((void *)lo, hi - lo, MADV_DONTNEED);
}

/* Each call costs all threads a moment, so it is made in large steps: by the unit that crosses from
 * one step into the next, for the step before, which is read by then as units are read in order. */
static void give_back_steps(const struct unit *unit)
{
    enum { STEP = 32 << 20 };
    uint64_t begin = unit->header.offset, end = begin + unit->header.size;
    uint64_t now = begin / STEP, next = end / STEP;
    if (next > now && now > 0)
        give_back(unit, (now - 1) * STEP, (next - 1) * STEP);
}

void dwarf_unit_done(const struct dwarf *dwarf, size_t unit)
{
    const struct unit *own = code_unit(dwarf, unit);
    struct unit_root *root = atomic_load(&((struct unit *)(uintptr_t)own)->root);
    give_back_steps(own);
    if (root && atomic_load(&root->split_known) && root->split) {
        const struct dwarf_unit_header *split = &root->split->header;
        give_back(root->split, split->offset, split->offset + split->size);
    }
}
