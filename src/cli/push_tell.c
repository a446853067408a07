/* What became of the debug files, for people and as JSON. */
#include "cli/push_debug.h"

#include <stdio.h>

static void tell_ids(const struct push_file *file)
{
    for (size_t i = 0; i < file->slice_count; i++) {
        const struct debug_slice *s = &file->slices[i];
        printf("    %s %s ", s->arch, push_kind_words[s->kind]);
        for (size_t k = 0; k < s->id_size; k++)
            printf("%02x", s->id[k]);
        putchar('\n');
    }
}

static void tell_file(const struct push_debug *d, const struct push_file *file)
{
    const struct push_command *c = d->command;
    bool would = file->fate == PUSH_WANTED && c->dry_run;
    if (file->fate == PUSH_ALONE || file->incomplete) {
        cli_error("%s: %s", file->path, file->missing);
        if (file->fate == PUSH_ALONE)
            return;
    }
    if (file->fate == PUSH_FAILED || file->fate == PUSH_USELESS) {
        cli_error("%s: %s%s%s", file->path,
                  file->fate == PUSH_FAILED ? "not sent" : "the collector cannot use it",
                  file->message[0] ? ": " : "", file->message);
        return;
    }
    if (c->quiet || (!c->verbose && !would && file->fate != PUSH_SENT))
        return;
    cli_say("%s  %s%s%s", file->path, would ? "would be sent" : push_fate_words[file->fate],
            file->message[0] ? ": " : "", file->message);
    if (c->verbose)
        tell_ids(file);
}

/* Of debug files; source bundles are counted apart. */
static size_t count_of(const struct push_found *found, enum push_fate fate)
{
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++)
        count += !found->files[i].bundle.size && found->files[i].fate == fate;
    return count;
}

static size_t count_bundles(const struct push_found *found, enum push_fate fate)
{
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++)
        count += found->files[i].bundle.size && found->files[i].fate == fate;
    return count;
}

static void tell_count(const char *before, size_t count, const char *words)
{
    if (count)
        printf("%s%zu %s", before, count, words);
}

void push_debug_tell(const struct push_debug *d)
{
    const struct push_found *found = &d->found;
    for (size_t i = 0; i < found->count; i++)
        tell_file(d, &found->files[i]);
    if (found->bitcode_maps && !d->command->quiet)
        puts("BCSymbolMaps were left out: Apple's bitcode, which they belong to, is no more");
    if (found->cut)
        cli_error("the search ended early: too many or too deep folders; name those that matter");
    if (found->unreadable)
        cli_error("%zu files or folders could not be read", found->unreadable);
    if (!found->count || d->command->quiet)
        return;
    size_t sent = count_of(found, d->command->dry_run ? PUSH_WANTED : PUSH_SENT);
    printf("%zu debug file%s %s", sent, sent == 1 ? "" : "s",
           d->command->dry_run ? "would be sent" : "sent");
    size_t bundles = count_bundles(found, d->command->dry_run ? PUSH_WANTED : PUSH_SENT);
    tell_count(", ", bundles, bundles == 1 ? "source bundle" : "source bundles");
    tell_count(", ", count_of(found, PUSH_PRESENT), "there already");
    tell_count(", ", count_of(found, PUSH_HAS_BETTER), "with a debug file that serves instead");
    tell_count(", ", count_of(found, PUSH_TWIN), "found twice");
    tell_count(", ", count_of(found, PUSH_STRIPPED), "stripped (--include-stripped sends them)");
    tell_count(", ", count_of(found, PUSH_NO_ID), "without build id");
    tell_count(", ", count_of(found, PUSH_USELESS), "of no use to the collector");
    tell_count(", ", count_of(found, PUSH_ALONE), "not made: files with names are missing");
    tell_count(", ",
               count_of(found, PUSH_FAILED) +
                   (d->command->dry_run ? 0 : count_of(found, PUSH_WANTED)),
               "not sent");
    putchar('\n');
}

json_t *push_debug_json(const struct push_debug *d)
{
    json_t *list = json_array();
    for (size_t i = 0; i < d->found.count; i++) {
        const struct push_file *file = &d->found.files[i];
        json_t *ids = json_array();
        for (size_t k = 0; k < file->slice_count; k++) {
            json_t *id = push_debug_id(d->command, &file->slices[k]);
            json_object_set_new(id, "kind", json_string(push_kind_words[file->slices[k].kind]));
            json_array_append_new(ids, id);
        }
        json_array_append_new(list, json_pack("{s:s, s:I, s:s, s:s, s:s, s:o}", "path", file->path,
                                              "size", (json_int_t)file->size, "state",
                                              push_fate_words[file->fate], "message", file->message,
                                              "upload", file->upload, "identities", ids));
    }
    return list;
}
