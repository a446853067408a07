/* Strings into a report: valid UTF-8, of bounded length, without the names of home folders. */
#include "report/fwr_wire.h"

/* Bytes of the character at `p`, 0 when they are not UTF-8 (Unicode, table 3-7). */
static size_t character(const uint8_t *p, size_t left)
{
    uint8_t low = 0x80, high = 0xbf;
    size_t size = 0;
    if (p[0] < 0x80)
        return 1;
    if (p[0] >= 0xc2 && p[0] <= 0xdf)
        size = 2;
    else if (p[0] >= 0xe0 && p[0] <= 0xef)
        size = 3;
    else if (p[0] >= 0xf0 && p[0] <= 0xf4)
        size = 4;
    if (p[0] == 0xe0)
        low = 0xa0;
    else if (p[0] == 0xed)
        high = 0x9f;
    else if (p[0] == 0xf0)
        low = 0x90;
    else if (p[0] == 0xf4)
        high = 0x8f;
    if (size == 0 || size > left || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < size; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return size;
}

/* Copies what is valid, and '?' for each byte that is not. */
static size_t copy_text(uint8_t *to, size_t room, const char *text, size_t size)
{
    const uint8_t *p = (const uint8_t *)text;
    size_t out = 0;
    for (size_t i = 0; i < size;) {
        size_t n = character(p + i, size - i);
        if (out + (n ? n : 1) > room)
            break;
        if (n)
            memcpy(to + out, p + i, n);
        else
            to[out] = '?';
        out += n ? n : 1;
        i += n ? n : 1;
    }
    return out;
}

/* `tilde`: a "~" before the text. */
static void put_text(struct wire *w, unsigned field, bool tilde, const char *text, size_t most)
{
    uint8_t copy[1 + FWR_TEXT_BYTES];
    size_t size = 0;
    if (tilde)
        copy[size++] = '~';
    size += copy_text(copy + size, most, text, strnlen(text, most + 4));
    wire_bytes(w, field, copy, size);
}

void wire_text(struct wire *w, unsigned field, const char *text, size_t most)
{
    if (text)
        put_text(w, field, false, text, most);
}

/* Bytes of `path` that are somebody's home folder. */
static size_t home_size(const char *path)
{
    static const char *const homes[] = {"/home/", "/Users/", "/var/home/", "/export/home/",
                                        "/usr/home/"};
    if (strncmp(path, "/root", 5) == 0 && (path[5] == '/' || path[5] == 0))
        return 5;
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        size_t size = strlen(homes[i]);
        if (strncmp(path, homes[i], size) != 0)
            continue;
        size_t end = size;
        while (path[end] && path[end] != '/')
            end++;
        if (end > size && strncmp(path + size, "Shared/", 7) != 0)
            return end;
    }
    return 0;
}

void wire_path(struct wire *w, unsigned field, const char *path)
{
    if (!path)
        return;
    size_t home = home_size(path);
    put_text(w, field, home > 0, path + home, FWR_TEXT_BYTES);
}
