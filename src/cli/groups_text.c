/*
 * Groups and calls as tables for people: the number to act on first, then the function, file and
 * line. Everything comes from programs by way of a collector, and is cleaned.
 */
#include "cli/groups.h"

#include "base/duration.h"
#include "report/words.h"

#include <inttypes.h>
#include <string.h>

enum { PLACE = 1024, PLACE_SHOWN = 72, NUMBER = DURATION_TEXT };

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t number = json_integer_value(json_object_get(object, key));
    return number > 0 ? (uint64_t)number : 0;
}

static const char *plural(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* "function  file:line", or "function  (image)"; the columns it takes. */
static size_t put_place(char *to, const struct groups_command *c, const char *function,
                        const json_t *of)
{
    struct report_bytes text = {0};
    const char *file = text_of(of, "file"), *image = text_of(of, "image");
    size_t columns = out_clean(&text, *function ? function : "(no name yet)", PLACE_SHOWN);
    if (*file) {
        out_text(&text, "  ");
        columns += 2 + out_clean(&text, c->full_paths ? file : last_part(file), SIZE_MAX);
        char line[NUMBER];
        uint64_t number = number_of(of, "line");
        if (number) {
            columns += (size_t)snprintf(line, sizeof line, ":%" PRIu64, number);
            out_text(&text, line);
        }
    } else if (*image) {
        out_text(&text, "  (");
        columns += 3 + out_clean(&text, last_part(image), PLACE_SHOWN);
        out_text(&text, ")");
    }
    snprintf(to, PLACE, "%.*s", (int)text.size, text.data ? text.data : "");
    report_bytes_free(&text);
    return columns;
}

static void pad(struct style *style, size_t columns, size_t width)
{
    if (columns < width)
        fprintf(style->to, "%*s", (int)(width - columns), "");
}

/* What is longer than most sticks out of its column. */
static void widen(size_t *width, size_t columns)
{
    if (columns > *width && columns <= PLACE_SHOWN)
        *width = columns;
}

/* The end of a heading. */
static void print_scope(struct style *style, const struct groups_command *c)
{
    char version[PLACE];
    if (c->version) {
        style_clean(c->version, version, sizeof version);
        style_print(style, STYLE_DIM, ", version %s", version);
    }
    style_line(style, STYLE_DIM, ", last %u day%s", c->days, plural(c->days));
}

/* --- groups --- */

/* What the thread did at the end of its stack, of which the collector has one word. */
static const char *doing(const char *leaf)
{
    static const char *const words[][2] = {
        {"cpu", "computes"},
        {"lock", "waits for a lock"},
        {"semaphore", "waits for a semaphore"},
        {"wait", "waits for another thread"},
        {"timer", "sleeps"},
        {"disk", "reads or writes files"},
        {"network", "waits for the network"},
        {"io", "waits for input or output"},
        {"ipc", "waits for another process"},
        {"idle", "waits for events"},
        {"loop", "calls itself"},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(leaf, words[i][0]) == 0)
            return words[i][1];
    return "";
}

struct group_line {
    char place[PLACE], blocked[NUMBER], count[NUMBER];
    const char *doing;
    size_t columns;
};

static void read_group(struct group_line *line, const struct groups_command *c, const json_t *group)
{
    line->columns = put_place(line->place, c, text_of(group, "title"), group);
    duration_text(line->blocked, number_of(group, "blocked_ns"));
    snprintf(line->count, sizeof line->count, "%" PRIu64, number_of(group, "reports"));
    line->doing = doing(text_of(group, "leaf"));
}

static void print_group(struct style *style, const struct group_line *line, const json_t *group,
                        size_t width)
{
    uint64_t killed = number_of(group, "killed");
    fprintf(style->to, "  %10s  %7s  ", line->blocked, line->count);
    style_print(style, STYLE_STRONG, "%s", line->place);
    if (*line->doing || killed) {
        pad(style, line->columns, width);
        style_print(style, STYLE_DIM, "  %s", line->doing);
    }
    if (killed)
        style_print(style, STYLE_WARNING, "%s%" PRIu64 " killed", *line->doing ? ", " : "", killed);
    fputc('\n', style->to);
}

void groups_print(struct style *style, const struct groups_command *command, const json_t *groups)
{
    const json_t *items = json_object_get(groups, "items");
    uint64_t total = number_of(groups, "total");
    struct group_line line;
    size_t width = 0, count = json_array_size(items);
    style_print(style, STYLE_STRONG, "%" PRIu64 " group%s", total, plural(total));
    print_scope(style, command);
    for (size_t i = 0; i < count; i++) {
        read_group(&line, command, json_array_get(items, i));
        widen(&width, line.columns);
    }
    if (count)
        style_line(style, STYLE_DIM, "  %10s  %7s  where", "blocked", "reports");
    for (size_t i = 0; i < count; i++) {
        read_group(&line, command, json_array_get(items, i));
        print_group(style, &line, json_array_get(items, i), width);
    }
    if (count < total)
        style_line(style, STYLE_DIM, "  and %" PRIu64 " more (--limit)", total - count);
}

/* --- calls --- */

struct call_line {
    char api[PLACE], count[NUMBER], version[PLACE], place[PLACE];
    size_t api_columns, version_columns;
    bool allowed;
};

static void read_call(struct call_line *line, const struct groups_command *c, const json_t *row)
{
    const json_t *caller = json_object_get(row, "caller");
    const char *version = text_of(row, "first_version");
    line->api_columns = style_clean(text_of(row, "api"), line->api, sizeof line->api);
    line->version_columns =
        style_clean(*version ? version : "-", line->version, sizeof line->version);
    snprintf(line->count, sizeof line->count, "%" PRIu64, number_of(row, "count"));
    line->allowed = json_is_true(json_object_get(row, "allowed"));
    put_place(line->place, c, text_of(caller, "function"), caller);
}

static void print_call(struct style *style, const struct call_line *line, size_t api_width,
                       size_t version_width)
{
    fprintf(style->to, "  %10s  ", line->count);
    style_print(style, STYLE_STRONG, "%s", line->api);
    pad(style, line->api_columns, api_width);
    fprintf(style->to, "  %s", line->version);
    pad(style, line->version_columns, version_width);
    style_print(style, line->allowed ? STYLE_PLAIN : STYLE_WARNING, "  %-7s",
                line->allowed ? "yes" : "no");
    fprintf(style->to, "  %s\n", line->place);
}

void groups_print_calls(struct style *style, const struct groups_command *command,
                        const json_t *calls)
{
    const json_t *rows = json_object_get(calls, "rows");
    size_t count = json_array_size(rows), shown = count < command->limit ? count : command->limit;
    size_t api_width = strlen("function"), version_width = strlen("since");
    uint64_t total = number_of(calls, "callers"), refused = number_of(calls, "not_allowed");
    struct call_line line;
    for (size_t i = 0; i < shown; i++) {
        read_call(&line, command, json_array_get(rows, i));
        widen(&api_width, line.api_columns);
        widen(&version_width, line.version_columns);
    }
    fputc('\n', style->to);
    style_print(style, STYLE_STRONG, "%" PRIu64 " caller%s of watched functions", total,
                plural(total));
    style_print(style, STYLE_DIM, ", %" PRIu64 " not on the allow list", refused);
    print_scope(style, command);
    if (json_is_true(json_object_get(calls, "truncated")))
        style_line(style, STYLE_WARNING, "  Not all callers are known or listed.");
    if (count)
        style_line(style, STYLE_DIM, "  %10s  %-*s  %-*s  %-7s  called by", "calls", (int)api_width,
                   "function", (int)version_width, "since", "allowed");
    for (size_t i = 0; i < shown; i++) {
        read_call(&line, command, json_array_get(rows, i));
        print_call(style, &line, api_width, version_width);
    }
    if (shown < total)
        style_line(style, STYLE_DIM, "  and %" PRIu64 " more (--limit)", total - shown);
}
