/* The walls hold: what a taken-over converter might try fails, or ends it; and how each end is
 * said. */
#include "collector/sandbox.h"
#include "support/sanitizers.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { MB = 1 << 20, FINE = 0, WRONG = 1 };

static char folder_name[64];
static int folder;

static int set_up(void **state)
{
    (void)state;
    snprintf(folder_name, sizeof folder_name, "/tmp/framewalk-sandbox-XXXXXX");
    if (!mkdtemp(folder_name))
        return -1;
    folder = open(folder_name, O_RDONLY | O_DIRECTORY);
    return folder < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)state;
    static const char *const names[] = {"f1", "m1", "f2", "m2", "big", "mine"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        unlinkat(folder, names[i], 0);
    close(folder);
    return rmdir(folder_name);
}

/* ---- inside the walls ---- */

static int call_status(bool good)
{
    return good ? FINE : WRONG;
}

static int allocates(void)
{
    size_t taken = 0;
    for (; taken < (size_t)1024 * MB; taken += MB) {
        void *p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
            break;
        memset(p, 1, MB);
    }
    return call_status(taken < (size_t)256 * MB);
}

static int spins(void)
{
    for (volatile unsigned i = 1; i; i |= 1)
        continue;
    return WRONG;
}

static int writes_much(void)
{
    static uint8_t block[MB];
    int fd = openat(folder, "big", O_WRONLY | O_CREAT, 0600);
    size_t n = 0;
    while (n < 64 && write(fd, block, sizeof block) == (ssize_t)sizeof block)
        n++;
    return call_status(fd >= 0 && n == 4);
}

static int writes_inside(void)
{
    int fd = openat(folder, "mine", O_RDWR | O_CREAT | O_EXCL, 0600);
    return call_status(fd >= 0 && write(fd, "x", 1) == 1);
}

static int opens_outside(void)
{
    bool opened =
        open("/etc/passwd", O_RDONLY) >= 0 || openat(AT_FDCWD, "/etc/passwd", O_RDONLY) >= 0;
    return call_status(!opened);
}

/* By the descriptor that seccomp allows: Landlock, or chroot, stops it. */
static int opens_outside_by_folder(void)
{
    bool opened = openat(folder, "/etc/passwd", O_RDONLY) >= 0 ||
                  openat(folder, "../../etc/passwd", O_RDONLY) >= 0;
    return call_status(!opened);
}

/* Files of the server's user, as the process's own; none of them is a secret of root's. */
static int reads_own_files(void)
{
    static const char *const names[] = {"/proc/self/exe", "/proc/self/status", "/etc/passwd", "/"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (openat(folder, names[i], O_RDONLY) >= 0)
            return WRONG;
    bool above = openat(folder, "..", O_RDONLY) >= 0 ||
                 openat(folder, "../../etc/passwd", O_RDONLY) >= 0 ||
                 openat(folder, "link", O_RDONLY) >= 0 ||
                 openat(folder, "/tmp/framewalk-made-outside", O_RDWR | O_CREAT, 0600) >= 0;
    return call_status(!above && errno == EACCES);
}

static int opens_socket(void)
{
    return socket(AF_INET, SOCK_STREAM, 0) >= 0 ? WRONG : WRONG;
}

static int executes(void)
{
    execl("/bin/true", "true", (char *)NULL);
    return WRONG;
}

static int forks(void)
{
    return (int)syscall(SYS_fork) >= 0 ? WRONG : WRONG;
}

static int traces(void)
{
    ptrace(PTRACE_TRACEME, 0, NULL, NULL);
    return WRONG;
}

static int kills_parent(void)
{
    kill(getppid(), 0);
    return WRONG;
}

/* A child of the same user may not signal the server, nor have the kernel do it. */
static int kills_parent_thread(void)
{
    syscall(SYS_tgkill, getppid(), getppid(), 0);
    return WRONG;
}

static int kills_itself(void)
{
    return syscall(SYS_tgkill, getpid(), getpid(), 0) == 0 ? FINE : WRONG;
}

static int owns_by_parent(void)
{
    fcntl(0, F_SETOWN, getppid());
    return WRONG;
}

static int sets_signal(void)
{
    fcntl(0, 10 /* F_SETSIG */, SIGKILL);
    return WRONG;
}

static int reads_flags(void)
{
    return call_status(fcntl(folder, F_GETFL) >= 0);
}

static int makes_code(void)
{
    mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return WRONG;
}

static int turns_data_to_code(void)
{
    void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(p, 4096, PROT_READ | PROT_EXEC);
    return WRONG;
}

static int inherited; /* opened by the parent, above the folder, without O_CLOEXEC */

static int writes_to_inherited(void)
{
    return call_status(write(inherited, "x", 1) < 0 && errno == EBADF);
}

static void *add_one(void *context)
{
    ++*(int *)context;
    return NULL;
}

static int has_threads(void)
{
    int n = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, add_one, &n) != 0)
        return WRONG;
    pthread_join(thread, NULL);
    return call_status(n == 1);
}

static bool as_somebody; /* not as root, who has walls of his own */

/* How a process ends that does `act` behind the walls. */
static int end_of(int (*act)(void), struct lockdown *holds)
{
    int status = 0, ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    if (pid == 0) {
        const struct lockdown_limits limits = {
            .memory = 128 * MB, .seconds = 1, .file = 4 * MB, .mapped = 64 * MB};
        dup2(ends[1], STDOUT_FILENO);
        struct lockdown own;
        struct fw_failure why;
        enum { NOBODY = 65534 };
        if (as_somebody && geteuid() == 0 &&
            (fchown(folder, NOBODY, NOBODY) != 0 || setgroups(0, NULL) != 0 ||
             setresgid(NOBODY, NOBODY, NOBODY) != 0 || setresuid(NOBODY, NOBODY, NOBODY) != 0))
            _exit(97);
        if (lockdown(folder, &limits, &own, &why) != FW_OK)
            _exit(99);
        if (write(STDOUT_FILENO, &own, sizeof own) != (ssize_t)sizeof own)
            _exit(98);
        _exit(act());
    }
    close(ends[1]);
    struct lockdown said = {0};
    if (read(ends[0], &said, sizeof said) != (ssize_t)sizeof said)
        said = (struct lockdown){0};
    close(ends[0]);
    if (holds)
        *holds = said;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static void what_it_needs_works(void **state)
{
    (void)state;
    assert_int_equal(end_of(has_threads, NULL), FINE);
    assert_int_equal(end_of(writes_inside, NULL), FINE);
}

static void limits_hold(void **state)
{
    (void)state;
    if (!UNDER_ASAN && !UNDER_TSAN)
        assert_int_equal(end_of(allocates, NULL), FINE);
    assert_int_equal(end_of(writes_much, NULL), FINE);
    assert_int_equal(end_of(spins, NULL), -SIGXCPU);
}

static void calls_are_filtered(void **state)
{
    (void)state;
    if (UNDER_ASAN || UNDER_TSAN)
        skip(); /* the filter is off there: a sanitizer asks for more */
    assert_int_equal(end_of(opens_outside, NULL), FINE);
    assert_int_equal(end_of(opens_socket, NULL), -SIGSYS);
    assert_int_equal(end_of(executes, NULL), -SIGSYS);
    assert_int_equal(end_of(forks, NULL), -SIGSYS);
    assert_int_equal(end_of(traces, NULL), -SIGSYS);
    assert_int_equal(end_of(kills_parent, NULL), -SIGSYS);
    assert_int_equal(end_of(kills_parent_thread, NULL), -SIGSYS);
    assert_int_equal(end_of(kills_itself, NULL), FINE);
    assert_int_equal(end_of(owns_by_parent, NULL), -SIGSYS);
    assert_int_equal(end_of(sets_signal, NULL), -SIGSYS);
    assert_int_equal(end_of(reads_flags, NULL), FINE);
    assert_int_equal(end_of(makes_code, NULL), -SIGSYS);
    assert_int_equal(end_of(turns_data_to_code, NULL), -SIGSYS);
}

static void descriptors_are_not_inherited(void **state)
{
    (void)state;
    int file = openat(folder, "mine", O_RDWR | O_CREAT, 0600);
    inherited = fcntl(file, F_DUPFD, folder + 100);
    assert_true(inherited > folder);
    int end = end_of(writes_to_inherited, NULL);
    close(inherited);
    close(file);
    assert_int_equal(end, FINE);
}

static void files_are_fenced(void **state)
{
    (void)state;
    struct lockdown holds;
    int end = end_of(opens_outside_by_folder, &holds);
    if (!holds.landlock && !holds.chroot)
        skip(); /* neither Landlock nor root: seccomp cannot see paths */
    assert_int_equal(end, FINE);
}

/* Of an ordinary user Landlock is the only fence around files: each of these can be opened, until
 * it stands. */
static void an_ordinary_user_reads_no_files(void **state)
{
    (void)state;
    struct lockdown holds;
    int file = openat(folder, "/etc/passwd", O_RDONLY), above = openat(folder, "..", O_RDONLY);
    assert_true(file >= 0 && above >= 0);
    close(file);
    close(above);
    assert_int_equal(symlinkat("/etc/passwd", folder, "link"), 0);
    as_somebody = true;
    int end = end_of(reads_own_files, &holds), inside = end_of(writes_inside, NULL);
    as_somebody = false;
    unlinkat(folder, "link", 0);
    assert_false(holds.chroot);
    if (!holds.landlock)
        skip(); /* the kernel has none: docs/upload.md says what that means */
    assert_int_equal(end, FINE);
    assert_int_equal(inside, FINE);
}

/* ---- the converter ---- */

static bool count_slices(void *context, const json_t *line)
{
    if (json_object_get(line, "slice"))
        ++*(unsigned *)context;
    return true;
}

static fw_error convert(const char *path, const struct sandbox_limits *limits, unsigned *slices,
                        struct fw_failure *why)
{
    int input = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(input >= 0);
    *slices = 0;
    fw_error error =
        sandbox_run(CONVERTER, input, folder, "a file", limits, count_slices, slices, why);
    close(input);
    return error;
}

static struct sandbox_limits usual(void)
{
    return (struct sandbox_limits){.child = {.memory = (uint64_t)512 * MB,
                                             .seconds = 60,
                                             .file = (uint64_t)256 * MB,
                                             .mapped = (uint64_t)1024 * MB},
                                   .wall_seconds = 120,
                                   .unpacked = (uint64_t)1024 * MB};
}

static void converts_this_program(void **state)
{
    (void)state;
    struct sandbox_limits limits = usual();
    struct fw_failure why = {0};
    unsigned slices;
    assert_int_equal(convert("/proc/self/exe", &limits, &slices, &why), FW_OK);
    assert_int_equal(slices, 1);
    int fd = sandbox_open(folder, 'm', 1);
    assert_true(fd >= 0);
    char magic[8];
    assert_int_equal(read(fd, magic, 8), 8);
    assert_memory_equal(magic, "FWSYMMAP", 8);
    close(fd);
}

static void links_are_not_followed(void **state)
{
    (void)state;
    assert_int_equal(symlinkat("/etc/passwd", folder, "f1"), 0);
    assert_int_equal(sandbox_open(folder, 'f', 1), -1);
    assert_int_equal(sandbox_open(folder, 'f', 2), -1);
    assert_int_equal(mkfifoat(folder, "f2", 0600), 0);
    assert_int_equal(sandbox_open(folder, 'f', 2), -1);
}

/* A process in the converter's place that does one thing: the program is a script here. */
static fw_error impostor(const char *script, struct fw_failure *why)
{
    struct sandbox_limits limits = usual();
    unsigned slices = 0;
    char path[80];
    snprintf(path, sizeof path, "%s/mine", folder_name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "#!/bin/sh\n%s\n", script);
    fchmod(fileno(file), 0700);
    fclose(file);
    int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    limits.wall_seconds = 2;
    limits.child.seconds = 60;
    input = dup2(folder, input); /* something that can be sought */
    fw_error error =
        sandbox_run(path, input, folder, "a file", &limits, count_slices, &slices, why);
    close(input);
    return error;
}

static void ends_are_said(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        fw_error code;
        const char *words;
    } cases[] = {
        {"exec sleep 60", FW_ERR_FULL, "--convert-seconds"},
        {"exec >&-; exec sleep 60", FW_ERR_FULL, "killed"},
        {"kill -XCPU $$", FW_ERR_FULL, "processor time: --convert-seconds"},
        {"kill -SYS $$", FW_ERR_CORRUPT, "not allowed"},
        {"kill -SEGV $$", FW_ERR_CORRUPT, "signal 11"},
        {"kill -KILL $$", FW_ERR_FULL, "memory"},
        {"exit 3", FW_ERR_CORRUPT, "status 3"},
        {"exit 0", FW_ERR_CORRUPT, "ended early"},
        {"echo nonsense", FW_ERR_CORRUPT, "never should"},
        {"echo '[1]'", FW_ERR_CORRUPT, "never should"},
        {"while :; do printf 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'; done",
         FW_ERR_CORRUPT, "never should"},
        {"echo '{\"error\":{\"code\":6,\"message\":\"x: damaged\"}}'", FW_ERR_CORRUPT,
         "x: damaged"},
        {"echo '{\"error\":{\"code\":99}}'", FW_ERR_CORRUPT, "cannot be unpacked"},
        {"echo '{\"end\":{}}'", FW_OK, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fw_failure why = {0};
        fw_error error = impostor(cases[i].script, &why);
        if (error != cases[i].code || !strstr(why.message, cases[i].words))
            fail_msg("%s: %d \"%s\"", cases[i].script, (int)error, why.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_it_needs_works, set_up, tear_down),
        cmocka_unit_test_setup_teardown(limits_hold, set_up, tear_down),
        cmocka_unit_test_setup_teardown(calls_are_filtered, set_up, tear_down),
        cmocka_unit_test_setup_teardown(descriptors_are_not_inherited, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_are_fenced, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_ordinary_user_reads_no_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(converts_this_program, set_up, tear_down),
        cmocka_unit_test_setup_teardown(links_are_not_followed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_are_said, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
