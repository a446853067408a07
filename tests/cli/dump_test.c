/*
 * `framewalk dump` on canned threads: every format against a golden file, the exit codes and the
 * messages. FW_UPDATE_GOLDENS=1 writes the golden files anew; read them before committing.
 */
#include "cli/cli.h"
#include "cli/dump.h"
#include "cli/fake_process.h"
#include "cli/fake_symbols.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char out_path[] = "/tmp/framewalk-dump-out-XXXXXX";
static char err_path[] = "/tmp/framewalk-dump-err-XXXXXX";
static char out[1 << 20], err[1 << 16];

static void slurp(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
}

/* Runs `framewalk dump ARGUMENTS -o FILE`; fills `out` and `err`, returns the exit code. */
static int run(const char *arguments)
{
    char words[512];
    char *argv[32] = {(char *)"dump"};
    int argc = 1;
    snprintf(words, sizeof(words), "%s", arguments);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc++] = (char *)"-o";
    argv[argc++] = out_path;
    argv[argc] = NULL;

    fflush(stderr);
    int saved = dup(STDERR_FILENO);
    int to = open(err_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    assert_true(saved >= 0 && to >= 0 && dup2(to, STDERR_FILENO) >= 0);
    assert_int_equal(truncate(out_path, 0), 0);
    int code = dump_main(argc, argv);
    fflush(stderr);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(to);
    slurp(out_path, out, sizeof(out));
    slurp(err_path, err, sizeof(err));
    assert_int_equal(fake_open_count(), 0);
    assert_int_equal(fake_symbols_open(), 0);
    return code;
}

/* Replaces what follows `before`, up to one of `ends`, by "WHEN". */
static void mask(char *text, const char *before, const char *ends)
{
    char *at = strstr(text, before);
    if (at == NULL)
        return;
    at += strlen(before);
    size_t length = strcspn(at, ends);
    memmove(at + 4, at + length, strlen(at + length) + 1);
    memcpy(at, "WHEN", 4);
}

static void expect_golden(const char *name)
{
    char path[4096];
    static char wanted[1 << 20];
    mask(out, "threads, 20", "\n");
    mask(out, "thread, 20", "\n");
    mask(out, "\"time\":\"", "\"");
    mask(out, "\"tool\":\"", "\"");
    mask(out, "\"seconds\":", ",");
    mask(out, "Sampled for ", "\n");
    snprintf(path, sizeof(path), "%s/%s", FW_GOLDENS, name);
    if (getenv("FW_UPDATE_GOLDENS") != NULL) {
        FILE *file = fopen(path, "we");
        assert_non_null(file);
        fputs(out, file);
        fclose(file);
    }
    slurp(path, wanted, sizeof(wanted));
    assert_string_equal(out, wanted);
}

static void test_text(void **state)
{
    (void)state;
    assert_int_equal(run("100"), CLI_OK);
    assert_string_equal(err, "");
    expect_golden("whole.txt");
    assert_int_equal(run("101"), CLI_INCOMPLETE);
    expect_golden("odd.txt");
    assert_int_equal(run("102"), CLI_OK);
    expect_golden("pool.txt");
}

static void test_text_options(void **state)
{
    (void)state;
    assert_int_equal(run("-v 101"), CLI_INCOMPLETE);
    expect_golden("odd-verbose.txt");
    assert_int_equal(run("--no-demangle --thread 500 102"), CLI_OK);
    expect_golden("thread-no-demangle.txt");
    assert_int_equal(run("-q --thread 500 102"), CLI_OK);
    expect_golden("thread-no-names.txt");
    assert_int_equal(run("--depth 2 100"), CLI_OK); /* asked for: not incomplete */
    expect_golden("depth.txt");
    assert_int_equal(run("--color always 101"), CLI_INCOMPLETE);
    expect_golden("color.txt");
}

/* Symbol tables alone: nothing else is asked, and what they say is the same. */
static void test_no_lines(void **state)
{
    (void)state;
    fake_symbols_most_asked();
    assert_int_equal(run("--no-lines 101"), CLI_INCOMPLETE);
    assert_int_equal(fake_symbols_most_asked(), 0);
    expect_golden("odd-no-lines.txt");
    assert_int_equal(run("-q 101"), CLI_INCOMPLETE);
    assert_int_equal(fake_symbols_most_asked(), 0);
}

/* 64 threads at one place, or the same place in sample after sample, are one question. */
static void test_everything_is_asked_once(void **state)
{
    (void)state;
    fake_symbols_most_asked();
    assert_int_equal(run("--no-fold 102"), CLI_OK);
    assert_int_equal(fake_symbols_most_asked(), 1);
    assert_int_equal(run("--seconds 0.1 --hz 100 103"), CLI_OK);
    assert_int_equal(fake_symbols_most_asked(), 1);
    assert_int_equal(run("--full 101"), CLI_INCOMPLETE);
    assert_int_equal(fake_symbols_most_asked(), 1);
}

static void test_no_fold(void **state)
{
    (void)state;
    assert_int_equal(run("--no-fold 102"), CLI_OK);
    for (int id = 400; id < 464; id++) {
        char title[64];
        snprintf(title, sizeof(title), "\nThread %d \"worker-%d\" S", id, id - 400);
        assert_non_null(strstr(out, title));
    }
    assert_null(strstr(out, "more"));
    /* Neither are recursive calls. */
    assert_int_equal(run("--no-fold --thread 206 101"), CLI_OK);
    assert_non_null(strstr(out, "  #7  main+0x20"));
    assert_null(strstr(out, "more"));
}

static void test_json(void **state)
{
    (void)state;
    assert_int_equal(run("--json 101"), CLI_INCOMPLETE);
    expect_golden("odd.json");
    assert_int_equal(run("--format json --seconds 0.05 --hz 100 103"), CLI_OK);
    assert_non_null(strstr(out, "\"sampling\":{\"seconds\":"));
    assert_int_equal(run("--format json whole.core"), CLI_OK);
    expect_golden("core.json");
}

static void test_collapsed(void **state)
{
    (void)state;
    assert_int_equal(run("--collapsed 101"), CLI_INCOMPLETE);
    expect_golden("odd.collapsed");
    assert_int_equal(run("--format collapsed 102"), CLI_OK);
    expect_golden("pool.collapsed");
}

static void test_core(void **state)
{
    (void)state;
    assert_int_equal(run("whole.core"), CLI_OK);
    expect_golden("core.txt");
    assert_int_equal(run("truncated.core"), CLI_TRUNCATED);
    assert_non_null(strstr(out, "Thread 100 \"hang\""));
    assert_non_null(strstr(out, "\nIncomplete: the core file is truncated: 5903 bytes"));
    assert_string_equal(err, "framewalk: incomplete: the core file is truncated: 5903 bytes of "
                             "memory are missing\n");
}

static void test_sampling(void **state)
{
    (void)state;
    assert_int_equal(run("--seconds 0.2 --hz 100 103"), CLI_OK);
    assert_non_null(strstr(out, "\nSampled for 0.2 s: "));
    /* Both stacks of the main thread, and the folded idle threads with all samples at one place. */
    assert_non_null(strstr(out, "Thread 103 \"hang\" (main)  "));
    assert_non_null(strstr(out, ", running in "));
    assert_non_null(strstr(out, "hang::Server::wait(int)  (hang)"));
    assert_non_null(strstr(out, "hang::Queue::pop() [inlined]  (hang)"));
    assert_non_null(strstr(out, "hang::Job::step() [tail call]  (hang)"));
    assert_non_null(strstr(out, "123foo::bar  (hang)"));
    assert_non_null(strstr(out, "Threads 600 and 601 \"idle\"  "));
    const char *idle = strstr(out, "Threads 600");
    assert_non_null(strstr(idle, "100.0 %"));
    assert_null(strstr(idle, "50.0 %"));
}

static void test_sampled_process_ends(void **state)
{
    (void)state;
    assert_int_equal(run("--seconds 5 --hz 1000 107"), CLI_VANISHED);
    assert_non_null(strstr(out, "hang::Server::wait(int)"));
    assert_non_null(
        strstr(out, "\nIncomplete: sampling ended after 0.0 of 5 seconds: process 107"));
    assert_non_null(strstr(err, "framewalk: incomplete: sampling ended after"));
}

/* Ctrl-C during a long sampling: what there is is printed, and said to be cut short. */
static void test_sampling_is_interrupted(void **state)
{
    (void)state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        usleep(200000);
        kill(getppid(), SIGINT);
        _exit(0);
    }
    assert_int_equal(run("--seconds 60 --hz 100 --json 103"), CLI_INCOMPLETE);
    waitpid(child, NULL, 0);
    assert_non_null(strstr(out, "\"interrupted\":true"));
    assert_non_null(strstr(out, "\"complete\":false"));
    assert_non_null(strstr(err, "sampling was ended by a signal"));
}

static void test_process_ends_meanwhile(void **state)
{
    (void)state;
    assert_int_equal(run("106"), CLI_VANISHED);
    assert_non_null(strstr(out, "Thread 106 \"hang\""));
    assert_non_null(strstr(out, "\nIncomplete: process 106 ended during the capture"));
}

static void expect_error(const char *arguments, int code, const char *message)
{
    assert_int_equal(run(arguments), code);
    assert_string_equal(err, message);
    assert_string_equal(out, "");
}

static void test_errors(void **state)
{
    (void)state;
    expect_error("104", CLI_NO_PROCESS, "framewalk: there is no process 104\n");
    expect_error("105", CLI_PERMISSION, "framewalk: not allowed: see kernel.yama.ptrace_scope\n");
    expect_error("program", CLI_FORMAT, "framewalk: program: not a core file\n");
    expect_error("absent", CLI_FORMAT, "framewalk: absent: no such file\n");
    expect_error("--thread 999 100", CLI_NO_PROCESS, "framewalk: the process has no such thread\n");
    char self[64], message[128];
    snprintf(self, sizeof(self), "%d", (int)getpid());
    snprintf(message, sizeof(message),
             "framewalk: process %s is this framewalk; it cannot stop itself\n", self);
    expect_error(self, CLI_FAILED, message);
}

static void test_usage(void **state)
{
    (void)state;
    expect_error("", CLI_USAGE,
                 "framewalk: dump wants a process id or a core file (framewalk dump --help says "
                 "more)\n");
    expect_error("1 2", CLI_USAGE,
                 "framewalk: dump takes one process or core file; '2' is one too many\n");
    expect_error("99999999999", CLI_USAGE,
                 "framewalk: '99999999999' is no process id (write ./99999999999 for a file)\n");
    expect_error("--jsn 100", CLI_USAGE,
                 "framewalk: unknown option '--jsn'; did you mean '--json'?\n");
    expect_error("--json=yes 100", CLI_USAGE, "framewalk: option '--json=yes' takes no value\n");
    expect_error("-x 100", CLI_USAGE,
                 "framewalk: unknown option '-x' (framewalk dump --help lists what there is)\n");
    expect_error("--depth 0 100", CLI_USAGE,
                 "framewalk: --depth wants a number of frames, not '0'\n");
    expect_error("--seconds nan 100", CLI_USAGE,
                 "framewalk: --seconds wants a number of seconds, not 'nan'\n");
    expect_error("--format xml 100", CLI_USAGE,
                 "framewalk: --format wants text, json or collapsed, not 'xml'\n");
    expect_error("--hz 10 100", CLI_USAGE, "framewalk: --hz needs --seconds: how long to sample\n");
    expect_error("--full --depth 3 100", CLI_USAGE,
                 "framewalk: --full and --depth contradict each other\n");
    expect_error("--sysroot / 100", CLI_USAGE,
                 "framewalk: --sysroot is for core files; a process is read where it runs\n");
    expect_error("--seconds 1 whole.core", CLI_USAGE,
                 "framewalk: --seconds is for running processes; 'whole.core' is a file\n");
}

static void test_unwritable_output(void **state)
{
    (void)state;
    char *argv[] = {(char *)"dump", (char *)"100", (char *)"-o", (char *)"/dev/full", NULL};
    int saved = dup(STDERR_FILENO), to = open(err_path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    dup2(to, STDERR_FILENO);
    int code = dump_main(4, argv);
    dup2(saved, STDERR_FILENO);
    close(saved);
    close(to);
    slurp(err_path, err, sizeof(err));
    assert_int_equal(code, CLI_FAILED);
    assert_string_equal(err, "framewalk: cannot write /dev/full: No space left on device\n");
}

int main(void)
{
    setenv("TZ", "UTC", 1);
    int out_fd = mkstemp(out_path), err_fd = mkstemp(err_path);
    if (out_fd < 0 || err_fd < 0)
        return 1;
    close(out_fd);
    close(err_fd);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_text_options),
        cmocka_unit_test(test_no_lines),
        cmocka_unit_test(test_everything_is_asked_once),
        cmocka_unit_test(test_no_fold),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_collapsed),
        cmocka_unit_test(test_core),
        cmocka_unit_test(test_sampling),
        cmocka_unit_test(test_sampled_process_ends),
        cmocka_unit_test(test_sampling_is_interrupted),
        cmocka_unit_test(test_process_ends_meanwhile),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_unwritable_output),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(out_path);
    unlink(err_path);
    return failed;
}
