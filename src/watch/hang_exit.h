/* The end of the program that has monitors. */
#ifndef WATCH_HANG_EXIT_H
#define WATCH_HANG_EXIT_H

#include "watch/hang_core.h"

/* From now on the program's end ends this monitor, too, until it is forgotten. */
void hang_exit_remember(struct fw_hang_monitor *monitor);
void hang_exit_forget(struct fw_hang_monitor *monitor);

#endif
