/*
 * What the caller of an upload wants, checked before anything is sent.
 *
 * The key never appears in a message. A URL with a user or password in it is refused, for URLs do.
 * Of URLs only a plain form is let through, so that no other reader of it (libcurl, a proxy) can
 * see another host in it than is checked here.
 */
#include "watch/upload_internal.h"

#include "base/crc32c.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SIZED_MAX = 4096,
    URL_MAX = 2048,
    KEY_MAX = 1024,
    BATCH = 10,
    BATCH_BYTES = 1 << 20,
    FIRST_WAIT = 60,
    LONGEST_WAIT = 21600,
    POLL = 60,
};

static const char path_of_reports[] = "/api/v1/reports";
static const char bearer[] = "Authorization: Bearer ";

/* A struct of a caller who knows more fields is fine as long as these are zero. */
static bool take_options(const struct fw_upload_options *from, struct fw_upload_options *to)
{
    const uint8_t *bytes = (const uint8_t *)from;
    size_t given = from->size;
    if (given <= sizeof given || given > SIZED_MAX)
        return false;
    for (size_t i = sizeof *to; i < given; i++) {
        if (bytes[i])
            return false;
    }
    memset(to, 0, sizeof *to);
    memcpy(to, from, given < sizeof *to ? given : sizeof *to);
    for (size_t i = 0; i < sizeof to->reserved; i++) {
        if (to->reserved[i])
            return false;
    }
    to->size = sizeof *to;
    return to->allow <= FW_UPLOAD_ON_ALL;
}

static void fill_defaults(struct fw_upload_options *o)
{
    o->batch = o->batch ? o->batch : BATCH;
    o->batch = o->batch > UPLOAD_BATCH_MAX ? UPLOAD_BATCH_MAX : o->batch;
    o->batch_bytes = o->batch_bytes ? o->batch_bytes : BATCH_BYTES;
    o->first_wait_s = o->first_wait_s ? o->first_wait_s : FIRST_WAIT;
    o->longest_wait_s = o->longest_wait_s ? o->longest_wait_s : LONGEST_WAIT;
    if (o->longest_wait_s > UPLOAD_WAIT_MAX)
        o->longest_wait_s = UPLOAD_WAIT_MAX;
    if (o->first_wait_s > o->longest_wait_s)
        o->first_wait_s = o->longest_wait_s;
    o->poll_seconds = o->poll_seconds ? o->poll_seconds : POLL;
    if (o->poll_seconds > UPLOAD_WAIT_MAX)
        o->poll_seconds = UPLOAD_WAIT_MAX;
}

/* --- the URL --- */

struct url {
    const char *host; /* with the brackets of an IPv6 address */
    size_t host_size;
    bool https;
};

static bool is_port(const char *text, size_t size)
{
    if (size < 1 || size > 5 || strspn(text, "0123456789") < size)
        return false;
    return atol(text) <= 65535;
}

/* SCHEME://HOST[:PORT][/PATH]; what was wrong with it otherwise. */
static const char *split_url(const char *url, struct url *parts)
{
    size_t size = strlen(url);
    if (size > URL_MAX)
        return "it is too long";
    for (size_t i = 0; i < size; i++) {
        if (url[i] <= ' ' || url[i] > '~' || strchr("\\\"<>^`{|}", url[i]))
            return "it holds characters that no URL has (international names are written xn--)";
    }
    parts->https = strncasecmp(url, "https://", 8) == 0;
    if (!parts->https && strncasecmp(url, "http://", 7) != 0)
        return "it must begin with https:// (to this machine http:// will do)";
    const char *host = url + (parts->https ? 8 : 7);
    const char *end = host + strcspn(host, "/?#");
    if (memchr(host, '@', (size_t)(end - host)))
        return "no user or password may be in it: the key has an option of its own";
    if (strpbrk(host, "?#"))
        return "it must be without ? and #";
    const char *host_end;
    if (*host == '[') {
        size_t inside = strspn(host + 1, "0123456789abcdefABCDEF:.");
        if (!inside || host[inside + 1] != ']')
            return "its address in brackets is none";
        host_end = host + inside + 2;
    } else {
        host_end = host + strspn(host, "0123456789abcdefghijklmnopqrstuvwxyz"
                                       "ABCDEFGHIJKLMNOPQRSTUVWXYZ-._");
    }
    if (host_end == host || host_end > end)
        return "it names no host";
    if (host_end != end &&
        (*host_end != ':' || !is_port(host_end + 1, (size_t)(end - host_end - 1))))
        return "its host or port is none";
    parts->host = host;
    parts->host_size = (size_t)(host_end - host);
    return NULL;
}

/* 127.0.0.0/8 as four decimal numbers, ::1, and the name that means them. */
static bool is_loopback(const struct url *url)
{
    char host[16] = "";
    if (url->host_size >= sizeof host)
        return false;
    memcpy(host, url->host, url->host_size);
    if (strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0)
        return true;
    unsigned part[4];
    char more;
    if (strspn(host, "0123456789.") != url->host_size ||
        sscanf(host, "%3u.%3u.%3u.%3u%c", &part[0], &part[1], &part[2], &part[3], &more) != 4)
        return false;
    return part[0] == 127 && part[1] < 256 && part[2] < 256 && part[3] < 256;
}

static fw_error take_url(struct upload_settings *s, const char *given, struct fw_failure *why)
{
    struct url parts;
    if (!given || !*given)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no URL of a collector was given");
    const char *wrong = split_url(given, &parts);
    if (wrong) /* not shown: it may hold a password */
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the collector's URL: %s", wrong);
    s->loopback = is_loopback(&parts);
    if (!parts.https && !s->loopback && !s->options.plain_http)
        return failure_say(
            why, FW_ERR_ARGUMENT, 0,
            "%.150s: http:// would send reports and key for all to read; use https://", given);
    size_t size = strlen(given);
    while (size && given[size - 1] == '/')
        size--;
    s->target = malloc(size + sizeof path_of_reports);
    if (!s->target)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    memcpy(s->target, given, size);
    memcpy(s->target + size, path_of_reports, sizeof path_of_reports);
    return FW_OK;
}

/* --- the key --- */

/* Writing through a volatile pointer is not optimised away. */
static void wipe(void *bytes, size_t size)
{
    volatile char *b = bytes;
    while (size--)
        *b++ = 0;
}

static fw_error take_key(struct upload_settings *s, const char *key, size_t size,
                         struct fw_failure *why)
{
    while (size && isspace((unsigned char)key[size - 1]))
        size--;
    while (size && isspace((unsigned char)*key)) {
        key++;
        size--;
    }
    if (!size || size > KEY_MAX)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "the key is %s",
                           size ? "longer than any key" : "empty");
    for (size_t i = 0; i < size; i++) {
        if (key[i] <= ' ' || key[i] > '~')
            return failure_say(why, FW_ERR_ARGUMENT, 0,
                               "the key holds spaces, line breaks or characters beyond ASCII");
    }
    s->authorization = malloc(sizeof bearer + size);
    if (!s->authorization)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    memcpy(s->authorization, bearer, sizeof bearer);
    memcpy(s->authorization + sizeof bearer - 1, key, size);
    s->authorization[sizeof bearer - 1 + size] = '\0';
    return FW_OK;
}

static fw_error read_key(struct upload_settings *s, const char *path, int fd,
                         struct fw_failure *why)
{
    struct stat about;
    if (fstat(fd, &about) != 0)
        return failure_say(why, FW_ERR_SYSTEM, errno, "%.150s: %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode))
        return failure_say(why, FW_ERR_ARGUMENT, 0, "%.150s: the key's file is no regular file",
                           path);
    if (about.st_mode & (S_IRWXO | S_IWGRP))
        return failure_say(why, FW_ERR_PERMISSION, 0,
                           "%.120s: others may read or change the key; chmod 600 makes it safe",
                           path);
    char key[KEY_MAX + 64];
    size_t size = 0;
    ssize_t got;
    while (size < sizeof key && (got = read(fd, key + size, sizeof key - size)) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return failure_say(why, FW_ERR_SYSTEM, errno, "%.150s: %s", path, strerror(errno));
        size += (size_t)got;
    }
    fw_error error = take_key(s, key, size, why);
    wipe(key, sizeof key);
    return error;
}

static fw_error take_key_file(struct upload_settings *s, const char *path, struct fw_failure *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) {
        int code = errno;
        return failure_say(why, code == ENOENT ? FW_ERR_NOT_FOUND : FW_ERR_PERMISSION, code,
                           "%.150s: the key cannot be read: %s", path, strerror(code));
    }
    fw_error error = read_key(s, path, fd, why);
    close(fd);
    return error;
}

/* --- all together --- */

static char *copied(const char *text, bool *failed)
{
    if (!text)
        return NULL;
    char *copy = strdup(text);
    *failed |= !copy;
    return copy;
}

static fw_error fill(struct upload_settings *s, const struct fw_upload_options *given,
                     bool with_folder, struct fw_failure *why)
{
    struct fw_upload_options *o = &s->options;
    bool sized = take_options(given, o);
    const char *folder = o->folder, *url = o->url, *key = o->key, *key_file = o->key_file,
               *ca_file = o->ca_file;
    o->folder = o->url = o->key = o->key_file = o->ca_file =
        NULL; /* the caller's: not to be freed */
    if (!sized)
        return failure_say(why, FW_ERR_ARGUMENT, 0,
                           "fw_upload_options: its size or reserved fields are not as documented");
    if (with_folder && (!folder || !*folder))
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no folder of reports was given");
    if (key && key_file)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "a key and a file with one were given");
    fill_defaults(o);
    bool failed = false;
    o->folder = copied(folder, &failed);
    o->url = copied(url, &failed);
    o->ca_file = copied(ca_file, &failed);
    if (failed)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    if (ca_file && access(ca_file, R_OK) != 0)
        return failure_say(why, FW_ERR_NOT_FOUND, errno,
                           "%.150s: the certificates cannot be read: %s", ca_file, strerror(errno));
    fw_error error = take_url(s, url, why);
    if (!error && key)
        error = take_key(s, key, strlen(key), why);
    else if (!error && key_file)
        error = take_key_file(s, key_file, why);
    if (error)
        return error;
    s->audience = crc32c_more(0, s->target, strlen(s->target));
    if (s->authorization)
        s->audience = crc32c_more(s->audience, s->authorization, strlen(s->authorization));
    return FW_OK;
}

fw_error upload_settings_make(const struct fw_upload_options *options, bool with_folder,
                              struct upload_settings *settings, struct fw_failure *why)
{
    memset(settings, 0, sizeof *settings);
    fw_error error = fill(settings, options, with_folder, why);
    if (error)
        upload_settings_free(settings);
    return error;
}

void upload_settings_free(struct upload_settings *s)
{
    free((char *)(uintptr_t)s->options.folder);
    free((char *)(uintptr_t)s->options.url);
    free((char *)(uintptr_t)s->options.ca_file);
    free(s->target);
    if (s->authorization)
        wipe(s->authorization, strlen(s->authorization));
    free(s->authorization);
    memset(s, 0, sizeof *s);
}
