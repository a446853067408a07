/*
 * The heap of commands that convert: much memory, from several threads, all at once.
 */
#ifndef CLI_HEAP_H
#define CLI_HEAP_H

/* Before any thread is started. Without effect where the C library has no such settings. */
void heap_prepare(void);

#endif
