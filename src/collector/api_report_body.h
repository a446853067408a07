/* A stored report's body, read, with the names that are to be had. */
#ifndef COLLECTOR_API_REPORT_BODY_H
#define COLLECTOR_API_REPORT_BODY_H

#include "collector/api_reports.h"
#include "collector/symbols.h"

struct api_body {
    struct span bytes;     /* as it came; owned */
    struct report *report; /* NULL: there is no body */
    struct symbols_report *names;
    struct heavy *heavy; /* its turn to end; NULL: none */
};
/* False: the body is gone, or v->error is set. */
bool api_body_open(struct api_view *v, int64_t row, struct api_body *body);
void api_body_close(struct api_body *body);

#endif
