/* Reports for the 1st, 10th, 100th hang of a stack, and a cap a day: see hang_annealing.h. */
#include "watch/hang_annealing.h"

#define DAY_MS UINT64_C(86400000)

static struct annealing_key *find(struct annealing *a, uint64_t key)
{
    struct annealing_key *oldest = &a->keys[0];
    for (unsigned i = 0; i < ANNEALING_KEYS; i++) {
        if (a->keys[i].key == key && a->keys[i].count)
            return &a->keys[i];
        if (a->keys[i].used < oldest->used)
            oldest = &a->keys[i];
    }
    *oldest = (struct annealing_key){.key = key};
    return oldest;
}

static bool is_power_of_ten(uint64_t count)
{
    while (count >= 10 && count % 10 == 0)
        count /= 10;
    return count == 1;
}

static void look_at_the_day(struct annealing *a, uint64_t now, uint64_t wall_ms)
{
    const uint64_t day = wall_ms / DAY_MS;
    if (day <= a->day && now - a->day_began < DAY_MS * 1000000)
        return;
    a->day = day;
    a->day_began = now;
    a->today = 0;
}

enum annealing_answer annealing_ask(struct annealing *a, uint64_t key, uint64_t now,
                                    uint64_t wall_ms, uint32_t per_day)
{
    struct annealing_key *known = find(a, key);
    known->used = ++a->uses;
    if (!is_power_of_ten(++known->count) && !a->every)
        return ANNEALING_SAME;
    look_at_the_day(a, now, wall_ms);
    if (a->today >= per_day)
        return ANNEALING_CAPPED;
    a->today++;
    return ANNEALING_REPORT;
}

void annealing_left_out(struct annealing *a, uint64_t duration_ns)
{
    a->left_out++;
    a->left_out_ns += duration_ns;
    if (duration_ns > a->left_out_longest_ns)
        a->left_out_longest_ns = duration_ns;
}

void annealing_told(struct annealing *a)
{
    a->left_out = a->left_out_ns = a->left_out_longest_ns = 0;
}
