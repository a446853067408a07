#ifndef MACHHOST_DIRENT_H
#define MACHHOST_DIRENT_H
#include <sys/types.h>
/* The layout with 64-bit inode numbers, the only one on arm64. */
struct dirent {
    ino_t d_ino;
    uint64_t d_seekoff;
    uint16_t d_reclen;
    uint16_t d_namlen;
    uint8_t d_type;
    char d_name[1024];
};
#define DT_UNKNOWN 0
#define DT_DIR     4
#define DT_REG     8
typedef struct machhost_dir DIR;
int closedir(DIR *folder);
DIR *fdopendir(int fd);
DIR *opendir(const char *path);
struct dirent *readdir(DIR *folder);
void rewinddir(DIR *folder);
#endif
