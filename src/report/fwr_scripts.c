/* Frames of interpreters that a report has already. See fwr_scripts.h. */
#include "report/fwr_scripts.h"

#include <assert.h>
#include <string.h>

static_assert((FWR_SCRIPT_SLOTS & (FWR_SCRIPT_SLOTS - 1)) == 0, "a power of two");
static_assert(FWR_SCRIPT_FRAMES_MAX <= UINT16_MAX, "numbers fit");

void scripts_begin(struct fwr_scripts *s)
{
    s->count = 0;
    memset(s->slots, 0, sizeof s->slots);
}

/* FNV-1a; the end of a string is not like any byte of one, and NULL not like an empty one. */
static uint64_t hash_text(uint64_t hash, const char *text)
{
    for (const uint8_t *p = (const uint8_t *)(text ? text : ""); *p; p++)
        hash = (hash ^ *p) * 0x100000001b3u;
    return (hash ^ (text ? 0x100 : 0x200)) * 0x100000001b3u;
}

struct script_place scripts_find(const struct fwr_scripts *s, const struct fwr_script_frame *frame)
{
    uint64_t hash = hash_text(hash_text(0xcbf29ce484222325u, frame->function), frame->file);
    struct script_place place = {.hash = (hash ^ frame->line) * 0x100000001b3u};
    place.slot = (uint32_t)(place.hash >> 32) & (FWR_SCRIPT_SLOTS - 1);
    for (; s->slots[place.slot]; place.slot = (place.slot + 1) & (FWR_SCRIPT_SLOTS - 1)) {
        place.number = s->slots[place.slot];
        if (s->hashes[place.number] == place.hash)
            return place;
    }
    place.number = 0;
    return place;
}

uint32_t scripts_add(struct fwr_scripts *s, struct script_place place)
{
    s->hashes[++s->count] = place.hash;
    s->slots[place.slot] = (uint16_t)s->count;
    return s->count;
}
