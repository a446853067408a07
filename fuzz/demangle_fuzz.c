/*
 * Names of all languages in every style, from memory that ends behind the terminator, into a small
 * and a large buffer. The first byte chooses the options.
 */
#include "demangle/demangle.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *name, const struct demangle_options *options, char *text, size_t size)
{
    memset(text, 'x', size);
    if (demangle(name, options, text, size) && strnlen(text, size) == size)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char large[DEMANGLE_TEXT_SIZE];
    char small[16];
    if (size == 0)
        return 0;
    char *name = malloc(size);
    if (!name)
        return 0;
    memcpy(name, data + 1, size - 1);
    name[size - 1] = '\0';
    const struct demangle_options options = {.style = (enum demangle_style)(data[0] % 3),
                                             .language = (enum demangle_language)(data[0] / 3 % 4),
                                             .types = data[0] & 0x40,
                                             .hashes = data[0] & 0x80};
    check(name, &options, large, sizeof large);
    check(name, &options, small, sizeof small);
    free(name);
    return 0;
}
