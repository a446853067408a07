/*
 * The cache of the debuginfod client, and asking one server after the other.
 *
 * A cached file that is empty says that no server had it, at the time when it was made. Servers are
 * asked in their order; only when all of them answered 404 is that remembered.
 */
#include "symbolicate/debuginfod.h"

#include "object/object.h"
#include "symbolicate/http.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
    TIMEOUT = 90,      /* seconds */
    MISS_SECONDS = 600 /* for which "nobody has it" is believed */
};
#define SIZE_LIMIT ((uint64_t)16 << 30)

static uint64_t number_from(const char *text, uint64_t fallback)
{
    char *end;
    if (!text || *text < '0' || *text > '9')
        return fallback;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 ? value : fallback;
}

static long seconds_from(const char *text, long fallback)
{
    uint64_t value = number_from(text, (uint64_t)fallback);
    return value > 1000000 ? 1000000 : (long)value;
}

/* PATH/NAME, to be freed; NULL when `path` is NULL or empty. */
static char *below(const char *path, const char *name)
{
    char *joined;
    if (!path || !path[0] || asprintf(&joined, "%s/%s", path, name) < 0)
        return NULL;
    return joined;
}

static char *cache_folder(void)
{
    const char *given = getenv("DEBUGINFOD_CACHE_PATH");
    if (given && given[0])
        return strdup(given);
    char *old = below(getenv("HOME"), ".debuginfod_client_cache");
    if (old && access(old, F_OK) == 0)
        return old;
    free(old);
    char *xdg = below(getenv("XDG_CACHE_HOME"), "debuginfod_client");
    return xdg ? xdg : below(getenv("HOME"), ".cache/debuginfod_client");
}

/* All folders of a path whose parents may be missing. */
static bool make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int result = mkdir(path, 0700);
        int error = errno;
        *slash = '/';
        if (result != 0 && error != EEXIST)
            return false;
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

/* How long a miss is believed: what CACHE/cache_miss_s says, as elfutils' client writes it. */
static time_t miss_seconds(const char *cache)
{
    char text[32] = "";
    char *path = below(cache, "cache_miss_s");
    FILE *file = path ? fopen(path, "re") : NULL;
    if (file) {
        if (!fgets(text, sizeof text, file))
            text[0] = 0;
        fclose(file);
        text[strcspn(text, "\n")] = 0;
    }
    free(path);
    return (time_t)number_from(text, MISS_SECONDS);
}

enum cached { CACHED_NOT, CACHED_FILE, CACHED_MISS };

static enum cached look_in_cache(const char *cache, const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode))
        return CACHED_NOT;
    if (status.st_size > 0)
        return CACHED_FILE;
    if (time(NULL) - status.st_mtime < miss_seconds(cache))
        return CACHED_MISS;
    unlink(path);
    return CACHED_NOT;
}

static void remember_miss(const char *path)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0);
    if (fd >= 0)
        close(fd);
}

/* NULL when the file at `path` has the build id that was asked for. */
static const char *objection(const struct debuginfod_request *request, const char *path)
{
    struct object *object;
    fw_error error = object_open(path, &object, NULL);
    if (error != FW_OK)
        return error == FW_ERR_MEMORY ? "out of memory" : "is no object file";
    struct span id = object_build_id(object);
    const char *reason = NULL;
    if (object_is_truncated(object))
        reason = "truncated";
    else if (id.size != request->id.size || memcmp(id.data, request->id.data, id.size) != 0)
        reason = "other build id";
    object_close(object);
    return reason;
}

/* Fetches `url` to a file of its own beside `path` and, when it is right, moves it there. */
static bool fetch(const struct debuginfod_request *request, const char *url, const char *path,
                  long *status)
{
    char outcome[128] = "", header[64];
    char *temporary;
    if (asprintf(&temporary, "%s.XXXXXX", path) < 0)
        return false;
    uint64_t limit = number_from(getenv("DEBUGINFOD_MAXSIZE"), 0);
    struct http_request http = {
        .url = url,
        .size_limit = limit ? limit : SIZE_LIMIT,
        .timeout = seconds_from(getenv("DEBUGINFOD_TIMEOUT"), TIMEOUT),
        .total_timeout = seconds_from(getenv("DEBUGINFOD_MAXTIME"), 0),
        .progress = request->progress,
        .context = request->context,
    };
    if (limit) {
        snprintf(header, sizeof header, "X-DEBUGINFOD-MAXSIZE: %llu", (unsigned long long)limit);
        http.header = header;
    }
    const char *reason = "the cache cannot be written";
    int fd = mkostemp(temporary, O_CLOEXEC);
    bool good = false;
    if (fd >= 0) {
        enum http_result result = http_get(&http, fd, outcome, status);
        reason = result == HTTP_OK ? objection(request, temporary) : outcome;
        if (close(fd) != 0 && !reason)
            reason = "the cache cannot be written";
        good = !reason && rename(temporary, path) == 0;
        if (!good)
            unlink(temporary);
    }
    if (!good)
        request->tell(request->tell_context, url, reason ? reason : "the cache cannot be written");
    free(temporary);
    return good;
}

static bool is_http(const char *url)
{
    return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

/* Asks all servers; true when one had the right file. */
static bool ask_servers(const struct debuginfod_request *request, const char *servers,
                        const char *path)
{
    bool good = false, nobody = true;
    char *copy = strdup(servers), *rest = copy;
    for (char *server; rest && !good && (server = strsep(&rest, " \t\n")) != NULL;) {
        size_t length = strlen(server);
        while (length && server[length - 1] == '/')
            server[--length] = 0;
        if (length == 0)
            continue;
        long status = 0;
        char *url;
        if (!is_http(server)) {
            request->tell(request->tell_context, server, "neither http nor https");
        } else if (asprintf(&url, "%s/buildid/%s/%s", server, request->hex, request->kind) >= 0) {
            good = fetch(request, url, path, &status);
            free(url);
        }
        nobody = nobody && !good && status == 404;
    }
    if (copy && nobody && !good)
        remember_miss(path);
    free(copy);
    return good;
}

char *debuginfod_fetch(const struct debuginfod_request *request)
{
    const char *servers = getenv("DEBUGINFOD_URLS");
    if (!servers || !servers[strspn(servers, " \t\n")])
        return NULL;
    char *cache = cache_folder();
    char *folder = below(cache, request->hex);
    char *path = below(folder, request->kind);
    bool good = false;
    if (path) {
        switch (look_in_cache(cache, path)) {
        case CACHED_FILE: good = true; break;
        case CACHED_MISS:
            request->tell(request->tell_context, path, "no server had it a short while ago");
            break;
        case CACHED_NOT:
            if (make_folders(folder))
                good = ask_servers(request, servers, path);
            else
                request->tell(request->tell_context, folder, "the cache cannot be written");
            break;
        }
    }
    free(cache);
    free(folder);
    if (!good) {
        free(path);
        path = NULL;
    }
    return path;
}
