/*
 * Archives: "!<arch>\n", then members at even offsets, each behind a header of 60 characters
 * { name[16] date[12] owner[6] group[6] mode[8] size[10] "`\n" }, numbers in decimal padded with
 * blanks (ar(5)). Longer names come in two ways:
 *     BSD, Apple   "#1/LENGTH": the name stands before the contents and counts in their size
 *     System V     "/OFFSET" in the member "//", where each name ends with "/\n"
 * and a short name of System V ends with a slash. Tables of symbols are members with names that no
 * file has ("/", "/SYM64/", "__.SYMDEF").
 *
 * Thin archives only name files; these are to be opened themselves.
 */
#include "object/archive.h"

#include <stdio.h>
#include <stdlib.h>

enum { MAGIC_SIZE = 8, HEADER_SIZE = 60, NAME_SIZE = 16, LISTED = 100 };

struct member {
    struct span name, data;
    uint64_t modified, offset, size; /* size: as claimed, without the name */
};

static bool has_magic(struct span file, const char *magic)
{
    return file.size >= MAGIC_SIZE && memcmp(file.data, magic, MAGIC_SIZE) == 0;
}

bool archive_is(struct span file)
{
    return has_magic(file, "!<arch>\n") || has_magic(file, "!<thin>\n");
}

/* Decimal digits up to the first blank. */
static bool number(const uint8_t *text, size_t size, uint64_t *value)
{
    size_t i = 0;
    *value = 0;
    for (; i < size && text[i] >= '0' && text[i] <= '9'; i++)
        *value = *value * 10 + (uint64_t)(text[i] - '0'); /* at most 15 digits */
    return i > 0 && (i == size || text[i] == ' ');
}

/* The name up to `end`, or to the end of what is there. */
static struct span cut_at(struct span text, uint8_t end)
{
    const uint8_t *found = text.size ? memchr(text.data, end, text.size) : NULL;
    return (struct span){text.data, found ? (size_t)(found - text.data) : text.size};
}

static struct span without_blanks(struct span name)
{
    while (name.size && (name.data[name.size - 1] == ' ' || name.data[name.size - 1] == 0))
        name.size--;
    return name;
}

/* The name of the header, or what it refers to. */
static struct span name_of(const uint8_t *header, struct span *data, struct span long_names)
{
    uint64_t value;
    if (memcmp(header, "#1/", 3) == 0 && number(header + 3, NAME_SIZE - 3, &value) &&
        value <= data->size) {
        struct span name = span_cut(*data, 0, value);
        *data = span_cut(*data, value, UINT64_MAX);
        return without_blanks(cut_at(name, 0));
    }
    if (header[0] == '/' && number(header + 1, NAME_SIZE - 1, &value)) {
        struct span name = cut_at(span_cut(long_names, value, UINT64_MAX), '\n');
        if (name.size && name.data[name.size - 1] == '/')
            name.size--;
        return name;
    }
    struct span name = without_blanks((struct span){header, NAME_SIZE});
    if (name.size > 1 && name.data[name.size - 1] == '/' && name.data[0] != '/')
        name.size--;
    return name;
}

/* The member whose header is at *offset, which moves on behind it. False at the end, or where no
 * header stands. */
static bool next_member(struct span file, uint64_t *offset, struct span *long_names,
                        struct member *member)
{
    struct span header = span_cut(file, *offset, HEADER_SIZE);
    uint64_t size;
    if (header.size < HEADER_SIZE || memcmp(header.data + 58, "`\n", 2) != 0 ||
        !number(header.data + 48, 10, &size))
        return false;
    if (!number(header.data + 16, 12, &member->modified))
        member->modified = 0;
    member->offset = *offset;
    member->data = span_cut(file, *offset + HEADER_SIZE, size);
    uint64_t missing = size - member->data.size;
    member->name = name_of(header.data, &member->data, *long_names);
    member->size = member->data.size + missing;
    if (memcmp(header.data, "// ", 3) == 0)
        *long_names = member->data;
    *offset += HEADER_SIZE + size + (size & 1);
    return true;
}

static bool is_table(struct span name)
{
    return name.size == 0 || name.data[0] == '/' ||
           (name.size >= 9 && memcmp(name.data, "__.SYMDEF", 9) == 0);
}

static void list_member(char *list, size_t size, struct span name)
{
    size_t used = strlen(list);
    if (!is_table(name) && used < size)
        snprintf(list + used, size - used, "%s%.*s", used ? ", " : "",
                 (int)(name.size < LISTED ? name.size : LISTED), (const char *)name.data);
}

static fw_error take(struct object *object, const struct member *member, const char *name,
                     struct fw_failure *why)
{
    size_t size = strlen(object->label) + strlen(name) + 3;
    char *label = malloc(size);
    if (!label)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, object->label, "out of memory");
    snprintf(label, size, "%s(%s)", object->label, name);
    free(object->label);
    object->label = label;
    if (member->data.size == 0)
        return object_fail(why, FW_ERR_FORMAT, 0, member->offset, label, "the member is empty");
    object->truncated |= member->data.size < member->size;
    object->file = member->data;
    object->modified = member->modified;
    return FW_OK;
}

fw_error archive_narrow(struct object *object, const char *name, struct fw_failure *why)
{
    if (has_magic(object->file, "!<thin>\n"))
        return object_fail(why, FW_ERR_UNSUPPORTED, 0, 0, object->label,
                           "a thin archive has no contents; open the files that it names");
    uint64_t offset = MAGIC_SIZE;
    struct span long_names = {NULL, 0};
    struct member member;
    char list[LISTED] = "";
    while (next_member(object->file, &offset, &long_names, &member)) {
        if (name && !is_table(member.name) && member.name.size == strlen(name) &&
            memcmp(member.name.data, name, member.name.size) == 0)
            return take(object, &member, name, why);
        list_member(list, sizeof list, member.name);
    }
    if (!name)
        return object_fail(why, FW_ERR_ARGUMENT, 0, 0, object->label,
                           "an archive; name one of its members, as in FILE(MEMBER): %s", list);
    return object_fail(why, FW_ERR_NOT_FOUND, 0, 0, object->label, "has no member %.64s, but %s%s",
                       name, list, offset < object->file.size ? "; broken behind these" : "");
}
