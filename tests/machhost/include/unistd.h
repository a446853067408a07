#ifndef MACHHOST_UNISTD_H
#define MACHHOST_UNISTD_H
#include <Availability.h>
#include <sys/types.h>
#define STDIN_FILENO         0
#define STDOUT_FILENO        1
#define STDERR_FILENO        2
#define F_OK                 0
#define X_OK                 1
#define W_OK                 2
#define R_OK                 4
#define SEEK_SET             0
#define SEEK_CUR             1
#define SEEK_END             2
#define _SC_PAGESIZE         29
#define _SC_NPROCESSORS_ONLN 58
int access(const char *path, int mode);
unsigned alarm(unsigned seconds);
int close(int fd);
int dup(int fd);
int dup2(int fd, int to);
void _exit(int status) __attribute__((noreturn));
pid_t fork(void) __WATCHOS_PROHIBITED __TVOS_PROHIBITED;
int fsync(int fd);
int ftruncate(int fd, off_t size);
int gethostname(char *name, size_t size);
int getpagesize(void);
pid_t getpid(void);
pid_t getppid(void);
uid_t getuid(void);
int isatty(int fd);
int link(const char *path, const char *other);
off_t lseek(int fd, off_t offset, int from);
int pause(void);
int pipe(int fds[2]);
ssize_t pread(int fd, void *data, size_t size, off_t offset);
ssize_t pwrite(int fd, const void *data, size_t size, off_t offset);
ssize_t read(int fd, void *data, size_t size);
int rmdir(const char *path);
unsigned sleep(unsigned seconds);
int symlink(const char *target, const char *path);
long sysconf(int name);
int unlink(const char *path);
int unlinkat(int folder, const char *path, int flags);
int usleep(useconds_t microseconds);
ssize_t write(int fd, const void *data, size_t size);
#endif
