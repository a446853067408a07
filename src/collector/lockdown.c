/* The walls, from the outermost in: limits, files, user, system calls. */
#include "collector/lockdown.h"

#include "base/failure.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED                                                                                  \
    true /* its shadow memory is larger than any limit, and it asks for more calls                 \
          */
#endif
#endif
#if !defined(SANITIZED) && (defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__))
#define SANITIZED true
#elif !defined(SANITIZED)
#define SANITIZED false
#endif

enum { NOBODY = 65534, DESCRIPTORS = 64 };

static bool limit(int which, uint64_t value)
{
    /* A soft limit of processor time sends SIGXCPU, by which the parent knows it. */
    const struct rlimit both = {(rlim_t)value, (rlim_t)value + (which == RLIMIT_CPU)};
    return setrlimit((__rlimit_resource_t)which, &both) == 0;
}

static bool set_limits(const struct lockdown_limits *limits)
{
    bool memory = SANITIZED || (limit(RLIMIT_DATA, limits->memory) &&
                                limit(RLIMIT_AS, limits->memory + limits->mapped));
    signal(SIGXFSZ, SIG_IGN); /* write fails with EFBIG, and that is said */
    /* No RLIMIT_NPROC: it counts all processes of the user. seccomp allows threads alone, and their
     * stacks count as memory. */
    return memory && limit(RLIMIT_CPU, limits->seconds) && limit(RLIMIT_FSIZE, limits->file) &&
           limit(RLIMIT_NOFILE, DESCRIPTORS) && limit(RLIMIT_CORE, 0);
}

/* close_range came with Linux 5.9. */
static bool close_from(unsigned first)
{
    struct rlimit open_files;
    if (syscall(SYS_close_range, first, ~0U, 0) == 0)
        return true;
    if (errno != ENOSYS || getrlimit(RLIMIT_NOFILE, &open_files) != 0)
        return false;
    for (rlim_t fd = first; fd < open_files.rlim_max && fd < INT_MAX; fd++)
        close((int)fd);
    return true;
}

/* False when the kernel has no Landlock. */
static bool fence_files(int folder)
{
    const uint64_t below = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE |
                           LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE;
    const struct landlock_ruleset_attr all = {
        .handled_access_fs = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1}; /* those of version 1 */
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0)
        return false;
    const struct landlock_path_beneath_attr beneath = {.allowed_access = below,
                                                       .parent_fd = folder};
    bool good =
        syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0) == 0 &&
        syscall(SYS_landlock_restrict_self, rules, 0) == 0;
    close(rules);
    return good;
}

/* Root gives up the file system and all its rights. */
static bool leave_root(int folder)
{
    return fchown(folder, NOBODY, NOBODY) == 0 && fchdir(folder) == 0 && chroot(".") == 0 &&
           setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
           setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

static bool allow_all(scmp_filter_ctx filter, const int *calls, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (seccomp_rule_add(filter, SCMP_ACT_ALLOW, calls[i], 0) != 0)
            return false;
    return true;
}

/* How newer C libraries say fstat: by an empty path. */
static bool fstat_only(scmp_filter_ctx filter)
{
    static const struct {
        int call;
        unsigned flags; /* which argument */
    } forms[] = {{SCMP_SYS(newfstatat), 3}, {SCMP_SYS(fstatat64), 3}, {SCMP_SYS(statx), 2}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const struct scmp_arg_cmp empty = {forms[i].flags, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH,
                                           AT_EMPTY_PATH};
        const struct scmp_arg_cmp path = {forms[i].flags, SCMP_CMP_MASKED_EQ, AT_EMPTY_PATH, 0};
        if (seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, forms[i].call, 1, &empty) != 0 ||
            seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EACCES), forms[i].call, 1, &path) != 0)
            return false;
    }
    return true;
}

static bool open_below(scmp_filter_ctx filter, int folder)
{
    const struct scmp_arg_cmp below = {0, SCMP_CMP_EQ, (scmp_datum_t)folder, 0};
    const struct scmp_arg_cmp elsewhere = {0, SCMP_CMP_NE, (scmp_datum_t)folder, 0};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, SCMP_SYS(openat), 1, &below) == 0 &&
           seccomp_rule_add_array(filter, SCMP_ACT_ERRNO(EACCES), SCMP_SYS(openat), 1,
                                  &elsewhere) == 0;
}

/* Allowed when `argument` under `mask` is `value`; otherwise it fails. */
static bool allow_where(scmp_filter_ctx filter, int call, unsigned argument, uint64_t mask,
                        uint64_t value)
{
    const struct scmp_arg_cmp is = {argument, SCMP_CMP_MASKED_EQ, mask, value};
    return seccomp_rule_add_array(filter, SCMP_ACT_ALLOW, call, 1, &is) == 0;
}

/* Calls that reach further than they seem to: tgkill into other processes of the same user, as does
 * fcntl (F_SETOWN with F_SETSIG has the kernel send any signal); code that was written as data runs
 * only after mmap or mprotect. */
static bool allow_parts(scmp_filter_ctx filter)
{
    static const int descriptor[] = {F_GETFD, F_SETFD, F_GETFL};
    static const int fcntls[] = {SCMP_SYS(fcntl), SCMP_SYS(fcntl64)};
    static const int maps[] = {SCMP_SYS(mmap), SCMP_SYS(mmap2), SCMP_SYS(mprotect)};
    bool good = allow_where(filter, SCMP_SYS(tgkill), 0, UINT32_MAX, (uint64_t)getpid());
    for (size_t i = 0; i < sizeof fcntls / sizeof *fcntls; i++)
        for (size_t k = 0; k < sizeof descriptor / sizeof *descriptor; k++)
            good = good && allow_where(filter, fcntls[i], 1, UINT32_MAX, (uint64_t)descriptor[k]);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        good = good && allow_where(filter, maps[i], 2, PROT_EXEC, 0);
    return good;
}

/* What is not listed ends the process with SIGSYS; what libraries try and can do without fails. */
static bool filter_calls(int folder)
{
    static const int allowed[] = {
        /* the descriptors that are open */
        SCMP_SYS(read), SCMP_SYS(readv), SCMP_SYS(pread64), SCMP_SYS(write), SCMP_SYS(writev),
        SCMP_SYS(pwrite64), SCMP_SYS(lseek), SCMP_SYS(_llseek), SCMP_SYS(close), SCMP_SYS(fstat),
        SCMP_SYS(fstat64), SCMP_SYS(ftruncate), SCMP_SYS(ftruncate64),
        /* memory; mmap and mprotect: allow_parts */
        SCMP_SYS(munmap), SCMP_SYS(mremap), SCMP_SYS(madvise), SCMP_SYS(brk),
        /* threads, which conversion has two of; what glibc does at their start */
        SCMP_SYS(futex), SCMP_SYS(set_robust_list), SCMP_SYS(rseq),
        /* signals of its own: abort(), and the limit of processor time */
        SCMP_SYS(rt_sigprocmask), SCMP_SYS(rt_sigreturn), SCMP_SYS(rt_sigaction),
        SCMP_SYS(sigreturn), SCMP_SYS(sigaltstack), SCMP_SYS(gettid), SCMP_SYS(getpid),
        /* time, for progress; how many processors; hash seeds */
        SCMP_SYS(sched_yield), SCMP_SYS(sched_getaffinity), SCMP_SYS(clock_gettime),
        SCMP_SYS(clock_nanosleep), SCMP_SYS(nanosleep), SCMP_SYS(getrandom),
        /* the end */
        SCMP_SYS(restart_syscall), SCMP_SYS(exit), SCMP_SYS(exit_group)};
    static const int failing[] = {SCMP_SYS(open),     SCMP_SYS(stat),    SCMP_SYS(access),
                                  SCMP_SYS(readlink), SCMP_SYS(sysinfo), SCMP_SYS(prctl),
                                  SCMP_SYS(ioctl),    SCMP_SYS(uname),   SCMP_SYS(prlimit64)};
    scmp_filter_ctx filter = seccomp_init(SCMP_ACT_KILL_PROCESS);
    bool good = filter && allow_all(filter, allowed, sizeof allowed / sizeof *allowed);
    for (size_t i = 0; good && i < sizeof failing / sizeof *failing; i++)
        good = seccomp_rule_add(filter, SCMP_ACT_ERRNO(EACCES), failing[i], 0) == 0;
    good = good && allow_parts(filter);
    /* glibc falls back to clone, whose flags can be seen. */
    good = good && seccomp_rule_add(filter, SCMP_ACT_ERRNO(ENOSYS), SCMP_SYS(clone3), 0) == 0 &&
           seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(clone), 1,
                            SCMP_A0(SCMP_CMP_MASKED_EQ, CLONE_THREAD, CLONE_THREAD)) == 0 &&
           open_below(filter, folder) && fstat_only(filter) && seccomp_load(filter) == 0;
    seccomp_release(filter);
    return good;
}

fw_error lockdown(int folder, const struct lockdown_limits *limits, struct lockdown *holds,
                  struct fw_failure *why)
{
    *holds = (struct lockdown){0};
    /* What a library of the parent opened without O_CLOEXEC is not for the child. */
    if (!close_from((unsigned)folder + 1))
        return failure_say(why, FW_ERR_SYSTEM, errno, "the parent's descriptors cannot be closed");
    /* Nobody waits for the result of a child whose parent is gone. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return failure_say(why, FW_ERR_SYSTEM, errno, "prctl failed");
    if (!set_limits(limits))
        return failure_say(why, FW_ERR_SYSTEM, errno, "the limits cannot be set");
    holds->landlock = fence_files(folder);
    if (geteuid() == 0) {
        if (!leave_root(folder))
            return failure_say(why, FW_ERR_PERMISSION, errno, "root cannot be given up");
        holds->chroot = true;
        /* Another user's process forgets whom it dies with. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
    }
    if (!SANITIZED && !filter_calls(folder))
        return failure_say(why, FW_ERR_SYSTEM, errno, "the system call filter cannot be loaded");
    return FW_OK;
}
