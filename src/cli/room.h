/*
 * Room on the stack for a command, whatever its limit (ulimit -s).
 *
 * Commands and the libraries that they use take up to some hundred kilobytes of stack. Where less
 * is allowed, the command runs in a thread that has its own; so do threads that it starts. The
 * limit itself stays as it is, for programs that are started.
 */
#ifndef CLI_ROOM_H
#define CLI_ROOM_H

typedef int room_run(int argc, char **argv);

/* Returns what `run` returns. */
int room_for(room_run *run, int argc, char **argv);

#endif
