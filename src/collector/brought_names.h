/*
 * Names that reports brought themselves: of Apple's own libraries, whose debug files nobody has, of
 * an app that was symbolicated where it crashed, and of what a JIT compiler made. They stand in for
 * a map where there is none, or none that knows the place; a map's names come first.
 *
 * By project: who may send reports to one cannot give names to the stacks of another.
 */
#ifndef COLLECTOR_BROUGHT_NAMES_H
#define COLLECTOR_BROUGHT_NAMES_H

#include "base/arena.h"
#include "collector/db.h"
#include "collector/stack_code.h"
#include "collector/symbols.h"

/* A report has the frame, whose image is a row; `known`: with names that are here already. Those
 * that no report had for long go with retention. */
fw_error brought_names_seen(struct db_conn *conn, int64_t project, const struct stack_frame *frame,
                            int64_t seen_ms, bool *known, struct fw_failure *why);
/* Row `number` (innermost function: 0) of a frame; in the caller's transaction. What another worker
 * made meanwhile stays. */
fw_error brought_names_add(struct db_conn *conn, int64_t project, const struct stack_frame *frame,
                           uint32_t number, const struct report_name *name, int64_t seen_ms,
                           bool *made, struct fw_failure *why);
/* Those of a frame; `found` is as of symbols_stack, in the arena. */
fw_error brought_names_find(struct db_conn *conn, int64_t project, const struct stack_frame *frame,
                            struct arena *arena, struct symbols_found *found,
                            struct fw_failure *why);

#endif
