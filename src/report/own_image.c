/* See own_image.h. */
#include "report/own_image.h"

#include <stddef.h>
#include <string.h>

enum { NAME_LEAST = 3 }; /* libc is no part of a program "c" */

struct text {
    const char *at;
    size_t size;
};

static bool is_text(struct text a, const char *b)
{
    return strlen(b) == a.size && memcmp(a.at, b, a.size) == 0;
}

static bool is_one_of(struct text a, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_text(a, list[i]))
            return true;
    return false;
}

static bool begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

/* The last component of the folder that `path` lies in; empty: the root. */
static struct text folder_of(const char *path)
{
    const char *end = strrchr(path, '/'), *at = end;
    while (at > path && at[-1] != '/')
        at--;
    return (struct text){at, (size_t)(end - at)};
}

/* Files of many programs lie there. */
static bool is_shared_folder(struct text folder)
{
    static const char *const shared[] = {"",      "bin",   "sbin",   "games",  "lib",
                                         "lib32", "lib64", "libx32", "libexec"};
    static const char triplet[] = "-linux-gnu";
    if (is_one_of(folder, shared, sizeof shared / sizeof *shared))
        return true;
    for (size_t i = 0; i + sizeof triplet - 1 <= folder.size; i++)
        if (memcmp(folder.at + i, triplet, sizeof triplet - 1) == 0)
            return true;
    return false;
}

static bool is_version(char c)
{
    return (c >= '0' && c <= '9') || c == '.' || c == '-';
}

/* "gimp" of /usr/bin/gimp-2.10. */
static struct text name_of(const char *program)
{
    struct text name = {strrchr(program, '/') + 1, 0};
    name.size = strlen(name.at);
    while (name.size && is_version(name.at[name.size - 1]))
        name.size--;
    return name;
}

/* Their folders and libraries are there for everybody's scripts. */
static bool is_interpreter(struct text name)
{
    static const char *const names[] = {"python", "perl", "ruby",  "node",  "nodejs",
                                        "java",   "php",  "lua",   "guile", "tclsh",
                                        "mono",   "gjs",  "dotnet"};
    return is_one_of(name, names, sizeof names / sizeof *names);
}

/* Installed with the system, not built by somebody in a folder of his. */
static bool is_installed(const char *program)
{
    static const char *const places[] = {"/usr/bin/",     "/usr/sbin/", "/usr/games/",
                                         "/usr/libexec/", "/bin/",      "/sbin/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if (begins(program, places[i]))
            return true;
    return false;
}

/* A folder of the program's name on the way: /usr/lib/x86_64-linux-gnu/mousepad/plugins/x.so. */
static bool is_in_folder(const char *image, struct text name)
{
    for (const char *at = image, *end; (end = strchr(at, '/')); at = end + 1)
        if ((size_t)(end - at) == name.size && memcmp(at, name.at, name.size) == 0)
            return true;
    return false;
}

/* libmousepad.so.0, libgimp-2.0.so; not libmousepadview.so. */
static bool is_library_of(const char *image, struct text name)
{
    const char *file = strrchr(image, '/') + 1;
    if (!begins(file, "lib") || strncmp(file + 3, name.at, name.size) != 0)
        return false;
    const char after = file[3 + name.size];
    return after == '_' || is_version(after);
}

bool own_image(const char *program, const char *image)
{
    if (!program || !image || !strchr(program, '/') || !strchr(image, '/'))
        return false;
    if (strcmp(program, image) == 0)
        return true;
    const size_t place = (size_t)(strrchr(program, '/') + 1 - program);
    if (!is_shared_folder(folder_of(program)) && strncmp(program, image, place) == 0)
        return true;
    const struct text name = name_of(program);
    if (!is_installed(program) || name.size < NAME_LEAST || is_interpreter(name))
        return false;
    return is_in_folder(image, name) || is_library_of(image, name);
}

bool own_script(const char *file)
{
    static const char *const foreign[] = {"/node_modules/", "/lib/python", "/site-packages/",
                                          "/dist-packages/"};
    if (!file)
        return true;
    if (begins(file, "node:") || begins(file, "<frozen "))
        return false;
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strstr(file, foreign[i]))
            return false;
    return true;
}
