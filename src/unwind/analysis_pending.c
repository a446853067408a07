/* Stands in until the analyses of aarch64 and arm land. */
#include "unwind/analysis.h"

enum unwind_status analysis_find_aarch64(const struct unwind_image *image, uint64_t vaddr,
                                         bool exact, struct unwind_row *row)
{
    (void)image, (void)vaddr, (void)exact, (void)row;
    return UNWIND_NO_INFO;
}

enum unwind_status analysis_find_arm(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                     struct unwind_row *row)
{
    (void)image, (void)vaddr, (void)exact, (void)row;
    return UNWIND_NO_INFO;
}
