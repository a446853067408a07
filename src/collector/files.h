/*
 * Files that appear whole or not at all and survive the machine: written under another name, made
 * durable, renamed, the folder made durable. Also what errno means to a store.
 */
#ifndef COLLECTOR_FILES_H
#define COLLECTOR_FILES_H

#include "base/reader.h"
#include "framewalk/error.h"

/* FW_ERR_FULL, FW_ERR_PERMISSION, FW_ERR_NOT_FOUND, FW_ERR_TIMEOUT, FW_ERR_MEMORY, else
 * FW_ERR_SYSTEM. */
fw_error files_error(int os_error);
/* "what: text of os_error" */
fw_error files_say(struct fw_failure *why, int os_error, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Makes the folders that lead to `path` (the last part is the file's), durably. */
fw_error files_make_folders(const char *path, struct fw_failure *why);
/* All of `bytes` to the descriptor; `path` is for the message alone. Errors as of files_error. */
fw_error files_write(int fd, struct span bytes, const char *path, struct fw_failure *why);
/* Makes what `from` holds durable and renames it; what `to` was before is gone. The folders of
 * `to` must be there. FW_ERR_UNSUPPORTED: they lie on different file systems. */
fw_error files_publish(const char *from, const char *to, struct fw_failure *why);

#endif
