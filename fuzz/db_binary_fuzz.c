/* Values as PostgreSQL sends them. The first byte chooses the type. */
#include "collector/db_postgres.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const unsigned types[] = {16, 20, 21, 23, 25, 700, 701, 1700, 1700, 1700};
    if (size < 1)
        return 0;
    struct db_binary value = {types[data[0] % 10], {data + 1, size - 1}};
    int64_t whole = db_binary_int(value);
    double real = db_binary_real(value);
    /* Both readings of one number agree as far as a double goes. */
    if (real > -1e15 && real < 1e15 && value.type != 700 && value.type != 701 &&
        ((double)whole - 1.0 > real || (double)whole + 1.0 < real))
        abort();
    return 0;
}
