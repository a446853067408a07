/* watch/agent/traceback.c: any text as what CPython says of a thread. */
#include "watch/agent/traceback.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ROOM = 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fwr_script_frame frames[ROOM];
    char *text = malloc(size + 1);
    memcpy(text, data, size);
    text[size] = '\0';
    uint32_t count = traceback_read(text, frames, ROOM);
    if (count > ROOM)
        abort();
    for (uint32_t i = 0; i < count; i++)
        if (frames[i].file < text || frames[i].function <= frames[i].file ||
            frames[i].function + strlen(frames[i].function) > text + size)
            abort();
    free(text);
    return 0;
}
