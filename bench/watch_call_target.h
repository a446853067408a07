/* See watch_call.c. */
#ifndef BENCH_WATCH_CALL_TARGET_H
#define BENCH_WATCH_CALL_TARGET_H

__attribute__((visibility("default"))) int bench_watch_target(int value);

#endif
