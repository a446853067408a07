/* See process_images.h. proc(5), /proc/PID/maps. */
#include "oracle/process_images.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct mapping {
    uint64_t lo, hi, offset;
    char path[256];
};

static void image_free(struct process_image *image)
{
    symbols_destroy(image->symbols);
    object_close(image->object);
    free(image);
}

void process_images_free(struct process_images *images)
{
    for (size_t i = 0; i < images->count; i++)
        image_free(images->image[i]);
    free(images->image);
}

static struct process_image *image_open(struct process_images *images, const struct mapping *m)
{
    struct process_image *image = calloc(1, sizeof *image);
    if (!image)
        return NULL;
    const char *slash = strrchr(m->path, '/');
    snprintf(image->name, sizeof image->name, "%.63s", slash ? slash + 1 : m->path);
    image->lo = m->lo;
    image->hi = m->hi;
    struct fw_failure why;
    if (m->path[0] == '/') {
        if (object_open(m->path, &image->object, &why) == FW_OK) {
            object_unwind_image(image->object, NULL, &image->unwind);
            image->unwind.bias = m->lo - m->offset - object_base(image->object);
            image->macho = object_is_macho(image->object);
        }
    } else if (object_open_image(machine_read, images->machine, m->lo, m->path, &image->object,
                                 &why) == FW_OK) {
        object_unwind_image(image->object, NULL, &image->unwind);
        image->unwind.bias = m->lo - object_base(image->object);
    }
    return image;
}

static bool is_known(const struct process_images *images, const struct mapping *m)
{
    const char *slash = strrchr(m->path, '/');
    for (size_t i = 0; i < images->count; i++)
        if (images->image[i]->lo == m->lo && images->image[i]->hi == m->hi &&
            strncmp(images->image[i]->name, slash ? slash + 1 : m->path,
                    sizeof images->image[i]->name - 1) == 0)
            return true;
    return false;
}

/* Images whose mapping is overlapped by a new one are gone. */
static void add_mapping(struct process_images *images, const struct mapping *m)
{
    size_t kept = 0;
    for (size_t i = 0; i < images->count; i++) {
        struct process_image *image = images->image[i];
        if (image->lo < m->hi && m->lo < image->hi)
            image_free(image);
        else
            images->image[kept++] = image;
    }
    images->count = kept;
    struct process_image **grown =
        realloc(images->image, (images->count + 1) * sizeof *images->image);
    struct process_image *image = grown ? image_open(images, m) : NULL;
    if (grown)
        images->image = grown;
    if (image)
        images->image[images->count++] = image;
}

/* An emulator maps its program's code without the right to execute it. */
static bool has_code(const struct process_images *images, const char *mode, const struct mapping *m)
{
    struct object *object;
    struct fw_failure why;
    if (images->machine->kind->arch == &ARCH_NATIVE)
        return mode[2] == 'x' && strcmp(m->path, "[vsyscall]") != 0;
    if (m->path[0] != '/' || mode[0] != 'r' || object_open(m->path, &object, &why) != FW_OK)
        return false;
    bool found = false;
    for (size_t i = 0; i < object_segment_count(object); i++) {
        const struct object_segment *s = object_segment(object, i);
        found |= s->executable && s->offset < m->offset + (m->hi - m->lo) &&
                 m->offset < s->offset + s->file_size;
    }
    found = found && object_arch(object) == images->machine->kind->arch;
    object_close(object);
    return found;
}

static void reload(struct process_images *images)
{
    char path[64], line[512];
    images->changes = images->machine->code_changes;
    images->last = NULL;
    snprintf(path, sizeof path, "/proc/%d/maps", images->machine->pid);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    while (fgets(line, sizeof line, file)) {
        struct mapping m = {.path = ""};
        char mode[8];
        unsigned long lo, hi, offset;
        int fields =
            sscanf(line, "%lx-%lx %7s %lx %*s %*s %255[^\n]", &lo, &hi, mode, &offset, m.path);
        m.lo = lo;
        m.hi = hi;
        m.offset = offset;
        if (fields >= 4 && has_code(images, mode, &m) && !is_known(images, &m))
            add_mapping(images, &m);
    }
    fclose(file);
}

static bool look_up(struct process_image *image, uint64_t address, bool exact,
                    struct symbol_match *match)
{
    if (!image->symbols_tried)
        image->symbols = symbols_build(image->object, NULL);
    image->symbols_tried = true;
    return image->symbols &&
           symbols_lookup(image->symbols, address - image->unwind.bias - !exact, match);
}

static struct process_image *find(struct process_images *images, uint64_t address)
{
    if (images->changes != images->machine->code_changes || images->count == 0)
        reload(images);
    if (images->last && address - images->last->lo < images->last->hi - images->last->lo)
        return images->last;
    for (size_t i = 0; i < images->count; i++) {
        struct process_image *image = images->image[i];
        if (address - image->lo < image->hi - image->lo) {
            images->last = image;
            return image;
        }
    }
    return NULL;
}

const struct unwind_image *process_images_find(void *context, uint64_t address)
{
    struct process_image *image = find(context, address);
    return image && image->object && image->unwind.arch ? &image->unwind : NULL;
}

bool process_images_is_code(void *context, uint64_t address)
{
    return find(context, address) != NULL;
}

bool process_images_is_macho(struct process_images *images, uint64_t address)
{
    struct process_image *image = find(images, address);
    return image && image->macho;
}

bool process_images_is_host(struct process_images *images, uint64_t address)
{
    static const char prefix[] = "machhost_";
    struct process_image *image = find(images, address);
    struct symbol_match match;
    return !image || !image->macho ||
           (strcmp(image->name, "libSystem.dylib") == 0 && look_up(image, address, true, &match) &&
            strncmp(match.name, prefix, sizeof prefix - 1) == 0);
}

void process_images_name(struct process_images *images, uint64_t address, bool exact, char *text,
                         size_t size)
{
    struct process_image *image = find(images, address);
    struct symbol_match match;
    if (!image || !image->object) {
        snprintf(text, size, "%#lx", (unsigned long)address);
        return;
    }
    uint64_t vaddr = address - image->unwind.bias;
    if (look_up(image, address, exact, &match))
        snprintf(text, size, "%s+%#lx %s%s+%#lx", image->name, (unsigned long)vaddr, match.name,
                 match.plt ? "@plt" : "", (unsigned long)(vaddr - match.vaddr));
    else
        snprintf(text, size, "%s+%#lx", image->name, (unsigned long)vaddr);
}
