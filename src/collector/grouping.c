/*
 * The key of a stack: docs/grouping.md. In short
 *
 *     role of each frame by the rules
 *     the stack ends at the innermost event loop or start of a thread
 *     leaf class: what the innermost frames, before any of the app's, wait for
 *     key: leaf class and the first three different functions of the app, wrappers left out
 *
 * and without a function of the app: the idle loop, or the first four functions of the system and
 * what the loop came in by. Nothing that changes from build to build is in a key: no address, no
 * line, no image id. An app frame without a name counts by its image and a piece of its code.
 */
#include "collector/grouping_inner.h"
#include "report/out.h"

#include <ctype.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <string.h>

enum {
    APP_PARTS = 3,
    SYSTEM_PARTS = 4,
    PIECE = 1024,      /* bytes of code that stand for a function whose name is not known */
    FRAMES_MAX = 4096, /* of a deeper stack the innermost ones */
    WHY_FRAMES = 128,  /* shown; of a longer stack the innermost ones */
    SEARCH_MAX = 4096,
    NOBODY = UINT32_MAX,
};

struct view { /* a stack under examination */
    const struct group_frame *frames;
    const char **names; /* normalised; NULL: none */
    struct group_ruling *rulings;
    bool *in_key;
    uint32_t count;
    uint32_t inside; /* frames within the innermost loop or start; `count`: there is none */
    const char *leaf, *entry;
    uint32_t parts[SYSTEM_PARTS]; /* frames of the key */
    const char *texts[SYSTEM_PARTS];
    uint32_t part_count, blamed;
    enum group_section section;
    bool idle;
    bool failed; /* memory ran out */
    struct arena *arena;
};

/* The text moves into the arena. */
static const char *kept(struct view *v, struct report_bytes *text)
{
    char *copy = text->failed ? NULL : arena_take(v->arena, text->size + 1);
    if (copy) {
        memcpy(copy, text->data ? text->data : "", text->size);
        copy[text->size] = '\0';
    }
    v->failed = v->failed || !copy;
    report_bytes_free(text);
    return copy ? copy : "";
}

/* --- Roles -------------------------------------------------------------------------------------
 */

static bool is_bound(const struct view *v, uint32_t i)
{
    return v->rulings[i].action == GROUP_ACT_ROOT || v->rulings[i].action == GROUP_ACT_LOOP;
}

static bool is_app(const struct view *v, uint32_t i)
{
    return v->rulings[i].action == GROUP_ACT_APP;
}

static bool is_system(const struct view *v, uint32_t i)
{
    return v->rulings[i].action == GROUP_ACT_SYSTEM || v->rulings[i].action == GROUP_ACT_ENTRY;
}

static fw_error examine(struct view *v, const struct group_rules *rules,
                        const struct group_frame *frames, size_t count, struct arena *arena)
{
    *v = (struct view){.frames = frames,
                       .count = (uint32_t)(count < FRAMES_MAX ? count : FRAMES_MAX),
                       .blamed = NOBODY,
                       .arena = arena};
    v->names = arena_take_many(arena, v->count, sizeof *v->names);
    v->rulings = arena_take_many(arena, v->count, sizeof *v->rulings);
    v->in_key = arena_take_many(arena, v->count, sizeof *v->in_key);
    if (!v->names || !v->rulings || !v->in_key)
        return FW_ERR_MEMORY;
    for (uint32_t i = 0; i < v->count; i++) {
        v->names[i] = group_name(frames[i].function, arena, &v->failed);
        v->rulings[i] = group_rule_of(rules, &frames[i], v->names[i]);
        v->in_key[i] = false;
    }
    while (v->inside < v->count && !is_bound(v, v->inside))
        v->inside++;
    return v->failed ? FW_ERR_MEMORY : FW_OK;
}

/* The outermost wait before any frame of the app decides: read within SSL_read is the network. */
static void find_leaf(struct view *v)
{
    bool only_waits = v->inside > 0;
    v->leaf = NULL;
    uint32_t i = 0;
    for (; i < v->inside && !is_app(v, i) && v->rulings[i].action != GROUP_ACT_WRAPPER; i++) {
        if (v->rulings[i].action == GROUP_ACT_LEAF)
            v->leaf = v->rulings[i].word;
        else if (v->rulings[i].action != GROUP_ACT_SKIP)
            only_waits = false;
    }
    v->idle = only_waits && v->leaf && i == v->inside && v->inside < v->count &&
              v->rulings[v->inside].action == GROUP_ACT_LOOP;
    bool unknown = !v->count || (v->inside && !v->names[0] && !is_app(v, 0));
    if (!v->leaf)
        v->leaf = unknown ? "unknown" : "cpu";
}

static void find_entry(struct view *v)
{
    for (uint32_t i = 0; i < v->inside && !v->entry; i++)
        if (v->rulings[i].action == GROUP_ACT_ENTRY)
            v->entry = v->rulings[i].word;
}

/* --- Parts of the key ---------------------------------------------------------------------------
 */

/* Scripts are in no image: their files part functions that are called the same, or not at all. */
static const char *where(struct view *v, uint32_t i)
{
    const struct group_frame *f = &v->frames[i];
    return group_image_name(*f->image || !f->file ? f->image : f->file, v->arena, &v->failed);
}

static const char *part_text(struct view *v, uint32_t i)
{
    const char *image = where(v, i);
    struct report_bytes text = {0};
    out_text(&text, image);
    if (v->names[i])
        out_format(&text, "%s%s", *image ? ":" : "", v->names[i]);
    else
        out_format(&text, "+0x%" PRIx64, v->frames[i].offset / PIECE * PIECE);
    return kept(v, &text);
}

/* Takes frame i into the key unless the same function is there: recursion, clones, pieces. */
static void add_part(struct view *v, uint32_t i)
{
    const char *text = part_text(v, i);
    for (uint32_t p = 0; p < v->part_count; p++)
        if (strcmp(v->texts[p], text) == 0)
            return;
    v->in_key[i] = true;
    v->texts[v->part_count] = text;
    v->parts[v->part_count++] = i;
}

static void take_app(struct view *v, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to && v->part_count < APP_PARTS; i++)
        if (is_app(v, i))
            add_part(v, i);
}

/* An app's own loop inside another: the app frame between the two waits for that loop. */
static void take_nested(struct view *v)
{
    uint32_t app = v->inside, outer;
    while (app < v->count && !is_app(v, app))
        app++;
    for (outer = app; outer < v->count && v->rulings[outer].action != GROUP_ACT_LOOP;)
        outer++;
    if (outer < v->count) {
        v->leaf = "loop";
        take_app(v, app, outer);
    }
}

/* main, when nothing of the app is called from it. */
static void take_main(struct view *v, const struct group_rules *rules)
{
    uint32_t i = v->inside;
    if (i < v->count && v->rulings[i].action == GROUP_ACT_ROOT &&
        group_rule_of(rules, &v->frames[i], NULL).action == GROUP_ACT_APP)
        add_part(v, i);
}

static void take_system(struct view *v)
{
    for (uint32_t i = 0; i < v->inside && v->part_count < SYSTEM_PARTS; i++)
        if (is_system(v, i))
            add_part(v, i);
    for (uint32_t i = 0; i < v->inside && !v->part_count; i++)
        if (v->rulings[i].action != GROUP_ACT_SKIP)
            add_part(v, i);
    if (!v->part_count && v->inside < v->count)
        add_part(v, v->inside);
}

static bool any_named(const struct view *v)
{
    for (uint32_t p = 0; p < v->part_count; p++)
        if (v->names[v->parts[p]])
            return true;
    return false;
}

static void find_parts(struct view *v, const struct group_rules *rules)
{
    take_app(v, 0, v->inside);
    if (!v->part_count && v->idle)
        take_nested(v);
    if (!v->part_count && !v->idle)
        take_main(v, rules);
    if (v->part_count) {
        v->idle = false;
        v->blamed = v->parts[0];
        v->section = v->names[v->blamed] ? GROUP_APP : GROUP_UNNAMED;
        return;
    }
    if (v->idle) {
        v->leaf = "idle";
        v->section = GROUP_SYSTEM;
        return;
    }
    find_entry(v);
    take_system(v);
    v->blamed = v->part_count ? v->parts[0] : NOBODY;
    v->section = any_named(v) ? GROUP_SYSTEM : GROUP_UNNAMED;
}

/* --- The answer ---------------------------------------------------------------------------------
 */

static fw_error make_key(const struct view *v, uint8_t key[16])
{
    struct report_bytes text = {0};
    unsigned char hash[EVP_MAX_MD_SIZE];
    out_text(&text, v->idle ? "idle" : v->blamed != NOBODY && is_system(v, v->blamed) ? "s" : "a");
    out_bytes(&text, "", 1);
    out_text(&text, v->leaf);
    for (uint32_t p = 0; p < v->part_count; p++) {
        out_bytes(&text, "", 1);
        out_text(&text, v->texts[p]);
    }
    if (v->entry) {
        out_bytes(&text, "\0", 2);
        out_text(&text, v->entry);
    }
    bool made =
        !text.failed && EVP_Digest(text.data, text.size, hash, NULL, EVP_sha256(), NULL) == 1;
    report_bytes_free(&text);
    if (!made)
        return FW_ERR_MEMORY;
    memcpy(key, hash, 16);
    return FW_OK;
}

static const char *make_title(struct view *v)
{
    if (v->idle)
        return "Idle: waits in its event loop";
    if (v->blamed == NOBODY)
        return "No stack";
    if (v->names[v->blamed])
        return v->names[v->blamed];
    const char *image = group_image_name(v->frames[v->blamed].image, v->arena, &v->failed);
    struct report_bytes title = {0};
    out_format(&title, "%s near 0x%" PRIx64, *image ? image : "code",
               v->frames[v->blamed].offset / PIECE * PIECE);
    return kept(v, &title);
}

static void add_search(struct report_bytes *out, const char *text)
{
    if (!text || out->size + strlen(text) + 1 > SEARCH_MAX)
        return;
    size_t from = out->size;
    out_text(out, text);
    for (size_t i = from; !out->failed && i < out->size; i++)
        out->data[i] = (char)tolower((unsigned char)out->data[i]);
    out_text(out, "\n");
}

static const char *make_search(struct view *v)
{
    struct report_bytes out = {0};
    const char *file = NULL;
    for (uint32_t i = 0; i < v->count && out.size < SEARCH_MAX; i++) {
        if (!i || !v->names[i] || !v->names[i - 1] || strcmp(v->names[i], v->names[i - 1]) != 0)
            add_search(&out, v->names[i]);
        if (v->frames[i].file && (!file || strcmp(file, v->frames[i].file) != 0))
            add_search(&out, v->frames[i].file);
        file = v->frames[i].file;
    }
    return kept(v, &out);
}

static const char *role_word(const struct view *v, uint32_t i)
{
    static const char *const words[] = {
        [GROUP_ACT_APP] = "app",   [GROUP_ACT_WRAPPER] = "wrapper", [GROUP_ACT_SYSTEM] = "system",
        [GROUP_ACT_ROOT] = "root", [GROUP_ACT_LOOP] = "root",       [GROUP_ACT_SKIP] = "skipped",
        [GROUP_ACT_LEAF] = "leaf", [GROUP_ACT_ENTRY] = "system"};
    if (i > v->inside && !v->in_key[i] && !is_bound(v, i))
        return "skipped"; /* outside the innermost loop */
    return words[v->rulings[i].action];
}

static void add_frame(struct report_bytes *out, const struct view *v, uint32_t i)
{
    const struct group_ruling *ruling = &v->rulings[i];
    struct report_bytes rule = {0};
    if (ruling->line)
        out_format(&rule, "line %" PRIu32 ": ", ruling->line);
    out_text(&rule, ruling->text);
    out_format(out, "%s{\"frame\":%" PRIu32 ",\"function\":", i ? "," : "", i);
    out_json(out, v->names[i]);
    out_format(out, ",\"role\":\"%s\",\"rule\":", role_word(v, i));
    out_json(out, rule.failed ? NULL : rule.data);
    out_format(out, ",\"in_key\":%s}", v->in_key[i] ? "true" : "false");
    report_bytes_free(&rule);
}

/* In words: what the key is made of. */
static void add_parts(struct report_bytes *out, const struct view *v)
{
    if (v->idle)
        out_text(out, "\"idle event loop\"");
    else
        out_format(out, "\"leaf: %s\"", v->leaf);
    for (uint32_t p = 0; p < v->part_count; p++) {
        out_text(out, ",");
        out_json(out, v->texts[p]);
    }
    if (v->entry)
        out_format(out, ",\"came in by: %s\"", v->entry);
}

static const char *make_why(struct view *v)
{
    struct report_bytes out = {0};
    out_text(&out, "{\"parts\":[");
    add_parts(&out, v);
    out_text(&out, "],\"frames\":[");
    for (uint32_t i = 0; i < v->count && i < WHY_FRAMES; i++)
        add_frame(&out, v, i);
    out_format(&out, "],\"left_out\":%" PRIu32 "}",
               v->count > WHY_FRAMES ? v->count - WHY_FRAMES : 0);
    return kept(v, &out);
}

fw_error group_stack(const struct group_rules *rules, const struct group_frame *frames,
                     size_t count, struct arena *arena, struct group_answer *answer)
{
    struct view v;
    *answer = (struct group_answer){
        .blamed = NOBODY, .title = "", .leaf = "cpu", .image = "", .search = "", .why = "{}"};
    fw_error error = examine(&v, rules, frames, count, arena);
    if (error != FW_OK)
        return error;
    find_leaf(&v);
    find_parts(&v, rules);
    error = make_key(&v, answer->key);
    if (error != FW_OK)
        return error;
    answer->section = v.section;
    answer->leaf = v.leaf;
    answer->title = make_title(&v);
    answer->blamed = v.blamed;
    if (v.blamed != NOBODY) {
        answer->image = where(&v, v.blamed);
        answer->file = frames[v.blamed].file;
        answer->line = frames[v.blamed].line;
    }
    answer->search = make_search(&v);
    answer->why = make_why(&v);
    return v.failed ? FW_ERR_MEMORY : FW_OK;
}
