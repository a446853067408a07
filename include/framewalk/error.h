/*
 * Errors of Framewalk: one small enum, and a message with the place.
 *
 * A function that can fail returns `fw_error`, FW_OK on success. Functions that read files or other
 * processes also take an optional `struct fw_failure *`, which says in one line what failed and
 * where.
 */
#ifndef FRAMEWALK_ERROR_H
#define FRAMEWALK_ERROR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FW_API __attribute__((visibility("default")))
#else
#define FW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fw_error {
    FW_OK = 0,
    FW_ERR_ARGUMENT,    /* a parameter is outside what the function documents */
    FW_ERR_MEMORY,      /* out of memory, or the caller's buffer is too small */
    FW_ERR_NOT_FOUND,   /* no such process, thread, file, section or symbol */
    FW_ERR_PERMISSION,  /* the system refused; the message names the setting to change */
    FW_ERR_FORMAT,      /* not a file of the expected kind */
    FW_ERR_CORRUPT,     /* the kind is right, the contents contradict themselves */
    FW_ERR_TRUNCATED,   /* the file ends before its contents do */
    FW_ERR_UNSUPPORTED, /* well-formed, but this build or this system cannot do it */
    FW_ERR_VANISHED,    /* the process or thread ended meanwhile */
    FW_ERR_TIMEOUT,     /* no answer within the bounded wait */
    FW_ERR_FULL,        /* a fixed-size table has no room; what was not kept is counted */
    FW_ERR_SYSTEM,      /* another system call failed; `os_error` holds errno */
} fw_error;

/* What failed and where. Plain memory owned by the caller; nothing to free. */
struct fw_failure {
    fw_error code;
    int os_error;      /* errno of the failed system call, 0 if none */
    uint64_t place;    /* file offset or address that the message speaks of, 0 if none */
    char message[232]; /* one line, no newline, always terminated */
};

/* A constant English phrase for `error`. Async-signal-safe, thread-safe. */
FW_API const char *fw_error_text(fw_error error);

#ifdef __cplusplus
}
#endif
#endif
