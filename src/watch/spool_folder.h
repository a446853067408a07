/*
 * The folder of reports as files: names, locks, and system calls with their errors. Everything goes
 * through the folder's descriptor; no symlink in it is followed; nothing but regular files is
 * opened.
 *
 * The one rule of locking: whoever holds the lock (flock) of a report's file may change, rename or
 * remove it; a writer holds it from the file's first moment to its last. The kernel drops the lock
 * when the writer is dead, however it died, so a .part whose lock can be had is a left one.
 *
 * Why flock. POSIX locks (fcntl F_SETLK) end when the process closes any descriptor of the file,
 * say in a second copy of this library that looks whether the file is locked: a living report would
 * look left. Open file description locks are Linux' own. A flock belongs to the open file, so two
 * sessions of one process exclude each other as those of two processes do. Its weakness is fork():
 * the child holds the lock as well. Descriptors are O_CLOEXEC, and in a child without exec
 * pthread_atfork closes them (session.c); a child that neither of these reaches (a raw clone())
 * merely delays recovery until it ends: nothing is lost.
 *
 * Descriptors are numbers that the host program can pull away: a daemon closes all that it finds, a
 * child of fork() may come from a thread whose table of files has others (Linux, unshare()). So
 * before anything is written to a file or a folder that stayed open, or closed in a child, its
 * identity is compared.
 *
 * Not async-signal-safe. No allocation but in spool_folder_open.
 */
#ifndef WATCH_SPOOL_FOLDER_H
#define WATCH_SPOOL_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { SPOOL_DIGITS = 32, SPOOL_ID_SIZE = SPOOL_DIGITS + 1 };

enum spool_kind {
    SPOOL_FOREIGN,
    SPOOL_PART, /* ID.part: being written, or left */
    SPOOL_WHOLE /* ID.fwr: ended, or broken off in order */
};

struct spool_file { /* one that stays open */
    int fd;         /* -1: none */
    dev_t device;
    ino_t inode;
};

struct spool_folder {
    DIR *list; /* opened once: readdir and rewinddir do not allocate */
    struct spool_file file;
};

struct spool_entry { /* a report's file */
    enum spool_kind kind;
    char id[SPOOL_ID_SIZE];
    uint64_t bytes;
};

/* Makes the folder when it is not there. 0, or errno. */
int spool_folder_open(struct spool_folder *folder, const char *path);
void spool_folder_close(struct spool_folder *folder);
/* Every report in it, in no order; none when the program has closed the folder's descriptor. What
 * is added or removed meanwhile may be among them or not. One thread at a time. */
void spool_folder_each(struct spool_folder *folder,
                       void (*each)(void *context, const struct spool_entry *entry), void *context);
/* Makes names durable: what was created, renamed, removed. */
bool spool_folder_sync(const struct spool_folder *folder);

/* Whether the descriptor still is that file. Async-signal-safe. */
bool spool_file_holds(const struct spool_file *file);
/* Closes it, unless the number is another file's by now. Async-signal-safe. */
void spool_file_close(struct spool_file *file);

/* A new ID.part, empty and locked; false when there can be none. */
bool spool_file_create(const struct spool_folder *folder, const char *id, struct spool_file *file);
/* Opens an existing report's file and locks it, to change it. -1 when it is gone, somebody has it
 * locked, or it is no file of ours. */
int spool_file_take(const struct spool_folder *folder, const char *id, enum spool_kind kind);
/* Opens one to read it, without lock; -1. */
int spool_file_read(const struct spool_folder *folder, const char *id, enum spool_kind kind);
/* Writes all of it at `offset`, or says no; then part of it may be there. Never raises SIGXFSZ: a
 * write beyond RLIMIT_FSIZE is not tried. */
bool spool_file_write(int file, const void *bytes, size_t size, uint64_t offset);
/* Until the disk has the contents. */
bool spool_file_sync(int file);
bool spool_file_publish(const struct spool_folder *folder, const char *id); /* .part to .fwr */
bool spool_file_remove(const struct spool_folder *folder, const char *id, enum spool_kind kind);

/* 16 bytes as 32 digits, and back (false when they are none). */
void spool_id_text(const uint8_t id[SPOOL_DIGITS / 2], char text[SPOOL_ID_SIZE]);
bool spool_id_bytes(const char *text, uint8_t id[SPOOL_DIGITS / 2]);

#endif
