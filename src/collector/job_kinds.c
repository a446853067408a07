/* All kinds of jobs: `extern const struct job_kind job_NAME;` and a line for each. */
#include "collector/job_kinds.h"

extern const struct job_kind job_symbols_used; /* symbols.c */

static const struct job_kind *const kinds[] = {
    &job_symbols_used, NULL, /* the end */
};

size_t job_kinds_all(struct job_kind *all, size_t capacity)
{
    size_t count = 0;
    for (; kinds[count] && count < capacity; count++)
        all[count] = *kinds[count];
    return count;
}
