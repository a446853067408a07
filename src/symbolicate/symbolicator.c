/* The symbolicator: its options, and nothing that changes after it is made. And how structs grow.
 */
#include "symbolicate/internal.h"

#include "object/codecs.h"
#include "symbolicate/file_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t codecs_once = PTHREAD_ONCE_INIT;

static void set_codecs(void)
{
    object_set_codecs(&object_codecs_all);
}

fw_error take_sized(void *to, size_t size, const void *from)
{
    size_t given;
    memcpy(&given, from, sizeof given);
    if (given <= sizeof given || given > SIZED_MAX)
        return FW_ERR_ARGUMENT;
    for (size_t i = size; i < given; i++)
        if (((const unsigned char *)from)[i])
            return FW_ERR_UNSUPPORTED;
    memset(to, 0, size);
    memcpy(to, from, given < size ? given : size);
    memcpy(to, &size, sizeof size);
    return FW_OK;
}

static bool copy_folders(struct fw_symbolicator *s, const char *const *folders)
{
    size_t count = 0;
    while (folders && folders[count])
        count++;
    s->folders = calloc(count + 1, sizeof *s->folders);
    for (size_t i = 0; s->folders && i < count; i++)
        if (!(s->folders[i] = strdup(folders[i])))
            return false;
    return s->folders != NULL;
}

/* $XDG_CACHE_HOME/framewalk, else ~/.cache/framewalk; "" when there is neither. */
static char *default_cache_folder(void)
{
    const char *base = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    char *folder;
    if (base && base[0] == '/')
        return asprintf(&folder, "%s/framewalk", base) < 0 ? NULL : folder;
    if (home && home[0] == '/')
        return asprintf(&folder, "%s/.cache/framewalk", home) < 0 ? NULL : folder;
    return strdup("");
}

static bool copy_options(struct fw_symbolicator *s)
{
    struct fw_symbolicator_options *o = &s->options;
    s->cache_folder = o->cache_folder ? strdup(o->cache_folder) : default_cache_folder();
    s->sysroot = o->sysroot ? strdup(o->sysroot) : NULL;
    if (!s->cache_folder || (o->sysroot && !s->sysroot) || !copy_folders(s, o->debug_folders))
        return false;
    s->index = file_index_create((const char *const *)s->folders);
    if (!s->index)
        return false;
    o->cache_folder = s->cache_folder;
    o->sysroot = s->sysroot;
    o->debug_folders = (const char *const *)s->folders;
    if (o->cache_limit == 0)
        o->cache_limit = 2000000000;
    return true;
}

fw_error fw_symbolicator_create(const struct fw_symbolicator_options *options,
                                struct fw_symbolicator **symbolicator)
{
    *symbolicator = NULL;
    struct fw_symbolicator_options given = {.size = sizeof given};
    fw_error error = options ? take_sized(&given, sizeof given, options) : FW_OK;
    if (error != FW_OK)
        return error;
    pthread_once(&codecs_once, set_codecs);
    struct fw_symbolicator *s = calloc(1, sizeof *s);
    if (!s)
        return FW_ERR_MEMORY;
    s->options = given;
    if (!copy_options(s)) {
        fw_symbolicator_destroy(s);
        return FW_ERR_MEMORY;
    }
    *symbolicator = s;
    return FW_OK;
}

void fw_symbolicator_destroy(struct fw_symbolicator *symbolicator)
{
    if (!symbolicator)
        return;
    file_index_destroy(symbolicator->index);
    for (size_t i = 0; symbolicator->folders && symbolicator->folders[i]; i++)
        free(symbolicator->folders[i]);
    free(symbolicator->folders);
    free(symbolicator->sysroot);
    free(symbolicator->cache_folder);
    free(symbolicator);
}
