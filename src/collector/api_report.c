/*
 * One report with names: out of its body, as far as that goes.
 *
 * Bounded: of a report with a million frames the first REPORT_FRAMES are shown, and "truncated"
 * says so; all of them are in the downloads.
 */
#include "collector/api_frames.h"
#include "collector/api_report_body.h"
#include "framewalk/stack.h"
#include "report/words.h"

#include <stdlib.h>

enum { FRAMES = 50000, THREADS = 5000, ROWS = 20000, IMAGES = 4096 };

struct view {
    struct api_view *v;
    const struct report *report;
    struct symbols_report *names;
    bool *own;            /* by image: the app's */
    const char **sources; /* by image: api_frames_sources() */
    uint32_t *number;     /* by thread: its place in "threads" or "stacks" */
    size_t frames;        /* written so far */
    bool truncated;
};

/* --- images --- */

static void read_own(struct view *w)
{
    struct api_view *v = w->v;
    const struct report *r = w->report;
    for (size_t i = 0; i < r->image_count && i < IMAGES; i++) {
        const struct report_image *image = &r->images[i];
        bool main = r->info.path && image->path && strcmp(image->path, r->info.path) == 0;
        w->own[i] =
            main ||
            (image->id_size &&
             api_number(v,
                        "SELECT MAX(own) FROM project_image WHERE debug_id = $1"
                        " AND project = $2",
                        DB_VALUES(db_bytes(image->id, image->id_size), db_int(v->project))) > 0);
        if (symbols_report_has(w->names, (uint32_t)i))
            w->sources[i] =
                api_frames_sources(v, (struct span){image->id, image->id_size}, &v->r->arena);
    }
}

static void write_images(struct view *w)
{
    struct report_bytes *out = &w->v->out;
    const struct report *r = w->report;
    api_open(out, "images", '[');
    for (uint32_t i = 0; i < r->image_count; i++) {
        const struct report_image *image = &r->images[i];
        if (i == IMAGES) {
            w->truncated = true;
            break;
        }
        api_open(out, NULL, '{');
        api_text(out, "name", image->name);
        if (image->id_size)
            api_hex(out, "debug_id", (struct span){image->id, image->id_size});
        else
            api_null(out, "debug_id");
        api_bool(out, "has_map", symbols_report_has(w->names, i));
        api_text(out, "path", image->path);
        api_text(out, "arch", image->arch);
        api_bool(out, "app", w->own[i]);
        api_shut(out, '}');
    }
    api_shut(out, ']');
}

/* --- frames --- */

static void write_name(struct view *w, const struct report_frame *frame,
                       const struct report_name *name)
{
    const struct report *r = w->report;
    bool in_image = frame->image != REPORT_NONE && frame->image < r->image_count;
    const struct report_image *image = in_image ? &r->images[frame->image] : NULL;
    bool named = name && name->function;
    struct api_frame answer = {
        .function = name ? name->function : NULL,
        .file = name ? name->file : NULL,
        .line = name ? name->line : 0,
        .image = image && *image->name ? image->name : NULL,
        .offset = frame->has_offset ? frame->offset : frame->address,
        .exact = frame->kind == REPORT_EXACT,
        .inlined = name && (name->flags & REPORT_INLINED),
        .tail_call = name && (name->flags & REPORT_TAIL_CALL),
        .app = image && w->own[frame->image],
        .status = named                                                  ? "named"
                  : image && !symbols_report_has(w->names, frame->image) ? "no_map"
                                                                         : "unknown",
        .sources = image ? w->sources[frame->image] : NULL,
    };
    api_open(&w->v->out, NULL, '{');
    api_frame_members(&w->v->out, &answer);
    api_shut(&w->v->out, '}');
}

static void write_frame(struct view *w, uint32_t index)
{
    const struct report_frame *frame = &w->report->frames[index];
    const struct report_name *names = NULL;
    size_t count = symbols_resolve(w->names, w->report, index, &names);
    if (!count) { /* what the report says itself */
        names = &w->report->names[frame->first_name];
        count = frame->name_count;
    }
    if (!count)
        write_name(w, frame, NULL);
    for (size_t i = 0; i < count; i++)
        write_name(w, frame, &names[i]);
    w->frames += count ? count : 1;
}

static void write_gap(struct view *w, uint64_t omitted)
{
    struct api_frame gap = {.status = "gap"};
    api_open(&w->v->out, NULL, '{');
    api_frame_members(&w->v->out, &gap);
    api_int(&w->v->out, "omitted", (int64_t)(omitted > INT64_MAX ? INT64_MAX : omitted));
    api_shut(&w->v->out, '}');
}

/* --- stacks --- */

static void write_stack(struct view *w, const struct report_thread *thread)
{
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        if (w->frames >= FRAMES) {
            w->truncated = true;
            return;
        }
        if (thread->omitted && i == thread->head)
            write_gap(w, thread->omitted);
        write_frame(w, thread->first_frame + i);
    }
}

/* A tree's heaviest path. heaviest[i]: the heaviest frame within frame i of the thread; the last
 * one stands for those without parent. False: out of memory. */
static bool heaviest_path(const struct report *r, const struct report_thread *thread,
                          uint32_t *path, size_t room, size_t *count)
{
    uint32_t n = thread->frame_count, first = thread->first_frame;
    uint32_t *heaviest = malloc(((size_t)n + 1) * sizeof *heaviest);
    if (!heaviest)
        return false;
    for (uint32_t i = 0; i <= n; i++)
        heaviest[i] = REPORT_NONE;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t parent = r->frames[first + i].parent;
        uint32_t *best =
            &heaviest[parent != REPORT_NONE && parent - first < i ? parent - first : n];
        if (*best == REPORT_NONE || r->frames[first + i].samples > r->frames[first + *best].samples)
            *best = i;
    }
    *count = 0;
    for (uint32_t at = heaviest[n]; at != REPORT_NONE && *count < room; at = heaviest[at])
        path[(*count)++] = first + at;
    free(heaviest);
    return true;
}

static void write_tree(struct view *w, const struct report_thread *thread)
{
    uint32_t path[1024];
    size_t count;
    if (!heaviest_path(w->report, thread, path, 1024, &count)) {
        api_no_memory(w->v);
        return;
    }
    for (size_t i = 0; i < count && w->frames < FRAMES; i++) /* innermost first */
        write_frame(w, thread->order == REPORT_CALLERS ? path[count - 1 - i] : path[i]);
}

static void write_frames(struct view *w, const char *key, const struct report_thread *thread)
{
    api_open(&w->v->out, key, '[');
    if (thread->order == REPORT_STACK)
        write_stack(w, thread);
    else
        write_tree(w, thread);
    api_shut(&w->v->out, ']');
}

/* --- threads --- */

static uint64_t hash_thread(const struct report *r, const struct report_thread *thread)
{
    uint64_t hash = thread->frame_count;
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        const struct report_frame *f = &r->frames[thread->first_frame + i];
        uint64_t place = f->has_offset ? f->offset : f->address;
        hash = (hash ^ place ^ (uint64_t)f->image << 40) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 29;
    }
    return hash;
}

static bool same_frames(const struct report *r, const struct report_thread *a,
                        const struct report_thread *b)
{
    if (a->frame_count != b->frame_count || a->omitted != b->omitted || a->head != b->head ||
        a->order != REPORT_STACK || b->order != REPORT_STACK)
        return false;
    for (uint32_t i = 0; i < a->frame_count; i++) {
        const struct report_frame *x = &r->frames[a->first_frame + i];
        const struct report_frame *y = &r->frames[b->first_frame + i];
        if (x->image != y->image || x->has_offset != y->has_offset || x->kind != y->kind ||
            (x->has_offset ? x->offset != y->offset : x->address != y->address))
            return false;
    }
    return true;
}

struct seen { /* threads so far, by the hash of their frames */
    uint64_t hash;
    uint32_t thread;
    bool used;
};

/* The earlier thread with the same stack; REPORT_NONE: this is the first. */
static uint32_t same_as(const struct report *r, struct seen *seen, size_t capacity, uint32_t index)
{
    const struct report_thread *thread = &r->threads[index];
    uint64_t hash = hash_thread(r, thread);
    size_t at = (size_t)hash & (capacity - 1);
    for (; seen[at].used; at = (at + 1) & (capacity - 1))
        if (seen[at].hash == hash && same_frames(r, thread, &r->threads[seen[at].thread]))
            return seen[at].thread;
    seen[at] = (struct seen){.hash = hash, .thread = index, .used = true};
    return REPORT_NONE;
}

static const char *end_of(const struct report_thread *thread)
{
    bool cut = thread->end != FW_END_NONE && thread->end != FW_END_ROOT;
    return cut ? fw_end_text((fw_end)thread->end) : NULL;
}

static void write_thread(struct view *w, const struct report_thread *thread, uint32_t same)
{
    struct report_bytes *out = &w->v->out;
    char state[2] = {thread->state, 0};
    api_open(out, NULL, '{');
    api_text(out, "name", thread->name ? thread->name : thread->queue);
    api_text(out, "id", thread->id);
    api_text(out, "process", thread->process);
    api_bool(out, "main", thread->main);
    api_bool(out, "watched", thread->watched || thread->crashed);
    api_text(out, "state", thread->state ? state : NULL);
    api_text(out, "end", end_of(thread));
    api_text(out, "unavailable",
             thread->unavailable ? fw_unavailable_text((fw_unavailable)thread->unavailable) : NULL);
    if (same != REPORT_NONE) {
        api_int(out, "same_as", w->number[same]);
        api_open(out, "frames", '[');
        api_shut(out, ']');
    } else {
        write_frames(w, "frames", thread);
    }
    api_shut(out, '}');
}

static void write_threads(struct view *w)
{
    enum { CAPACITY = 16384 };
    const struct report *r = w->report;
    struct seen *seen = calloc(CAPACITY, sizeof *seen);
    api_open(&w->v->out, "threads", '[');
    for (uint32_t i = 0, written = 0; seen && i < r->thread_count; i++) {
        const struct report_thread *thread = &r->threads[i];
        if (thread->stack || thread->repeats)
            continue;
        if (written++ == THREADS) {
            w->truncated = true;
            break;
        }
        write_thread(w, thread, thread->frame_count ? same_as(r, seen, CAPACITY, i) : REPORT_NONE);
    }
    api_shut(&w->v->out, ']');
    if (!seen)
        api_no_memory(w->v);
    free(seen);
}

/* --- what Framewalk's own reports have beside threads --- */

static void write_stacks(struct view *w)
{
    const struct report *r = w->report;
    api_open(&w->v->out, "stacks", '[');
    for (size_t i = 0; i < r->thread_count; i++)
        if (r->threads[i].stack)
            write_frames(w, NULL, &r->threads[i]);
    api_shut(&w->v->out, ']');
}

static void write_stack_number(struct view *w, uint32_t stack)
{
    if (stack < w->report->thread_count && w->report->threads[stack].stack)
        api_int(&w->v->out, "stack", w->number[stack]);
    else
        api_null(&w->v->out, "stack");
}

static size_t at_most(struct view *w, size_t count)
{
    w->truncated |= count > ROWS;
    return count > ROWS ? ROWS : count;
}

static void write_samples(struct view *w)
{
    struct report_bytes *out = &w->v->out;
    size_t count = at_most(w, w->report->sample_count);
    api_open(out, "samples", '[');
    for (size_t i = 0; i < count; i++) {
        const struct report_sample *sample = &w->report->samples[i];
        api_open(out, NULL, '{');
        api_int(out, "at_ns", (int64_t)sample->at_ns);
        api_int(out, "weight_ns", (int64_t)sample->weight_ns);
        api_int(out, "count", sample->count);
        write_stack_number(w, sample->stack);
        api_shut(out, '}');
    }
    api_shut(out, ']');
}

static void write_calls(struct view *w)
{
    struct report_bytes *out = &w->v->out;
    const struct report *r = w->report;
    size_t count = at_most(w, r->call_count);
    api_open(out, "calls", '[');
    for (size_t i = 0; i < count; i++) {
        const struct report_call *call = &r->calls[i];
        api_open(out, NULL, '{');
        api_text(out, "api", call->api < r->api_count ? r->apis[call->api].name : NULL);
        api_int(out, "count", (int64_t)call->count);
        api_int(out, "first_ms", (int64_t)call->first_ms);
        api_int(out, "last_ms", (int64_t)call->last_ms);
        write_stack_number(w, call->stack);
        api_shut(out, '}');
    }
    api_shut(out, ']');
}

static void write_script(struct view *w, const struct report_script *script)
{
    struct report_bytes *out = &w->v->out;
    api_open(out, NULL, '{');
    api_int(out, "at_ns", (int64_t)script->at_ns);
    api_text(out, "language", script->language);
    api_open(out, "frames", '[');
    for (uint32_t i = 0; i < script->frame_count && w->frames < FRAMES; i++, w->frames++) {
        const struct report_script_frame *frame =
            &w->report->script_frames[script->first_frame + i];
        api_open(out, NULL, '{');
        api_text(out, "function", frame->function);
        api_text(out, "file", frame->file);
        api_int(out, "line", frame->line);
        api_shut(out, '}');
    }
    api_shut(out, ']');
    api_shut(out, '}');
}

static void write_rest(struct view *w)
{
    struct report_bytes *out = &w->v->out;
    const struct report *r = w->report;
    size_t scripts = at_most(w, r->script_count), keys = at_most(w, r->key_count);
    api_open(out, "scripts", '[');
    for (size_t i = 0; i < scripts; i++)
        write_script(w, &r->scripts[i]);
    api_shut(out, ']');
    api_open(out, "keys", '[');
    for (size_t i = 0; i < keys; i++) {
        api_open(out, NULL, '{');
        api_text(out, "key", r->keys[i].key);
        api_text(out, "value", r->keys[i].value);
        api_shut(out, '}');
    }
    api_shut(out, ']');
}

/* --- the answer --- */

static void write_row(struct api_view *v, const struct api_report_row *row)
{
    struct report_bytes *out = &v->out;
    api_hex(out, "id", (struct span){row->id, 16});
    api_text(out, "kind", api_report_kind(row->kind));
    api_text(out, "project", http_part(v->r, "project"));
    api_int(out, "received_ms", row->received_ms);
    api_int(out, "started_ms", row->started_ms);
    api_text(out, "version", row->version);
    api_text(out, "build", row->build);
    api_text(out, "os", row->os);
    api_text(out, "device", row->device);
    api_text(out, "ending", ending_word((uint8_t)row->ending));
    api_int(out, "duration_ns", row->duration_ns);
    api_bool(out, "complete", row->complete != 0);
    if (row->group && row->group_title) {
        api_open(out, "group", '{');
        api_int(out, "id", row->group);
        api_text(out, "title", row->group_title);
        api_shut(out, '}');
    } else {
        api_null(out, "group");
    }
}

static void write_head(struct api_view *v, const struct report *r, const char *note)
{
    struct report_bytes *out = &v->out;
    api_bool(out, "body", r != NULL);
    api_text(out, "note", r ? r->note : note);
    api_int(out, "process_age_ms", r ? (int64_t)r->process_age_ms : 0);
    api_text(out, "arch", r ? r->info.arch : NULL);
    api_text(out, "executable", r ? r->info.path : NULL);
    api_text(out, "app", !r ? NULL : r->info.bundle ? r->info.bundle : r->info.process);
    api_text(out, "veto", r && r->hang.veto ? veto_word(r->hang.veto) : NULL);
}

static void write_empty(struct api_view *v)
{
    static const char *const lists[] = {"threads", "stacks", "samples", "calls",
                                        "scripts", "keys",   "images"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        api_open(&v->out, lists[i], '[');
        api_shut(&v->out, ']');
    }
    api_bool(&v->out, "truncated", false);
}

static void write_body(struct api_view *v, const struct api_body *body)
{
    const struct report *r = body->report;
    struct view w = {.v = v,
                     .report = r,
                     .names = body->names,
                     .own = calloc(r->image_count + 1, sizeof *w.own),
                     .sources = calloc(r->image_count + 1, sizeof *w.sources),
                     .number = calloc(r->thread_count + 1, sizeof *w.number)};
    if (!w.own || !w.sources || !w.number) {
        api_no_memory(v);
    } else {
        for (uint32_t i = 0, stacks = 0, threads = 0; i < r->thread_count; i++)
            w.number[i] = r->threads[i].stack     ? stacks++
                          : r->threads[i].repeats ? REPORT_NONE
                                                  : threads++;
        read_own(&w);
        write_threads(&w);
        write_stacks(&w);
        write_samples(&w);
        write_calls(&w);
        write_rest(&w);
        write_images(&w);
        api_bool(&v->out, "truncated", w.truncated);
    }
    free(w.own);
    free(w.sources);
    free(w.number);
}

static void get_report(struct http_request *r)
{
    struct api_view v;
    struct api_report_row row = {.row = 0};
    struct api_body body;
    if (!api_begin(&v, r, 0, NULL) || !api_report_find(&v, &row))
        return;
    bool there = api_body_open(&v, row.row, &body);
    api_open(&v.out, NULL, '{');
    write_row(&v, &row);
    write_head(&v, body.report, "the body is gone: it is kept for as long as the settings say");
    if (there)
        write_body(&v, &body);
    else
        write_empty(&v);
    api_shut(&v.out, '}');
    api_body_close(&body);
    api_end(&v);
}

static const struct http_route routes[] = {
    {.method = "GET",
     .pattern = "/api/v1/projects/{project}/reports/{id}",
     .needs = ACCESS_READ,
     .handle = get_report},
};
const struct http_routes routes_report = {routes, sizeof routes / sizeof *routes};
