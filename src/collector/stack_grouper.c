/*
 * What one thread remembers while it groups stacks: the rules of projects, and rows of images. Both
 * are forgotten when the generation is another one (generation.h).
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/stack_group_inner.h"

#include <stdio.h>
#include <stdlib.h>

static fw_error no_memory(struct fw_failure *why)
{
    return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
}

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

/* Forgets what another generation may have changed. Whether it is another. */
static bool renew(struct stack_grouper *g, int64_t generation)
{
    if (generation == g->generation)
        return false;
    forget_rules(g);
    forget_images(g);
    g->generation = generation;
    return true;
}

fw_error stack_grouper_begin(struct stack_grouper *g, struct db_conn *conn, bool *changed,
                             struct fw_failure *why)
{
    int64_t generation;
    fw_error e = db_pass_gate(conn, DB_GATE_SHARED, why);
    e = e ? e : generation_look(conn, &generation, why);
    if (e)
        return e;
    *changed = renew(g, generation);
    return FW_OK;
}

fw_error stack_grouper_look(struct stack_grouper *g, struct db_conn *conn, struct fw_failure *why)
{
    int64_t generation;
    fw_error e = generation_look(conn, &generation, why);
    if (!e)
        renew(g, generation);
    return e;
}

fw_error stack_grouper_claim(struct stack_grouper *g, struct db_conn *conn, bool *same,
                             struct fw_failure *why)
{
    int64_t generation = g->generation;
    fw_error e = generation_claim(conn, &generation, same, why);
    if (e)
        return e;
    if (*same)
        g->generation = generation;
    else
        renew(g, generation);
    return FW_OK;
}

fw_error grouping_borrow(struct grouping *s, struct db_conn **conn)
{
    *conn = s->conn;
    return *conn ? FW_OK : db_take(s->g->c->db, DB_READ, conn, s->why);
}

void grouping_give_back(struct grouping *s, struct db_conn *conn)
{
    if (conn != s->conn)
        db_give(s->g->c->db, conn);
}

/* ---- rules ---- */

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

fw_error grouping_rules(struct grouping *s, const struct project_rules **found)
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
    fw_error e = grouping_borrow(s, &conn);
    e = e ? e : read_rules(s, conn, &rules);
    grouping_give_back(s, conn);
    if (e) {
        group_rules_free(rules.rules);
        return e;
    }
    g->rules[g->rule_count] = rules;
    *found = &g->rules[g->rule_count++];
    return FW_OK;
}

/* ---- images ---- */

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
                          "SELECT p.debug_id, i.arch, p.name, p.path, p.own FROM image i"
                          " JOIN project_image p ON p.image = i.id WHERE i.id = $1"
                          " AND p.project = $2",
                          DB_VALUES(db_int(image->id), db_int(image->project)));
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
static size_t image_place(const struct stack_grouper *g, int64_t project, int64_t id)
{
    size_t low = 0, high = g->image_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct stack_image *there = g->images[middle];
        if (there->project < project || (there->project == project && there->id < id))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

fw_error grouping_image(struct grouping *s, int64_t id, struct stack_image **found)
{
    struct stack_grouper *g = s->g;
    size_t at = image_place(g, s->project, id);
    if (at < g->image_count && g->images[at]->id == id && g->images[at]->project == s->project) {
        *found = g->images[at];
        return FW_OK;
    }
    struct stack_image *image = arena_take(&g->image_arena, sizeof *image);
    if (!image || !array_room(&g->images, &g->image_capacity, g->image_count, sizeof *g->images))
        return no_memory(s->why);
    *image = (struct stack_image){.project = s->project, .id = id};
    struct db_conn *conn = NULL;
    fw_error e = grouping_borrow(s, &conn);
    e = e ? e : read_image(s, conn, image);
    grouping_give_back(s, conn);
    if (e)
        return e;
    memmove(g->images + at + 1, g->images + at, (g->image_count - at) * sizeof *g->images);
    g->images[at] = image;
    g->image_count++;
    *found = image;
    return FW_OK;
}
