/* report/perf_map.c: any text as lines of a map. What is handed out lies in the text. */
#include "report/perf_map.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void must(bool holds)
{
    if (!holds)
        abort();
}

static void take(char *text, size_t size)
{
    struct perf_line line;
    struct perf_name name;
    if (!perf_map_line(text, &line))
        return;
    must(line.size > 0 && line.start <= UINT64_MAX - line.size);
    must(line.name > text && line.name <= text + size);
    perf_map_name(line.name, &name);
    must(name.function != NULL && strlen(name.function) < size + sizeof "(anonymous)");
    if (name.file)
        must(name.file > text && name.file + strlen(name.file) <= text + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *save, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
        take(line, strlen(line));
    free(text);
    return 0;
}
