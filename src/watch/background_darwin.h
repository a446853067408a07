/*
 * Whether anybody sees the program, as the system's frameworks tell: UIKit, AppKit, WatchKit, and
 * Foundation in app extensions post notifications when a program goes behind the others and when it
 * comes back. Their names are looked up where the frameworks are; nothing is linked.
 */
#ifndef WATCH_BACKGROUND_DARWIN_H
#define WATCH_BACKGROUND_DARWIN_H

#include <stdbool.h>

/* `changed` is called from now on whenever that changes, in the thread that posts the notification:
 * the main thread. Only once in a process. Main thread. False when the program has none of the
 * frameworks. */
bool background_observe(void (*changed)(bool hidden));

#endif
