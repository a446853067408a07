#include "cli/beside.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

bool beside_find(const char *file, bool (*fits)(const char *path, const void *context),
                 const void *context, char *path, size_t size)
{
    static const char *const places[] = {
        "",
        ("/" FW_AGENT_FOLDER),
        "/../lib/framewalk",
        "/../lib64/framewalk",
        "/../lib32/framewalk",
        "/../lib/i386-linux-gnu/framewalk",
        "/../lib/arm-linux-gnueabihf/framewalk",
    };
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *slash = length > 0 ? (self[length] = '\0', strrchr(self, '/')) : NULL;
    if (!slash)
        return false;
    *slash = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (snprintf(path, size, "%s%s/%s", self, places[i], file) < (int)size &&
            fits(path, context))
            return true;
    return false;
}
