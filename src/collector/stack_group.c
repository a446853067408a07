/* The group of a stack: stack_group.h. */
#include "collector/stack_group.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/failure.h"
#include "collector/brought_names.h"
#include "collector/grouping.h"
#include "collector/stack_code.h"
#include "collector/symbols.h"

#include <stdio.h>
#include <stdlib.h>

enum { STACK_FRAMES = 1024, MERGES = 32 };

struct project_rules {
    int64_t project, version;
    struct group_rules *rules;
};

struct stack_image { /* row of `image` */
    int64_t id;
    const char *name, *path, *arch;
    struct span debug_id;
    bool own;
    bool looked;               /* for a map, in this call */
    struct symbols_image *map; /* in this call; NULL: there is none */
};

struct stack_grouper {
    struct collector *c;
    char generation[32];
    struct project_rules *rules;
    size_t rule_count, rule_capacity;
    struct stack_image **images; /* by id */
    size_t image_count, image_capacity;
    struct arena image_arena;
    struct arena arena; /* of one call */
};

struct grouping { /* of one stack */
    struct stack_grouper *g;
    struct db_conn *conn;
    struct fw_failure *why;
    struct arena *arena;
    int64_t project, stack, main_image;
    struct stack_frame *frames;
    size_t count;
    struct stack_image **images; /* whose maps this call holds */
    size_t image_count;
    bool all_maps;
};

static fw_error no_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

/* ---- rules and generation ---- */

static void forget_images(struct stack_grouper *g)
{
    g->image_count = 0;
    arena_reset(&g->image_arena);
}

static void forget_rules(struct stack_grouper *g)
{
    for (size_t i = 0; i < g->rule_count; i++)
        group_rules_free(g->rules[i].rules);
    g->rule_count = 0;
}

fw_error stack_grouper_new(struct collector *c, struct stack_grouper **grouper)
{
    *grouper = calloc(1, sizeof **grouper);
    if (!*grouper)
        return FW_ERR_MEMORY;
    (*grouper)->c = c;
    return FW_OK;
}

void stack_grouper_free(struct stack_grouper *g)
{
    if (!g)
        return;
    forget_rules(g);
    free(g->rules);
    free(g->images);
    arena_free(&g->image_arena);
    arena_free(&g->arena);
    free(g);
}

static fw_error read_generation(struct db_conn *conn, char text[32], struct fw_failure *why)
{
    struct db_rows *rows;
    fw_error e =
        db_query(conn, &rows, why, "SELECT value FROM setting WHERE name = 'generation'", DB_NONE);
    if (e)
        return e;
    text[0] = '\0';
    if (db_next(rows))
        snprintf(text, 32, "%s", db_get_text(rows, 0));
    return db_end(rows, why);
}

/* Forgets what another generation may have changed. Whether it is another. */
static bool renew(struct stack_grouper *g, const char text[32])
{
    if (strcmp(text, g->generation) == 0)
        return false;
    forget_rules(g);
    forget_images(g);
    memcpy(g->generation, text, 32);
    return true;
}

fw_error stack_grouper_begin(struct stack_grouper *g, struct db_conn *conn, bool *changed,
                             struct fw_failure *why)
{
    char text[32];
    fw_error e = db_pass_gate(conn, DB_GATE_SHARED, why);
    e = e ? e : read_generation(conn, text, why);
    if (e)
        return e;
    *changed = renew(g, text);
    return FW_OK;
}

fw_error stack_grouper_look(struct stack_grouper *g, struct db_conn *conn, struct fw_failure *why)
{
    char text[32];
    fw_error e = read_generation(conn, text, why);
    if (!e)
        renew(g, text);
    return e;
}

fw_error stack_grouper_claim(struct stack_grouper *g, struct db_conn *conn, bool *same,
                             struct fw_failure *why)
{
    char text[32];
    fw_error e = stack_group_changed(conn, why);
    e = e ? e : read_generation(conn, text, why);
    if (e)
        return e;
    *same = strtoll(text, NULL, 10) == strtoll(g->generation, NULL, 10) + 1;
    if (*same)
        memcpy(g->generation, text, sizeof text);
    else
        renew(g, text);
    return FW_OK;
}

fw_error stack_group_changed(struct db_conn *conn, struct fw_failure *why)
{
    fw_error e = db_pass_gate(conn, DB_GATE_ALONE, why);
    return e ? e
             : db_run(conn, why,
                      "INSERT INTO setting (name, value) VALUES ('generation', '1')"
                      " ON CONFLICT (name) DO UPDATE"
                      " SET value = CAST(CAST(setting.value AS BIGINT) + 1 AS TEXT)",
                      DB_NONE);
}

/* The caller's connection, or one for a moment. */
static fw_error borrow(struct grouping *s, struct db_conn **conn)
{
    *conn = s->conn;
    return *conn ? FW_OK : db_take(s->g->c->db, DB_READ, conn, s->why);
}

static void give_back(struct grouping *s, struct db_conn *conn)
{
    if (conn != s->conn)
        db_give(s->g->c->db, conn);
}

static fw_error read_rules(struct grouping *s, struct db_conn *conn, struct project_rules *rules)
{
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, s->why,
                          "SELECT version, text FROM rules WHERE project = $1"
                          " ORDER BY version DESC LIMIT 1",
                          DB_VALUES(db_int(s->project)));
    if (e)
        return e;
    fw_error parsed;
    if (db_next(rows)) {
        rules->version = db_get_int(rows, 0);
        parsed = group_rules_parse(db_get_text(rows, 1), &rules->rules, s->why);
    } else
        parsed = group_rules_parse(NULL, &rules->rules, s->why);
    e = db_end(rows, s->why);
    return parsed ? parsed : e;
}

/* In force for the project. */
static fw_error find_rules(struct grouping *s, const struct project_rules **found)
{
    struct stack_grouper *g = s->g;
    for (size_t i = 0; i < g->rule_count; i++)
        if (g->rules[i].project == s->project) {
            *found = &g->rules[i];
            return FW_OK;
        }
    struct project_rules rules = {.project = s->project};
    if (!array_room(&g->rules, &g->rule_capacity, g->rule_count, sizeof *g->rules))
        return no_memory(s->why);
    struct db_conn *conn = NULL;
    fw_error e = borrow(s, &conn);
    e = e ? e : read_rules(s, conn, &rules);
    give_back(s, conn);
    if (e) {
        group_rules_free(rules.rules);
        return e;
    }
    g->rules[g->rule_count] = rules;
    *found = &g->rules[g->rule_count++];
    return FW_OK;
}

/* ---- frames and their names ---- */

static void *copied(struct arena *arena, const void *data, size_t size)
{
    void *copy = arena_take(arena, size);
    return copy && size ? memcpy(copy, data, size) : copy;
}

static const char *copied_text(struct arena *arena, const char *text)
{
    return text ? copied(arena, text, strlen(text) + 1) : NULL;
}

/* What an image is called of which nothing but its id is known. */
static const char *hex_name(struct arena *arena, struct span id)
{
    char *name = arena_take(arena, id.size * 2 + 1);
    if (!name)
        return NULL;
    name[0] = '\0';
    for (size_t i = 0; i < id.size; i++)
        snprintf(name + i * 2, 3, "%02x", id.data[i]);
    return name;
}

static fw_error read_image(struct grouping *s, struct db_conn *conn, struct stack_image *image)
{
    struct arena *arena = &s->g->image_arena;
    struct db_rows *rows;
    fw_error e = db_query(conn, &rows, s->why,
                          "SELECT debug_id, arch, name, path, own FROM image WHERE id = $1",
                          DB_VALUES(db_int(image->id)));
    if (e)
        return e;
    image->name = image->arch = "";
    if (db_next(rows)) {
        struct span id = db_get_bytes(rows, 0);
        const char *name = db_get_text(rows, 2);
        image->debug_id = (struct span){copied(arena, id.data, id.size), id.size};
        image->arch = copied_text(arena, db_get_text(rows, 1));
        image->name = *name ? copied_text(arena, name) : hex_name(arena, id);
        image->path = copied_text(arena, db_get_text(rows, 3));
        image->own = db_get_int(rows, 4) != 0;
    }
    e = db_end(rows, s->why);
    return e || (image->name && image->arch) ? e : no_memory(s->why);
}

/* Where the image stands, or would. */
static size_t image_place(const struct stack_grouper *g, int64_t id)
{
    size_t low = 0, high = g->image_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (g->images[middle]->id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static fw_error remembered(struct grouping *s, int64_t id, struct stack_image **found)
{
    struct stack_grouper *g = s->g;
    size_t at = image_place(g, id);
    if (at < g->image_count && g->images[at]->id == id) {
        *found = g->images[at];
        return FW_OK;
    }
    struct stack_image *image = arena_take(&g->image_arena, sizeof *image);
    if (!image || !array_room(&g->images, &g->image_capacity, g->image_count, sizeof *g->images))
        return no_memory(s->why);
    *image = (struct stack_image){.id = id};
    struct db_conn *conn = NULL;
    fw_error e = borrow(s, &conn);
    e = e ? e : read_image(s, conn, image);
    give_back(s, conn);
    if (e)
        return e;
    memmove(g->images + at + 1, g->images + at, (g->image_count - at) * sizeof *g->images);
    g->images[at] = image;
    g->image_count++;
    *found = image;
    return FW_OK;
}

static fw_error image_of(struct grouping *s, int64_t id, struct stack_image **found)
{
    fw_error e = remembered(s, id, found);
    if (e)
        return e;
    struct stack_image *image = *found;
    if (!image->looked) {
        image->looked = true;
        if (image->debug_id.size)
            image->map = symbols_take(s->g->c->symbols, image->debug_id.data, image->debug_id.size,
                                      *image->arch ? image->arch : NULL);
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

static void put_names(struct grouping *s, const struct stack_frame *frame,
                      const struct stack_image *image, const struct symbols_found *found,
                      struct group_frame *to, size_t *count)
{
    struct group_frame base = {.image = image ? image->name : "",
                               .path = image ? image->path : NULL,
                               .offset = frame->offset,
                               .own_symbols = image && image->own,
                               .is_main = image && image->id == s->main_image};
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
        e = borrow(s, &conn);
        e = e ? e
              : brought_names_find(conn, s->project, &s->frames[i], s->arena, &found[i], s->why);
        give_back(s, conn);
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

/* ---- rows ---- */

static fw_error read_stack(struct grouping *s, struct stack_row *row, int64_t *group)
{
    struct db_rows *rows;
    fw_error e = db_query(s->conn, &rows, s->why,
                          "SELECT frames, group_id, main_image FROM stack WHERE id = $1",
                          DB_VALUES(db_int(s->stack)));
    if (e)
        return e;
    bool found = db_next(rows);
    if (found) {
        struct span frames = db_get_bytes(rows, 0);
        *row =
            (struct stack_row){.id = s->stack,
                               .project = s->project,
                               .main_image = db_get_int(rows, 2),
                               .frames = {copied(s->arena, frames.data, frames.size), frames.size}};
        *group = db_get_int(rows, 1);
    }
    e = db_end(rows, s->why);
    if (!e && !found)
        return failure_say(s->why, FW_ERR_NOT_FOUND, 0, "there is no such stack");
    return e || row->frames.data ? e : no_memory(s->why);
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
        e = find_rules(s, &in_force);
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

/* The group that stands for this one after merges. */
static fw_error follow(struct grouping *s, int64_t *group)
{
    for (unsigned i = 0; i < MERGES; i++) {
        struct db_rows *rows;
        int64_t into = 0;
        fw_error e = db_query(s->conn, &rows, s->why,
                              "SELECT merged_into FROM hang_group WHERE id = $1 AND status = 3",
                              DB_VALUES(db_int(*group)));
        if (e)
            return e;
        if (db_next(rows))
            into = db_get_int(rows, 0);
        e = db_end(rows, s->why);
        if (e || !into)
            return e;
        *group = into;
    }
    return FW_OK;
}

static fw_error find_group(struct grouping *s, const uint8_t key[16], int64_t *group)
{
    struct db_rows *rows;
    fw_error e = db_query(s->conn, &rows, s->why,
                          "SELECT id FROM hang_group WHERE project = $1 AND key = $2",
                          DB_VALUES(db_int(s->project), db_bytes(key, 16)));
    *group = 0;
    if (e)
        return e;
    if (db_next(rows))
        *group = db_get_int(rows, 0);
    return db_end(rows, s->why);
}

static fw_error make_group(struct grouping *s, const struct group_answer *a, int64_t rules,
                           uint64_t at_ms, int64_t *group)
{
    struct db_rows *rows;
    fw_error e = db_query(
        s->conn, &rows, s->why,
        "INSERT INTO hang_group (project, key, rules, section, title, leaf, image, file, line,"
        " search, why, sample_stack, first_ms, last_ms)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)"
        " ON CONFLICT (project, key) DO NOTHING RETURNING id",
        DB_VALUES(db_int(s->project), db_bytes(a->key, sizeof a->key), db_int(rules),
                  db_int((int64_t)a->section), db_text(a->title), db_text(a->leaf),
                  db_text(a->image ? a->image : ""), db_text(a->file), db_int(a->line),
                  db_text(a->search), db_text(a->why), db_int(s->stack), db_int((int64_t)at_ms)));
    if (e)
        return e;
    if (db_next(rows))
        *group = db_get_int(rows, 0);
    return db_end(rows, s->why);
}

static fw_error group_by_key(struct grouping *s, const struct stack_row *row, uint64_t at_ms,
                             int64_t *group, bool *made)
{
    struct stack_key key = {0};
    fw_error e = stack_group_key(s->g, s->conn, row, NULL, s->arena, &key, s->why);
    e = e ? e : find_group(s, key.answer.key, group);
    if (!e && !*group) {
        e = make_group(s, &key.answer, key.rules_version, at_ms, group);
        *made = !e && *group;
        if (!e && !*group) /* another server was faster */
            e = find_group(s, key.answer.key, group);
    }
    if (!e && !*group)
        e = failure_say(s->why, FW_ERR_TIMEOUT, 0, "a group went away while it was looked for");
    e = e ? e : follow(s, group);
    return e ? e
             : db_run(s->conn, s->why,
                      "UPDATE stack SET group_id = $2, rules = $3, named = $4 WHERE id = $1",
                      DB_VALUES(db_int(s->stack), db_int(*group), db_int(key.rules_version),
                                db_int(key.all_maps)));
}

fw_error stack_group(struct stack_grouper *g, struct db_conn *conn, int64_t project, int64_t stack,
                     uint64_t at_ms, int64_t *group, bool *made, struct fw_failure *why)
{
    struct grouping s = {
        .g = g, .conn = conn, .why = why, .arena = &g->arena, .project = project, .stack = stack};
    struct stack_row row = {0};
    *made = false;
    fw_error e = read_stack(&s, &row, group);
    if (!e && !*group)
        e = group_by_key(&s, &row, at_ms, group, made);
    arena_reset(&g->arena);
    return e;
}
