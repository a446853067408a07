#include "collector/symbol_layout.h"

#include <string.h>

enum { PARTS_MAX = 6, ID_LEAST = 2 };

struct part {
    const char *text;
    size_t length;
};

struct parts {
    struct part at[PARTS_MAX];
    size_t count;
};

/* False: an empty part, or too many. */
static bool split(const char *path, struct parts *parts)
{
    parts->count = 0;
    for (;;) {
        size_t length = strcspn(path, "/");
        if (length == 0 || parts->count == PARTS_MAX)
            return false;
        parts->at[parts->count++] = (struct part){path, length};
        if (!path[length])
            return true;
        path += length + 1;
    }
}

static bool is(struct part part, const char *text)
{
    return part.length == strlen(text) && memcmp(part.text, text, part.length) == 0;
}

static bool same(struct part a, struct part b)
{
    return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

static bool take_end(struct part *part, const char *end)
{
    size_t length = strlen(end);
    if (part->length < length || memcmp(part->text + part->length - length, end, length) != 0)
        return false;
    part->length -= length;
    return true;
}

static bool take_start(struct part *part, const char *start)
{
    size_t length = strlen(start);
    if (part->length < length || memcmp(part->text, start, length) != 0)
        return false;
    part->text += length;
    part->length -= length;
    return true;
}

/* Adds the bytes of hexadecimal digits to the wish's id. `letter`: 'a' or 'A'. */
static bool add_hex(struct symbol_wish *wish, struct part digits, char letter)
{
    if (digits.length % 2 || digits.length / 2 > sizeof wish->id - wish->id_size)
        return false;
    for (size_t i = 0; i < digits.length; i++) {
        char c = digits.text[i];
        int value = c >= '0' && c <= '9'             ? c - '0'
                    : c >= letter && c <= letter + 5 ? c - letter + 10
                                                     : -1;
        if (value < 0)
            return false;
        uint8_t *byte = &wish->id[wish->id_size + i / 2];
        *byte = (uint8_t)(i % 2 ? *byte | value : value << 4);
    }
    wish->id_size += digits.length / 2;
    return true;
}

bool symbol_id_read(const char *text, size_t length, uint8_t id[64], size_t *size)
{
    struct symbol_wish wish = {0};
    if (!add_hex(&wish, (struct part){text, length}, 'a') || wish.id_size < ID_LEAST)
        return false;
    memcpy(id, wish.id, sizeof wish.id);
    *size = wish.id_size;
    return true;
}

/* nn and nnnn... */
static bool two_parts_id(struct symbol_wish *wish, struct part first, struct part rest)
{
    return first.length == 2 && rest.length >= 2 && add_hex(wish, first, 'a') &&
           add_hex(wish, rest, 'a');
}

static bool read_unified(const struct parts *p, struct symbol_wish *wish)
{
    if (p->count != 3 || !two_parts_id(wish, p->at[0], p->at[1]))
        return false;
    wish->wanted = is(p->at[2], "executable")  ? SYMBOL_EXECUTABLE
                   : is(p->at[2], "debuginfo") ? SYMBOL_DEBUGINFO
                   : is(p->at[2], "breakpad")  ? SYMBOL_BREAKPAD
                                               : 0;
    return wish->wanted != 0;
}

static bool read_gdb(const struct parts *p, struct symbol_wish *wish)
{
    size_t first = p->count == 3 && is(p->at[0], ".build-id") ? 1 : 0;
    if (p->count != first + 2)
        return false;
    struct part rest = p->at[first + 1];
    wish->wanted = take_end(&rest, ".debug") ? SYMBOL_DEBUGINFO : SYMBOL_EXECUTABLE;
    return two_parts_id(wish, p->at[first], rest);
}

static bool read_ssqp(const struct parts *p, struct symbol_wish *wish)
{
    static const struct {
        const char *name, *before; /* NULL: any name */
        enum symbol_wanted wanted;
    } forms[] = {{"_.debug", "elf-buildid-sym-", SYMBOL_DEBUGINFO},
                 {"_.dwarf", "mach-uuid-sym-", SYMBOL_DEBUGINFO},
                 {NULL, "elf-buildid-", SYMBOL_EXECUTABLE},
                 {NULL, "mach-uuid-", SYMBOL_EXECUTABLE}};
    if (p->count != 3 && p->count != 4)
        return false;
    const struct part *name = &p->at[p->count - 3];
    if (!same(name[0], name[2]) || (p->count == 4 && (p->at[0].length != 2 || name->length < 2 ||
                                                      memcmp(p->at[0].text, name->text, 2) != 0)))
        return false;
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct part id = name[1];
        if ((forms[i].name && !is(name[0], forms[i].name)) || !take_start(&id, forms[i].before))
            continue;
        wish->wanted = forms[i].wanted;
        return add_hex(wish, id, 'a') && wish->id_size >= ID_LEAST;
    }
    return false;
}

static bool read_lldb(const struct parts *p, struct symbol_wish *wish)
{
    if (p->count != 6)
        return false;
    struct part last = p->at[5];
    wish->wanted = take_end(&last, ".app") ? SYMBOL_EXECUTABLE : SYMBOL_DEBUGINFO;
    for (size_t i = 0; i < 5; i++)
        if (p->at[i].length != 4 || !add_hex(wish, p->at[i], 'A'))
            return false;
    return last.length == 12 && add_hex(wish, last, 'A');
}

/* The age is a number that means nothing for us: images of ELF and Mach-O have 0. */
static bool read_breakpad(const struct parts *p, struct symbol_wish *wish)
{
    enum { GUID_DIGITS = 32, AGE_DIGITS = 8 };
    if (p->count != 3 || p->at[1].length <= GUID_DIGITS ||
        p->at[1].length > GUID_DIGITS + AGE_DIGITS)
        return false;
    struct part name = p->at[2], id = {p->at[1].text, GUID_DIGITS};
    for (size_t i = GUID_DIGITS; i < p->at[1].length; i++)
        if (!strchr("0123456789abcdef", p->at[1].text[i]))
            return false;
    wish->wanted = SYMBOL_BREAKPAD;
    wish->breakpad = true;
    return take_end(&name, ".sym") && add_hex(wish, id, 'A');
}

bool symbol_layout_read(const char *path, struct symbol_wish *wish)
{
    static bool (*const layouts[])(const struct parts *, struct symbol_wish *) = {
        read_unified, read_gdb, read_ssqp, read_lldb, read_breakpad};
    struct parts parts;
    if (!split(path, &parts))
        return false;
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        *wish = (struct symbol_wish){0};
        if (layouts[i](&parts, wish))
            return true;
    }
    return false;
}
