/* Swift names: both styles, in memory that ends where the name does, into a small and a large
 * buffer. */
#include "demangle/swift.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char large[1 << 14];
    char small[16];
    const char *name = (const char *)data;
    for (unsigned style = 0; style < 2; style++) {
        if (swift_demangle(name, size, (enum swift_style)style, large, sizeof(large)) &&
            strnlen(large, sizeof(large)) == sizeof(large))
            abort();
        if (swift_demangle(name, size, (enum swift_style)style, small, sizeof(small)) &&
            strnlen(small, sizeof(small)) == sizeof(small))
            abort();
    }
    return 0;
}
