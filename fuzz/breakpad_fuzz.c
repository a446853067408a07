/* Breakpad text of any bytes, as a source of symbols. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span input = {data, size};
    if (import_is_breakpad(input))
        import_use(input);
    return 0;
}
