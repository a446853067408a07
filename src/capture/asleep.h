/*
 * A thread of this process that sleeps in the kernel and cannot answer a signal: its stack from
 * where it entered the kernel, read while it sleeps.
 *
 * Of its registers only pc, sp and the system call's arguments are known, so the walk may end with
 * FW_END_NO_INFO where a function addresses its frame through another one; on x86 code mostly
 * proves what the frame pointer was (analysis_frame_pointer in unwind/sources.h).
 */
#ifndef CAPTURE_ASLEEP_H
#define CAPTURE_ASLEEP_H

#include "os/linux/tasks.h"

/* Fills `stack` (frames, capacity, tail set by the caller). FW_OK only when the thread did not run
 * from before the walk until after it. FW_ERR_VANISHED: it runs, or ran meanwhile.
 * FW_ERR_NOT_FOUND: it is gone. FW_ERR_UNSUPPORTED, FW_ERR_PERMISSION: the kernel does not tell. No
 * allocation, no lock; about 6 KB of stack. */
fw_error asleep_capture(fw_thread_id id, struct fw_stack *stack, struct task_status *status);

#endif
