/* The two parts of Framewalk's own form: any report (to_json.c), and what only our own reports hold
 * (to_json_watch.c). */
#ifndef REPORT_TO_JSON_H
#define REPORT_TO_JSON_H

#include "report/write.h"

void json_member(struct report_bytes *out, const char *key, const char *value);
/* `[frame, ...]` */
void json_frames(struct report_bytes *out, const struct report *r,
                 const struct report_thread *thread, report_resolve resolve, void *context);

/* Members of a thread, and of the report behind its threads; each begins with a comma. */
void json_watch_thread(struct report_bytes *out, const struct report_thread *thread);
void json_watch(struct report_bytes *out, const struct report *r, report_resolve resolve,
                void *context);

#endif
