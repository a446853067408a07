/* Code that waits: see hang_sites.h. An entry counts once its upper bound is not zero, which is
 * stored last. */
#include "watch/hang_sites.h"

static struct {
    uintptr_t lo, hi;
} sites[HANG_SITES];
static uint32_t claimed;
static bool (*patterns[HANG_PATTERNS])(const struct fw_stack *stack);

/* Bounds that the linker knows. */
#if defined(__APPLE__)
extern const char wait_begin[] __asm__("section$start$__TEXT$fw_wait");
extern const char wait_end[] __asm__("section$end$__TEXT$fw_wait");
#else
#define wait_begin __start_framewalk_wait
#define wait_end   __stop_framewalk_wait
extern const char wait_begin[] __attribute__((visibility("hidden")));
extern const char wait_end[] __attribute__((visibility("hidden")));
#endif

bool hang_sites_add(uintptr_t lo, uintptr_t hi)
{
    for (uint32_t i = 0; i < HANG_SITES; i++)
        if (__atomic_load_n(&sites[i].hi, __ATOMIC_ACQUIRE) == hi &&
            __atomic_load_n(&sites[i].lo, __ATOMIC_RELAXED) == lo)
            return true;
    const uint32_t at = __atomic_fetch_add(&claimed, 1, __ATOMIC_RELAXED);
    if (at >= HANG_SITES) {
        __atomic_store_n(&claimed, HANG_SITES, __ATOMIC_RELAXED);
        return false;
    }
    __atomic_store_n(&sites[at].lo, lo, __ATOMIC_RELAXED);
    __atomic_store_n(&sites[at].hi, hi, __ATOMIC_RELEASE);
    return true;
}

bool hang_sites_add_pattern(bool (*idle)(const struct fw_stack *stack))
{
    for (uint32_t i = 0; i < HANG_PATTERNS; i++) {
        bool (*none)(const struct fw_stack *) = NULL;
        if (__atomic_compare_exchange_n(&patterns[i], &none, idle, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE) ||
            none == idle)
            return true;
    }
    return false;
}

void hang_sites_add_own(void)
{
    hang_sites_add((uintptr_t)wait_begin, (uintptr_t)wait_end);
}

static bool in_a_site(uint64_t address)
{
    for (uint32_t i = 0; i < HANG_SITES; i++)
        if (address < __atomic_load_n(&sites[i].hi, __ATOMIC_ACQUIRE) &&
            address >= __atomic_load_n(&sites[i].lo, __ATOMIC_RELAXED))
            return true;
    return false;
}

bool hang_sites_idle(const struct fw_stack *stack)
{
    for (uint32_t i = 0; i < stack->count && i < HANG_SITE_DEPTH; i++) {
        const struct fw_frame *frame = &stack->frames[i];
        if (frame->flags & FW_FRAME_SIGNAL) /* the wait was interrupted: a handler runs */
            return false;
        if (in_a_site(frame->address - (frame->kind == FW_FRAME_RETURN)))
            return true;
    }
    for (uint32_t i = 0; i < HANG_PATTERNS; i++) {
        bool (*idle)(const struct fw_stack *) = __atomic_load_n(&patterns[i], __ATOMIC_ACQUIRE);
        if (idle && idle(stack))
            return true;
    }
    return false;
}
