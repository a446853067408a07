#include "watch/privacy.h"

#include <string.h>

static const char all[] = "@privacy";
enum { ALL_LENGTH = sizeof all - 1 };

bool privacy_is_group(const char *name)
{
    return name[0] == '@';
}

bool privacy_in(const char *name, size_t index)
{
    if (strncmp(name, all, ALL_LENGTH) != 0)
        return false;
    name += ALL_LENGTH;
    return !*name || (*name == '.' && strcmp(name + 1, privacy_groups[index].name) == 0);
}

static bool is_among(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names;
}

bool privacy_has(const struct privacy_group *group, const char *call, bool *by_key)
{
    *by_key = is_among(group->by_key, call);
    return *by_key || is_among(group->calls, call);
}
