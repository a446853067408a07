/* Export tries: names are whole, and no trie keeps the walk longer than its size allows. */
#include "object/export_trie.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool take(void *context, const struct export_symbol *s)
{
    if (s->name_size == 0 || strlen(s->name) != s->name_size)
        __builtin_trap();
    ++*(size_t *)context;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t count = 0;
    export_trie_each((struct span){data, size}, take, &count);
    if (count > size / 2)
        __builtin_trap();
    return 0;
}
