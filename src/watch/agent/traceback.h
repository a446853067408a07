/*
 * The text that CPython's _Py_DumpTraceback writes: a line `  File "PATH", line N in FUNCTION` for
 * each frame, innermost first, among others. Names longer than 500 characters come cut from there.
 */
#ifndef AGENT_TRACEBACK_H
#define AGENT_TRACEBACK_H

#include "report/fwr_write.h"

/* Takes `text` (terminated) apart, which the frames then point into; returns how many of at most
 * `room` were found. No allocation. */
uint32_t traceback_read(char *text, struct fwr_script_frame *frames, uint32_t room);

#endif
