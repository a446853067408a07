/*
 * Names in process (framewalk/names.h): one sorted symbol index per loaded image, built when asked
 * for, searched without locks. A lazy index (names_refresh.h) knows all images, and reads the
 * symbols of those that are asked for: a process of Apple's has hundreds, of which a stack meets a
 * dozen. Where images and their symbols come from differs by system
 * (names_source.h).
 */
#include "framewalk/names.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "capture/names_refresh.h"

struct fw_names {
    struct names_list list;
    _Atomic uint64_t changes;    /* list.changes, for who asks while it is refreshed */
    _Atomic uint64_t generation; /* goes up when a refresh found other images */
    bool lazy;                   /* symbols are read by names_learn alone */
};

static void image_free(struct named_image *image)
{
    symbols_destroy(image->symbols);
    names_source_free(image->tables);
    free(image->path);
}

void names_list_free(struct names_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        image_free(&list->images[i]);
    free(list->images);
    free(list->ranges);
    *list = (struct names_list){0};
}

bool names_list_add(struct names_list *list, const struct named_image *image)
{
    if (!array_room(&list->images, &list->capacity, list->count, sizeof *list->images))
        return false;
    list->images[list->count++] = *image;
    return true;
}

bool names_list_range(struct names_list *list, uintptr_t lo, uintptr_t hi)
{
    if (!array_room(&list->ranges, &list->range_capacity, list->range_count, sizeof *list->ranges))
        return false;
    list->ranges[list->range_count++] = (struct named_range){lo, hi, (uint32_t)(list->count - 1)};
    return true;
}

static int by_address(const void *a, const void *b)
{
    uintptr_t left = ((const struct named_range *)a)->lo;
    uintptr_t right = ((const struct named_range *)b)->lo;
    return left < right ? -1 : left > right;
}

static struct named_image *find(const struct names_list *list, uint64_t address)
{
    size_t lo = 0, hi = list->range_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (list->ranges[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && address < list->ranges[lo - 1].hi ? &list->images[list->ranges[lo - 1].image]
                                                   : NULL;
}

static bool same_image(const struct named_image *a, const struct named_image *b)
{
    return a->header == b->header && a->bias == b->bias && strcmp(a->path, b->path) == 0 &&
           a->build_id_size == b->build_id_size &&
           memcmp(a->build_id, b->build_id, a->build_id_size) == 0;
}

/* The image of `list` that is still loaded as `image`, NULL when its index has to be built. After
 * an image was unloaded another one may lie in its place under its name: a build id tells. */
static struct named_image *still_loaded(const struct names_list *list, bool unloaded,
                                        const struct named_image *image)
{
    struct named_image *old = find(list, image->header);
    bool same = old && (old->symbols || !old->indexed) && same_image(old, image);
    return same && (!unloaded || image->build_id_size) ? old : NULL;
}

static bool index_image(struct named_image *image)
{
    image->indexed = true;
    return names_source_index(image);
}

/* All that can fail comes before anything of `names` is touched. */
fw_error names_adopt(struct fw_names *names, struct names_list *now)
{
    if (now->range_count)
        qsort(now->ranges, now->range_count, sizeof *now->ranges, by_address);
    const bool unloaded = now->unloads != names->list.unloads;
    bool whole = true, other = now->count != names->list.count;
    if (names->list.images && now->changes < names->list.changes) {
        names_list_free(now);
        return FW_OK;
    }
    for (size_t i = 0; whole && i < now->count; i++) {
        if (still_loaded(&names->list, unloaded, &now->images[i]))
            continue;
        other = true;
        whole = names->lazy || index_image(&now->images[i]);
    }
    if (!whole) {
        names_list_free(now);
        return FW_ERR_MEMORY;
    }
    for (size_t i = 0; i < now->count; i++) {
        struct named_image *old = still_loaded(&names->list, unloaded, &now->images[i]);
        if (!old)
            continue;
        struct named_image listed = now->images[i];
        now->images[i] = *old;
        *old = listed;
    }
    names_list_free(&names->list);
    names->list = *now;
    atomic_store_explicit(&names->changes, now->changes, memory_order_relaxed);
    if (other)
        atomic_fetch_add_explicit(&names->generation, 1, memory_order_release);
    return FW_OK;
}

fw_error fw_names_refresh(struct fw_names *names)
{
    struct names_list now = {0};
    if (names_source_list(&now))
        return names_adopt(names, &now);
    names_list_free(&now);
    return FW_ERR_MEMORY;
}

/* The image of a frame when its symbols have not been read. */
static struct named_image *unread(const struct fw_names *names, const struct fw_frame *frame)
{
    struct named_image *image =
        find(&names->list, frame->address - (frame->kind == FW_FRAME_RETURN));
    return image && !image->indexed ? image : NULL;
}

bool names_knows(const struct fw_names *names, const struct fw_frame *frames, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (unread(names, &frames[i]))
            return false;
    return true;
}

bool names_learn(struct fw_names *names, const struct fw_frame *frames, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct named_image *image = unread(names, &frames[i]);
        if (!image || index_image(image))
            continue;
        atomic_store_explicit(&names->changes, UINT64_MAX, memory_order_relaxed);
        return false;
    }
    return true;
}

struct fw_names *names_empty(bool lazy)
{
    struct fw_names *names = calloc(1, sizeof *names);
    if (names)
        names->lazy = lazy;
    return names;
}

uint64_t names_changes(const struct fw_names *names)
{
    return atomic_load_explicit(&names->changes, memory_order_relaxed);
}

bool fw_names_outdated(const struct fw_names *names)
{
    return names_source_changes() != names_changes(names);
}

uint64_t fw_names_generation(const struct fw_names *names)
{
    return atomic_load_explicit(&names->generation, memory_order_acquire);
}

fw_error fw_names_create(struct fw_names **names)
{
    struct fw_names *created = names_empty(false);
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
    names_list_free(&names->list);
    free(names);
}

fw_error fw_names_lookup(const struct fw_names *names, const struct fw_frame *frame,
                         struct fw_name *name)
{
    uint64_t back = frame->kind == FW_FRAME_RETURN;
    *name = (struct fw_name){0};
    const struct named_image *image = find(&names->list, frame->address - back);
    if (!image)
        return FW_ERR_NOT_FOUND;
    name->image = image->path;
    name->image_offset = frame->address - image->bias;
    name->image_base = image->header;
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
