/* All kinds of jobs: `extern const struct job_kind job_NAME;` and a line for each. */
#include "collector/job_kinds.h"

/* clang-format off */
extern const struct job_kind job_calls; /* calls_sums.c */
extern const struct job_kind job_convert; /* upload_job.c */
extern const struct job_kind job_forget; /* forget.c */
extern const struct job_kind job_groups; /* groups_jobs.c */
extern const struct job_kind job_limits; /* intake_limits.c */
extern const struct job_kind job_names; /* groups_jobs.c */
extern const struct job_kind job_packs_sweep; /* packs.c */
extern const struct job_kind job_retention; /* retention.c */
extern const struct job_kind job_rules; /* groups_jobs.c */
extern const struct job_kind job_rules_check; /* groups_jobs.c */
extern const struct job_kind job_scrub; /* scrub_job.c */
extern const struct job_kind job_symbols_used; /* symbols.c */
extern const struct job_kind job_uploads; /* upload_sweep.c */
extern const struct job_kind job_versions; /* version_store.c */

static const struct job_kind *const kinds[] = {
    &job_calls,
    &job_convert,
    &job_forget,
    &job_groups,
    &job_limits,
    &job_names,
    &job_packs_sweep,
    &job_retention,
    &job_rules,
    &job_rules_check,
    &job_scrub,
    &job_symbols_used,
    &job_uploads,
    &job_versions,
    NULL, /* the end */
};
/* clang-format on */

size_t job_kinds_all(struct job_kind *all, size_t capacity)
{
    size_t count = 0;
    for (; kinds[count] && count < capacity; count++)
        all[count] = *kinds[count];
    return count;
}
