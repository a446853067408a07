#include "collector/calls_groups.h"

#include "watch/privacy.h"

#include <stdio.h>
#include <string.h>

static bool has_apple_reports(struct api_view *v)
{
    return api_number(v,
                      "SELECT COUNT(*) FROM term t WHERE t.kind = 1 AND (t.text LIKE 'iOS%'"
                      " OR t.text LIKE 'iPadOS%' OR t.text LIKE 'iPhone OS%'"
                      " OR t.text LIKE 'macOS%' OR t.text LIKE 'Mac OS%' OR t.text LIKE 'tvOS%'"
                      " OR t.text LIKE 'visionOS%' OR t.text LIKE 'watchOS%')"
                      " AND EXISTS (SELECT 1 FROM report r WHERE r.project = $1 AND r.os = t.id)",
                      DB_VALUES(db_int(v->project))) > 0;
}

bool calls_groups_begin(struct api_view *v, struct calls_groups *groups)
{
    const char *names[CALLS_GROUPS_MAX];
    const size_t count =
        privacy_group_count < CALLS_GROUPS_MAX ? privacy_group_count : CALLS_GROUPS_MAX;
    for (size_t i = 0; i < count; i++)
        names[i] = privacy_groups[i].name;
    *groups = (struct calls_groups){.chosen = -1};
    if (!api_word(v, "group", names, count, -1, &groups->chosen))
        return false;
    groups->apple = has_apple_reports(v);
    return true;
}

static bool is_in(const struct calls_groups *groups, size_t index, const char *api, bool *by_key)
{
    const bool method = (api[0] == '-' || api[0] == '+') && api[1] == '[';
    return (groups->apple || method) && privacy_has(&privacy_groups[index], api, by_key);
}

bool calls_groups_chosen(const struct calls_groups *groups, const char *api)
{
    bool by_key;
    return groups->chosen < 0 || is_in(groups, (size_t)groups->chosen, api, &by_key);
}

static void write_texts(struct report_bytes *out, const char *key, const char *const *texts)
{
    api_open(out, key, '[');
    for (; *texts; texts++)
        api_text(out, NULL, *texts);
    api_shut(out, ']');
}

static void open_group(struct report_bytes *out, const struct privacy_group *group)
{
    api_open(out, NULL, '{');
    api_text(out, "name", group->name);
    api_text(out, "title", group->title);
    api_text(out, "category", group->category);
    write_texts(out, "reasons", group->reasons);
    write_texts(out, "permissions", group->permissions);
    api_open(out, "apis", '[');
}

/* A group that none of the table's functions is of is left out. */
static void write_group(struct report_bytes *out, const struct calls_groups *groups, size_t index,
                        const struct calls_table *t)
{
    bool opened = false, by_key;
    for (size_t i = 0; i < t->count; i++) {
        const char *api = t->rows[i].api;
        if ((i && strcmp(api, t->rows[i - 1].api) == 0) || !is_in(groups, index, api, &by_key))
            continue;
        if (!opened)
            open_group(out, &privacy_groups[index]);
        opened = true;
        api_open(out, NULL, '{');
        api_text(out, "api", api);
        api_bool(out, "by_key", by_key);
        api_shut(out, '}');
    }
    if (opened) {
        api_shut(out, ']');
        api_shut(out, '}');
    }
}

void calls_groups_write(struct report_bytes *out, const struct calls_groups *groups,
                        const struct calls_table *t)
{
    api_open(out, "privacy", '{');
    api_int(out, "version", privacy_version);
    api_text(out, "date", privacy_date);
    api_open(out, "groups", '[');
    for (size_t i = 0; i < privacy_group_count; i++)
        write_group(out, groups, i, t);
    api_shut(out, ']');
    api_shut(out, '}');
}

char *calls_groups_text(const struct calls_groups *groups, const char *api)
{
    char *text = NULL;
    size_t size = 0;
    bool by_key, any = false;
    FILE *to = open_memstream(&text, &size);
    for (size_t i = 0; to && i < privacy_group_count; i++) {
        if (!is_in(groups, i, api, &by_key))
            continue;
        const struct privacy_group *group = &privacy_groups[i];
        fprintf(to, "%s%s%s", any ? "; " : "", group->name, by_key ? " (by key)" : "");
        any = true;
        const char *separator = ": ";
        for (const char *const *at = group->category ? group->reasons : group->permissions; *at;
             at++, separator = " ")
            fprintf(to, "%s%s", separator, *at);
    }
    return to && fclose(to) == 0 ? text : NULL;
}
