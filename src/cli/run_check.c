/*
 * Can this program be watched? Asked before it is started, and answered in words: the loader says
 * nothing when it leaves a preloaded library out.
 *
 * What runs is found as execvp() finds it; a script leads to its interpreter. Preloading needs a
 * dynamically linked program (PT_INTERP) of glibc's loader, of a class for which there is an agent,
 * and that gains no rights by being executed: then the loader ignores LD_PRELOAD (AT_SECURE).
 */
#include "cli/cli.h"
#include "cli/run.h"

#include "base/reader.h"
#include "cli/beside.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, HEAD = 4096, SCRIPTS_DEEP = 4 };

/* ---- finding ---- */

static bool is_executable(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISREG(status.st_mode) && access(path, X_OK) == 0;
}

static int find_program(const char *word, char path[RUN_PATH])
{
    int code = EXIT_NOT_FOUND, reason = ENOENT;
    if (strchr(word, '/')) {
        struct stat status;
        snprintf(path, RUN_PATH, "%s", word);
        if (is_executable(path))
            return 0;
        if (stat(path, &status) == 0) {
            code = EXIT_NOT_EXECUTABLE;
            reason = S_ISDIR(status.st_mode) ? EISDIR : EACCES;
        } else
            reason = errno;
    } else {
        const char *folders = getenv("PATH");
        for (const char *at = folders ? folders : "/usr/local/bin:/usr/bin:/bin";; at++) {
            size_t size = strcspn(at, ":");
            snprintf(path, RUN_PATH, "%.*s%s%s", (int)size, at, size ? "/" : "", word);
            if (is_executable(path))
                return 0;
            at += size;
            if (*at == '\0')
                break;
        }
    }
    cli_error("cannot run '%s': %s", word, strerror(reason));
    return code;
}

/* ---- looking ---- */

struct head {
    uint8_t bytes[HEAD];
    size_t size;
    struct stat status;
    bool capable; /* has file capabilities */
};

static bool read_head(const char *path, struct head *head)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t size = -1;
    if (fd >= 0) {
        size = read(fd, head->bytes, HEAD - 1);
        if (fstat(fd, &head->status) != 0)
            size = -1;
        head->capable = fgetxattr(fd, "security.capability", NULL, 0) > 0;
        close(fd);
    }
    head->size = size > 0 ? (size_t)size : 0;
    head->bytes[head->size] = '\0';
    return size >= 0;
}

struct elf_head {
    uint8_t class, order, type;
    uint16_t machine;
    bool has_loader;
    char loader[256];
};

static bool is_swapped(uint8_t order)
{
    return order != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
}

static bool read_elf(const struct head *head, struct elf_head *elf)
{
    *elf = (struct elf_head){0};
    if (head->size < sizeof(Elf32_Ehdr) || memcmp(head->bytes, ELFMAG, SELFMAG) != 0)
        return false;
    elf->class = head->bytes[EI_CLASS];
    elf->order = head->bytes[EI_DATA];
    bool wide = elf->class == ELFCLASS64;
    struct reader r = reader_over(head->bytes, head->size);
    r.swap = is_swapped(elf->order);
    reader_skip(&r, 18);
    elf->machine = reader_u16(&r);
    reader_skip(&r, wide ? 12 : 8); /* version, entry */
    uint64_t table = wide ? reader_u64(&r) : reader_u32(&r);
    reader_skip(&r, wide ? 14 : 10); /* e_shoff, e_flags, e_ehsize */
    uint16_t entry = reader_u16(&r), count = reader_u16(&r);
    for (uint16_t i = 0; i < count; i++) {
        struct reader at = reader_over(head->bytes, head->size);
        at.swap = r.swap;
        reader_skip(&at, table + (uint64_t)i * entry);
        bool is_loader = reader_u32(&at) == PT_INTERP;
        if (wide)
            reader_skip(&at, 4);
        uint64_t offset = wide ? reader_u64(&at) : reader_u32(&at);
        if (at.failed || !is_loader)
            continue;
        elf->has_loader = true;
        if (offset < head->size)
            snprintf(elf->loader, sizeof elf->loader, "%s", (const char *)head->bytes + offset);
    }
    return true;
}

/* ---- the agent ---- */

static bool agent_fits(const char *path, const void *context)
{
    const struct elf_head *program = context;
    struct head head;
    struct elf_head agent;
    return read_head(path, &head) && read_elf(&head, &agent) && agent.class == program->class &&
           agent.order == program->order && agent.machine == program->machine;
}

static bool find_agent(const struct elf_head *program, char path[RUN_PATH])
{
    char whole[RUN_PATH];
    char *real = beside_find("libframewalk-agent.so", agent_fits, program, whole, sizeof whole)
                     ? realpath(whole, NULL)
                     : NULL;
    if (!real)
        return false;
    snprintf(path, RUN_PATH, "%s", real);
    free(real);
    return true;
}

/* ---- what to say ---- */

static int refuse(const char *path, const char *what, const char *advice)
{
    cli_error("%s cannot be watched: %s", path, what);
    cli_error("%s", advice);
    return RUN_NOT_STARTED;
}

static int check_elf(const char *path, const struct head *head, const struct elf_head *elf,
                     struct run_program *program)
{
    static const char dump_it[] =
        "'framewalk dump PID' shows what such a program does while it runs";
    uid_t user = geteuid();
    bool gains = (head->status.st_mode & S_ISUID && head->status.st_uid != user) ||
                 (head->status.st_mode & S_ISGID && head->status.st_gid != getegid()) ||
                 (head->capable && user != 0);
    if (!elf->has_loader)
        return refuse(path, "it is linked statically, so nothing can be loaded into it", dump_it);
    if (gains)
        return refuse(path,
                      head->capable ? "it has file capabilities, and the loader then loads nothing "
                                      "from outside"
                                    : "it is set-user-id or set-group-id, and the loader then "
                                      "loads nothing from outside",
                      "run it as the user that it becomes, or watch a copy without those rights");
    if (strstr(elf->loader, "ld-musl"))
        return refuse(path, "it is linked with musl, and the agent needs glibc", dump_it);
    if (!find_agent(elf, program->agent))
        return refuse(path,
                      elf->class == ELFCLASS32
                          ? "it is a 32-bit program, and there is no 32-bit libframewalk-agent.so"
                          : "there is no libframewalk-agent.so for its machine",
                      elf->class == ELFCLASS32
                          ? "build Framewalk for it and put the library into ../lib32/framewalk "
                            "beside this command's folder"
                          : "it belongs beside this command, or into ../lib/framewalk");
    if (strpbrk(program->agent, ": \n"))
        return refuse(path,
                      "the agent's path has a space or a colon in it, which LD_PRELOAD does "
                      "not allow",
                      program->agent);
    return 0;
}

/* The interpreter in `#! INTERPRETER [ARGUMENT]`; of /usr/bin/env its first argument. */
static bool read_script(struct head *head, char *name, size_t room)
{
    if (head->size < 3 || head->bytes[0] != '#' || head->bytes[1] != '!')
        return false;
    char *line = (char *)head->bytes + 2, *save;
    line[strcspn(line, "\n")] = '\0';
    const char *word = strtok_r(line, " \t\r", &save);
    const char *slash = word ? strrchr(word, '/') : NULL;
    if (word && strcmp(slash ? slash + 1 : word, "env") == 0) {
        const char *next = strtok_r(NULL, " \t\r", &save);
        while (next && (next[0] == '-' || strchr(next, '=')))
            next = strtok_r(NULL, " \t\r", &save);
        word = next ? next : word;
    }
    snprintf(name, room, "%s", word ? word : "");
    return word != NULL;
}

static void know_by_name(struct run_program *program)
{
    const char *path = program->interpreter[0] ? program->interpreter : program->path;
    const char *name = symbolicate_last_part(path);
    program->is_node = strcmp(name, "node") == 0 || strcmp(name, "nodejs") == 0;
    program->is_python = strncmp(name, "python", 6) == 0;
}

int run_check(const char *word, struct run_program *program)
{
    struct head head;
    struct elf_head elf;
    char path[RUN_PATH], next[256];
    *program = (struct run_program){0};
    int code = find_program(word, program->path);
    snprintf(path, sizeof path, "%s", program->path);
    for (int depth = 0; code == 0; depth++) {
        if (!read_head(path, &head)) {
            /* executable, but not readable: the kernel can run it; so can we, unseen */
            cli_error("cannot read '%s': %s", path, strerror(errno));
            return EXIT_NOT_EXECUTABLE;
        }
        if (read_elf(&head, &elf)) {
            know_by_name(program);
            return check_elf(path, &head, &elf, program);
        }
        /* as execvp() does: what has no first line of its own is for the shell */
        if (!read_script(&head, next, sizeof next))
            snprintf(next, sizeof next, "/bin/sh");
        if (depth == SCRIPTS_DEEP) {
            cli_error("cannot run '%s': %s", word, strerror(ELOOP));
            return EXIT_NOT_EXECUTABLE;
        }
        code = find_program(next, path);
        snprintf(program->interpreter, sizeof program->interpreter, "%s", path);
    }
    return code;
}
