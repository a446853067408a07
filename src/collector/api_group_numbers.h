/* The numbers of a GROUP under a view's filter. All but the installations come out of one sum by
 * version and day: of group_day, or with a system or a device of the reports themselves. */
#ifndef COLLECTOR_API_GROUP_NUMBERS_H
#define COLLECTOR_API_GROUP_NUMBERS_H

#include "collector/api_json.h"

struct group_numbers {
    int64_t group; /* asked for; all that follows is of the reports that the filter leaves */
    int64_t reports, blocked_ns, killed, longest_ns, installs;
    int64_t first_ms, last_ms;                /* of hangs; 0 without reports */
    const char *first_version, *last_version; /* by their order; NULL without reports */
    int64_t *trend;                           /* blocked_ns of each of the filter's days */
};

/* All zero but `group`; the same one may stand there twice. The array, its texts and trends live
 * until the reply was sent; NULL: out of memory, and said. */
struct group_numbers *api_group_numbers_new(struct api_view *v, const int64_t *groups,
                                            size_t count);
void api_group_numbers_read(struct api_view *v, struct group_numbers *numbers, size_t count);

/* `r` is a report that the filter's days, system, device and version leave. $1 project, $2 first
 * day, $3 version, $4 system, $5 device; 0: all. */
#define API_OF_SCOPE                                                                               \
    "r.day >= $2 AND ($4 = 0 OR r.os = $4) AND ($5 = 0 OR r.device = $5) AND " API_OF_VERSION("r")
/* In the order of its groups `r` is read by report_scope, which holds all that is asked for. */
#define API_GROUPS_OF_PROJECT "(SELECT id FROM hang_group WHERE project = $1)"
/* `d`, a row of group_day, is of the filter's days and version. Each text names all of $1 to $5, so
 * that one list of values serves both. */
#define API_OF_DAYS "d.day >= $2 AND $4 = 0 AND $5 = 0 AND " API_OF_VERSION("d")

#endif
