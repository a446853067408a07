/*
 * Debug sections of ELF files by their DWARF name: .debug_NAME or .zdebug_NAME, with .dwo behind it
 * in split files.
 *
 * Invariant: a group (all sections of one name) is put together at most once and stays as it is
 * until the object is closed. Where one section says it all and nothing is to be relocated, the
 * group is the section's own bytes, mapped or inflated; only relocatable files make copies.
 *
 * In relocatable files the sections of one name follow each other in the order of their headers.
 * Symbols of the second and later ones count from where they came to lie, so that offsets between
 * debug sections hold. In all other files the first section of a name stands, as linkers make one.
 */
#include "object/debug_sections_elf.h"

#include <errno.h>
#include <stdlib.h>

#define GROUP_LIMIT ((uint64_t)4 << 30)

/* "info" of ".debug_info" and ".zdebug_info"; ".eh_frame" of itself; NULL of everything else. */
static const char *canonical_name(const char *name)
{
    if (strncmp(name, ".debug_", 7) == 0)
        return name + 7;
    if (strncmp(name, ".zdebug_", 8) == 0)
        return name + 8;
    return strcmp(name, ".eh_frame") == 0 ? name : NULL;
}

static int by_name(const void *a, const void *b)
{
    const struct elf_debug_part *x = a, *y = b;
    int order = strcmp(x->name, y->name);
    if (order != 0)
        return order;
    return x->section < y->section ? -1 : x->section > y->section;
}

static bool collect_parts(struct object *object, struct elf_debug *debug)
{
    size_t count = 0;
    for (size_t i = 1; i < object->section_count; i++)
        count += canonical_name(object->sections[i].view.name) != NULL;
    if (count == 0)
        return true;
    debug->parts = calloc(count, sizeof *debug->parts);
    debug->groups = calloc(count, sizeof *debug->groups);
    if (!debug->parts || !debug->groups)
        return false;
    for (size_t i = 1; i < object->section_count; i++) {
        const struct section *s = &object->sections[i];
        const char *name = canonical_name(s->view.name);
        if (!name || s->view.type == SHT_NULL || s->view.type == SHT_NOBITS)
            continue;
        struct section_packed packed;
        uint64_t size = object_section_packed(object, s, &packed, NULL) == FW_OK ? packed.size : 0;
        debug->parts[debug->part_count++] = (struct elf_debug_part){name, (uint32_t)i, size};
    }
    qsort(debug->parts, debug->part_count, sizeof *debug->parts, by_name);
    for (size_t i = 0; i < debug->part_count; i++) {
        struct elf_debug_group *last = debug->groups + debug->group_count;
        if (debug->group_count && strcmp(last[-1].name, debug->parts[i].name) == 0)
            last[-1].count++;
        else
            debug->groups[debug->group_count++] =
                (struct elf_debug_group){.name = debug->parts[i].name, .first = i, .count = 1};
    }
    return true;
}

/* Where sections lie and which relocations are theirs. */
static bool prepare_relocations(struct object *object, struct elf_debug *debug)
{
    size_t count = object->section_count;
    debug->addresses = calloc(count, sizeof *debug->addresses);
    debug->first_table = calloc(count, sizeof *debug->first_table);
    debug->next_table = calloc(count, sizeof *debug->next_table);
    if (!debug->addresses || !debug->first_table || !debug->next_table)
        return false;
    debug->budget = object->file.size;
    for (size_t i = count; i-- > 1;) { /* backwards, so that chains are in file order */
        const struct section *s = &object->sections[i];
        debug->addresses[i] = s->view.vaddr;
        bool table = s->view.type == SHT_RELA || s->view.type == SHT_REL;
        if (!table || s->view.size == 0 || s->elf.info == 0 || s->elf.info >= count)
            continue;
        debug->next_table[i] = debug->first_table[s->elf.info];
        debug->first_table[s->elf.info] = (uint32_t)i;
    }
    for (size_t g = 0; g < debug->group_count; g++) {
        const struct elf_debug_part *part = &debug->parts[debug->groups[g].first];
        uint64_t next = object->sections[part->section].view.vaddr;
        for (size_t i = 0; i < debug->groups[g].count; i++) {
            debug->addresses[part[i].section] = next;
            next += part[i].size;
        }
    }
    return true;
}

void elf_debug_free(struct elf_debug *debug)
{
    if (!debug)
        return;
    for (size_t i = 0; i < debug->group_count; i++)
        free(debug->groups[i].owned);
    free(debug->parts);
    free(debug->groups);
    free(debug->addresses);
    free(debug->first_table);
    free(debug->next_table);
    free(debug->symbols);
    free(debug);
}

/* What is kept for the object, made on first use; NULL when memory ran out. */
struct elf_debug *elf_debug_of(struct object *object)
{
    if (object->elf->debug)
        return object->elf->debug;
    struct elf_debug *debug = calloc(1, sizeof *debug);
    if (debug && collect_parts(object, debug) &&
        (object->elf->type != ET_REL || object->section_count == 0 ||
         prepare_relocations(object, debug)))
        return object->elf->debug = debug;
    elf_debug_free(debug);
    return NULL;
}

/* Does `canonical` say `name`, and .dwo behind it when `dwo`? */
static bool is_named(const char *canonical, const char *name, bool dwo)
{
    size_t length = strlen(name);
    return strncmp(canonical, name, length) == 0 &&
           strcmp(canonical + length, dwo ? ".dwo" : "") == 0;
}

static struct elf_debug_group *group_named(const struct elf_debug *debug, const char *name,
                                           bool dwo)
{
    for (size_t i = 0; i < debug->group_count; i++)
        if (is_named(debug->groups[i].name, name, dwo))
            return &debug->groups[i];
    return NULL;
}

/* Is the group something other than the bytes of its first section? */
static bool needs_copy(const struct object *object, const struct elf_debug_group *group)
{
    if (object->elf->type != ET_REL)
        return false;
    const struct elf_debug_part *part = &object->elf->debug->parts[group->first];
    for (size_t i = 0; i < group->count; i++)
        if (object->elf->debug->first_table[part[i].section])
            return true;
    return group->count > 1;
}

/* The bytes that all parts need together; false when they are more than the file can hold. */
static bool total_size(const struct object *object, const struct elf_debug_group *group,
                       uint64_t *total)
{
    const struct elf_debug_part *part = &object->elf->debug->parts[group->first];
    uint64_t stored = 0;
    *total = 0;
    for (size_t i = 0; i < group->count; i++) {
        const struct section *s = &object->sections[part[i].section];
        if (part[i].size > GROUP_LIMIT - *total)
            return false;
        *total += part[i].size;
        stored += s->inside ? s->view.size : 0;
    }
    return stored <= object->file.size && *total <= SIZE_MAX / 2;
}

static fw_error copy_parts(struct object *object, struct elf_debug_group *group, uint64_t total)
{
    struct elf_debug *debug = object->elf->debug;
    size_t used = 0;
    group->owned = malloc(total ? (size_t)total : 1);
    if (!group->owned)
        return object_fail(&group->why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    for (size_t i = 0; i < group->count; i++) {
        const struct elf_debug_part *part = &debug->parts[group->first + i];
        struct span bytes;
        fw_error error =
            object_section_contents(object, &object->sections[part->section], &bytes, &group->why);
        if (error != FW_OK)
            return error;
        if (bytes.size != part->size) /* the size that the others were placed by */
            return object_fail(&group->why, FW_ERR_CORRUPT, 0, 0, object->label,
                               "%s is of another size than its header says",
                               object->sections[part->section].view.name);
        if (bytes.size)
            memcpy(group->owned + used, bytes.data, bytes.size);
        struct elf_piece piece = {part->section, debug->addresses[part->section],
                                  group->owned + used, bytes.size};
        error = elf_relocate(object, &piece, &group->why);
        if (error != FW_OK)
            return error;
        used += bytes.size;
    }
    group->data = (struct span){group->owned, used};
    return FW_OK;
}

static fw_error load_group(struct object *object, struct elf_debug_group *group)
{
    struct section *first = &object->sections[object->elf->debug->parts[group->first].section];
    if (!needs_copy(object, group))
        return object_section_contents(object, first, &group->data, &group->why);
    uint64_t total;
    if (!total_size(object, group, &total))
        return object_fail(&group->why, FW_ERR_CORRUPT, 0, first->view.offset, object->label,
                           "the sections named %s claim more than the file can hold",
                           first->view.name);
    fw_error error = copy_parts(object, group, total);
    if (error != FW_OK) {
        free(group->owned);
        group->owned = NULL;
    }
    return error;
}

static fw_error group_data(struct object *object, struct elf_debug_group *group, struct span *data,
                           struct fw_failure *why)
{
    if (!group->loaded) {
        group->why = (struct fw_failure){.code = FW_OK};
        group->error = load_group(object, group);
        /* Memory may be there the next time. */
        group->loaded = group->error != FW_ERR_MEMORY;
    }
    if (why && group->why.code != FW_OK)
        *why = group->why;
    if (group->error == FW_OK)
        *data = group->data;
    return group->error;
}

static fw_error no_memory(struct object *object, struct fw_failure *why)
{
    object->no_memory = true;
    return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
}

fw_error elf_debug_section(struct object *object, const char *name, bool dwo, struct span *data,
                           struct fw_failure *why)
{
    *data = (struct span){NULL, 0};
    struct elf_debug *debug = elf_debug_of(object);
    if (!debug)
        return no_memory(object, why);
    struct elf_debug_group *group = group_named(debug, name, dwo);
    if (!group)
        return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "no section .debug_%s%s",
                           name, dwo ? ".dwo" : "");
    return group_data(object, group, data, why);
}

fw_error elf_eh_frame(struct object *object, struct unwind_section *section)
{
    *section = (struct unwind_section){0};
    struct elf_debug *debug = elf_debug_of(object);
    if (!debug)
        return no_memory(object, NULL);
    struct elf_debug_group *group = group_named(debug, ".eh_frame", false);
    struct span data;
    fw_error error = group ? group_data(object, group, &data, NULL) : FW_ERR_NOT_FOUND;
    if (error == FW_OK)
        *section = (struct unwind_section){
            data.data, data.size, object->sections[debug->parts[group->first].section].view.vaddr};
    return error;
}

size_t elf_inflations(struct object *object, const char *const *names, size_t count, bool dwo,
                      struct object_inflation *list, size_t room)
{
    struct elf_debug *debug = elf_debug_of(object);
    size_t found = 0;
    for (size_t n = 0; debug && n < count; n++) {
        const struct elf_debug_group *group = group_named(debug, names[n], dwo);
        if (!group || group->loaded)
            continue;
        size_t parts = object->elf->type == ET_REL ? group->count : 1;
        for (size_t i = 0; i < parts && found < room; i++) {
            if (object_inflation_of(object, debug->parts[group->first + i].section, &list[found]))
                found++;
        }
    }
    return found;
}
