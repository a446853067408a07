#include "symmap/intern.h"

#include <stdlib.h>
#include <string.h>

static bool slots_init(struct intern_slots *slots, size_t most)
{
    size_t size = 64;
    while (size < most + most / 2) {
        if (size > SIZE_MAX / 32)
            return false;
        size *= 2;
    }
    if (most >= UINT32_MAX)
        return false;
    slots->slot = calloc(size, sizeof *slots->slot);
    slots->mask = size - 1;
    slots->seed = (uint64_t)(uintptr_t)slots->slot * UINT64_C(0x9e3779b97f4a7c15);
    slots->capacity = most;
    return slots->slot;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t hash_bytes(uint64_t seed, const char *text, size_t length)
{
    const uint64_t k0 = UINT64_C(0xa0761d6478bd642f), k1 = UINT64_C(0xe7037ed1a0b428db);
    uint64_t hash = seed ^ length, a, b;
    for (; length >= 16; text += 16, length -= 16) {
        memcpy(&a, text, 8);
        memcpy(&b, text + 8, 8);
        hash = mix(a ^ k0, b ^ hash);
    }
    a = b = 0;
    if (length >= 8) {
        memcpy(&a, text, 8);
        memcpy(&b, text + length - 8, 8);
    } else {
        memcpy(&a, text, length);
    }
    return mix(a ^ k1 ^ hash, b ^ k0);
}

static uint32_t take_id(struct intern_slots *slots, uint32_t *spare)
{
    uint32_t id = *spare;
    *spare = INTERN_NONE;
    return id != INTERN_NONE ? id
                             : atomic_fetch_add_explicit(&slots->count, 1, memory_order_relaxed);
}

bool intern_strings_init(struct intern_strings *set, size_t most)
{
    *set = (struct intern_strings){0};
    set->items = slots_init(&set->slots, most) ? malloc((most + 1) * sizeof *set->items) : NULL;
    return set->items;
}

void intern_strings_free(struct intern_strings *set)
{
    free((void *)set->slots.slot);
    free(set->items);
}

static bool same_string(const struct intern_string *item, const char *text, size_t length)
{
    return item->length == length && (item->text == text || memcmp(item->text, text, length) == 0);
}

uint32_t intern_strings_add(struct intern_strings *set, struct intern_memory *memory,
                            const char *text)
{
    struct intern_slots *slots = &set->slots;
    size_t length = strlen(text);
    uint64_t hash = hash_bytes(slots->seed, text, length);
    uint32_t mine = INTERN_NONE;
    for (size_t i = (size_t)hash & slots->mask;; i = (i + 1) & slots->mask) {
        uint64_t slot = atomic_load_explicit(&slots->slot[i], memory_order_acquire);
        if (!slot) {
            if (mine == INTERN_NONE) {
                mine = take_id(slots, &memory->spare_string);
                set->items[mine] = (struct intern_string){text, (uint32_t)length, 0};
            }
            uint64_t wanted = hash >> 32 << 32 | (mine + 1);
            if (atomic_compare_exchange_strong_explicit(&slots->slot[i], &slot, wanted,
                                                        memory_order_acq_rel, memory_order_acquire))
                return mine;
        }
        uint32_t id = (uint32_t)slot - 1;
        if (slot >> 32 == hash >> 32 && same_string(&set->items[id], text, length)) {
            if (mine != INTERN_NONE)
                memory->spare_string = mine;
            return id;
        }
    }
}

uint32_t intern_strings_find(const struct intern_strings *set, const char *text)
{
    const struct intern_slots *slots = &set->slots;
    size_t length = strlen(text);
    uint64_t hash = hash_bytes(slots->seed, text, length);
    for (size_t i = (size_t)hash & slots->mask;; i = (i + 1) & slots->mask) {
        uint64_t slot = atomic_load_explicit(&slots->slot[i], memory_order_acquire);
        if (!slot)
            return INTERN_NONE;
        uint32_t id = (uint32_t)slot - 1;
        if (slot >> 32 == hash >> 32 && same_string(&set->items[id], text, length))
            return id;
    }
}

bool intern_keys_init(struct intern_keys *set, size_t most)
{
    *set = (struct intern_keys){0};
    set->items = slots_init(&set->slots, most) ? malloc((most + 1) * sizeof *set->items) : NULL;
    return set->items;
}

void intern_keys_free(struct intern_keys *set)
{
    free((void *)set->slots.slot);
    free(set->items);
}

/* The item is there: counts the use. */
static uint32_t use_key(struct intern_key *item, uint32_t id, uint32_t uses, uint32_t place)
{
    uint32_t first = atomic_load_explicit(&item->first, memory_order_relaxed);
    while (place < first &&
           !atomic_compare_exchange_weak_explicit(&item->first, &first, place, memory_order_relaxed,
                                                  memory_order_relaxed))
        continue;
    atomic_fetch_add_explicit(&item->uses, uses, memory_order_relaxed);
    return id;
}

static uint64_t hash_key(const struct intern_keys *set, uint64_t a, uint32_t b)
{
    return mix(a ^ set->slots.seed, b ^ UINT64_C(0xe7037ed1a0b428db));
}

static uint32_t add_key(struct intern_keys *set, struct intern_memory *memory, uint64_t hash,
                        uint64_t a, uint32_t b, uint32_t uses, uint32_t place)
{
    struct intern_slots *slots = &set->slots;
    uint32_t mine = INTERN_NONE;
    for (size_t i = (size_t)hash & slots->mask;; i = (i + 1) & slots->mask) {
        uint64_t slot = atomic_load_explicit(&slots->slot[i], memory_order_acquire);
        if (!slot) {
            if (mine == INTERN_NONE) {
                mine = take_id(slots, &memory->spare_key);
                struct intern_key *item = &set->items[mine];
                item->a = a;
                item->b = b;
                item->number = 0;
                atomic_init(&item->uses, uses);
                atomic_init(&item->first, place);
            }
            uint64_t wanted = hash >> 32 << 32 | (mine + 1);
            if (atomic_compare_exchange_strong_explicit(&slots->slot[i], &slot, wanted,
                                                        memory_order_acq_rel, memory_order_acquire))
                return mine;
        }
        uint32_t id = (uint32_t)slot - 1;
        if (slot >> 32 == hash >> 32 && set->items[id].a == a && set->items[id].b == b) {
            if (mine != INTERN_NONE)
                memory->spare_key = mine;
            return use_key(&set->items[id], id, uses, place);
        }
    }
}

void intern_recent_begin(struct intern_memory *memory)
{
    memory->recent = malloc(INTERN_RECENT * sizeof *memory->recent);
    for (size_t i = 0; memory->recent && i < INTERN_RECENT; i++)
        memory->recent[i].id = INTERN_NONE;
}

static void tell(struct intern_keys *set, const struct intern_recent *recent)
{
    if (recent->id != INTERN_NONE && recent->uses)
        use_key(&set->items[recent->id], recent->id, recent->uses, recent->first);
}

void intern_recent_end(struct intern_keys *set, struct intern_memory *memory)
{
    for (size_t i = 0; memory->recent && i < INTERN_RECENT; i++)
        tell(set, &memory->recent[i]);
    free(memory->recent);
    memory->recent = NULL;
}

uint32_t intern_keys_add(struct intern_keys *set, struct intern_memory *memory, uint64_t a,
                         uint32_t b, uint32_t uses, uint32_t place)
{
    uint64_t hash = hash_key(set, a, b);
    if (!memory->recent)
        return add_key(set, memory, hash, a, b, uses, place);
    struct intern_recent *recent = &memory->recent[hash >> 16 & (INTERN_RECENT - 1)];
    if (recent->id != INTERN_NONE && recent->a == a && recent->b == b) {
        recent->uses += uses;
        recent->first = place < recent->first ? place : recent->first;
        return recent->id;
    }
    tell(set, recent);
    uint32_t id = add_key(set, memory, hash, a, b, uses, place);
    *recent = (struct intern_recent){a, b, id, 0, UINT32_MAX};
    return id;
}

uint32_t intern_keys_find(const struct intern_keys *set, uint64_t a, uint32_t b)
{
    const struct intern_slots *slots = &set->slots;
    uint64_t hash = hash_key(set, a, b);
    for (size_t i = (size_t)hash & slots->mask;; i = (i + 1) & slots->mask) {
        uint64_t slot = atomic_load_explicit(&slots->slot[i], memory_order_acquire);
        if (!slot)
            return INTERN_NONE;
        uint32_t id = (uint32_t)slot - 1;
        if (slot >> 32 == hash >> 32 && set->items[id].a == a && set->items[id].b == b)
            return id;
    }
}
