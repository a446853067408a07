#include "report/build.h"

#include "base/array.h"

#include <stdarg.h>
#include <stdio.h>

static void fail(struct report_build *b, fw_error error)
{
    if (!b->error)
        b->error = error;
}

const char *build_text(struct report_build *b, struct cursor c)
{
    size_t size = cursor_left(&c);
    char *text = arena_take(&b->arena, size + 1);
    if (!text) {
        fail(b, FW_ERR_MEMORY);
        return NULL;
    }
    for (size_t i = 0; i < size; i++)
        text[i] = c.data[c.pos + i] ? (char)c.data[c.pos + i] : '?';
    text[size] = 0;
    return text;
}

const char *build_format(struct report_build *b, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int size = vsnprintf(NULL, 0, format, args);
    char *text = size < 0 ? NULL : arena_take(&b->arena, (size_t)size + 1);
    if (text)
        vsnprintf(text, (size_t)size + 1, format, again);
    else
        fail(b, FW_ERR_MEMORY);
    va_end(again);
    va_end(args);
    return text;
}

const char *build_string(struct report_build *b, const struct jdoc *doc, uint32_t node)
{
    const char *text = jdoc_text(doc, node, &b->arena);
    if (!text && (jdoc_is(doc, node, JSTRING) || jdoc_is(doc, node, JNUMBER)))
        fail(b, FW_ERR_MEMORY);
    return text;
}

static uint32_t append_image(struct report_build *b, const struct report_image *image, bool real)
{
    struct report *r = b->report;
    if (b->error || r->image_count >= REPORT_NONE - 1 ||
        !array_room(&r->images, &b->images_capacity, r->image_count, sizeof *r->images) ||
        !array_room(&b->real, &b->real_capacity, r->image_count, sizeof *b->real)) {
        fail(b, FW_ERR_MEMORY);
        return REPORT_NONE;
    }
    b->real[r->image_count] = real;
    r->images[r->image_count] = *image;
    r->images[r->image_count].group = b->group;
    if (!image->name)
        r->images[r->image_count].name = "";
    return (uint32_t)r->image_count++;
}

uint32_t build_image(struct report_build *b, const struct report_image *image)
{
    return append_image(b, image, true);
}

static uint64_t hash_bytes(uint64_t hash, const void *data, size_t size)
{
    const uint8_t *p = data;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ p[i]) * 0x100000001b3u;
    return hash;
}

static const char *image_label(const struct report_image *image)
{
    return image->path ? image->path : image->name ? image->name : "";
}

static uint64_t image_hash(const struct report_image *image)
{
    uint64_t hash = hash_bytes(0xcbf29ce484222325u, image->id, image->id_size);
    hash = hash_bytes(hash, image_label(image), strlen(image_label(image)));
    hash = hash_bytes(hash, &image->load, sizeof image->load);
    return hash ^ hash >> 29;
}

static bool same_image(const struct report_image *a, const struct report_image *b)
{
    return a->group == b->group && a->load == b->load && a->has_load == b->has_load &&
           a->id_size == b->id_size && memcmp(a->id, b->id, a->id_size) == 0 &&
           strcmp(image_label(a), image_label(b)) == 0;
}

enum { MAX_PROBES = 128 }; /* names that were made to collide get an image each */

/* NULL: neither the image nor a free slot is where it should be. */
static uint32_t *find_slot(struct report_build *b, const struct report_image *image)
{
    size_t mask = b->by_key_size - 1, first = image_hash(image) & mask;
    for (size_t i = 0; i < MAX_PROBES; i++) {
        uint32_t *slot = &b->by_key[(first + i) & mask];
        if (*slot == 0 || same_image(&b->report->images[*slot - 1], image))
            return slot;
    }
    return NULL;
}

static bool grow_keys(struct report_build *b)
{
    if (b->by_key_count * 2 < b->by_key_size)
        return true;
    uint32_t *old = b->by_key;
    size_t old_size = b->by_key_size;
    size_t size = old_size ? old_size * 2 : 64;
    uint32_t *larger = calloc(size, sizeof *larger);
    if (!larger)
        return false;
    b->by_key = larger;
    b->by_key_size = size;
    for (size_t i = 0; i < old_size; i++) {
        uint32_t *slot = old[i] ? find_slot(b, &b->report->images[old[i] - 1]) : NULL;
        if (slot)
            *slot = old[i];
    }
    free(old);
    return true;
}

static uint32_t intern(struct report_build *b, const struct report_image *wanted, bool real)
{
    struct report_image grouped = *wanted, *image = &grouped;
    grouped.group = b->group;
    if (b->error || !grow_keys(b)) {
        fail(b, FW_ERR_MEMORY);
        return REPORT_NONE;
    }
    uint32_t *slot = find_slot(b, image);
    if (slot && *slot)
        return *slot - 1;
    uint32_t number = append_image(b, image, real);
    if (slot && number != REPORT_NONE) {
        *slot = number + 1;
        b->by_key_count++;
    }
    return number;
}

uint32_t build_intern(struct report_build *b, const struct report_image *image)
{
    return intern(b, image, true);
}

uint32_t build_hint(struct report_build *b, const struct report_image *image)
{
    b->provisional = true;
    return intern(b, image, false);
}

void build_id(struct report_image *image, struct cursor hex)
{
    uint32_t digits = 0;
    image->id_size = 0;
    memset(image->id, 0, sizeof image->id);
    bool any = false;
    for (; hex.pos < hex.end && digits < 2 * sizeof image->id; hex.pos++) {
        int digit = hex_digit(hex.data[hex.pos]);
        if (digit < 0)
            continue;
        image->id[digits / 2] = (uint8_t)(image->id[digits / 2] << 4 | digit);
        any |= digit != 0;
        digits++;
    }
    image->id_size = any ? digits / 2 : 0; /* all zero: the report knew none */
    if (!any)
        memset(image->id, 0, sizeof image->id);
}

void build_name_of_path(struct report_image *image)
{
    if (image->name || !image->path)
        return;
    const char *slash = strrchr(image->path, '/');
    image->name = slash && slash[1] ? slash + 1 : image->path;
}

struct report_thread *build_thread(struct report_build *b, enum report_order order)
{
    struct report *r = b->report;
    static struct report_thread sink;
    if (b->error || r->thread_count >= REPORT_NONE - 1 ||
        !array_room(&r->threads, &b->threads_capacity, r->thread_count, sizeof *r->threads)) {
        fail(b, FW_ERR_MEMORY);
        sink = (struct report_thread){0};
        return &sink;
    }
    struct report_thread *thread = &r->threads[r->thread_count++];
    *thread = (struct report_thread){
        .order = (uint8_t)order, .group = b->group, .first_frame = (uint32_t)r->frame_count};
    return thread;
}

struct report_frame *build_frame(struct report_build *b)
{
    struct report *r = b->report;
    if (r->thread_count == 0)
        build_thread(b, REPORT_STACK);
    if (!b->error && r->frame_count >= REPORT_MAX_FRAMES)
        fail(b, FW_ERR_FULL);
    if (b->error ||
        !array_room(&r->frames, &b->frames_capacity, r->frame_count, sizeof *r->frames)) {
        fail(b, FW_ERR_MEMORY);
        return NULL;
    }
    struct report_thread *thread = &r->threads[r->thread_count - 1];
    struct report_frame *frame = &r->frames[r->frame_count++];
    *frame = (struct report_frame){
        .thread = (uint32_t)(r->thread_count - 1),
        .image = REPORT_NONE,
        .parent = REPORT_NONE,
        .kind = thread->frame_count ? REPORT_RETURN : REPORT_EXACT,
        .samples = 1,
        .node = JNONE,
        .first_name = (uint32_t)r->name_count,
    };
    thread->frame_count++;
    return frame;
}

struct report_name *build_known(struct report_build *b, struct report_frame *frame)
{
    struct report *r = b->report;
    if (b->error || r->name_count >= REPORT_NONE - 1 ||
        !array_room(&r->names, &b->names_capacity, r->name_count, sizeof *r->names)) {
        fail(b, FW_ERR_MEMORY);
        return NULL;
    }
    if (frame->name_count == 0)
        frame->first_name = (uint32_t)r->name_count;
    frame->name_count++;
    struct report_name *name = &r->names[r->name_count++];
    *name = (struct report_name){0};
    return name;
}

uint32_t build_line(struct report_build *b, uint32_t node)
{
    uint64_t line;
    return jdoc_u64(&b->body, node, &line) && line <= UINT32_MAX ? (uint32_t)line : 0;
}

void build_inlines(struct report_build *b, struct report_frame *frame, uint32_t array,
                   const char *function_key, const char *file_key, const char *line_key)
{
    const struct jdoc *doc = &b->body;
    if (!jdoc_is(doc, array, JARRAY))
        return;
    for (uint32_t i = jdoc_first(doc, array); i != JNONE; i = jdoc_after(doc, array, i)) {
        struct report_name *name = build_known(b, frame);
        if (!name)
            return;
        name->function = build_string(b, doc, jdoc_get(doc, i, function_key));
        name->file = build_string(b, doc, jdoc_get(doc, i, file_key));
        name->line = build_line(b, jdoc_get(doc, i, line_key));
        bool tail = jdoc_is(doc, jdoc_get(doc, i, "tail_call"), JTRUE);
        name->flags = tail ? REPORT_TAIL_CALL : REPORT_INLINED;
    }
}

void build_symbol(struct report_build *b, struct report_frame *frame, uint32_t object)
{
    const struct jdoc *doc = &b->body;
    const char *symbol = build_string(b, doc, jdoc_get(doc, object, "symbol"));
    if (!symbol)
        return;
    build_inlines(b, frame, jdoc_get(doc, object, "inlines"), "symbol", "sourceFile", "sourceLine");
    struct report_name *name = build_known(b, frame);
    if (!name)
        return;
    name->function = symbol;
    name->file = build_string(b, doc, jdoc_get(doc, object, "sourceFile"));
    name->line = build_line(b, jdoc_get(doc, object, "sourceLine"));
    name->has_offset = jdoc_u64(doc, jdoc_get(doc, object, "symbolLocation"), &name->offset);
}

void build_note(struct report_build *b, const char *note)
{
    b->report->complete = false;
    if (!b->report->note)
        b->report->note = note;
}
