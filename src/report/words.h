/* Words and numbers for people, and the names of what Framewalk's reports say in numbers. */
#ifndef REPORT_WORDS_H
#define REPORT_WORDS_H

#include "report/out.h"

/* Foreign text for display: control characters, marks that turn the direction of text, and bytes
 * that are no characters become \xNN. Returns the columns it takes; with more than `columns` it is
 * cut, and ends in "...". */
size_t out_clean(struct report_bytes *out, const char *text, size_t columns);
/* 99744 as "99,744". */
void out_grouped(struct report_bytes *out, uint64_t number);
/* Nanoseconds in whole milliseconds: "1,843 ms", "0.4 ms". */
void out_ms(struct report_bytes *out, uint64_t ns);
/* Exact: "12.034567", without zeros at the end. */
void out_exact_ms(struct report_bytes *out, uint64_t ns);
/* Milliseconds since 1970 in UTC: "2026-11-22 05:46:50.123 UTC". */
void out_utc(struct report_bytes *out, uint64_t ms);

/* What follows the last slash. */
const char *last_part(const char *path);
/* A thread as it is to be called. */
const char *thread_label(const struct report_thread *thread);

/* enum fwr_ending and fw_hang_veto as JSON has them: "recovered", "idle_stack"; "none". */
const char *ending_word(uint8_t ending);
const char *veto_word(uint8_t veto);

#endif
