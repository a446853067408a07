/*
 * Names in process (framewalk/names.h): one sorted symbol index per loaded image, built when asked
 * for, searched without locks. An image's file is believed only when it is the file that was
 * loaded: same build id, or, where there is none, same segments; otherwise only the dynamic symbols
 * in memory are used.
 */
#include "framewalk/names.h"

#include <link.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "object/symbols.h"
#include "os/self_maps.h"

struct named_image {
    uintptr_t lo, hi, bias;
    char *path; /* as the loader has it; the executable's own for the main program */
    uint8_t build_id[64];
    size_t build_id_size; /* 0 when the image has none */
    struct object *object, *debug;
    struct symbols *symbols;
};

struct fw_names {
    struct named_image *images; /* ascending by lo */
    size_t count, capacity;
    unsigned long long loads, unloads; /* how many images the loader had added and taken by then */
    _Atomic uint64_t generation;
};

static void image_free(struct named_image *image)
{
    symbols_destroy(image->symbols);
    object_close(image->debug);
    object_close(image->object);
    free(image->path);
}

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

/* Opens the image's file when it is what was loaded, else the image as it lies in memory; *object
 * is NULL when neither can be had. False when out of memory. */
static bool open_loaded(const struct named_image *image, struct object **object)
{
    struct object *loaded = NULL, *file = NULL;
    fw_error error = object_open_image(read_self, NULL, image->lo, image->path, &loaded, NULL);
    if (error != FW_ERR_MEMORY && image->path[0] != '[')
        error = object_open(image->path, &file, NULL);
    if (file && loaded && !same_identity(file, loaded)) {
        object_close(file);
        file = NULL;
    }
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

static int remember(struct dl_phdr_info *info, size_t size, void *context)
{
    struct fw_names *names = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        names->loads = info->dlpi_adds;
        names->unloads = info->dlpi_subs;
    }
    if (names->count == names->capacity) {
        size_t capacity = names->capacity ? names->capacity * 2 : 32;
        struct named_image *grown = realloc(names->images, capacity * sizeof *grown);
        if (!grown)
            return -1;
        names->images = grown;
        names->capacity = capacity;
    }
    struct named_image image = {.lo = UINTPTR_MAX, .bias = info->dlpi_addr};
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type == PT_NOTE)
            read_build_id(info, p, &image);
        if (p->p_type != PT_LOAD)
            continue;
        uintptr_t lo = info->dlpi_addr + p->p_vaddr, hi = lo + p->p_memsz;
        image.lo = lo < image.lo ? lo : image.lo;
        image.hi = hi > image.hi ? hi : image.hi;
    }
    if (image.hi == 0)
        return 0;
    image.lo &= ~(uintptr_t)4095; /* where its ELF header lies */
    image.path = image_path(info);
    if (!image.path)
        return -1;
    names->images[names->count++] = image;
    return 0;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t left = ((const struct named_image *)a)->lo;
    uintptr_t right = ((const struct named_image *)b)->lo;
    return left < right ? -1 : left > right;
}

static const struct named_image *find(const struct fw_names *names, uint64_t address)
{
    size_t lo = 0, hi = names->count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (names->images[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && address < names->images[lo - 1].hi ? &names->images[lo - 1] : NULL;
}

/* Files are opened outside the loader's lock, after its list was read. False when out of memory. */
static bool build_index(struct named_image *image)
{
    if (!open_loaded(image, &image->object))
        return false;
    if (!image->object)
        return true;
    if (image->path[0] != '[' && object_find_debug(image->object, image->path, NULL, NULL,
                                                   &image->debug, NULL) == FW_ERR_MEMORY)
        return false;
    image->symbols = symbols_build(image->object, image->debug);
    return image->symbols != NULL;
}

static bool same_image(const struct named_image *a, const struct named_image *b)
{
    return a->lo == b->lo && a->hi == b->hi && a->bias == b->bias &&
           strcmp(a->path, b->path) == 0 && a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

static void names_clear(struct fw_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        image_free(&names->images[i]);
    free(names->images);
    names->images = NULL;
    names->count = names->capacity = 0;
}

/* The image of `names` that is still loaded as `image`, NULL when its index has to be built. After
 * an image was unloaded another one may lie in its place under its name: a build id tells. */
static struct named_image *still_loaded(const struct fw_names *names, bool unloaded,
                                        const struct named_image *image)
{
    struct named_image *old = (struct named_image *)find(names, image->lo);
    bool same = old && old->object && same_image(old, image);
    return same && (!unloaded || image->build_id_size) ? old : NULL;
}

/* All that can fail comes before anything of `names` is touched. */
fw_error fw_names_refresh(struct fw_names *names)
{
    struct fw_names now = {0};
    bool whole = dl_iterate_phdr(remember, &now) == 0, other = false;
    if (whole)
        qsort(now.images, now.count, sizeof *now.images, by_address);
    const bool unloaded = now.unloads != names->unloads;
    for (size_t i = 0; whole && i < now.count; i++) {
        bool same = still_loaded(names, unloaded, &now.images[i]) != NULL;
        other |= !same;
        whole = same || build_index(&now.images[i]);
    }
    if (!whole) {
        names_clear(&now);
        return FW_ERR_MEMORY;
    }
    for (size_t i = 0; i < now.count; i++) {
        struct named_image *old = still_loaded(names, unloaded, &now.images[i]);
        if (!old)
            continue;
        char *path = now.images[i].path;
        now.images[i] = *old;
        *old = (struct named_image){.path = path};
    }
    other |= now.count != names->count;
    names_clear(names);
    names->images = now.images;
    names->count = now.count;
    names->capacity = now.capacity;
    names->loads = now.loads;
    names->unloads = now.unloads;
    if (other)
        atomic_fetch_add_explicit(&names->generation, 1, memory_order_release);
    return FW_OK;
}

struct counted {
    unsigned long long loads, unloads;
    bool known;
};

/* The loader counts its images up and down: asking the first is enough. */
static int count_changes(struct dl_phdr_info *info, size_t size, void *context)
{
    struct counted *counted = context;
    counted->known = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
    if (counted->known) {
        counted->loads = info->dlpi_adds;
        counted->unloads = info->dlpi_subs;
    }
    return 1;
}

bool fw_names_outdated(const struct fw_names *names)
{
    struct counted now = {0};
    dl_iterate_phdr(count_changes, &now);
    return now.known && (now.loads != names->loads || now.unloads != names->unloads);
}

uint64_t fw_names_generation(const struct fw_names *names)
{
    return atomic_load_explicit(&names->generation, memory_order_acquire);
}

fw_error fw_names_create(struct fw_names **names)
{
    struct fw_names *created = calloc(1, sizeof *created);
    *names = NULL;
    if (!created)
        return FW_ERR_MEMORY;
    fw_error error = fw_names_refresh(created);
    if (error != FW_OK) {
        fw_names_destroy(created);
        return error;
    }
    *names = created;
    return FW_OK;
}

void fw_names_destroy(struct fw_names *names)
{
    if (!names)
        return;
    names_clear(names);
    free(names);
}

fw_error fw_names_lookup(const struct fw_names *names, const struct fw_frame *frame,
                         struct fw_name *name)
{
    uint64_t back = frame->kind == FW_FRAME_RETURN;
    *name = (struct fw_name){0};
    const struct named_image *image = find(names, frame->address - back);
    if (!image)
        return FW_ERR_NOT_FOUND;
    name->image = image->path;
    name->image_offset = frame->address - image->bias;
    name->image_base = image->lo;
    struct symbol_match match;
    if (image->symbols && symbols_lookup(image->symbols, name->image_offset - back, &match)) {
        name->function = match.name;
        name->offset = match.offset + back;
        name->plt = match.plt;
    }
    return FW_OK;
}

/* Text without stdio: appends as long as there is room, counts what was wanted. */
struct line {
    char *text;
    size_t size, length;
};

static void put(struct line *line, const char *text)
{
    for (; *text; text++, line->length++)
        if (line->length + 1 < line->size)
            line->text[line->length] = *text;
}

static void put_hex(struct line *line, uint64_t number)
{
    char digits[17];
    unsigned i = sizeof digits - 1;
    digits[i] = 0;
    do
        digits[--i] = "0123456789abcdef"[number & 15];
    while (number >>= 4);
    put(line, "0x");
    put(line, digits + i);
}

static void put_end(struct line *line)
{
    if (!line->size)
        return;
    if (line->length < line->size) {
        line->text[line->length] = 0;
        return;
    }
    line->text[line->size - 1] = 0;
    if (line->size >= 4)
        memcpy(line->text + line->size - 4, "...", 3);
}

size_t fw_names_format(const struct fw_names *names, const struct fw_frame *frame, char *text,
                       size_t size)
{
    struct line line = {text, size, 0};
    struct fw_name name;
    if (fw_names_lookup(names, frame, &name) != FW_OK) {
        put_hex(&line, frame->address);
    } else if (!name.function) {
        put(&line, name.image);
        put(&line, "+");
        put_hex(&line, name.image_offset);
    } else {
        put(&line, name.function);
        put(&line, name.plt ? "@plt+" : "+");
        put_hex(&line, name.offset);
        put(&line, " (");
        put(&line, name.image);
        put(&line, ")");
    }
    put_end(&line);
    return line.length;
}
