/*
 * Which file lies where, for cores without a list of mapped files (NT_FILE; old kernels and
 * emulators write such). The executable is placed by its entry point (AT_ENTRY), the libraries by
 * the loader's own list: DT_DEBUG of the executable's dynamic section leads to struct r_debug, that
 * to a chain of struct link_map { l_addr, l_name, l_ld, l_next, .. } (System V gABI chapter 5,
 * <link.h>).
 *
 * Whatever is found here is a name and no more: the file is compared with the core before it is
 * used.
 */
#include "capture/core.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CHAIN = 4096 }; /* dynamic entries, loaded files */

/* Gives the mappings without a file that lie in the object's segments this path. */
static void adopt(struct maps *maps, const struct object *object, uint64_t bias, const char *path)
{
    for (size_t i = 0; i < object_segment_count(object); i++) {
        const struct object_segment *segment = object_segment(object, i);
        uint64_t lo = segment->vaddr + bias, hi = lo + segment->memory_size;
        const struct mapping *first = maps_above(maps, lo);
        for (size_t k = first ? (size_t)(first - maps->list) : maps->count;
             k < maps->count && maps->list[k].lo < hi; k++) {
            struct mapping *mapping = &maps->list[k];
            if (*mapping->path)
                continue;
            mapping->path = path;
            mapping->offset = mapping->lo - bias - (segment->vaddr - segment->offset);
        }
    }
}

/* A string of the process's memory; false when it is not there, empty, or too long. */
static bool read_string(struct fw_process *process, uint64_t address, char *text, size_t size)
{
    for (size_t n = 0; address && n < size && core_read(process, address + n, &text[n], 1); n++)
        if (!text[n])
            return n > 0;
    return false;
}

static bool read_word(struct fw_process *process, uint64_t address, uint64_t *value)
{
    uint8_t bytes[8];
    unsigned size = process->arch->pointer_size;
    if (!core_read(process, address, bytes, size))
        return false;
    struct reader reader = reader_over(bytes, size);
    *value = reader_uint(&reader, size);
    return true;
}

/* The head of the loader's list, 0 when there is none. */
static uint64_t loader_list(struct fw_process *process, uint64_t bias)
{
    unsigned word = process->arch->pointer_size;
    struct unwind_section dynamic;
    uint64_t tag, value, head;
    if (object_section_data(process->core->main, ".dynamic", &dynamic, NULL) != FW_OK)
        return 0;
    uint64_t at = dynamic.vaddr + bias;
    for (int i = 0; i < MAX_CHAIN; i++, at += 2 * word) {
        if (!read_word(process, at, &tag) || !read_word(process, at + word, &value) ||
            tag == DT_NULL)
            return 0;
        if (tag == DT_DEBUG) /* r_debug: a version, then the list */
            return read_word(process, value + word, &head) ? head : 0;
    }
    return 0;
}

/* A copy that lives as long as the core. */
static const char *keep_path(struct core *core, const char *path)
{
    char **grown = realloc(core->paths, (core->path_count + 1) * sizeof *grown);
    if (!grown)
        return NULL;
    core->paths = grown;
    char *copy = strdup(path);
    if (copy)
        core->paths[core->path_count++] = copy;
    return copy;
}

static void place_library(struct fw_process *process, struct maps *maps, const char *path,
                          uint64_t bias)
{
    struct core *core = process->core;
    struct object *object;
    int fd = path[0] == '/' ? core_open_path(core->sysroot, path) : -1;
    if (fd < 0)
        return;
    if (images_note(&process->images, object_open_fd(fd, path, &object, NULL)) == FW_OK) {
        const char *kept = keep_path(core, path);
        if (kept)
            adopt(maps, object, bias, kept);
        else
            images_note(&process->images, FW_ERR_MEMORY);
        object_close(object);
    }
    close(fd);
}

static void place_libraries(struct fw_process *process, struct maps *maps, uint64_t bias)
{
    unsigned word = process->arch->pointer_size;
    uint64_t at = loader_list(process, bias);
    char path[CORE_PATH_SIZE];
    for (int i = 0; at && i < MAX_CHAIN; i++) {
        uint64_t library, name, next;
        if (!read_word(process, at, &library) || !read_word(process, at + word, &name) ||
            !read_word(process, at + 3 * word, &next))
            return;
        if (read_string(process, name, path, sizeof path))
            place_library(process, maps, path, library);
        at = next;
    }
}

/* The executable's path in process->executable, its object in core->main. */
static void find_executable(struct fw_process *process)
{
    struct core *core = process->core;
    char path[CORE_PATH_SIZE];
    if (!read_string(process, core->notes.execfn, path, sizeof path))
        snprintf(path, sizeof path, "%s", core->given ? core->given : "");
    if (core->given || path[0] != '/')
        process->executable = realpath(core->given ? core->given : path, NULL);
    else
        process->executable = strdup(path);
    if (!process->executable && errno == ENOMEM)
        images_note(&process->images, FW_ERR_MEMORY);
    if (core->main || !process->executable)
        return;
    int fd = core_open_path(core->sysroot, process->executable);
    if (fd < 0)
        return;
    images_note(&process->images, object_open_fd(fd, process->executable, &core->main, NULL));
    close(fd);
}

void core_place_files(struct fw_process *process, struct maps *maps)
{
    struct core *core = process->core;
    const struct core_file *file = core_notes_file_at(&core->notes, core->notes.entry);
    if (file) {
        process->executable = strdup(file->path);
        if (!process->executable)
            images_note(&process->images, FW_ERR_MEMORY);
        return;
    }
    find_executable(process);
    if (!core->main || !core->notes.entry || !process->executable ||
        object_arch(core->main) != process->arch)
        return;
    uint64_t bias = core->notes.entry - object_entry(core->main);
    adopt(maps, core->main, bias, process->executable);
    place_libraries(process, maps, bias);
}
