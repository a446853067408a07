/*
 * A description as text: single values first, label and value in two columns; then what has parts,
 * and tables, each under a heading. Numbers stand to the right, everything else to the left.
 */
#include "base/utf8.h"
#include "cli/inspect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LABEL_COLUMNS = 18, COLUMNS_MAX = 12, CELL = 4096, WIDE = 60 };

/* "build_id" as "build id". */
static const char *label(const char *key, char text[64])
{
    snprintf(text, 64, "%s", key);
    for (char *c = text; *c; c++)
        if (*c == '_')
            *c = ' ';
    return text;
}

/* Columns that it takes; `text` has room for CELL bytes. */
static size_t value_text(const json_t *value, char *text)
{
    text[0] = '\0';
    if (json_is_string(value))
        return style_clean(json_string_value(value), text, CELL);
    if (json_is_boolean(value))
        snprintf(text, CELL, "%s", json_is_true(value) ? "yes" : "no");
    if (json_is_real(value))
        snprintf(text, CELL, "%.2f", json_real_value(value));
    if (json_is_integer(value)) {
        char digits[24];
        int length =
            snprintf(digits, sizeof digits, "%" PRId64, (int64_t)json_integer_value(value));
        char *to = text;
        for (int i = 0; i < length; i++) {
            if (i && (length - i) % 3 == 0)
                *to++ = ',';
            *to++ = digits[i];
        }
        *to = '\0';
    }
    return strlen(text);
}

static void print_values(const json_t *object, struct style *style)
{
    const char *key;
    json_t *value;
    char text[CELL], name[64];
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        if (json_is_object(value) || json_is_array(value))
            continue;
        value_text(value, text);
        style_print(style, STYLE_DIM, "  %-*s", LABEL_COLUMNS, label(key, name));
        style_line(style, STYLE_PLAIN, "%s", text);
    }
}

struct column {
    const char *key;
    size_t width;
    bool number;
};

static void measure(struct column *columns, size_t *count, json_t *row)
{
    const char *key;
    json_t *value;
    char text[CELL];
    json_object_foreach(row, key, value)
    {
        size_t i = 0;
        while (i < *count && strcmp(columns[i].key, key) != 0)
            i++;
        if (i == COLUMNS_MAX)
            continue;
        if (i == *count)
            columns[(*count)++] =
                (struct column){key, strlen(key), json_is_integer(value) || json_is_real(value)};
        size_t width = value_text(value, text);
        if (width > columns[i].width)
            columns[i].width = width > WIDE ? WIDE : width;
    }
}

static void pad(struct style *style, size_t columns)
{
    style_print(style, STYLE_PLAIN, "%*s", (int)columns, "");
}

static void print_cell(const struct column *column, const char *text, size_t width, bool last,
                       enum style_kind kind, struct style *style)
{
    size_t space = width < column->width ? column->width - width : 0;
    style_print(style, STYLE_PLAIN, "  ");
    if (column->number)
        pad(style, space);
    style_print(style, kind, "%s", text);
    if (!column->number && !last)
        pad(style, space);
}

static void print_table(const char *key, json_t *table, struct style *style)
{
    struct column columns[COLUMNS_MAX];
    size_t count = 0, index;
    char text[CELL], name[64];
    json_t *row;
    json_array_foreach(table, index, row) measure(columns, &count, row);
    style_line(style, STYLE_STRONG, "%s", label(key, name));
    for (size_t i = 0; i < count; i++) {
        label(columns[i].key, name);
        print_cell(&columns[i], name, strlen(name), i + 1 == count, STYLE_DIM, style);
    }
    style_line(style, STYLE_PLAIN, "%s", "");
    json_array_foreach(table, index, row)
    {
        for (size_t i = 0; i < count; i++) {
            size_t width = value_text(json_object_get(row, columns[i].key), text);
            print_cell(&columns[i], text, width, i + 1 == count, STYLE_PLAIN, style);
        }
        style_line(style, STYLE_PLAIN, "%s", "");
    }
}

void inspect_print(const json_t *description, struct style *style)
{
    json_t *all = (json_t *)(uintptr_t)description, *value;
    const char *key;
    char text[CELL], name[64];
    value_text(json_object_get(all, "file"), text);
    style_line(style, STYLE_STRONG, "%s", text);
    json_t *rest = json_copy(all);
    json_object_del(rest, "file");
    print_values(rest, style);
    json_object_foreach(rest, key, value)
    {
        if (json_is_object(value)) {
            style_line(style, STYLE_STRONG, "%s", label(key, name));
            print_values(value, style);
        } else if (json_array_size(value) > 0) {
            print_table(key, value, style);
        }
    }
    json_decref(rest);
}
