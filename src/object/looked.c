/* See looked.h. */
#include "object/looked.h"

#include "object/object_internal.h"

#include <stdio.h>

/* Adds "entry" or "entry (reason)"; what no longer fits shows as "...". */
static void add(char *list, size_t size, const char *entry, const char *reason)
{
    size_t used = strlen(list);
    if (used >= 3 && strcmp(list + used - 3, "...") == 0)
        return;
    int n = snprintf(list + used, size - used, "%s%s%s%s%s", used ? ", " : "", entry,
                     reason ? " (" : "", reason ? reason : "", reason ? ")" : "");
    if (n < 0 || (size_t)n >= size - used)
        snprintf(list + (used + 6 < size ? used : size - 6), 6, used ? ", ..." : "...");
}

void looked_place(void *context, const char *path, const char *outcome)
{
    struct looked *l = context;
    if (outcome && strcmp(outcome, OBJECT_NO_FILE) == 0)
        add(l->places, sizeof l->places, path, NULL);
    else if (outcome)
        add(l->refused, sizeof l->refused, path, outcome);
}

fw_error looked_fail(const struct looked *looked, const char *what, struct fw_failure *why)
{
    return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, what, "%s%s%s%s%s",
                       looked->refused[0] ? "refused " : "", looked->refused,
                       looked->refused[0] && looked->places[0] ? "; " : "",
                       looked->places[0] ? "none at " : "", looked->places);
}
