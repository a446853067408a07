/* See generated.h. */
#include "cli/generated.h"

#include "base/array.h"
#include "cli/perf_file.h"
#include "cli/perf_names.h"
#include "report/perf_map.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct generated {
    int map;
    uint64_t size; /* of the map when it was opened */
    struct perf_wants wants;
    struct part { /* beside wants.items: its name taken apart */
        char *text;
        struct perf_name name;
    } *parts;
};

struct generated *generated_open(int32_t pid)
{
    uint64_t size;
    int map = perf_file_open(pid, &size);
    struct generated *generated = map >= 0 ? calloc(1, sizeof(*generated)) : NULL;
    if (generated == NULL) {
        if (map >= 0)
            close(map);
        return NULL;
    }
    generated->map = map;
    generated->size = size;
    return generated;
}

static uint64_t place(const struct fw_frame *frame)
{
    return frame->address - (frame->kind == FW_FRAME_RETURN);
}

static bool want_stack(struct generated *generated, const struct dump *dump,
                       const struct dump_stack *stack)
{
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct fw_frame *frame = &stack->frames[i];
        struct fw_symbol symbol;
        if (i > 0 && frame->address == frame[-1].address && frame->kind == frame[-1].kind)
            continue;
        if (fw_process_symbol(dump->process, frame, &symbol) != FW_OK)
            return false;
        if (symbol.name == NULL && !perf_wants_add(&generated->wants, place(frame)))
            return false;
    }
    return true;
}

static bool take_apart(struct generated *generated)
{
    const struct perf_wants *wants = &generated->wants;
    generated->parts = calloc(wants->count > 0 ? wants->count : 1, sizeof(*generated->parts));
    if (generated->parts == NULL)
        return false;
    for (size_t i = 0; i < wants->count; i++) {
        struct part *part = &generated->parts[i];
        if (wants->items[i].name == NULL)
            continue;
        part->text = strdup(wants->items[i].name);
        if (part->text == NULL)
            return false;
        perf_map_name(part->text, &part->name);
    }
    return true;
}

bool generated_read(struct generated *generated, const struct dump *dump)
{
    for (size_t t = 0; t < dump->thread_count; t++)
        for (size_t s = 0; s < dump->threads[t].stack_count; s++)
            if (!want_stack(generated, dump, &dump->threads[t].stacks[s]))
                return false;
    perf_wants_sort(&generated->wants);
    return (generated->wants.count == 0 ||
            perf_wants_read(&generated->wants, generated->map, generated->size)) &&
           take_apart(generated);
}

bool generated_find(const struct generated *generated, const struct fw_frame *frame,
                    struct generated_name *name)
{
    const struct perf_wanted *wanted =
        generated != NULL ? perf_wants_find(&generated->wants, place(frame)) : NULL;
    if (wanted == NULL || wanted->name == NULL)
        return false;
    const struct perf_name *parts = &generated->parts[wanted - generated->wants.items].name;
    *name = (struct generated_name){.function = parts->function,
                                    .file = parts->file,
                                    .whole = wanted->name,
                                    .line = parts->line,
                                    .start = wanted->start};
    return true;
}

void generated_free(struct generated *generated)
{
    if (generated == NULL)
        return;
    for (size_t i = 0; generated->parts != NULL && i < generated->wants.count; i++)
        free(generated->parts[i].text);
    free(generated->parts);
    perf_wants_free(&generated->wants);
    close(generated->map);
    free(generated);
}
