/*
 * Where the bias comes from: an executable mapping shows the file from `offset` on; the PT_LOAD
 * that covers that part of the file says which link-time address it has; the difference is the
 * bias. Every mapping is resolved by itself, so files whose segments are moved apart, mapped twice
 * or loaded in two link namespaces need no special case.
 */
#include "capture/images.h"

#include <stdlib.h>
#include <string.h>

enum { HEADER_SEARCH = 4096 }; /* mappings */

static bool has_file(const struct mapping *mapping)
{
    return mapping->path[0] == '/';
}

static bool same_file(const struct mapping *a, const struct mapping *b)
{
    return a->device == b->device && a->inode == b->inode && !strcmp(a->path, b->path);
}

static bool is_vdso(const struct mapping *mapping)
{
    return !strcmp(mapping->path, "[vdso]");
}

static bool same_code(const struct images *images, const struct code_range *range,
                      const struct mapping *mapping)
{
    const struct mapping *old = &images->maps.list[range->mapping];
    return range->lo == mapping->lo && range->hi == mapping->hi && old->offset == mapping->offset &&
           same_file(old, mapping);
}

bool images_set_maps(struct images *images, struct maps *maps, bool *stale)
{
    size_t executable = 0;
    for (size_t i = 0; i < maps->count; i++)
        executable += maps->list[i].executable;
    struct code_range *range = calloc(executable ? executable : 1, sizeof *range);
    if (!range) {
        maps_free(maps);
        return false;
    }
    size_t n = 0, old = 0, kept = 0;
    for (size_t i = 0; i < maps->count; i++) {
        const struct mapping *mapping = &maps->list[i];
        if (!mapping->executable)
            continue;
        range[n] = (struct code_range){.lo = mapping->lo, .hi = mapping->hi, .mapping = i};
        while (old < images->count && images->range[old].lo < mapping->lo)
            old++;
        if (old < images->count && same_code(images, &images->range[old], mapping)) {
            range[n].file = images->range[old].file;
            range[n].image = images->range[old].image;
            range[n].tried = images->range[old].tried;
            kept++;
        }
        n++;
    }
    if (stale)
        *stale = kept < images->count;
    free(images->range);
    maps_free(&images->maps);
    images->range = range;
    images->count = n;
    images->last = 0;
    images->maps = *maps;
    *maps = (struct maps){0};
    return true;
}

static void file_free(struct image_file *file)
{
    symbols_destroy(file->symbols);
    object_close(file->debug);
    object_close(file->object);
    free(file->path);
    free(file);
}

void images_free(struct images *images)
{
    while (images->images) {
        struct image *next = images->images->next;
        free(images->images);
        images->images = next;
    }
    while (images->files) {
        struct image_file *next = images->files->next;
        file_free(images->files);
        images->files = next;
    }
    free(images->range);
    maps_free(&images->maps);
    *images = (struct images){0};
}

uint64_t images_header_address(const struct images *images, const struct mapping *mapping)
{
    const struct maps *maps = &images->maps;
    size_t last = (size_t)(mapping - maps->list) + 1,
           first = last > HEADER_SEARCH ? last - HEADER_SEARCH : 0;
    for (size_t i = last; i-- > first;) {
        const struct mapping *m = &maps->list[i];
        if (!same_file(m, mapping) && has_file(m))
            break;
        uint8_t magic[4];
        if (same_file(m, mapping) && images->source.read(images->source.context, m->lo, magic, 4) &&
            !memcmp(magic, "\177ELF", 4))
            return m->lo;
    }
    return 0;
}

static struct object *open_memory(struct images *images, const struct mapping *mapping,
                                  uint64_t base)
{
    struct object *object;
    if (!base ||
        images_note(images, object_open_image(images->source.read, images->source.context, base,
                                              mapping->path, &object, NULL)) != FW_OK)
        return NULL;
    return object;
}

static bool same_build(const struct object *a, const struct object *b)
{
    struct span x = object_build_id(a), y = object_build_id(b);
    return x.size && x.size == y.size && !memcmp(x.data, y.data, x.size);
}

/* Opens the mapped file, else the image in memory. */
static void file_open(struct images *images, const struct mapping *mapping, struct image_file *file)
{
    bool proven = true;
    uint64_t base = 0;
    images->missed = FW_IMAGE_FILE_GONE;
    if (has_file(mapping))
        file->object = images->source.open(images->source.context, mapping, &proven);
    if (file->object && proven)
        return;
    if (has_file(mapping))
        file->state = file->object ? FW_IMAGE_FILE_OTHER : images->missed;
    base = images_header_address(images, mapping);
    struct object *memory = open_memory(images, mapping, base);
    if (file->object && memory && same_build(file->object, memory)) {
        file->state = FW_IMAGE_FILE_READ;
        object_close(memory);
        return;
    }
    object_close(file->object);
    file->object = memory;
    file->from_memory = memory != NULL;
    file->base = base;
}

/* What cannot be code of this process is dropped: data that looks like a file of another machine.
 */
static void drop_foreign(const struct images *images, struct image_file *file)
{
    if (!file->object || (object_arch(file->object) == images->arch && images->arch &&
                          !object_is_big_endian(file->object)))
        return;
    object_close(file->object);
    file->object = NULL;
}

static struct image_file *file_of(struct images *images, const struct mapping *mapping)
{
    uint64_t base = 0;
    for (struct image_file *file = images->files; file; file = file->next) {
        if (file->device != mapping->device || file->inode != mapping->inode ||
            strcmp(file->path, mapping->path) != 0)
            continue;
        if (!file->from_memory)
            return file;
        if (!base)
            base = images_header_address(images, mapping);
        if (file->base == base)
            return file;
    }
    struct image_file *file = calloc(1, sizeof *file);
    char *path = strdup(mapping->path);
    if (!file || !path) {
        images_note(images, FW_ERR_MEMORY);
        free(file);
        free(path);
        return NULL;
    }
    file->path = path;
    file->device = mapping->device;
    file->inode = mapping->inode;
    file_open(images, mapping, file);
    drop_foreign(images, file);
    if (images->no_memory) { /* a later try may see more */
        file_free(file);
        return NULL;
    }
    file->next = images->files;
    images->files = file;
    return file;
}

/* Bias of the file at this mapping; false when no PT_LOAD (no executable one, when asked) reaches
 * into what is mapped. */
static bool bias_of(const struct object *object, const struct mapping *mapping, bool executable,
                    uint64_t *bias)
{
    uint64_t size = mapping->hi - mapping->lo, best = 0;
    for (size_t i = 0; i < object_segment_count(object); i++) {
        const struct object_segment *segment = object_segment(object, i);
        if (executable && !segment->executable)
            continue;
        uint64_t lo = segment->offset > mapping->offset ? segment->offset : mapping->offset;
        uint64_t a = segment->offset + segment->file_size, b = mapping->offset + size;
        uint64_t hi = a < b ? a : b;
        if (hi <= lo || hi - lo <= best)
            continue;
        best = hi - lo;
        *bias = mapping->lo - mapping->offset - (segment->vaddr - segment->offset);
    }
    return best != 0;
}

/* Text that was copied to anonymous memory (huge pages): belongs to the file mapped before it when
 * the addresses fall into its executable segment. */
static const struct mapping *file_around(const struct images *images, const struct mapping *mapping)
{
    for (size_t i = (size_t)(mapping - images->maps.list); i-- > 0;)
        if (has_file(&images->maps.list[i]))
            return &images->maps.list[i];
    return NULL;
}

static bool in_executable_segment(const struct object *object, uint64_t vaddr)
{
    for (size_t i = 0; i < object_segment_count(object); i++) {
        const struct object_segment *segment = object_segment(object, i);
        if (segment->executable && vaddr - segment->vaddr < segment->memory_size)
            return true;
    }
    return false;
}

bool images_read_file(struct images *images, uint64_t address, void *to, size_t size)
{
    const struct mapping *mapping = maps_find(&images->maps, address);
    uint64_t bias;
    if (!mapping || !has_file(mapping))
        return false;
    const struct image_file *file = file_of(images, mapping);
    if (!file || !file->object || !bias_of(file->object, mapping, false, &bias))
        return false;
    struct span bytes = object_at(file->object, address - bias);
    if (bytes.size < size)
        return false;
    memcpy(to, bytes.data, size);
    return true;
}

static struct object *file_debug(struct images *images, struct image_file *file)
{
    if (!file->debug_tried) {
        fw_error error = object_find_debug(file->object, file->path, images->source.root, NULL,
                                           &file->debug, NULL);
        file->debug_tried = images_note(images, error) != FW_ERR_MEMORY;
    }
    return file->debug;
}

static struct image *image_of(struct images *images, struct image_file *file, uint64_t bias)
{
    for (struct image *image = images->images; image; image = image->next)
        if (image->file == file && image->unwind.bias == bias)
            return image;
    struct image *image = calloc(1, sizeof *image);
    if (!image) {
        images_note(images, FW_ERR_MEMORY);
        return NULL;
    }
    image->file = file;
    object_unwind_image(file->object, NULL, &image->unwind);
    if (!image->unwind.debug_frame.size &&
        (!image->unwind.eh_frame.size || image->unwind.exidx.size)) {
        struct object *debug = file_debug(images, file);
        if (!debug)
            debug = object_minidebug(file->object, NULL);
        if (debug)
            object_unwind_image(file->object, debug, &image->unwind);
    }
    if (object_lacks_memory(file->object) || (file->debug && object_lacks_memory(file->debug)))
        images_note(images, FW_ERR_MEMORY);
    if (images->no_memory) {
        free(image);
        return NULL;
    }
    image->unwind.bias = bias;
    image->next = images->images;
    images->images = image;
    return image;
}

static void resolve(struct images *images, struct code_range *range)
{
    const struct mapping *mapping = &images->maps.list[range->mapping];
    uint64_t bias;
    if (has_file(mapping) || is_vdso(mapping)) {
        range->file = file_of(images, mapping);
        if (range->file && range->file->object &&
            bias_of(range->file->object, mapping, true, &bias))
            range->image = image_of(images, range->file, bias);
        return;
    }
    const struct mapping *around = file_around(images, mapping);
    struct image_file *file = around ? file_of(images, around) : NULL;
    if (file && file->object && bias_of(file->object, around, false, &bias) &&
        in_executable_segment(file->object, mapping->lo - bias)) {
        range->file = file;
        range->image = image_of(images, file, bias);
    }
}

static struct code_range *search(struct images *images, uint64_t address)
{
    size_t lo = 0, hi = images->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (images->range[middle].hi <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == images->count || images->range[lo].lo > address)
        return NULL;
    images->last = lo;
    return &images->range[lo];
}

/* The executable mapping around `address`, its image resolved. */
static struct code_range *range_at(struct images *images, uint64_t address)
{
    enum { FIRST_PAGE = 4096 };
    struct code_range *range = NULL;
    if (images->last < images->count && address >= images->range[images->last].lo &&
        address < images->range[images->last].hi)
        range = &images->range[images->last];
    else
        range = search(images, address);
    if (!range && images->reloads && images->source.reload && address >= FIRST_PAGE) {
        images->reloads--;
        images->source.reload(images->source.context);
        range = search(images, address);
        if (!range) /* nothing new there: garbage would ask again and again */
            images->reloads = 0;
    }
    if (range && !range->tried) {
        resolve(images, range);
        range->tried = !images->no_memory;
    }
    return range;
}

const struct unwind_image *images_find(void *images, uint64_t address)
{
    const struct images *of = images;
    const struct code_range *range = range_at(images, address);
    return range && range->image && range->image->unwind.arch == of->arch ? &range->image->unwind
                                                                          : NULL;
}

bool images_is_code(void *context, uint64_t address)
{
    struct images *images = context;
    const struct code_range *range = range_at(images, address);
    return range && (range->image || !images->maps.list[range->mapping].guessed);
}

static struct symbols *file_symbols(struct images *images, struct image_file *file)
{
    if (!file->symbols_tried) {
        struct object *debug = file_debug(images, file);
        if (!images->no_memory)
            file->symbols = symbols_build(file->object, debug);
        file->symbols_tried = file->symbols != NULL;
        if (!file->symbols)
            images_note(images, FW_ERR_MEMORY);
    }
    return file->symbols;
}

bool images_symbol(struct images *images, const struct fw_frame *frame, struct fw_symbol *symbol)
{
    *symbol = (struct fw_symbol){0};
    uint64_t lookup = frame->address - (frame->kind == FW_FRAME_RETURN);
    const struct code_range *range = range_at(images, lookup);
    if (!range || !range->file)
        return false;
    struct image_file *file = range->file;
    symbol->image = file->path;
    symbol->image_file = file->state;
    if (!range->image) { /* code in a file that is no ELF: the place in the file is all there is */
        symbol->image_offset =
            frame->address - range->lo + images->maps.list[range->mapping].offset;
        return true;
    }
    uint64_t bias = range->image->unwind.bias;
    symbol->image_offset = frame->address - bias;
    struct span id = object_build_id(file->object);
    symbol->build_id = id.size ? id.data : NULL;
    symbol->build_id_size = id.size;
    const struct symbols *symbols = file_symbols(images, file);
    struct symbol_match match;
    if (symbols && symbols_lookup(symbols, lookup - bias, &match)) {
        symbol->name = match.name;
        symbol->offset = frame->address - bias - match.vaddr;
        symbol->plt = match.plt;
    }
    return true;
}
