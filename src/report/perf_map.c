/* See perf_map.h. */
#include "report/perf_map.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

bool perf_map_line(char *text, struct perf_line *line)
{
    char *end, *name;
    line->start = strtoull(text, &end, 16);
    if (end == text || *end != ' ')
        return false;
    line->size = strtoull(end + 1, &name, 16);
    if (name == end + 1 || *name != ' ' || line->size == 0 ||
        line->start + line->size < line->start)
        return false;
    line->name = name + 1;
    line->name[strcspn(line->name, "\r\n")] = '\0';
    return true;
}

/* The number behind the last colon, which is cut off. */
static bool cut_number(char *text, uint32_t *number)
{
    char *colon = strrchr(text, ':'), *end;
    if (!colon || colon[1] < '0' || colon[1] > '9')
        return false;
    unsigned long value = strtoul(colon + 1, &end, 10);
    if (*end || value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    *colon = '\0';
    return true;
}

/* What begins a file's name behind a function's: either may hold spaces. */
static char *find_file(char *text)
{
    static const char *const begins[] = {" /", " file:", " node:"};
    char *first = NULL;
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        char *at = strstr(text, begins[i]);
        if (at && (!first || at < first))
            first = at;
    }
    return first ? first : strrchr(text, ' ');
}

/* KIND:TIER NAME FILE:LINE:COLUMN, the tier being one of ~ ^ + *. NAME may be empty. Before Node 20
 * there is no column. */
static bool take_v8(char *text, struct perf_name *name)
{
    static const char *const kinds[] = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
    char *function = NULL;
    for (size_t i = 0; !function && i < sizeof kinds / sizeof *kinds; i++)
        if (strncmp(text, kinds[i], strlen(kinds[i])) == 0)
            function = text + strlen(kinds[i]);
    if (!function)
        return false;
    function += strspn(function, "~^+*");
    char *file = find_file(function);
    if (file) {
        uint32_t last;
        *file++ = '\0';
        if (cut_number(file, &last) && !cut_number(file, &name->line))
            name->line = last;
        if (strncmp(file, "file://", 7) == 0)
            file += 7;
        name->file = *file ? file : NULL;
    }
    name->function = *function ? function : "(anonymous)";
    return true;
}

/* py::NAME:FILE */
static bool take_python(char *text, struct perf_name *name)
{
    if (strncmp(text, "py::", 4) != 0)
        return false;
    char *colon = strchr(text + 4, ':');
    if (colon) {
        *colon = '\0';
        name->file = colon + 1;
    }
    name->function = text + 4;
    return true;
}

void perf_map_name(char *text, struct perf_name *name)
{
    *name = (struct perf_name){.function = text};
    if (!take_v8(text, name))
        take_python(text, name);
}
