/*
 * Hostile bodies of POST /api/v1/reports: what is handed out lies in the body, in its order, and
 * with the lines makes up all of it.
 *
 * Input: the body.
 */
#include "collector/report_lines.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report_line lines[REPORT_LINES_MOST];
    struct fw_failure why = {0};
    size_t count, sum = 0;
    if (report_lines_read((struct span){data, size}, lines, &count, &why) != FW_OK) {
        if (!why.message[0])
            abort();
        return 0;
    }
    const uint8_t *at = data;
    for (size_t i = 0; i < count; i++) {
        if (lines[i].bytes.data < at + 35 || lines[i].bytes.data > data + size ||
            lines[i].bytes.size > (size_t)(data + size - lines[i].bytes.data))
            abort();
        sum += (size_t)(lines[i].bytes.data - at) + lines[i].bytes.size;
        at = lines[i].bytes.data + lines[i].bytes.size;
    }
    if (count == 0 || sum != size)
        abort();
    return 0;
}
