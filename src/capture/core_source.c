/*
 * Memory, mappings and files of a core.
 *
 * The kernel leaves read-only file contents out of a core but keeps the first page of every mapped
 * ELF file: ELF header, program headers and build id. A file found on this machine is taken for the
 * mapped one when its first page is that page, byte for byte, or when its build id is the same;
 * when the core does not hold the page there is nothing to compare and the file is taken.
 *
 * A core without a list of mapped files (NT_FILE; qemu-user writes such) is searched for ELF
 * headers instead; the executable is placed by its entry point.
 */
#include "capture/core.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FIRST_PAGE = 4096 };

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct core_segment *)a)->lo, y = ((const struct core_segment *)b)->lo;
    return x < y ? -1 : x > y;
}

bool core_read_segments(struct core *core)
{
    size_t count = object_segment_count(core->object);
    core->segments = calloc(count ? count : 1, sizeof *core->segments);
    if (!core->segments)
        return false;
    core->segment_count = count;
    for (size_t i = 0; i < count; i++) {
        const struct object_segment *segment = object_segment(core->object, i);
        struct span bytes = object_segment_data(core->object, i);
        core->segments[i] = (struct core_segment){
            .lo = segment->vaddr,
            .size = segment->memory_size,
            .stored = segment->file_size,
            .bytes = bytes,
            .writable = segment->writable,
        };
        core->missing += segment->file_size - bytes.size;
    }
    core->truncated = core->missing != 0 || object_is_truncated(core->object);
    qsort(core->segments, count, sizeof *core->segments, by_address);
    return true;
}

const struct core_segment *core_segment_at(const struct core *core, uint64_t address)
{
    size_t lo = 0, hi = core->segment_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (core->segments[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (!lo)
        return NULL;
    const struct core_segment *segment = &core->segments[lo - 1];
    return address - segment->lo < segment->size ? segment : NULL;
}

bool core_read(void *context, uint64_t address, void *to, size_t size)
{
    const struct core *core = ((const struct fw_process *)context)->core;
    uint8_t *out = to;
    while (size) {
        const struct core_segment *segment = core_segment_at(core, address);
        if (!segment || address - segment->lo >= segment->bytes.size)
            return false;
        uint64_t offset = address - segment->lo, n = segment->bytes.size - offset;
        n = n < size ? n : size;
        memcpy(out, segment->bytes.data + offset, (size_t)n);
        out += n;
        address += n;
        size -= (size_t)n;
    }
    return true;
}

bool core_read_or_file(void *context, uint64_t address, void *to, size_t size)
{
    struct fw_process *process = context;
    if (core_read(process, address, to, size))
        return true;
    const struct core_segment *segment = core_segment_at(process->core, address);
    if (segment && segment->writable && address - segment->lo < segment->stored)
        return false; /* it had contents of its own, which are lost */
    return images_read_file(&process->images, address, to, size);
}

/* Is the build id of the file that of the image, as far as the core holds it? A copy that was
 * stripped, or was not, has another first page. */
static bool same_build(struct fw_process *process, int fd, const struct mapping *mapping)
{
    uint64_t base = images_header_address(&process->images, mapping);
    struct object *file, *image = NULL;
    if (!base ||
        images_note(&process->images, object_open_fd(fd, mapping->path, &file, NULL)) != FW_OK)
        return false;
    images_note(&process->images,
                object_open_image(core_read, process, base, mapping->path, &image, NULL));
    struct span have = object_build_id(file), want = {0};
    if (image)
        want = object_build_id(image);
    bool same = want.size && want.size == have.size && !memcmp(want.data, have.data, want.size);
    object_close(image);
    object_close(file);
    return same;
}

/* Is the file the one of the image? 1 yes, 0 no, -1 the core does not hold its first page. */
static int is_same(struct fw_process *process, int fd, const struct mapping *mapping)
{
    uint8_t theirs[FIRST_PAGE], ours[FIRST_PAGE];
    uint64_t base = images_header_address(&process->images, mapping);
    if (!base || !core_read(process, base, theirs, sizeof theirs))
        return -1;
    ssize_t n = pread(fd, ours, sizeof ours, 0);
    return (n > 0 && !memcmp(ours, theirs, (size_t)n)) || same_build(process, fd, mapping);
}

int core_open_path(const char *root, const char *path)
{
    char whole[CORE_PATH_SIZE];
    struct stat status;
    int n = snprintf(whole, sizeof whole, "%s%s", root ? root : "", path);
    if (n < 0 || (size_t)n >= sizeof whole || stat(whole, &status) || !S_ISREG(status.st_mode))
        return -1;
    return open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

static struct object *open_fd(struct fw_process *process, int fd, const char *path)
{
    struct object *object;
    images_note(&process->images, object_open_fd(fd, path, &object, NULL));
    close(fd);
    return object;
}

static bool is_main(const struct fw_process *process, const struct mapping *mapping)
{
    return process->executable && !strcmp(mapping->path, process->executable);
}

static struct object *open_mapped(void *context, const struct mapping *mapping, bool *proven)
{
    struct fw_process *process = context;
    const struct core *core = process->core;
    *proven = true;
    if (core->given && is_main(process, mapping)) {
        int fd = core_open_path(NULL, core->given);
        if (fd >= 0)
            return open_fd(process, fd, mapping->path);
    }
    for (int i = 0; i < 2; i++) {
        /* Outside of the sysroot only what is proven to be the same. */
        const char *root = i == 0 ? core->sysroot : NULL;
        if (i == 1 && !core->sysroot)
            break;
        int fd = core_open_path(root, mapping->path);
        if (fd < 0)
            continue;
        int same = is_same(process, fd, mapping);
        if (same == 1 || (same < 0 && i == 0))
            return open_fd(process, fd, mapping->path);
        process->images.missed = FW_IMAGE_FILE_OTHER;
        close(fd);
    }
    return NULL;
}

bool core_is_given(struct fw_process *process)
{
    const struct maps *maps = &process->images.maps;
    const char *given = process->core->given;
    int fd = given ? core_open_path(NULL, given) : -1;
    bool other = false;
    for (size_t i = 0; fd >= 0 && i < maps->count && !other; i++)
        other = is_main(process, &maps->list[i]) && is_same(process, fd, &maps->list[i]) == 0;
    if (fd >= 0)
        close(fd);
    return !other;
}

struct image_source core_source(struct fw_process *process)
{
    return (struct image_source){
        .open = open_mapped,
        .read = core_read,
        .context = process,
        .root = process->core->sysroot,
    };
}

static bool add_segments(const struct core *core, struct maps *maps)
{
    for (size_t i = 0; i < object_segment_count(core->object); i++) {
        const struct object_segment *segment = object_segment(core->object, i);
        struct mapping mapping = {
            .lo = segment->vaddr,
            .hi = segment->vaddr + segment->memory_size,
            .path = "",
            .readable = segment->readable,
            .writable = segment->writable,
            .executable = segment->executable,
        };
        const struct core_file *file = core_notes_file_at(&core->notes, mapping.lo);
        if (file) {
            mapping.path = file->path;
            mapping.offset = file->offset + (mapping.lo - file->lo);
        } else if (mapping.lo == core->notes.vdso) {
            mapping.path = "[vdso]";
        }
        if (mapping.lo < mapping.hi && !maps_add(maps, &mapping))
            return false;
    }
    maps_sort(maps);
    return true;
}

/* Files whose mappings the core lists but left out altogether. */
static bool add_files(const struct core *core, struct maps *maps)
{
    struct maps segments = *maps; /* sorted; what is added below does not count */
    for (size_t i = 0; i < core->notes.file_count; i++) {
        const struct core_file *file = &core->notes.files[i];
        segments.list = maps->list;
        if (maps_find(&segments, file->lo))
            continue;
        struct mapping mapping = {.lo = file->lo,
                                  .hi = file->hi,
                                  .offset = file->offset,
                                  .path = file->path,
                                  .readable = true,
                                  .executable = true,
                                  .guessed = true};
        if (!maps_add(maps, &mapping))
            return false;
    }
    maps_sort(maps);
    return true;
}

bool core_make_maps(struct fw_process *process)
{
    struct core *core = process->core;
    struct maps maps = {0};
    if (!add_segments(core, &maps) || !add_files(core, &maps)) {
        maps_free(&maps);
        return false;
    }
    core_place_files(process, &maps);
    return images_set_maps(&process->images, &maps, NULL);
}
