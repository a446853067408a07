/* Phrases that the writers of `framewalk dump` share, and what counts as a whole stack. */
#include "cli/dump.h"

#include <inttypes.h>
#include <string.h>

const char *dump_state_word(char state)
{
    switch (state) {
    case 'R': return "running";
    case 'S': return "sleeping";
    case 'D': return "uninterruptible sleep";
    case 'T': return "stopped";
    case 't': return "stopped by a debugger";
    case 'Z':
    case 'X': return "dead";
    case 'I': return "idle";
    default: return "";
    }
}

const char *dump_image_name(const char *image)
{
    const char *slash = strrchr(image, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : image;
}

void dump_end_phrase(const struct dump_stack *stack, char *text, size_t size)
{
    if (stack->end == FW_END_UNAVAILABLE)
        snprintf(text, size, "%s", fw_unavailable_text((fw_unavailable)stack->unavailable));
    else
        snprintf(text, size, "%s", fw_end_text((fw_end)stack->end));
}

bool dump_stack_is_whole(const struct dump *dump, const struct dump_stack *stack)
{
    if (stack->end == FW_END_LIMIT)
        return dump->depth_limit != 0 && stack->count >= dump->depth_limit;
    return stack->end == FW_END_ROOT && stack->omitted == 0;
}
