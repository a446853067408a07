/*
 * The walls around the child that reads foreign debug files (converter.c). Raised by the child
 * itself, before it looks at the first foreign byte.
 *
 *     rlimits             memory (RLIMIT_DATA), processor time, size of files, descriptors, no core
 *     no_new_privs        nothing that is executed gains rights
 *     Landlock            files: those below the output folder alone (Linux 5.13 and later)
 *     chroot, other user  when started as root: the output folder is all there is, user 65534
 *     descriptors         those above the output folder's are closed
 *     seccomp             system calls: memory (none that can be executed), threads, the
 * descriptors that are open, openat relative to the output folder, signals to itself. Nothing that
 * makes sockets or processes, or reaches other ones
 *
 * Where neither Landlock nor root is to be had, a child that was taken over could still open files
 * of its user by absolute paths, which seccomp does not see; it has no way to send them anywhere
 * but into its own result.
 */
#ifndef COLLECTOR_LOCKDOWN_H
#define COLLECTOR_LOCKDOWN_H

#include "framewalk/error.h"

#include <stdbool.h>

struct lockdown_limits {
    uint64_t memory;  /* bytes of writable memory */
    uint64_t seconds; /* of processor time, all threads together */
    uint64_t file;    /* bytes of any one file that is written */
    uint64_t mapped;  /* bytes of files that may be mapped at once */
};

struct lockdown { /* what holds */
    bool landlock, chroot;
};

/* `folder` is the descriptor of the output folder, the only one that openat may be given; higher
 * ones are closed. Must be called before the process has a second thread. */
fw_error lockdown(int folder, const struct lockdown_limits *limits, struct lockdown *holds,
                  struct fw_failure *why);

#endif
