/* ELF files and images: headers, sections (inflating excepted), notes, symbols, unwind tables, the
 * symbol index. */
#include "../tests/object/exercise.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sink = exercise_bytes(data, size);
    return 0;
}
