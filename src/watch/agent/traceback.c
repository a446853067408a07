/* See traceback.h. */
#include "watch/agent/traceback.h"

#include <stdlib.h>
#include <string.h>

static bool read_frame(char *line, struct fwr_script_frame *frame)
{
    static const char begin[] = "  File \"", middle[] = "\", line ", last[] = " in ";
    if (strncmp(line, begin, sizeof begin - 1) != 0)
        return false;
    char *file = line + sizeof begin - 1;
    char *at = strstr(file, middle);
    if (!at)
        return false;
    char *number = at + sizeof middle - 1, *end;
    unsigned long value = strtoul(number, &end, 10);
    if (end == number || strncmp(end, last, sizeof last - 1) != 0 || value > UINT32_MAX)
        return false;
    *at = '\0';
    *frame = (struct fwr_script_frame){
        .function = end + sizeof last - 1, .file = file, .line = (uint32_t)value};
    return true;
}

uint32_t traceback_read(char *text, struct fwr_script_frame *frames, uint32_t room)
{
    uint32_t count = 0;
    for (char *save, *line = strtok_r(text, "\n", &save); line && count < room;
         line = strtok_r(NULL, "\n", &save))
        count += read_frame(line, &frames[count]);
    return count;
}
