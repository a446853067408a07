/* Values as PostgreSQL sends them. The first byte chooses the type. */
#include "collector/db_binary.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned types[] = {16, 20, 21, 23, 25, 700, 701, 1700, 1700, 1700};
    if (size < 1)
        return 0;
    struct db_binary value = {types[data[0] % 10], {data + 1, size - 1}};
    int64_t whole = db_binary_int(value);
    if (whole && db_binary_is_text(value.type))
        abort();
    return 0;
}
