/*
 * The unwind rule: a row (row.h) of the common shape packed into 64 bits, and the cache of rules by
 * address.
 *
 *     bits   0..2   kind        enum rule_kind
 *            3..6   method      fw_method
 *            7..23  fp          frame pointer at CFA + fp words  (signed; 0 = unchanged)
 *           24..40  ra          return address at CFA + ra words (signed; 0 = in the link register)
 *           41..63  cfa         CFA = base + cfa words           (unsigned)
 *
 * Where calls push the return address (x86), ra is always -1 and is not decoded.
 *
 * What does not fit (expressions, other CFA registers, signal frames) is RULE_SLOW: its row is
 * decoded each time.
 *
 * The cache is a fixed array shared by all threads and signal handlers without locks. A slot holds
 * two words, `check` and `rule`, read and written with relaxed atomics; check = key ^ rule * odd
 * constant, so a reader that sees halves of two writes finds a mismatch and looks the row up
 * instead.
 *
 * Each slot also holds a guess, the slot in which the caller's rule was found last. A walk that
 * follows guesses loads the next rule while the return address is still on its way from the stack;
 * the check word then tells whether the guess was right. A wrong or torn guess costs time, never a
 * frame.
 */
#ifndef UNWIND_RULE_H
#define UNWIND_RULE_H

#include "unwind/row.h"

typedef uint64_t rule_t;

enum rule_kind {
    RULE_NONE = 0, /* not in the cache */
    RULE_SP,       /* CFA = sp + cfa */
    RULE_FP,       /* CFA = fp + cfa */
    RULE_ROOT,     /* outermost frame */
    RULE_SLOW,     /* decode the row */
};

static inline unsigned rule_kind(rule_t rule)
{
    return (unsigned)rule & 7;
}

static inline uint8_t rule_method(rule_t rule)
{
    return rule >> 3 & 15;
}

static inline uint64_t rule_cfa_words(rule_t rule)
{
    return rule >> 41;
}

static inline int64_t rule_ra_words(rule_t rule)
{
    return (int64_t)(rule << 23) >> 47;
}

static inline int64_t rule_fp_words(rule_t rule)
{
    return (int64_t)(rule << 40) >> 47;
}

/* The rule for a row; RULE_SLOW when it does not fit. Async-signal-safe. */
rule_t rule_pack(const struct arch *arch, const struct unwind_row *row);

/* Aligned by hand: i386 and Apple's armv7 ask for four bytes only, and armv7's 64-bit loads for
 * eight. */
struct rule_slot {
    _Alignas(8) uint64_t check;
    uint64_t rule;
    uint64_t caller; /* the guess: distance of its slot from the first one, in bytes */
};

struct rule_cache {
    /* Bits 56..63, mixed into keys: a step makes older entries unreachable. */
    _Alignas(8) uint64_t generation;
    uint64_t mask;          /* slots - 1; slots is a power of two */
    struct rule_slot *slot; /* zeroed at first */
};

/* Bytes that a cache of 2^bits slots and its slots take together. */
#define RULE_CACHE_SIZE(bits)                                                                      \
    (sizeof(struct rule_cache) + ((size_t)1 << (bits)) * sizeof(struct rule_slot))

/* Lays an empty cache out in zeroed memory of RULE_CACHE_SIZE(bits) bytes. */
static inline void rule_cache_init(struct rule_cache *cache, unsigned bits)
{
    cache->mask = ((uint64_t)1 << bits) - 1;
    cache->slot = (struct rule_slot *)(cache + 1);
}

/* Forgets everything. Thread-safe and async-signal-safe. */
void rule_cache_clear(struct rule_cache *cache);

/* The key of a frame: an exact address may have another rule than a return address of the same
 * value. */
static inline uint64_t rule_key(const struct rule_cache *cache, uint64_t address, bool exact)
{
    return (address | (uint64_t)exact << 55) ^
           __atomic_load_n(&cache->generation, __ATOMIC_RELAXED);
}

/* The slot of an address: two neighbours belong to each address, so that two frames of one stack
 * rarely evict each other. No two return addresses are one byte apart, so bit 0 is dropped. */
static inline struct rule_slot *rule_slot_of(const struct rule_cache *cache, uint64_t address)
{
    return &cache->slot[address >> 1 & cache->mask];
}

static inline struct rule_slot *rule_slot_other(const struct rule_cache *cache,
                                                struct rule_slot *slot)
{
    return cache->slot + ((size_t)(slot - cache->slot) ^ 1);
}

static inline uint64_t rule_check(uint64_t key, rule_t rule)
{
    return key ^ rule * 0xD6E8FEB86659FD93u;
}

/* Whether the slot holds the rule of `key`; *rule is only to be used then. */
static inline bool rule_slot_holds(const struct rule_slot *slot, uint64_t key, rule_t *rule)
{
    *rule = __atomic_load_n(&slot->rule, __ATOMIC_RELAXED);
    return __atomic_load_n(&slot->check, __ATOMIC_RELAXED) == rule_check(key, *rule);
}

static inline rule_t rule_slot_get(const struct rule_slot *slot, uint64_t key)
{
    rule_t rule;
    return __builtin_expect(rule_slot_holds(slot, key, &rule), 1) ? rule : RULE_NONE;
}

/* RULE_NONE (0) when the address is not there. */
static inline rule_t rule_cache_get(const struct rule_cache *cache, uint64_t address, bool exact)
{
    uint64_t key = rule_key(cache, address, exact);
    struct rule_slot *slot = rule_slot_of(cache, address);
    rule_t rule = rule_slot_get(slot, key);
    return __builtin_expect(rule != RULE_NONE, 1)
               ? rule
               : rule_slot_get(rule_slot_other(cache, slot), key);
}

/* The rule of `address` when the guess was wrong; *slot moves to it, and its callee's slot learns.
 * RULE_NONE when it is not there. */
static inline rule_t rule_guess_again(const struct rule_cache *cache, uint64_t address,
                                      uint64_t key, struct rule_slot *callee,
                                      struct rule_slot **slot)
{
    *slot = rule_slot_of(cache, address);
    rule_t rule = rule_slot_get(*slot, key);
    if (rule == RULE_NONE) {
        *slot = rule_slot_other(cache, *slot);
        rule = rule_slot_get(*slot, key);
    }
    if (rule != RULE_NONE)
        __atomic_store_n(&callee->caller, (uint64_t)((char *)*slot - (char *)cache->slot),
                         __ATOMIC_RELAXED);
    return rule;
}

static inline struct rule_slot *rule_guess(const struct rule_cache *cache,
                                           const struct rule_slot *callee)
{
    return (struct rule_slot *)((char *)cache->slot +
                                __atomic_load_n(&callee->caller, __ATOMIC_RELAXED));
}

/* Takes an empty slot of the two, else the first one, whose old rule moves to the second. `key` is
 * the address's from before the rule was looked up: one that was void meanwhile stays unreachable.
 */
static inline void rule_cache_put_key(struct rule_cache *cache, uint64_t address, uint64_t key,
                                      rule_t rule)
{
    struct rule_slot *slot = rule_slot_of(cache, address), *other = rule_slot_other(cache, slot);
    rule_t old = __atomic_load_n(&slot->rule, __ATOMIC_RELAXED);
    if (old != RULE_NONE) {
        uint64_t check = __atomic_load_n(&slot->check, __ATOMIC_RELAXED);
        __atomic_store_n(&other->rule, old, __ATOMIC_RELAXED);
        __atomic_store_n(&other->check, check, __ATOMIC_RELAXED);
    }
    __atomic_store_n(&slot->rule, rule, __ATOMIC_RELAXED);
    __atomic_store_n(&slot->check, rule_check(key, rule), __ATOMIC_RELAXED);
}

static inline void rule_cache_put(struct rule_cache *cache, uint64_t address, bool exact,
                                  rule_t rule)
{
    rule_cache_put_key(cache, address, rule_key(cache, address, exact), rule);
}

#endif
