/*
 * Split DWARF (DWARF 5 section 3.1.2 and appendix F; the GNU extension of DWARF 4): which unit a
 * skeleton stands for.
 *
 * It is searched for by its id in the .dwo sections of the main file, in the package, and in the
 * .dwo file that the skeleton names, in this order. What is found is kept in the skeleton's root
 * and never looked for again; a .dwo of another id is refused.
 */
#include "base/array.h"
#include "dwarf/root.h"

#include <stdlib.h>

bool dwarf_split_sign(struct dwarf_file *file)
{
    for (size_t i = 0; i < file->info_count; i++) {
        struct unit *unit = &file->units[i];
        struct view view;
        if (unit->header.version >= 5 || unit->packaged)
            continue;
        if (!view_open(&view, unit, NULL))
            return false;
        unit->signature = view.root->has_dwo_id ? view.root->dwo_id : 0;
    }
    return true;
}

/* A file of .dwo sections, when the object has any. */
static fw_error open_one(struct dwarf *dwarf, struct object *object, struct dwarf_file **file,
                         struct fw_failure *why)
{
    struct dwarf_file *made = calloc(1, sizeof *made);
    if (!made) {
        if (why)
            *why = (struct fw_failure){.code = FW_ERR_MEMORY, .message = "out of memory"};
        return FW_ERR_MEMORY;
    }
    fw_error error = dwarf_file_open(made, dwarf, object, ROLE_DWO, why);
    if (error == FW_OK && made->unit_count) {
        *file = made;
        return FW_OK;
    }
    dwarf_file_close(made);
    free(made);
    return error;
}

fw_error dwarf_split_open(struct dwarf *dwarf, struct fw_failure *why)
{
    struct object *package = dwarf->companions.package;
    fw_error error = open_one(dwarf, dwarf->main.object, &dwarf->embedded, why);
    if (error == FW_OK && package)
        error = open_one(dwarf, package, &dwarf->package, why);
    return error == FW_ERR_MEMORY ? error : FW_OK; /* a damaged one is as good as none */
}

static void close_one(struct dwarf_file *file)
{
    if (file)
        dwarf_file_close(file);
    free(file);
}

void dwarf_split_close(struct dwarf *dwarf)
{
    close_one(dwarf->embedded);
    close_one(dwarf->package);
    for (size_t i = 0; i < dwarf->loose_count; i++)
        close_one(dwarf->loose[i]);
    free(dwarf->loose);
}

/* Opens the .dwo that the skeleton names. Under the lock. False: memory ran out. */
static bool open_loose(struct dwarf *dwarf, const struct unit_root *root, struct dwarf_file **file)
{
    *file = NULL;
    if (!dwarf->companions.find_dwo || !root->dwo_name)
        return true;
    if (!array_room(&dwarf->loose, &dwarf->loose_capacity, dwarf->loose_count,
                    sizeof *dwarf->loose))
        return false;
    struct object *object =
        dwarf->companions.find_dwo(dwarf->companions.context, root->comp_dir ? root->comp_dir : "",
                                   root->dwo_name, root->dwo_id);
    if (!object)
        return true;
    if (open_one(dwarf, object, file, NULL) == FW_ERR_MEMORY)
        return false;
    if (*file)
        dwarf->loose[dwarf->loose_count++] = *file;
    return true;
}

static bool look_for(struct dwarf *dwarf, struct unit_root *root)
{
    struct dwarf_file *file = NULL;
    const struct unit *found = NULL;
    if (dwarf->embedded)
        found = dwarf_unit_signed(dwarf->embedded, false, root->dwo_id);
    if (!found && dwarf->package)
        found = dwarf_unit_signed(dwarf->package, false, root->dwo_id);
    if (!found) {
        if (!open_loose(dwarf, root, &file))
            return false;
        found = file ? dwarf_unit_signed(file, false, root->dwo_id) : NULL;
        root->split_other = file && !found;
    }
    root->split = found;
    return true;
}

static bool is_skeleton(const struct unit *unit, const struct unit_root *root)
{
    return !unit->file->dwo && root->has_dwo_id &&
           (root->dwo_name || unit->header.unit_type == DW_UT_skeleton);
}

bool dwarf_split_lacks(const struct unit *unit, const struct unit_root *root,
                       const struct unit *split)
{
    return !split && is_skeleton(unit, root);
}

bool dwarf_split_find(const struct unit *unit, const struct unit_root *root,
                      const struct unit **split, struct dwarf_problems *problems)
{
    *split = NULL;
    if (!is_skeleton(unit, root))
        return true;
    struct dwarf *dwarf = unit->file->dwarf;
    struct unit_root *shared = (struct unit_root *)(uintptr_t)root; /* `split` is changed once */
    if (!atomic_load_explicit(&shared->split_known, memory_order_acquire)) {
        pthread_mutex_lock(&dwarf->lock);
        bool good = shared->split_known || look_for(dwarf, shared);
        if (good)
            atomic_store_explicit(&shared->split_known, true, memory_order_release);
        pthread_mutex_unlock(&dwarf->lock);
        if (!good)
            return false;
    }
    *split = root->split;
    if (!root->split)
        dwarf_problem_note(
            problems, DWARF_PROBLEM_SPLIT, FW_ERR_NOT_FOUND, unit->header.offset, unit->file,
            root->split_other ? "%s is of another build than id %016llx"
                              : "%s with id %016llx was not found",
            root->dwo_name ? root->dwo_name : "the .dwo", (unsigned long long)root->dwo_id);
    return true;
}
