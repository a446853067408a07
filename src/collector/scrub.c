/*
 * One pass over the text: scrub.h. It knows no format; what it looks for is spelled alike in all of
 * Apple's and KSCrash's forms, as JSON (slashes escaped or not) or as lines of text.
 */
#include "collector/scrub.h"
#include "base/hex.h"
#include "collector/install.h"
#include "report/out.h"

#include <stdio.h>

enum { NAME_MOST = 64, VALUE_MOST = 1024 };

struct scrubbing {
    struct span text;
    const char *salt;
    struct report_bytes *out;
    size_t copied; /* bytes of the text that are in `out`, or replaced */
    bool failed;
};

static bool starts(struct span text, size_t at, const char *word)
{
    size_t size = strlen(word);
    return at <= text.size && text.size - at >= size && memcmp(text.data + at, word, size) == 0;
}

/* [begin, end) of the text gives way to `with`. */
static void replace(struct scrubbing *s, size_t begin, size_t end, const char *with)
{
    out_bytes(s->out, s->text.data + s->copied, begin - s->copied);
    out_bytes(s->out, with, strlen(with));
    s->copied = end;
}

/* ---- home folders ---- */

/* "/" as it is, or escaped as JSON may have it: its length; 0: neither. */
static size_t slash(struct span text, size_t at)
{
    return starts(text, at, "/") ? 1 : starts(text, at, "\\/") ? 2 : 0;
}

static bool ends_path(uint8_t c)
{
    return c < 0x20 || c == '"' || c == '\'' || c == ')' || c == ']' || c == '>' || c == ',' ||
           c == ':' || c == '|' || c == ';';
}

/* Where the name that begins at `at` ends: at a slash, or with the path. A name with a blank needs
 * a slash behind it. */
static size_t name_end(struct span text, size_t at)
{
    size_t blank = 0, end = at;
    for (; end < text.size && end - at <= NAME_MOST && !ends_path(text.data[end]); end++) {
        if (slash(text, end))
            return end;
        if (text.data[end] == '\\')
            break;
        if (text.data[end] == ' ' && !blank)
            blank = end;
    }
    return end - at > NAME_MOST && !blank ? at : blank ? blank : end;
}

static bool is_name(struct span text, size_t begin, size_t end)
{
    static const char *const nobody[] = {"USER", "Shared", "*", "~"};
    for (size_t i = 0; i < sizeof nobody / sizeof *nobody; i++)
        if (end - begin == strlen(nobody[i]) && starts(text, begin, nobody[i]))
            return false;
    return end > begin;
}

/* Whether a path may begin at `at`: nothing of a longer one is before it. */
static bool begins_path(struct span text, size_t at)
{
    if (at == 0)
        return true;
    uint8_t c = text.data[at - 1];
    bool part = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                c == '_' || c == '-' || c == '.' || c == '~' || c == '/' || c >= 0x80;
    return !part;
}

/* The end of a home folder's path that begins at `at`; 0: there is none. */
static size_t home(struct scrubbing *s, size_t at)
{
    static const char *const folders[] = {"Users", "home"};
    size_t first = slash(s->text, at);
    for (size_t i = 0; first && i < sizeof folders / sizeof *folders; i++) {
        if (!starts(s->text, at + first, folders[i]))
            continue;
        size_t after = at + first + strlen(folders[i]);
        size_t second = slash(s->text, after);
        size_t name = after + second, end = second ? name_end(s->text, name) : 0;
        if (!second || !is_name(s->text, name, end))
            continue;
        if (begins_path(s->text, at))
            replace(s, at, end, "~");
        else
            replace(s, name, end, "USER");
        return end;
    }
    return 0;
}

/* ---- values ---- */

static void hash_value(struct scrubbing *s, size_t begin, size_t end)
{
    uint8_t hash[16];
    char text[33];
    if (begin == end)
        return;
    if (install_hash(s->salt, (struct span){s->text.data + begin, end - begin}, hash) != FW_OK) {
        s->failed = true;
        return;
    }
    hex_text(text, hash, sizeof hash);
    replace(s, begin, end, text);
}

static size_t skip_space(struct span text, size_t at)
{
    while (at < text.size && (text.data[at] == ' ' || text.data[at] == '\t' ||
                              text.data[at] == '\n' || text.data[at] == '\r'))
        at++;
    return at;
}

/* A member "KEY" : "value" that begins at `at`: the end of its value, 0: none of ours. */
static size_t member(struct scrubbing *s, size_t at)
{
    static const char *const keys[] = {
        "\"crashReporterKey\"",   "\"deviceIdentifierForVendor\"",
        "\"CrashReporterKey\"",   "\"device_identifier_for_vendor\"",
        "\"deviceName\"",         "\"device_name\"",
        "\"computerName\"",       "\"hostName\"",
        "\"hostname\"",           "\"device_app_hash\"",
        "\"crash_reporter_key\"",
    };
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!starts(s->text, at, keys[i]))
            continue;
        size_t colon = skip_space(s->text, at + strlen(keys[i]));
        size_t quote = starts(s->text, colon, ":") ? skip_space(s->text, colon + 1) : 0;
        if (!quote || !starts(s->text, quote, "\""))
            return 0;
        size_t end = quote + 1;
        while (end < s->text.size && s->text.data[end] != '"' && s->text.data[end] != '\n')
            end += s->text.data[end] == '\\' && end + 1 < s->text.size ? 2 : 1;
        end = end < s->text.size ? end : s->text.size;
        hash_value(s, quote + 1, end);
        return end;
    }
    return 0;
}

/* A line "Key:   value" that begins at `at`: the end of its value, 0: none of ours. */
static size_t line(struct scrubbing *s, size_t at)
{
    static const char *const keys[] = {
        "CrashReporter Key:", "Anonymous UUID:", "Device Name:", "Computer Name:", "Host Name:"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (!starts(s->text, at, keys[i]))
            continue;
        size_t begin = at + strlen(keys[i]), end;
        while (begin < s->text.size && (s->text.data[begin] == ' ' || s->text.data[begin] == '\t'))
            begin++;
        for (end = begin; end < s->text.size && s->text.data[end] != '\n'; end++)
            ;
        while (end > begin && (s->text.data[end - 1] == '\r' || s->text.data[end - 1] == ' '))
            end--;
        hash_value(s, begin, end);
        return end;
    }
    return 0;
}

fw_error scrub(struct span text, const char *salt, struct report_bytes *out)
{
    struct scrubbing s = {.text = text, .salt = salt, .out = out};
    for (size_t at = 0; at < text.size;) {
        uint8_t c = text.data[at];
        size_t end = 0;
        if (c == '/' || c == '\\')
            end = home(&s, at);
        else if (c == '"')
            end = member(&s, at);
        else if ((c >= 'A' && c <= 'H') && (at == 0 || text.data[at - 1] == '\n'))
            end = line(&s, at);
        at = end > at ? end : at + 1;
    }
    replace(&s, text.size, text.size, "");
    return s.failed || out->failed ? FW_ERR_MEMORY : FW_OK;
}
