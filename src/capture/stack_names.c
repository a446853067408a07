/*
 * The cache of named stacks (framewalk/stack_names.h).
 *
 * Parts, each with a lock of its own, so that threads seldom meet: a hash table by stack id, and a
 * ring of its stacks. To make room a hand goes round the ring and takes what was not used since it
 * last came by (the clock algorithm). A named stack is constant and counted by its holders: the
 * table is one, everybody who got it another; the last one frees it.
 *
 * A stack belongs to a generation of the index of names. One of another generation is never handed
 * out: it is named again. Naming happens outside the part's lock; of two threads that name the same
 * stack at once, the later one takes what the earlier one stored.
 */
#include "framewalk/stack_names.h"

#include "capture/named_stack.h"
#include "capture/names_refresh.h"
#include "capture/shared_names.h"

#include <pthread.h>
#include <stdlib.h>

enum {
    DEFAULT_MEMORY = 1 << 20,
    PART_MEMORY = 128 << 10, /* of less, more parts would make room for single stacks */
    MOST_PARTS = 16,
    STACK_BYTES = 4096, /* of a stack, for the number of buckets */
};

enum { BEFORE, BEHIND };

struct part {
    pthread_mutex_t lock;
    struct named_stack **buckets;
    struct named_stack *hand; /* in the ring; NULL when it is empty */
    size_t bytes;             /* of its stacks */
    uint64_t stacks, hits, misses, evicted, outdated;
    char apart[64]; /* parts share no cache line */
};

struct fw_stack_names {
    struct fw_names *names;      /* the caller's, or NULL: the shared index */
    pthread_rwlock_t names_lock; /* of the caller's: looking up, or refreshing */
    struct image_filter *filter; /* or NULL */
    bool text;
    size_t part_count, buckets; /* powers of two; the latter of each part */
    size_t part_memory;         /* for the stacks of one */
    _Atomic size_t bytes;       /* all blocks, held ones too, and this */
    struct part parts[];
};

static size_t power_of_two(size_t at_most)
{
    size_t power = 1;
    while (power <= at_most / 2)
        power *= 2;
    return power;
}

static struct part *part_of(struct fw_stack_names *cache, uint64_t id)
{
    return &cache->parts[(id >> 48) & (cache->part_count - 1)];
}

static struct named_stack **bucket_of(const struct fw_stack_names *cache, const struct part *part,
                                      uint64_t id)
{
    return &part->buckets[id & (cache->buckets - 1)];
}

static uint64_t generation_now(const struct fw_stack_names *cache)
{
    return cache->names ? fw_names_generation(cache->names) : shared_names_generation();
}

static const struct fw_names *hold_names(struct fw_stack_names *cache, const struct fw_stack *stack,
                                         uint64_t *generation)
{
    if (!cache->names)
        return shared_names_hold(stack->frames, stack->count, generation);
    pthread_rwlock_rdlock(&cache->names_lock);
    *generation = fw_names_generation(cache->names);
    return cache->names;
}

static void release_names(struct fw_stack_names *cache)
{
    if (cache->names)
        pthread_rwlock_unlock(&cache->names_lock);
    else
        shared_names_release();
}

static void let_go(struct fw_stack_names *cache, struct named_stack *named)
{
    if (atomic_fetch_sub_explicit(&named->holders, 1, memory_order_acq_rel) > 1)
        return;
    atomic_fetch_sub_explicit(&cache->bytes, named->bytes, memory_order_relaxed);
    free(named);
}

/* All from here to `keep` under the part's lock. */
static struct named_stack *find(const struct fw_stack_names *cache, const struct part *part,
                                const struct fw_stack *stack)
{
    struct named_stack *named = *bucket_of(cache, part, stack->id);
    while (named && !(named->stack.id == stack->id && named_stack_is(named, stack)))
        named = named->next;
    return named;
}

static void forget(struct fw_stack_names *cache, struct part *part, struct named_stack *named)
{
    struct named_stack **link = bucket_of(cache, part, named->stack.id);
    while (*link != named)
        link = &(*link)->next;
    *link = named->next;
    named->ring[BEFORE]->ring[BEHIND] = named->ring[BEHIND];
    named->ring[BEHIND]->ring[BEFORE] = named->ring[BEFORE];
    if (part->hand == named)
        part->hand = named->ring[BEHIND] == named ? NULL : named->ring[BEHIND];
    part->bytes -= named->bytes;
    part->stacks--;
    let_go(cache, named);
}

static void make_room(struct fw_stack_names *cache, struct part *part,
                      const struct named_stack *for_this)
{
    while (part->hand && part->bytes + for_this->bytes > cache->part_memory) {
        struct named_stack *named = part->hand;
        if (named->generation != for_this->generation) {
            part->outdated++;
            forget(cache, part, named);
        } else if (named->used) {
            named->used = false;
            part->hand = named->ring[BEHIND];
        } else {
            part->evicted++;
            forget(cache, part, named);
        }
    }
}

static void remember(struct fw_stack_names *cache, struct part *part, struct named_stack *named)
{
    struct named_stack **bucket = bucket_of(cache, part, named->stack.id);
    named->next = *bucket;
    *bucket = named;
    struct named_stack *hand = part->hand ? part->hand : named;
    named->ring[BEHIND] = hand; /* where the hand comes last */
    named->ring[BEFORE] = part->hand ? hand->ring[BEFORE] : named;
    named->ring[BEFORE]->ring[BEHIND] = named;
    hand->ring[BEFORE] = named;
    part->hand = hand;
    part->bytes += named->bytes;
    part->stacks++;
    atomic_fetch_add_explicit(&named->holders, 1, memory_order_relaxed);
}

static struct named_stack *hold(struct named_stack *named)
{
    atomic_fetch_add_explicit(&named->holders, 1, memory_order_relaxed);
    named->used = true;
    return named;
}

/* Stores what was just named, which its maker holds, or finds that another thread did before;
 * returns the one to hand out, held. */
static struct named_stack *keep(struct fw_stack_names *cache, struct part *part,
                                struct named_stack *named)
{
    struct named_stack *there = find(cache, part, &named->stack);
    if (there && there->generation == named->generation) {
        hold(there);
        let_go(cache, named);
        return there;
    }
    if (there) {
        part->outdated++;
        forget(cache, part, there);
    }
    if (named->bytes > cache->part_memory)
        return named;
    make_room(cache, part, named);
    remember(cache, part, named);
    return named;
}

static struct named_stack *name_it(struct fw_stack_names *cache, const struct fw_stack *stack)
{
    uint64_t generation;
    const struct fw_names *names = hold_names(cache, stack, &generation);
    if (!names)
        return NULL;
    struct named_stack *named = named_stack_create(stack, names, cache->filter, cache->text);
    release_names(cache);
    if (!named)
        return NULL;
    named->generation = generation;
    atomic_init(&named->holders, 1);
    atomic_fetch_add_explicit(&cache->bytes, named->bytes, memory_order_relaxed);
    return named;
}

fw_error fw_stack_names_get(struct fw_stack_names *cache, const struct fw_stack *stack,
                            const struct fw_named_stack **shown)
{
    if (!cache || !stack || !shown)
        return FW_ERR_ARGUMENT;
    struct part *part = part_of(cache, stack->id);
    const uint64_t generation = generation_now(cache);
    pthread_mutex_lock(&part->lock);
    struct named_stack *named = find(cache, part, stack);
    bool hit = named && named->generation == generation;
    if (hit)
        hold(named);
    part->hits += hit;
    part->misses += !hit;
    pthread_mutex_unlock(&part->lock);
    if (!hit) {
        named = name_it(cache, stack);
        *shown = NULL;
        if (!named)
            return FW_ERR_MEMORY;
        pthread_mutex_lock(&part->lock);
        named = keep(cache, part, named);
        pthread_mutex_unlock(&part->lock);
    }
    *shown = &named->shown;
    return FW_OK;
}

void fw_stack_names_release(struct fw_stack_names *cache, const struct fw_named_stack *shown)
{
    if (shown)
        let_go(cache, (struct named_stack *)(uintptr_t)shown);
}

fw_error fw_stack_names_refresh(struct fw_stack_names *cache)
{
    uint64_t generation;
    if (!cache->names) { /* refreshed whenever it is held */
        if (!shared_names_hold(NULL, 0, &generation))
            return FW_ERR_MEMORY;
        shared_names_release();
        return FW_OK;
    }
    struct names_list now = {0};
    fw_error error = FW_ERR_MEMORY;
    if (names_source_list(&now)) {
        pthread_rwlock_wrlock(&cache->names_lock);
        error = names_adopt(cache->names, &now);
        pthread_rwlock_unlock(&cache->names_lock);
    } else {
        names_list_free(&now);
    }
    return error;
}

void fw_stack_names_count(struct fw_stack_names *cache, struct fw_stack_names_counters *counters)
{
    *counters = (struct fw_stack_names_counters){
        .bytes = atomic_load_explicit(&cache->bytes, memory_order_relaxed)};
    for (size_t i = 0; i < cache->part_count; i++) {
        struct part *part = &cache->parts[i];
        pthread_mutex_lock(&part->lock);
        counters->hits += part->hits;
        counters->misses += part->misses;
        counters->evicted += part->evicted;
        counters->outdated += part->outdated;
        counters->stacks += part->stacks;
        pthread_mutex_unlock(&part->lock);
    }
}

static struct fw_stack_names *make_parts(size_t memory)
{
    const size_t parts =
        memory / PART_MEMORY < MOST_PARTS ? power_of_two(memory / PART_MEMORY) : MOST_PARTS;
    const size_t buckets = power_of_two(memory / parts / STACK_BYTES);
    const size_t tables = parts * buckets * sizeof(struct named_stack *);
    const size_t size = sizeof(struct fw_stack_names) + parts * sizeof(struct part) + tables;
    struct fw_stack_names *cache = calloc(1, size);
    if (!cache)
        return NULL;
    cache->part_count = parts;
    cache->buckets = buckets;
    cache->part_memory = memory / parts;
    cache->bytes = size;
    struct named_stack **table = (struct named_stack **)(cache->parts + parts);
    for (size_t i = 0; i < parts; i++) {
        pthread_mutex_init(&cache->parts[i].lock, NULL);
        cache->parts[i].buckets = table + i * buckets;
    }
    pthread_rwlock_init(&cache->names_lock, NULL);
    return cache;
}

fw_error fw_stack_names_create(struct fw_stack_names **created,
                               const struct fw_stack_names_options *given)
{
    struct fw_stack_names_options options = {.size = sizeof options};
    if (!created || (given && given->size < sizeof options))
        return FW_ERR_ARGUMENT;
    if (given)
        options = *given;
    if (options.image_count && !options.images)
        return FW_ERR_ARGUMENT;
    *created = NULL;
    struct fw_stack_names *cache = make_parts(options.memory ? options.memory : DEFAULT_MEMORY);
    if (!cache)
        return FW_ERR_MEMORY;
    cache->names = options.names;
    cache->text = options.text;
    if (options.images) {
        cache->filter = image_filter_create(options.images, options.image_count);
        if (!cache->filter) {
            fw_stack_names_destroy(cache);
            return FW_ERR_MEMORY;
        }
    }
    *created = cache;
    return FW_OK;
}

void fw_stack_names_destroy(struct fw_stack_names *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->part_count; i++) {
        while (cache->parts[i].hand)
            forget(cache, &cache->parts[i], cache->parts[i].hand);
        pthread_mutex_destroy(&cache->parts[i].lock);
    }
    pthread_rwlock_destroy(&cache->names_lock);
    image_filter_destroy(cache->filter);
    free(cache);
}
