/* The names of functions, found by the text of a symbol (got_names.h): open addressing. */
#include "watch/got_names.h"

#include <string.h>

static uint32_t hash_of(const char *text, size_t length)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < length; i++)
        h = (h ^ (uint8_t)text[i]) * 16777619u;
    return (h ^ h >> 15) % GOT_NAMES_CELLS;
}

void got_names_init(struct got_names *names, const char *const *texts, uint32_t count)
{
    memset(names, 0, sizeof *names);
    names->count = count < GOT_NAMES_MOST ? count : GOT_NAMES_MOST;
    for (uint32_t i = 0; i < names->count; i++) {
        const char *at = strchr(texts[i], '@');
        struct got_name *name = &names->name[i];
        *name = (struct got_name){.text = texts[i],
                                  .length = at ? (size_t)(at - texts[i]) : strlen(texts[i])};
        if (at)
            name->version = at[1] == '@' ? at + 2 : at + 1;
        uint32_t cell = hash_of(name->text, name->length);
        while (names->cell[cell])
            cell = (cell + 1) % GOT_NAMES_CELLS;
        names->cell[cell] = (uint16_t)(i + 1);
    }
}

int got_names_next(const struct got_names *names, const char *symbol, int after)
{
    const size_t length = strlen(symbol);
    int best = -1;
    for (uint32_t cell = hash_of(symbol, length); names->cell[cell];
         cell = (cell + 1) % GOT_NAMES_CELLS) {
        const int number = names->cell[cell] - 1;
        const struct got_name *name = &names->name[number];
        if (number > after && (best < 0 || number < best) && name->length == length &&
            memcmp(name->text, symbol, length) == 0)
            best = number;
    }
    return best;
}
