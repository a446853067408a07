/* Making a monitor: with a clock and a system's answers of one's own, and without a thread. */
#ifndef WATCH_HANG_H
#define WATCH_HANG_H

#include "watch/hang_core.h"

/* FW_ERR_ARGUMENT, FW_ERR_MEMORY. `clock` and `system` must outlive it. */
fw_error hang_create(const struct fw_hang_options *options, const struct watch_clock *clock,
                     const struct hang_system *system, struct fw_hang_monitor **monitor);
/* Its thread, if there was one, has ended. */
void hang_destroy(struct fw_hang_monitor *monitor);

#endif
