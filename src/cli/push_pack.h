/* A file as it is sent: packed where that makes it smaller, mapped, with its SHA-256. */
#ifndef CLI_PUSH_PACK_H
#define CLI_PUSH_PACK_H

#include "base/reader.h"
#include "cli/push_find.h"

struct push_pack {
    struct span bytes; /* mapped */
    char sha256[65];   /* digits; "": libcrypto is not there */
    bool borrowed;     /* bytes are the file's own (push_file.made) */
};

/* The file that was looked at; with zstd unless it is `whole`. False: *why says it. */
bool push_pack_open(const struct push_file *file, struct push_pack *packed, char *why, size_t size);
void push_pack_close(struct push_pack *packed);

/* A file without a name, for what is made to be sent; -1: none can be made. */
int push_pack_file(void);
bool push_pack_write(int fd, const void *data, size_t size);
/* Its bytes, mapped; false when it is empty or cannot be. The descriptor stays the caller's. */
bool push_pack_map(int fd, struct span *bytes);

#endif
