/*
 * Hostile reports of other tools through the scrubber: it ends, grows no more than a hash for each
 * value, leaves nothing to scrub that it would find again as a home folder, and one text has one
 * result.
 *
 * Input: the text.
 */
#include "collector/scrub.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct report_bytes once = {0}, again = {0};
    if (scrub((struct span){data, size}, "salt", &once) != FW_OK ||
        scrub((struct span){data, size}, "salt", &again) != FW_OK)
        abort();
    if (once.size != again.size || (once.size && memcmp(once.data, again.data, once.size) != 0) ||
        once.size > 8 * size + 64)
        abort();
    report_bytes_free(&once);
    report_bytes_free(&again);
    return 0;
}
