#include "symbolicate/identity.h"

#include "object/object.h"
#include "symbolicate/debuginfod.h"
#include "symbolicate/file_index.h"
#include "symbolicate/find.h"
#include "symbolicate/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ID_MAX = 64 };

struct search {
    struct fw_symbolicator *symbolicator;
    struct span id;
    char hex[2 * ID_MAX + 1];
    char *path;
    enum indexed_kind kind;
    bool failed; /* memory ran out */
    FILE *story;
    bool told; /* something stands in the story */
};

void identity_hex(struct span id, char *hex, size_t size)
{
    hex[0] = 0;
    for (size_t i = 0; i < id.size && 2 * i + 3 <= size; i++)
        snprintf(hex + 2 * i, 3, "%02x", id.data[i]);
}

static void tell(void *context, const char *place, const char *outcome)
{
    struct search *s = context;
    fprintf(s->story, "%s%s (%s)", s->told ? ", " : "", place, outcome);
    s->told = true;
}

static void take(struct search *s, const char *path, enum indexed_kind kind)
{
    char *copy = strdup(path);
    s->failed |= !copy;
    free(s->path);
    s->path = copy;
    s->kind = kind;
}

/* True when the file is there and has the identity. */
static bool try_path(struct search *s, const char *path)
{
    struct object *object;
    struct fw_failure why;
    const struct object_choice choice = {.uuid = s->id};
    fw_error error = object_open_choice(path, &choice, &object, &why);
    if (error == FW_OK) {
        object_close(object);
        take(s, path, INDEXED_DEBUG);
        return true;
    }
    s->failed |= error == FW_ERR_MEMORY;
    bool absent = error == FW_ERR_NOT_FOUND && why.os_error != 0;
    tell(s, path,
         absent                      ? OBJECT_NO_FILE
         : error == FW_ERR_NOT_FOUND ? "another identity"
                                     : fw_error_text(error));
    return false;
}

static bool try_build_id(struct search *s, const char *root, const char *folder, const char *suffix)
{
    char *path;
    if (s->id.size < 2 ||
        asprintf(&path, "%s%s/.build-id/%.2s/%s%s", root, folder, s->hex, s->hex + 2, suffix) < 0)
        return false;
    bool found = try_path(s, path);
    free(path);
    return found;
}

static bool better(void *context, const struct indexed_file *file)
{
    struct search *s = context;
    if (!s->path || file->kind < s->kind)
        take(s, file->path, file->kind);
    return s->kind != INDEXED_MAP && !s->failed;
}

static bool from_servers(struct search *s, const char *kind)
{
    const struct fw_symbolicator_options *o = &s->symbolicator->options;
    struct debuginfod_request request = {.id = s->id,
                                         .hex = s->hex,
                                         .kind = kind,
                                         .tell = tell,
                                         .tell_context = s,
                                         .progress = o->progress,
                                         .context = o->progress_context};
    char *path = o->no_debuginfod ? NULL : debuginfod_fetch(&request);
    bool found = path && try_path(s, path);
    free(path);
    return found;
}

static void look(struct search *s)
{
    const char *root = s->symbolicator->sysroot ? s->symbolicator->sysroot : "";
    for (char **folder = s->symbolicator->folders; *folder; folder++)
        if (try_build_id(s, "", *folder, ".debug"))
            return;
    s->failed |= !file_index_find(s->symbolicator->index, s->id, better, s);
    if (s->path || s->failed)
        return;
    file_index_tell(s->symbolicator->index, tell, s);
    if (!try_build_id(s, root, "/usr/lib/debug", ".debug") &&
        !try_build_id(s, root, "/usr/lib/debug", "") && !try_build_id(s, root, "/usr/lib", "") &&
        !from_servers(s, "debuginfo"))
        from_servers(s, "executable");
}

bool identity_find(struct fw_symbolicator *symbolicator, struct span id, struct identified *found)
{
    *found = (struct identified){0};
    struct search s = {.symbolicator = symbolicator, .id = id};
    size_t size;
    if (s.id.size > ID_MAX)
        s.id.size = ID_MAX;
    identity_hex(s.id, s.hex, sizeof s.hex);
    s.story = open_memstream(&found->story, &size);
    if (!s.story)
        return false;
    look(&s);
    if (fclose(s.story) != 0 || s.failed) {
        free(s.path);
        free(found->story);
        *found = (struct identified){0};
        return false;
    }
    found->path = s.path;
    found->is_map = s.path && s.kind == INDEXED_MAP;
    return true;
}
