#ifndef MACHHOST_SYS_STAT_H
#define MACHHOST_SYS_STAT_H
#include <sys/types.h>
/* The layout with 64-bit inode numbers, the only one on arm64. */
struct stat {
    dev_t st_dev;
    mode_t st_mode;
    nlink_t st_nlink;
    ino_t st_ino;
    uid_t st_uid;
    gid_t st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec;
    struct timespec st_mtimespec;
    struct timespec st_ctimespec;
    struct timespec st_birthtimespec;
    off_t st_size;
    blkcnt_t st_blocks;
    blksize_t st_blksize;
    uint32_t st_flags;
    uint32_t st_gen;
    int32_t st_lspare;
    int64_t st_qspare[2];
};
#define S_IFMT     0170000
#define S_IFDIR    0040000
#define S_IFREG    0100000
#define S_IFLNK    0120000
#define S_ISDIR(m) (((m) & S_IFMT) == S_IFDIR)
#define S_ISREG(m) (((m) & S_IFMT) == S_IFREG)
#define S_IRWXU    0000700
#define S_IRUSR    0000400
#define S_IWUSR    0000200
int fstatat(int folder, const char *path, struct stat *info, int flags);
int chmod(const char *path, mode_t mode);
int lstat(const char *path, struct stat *info);
int mkfifo(const char *path, mode_t mode);
int mkdir(const char *path, mode_t mode);
int fstat(int fd, struct stat *info);
int stat(const char *path, struct stat *info);
#endif
