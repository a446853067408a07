#ifndef MACHHOST_FTW_H
#define MACHHOST_FTW_H
#include <sys/stat.h>
#define FTW_PHYS  0x01
#define FTW_DEPTH 0x04
struct FTW {
    int base;
    int level;
};
int nftw(const char *path, int (*each)(const char *, const struct stat *, int, struct FTW *),
         int depth, int flags);
#endif
