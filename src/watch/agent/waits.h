/* The waits of the watched thread: waits.c. */
#ifndef AGENT_WAITS_H
#define AGENT_WAITS_H

/* Another process after fork(): its loop is not known yet. */
void waits_reset(void);

#endif
