/* See looked.h. */
#include "object/looked.h"

#include <stdio.h>
#include <string.h>

void looked_add(char *list, size_t size, const char *entry, const char *reason)
{
    size_t used = strlen(list);
    if (used >= 3 && strcmp(list + used - 3, "...") == 0)
        return;
    int n = snprintf(list + used, size - used, "%s%s%s%s%s", used ? ", " : "", entry,
                     reason ? " (" : "", reason ? reason : "", reason ? ")" : "");
    if (n < 0 || (size_t)n >= size - used)
        snprintf(list + (used + 6 < size ? used : size - 6), 6, used ? ", ..." : "...");
}
