/* Lists of reports, newest first, and finding one by its id. */
#ifndef COLLECTOR_API_REPORTS_H
#define COLLECTOR_API_REPORTS_H

#include "collector/api_json.h"

struct api_report_query {
    int64_t group;                  /* 0: all of the project */
    uint8_t id_from[16], id_to[16]; /* report ids in this range, ends included... */
    bool by_id;                     /* ...when this is set */
    struct api_cursor after;        /* rank: received_ms */
};
/* The whole answer: {"items": ..., "next": ...}. */
void api_reports(struct api_view *v, const struct api_report_query *query);

struct api_report_row { /* of `report`, texts in the request's arena; NULL: unknown */
    int64_t row, kind, received_ms, started_ms, duration_ns, ending, complete, group;
    const char *version, *build, *os, *device, *group_title;
    uint8_t id[16];
};
/* The report that {id} of the path names. False: 404 was replied. */
bool api_report_find(struct api_view *v, struct api_report_row *row);
/* "hang", "calls", "snapshot", or the format of another tool. */
const char *api_report_kind(int64_t kind);

#endif
