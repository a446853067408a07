#ifndef MACHHOST_SCHED_H
#define MACHHOST_SCHED_H
int sched_yield(void);
#endif
