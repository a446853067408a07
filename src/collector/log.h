/*
 * Lines to standard error: one event a line, at most LOG_LINE bytes, control characters of foreign
 * texts shown as "?". Each line is one write, so lines of several threads do not mix.
 */
#ifndef COLLECTOR_LOG_H
#define COLLECTOR_LOG_H

enum { LOG_LINE = 1024 };

void log_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
