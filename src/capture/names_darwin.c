/*
 * Names in process on Apple platforms: the own list of images (image_list.h), and the symbol tables
 * that lie in their memory. No file is read.
 *
 * Names are not copied where their image stays for ever (the program, dyld, the shared cache): they
 * point into its __LINKEDIT. An image that may be unloaded can vanish at any time, also while it is
 * read here. So its tables are copied by reads that are checked by the kernel, the copy is believed
 * only when the header is the same before and after, and names point into the copy.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/names_source.h"
#include "framewalk/capture.h"
#include "object/macho_loaded.h"
#include "os/darwin/image_list.h"
#include "os/self_maps.h"

struct copy {
    struct copy *next;
    uint64_t address;
    size_t size;
    uint8_t bytes[];
};

struct names_tables {
    struct macho_memory memory;
    struct macho_loaded image;
    struct copy *copies; /* of an image that may be unloaded */
    bool no_memory;
    bool unreadable; /* something that its header claims */
};

static const void *at_place(void *context, uint64_t address, size_t size)
{
    (void)context;
    return address <= UINTPTR_MAX && size <= UINTPTR_MAX - (uintptr_t)address
               ? (const void *)(uintptr_t)address
               : NULL;
}

static const void *copied(void *context, uint64_t address, size_t size)
{
    struct names_tables *tables = context;
    if (address > UINTPTR_MAX || size > SIZE_MAX / 2)
        return NULL;
    struct copy *copy = malloc(sizeof *copy + size);
    if (!copy) {
        tables->no_memory = true;
        return NULL;
    }
    copy->next = tables->copies;
    copy->address = address;
    copy->size = size;
    if (!self_read((uintptr_t)address, copy->bytes, size)) {
        tables->unreadable = true;
        free(copy);
        return NULL;
    }
    tables->copies = copy;
    return copy->bytes;
}

void names_source_free(struct names_tables *tables)
{
    if (!tables)
        return;
    for (struct copy *copy = tables->copies, *next; copy; copy = next) {
        next = copy->next;
        free(copy);
    }
    free(tables);
}

/* Whether the image is still there as it was copied: its commands hold the UUID. */
static bool unchanged(struct names_tables *tables)
{
    const struct macho_loaded *image = &tables->image;
    const uint64_t commands = image->header + (image->is_64 ? 32 : 28);
    const void *now = copied(tables, commands, image->commands.size);
    return now && memcmp(now, image->commands.data, image->commands.size) == 0;
}

/* Names point into the strings; what else was copied has served. */
static void keep_strings(struct names_tables *tables)
{
    const uint64_t strings = tables->image.strings.vaddr + tables->image.slide;
    struct copy **link = &tables->copies;
    while (*link) {
        struct copy *copy = *link;
        if (copy->address == strings) {
            link = &copy->next;
            continue;
        }
        *link = copy->next;
        free(copy);
    }
}

bool names_source_index(struct named_image *image)
{
    struct names_tables *tables = image->tables;
    struct symbols *symbols = symbols_build_loaded(&tables->image);
    const bool good = symbols && !tables->no_memory;
    /* A part is taken for nothing: the next refresh tries again. */
    const bool whole =
        good && (tables->image.permanent || (!tables->unreadable && unchanged(tables)));
    tables->image.commands = (struct span){NULL, 0};
    if (!tables->image.permanent)
        keep_strings(tables);
    if (whole)
        image->symbols = symbols;
    else
        symbols_destroy(symbols);
    return good && !tables->no_memory;
}

struct ranges {
    struct names_list *list;
    bool whole;
};

/* __LINKEDIT of the shared cache belongs to all its images. */
static bool take_range(void *context, const struct macho_loaded_segment *segment)
{
    struct ranges *r = context;
    if (!segment->linkedit && segment->hi <= UINTPTR_MAX)
        r->whole = names_list_range(r->list, (uintptr_t)segment->lo, (uintptr_t)segment->hi);
    return r->whole;
}

/* An image that is gone by now is left out. */
static bool take_image(struct names_list *list, const struct listed_image *listed)
{
    struct names_tables *tables = calloc(1, sizeof *tables);
    if (!tables)
        return false;
    tables->memory = (struct macho_memory){listed->permanent ? at_place : copied, tables};
    if (!macho_loaded_read(&tables->image, &tables->memory, listed->header)) {
        const bool gone = !tables->no_memory;
        names_source_free(tables);
        return gone;
    }
    const struct macho_loaded *loaded = &tables->image;
    struct named_image image = {.header = listed->header,
                                .bias = (uintptr_t)loaded->slide,
                                .path = strdup(listed->path),
                                .build_id_size = loaded->has_uuid ? sizeof loaded->uuid : 0,
                                .tables = tables};
    memcpy(image.build_id, loaded->uuid, sizeof loaded->uuid);
    if (!image.path || !names_list_add(list, &image)) {
        names_source_free(tables);
        free(image.path);
        return false;
    }
    struct ranges ranges = {list, true};
    macho_loaded_segments(loaded, take_range, &ranges);
    return ranges.whole;
}

uint64_t names_source_changes(void)
{
    return image_list_changes();
}

bool names_source_list(struct names_list *list)
{
    struct listed_image *listed = NULL;
    char *paths = NULL;
    size_t room = 0, bytes = 0, count = 0, used = 0;
    bool good = true;
    fw_images_refresh(); /* the first to ask, in a program that is linked with no capture */
    while (!image_list_copy(listed, &count, paths, &used, &list->unloads, &list->changes)) {
        room = count + 16; /* others may be loaded meanwhile */
        bytes = used + 4096;
        free(listed);
        free(paths);
        listed = malloc(room * sizeof *listed);
        paths = malloc(bytes);
        good = listed && paths;
        if (!good)
            break;
        count = room;
        used = bytes;
    }
    for (size_t i = 0; good && i < count; i++)
        good = take_image(list, &listed[i]);
    free(listed);
    free(paths);
    return good;
}
