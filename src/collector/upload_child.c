/*
 * The child of the job "convert": started on one upload, and what its lines say taken down.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/sandbox.h"
#include "collector/upload_run.h"
#include "symbolicate/debug_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { FILES_MAX = 20000, RESULT_MAX = 2000, WALL_FACTOR = 3 };

/* ---- what the child says ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static void join_features(const json_t *list, char *text, size_t size)
{
    size_t i, used = 0;
    const json_t *word;
    text[0] = 0;
    json_array_foreach(list, i, word)
    {
        int n = snprintf(text + used, size - used, "%s%s", used ? "," : "",
                         json_string_value(word) ? json_string_value(word) : "");
        if (n < 0 || (size_t)n >= size - used)
            break;
        used += (size_t)n;
    }
}

static size_t read_hex(const char *hex, uint8_t *bytes, size_t size)
{
    size_t n = 0;
    for (; n < size && hex[2 * n] && hex[2 * n + 1]; n++) {
        const char two[3] = {hex[2 * n], hex[2 * n + 1], 0};
        if (strspn(two, "0123456789abcdef") != 2)
            return 0;
        bytes[n] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

const char *const upload_kind_names[UPLOAD_KINDS] = {"", "executable", "debuginfo", "map",
                                                     "sources"};

static void tell_file(struct upload_run *run, const json_t *slice, int kind)
{
    const char *message = text_of(slice, "message");
    const char *state = !json_is_true(json_object_get(slice, "keep")) ? "unusable"
                        : number_of(slice, "map")                     ? "mapped"
                                                                      : "stored";
    if (json_array_size(run->told) < RESULT_MAX)
        json_array_append_new(
            run->told,
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "debug_id", text_of(slice, "id"), "arch",
                      text_of(slice, "arch"), "kind", upload_kind_names[kind], "name",
                      text_of(slice, "name"), "state", state, "message", message));
}

static bool take_slice(struct upload_run *run, const json_t *slice)
{
    uint64_t kind = number_of(slice, "kind");
    tell_file(run, slice, kind < UPLOAD_KINDS ? (int)kind : 0);
    if (!json_is_true(json_object_get(slice, "keep")) || kind < 1 || kind >= UPLOAD_KINDS)
        return true;
    if (run->count >= FILES_MAX ||
        !array_room(&run->found, &run->capacity, run->count, sizeof *run->found))
        return false;
    struct upload_found *f = &run->found[run->count];
    *f = (struct upload_found){.number = (unsigned)number_of(slice, "file"),
                               .map = (unsigned)number_of(slice, "map"),
                               .file = {.kind = (int)kind}};
    f->file.id_size = read_hex(text_of(slice, "id"), f->file.id, sizeof f->file.id);
    snprintf(f->file.arch, sizeof f->file.arch, "%s", text_of(slice, "arch"));
    snprintf(f->file.name, sizeof f->file.name, "%s", text_of(slice, "name"));
    snprintf(f->file.message, sizeof f->file.message, "%s", text_of(slice, "message"));
    join_features(json_object_get(slice, "features"), f->file.features, sizeof f->file.features);
    if (kind == DEBUG_FILE_SOURCES)
        f->map = 0;
    run->count += f->file.id_size > 0;
    return true;
}

static bool take_line(void *context, const json_t *line)
{
    struct upload_run *run = context;
    const json_t *slice = json_object_get(line, "slice");
    if (json_object_get(line, "phase")) {
        run->done = number_of(line, "done");
        run->total = number_of(line, "total");
    }
    if (slice && !take_slice(run, slice))
        return false;
    if (!line && !upload_has_room(run->c, 0)) /* each file has its limit, all together have this */
        return false;
    return jobs_progress(run->c, run->job, run->done, run->total);
}

/* ---- the child ---- */

/* framewalk-converter stands beside this program. */
static bool find_converter(char *path, size_t size)
{
    static const char name[] = "framewalk-converter";
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + sizeof name > size)
        return false;
    memcpy(slash + 1, name, sizeof name);
    return true;
}

fw_error upload_convert(struct upload_run *run)
{
    const struct collector_options *o = run->c->options;
    const struct sandbox_limits limits = {
        .child = {.memory = o->convert_memory,
                  .seconds = o->convert_seconds,
                  .file = o->convert_output,
                  .mapped = 2 * (o->upload_bytes > o->convert_output ? o->upload_bytes
                                                                     : o->convert_output)},
        .wall_seconds = WALL_FACTOR * o->convert_seconds,
        .unpacked = o->unpacked_bytes};
    char program[512];
    if (!find_converter(program, sizeof program))
        return failure_say(run->why, FW_ERR_SYSTEM, 0, "framewalk-converter is not there");
    return sandbox_run(program, run->input, run->output, run->name, &limits, take_line, run,
                       run->why);
}
