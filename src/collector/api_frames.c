#include "collector/api_frames.h"

#include "base/array.h"
#include "collector/brought_names.h"
#include "collector/grouping.h"
#include "collector/symbol_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

struct slot { /* of a hash table: a place as called by the frame inside of it */
    struct stack_frame frame, inner;
    struct api_place *place; /* NULL: free */
};

struct api_frames {
    struct api_view *v;
    struct arena arena;
    struct api_image **images; /* as they were met; few */
    size_t image_count, image_capacity;
    struct slot *slots;
    size_t slot_count, capacity; /* a power of two */
    struct group_rules *rules;   /* the built-in ones, once they are needed */
};

struct api_frames *api_frames_new(struct api_view *v)
{
    struct api_frames *f = calloc(1, sizeof *f);
    if (f) {
        f->v = v;
        f->capacity = 1024;
        f->slots = calloc(f->capacity, sizeof *f->slots);
    }
    if (f && f->slots)
        return f;
    free(f);
    api_no_memory(v);
    return NULL;
}

void api_frames_free(struct api_frames *f)
{
    if (!f)
        return;
    for (size_t i = 0; i < f->image_count; i++)
        symbols_drop(f->images[i]->map);
    free(f->images);
    free(f->slots);
    group_rules_free(f->rules);
    arena_free(&f->arena);
    free(f);
}

/* --- images --- */

const char *api_frames_keep(struct api_frames *f, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = arena_take(&f->arena, size);
    if (!copy) {
        api_no_memory(f->v);
        return "";
    }
    return memcpy(copy, text, size);
}

/* Somebody may have sent the C library's debug file: that makes it nobody's own. */
static bool is_system(struct api_frames *f, const char *name, const char *path)
{
    const struct group_frame frame = {
        .image = name, .path = path, .function = "f", .own_symbols = true};
    struct group_answer answer;
    struct fw_failure why = {0};
    if (!f->rules && group_rules_parse(NULL, &f->rules, &why))
        return false;
    return group_stack(f->rules, &frame, 1, &f->arena, &answer) == FW_OK &&
           answer.section == GROUP_SYSTEM;
}

const char *api_frames_sources(struct api_view *v, struct span id, struct arena *arena)
{
    if (!(v->r->access.scopes & ACCESS_SYMBOLS_READ) || !id.size ||
        !api_number(
            v,
            "SELECT COUNT(*) FROM symbol_file WHERE debug_id = $1 AND kind = 4 AND " SYMBOLS_OF(
                "2"),
            DB_VALUES(db_bytes(id.data, id.size), db_int(v->project))))
        return "";
    size_t size = 2 * id.size + 1;
    char *hex = arena_take(arena, size);
    if (hex)
        symbol_id_hex(id.data, id.size, hex, size);
    return hex ? hex : "";
}

static void read_image(struct api_frames *f, struct api_image *image)
{
    struct api_view *v = f->v;
    struct db_rows *rows = api_query(
        v,
        "SELECT p.name, p.own, p.debug_id, i.arch, p.path FROM image i JOIN project_image p"
        " ON p.image = i.id WHERE i.id = $1 AND p.project = $2",
        DB_VALUES(db_int(image->row), db_int(v->project)));
    if (api_next(v, rows)) {
        struct span id = db_get_bytes(rows, 2);
        image->name = api_frames_keep(f, db_get_text(rows, 0));
        const char *path = db_is_null(rows, 4) ? NULL : api_frames_keep(f, db_get_text(rows, 4));
        image->own = db_get_int(rows, 1) != 0 && !is_system(f, image->name, path);
        const char *arch = api_frames_keep(f, db_get_text(rows, 3));
        uint8_t copy[64];
        size_t size = id.size < sizeof copy ? id.size : sizeof copy;
        if (size)
            memcpy(copy, id.data, size);
        api_done(v, rows);
        image->sources = api_frames_sources(v, (struct span){copy, size}, &f->arena);
        api_pause(v); /* the symbol store reads the database itself */
        if (size)
            image->map =
                symbols_take(v->r->collector->symbols, v->project, copy, size, *arch ? arch : NULL);
        api_resume(v);
        return;
    }
    api_done(v, rows);
}

static const struct api_image *image_of(struct api_frames *f, int64_t row)
{
    if (!row)
        return NULL;
    for (size_t i = 0; i < f->image_count; i++)
        if (f->images[i]->row == row) {
            struct api_image *found = f->images[i];
            f->images[i] = f->images[i / 2]; /* what is asked for often moves to the front */
            f->images[i / 2] = found;
            return found;
        }
    struct api_image *image = arena_take(&f->arena, sizeof *image);
    if (!image || !array_room(&f->images, &f->image_capacity, f->image_count, sizeof image)) {
        api_no_memory(f->v);
        return NULL;
    }
    *image = (struct api_image){.row = row, .name = "", .sources = ""};
    f->images[f->image_count++] = image;
    read_image(f, image);
    return image;
}

/* --- places --- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

static uint64_t hash_frame(uint64_t hash, const struct stack_frame *frame)
{
    hash = mix(hash, (uint64_t)frame->image);
    return mix(hash, frame->offset ^ (uint64_t)stack_flags(frame) << 61);
}

static bool same_frame(const struct stack_frame *a, const struct stack_frame *b)
{
    return a->image == b->image && a->offset == b->offset && stack_flags(a) == stack_flags(b);
}

static struct slot *slot_of(struct slot *slots, size_t capacity, const struct stack_frame *frame,
                            const struct stack_frame *inner)
{
    size_t at = (size_t)hash_frame(hash_frame(1, inner), frame) & (capacity - 1);
    while (slots[at].place &&
           (!same_frame(&slots[at].frame, frame) || !same_frame(&slots[at].inner, inner)))
        at = (at + 1) & (capacity - 1);
    return &slots[at];
}

static bool grow(struct api_frames *f)
{
    size_t capacity = f->capacity * 2;
    struct slot *slots = calloc(capacity, sizeof *slots);
    if (!slots)
        return false;
    for (size_t i = 0; i < f->capacity; i++)
        if (f->slots[i].place)
            *slot_of(slots, capacity, &f->slots[i].frame, &f->slots[i].inner) = f->slots[i];
    free(f->slots);
    f->slots = slots;
    f->capacity = capacity;
    return true;
}

static void name_place(struct api_frames *f, struct api_place *place, const struct api_place *inner)
{
    const struct stack_frame *a = inner ? &inner->frame : NULL, *b = &place->frame;
    const struct symbols_image *map = inner && inner->image ? inner->image->map : NULL;
    struct symbols_place asked[2] = {
        {.image = map,
         .offset = a ? a->offset : 0,
         .space = a ? a->space : 0,
         .kind = a ? a->kind : 0},
        {.image = place->image->map, .offset = b->offset, .space = b->space, .kind = b->kind},
    };
    struct symbols_found found[2] = {{.names = NULL}};
    if (symbols_stack(inner ? asked : asked + 1, inner ? 2 : 1, &f->arena, found) != FW_OK)
        api_no_memory(f->v);
    place->found = found[inner ? 1 : 0];
}

static void find_brought(struct api_frames *f, struct api_place *place)
{
    struct api_view *v = f->v;
    if (!v->error)
        v->error = brought_names_find(v->conn, v->project, &place->frame, &f->arena, &place->found,
                                      &v->why);
}

static struct api_place *place_of(struct api_frames *f, const struct stack_frame *frame,
                                  const struct api_place *inner)
{
    static const struct stack_frame none;
    const struct stack_frame *inside = inner ? &inner->frame : &none;
    struct slot *slot = slot_of(f->slots, f->capacity, frame, inside);
    if (slot->place)
        return slot->place;
    struct api_place *place = arena_take(&f->arena, sizeof *place);
    if (!place || (f->slot_count * 2 >= f->capacity && !grow(f))) {
        api_no_memory(f->v);
        return NULL;
    }
    *place = (struct api_place){.frame = *frame, .image = image_of(f, frame->image)};
    *slot_of(f->slots, f->capacity, frame, inside) =
        (struct slot){.frame = *frame, .inner = *inside, .place = place};
    f->slot_count++;
    if (place->image && place->image->map)
        name_place(f, place, inner);
    if (!place->found.count && frame->named)
        find_brought(f, place);
    return place;
}

struct api_place *api_frames_place(struct api_frames *f, const struct stack_frame *frame)
{
    struct api_place *place = place_of(f, frame, NULL);
    return f->v->error ? NULL : place;
}

size_t api_frames_read(struct api_frames *f, struct span code, struct api_place **places)
{
    struct stack_frame frames[API_STACK_MAX];
    size_t count = 0;
    fw_error error = stack_decode(code, frames, API_STACK_MAX, &count);
    if (error && error != FW_ERR_FULL) {
        api_fail(f->v, error, "a stored stack is corrupt");
        return 0;
    }
    for (size_t i = 0; i < count && !f->v->error; i++)
        places[i] = place_of(f, &frames[i], i ? places[i - 1] : NULL);
    return f->v->error ? 0 : count;
}

/* --- as JSON --- */

void api_frame_offset(char text[24], uint64_t offset)
{
    snprintf(text, 24, "0x%" PRIx64, offset);
}

void api_frame_members(struct report_bytes *out, const struct api_frame *frame)
{
    char offset[24];
    api_frame_offset(offset, frame->offset);
    api_text(out, "function", frame->function);
    api_text(out, "file", frame->file);
    api_int(out, "line", frame->line);
    api_text(out, "image", frame->image);
    api_text(out, "offset", offset);
    api_text(out, "kind", frame->exact ? "exact" : "return");
    api_bool(out, "inlined", frame->inlined);
    api_bool(out, "tail_call", frame->tail_call);
    api_bool(out, "app", frame->app);
    api_text(out, "status", frame->status);
    if (frame->sources && *frame->sources && frame->file && frame->line)
        api_text(out, "sources", frame->sources);
}

/* One FRAME: name `index` of a place's, or the place without a name when it has none. */
static void write_frame(struct report_bytes *out, const struct api_place *place, uint32_t index)
{
    const struct report_name *name = place->found.count ? &place->found.names[index] : NULL;
    const struct api_image *image = place->image;
    struct api_frame frame = {
        .function = name ? name->function : NULL,
        .file = name ? name->file : NULL,
        .line = name ? name->line : 0,
        .image = image && *image->name ? image->name : NULL,
        .offset = place->frame.offset,
        .exact = place->frame.kind == REPORT_EXACT,
        .inlined = name && (name->flags & REPORT_INLINED),
        .tail_call = name && (name->flags & REPORT_TAIL_CALL),
        .app = image ? image->own : name && name->function,
        .status = name && name->function ? "named"
                  : image && !image->map ? "no_map"
                                         : "unknown",
        .sources = image ? image->sources : NULL,
    };
    api_open(out, NULL, '{');
    api_frame_members(out, &frame);
    api_shut(out, '}');
}

void api_stack_write(struct api_frames *f, const char *key, struct span code)
{
    struct api_place *places[API_STACK_MAX];
    size_t count = api_frames_read(f, code, places);
    api_open(&f->v->out, key, '[');
    for (size_t i = 0; i < count; i++) {
        uint32_t names = places[i]->found.count;
        for (uint32_t name = 0; name < (names ? names : 1); name++)
            write_frame(&f->v->out, places[i], name);
    }
    api_shut(&f->v->out, ']');
}

void api_stack_of(struct api_frames *f, const char *key, int64_t stack)
{
    struct api_view *v = f->v;
    struct span code = {NULL, 0};
    struct db_rows *rows = api_query(v, "SELECT frames FROM stack WHERE id = $1 AND project = $2",
                                     DB_VALUES(db_int(stack), db_int(v->project)));
    if (api_next(v, rows)) {
        struct span found = db_get_bytes(rows, 0);
        uint8_t *copy = arena_take(&f->arena, found.size);
        if (copy && found.size)
            memcpy(copy, found.data, found.size);
        if (copy)
            code = (struct span){copy, found.size};
        else
            api_no_memory(f->v);
    }
    api_done(v, rows);
    api_stack_write(f, key, code);
}
