/*
 * The client's half of gdb's remote serial protocol over a Unix socket, as much of it as stepping a
 * program under qemu's user emulation needs. "Debugging with GDB", appendix E.
 */
#ifndef TESTS_ORACLE_REMOTE_H
#define TESTS_ORACLE_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REMOTE_PACKET = 4096 };

struct remote {
    int fd;
    char reply[REMOTE_PACKET + 1]; /* the last answer, ended by 0 */
    size_t size;
    char pending[REMOTE_PACKET]; /* received, but not looked at */
    size_t taken, received;
};

/* Waits until somebody listens at `path`, for a few seconds at the most. */
bool remote_connect(struct remote *remote, const char *path);
void remote_close(struct remote *remote);

/* Sends a command and waits for the answer. False when the other side has gone. */
bool remote_ask(struct remote *remote, const char *command);

/* Turns `size` bytes of hexadecimal digits at `text` into bytes. */
bool remote_bytes(const char *text, void *to, size_t size);

#endif
