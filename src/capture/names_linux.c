/*
 * Names in process on Linux: the loader's list of images, and their files. A file is believed only
 * when it is the one that was loaded: same build id, or, where there is none, same segments;
 * otherwise only the dynamic symbols in memory are used.
 */
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "capture/names_source.h"
#include "os/self_maps.h"

struct names_tables {
    struct object *object, *debug;
};

static bool read_self(void *context, uint64_t address, void *to, size_t size)
{
    (void)context;
    return address <= UINTPTR_MAX && self_read((uintptr_t)address, to, size);
}

static bool same_identity(const struct object *file, const struct object *loaded)
{
    struct span a = object_build_id(file), b = object_build_id(loaded);
    if (a.size || b.size)
        return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
    size_t count = object_segment_count(file);
    if (count != object_segment_count(loaded))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct object_segment *f = object_segment(file, i), *l = object_segment(loaded, i);
        if (f->vaddr != l->vaddr || f->memory_size != l->memory_size)
            return false;
    }
    return true;
}

/* Opens a file when it is what was loaded, as far as that is known. */
static fw_error open_same(const char *path, const struct object *loaded, struct object **file)
{
    fw_error error = object_open(path, file, NULL);
    if (*file && loaded && !same_identity(*file, loaded)) {
        object_close(*file);
        *file = NULL;
    }
    return error;
}

/* Opens the image's file when it is what was loaded, else the image as it lies in memory; *object
 * is NULL when neither can be had. A program that was deleted or built anew while it runs is still
 * behind its link in /proc. False when out of memory. */
static bool open_loaded(const struct named_image *image, struct object **object)
{
    struct object *loaded = NULL, *file = NULL;
    fw_error error = object_open_image(read_self, NULL, image->header, image->path, &loaded, NULL);
    if (error != FW_ERR_MEMORY && image->path[0] != '[')
        error = open_same(image->path, loaded, &file);
    if (error != FW_ERR_MEMORY && !file && loaded && image->path[0] != '[')
        error = open_same("/proc/self/exe", loaded, &file);
    if (file) {
        object_close(loaded);
        loaded = NULL;
    }
    *object = file ? file : loaded;
    return error != FW_ERR_MEMORY;
}

static char *image_path(const struct dl_phdr_info *info)
{
    char path[4096];
    if (info->dlpi_addr && info->dlpi_addr == getauxval(AT_SYSINFO_EHDR))
        return strdup("[vdso]");
    /* The loaders call the executable "" or by the words that it was started with. */
    if (info->dlpi_name && info->dlpi_name[0] &&
        (uintptr_t)info->dlpi_phdr != (uintptr_t)getauxval(AT_PHDR))
        return strdup(info->dlpi_name);
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n < 0)
        return strdup("[executable]");
    path[n] = 0;
    return strdup(path);
}

/* The GNU build id among the notes of a loaded segment (LSB Core 10.7.2; name and descriptor are
 * padded to four bytes). */
static void read_build_id(const struct dl_phdr_info *info, const ElfW(Phdr) * notes,
                          struct named_image *image)
{
    struct reader r = reader_over((const void *)(info->dlpi_addr + notes->p_vaddr), notes->p_memsz);
    while (reader_left(&r) && !r.failed) {
        const uint8_t *name, *id;
        uint32_t name_size = reader_u32(&r), size = reader_u32(&r), type = reader_u32(&r);
        if (!reader_take(&r, ((size_t)name_size + 3) & ~(size_t)3, &name) ||
            !reader_take(&r, ((size_t)size + 3) & ~(size_t)3, &id))
            return;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
            size <= sizeof image->build_id) {
            memcpy(image->build_id, id, size);
            image->build_id_size = size;
        }
    }
}

static bool take_image(const struct dl_phdr_info *info, struct names_list *list)
{
    struct named_image image = {.bias = info->dlpi_addr};
    uintptr_t lowest = UINTPTR_MAX, end = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            read_build_id(info, p, &image);
        if (p->p_type != PT_LOAD)
            continue;
        uintptr_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
        lowest = lo < lowest ? lo : lowest;
        end = hi > end ? hi : end;
    }
    if (end == 0)
        return true;
    image.header = lowest & ~(uintptr_t)4095; /* where its ELF header lies */
    image.path = image_path(info);
    if (image.path && names_list_add(list, &image))
        return names_list_range(list, image.header, end);
    free(image.path);
    return false;
}

static int remember(struct dl_phdr_info *info, size_t size, void *context)
{
    struct names_list *list = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        list->unloads = info->dlpi_subs;
        list->changes = info->dlpi_adds + info->dlpi_subs;
    }
    return take_image(info, list) ? 0 : -1;
}

/* The loader counts its images up and down: asking the first is enough. */
static int count_changes(struct dl_phdr_info *info, size_t size, void *changes)
{
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
        *(uint64_t *)changes = info->dlpi_adds + info->dlpi_subs;
    return 1;
}

uint64_t names_source_changes(void)
{
    uint64_t changes = 0;
    dl_iterate_phdr(count_changes, &changes);
    return changes;
}

bool names_source_list(struct names_list *list)
{
    return dl_iterate_phdr(remember, list) == 0;
}

/* Files are opened outside the loader's lock, after its list was read. */
bool names_source_index(struct named_image *image)
{
    struct names_tables *tables = image->tables = calloc(1, sizeof *tables);
    if (!tables || !open_loaded(image, &tables->object))
        return false;
    if (!tables->object)
        return true;
    if (image->path[0] != '[' && object_find_debug(tables->object, image->path, NULL, NULL,
                                                   &tables->debug, NULL) == FW_ERR_MEMORY)
        return false;
    image->symbols = symbols_build(tables->object, tables->debug);
    return image->symbols != NULL;
}

void names_source_free(struct names_tables *tables)
{
    if (!tables)
        return;
    object_close(tables->debug);
    object_close(tables->object);
    free(tables);
}
