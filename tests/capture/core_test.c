/* Core files: whole, cut off, damaged, of other architectures, with their files elsewhere. */
#include "capture/target.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define LIST(...) ((const char *const[]){__VA_ARGS__, NULL})

static char folder[64], program[128], core[192], cut[128];

static bool copy_file(const char *from, const char *to, size_t limit)
{
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    char bytes[65536];
    size_t n;
    bool ok = in && out;
    while (ok && limit && (n = fread(bytes, 1, limit < sizeof bytes ? limit : sizeof bytes, in))) {
        ok = fwrite(bytes, 1, n, out) == n;
        limit -= n;
    }
    if (in)
        fclose(in);
    return out && fclose(out) == 0 && ok && chmod(to, 0755) == 0;
}

/* The first file of the folder whose name begins so. */
static bool find_file(const char *prefix, const char *suffix, char *path, size_t size)
{
    DIR *dir = opendir(folder);
    bool found = false;
    for (const struct dirent *entry; dir && !found && (entry = readdir(dir));) {
        size_t length = strlen(entry->d_name), tail = strlen(suffix);
        if (entry->d_name[0] == '.')
            continue;
        found = !strncmp(entry->d_name, prefix, strlen(prefix)) && length >= tail &&
                !strcmp(entry->d_name + length - tail, suffix);
        if (found)
            snprintf(path, size, "%s/%s", folder, entry->d_name);
    }
    if (dir)
        closedir(dir);
    return found;
}

static int make_folder(void **state)
{
    (void)state;
    struct rlimit limit;
    snprintf(folder, sizeof folder, "/tmp/fw-core-XXXXXX");
    if (!mkdtemp(folder) || chdir(folder) || getrlimit(RLIMIT_CORE, &limit))
        return -1;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_CORE, &limit);
    snprintf(program, sizeof program, "%s/program", folder);
    snprintf(cut, sizeof cut, "%s/cut", folder);
    core[0] = 0;
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[sizeof folder + NAME_MAX + 2];
    while (find_file("", "", path, sizeof path) && unlink(path) == 0)
        continue;
    return chdir("/") || rmdir(folder);
}

/* A copy of the program that threads.c is runs, aborts and leaves a core: by the kernel where that
 * writes plain files. */
static bool make_core(const char *original)
{
    struct target target;
    char pattern[256] = "";
    int fd = open("/proc/sys/kernel/core_pattern", O_RDONLY);
    ssize_t n = fd < 0 ? -1 : read(fd, pattern, sizeof pattern - 1);
    if (fd >= 0)
        close(fd);
    if (n <= 0 || strpbrk(pattern, "|/") || !copy_file(original, program, SIZE_MAX))
        return false;
    if (!target_start(&target, program, LIST("futex:3", "pipe", "spin:1", "altstack:2")))
        return false;
    target_wait_state(target.pid, 'S');
    kill(target.pid, SIGABRT);
    int status;
    waitpid(target.pid, &status, 0);
    close(target.in);
    close(target.out);
    char prefix[16] = "core";
    return WCOREDUMP(status) && find_file(prefix, "", core, sizeof core);
}

struct opened {
    struct fw_process *process;
    const struct fw_process_thread *threads;
    size_t count;
    fw_error error;
    struct fw_failure why;
};

static struct opened open_core(const char *path, const char *executable, const char *sysroot)
{
    struct opened opened = {0};
    opened.error = fw_process_open_core(path, executable, sysroot, &opened.process, &opened.why);
    if (opened.error == FW_OK)
        opened.error =
            fw_process_capture(opened.process, NULL, &opened.threads, &opened.count, &opened.why);
    return opened;
}

/* The thread of a core has no name: found by a function on its stack. */
static const struct fw_process_thread *thread_in(const struct opened *opened, const char *function)
{
    for (size_t i = 0; i < opened->count; i++)
        for (uint32_t k = 0; k < opened->threads[i].thread.stack.count; k++) {
            struct fw_symbol symbol;
            fw_process_symbol(opened->process, &opened->threads[i].thread.stack.frames[k], &symbol);
            if (symbol.name && !strcmp(symbol.name, function))
                return &opened->threads[i];
        }
    return NULL;
}

static void expect(const struct opened *opened, const char *const *functions)
{
    assert_true(stack_has(opened->process, thread_in(opened, functions[0]), functions));
}

static void expect_all(const struct opened *opened)
{
    if (opened->error != FW_OK)
        fail_msg("%s", opened->why.message);
    expect(opened, LIST("wait_futex", "recurse*4", "start"));
    expect(opened, LIST("wait_pipe", "recurse", "start"));
    expect(opened, LIST("wait_spin", "recurse*2", "start"));
    expect(opened, LIST("wait_altstack", "recurse*3", "start"));
    expect(opened, LIST("handler_on_other_stack"));
    expect(opened, LIST("wait_main", "main"));
}

static void whole_core(void **state)
{
    (void)state;
    if (!make_core(FW_PROGRAM_THREADS))
        skip();
    struct opened opened = open_core(core, NULL, NULL);
    expect_all(&opened);
    assert_int_equal(opened.count, 5);
    assert_int_equal(opened.threads[0].signal, SIGABRT);
    assert_true(opened.threads[0].thread.is_main);
    assert_string_equal(opened.threads[0].thread.name, "program");
    assert_int_equal(opened.threads[1].signal, 0);
    assert_int_equal(opened.threads[0].pause_ns, 0);
    struct fw_process_info info;
    char command[256];
    snprintf(command, sizeof command, "%s futex:3 pipe spin:1 altstack:2", program);
    command[80] = 0;
    fw_process_describe(opened.process, &info);
    assert_int_equal(info.pid, opened.threads[0].thread.id);
    assert_string_equal(info.executable, program);
    assert_string_equal(info.command, command);
    assert_false(info.truncated);
    assert_int_equal(info.missing_bytes, 0);
    fw_process_close(opened.process);
}

static void core_of_a_32_bit_program(void **state)
{
    (void)state;
#ifdef FW_PROGRAM_THREADS_32
    if (!make_core(FW_PROGRAM_THREADS_32))
        skip();
    struct opened opened = open_core(core, NULL, NULL);
    expect_all(&opened);
    struct fw_process_info info;
    fw_process_describe(opened.process, &info);
    assert_string_equal(info.arch, "i386");
    fw_process_close(opened.process);
#else
    skip();
#endif
}

/* The core that gdb makes of a running process, which no signal killed. */
static void core_by_gcore(void **state)
{
    (void)state;
    struct target target;
    char command[256];
    if (access("/usr/bin/gcore", X_OK) != 0)
        skip();
    assert_true(copy_file(FW_PROGRAM_THREADS, program, SIZE_MAX));
    assert_true(target_start(&target, program, LIST("futex:3", "pipe", "spin:1", "altstack:2")));
    snprintf(command, sizeof command, "timeout 120 gcore -o %s/core %d >gdb.log 2>&1", folder,
             (int)target.pid);
    int status = system(command);
    target_end(&target);
    if (status != 0 || !find_file("core", "", core, sizeof core))
        skip();
    struct opened opened = open_core(core, NULL, NULL);
    expect_all(&opened);
    for (size_t i = 0; i < opened.count; i++)
        assert_int_equal(opened.threads[i].signal, 0);
    fw_process_close(opened.process);
}

/* Cut anywhere: an error, or stacks that say what they lack; never a wrong or silently short one.
 */
static void cut_core(void **state)
{
    (void)state;
    struct stat whole;
    if (!make_core(FW_PROGRAM_THREADS))
        skip();
    assert_int_equal(stat(core, &whole), 0);
    size_t size = (size_t)whole.st_size, roots = 0;
    for (size_t at = 0; at <= size; at += at < 65536 ? 1777 : size / 40) {
        assert_true(copy_file(core, cut, at));
        struct opened opened = open_core(cut, NULL, NULL);
        if (!opened.process) {
            assert_true(opened.error == FW_ERR_TRUNCATED ||
                        (at < 4 && opened.error == FW_ERR_FORMAT));
            continue;
        }
        struct fw_process_info info;
        fw_process_describe(opened.process, &info);
        assert_true(info.truncated);
        assert_true(info.missing_bytes > 0 && info.missing_bytes < size);
        size_t rooted = 0;
        for (size_t i = 0; i < opened.count; i++) {
            const struct fw_stack *stack = &opened.threads[i].thread.stack;
            assert_true(stack->end == FW_END_ROOT || stack->end == FW_END_BAD_MEMORY);
            rooted += stack->end == FW_END_ROOT;
        }
        assert_true(opened.error == FW_OK || (opened.error == FW_ERR_TRUNCATED && !rooted));
        assert_true(rooted >= roots);
        roots = rooted;
        fw_process_close(opened.process);
    }
    assert_true(roots >= 3);
}

static void not_a_core(void **state)
{
    (void)state;
    assert_int_equal(open_core("/proc/self/exe", NULL, NULL).error, FW_ERR_FORMAT);
    assert_int_equal(open_core("/proc/self/cmdline", NULL, NULL).error, FW_ERR_FORMAT);
    assert_int_equal(open_core("there/is/none", NULL, NULL).error, FW_ERR_NOT_FOUND);
    assert_int_equal(open_core("/dev/null", NULL, NULL).error, FW_ERR_FORMAT);
    assert_int_equal(open_core(folder, NULL, NULL).error, FW_ERR_FORMAT);
}

/* The executable is found where the caller says, or below a sysroot; another file at its path is
 * not taken for it. */
static void executable_elsewhere(void **state)
{
    (void)state;
    char moved[256], root[160], below[1024];
    if (!make_core(FW_PROGRAM_THREADS))
        skip();
    snprintf(moved, sizeof moved, "%s/moved", folder);
    assert_int_equal(rename(program, moved), 0);
    struct opened opened = open_core(core, moved, NULL);
    expect_all(&opened);
    fw_process_close(opened.process);

    snprintf(root, sizeof root, "%s/root", folder);
    snprintf(below, sizeof below, "mkdir -p %s%s && cp %s %s%s", root, folder, moved, root,
             program);
    assert_int_equal(system(below), 0);
    opened = open_core(core, NULL, root);
    expect_all(&opened);
    fw_process_close(opened.process);
    snprintf(below, sizeof below, "rm -r %s", root);
    assert_int_equal(system(below), 0);

    assert_true(copy_file("/proc/self/exe", program, SIZE_MAX));
    opened = open_core(core, NULL, NULL);
    assert_null(thread_in(&opened, "wait_futex"));
    for (size_t i = 0; i < opened.count; i++)
        for (uint32_t k = 0; k < opened.threads[i].thread.stack.count; k++) {
            struct fw_symbol symbol;
            fw_process_symbol(opened.process, &opened.threads[i].thread.stack.frames[k], &symbol);
            assert_false(symbol.name && symbol.image && !strcmp(symbol.image, program));
        }
    fw_process_close(opened.process);
    opened = open_core(core, program, NULL);
    assert_null(thread_in(&opened, "wait_futex"));
    fw_process_close(opened.process);
}

/* Damaged headers and notes: any answer, no crash. For sanitizers. */
static void damaged_core(void **state)
{
    (void)state;
    enum { HEAD = 24576 };
    static uint8_t head[HEAD];
    if (!make_core(FW_PROGRAM_THREADS))
        skip();
    assert_true(copy_file(core, cut, SIZE_MAX));
    int fd = open(cut, O_RDWR | O_CLOEXEC);
    assert_int_equal(pread(fd, head, HEAD, 0), HEAD);
    uint32_t random = 12345;
    for (int round = 0; round < 300; round++) {
        uint8_t damaged[HEAD];
        memcpy(damaged, head, HEAD);
        for (int i = 0; i < 1 + round % 8; i++) {
            random = random * 1664525 + 1013904223;
            size_t at = (random >> 8) % (round % 2 ? HEAD : 4096);
            random = random * 1664525 + 1013904223;
            damaged[at] = (uint8_t)(random >> 24);
        }
        assert_int_equal(pwrite(fd, damaged, HEAD, 0), HEAD);
        struct opened opened = open_core(cut, NULL, NULL);
        for (size_t i = 0; i < opened.count; i++)
            for (uint32_t k = 0; k < opened.threads[i].thread.stack.count; k++)
                fw_process_symbol(opened.process, &opened.threads[i].thread.stack.frames[k],
                                  &(struct fw_symbol){0});
        fw_process_close(opened.process);
    }
    close(fd);
}

#ifdef FW_PROGRAM_CRASH_AARCH64
/* An emulator's core has no list of files: the executable is placed by its entry point, libraries
 * through the loader's list. */
static void check_aarch64(const char *original)
{
    char command[512];
    assert_true(copy_file(original, program, SIZE_MAX));
    snprintf(command, sizeof command, "timeout 60 %s -L %s %s >qemu.log 2>&1; true",
             FW_QEMU_AARCH64, FW_AARCH64_ROOT, program);
    if (system(command) != 0 || !find_file("qemu_", ".core", core, sizeof core))
        skip();
    struct opened opened = open_core(core, program, FW_AARCH64_ROOT);
    if (opened.error != FW_OK)
        fail_msg("%s", opened.why.message);
    expect(&opened, LIST("abort", "inner", "middle", "outer", "main"));
    assert_int_equal(opened.threads[0].signal, SIGABRT);
    struct fw_process_info info;
    fw_process_describe(opened.process, &info);
    assert_string_equal(info.arch, "aarch64");
    fw_process_close(opened.process);
}

static void core_of_aarch64(void **state)
{
    (void)state;
    check_aarch64(FW_PROGRAM_CRASH_AARCH64);
}

static void core_of_aarch64_without_libraries(void **state)
{
    (void)state;
    check_aarch64(FW_PROGRAM_CRASH_AARCH64 "_static");
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole_core, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(core_of_a_32_bit_program, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(core_by_gcore, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(cut_core, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(not_a_core, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(executable_elsewhere, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(damaged_core, make_folder, remove_folder),
#ifdef FW_PROGRAM_CRASH_AARCH64
        cmocka_unit_test_setup_teardown(core_of_aarch64, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(core_of_aarch64_without_libraries, make_folder,
                                        remove_folder),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
