/*
 * Does the agent fit into a program that is about to be executed? execve(2): a script leads to its
 * interpreter, a program names its loader (PT_INTERP). The agent needs the loader, and so the libc,
 * of the program that it is in: another one's loader ends the program, since what the agent needs
 * is not in its libc; one of another class says on standard error that it does not fit.
 *
 * Between vfork() and exec: system calls and memory on the stack only. Nobody's errno changes.
 */
#include "watch/agent/agent.h"

#include "os/linux/sys.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <linux/stat.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD = 256,       /* of a script the kernel reads as much (BINPRM_BUF_SIZE) */
    SCRIPTS_DEEP = 5, /* as many files the kernel looks at */
    SEGMENTS = 64,
    LOADER = 256,
};

/* Of the program that we are in. */
static char own_loader[LOADER];

static int note_loader(struct dl_phdr_info *program, size_t size, void *context)
{
    (void)size, (void)context;
    for (unsigned i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &program->dlpi_phdr[i];
        if (segment->p_type == PT_INTERP && segment->p_memsz <= LOADER)
            memcpy(own_loader, (const char *)(program->dlpi_addr + segment->p_vaddr),
                   segment->p_memsz);
    }
    return 1; /* the first is the program */
}

void fit_begin(void)
{
    dl_iterate_phdr(note_loader, NULL);
    own_loader[LOADER - 1] = '\0';
}

static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
#if __SIZEOF_LONG__ == 8
    return sys_call4(SYS_pread64, fd, (long)to, (long)size, (long)offset) == (long)size;
#else
    return sys_call4(SYS_lseek, fd, (long)offset, SEEK_SET, 0) == (long)offset &&
           sys_read(fd, to, size) == (long)size;
#endif
}

static bool is_same_file(const char *a, const char *b)
{
    struct statx left, right;
    return strcmp(a, b) == 0 ||
           (sys_call6(SYS_statx, AT_FDCWD, (long)a, 0, STATX_INO, (long)&left, 0) == 0 &&
            sys_call6(SYS_statx, AT_FDCWD, (long)b, 0, STATX_INO, (long)&right, 0) == 0 &&
            left.stx_ino == right.stx_ino && left.stx_dev_major == right.stx_dev_major &&
            left.stx_dev_minor == right.stx_dev_minor);
}

static bool is_of_our_class(const ElfW(Ehdr) * program)
{
    extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
    return program->e_ident[EI_CLASS] == __ehdr_start.e_ident[EI_CLASS] &&
           program->e_ident[EI_DATA] == __ehdr_start.e_ident[EI_DATA] &&
           program->e_machine == __ehdr_start.e_machine;
}

static enum fit fit_of_elf(int fd, const ElfW(Ehdr) * program)
{
    if (!is_of_our_class(program))
        return FIT_OTHER_CLASS;
    for (unsigned i = 0; i < program->e_phnum && i < SEGMENTS; i++) {
        ElfW(Phdr) segment;
        char loader[LOADER] = "";
        if (!read_at(fd, program->e_phoff + i * sizeof segment, &segment, sizeof segment))
            return FIT_UNKNOWN;
        if (segment.p_type != PT_INTERP)
            continue;
        if (segment.p_filesz >= LOADER ||
            !read_at(fd, segment.p_offset, loader, (size_t)segment.p_filesz))
            return FIT_UNKNOWN;
        return !own_loader[0] || is_same_file(loader, own_loader) ? FIT_GOOD : FIT_OTHER_LOADER;
    }
    return FIT_STATIC;
}

/* The interpreter in the first line of `head`, in its place; NULL: it is no script. */
static char *interpreter_in(char *head)
{
    if (head[0] != '#' || head[1] != '!')
        return NULL;
    char *name = head + 2 + strspn(head + 2, " \t");
    name[strcspn(name, " \t\n")] = '\0';
    return name;
}

/* `fd` is closed. */
static enum fit fit_of_file(int fd, char head[HEAD + 1])
{
    const long size = sys_read(fd, head, HEAD);
    ElfW(Ehdr) program;
    enum fit fit = FIT_UNKNOWN;
    head[size > 0 ? size : 0] = '\0';
    if (size >= (long)sizeof program && memcmp(head, ELFMAG, SELFMAG) == 0) {
        memcpy(&program, head, sizeof program);
        fit = fit_of_elf(fd, &program);
    }
    sys_close(fd);
    return fit;
}

enum fit fit_of(const char *path)
{
    char head[HEAD + 1];
    for (unsigned depth = 0; path && depth < SCRIPTS_DEEP; depth++) {
        const int fd = (int)sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
            return depth == 0 && (fd == -ENOENT || fd == -ENOTDIR) ? FIT_MISSING : FIT_UNKNOWN;
        const enum fit fit = fit_of_file(fd, head);
        if (fit != FIT_UNKNOWN)
            return fit;
        path = interpreter_in(head);
    }
    return FIT_UNKNOWN;
}

enum fit fit_of_name(const char *name)
{
    char path[PATH_MAX];
    const char *at = getenv("PATH");
    if (strchr(name, '/'))
        return fit_of(name);
    if (!at)
        return FIT_UNKNOWN;
    const size_t length = strlen(name);
    for (;; at++) {
        const size_t folder = strcspn(at, ":");
        if (folder + length + 2 <= sizeof path) {
            memcpy(path, at, folder);
            path[folder] = '/';
            memcpy(path + folder + (folder > 0), name, length + 1);
            if (sys_call4(SYS_faccessat, AT_FDCWD, (long)path, X_OK, 0) == 0)
                return fit_of(path);
        }
        at += folder;
        if (!*at)
            return FIT_UNKNOWN;
    }
}
