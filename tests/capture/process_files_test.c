/* Where the files of another process are, and who may look: deleted and replaced programs, other
 * mount namespaces, other users, tracers. */
#include "capture/target.h"

#include <linux/capability.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

enum { NOBODY = 65534, WRONG = 1, RIGHT = 0, SKIP = 77 };

static struct target target;
static char folder[64], copy[96];

static bool copy_file(const char *from, const char *to)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char bytes[65536];
    size_t n;
    bool ok = in && out;
    while (ok && (n = fread(bytes, 1, sizeof bytes, in)) > 0)
        ok = fwrite(bytes, 1, n, out) == n;
    if (in)
        fclose(in);
    return out && fclose(out) == 0 && ok && chmod(to, 0755) == 0;
}

static int make_folder(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/fw-test-XXXXXX");
    if (!mkdtemp(folder) || chmod(folder, 0755))
        return -1;
    snprintf(copy, sizeof copy, "%s/program", folder);
    return copy_file(FW_PROGRAM_THREADS, copy) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    target_end(&target);
    unlink(copy);
    rmdir(folder);
    return 0;
}

/* Captures the target and looks for the stack of its one thread. Works in child processes too. */
static bool captures(const char *image)
{
    struct fw_process *process;
    struct fw_failure why = {0};
    const struct fw_process_thread *threads;
    size_t count;
    if (fw_process_open(target.pid, &process, &why) != FW_OK ||
        fw_process_capture(process, NULL, &threads, &count, &why) != FW_OK) {
        printf("%s\n", why.message);
        return false;
    }
    bool ok = stack_has(process, find_thread(threads, count, "t-futex"),
                        LIST("wait_futex", "recurse*3", "start"));
    struct fw_symbol symbol = {0};
    const struct fw_process_thread *main = &threads[0];
    for (uint32_t i = 0; ok && i < main->thread.stack.count; i++) {
        fw_process_symbol(process, &main->thread.stack.frames[i], &symbol);
        if (symbol.name && !strcmp(symbol.name, "main"))
            break;
    }
    /* Of another mount namespace the kernel tells the path from its root, not from our chroot's. */
    size_t before = 0;
    if (ok && symbol.image && strlen(symbol.image) > strlen(image))
        before = strlen(symbol.image) - strlen(image);
    if (ok &&
        (!symbol.image || strcmp(symbol.image + before, image) != 0 || !symbol.build_id_size)) {
        printf("main is in %s, expected %s\n", symbol.image ? symbol.image : "nothing", image);
        ok = false;
    }
    fw_process_close(process);
    return ok && target_traced(target.pid) == 0;
}

static void deleted_program(void **state)
{
    (void)state;
    assert_true(target_start(&target, copy, LIST("futex:2")));
    assert_int_equal(unlink(copy), 0);
    assert_true(captures(copy));
}

/* Another program now has the path: its symbols would be wrong names. */
static void replaced_program(void **state)
{
    (void)state;
    char other[128];
    snprintf(other, sizeof other, "%s.new", copy);
    assert_true(target_start(&target, copy, LIST("futex:2")));
    assert_true(copy_file("/proc/self/exe", other));
    assert_int_equal(rename(other, copy), 0);
    assert_true(captures(copy));
}

static int as_nobody(void *context)
{
    (void)context;
    if (setgid(NOBODY) || setuid(NOBODY) || !target_start(&target, copy, LIST("futex:2")))
        return WRONG;
    int result = captures(copy) ? RIGHT : WRONG;
    target_end(&target);
    return result;
}

/* Code moved to anonymous memory still belongs to its file. */
static void remapped_text(void **state)
{
    (void)state;
    assert_true(target_start(&target, copy, LIST("remap-text", "futex:2")));
    assert_true(captures(copy));
}

/* Without privilege the file is found by its path, and proven by device and inode. */
static void unprivileged(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(run_apart(as_nobody, NULL), RIGHT);
}

/* The owner of a process reaches its program's file without privilege, also when another one is at
 * its path: every developer's day. */
static int replaced_as_nobody(void *context)
{
    (void)context;
    char other[128];
    snprintf(other, sizeof other, "%s.new", copy);
    if (setgid(NOBODY) || setuid(NOBODY) || !target_start(&target, copy, LIST("futex:2")) ||
        rename(other, copy) != 0)
        return WRONG;
    int result = captures(copy) ? RIGHT : WRONG;
    target_end(&target);
    return result;
}

static int deleted_as_nobody(void *context)
{
    (void)context;
    if (setgid(NOBODY) || setuid(NOBODY) || !target_start(&target, copy, LIST("futex:2")) ||
        unlink(copy) != 0)
        return WRONG;
    int result = captures(copy) ? RIGHT : WRONG;
    target_end(&target);
    return result;
}

static void replaced_and_unprivileged(void **state)
{
    (void)state;
    char other[128];
    if (geteuid() != 0)
        skip();
    snprintf(other, sizeof other, "%s.new", copy);
    assert_true(copy_file("/proc/self/exe", other));
    assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    assert_int_equal(chmod(other, 0755), 0);
    assert_int_equal(run_apart(replaced_as_nobody, NULL), RIGHT);
}

static void deleted_and_unprivileged(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_int_equal(chown(folder, NOBODY, NOBODY), 0);
    assert_int_equal(run_apart(deleted_as_nobody, NULL), RIGHT);
}

/* The target sees a file system of its own at the folder; here another program has the path. */
static int start_in_namespace(void *context)
{
    int *pids = context;
    char command[256];
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("none", folder, "tmpfs", 0, NULL))
        return SKIP;
    snprintf(command, sizeof command, "%s/program", folder);
    if (!copy_file(FW_PROGRAM_THREADS, command) || !target_start(&target, copy, LIST("futex:2")))
        return WRONG;
    if (write(pids[1], &target.pid, sizeof target.pid) != sizeof target.pid)
        return WRONG;
    char c;
    return read(target.out, &c, 1) >= 0 ? RIGHT : WRONG; /* until it is killed */
}

static void other_mount_namespace(void **state)
{
    (void)state;
    int pids[2];
    if (geteuid() != 0)
        skip();
    assert_int_equal(pipe(pids), 0);
    assert_true(copy_file("/proc/self/exe", copy));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        close(pids[0]);
        _exit(start_in_namespace(pids));
    }
    close(pids[1]);
    bool started = read(pids[0], &target.pid, sizeof target.pid) == sizeof target.pid;
    bool ok = started && captures(copy);
    if (started)
        kill(target.pid, SIGKILL);
    target.pid = 0;
    close(pids[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (!started && WIFEXITED(status) && WEXITSTATUS(status) == SKIP)
        skip();
    assert_true(ok);
}

static int capture_denied(void *context)
{
    char *message = context;
    struct fw_process *process;
    struct fw_failure why = {0};
    const struct fw_process_thread *threads;
    size_t count;
    fw_error error = fw_process_open(target.pid, &process, &why);
    if (error == FW_OK)
        error = fw_process_capture(process, NULL, &threads, &count, &why);
    printf("%s\n", why.message);
    fflush(stdout);
    return error == FW_ERR_PERMISSION && strstr(why.message, message) ? RIGHT : WRONG;
}

static int capture_denied_as_nobody(void *context)
{
    return setgid(NOBODY) || setuid(NOBODY) ? SKIP : capture_denied(context);
}

static void other_user(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_true(target_start(&target, copy, LIST("futex:2")));
    char message[] = "belongs to user 0 and this is user 65534: run as that user or as root";
    assert_int_equal(run_apart(capture_denied_as_nobody, message), RIGHT);
    assert_int_equal(target_traced(target.pid), 0);
}

static int capture_denied_as_poor_root(void *context)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
    if (syscall(SYS_capget, &header, data))
        return SKIP;
    data[0].effective &= ~(1u << CAP_SYS_PTRACE);
    data[0].permitted &= ~(1u << CAP_SYS_PTRACE);
    return syscall(SYS_capset, &header, data) ? SKIP : capture_denied(context);
}

/* Who is root already is not told to become it. */
static void root_without_capability(void **state)
{
    (void)state;
    if (geteuid() != 0)
        skip();
    assert_true(target_start(&target, copy, LIST("futex:2")));
    char message[] = "; this is root without CAP_SYS_PTRACE";
    assert_int_equal(run_apart(capture_denied_as_poor_root, message), RIGHT);
}

static void traced_by_another(void **state)
{
    (void)state;
    int ready[2];
    char c, message[64];
    assert_true(target_start(&target, copy, LIST("futex:2")));
    assert_int_equal(pipe(ready), 0);
    pid_t tracer = fork();
    if (tracer == 0) {
        char path[64];
        pid_t thread = target.pid + 1;
        snprintf(path, sizeof path, "/proc/%d/task/%d", (int)target.pid, (int)thread);
        long main = ptrace(PTRACE_SEIZE, target.pid, 0, 0);
        if (access(path, F_OK) == 0)
            main |= ptrace(PTRACE_SEIZE, thread, 0, 0);
        _exit(write(ready[1], main ? "n" : "y", 1) == 1 && pause());
    }
    assert_int_equal(read(ready[0], &c, 1), 1);
    assert_int_equal(c, 'y');
    snprintf(message, sizeof message, "already traced by process %d", (int)tracer);
    struct fw_process *process;
    const struct fw_process_thread *threads;
    size_t count;
    assert_int_equal(fw_process_open(target.pid, &process, NULL), FW_OK);
    struct fw_failure why = {0};
    struct fw_process_options options = {.size = sizeof options, .only = target.pid};
    assert_int_equal(fw_process_capture(process, &options, &threads, &count, &why),
                     FW_ERR_PERMISSION);
    if (!strstr(why.message, message))
        fail_msg("%s", why.message);
    assert_int_equal(count, 1);
    assert_int_equal(threads[0].thread.stack.unavailable, FW_UNAVAILABLE_PERMISSION);
    fw_process_close(process);
    kill(tracer, SIGKILL);
    waitpid(tracer, NULL, 0);
    close(ready[0]);
    close(ready[1]);
    assert_true(captures(copy));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(deleted_program, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(replaced_program, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(remapped_text, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(unprivileged, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(replaced_and_unprivileged, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(deleted_and_unprivileged, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(other_mount_namespace, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(other_user, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(root_without_capability, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(traced_by_another, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
