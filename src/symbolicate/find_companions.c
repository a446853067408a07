/*
 * What the DWARF of a file refers to in other files.
 *
 * Supplementary file (dwz; .gnu_debugaltlink, DWARF 5 .debug_sup): by its path, absolute or from
 * the folder of the debug file, below each folder, by build id, and from debuginfod; its build id
 * has to be the one of the link. Nothing that it refers to is followed, so there are no circles.
 *
 * Split DWARF: a package (.dwp) beside the program or the debug file, or else single .dwo files by
 * the names in the skeleton units (DWARF 5 section 7.3.2). Whoever reads a unit compares its id.
 */
#include "symbolicate/find_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool has_section(const struct object *object, const char *name)
{
    struct object_section section;
    for (size_t i = 0; object_section_at(object, i, &section); i++)
        if (strcmp(section.name, name) == 0)
            return true;
    return false;
}

static bool same_bytes(struct span a, struct span b)
{
    return a.size == b.size && a.size && memcmp(a.data, b.data, a.size) == 0;
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* `context` is the build id of the link. */
static const char *not_supplementary(const struct finder *finder, struct object *candidate,
                                     const void *context)
{
    const struct span *id = context;
    if (object_is_big_endian(candidate) != object_is_big_endian(finder->object))
        return "other architecture";
    if (object_is_truncated(candidate))
        return "truncated";
    struct span own = object_supplementary_id(candidate);
    if (!own.size)
        return "no build id";
    return same_bytes(own, *id) ? NULL : "other build id";
}

/* Below every folder: by what follows /usr/lib/debug in the path, and in .dwz by its name. */
static struct object *supplementary_in_folders(struct finder *finder, const char *link,
                                               const struct candidate_test *test)
{
    static const char usual[] = "/usr/lib/debug/";
    struct object *found = NULL;
    const char *inside = strstr(link, usual);
    const char *dwz = strstr(link, ".dwz/");
    for (char **dir = finder->folders; *dir && !found; dir++) {
        if (inside)
            found = finder_try_at(finder, test, "%s/%s", *dir, inside + strlen(usual));
        if (!found && dwz && !inside)
            found = finder_try_at(finder, test, "%s/%s", *dir, dwz);
        if (!found)
            found = finder_try_at(finder, test, "%s/.dwz/%s", *dir, file_name(link));
    }
    return found;
}

static struct object *find_supplementary(struct finder *finder, struct object *dwarf,
                                         const char *path)
{
    const char *link;
    struct span id;
    if (!object_debugaltlink(dwarf, &link, &id) || id.size == 0)
        return NULL;
    const struct candidate_test test = {not_supplementary, &id, NULL};
    struct object *found = NULL;
    char *real = realpath(path, NULL); /* links in .build-id lead to where the path counts from */
    char *folder = finder_folder(finder, real ? real : path);
    if (link[0] == '/') {
        if (finder->sysroot[0])
            found = finder_try_at(finder, &test, "%s%s", finder->sysroot, link);
        else
            found = finder_try(finder, link, &test);
    } else if (folder) {
        found = finder_try_at(finder, &test, "%s/%s", folder, link);
    }
    if (!found && folder)
        found = finder_try_at(finder, &test, "%s/%s", folder, file_name(link));
    if (!found)
        found = finder_by_build_id(finder, id, ".debug", &test);
    if (!found)
        found = supplementary_in_folders(finder, link, &test);
    if (!found)
        found = finder_by_id(finder, id, &test);
    if (!found)
        found = finder_from_servers(finder, id, &test);
    free(folder);
    free(real);
    return found;
}

static const char *not_package(const struct finder *finder, struct object *candidate,
                               const void *context)
{
    (void)context;
    if (object_machine(candidate) != object_machine(finder->object))
        return "other architecture";
    bool indexed =
        has_section(candidate, ".debug_cu_index") || has_section(candidate, ".debug_tu_index");
    return indexed ? NULL : "has no index of units";
}

/* `path` with .dwp behind it, and in place of `ending`. */
static struct object *package_of(struct finder *finder, const char *path, const char *ending,
                                 const struct candidate_test *test)
{
    struct object *found = finder_try_at(finder, test, "%s.dwp", path);
    size_t length = strlen(path), cut = strlen(ending);
    if (!found && length > cut && strcmp(path + length - cut, ending) == 0)
        found = finder_try_at(finder, test, "%.*s.dwp", (int)(length - cut), path);
    return found;
}

static struct object *find_package(struct finder *finder, const char *path)
{
    const struct candidate_test test = {not_package, NULL, NULL};
    struct object *found = NULL;
    if (finder->path[0])
        found = package_of(finder, finder->path, ".debug", &test);
    if (!found && strcmp(path, finder->path) != 0) {
        found = package_of(finder, path, ".debug", &test);
        char *folder = finder_folder(finder, path);
        if (!found && folder && finder->path[0])
            found = finder_try_at(finder, &test, "%s/%s.dwp", folder, file_name(finder->path));
        free(folder);
    }
    if (!found)
        found = finder_by_build_id(finder, object_build_id(finder->object), ".dwp", &test);
    if (!found)
        found = finder_by_build_id(finder, object_build_id(finder->object), ".debug.dwp", &test);
    for (char **dir = finder->folders; *dir && !found && finder->path[0]; dir++)
        found = finder_try_at(finder, &test, "%s/%s.dwp", *dir, file_name(finder->path));
    return found;
}

/* Can the .dwo hold the unit with this id? Before version 5 headers do not say, so it can. */
static bool may_hold_unit(struct object *dwo, uint64_t id)
{
    struct span info;
    enum { SPLIT_COMPILE = 5, UNITS_MAX = 1 << 16 };
    if (object_debug_section(dwo, "info", true, &info, NULL) != FW_OK)
        return true; /* its reader says what is wrong */
    struct reader r = reader_over(info.data, info.size);
    r.swap = object_is_big_endian(dwo) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    for (unsigned i = 0; i < UNITS_MAX && reader_left(&r); i++) {
        uint64_t length = reader_u32(&r);
        unsigned offset_size = length == UINT32_MAX ? 8 : 4;
        if (offset_size == 8)
            length = reader_u64(&r);
        struct reader unit = reader_sub(&r, length);
        uint16_t version = reader_u16(&unit);
        uint8_t type = reader_u8(&unit);
        reader_skip(&unit, 1 + offset_size); /* address size, abbreviations */
        uint64_t own = reader_u64(&unit);
        if (unit.failed || version < 5 || (type == SPLIT_COMPILE && own == id))
            return true;
    }
    return false;
}

static const char *not_dwo(const struct finder *finder, struct object *candidate,
                           const void *context)
{
    const uint64_t *wanted = context;
    if (object_machine(candidate) != object_machine(finder->object))
        return "other architecture";
    if (!has_section(candidate, ".debug_info.dwo") && !has_section(candidate, ".zdebug_info.dwo"))
        return "no split debug information";
    return may_hold_unit(candidate, *wanted) ? NULL : "other unit id";
}

/* One place of a .dwo; several units may share a file. */
static struct object *dwo_at(struct finder *finder, const struct candidate_test *test,
                             const char *folder, const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s%s", folder, folder[0] ? "/" : "", name) < 0)
        return NULL;
    struct object *known = finder_known(finder, path);
    if (!known)
        known = finder_remember(finder, path, finder_try(finder, path, test));
    else if (test->objection(finder, known, test->context))
        known = NULL;
    free(path);
    return known;
}

static struct object *find_dwo(void *context, const char *comp_dir, const char *dwo_name,
                               uint64_t dwo_id)
{
    struct finder *finder = context;
    const struct candidate_test test = {not_dwo, &dwo_id, NULL};
    struct object *found = NULL;
    if (!dwo_name || !dwo_name[0])
        return NULL;
    char *beside = finder_folder(finder, finder->path[0] ? finder->path : "./");
    char *built = NULL;
    if (asprintf(&built, "%s%s", finder->sysroot, comp_dir ? comp_dir : "") < 0)
        built = NULL;
    if (dwo_name[0] == '/')
        found = dwo_at(finder, &test, "", dwo_name);
    else if (built && built[0])
        found = dwo_at(finder, &test, built, dwo_name);
    if (!found && beside && dwo_name[0] != '/')
        found = dwo_at(finder, &test, beside, dwo_name);
    if (!found && beside)
        found = dwo_at(finder, &test, beside, file_name(dwo_name));
    if (!found && finder->files.debug) {
        char *folder = finder_folder(finder, object_label(finder->files.debug));
        if (folder)
            found = dwo_at(finder, &test, folder, file_name(dwo_name));
        free(folder);
    }
    for (char **dir = finder->folders; dir[0] && dir[1] && !found; dir++)
        found = dwo_at(finder, &test, *dir, file_name(dwo_name));
    free(beside);
    free(built);
    return found;
}

void finder_companions(struct finder *finder, struct object *dwarf, const char *path)
{
    struct dwarf_companions *companions = &finder->files.companions;
    companions->supplementary = find_supplementary(finder, dwarf, path);
    /* Skeleton units give addresses through .debug_addr; without it nothing is split. */
    if (!has_section(dwarf, ".debug_addr") && !has_section(dwarf, ".zdebug_addr"))
        return;
    companions->package = find_package(finder, path);
    companions->find_dwo = find_dwo;
    companions->context = finder;
}
