/*
 * The folder of everything a server keeps: reports of other people's machines, and the database
 * with what unlocks them. Invariant: while a server runs on it nobody but its user reads it.
 */
#ifndef COLLECTOR_DATA_FOLDER_H
#define COLLECTOR_DATA_FOLDER_H

#include "framewalk/error.h"

/* Made when it is not there. One that others may read is closed to them (0700), which is a line in
 * the log, when it is ours: empty, or a server's before. Any other is refused: closing a folder
 * that others work in is not for us to do. */
fw_error data_folder_open(const char *path, struct fw_failure *why);

#endif
