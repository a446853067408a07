/* access_store.h: names of scopes. */
#include "collector/access_store.h"

#include <string.h>

static const char *const scopes[] = {"reports:write", "symbols:write", "read",
                                     "symbols:read",  "triage",        "admin"};
enum { SCOPES = sizeof scopes / sizeof *scopes };

const char *access_scope_name(unsigned index)
{
    return index < SCOPES ? scopes[index] : NULL;
}

unsigned access_scope_of(const char *name)
{
    for (unsigned i = 0; i < SCOPES; i++) {
        if (strcmp(name, scopes[i]) == 0)
            return 1u << i;
    }
    return 0;
}
