/* Problems by category: counted, and the first of each told with its place. */
#include "dwarf/internal.h"

#include <stdarg.h>
#include <stdio.h>

void dwarf_problem_note(struct dwarf_problems *problems, enum dwarf_problem category, fw_error code,
                        uint64_t place, const struct dwarf_file *file, const char *format, ...)
{
    if (!problems || problems->count[category]++)
        return;
    struct fw_failure *first = &problems->first[category];
    *first = (struct fw_failure){.code = code, .place = place};
    int used = snprintf(first->message, sizeof first->message,
                        "%s: .debug_info%s+0x%llx: ", object_label(file->object),
                        file->dwo ? ".dwo" : "", (unsigned long long)place);
    if (used < 0 || (size_t)used >= sizeof first->message)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(first->message + used, sizeof first->message - (size_t)used, format, args);
    va_end(args);
}
