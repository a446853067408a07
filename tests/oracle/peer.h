/* Another unwinder, asked about the same instructions. Each peer is linked into its own oracle
 * program, because libunwind replaces functions of the C library and of libgcc. */
#ifndef TESTS_ORACLE_PEER_H
#define TESTS_ORACLE_PEER_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* NULL when this program was built without a peer. */
extern const char *const peer_name;

void *peer_start(pid_t pid);
void peer_end(void *peer);
/* Forgets what it may have cached of the process's code. */
void peer_flush(void *peer);
/* The frame addresses of the stopped process, innermost first; *whole says that the peer thinks it
 * reached the outermost one. Returns how many. */
size_t peer_walk(void *peer, uint64_t *address, size_t room, int *whole);

#endif
