/* Names of groups (calls_internal.h, privacy.h). */
#include <string.h>

#include "watch/calls_internal.h"
#include "watch/privacy.h"

struct written {
    const char **names;
    size_t count;
    bool full;
};

static void add(struct written *w, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->names[i], name) == 0)
            return;
    if (w->count == FW_CALLS_NAMES)
        w->full = true;
    else
        w->names[w->count++] = name;
}

static void add_all(struct written *w, const char *const *names)
{
    for (; *names; names++)
        add(w, *names);
}

/* False: there is no such group. */
static bool add_groups(struct written *w, const char *name)
{
    bool any = false;
    for (size_t i = 0; i < privacy_group_count; i++)
        if (privacy_in(name, i)) {
            any = true;
            add_all(w, privacy_groups[i].calls);
            add_all(w, privacy_groups[i].by_key);
        }
    return any;
}

fw_error calls_write_out(struct fw_calls_options *options, const char **names)
{
    bool any = false;
    for (size_t i = 0; i < options->count; i++)
        any |= privacy_is_group(options->names[i]);
    if (!any) /* as they are: the caller's numbers are these */
        return FW_OK;
    struct written w = {.names = names};
    for (size_t i = 0; i < options->count; i++) {
        if (!privacy_is_group(options->names[i]))
            add(&w, options->names[i]);
        else if (!add_groups(&w, options->names[i]))
            return FW_ERR_NOT_FOUND;
    }
    if (w.full)
        return FW_ERR_ARGUMENT;
    options->names = names;
    options->count = w.count;
    return FW_OK;
}

const char *fw_calls_groups(void)
{
    return privacy_names;
}

uint32_t fw_calls_groups_version(const char **date)
{
    if (date)
        *date = privacy_date;
    return privacy_version;
}
