/*
 * Starvation, and the names of vetoes.
 *
 * Where the kernel counts how long a thread waited for a processor, that is the answer. Elsewhere a
 * thread that was runnable at both ends, and did not once go to sleep in between, was ready all the
 * time: what it did not run it waited.
 */
#include "watch/hang_veto.h"

#include "framewalk/hang.h"

uint64_t hang_starved(const struct hang_load *before, const struct hang_load *after,
                      uint64_t elapsed)
{
    uint64_t starved = 0;
    if (!before->known || !after->known)
        return 0;
    if (before->has_delay && after->has_delay) {
        if (after->delay_ns > before->delay_ns)
            starved = after->delay_ns - before->delay_ns;
    } else if (before->runnable && after->runnable && before->voluntary == after->voluntary) {
        const uint64_t ran = after->cpu_ns > before->cpu_ns ? after->cpu_ns - before->cpu_ns : 0;
        starved = elapsed > ran ? elapsed - ran : 0;
    }
    return starved < elapsed ? starved : elapsed;
}

const char *fw_hang_veto_text(fw_hang_veto veto)
{
    static const char *const text[FW_HANG_VETOES] = {
        [FW_HANG_VETO_NONE] = "none",
        [FW_HANG_VETO_STOPPED] = "the process was stopped, or the machine slept",
        [FW_HANG_VETO_STARVED] = "the thread waited for a processor",
        [FW_HANG_VETO_DEBUGGED] = "a debugger is attached",
        [FW_HANG_VETO_BACKGROUND] = "the program is in the background",
        [FW_HANG_VETO_IDLE_STACK] = "the loop was waiting",
    };
    return (unsigned)veto < FW_HANG_VETOES ? text[veto] : "unknown";
}
