/*
 * The key of a stack: its frames decoded, names for them out of the symbol store or, where that
 * knows none, out of the reports, and what the rules make of them (grouping.h).
 */
#include "base/failure.h"
#include "collector/brought_names.h"
#include "collector/stack_code.h"
#include "collector/stack_group_inner.h"
#include "collector/symbols.h"
#include "report/own_image.h"

enum { STACK_FRAMES = 1024 };

static fw_error no_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

static fw_error image_of(struct grouping *s, int64_t id, struct stack_image **found)
{
    fw_error e = grouping_image(s, id, found);
    if (e)
        return e;
    struct stack_image *image = *found;
    if (!image->looked) {
        image->looked = true;
        if (image->debug_id.size)
            image->map = symbols_take(s->g->c->symbols, s->project, image->debug_id.data,
                                      image->debug_id.size, *image->arch ? image->arch : NULL);
        s->images[s->image_count++] = image;
    }
    s->all_maps &= image->map != NULL;
    return FW_OK;
}

static void drop_maps(struct grouping *s)
{
    for (size_t i = 0; i < s->image_count; i++) {
        symbols_drop(s->images[i]->map);
        s->images[i]->map = NULL;
        s->images[i]->looked = false;
    }
    s->image_count = 0;
}

/* The report's program, or what came with it. */
static bool is_programs(struct grouping *s, const struct stack_image *image)
{
    if (!image || !s->main_image)
        return false;
    struct stack_image *program;
    return image->id == s->main_image || (grouping_image(s, s->main_image, &program) == FW_OK &&
                                          own_image(program->path, image->path));
}

static void put_names(struct grouping *s, const struct stack_frame *frame,
                      const struct stack_image *image, const struct symbols_found *found,
                      struct group_frame *to, size_t *count)
{
    struct group_frame base = {.image = image ? image->name : "",
                               .path = image ? image->path : NULL,
                               .offset = frame->offset,
                               .own_symbols = image && image->own,
                               .is_main = is_programs(s, image)};
    for (uint32_t i = 0; i < found->count; i++) {
        const struct report_name *name = &found->names[i];
        struct group_frame *f = &to[(*count)++];
        *f = base;
        f->function = name->function;
        f->file = name->file;
        f->line = name->line;
        f->inlined = (name->flags & REPORT_INLINED) != 0;
        f->tail_call = (name->flags & REPORT_TAIL_CALL) != 0;
    }
    if (found->count == 0)
        to[(*count)++] = base;
}

/* Frames that no map names may have names that the report brought. */
static fw_error find_brought(struct grouping *s, struct symbols_found *found)
{
    fw_error e = FW_OK;
    for (size_t i = 0; i < s->count && !e; i++) {
        if (found[i].count || !s->frames[i].named)
            continue;
        struct db_conn *conn = NULL;
        e = grouping_borrow(s, &conn);
        e = e ? e
              : brought_names_find(conn, s->project, &s->frames[i], s->arena, &found[i], s->why);
        grouping_give_back(s, conn);
    }
    return e;
}

/* All functions of the stack, in the arena. */
static fw_error name_frames(struct grouping *s, struct group_frame **named, size_t *count)
{
    struct arena *arena = s->arena;
    struct symbols_place *places = arena_take_many(arena, s->count, sizeof *places);
    struct symbols_found *found = arena_take_many(arena, s->count, sizeof *found);
    struct stack_image **images = arena_take_many(arena, s->count, sizeof *images);
    s->images = arena_take_many(arena, s->count, sizeof *s->images);
    if (!places || !found || !images || !s->images)
        return no_memory(s->why);
    for (size_t i = 0; i < s->count; i++) {
        const struct stack_frame *frame = &s->frames[i];
        images[i] = NULL;
        fw_error e = frame->image ? image_of(s, frame->image, &images[i]) : FW_OK;
        if (e)
            return e;
        places[i] = (struct symbols_place){.image = images[i] ? images[i]->map : NULL,
                                           .offset = frame->offset,
                                           .space = frame->space,
                                           .kind = frame->kind};
    }
    if (symbols_stack(places, s->count, arena, found) != FW_OK)
        return no_memory(s->why);
    fw_error e = find_brought(s, found);
    if (e)
        return e;
    size_t total = 0;
    for (size_t i = 0; i < s->count; i++)
        total += found[i].count ? found[i].count : 1;
    *named = arena_take_many(arena, total, sizeof **named);
    if (!*named)
        return no_memory(s->why);
    *count = 0;
    for (size_t i = 0; i < s->count; i++)
        put_names(s, &s->frames[i], images[i], &found[i], *named, count);
    return FW_OK;
}

static fw_error decode(struct grouping *s, const struct stack_row *row)
{
    s->frames = arena_take_many(s->arena, STACK_FRAMES, sizeof *s->frames);
    s->images = arena_take_many(s->arena, STACK_FRAMES, sizeof *s->images);
    if (!s->frames || !s->images)
        return no_memory(s->why);
    fw_error e = stack_decode(row->frames, s->frames, STACK_FRAMES, &s->count);
    return e ? failure_say(s->why, e, 0, "the frames of stack %lld cannot be read",
                           (long long)row->id)
             : FW_OK;
}

static fw_error make_key(struct grouping *s, const struct stack_row *row,
                         const struct group_rules *rules, struct stack_key *key)
{
    const struct project_rules *in_force = NULL;
    struct group_frame *named = NULL;
    size_t count = 0;
    fw_error e = decode(s, row);
    if (!e && !rules)
        e = grouping_rules(s, &in_force);
    e = e ? e : name_frames(s, &named, &count);
    if (e)
        return e;
    key->all_maps = s->all_maps;
    key->rules_version = in_force ? in_force->version : 0;
    e = group_stack(rules ? rules : in_force->rules, named, count, s->arena, &key->answer);
    return e ? failure_say(s->why, e, 0, "stack %lld cannot be grouped: %s", (long long)row->id,
                           fw_error_text(e))
             : FW_OK;
}

fw_error stack_group_key(struct stack_grouper *g, struct db_conn *conn, const struct stack_row *row,
                         const struct group_rules *rules, struct arena *arena,
                         struct stack_key *key, struct fw_failure *why)
{
    struct grouping s = {.g = g,
                         .conn = conn,
                         .why = why,
                         .arena = arena,
                         .project = row->project,
                         .stack = row->id,
                         .main_image = row->main_image,
                         .all_maps = true};
    fw_error e = make_key(&s, row, rules, key);
    /* Lies in a map, which is given back. */
    key->answer.file = copied_text(arena, key->answer.file);
    drop_maps(&s);
    return e;
}

fw_error stack_group_place(struct stack_grouper *g, int64_t project,
                           const struct stack_frame *frame, struct arena *arena,
                           struct stack_place *place, struct fw_failure *why)
{
    struct stack_frame copy = *frame;
    struct grouping s = {.g = g,
                         .why = why,
                         .arena = arena,
                         .project = project,
                         .frames = &copy,
                         .count = 1,
                         .all_maps = true};
    struct group_frame *named = NULL;
    size_t count = 0;
    fw_error e = name_frames(&s, &named, &count);
    if (!e && count)
        *place = (struct stack_place){.image = named->image,
                                      .function = named->function,
                                      .file = named->file,
                                      .line = named->line};
    if (!e) { /* maps are given back */
        place->function = copied_text(arena, place->function);
        place->file = copied_text(arena, place->file);
        place->image = copied_text(arena, place->image);
    }
    drop_maps(&s);
    return e;
}
