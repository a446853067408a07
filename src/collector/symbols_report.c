/*
 * A whole report with the names of the symbol store.
 *
 * All its stacks are one question (symbols_stack), with an unknown place between two of them. The
 * maps are held until the report is closed.
 */
#include "collector/symbols.h"

#include "base/failure.h"

#include <stdlib.h>

struct report_image_state {
    struct symbols_image *map; /* NULL: there is none */
    bool asked;                /* by a frame */
    size_t unnamed;
};

struct symbols_report {
    const struct report *report;
    struct report_image_state *images;
    struct symbols_place *places;
    struct symbols_found *found; /* of places */
    size_t *place_of;            /* of each frame */
    struct arena arena;
};

static void take_maps(struct symbols *symbols, int64_t project, struct symbols_report *n)
{
    const struct report *r = n->report;
    for (uint32_t i = 0; i < r->frame_count; i++) {
        uint64_t offset;
        uint8_t space;
        if (report_frame_place(r, i, &offset, &space))
            n->images[r->frames[i].image].asked = true;
    }
    for (size_t i = 0; i < r->image_count; i++) {
        const struct report_image *image = &r->images[i];
        if (!n->images[i].asked || !image->id_size)
            continue;
        n->images[i].map =
            r->kind == REPORT_V5 && image->id_size == 16
                ? symbols_take_breakpad(symbols, project, image->id)
                : symbols_take(symbols, project, image->id, image->id_size, image->arch);
    }
}

static size_t list_places(struct symbols_report *n)
{
    const struct report *r = n->report;
    size_t count = 0;
    for (uint32_t i = 0; i < r->frame_count; i++) {
        struct symbols_place *place = &n->places[count];
        n->place_of[i] = count++;
        if (report_frame_place(r, i, &place->offset, &place->space)) {
            place->image = n->images[r->frames[i].image].map;
            place->kind = r->frames[i].kind;
        }
        if (report_ends_stack(r, i))
            count++;
    }
    return count;
}

static bool is_worth(const struct symbols_report *n, uint32_t frame)
{
    const struct symbols_found *found = &n->found[n->place_of[frame]];
    const struct report_name *outer = found->count ? &found->names[found->count - 1] : NULL;
    return outer && report_wants_name(n->report, frame, outer->function, outer->file);
}

static void count_unnamed(struct symbols_report *n)
{
    const struct report *r = n->report;
    for (uint32_t i = 0; i < r->frame_count; i++)
        if (r->frames[i].image != REPORT_NONE && !r->frames[i].name_count && !is_worth(n, i))
            n->images[r->frames[i].image].unnamed++;
}

fw_error symbols_report_open(struct symbols *symbols, int64_t project, const struct report *report,
                             struct symbols_report **names, struct fw_failure *why)
{
    *names = NULL;
    struct symbols_report *n = calloc(1, sizeof *n);
    if (!n)
        return failure_say(why, FW_ERR_MEMORY, 0, "no memory for names");
    n->report = report;
    n->images = calloc(report->image_count + 1, sizeof *n->images);
    n->places = calloc(2 * report->frame_count + 1, sizeof *n->places);
    n->found = calloc(2 * report->frame_count + 1, sizeof *n->found);
    n->place_of = calloc(report->frame_count + 1, sizeof *n->place_of);
    fw_error error = FW_ERR_MEMORY;
    if (n->images && n->places && n->found && n->place_of) {
        take_maps(symbols, project, n);
        error = symbols_stack(n->places, list_places(n), &n->arena, n->found);
    }
    if (error != FW_OK) {
        symbols_report_close(n);
        return failure_say(why, error, 0, "no memory for names");
    }
    count_unnamed(n);
    *names = n;
    return FW_OK;
}

fw_error symbols_report_short_files(struct symbols_report *n)
{
    for (uint32_t i = 0; report_is_apple(n->report) && i < n->report->frame_count; i++) {
        struct symbols_found *found = &n->found[n->place_of[i]];
        struct report_name *names =
            arena_take_many(&n->arena, (size_t)found->count + 1, sizeof *names);
        if (!names)
            return FW_ERR_MEMORY;
        for (uint32_t k = 0; k < found->count; k++) {
            names[k] = found->names[k];
            const char *slash = names[k].file ? strrchr(names[k].file, '/') : NULL;
            if (slash && slash[1])
                names[k].file = slash + 1;
        }
        found->names = names;
    }
    return FW_OK;
}

size_t symbols_resolve(void *names, const struct report *report, uint32_t frame,
                       const struct report_name **found)
{
    const struct symbols_report *n = names;
    (void)report;
    if (!is_worth(n, frame))
        return 0;
    *found = n->found[n->place_of[frame]].names;
    return n->found[n->place_of[frame]].count;
}

bool symbols_report_has(const struct symbols_report *n, uint32_t image)
{
    return n->images[image].map != NULL;
}

bool symbols_report_asked(const struct symbols_report *n, uint32_t image)
{
    return n->images[image].asked;
}

size_t symbols_report_unnamed(const struct symbols_report *n, uint32_t image)
{
    return n->images[image].unnamed;
}

void symbols_report_close(struct symbols_report *n)
{
    if (!n)
        return;
    for (size_t i = 0; n->images && i < n->report->image_count; i++)
        symbols_drop(n->images[i].map);
    free(n->images);
    free(n->places);
    free(n->found);
    free(n->place_of);
    arena_free(&n->arena);
    free(n);
}
