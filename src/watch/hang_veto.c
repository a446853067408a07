/* Starvation (hang_veto.h), and the names of vetoes. */
#include "watch/hang_veto.h"

#include "framewalk/hang.h"

static uint64_t grown(uint64_t from, uint64_t to)
{
    return to > from ? to - from : 0;
}

/* Since `first`. */
static uint64_t starved(const struct hang_starving *s)
{
    uint64_t most = s->seen;
    if (s->first.has_delay && s->last.has_delay &&
        grown(s->first.delay_ns, s->last.delay_ns) > most)
        most = grown(s->first.delay_ns, s->last.delay_ns);
    const uint64_t all = s->last_at - s->first_at;
    return most < all ? most : all;
}

/* Nothing is known until the next look. */
static void pause_looking(struct hang_starving *s)
{
    if (s->first.known)
        s->before += starved(s);
    s->first.known = false;
    s->last_at = s->left_out = 0;
}

uint64_t hang_starving_look(struct hang_starving *s, const struct hang_load *load, uint64_t now)
{
    if (!load->known || now < s->last_at) {
        pause_looking(s);
        return s->before;
    }
    if (!s->first.known) {
        s->first = *load;
        s->first_at = s->last_at = now;
        s->seen = 0;
    } else {
        const uint64_t delay = grown(s->last.delay_ns, load->delay_ns);
        s->first.delay_ns += delay < s->left_out ? delay : s->left_out;
        if (s->last.runnable && load->runnable && s->last.voluntary == load->voluntary)
            s->seen += grown(grown(s->last.cpu_ns, load->cpu_ns), now - s->last_at);
    }
    s->left_out = 0;
    s->last = *load;
    s->last_at = now;
    return s->before + starved(s);
}

void hang_starving_leave_out(struct hang_starving *s, uint64_t span)
{
    if (!s->first.known)
        return;
    s->left_out += span;
    s->first_at += span;
    s->last_at += span;
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
