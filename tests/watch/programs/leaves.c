/*
 * Ways of a program to end without exit(): its first thread leaves before others, or without libc.
 * leaves MODE; says in its standard output, which is flushed at its end, that it came there.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

static const char *mode;
static pthread_t first;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void at_end(void)
{
    printf("%s: ends\n", mode);
}

static void pause_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

static void wait_like_a_loop(void)
{
    for (int i = 0; i < 20; i++)
        poll(NULL, 0, 5);
}

static void leave(int status)
{
    syscall(SYS_exit, status);
}

/* By the kernel, and no other thread with it. */
static void get_killed(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_THREAD),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    signal(SIGSYS, SIG_IGN); /* which does not help it */
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
    getppid();
}

static void *other(void *argument)
{
    if (is("cancel"))
        pthread_cancel(first);
    pause_ms(300);
    if (is("join"))
        printf("join: %d\n", pthread_join(first, NULL));
    if (is("exit"))
        exit(4);
    if (is("kill"))
        kill(getpid(), SIGUSR1);
    printf("%s: other\n", mode);
    return argument;
}

static int c11(void *argument)
{
    other(argument);
    thrd_exit(0);
}

static void start_others(void)
{
    pthread_attr_t detached;
    pthread_t thread;
    thrd_t standard;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &detached, other, NULL);
    if (is("many"))
        for (int i = 0; i < 20; i++)
            pthread_create(&thread, &detached, other, NULL);
    if (is("c11"))
        thrd_create(&standard, c11, NULL);
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "";
    first = pthread_self();
    const struct rlimit no_core = {0, 0};
    setrlimit(RLIMIT_CORE, &no_core);
    atexit(at_end);
    if (is("forked")) {
        const pid_t child = fork();
        int status = 0;
        if (child > 0) {
            waitpid(child, &status, 0);
            return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
        }
        start_others();
        wait_like_a_loop();
        leave(0); /* whichever is the last */
    }
    wait_like_a_loop();
    if (is("alone"))
        pthread_exit(NULL);
    if (is("raw-alone"))
        leave(5);
    if (is("strict")) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        leave(6);
    }
    if (is("strict-killed")) {
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
        getppid();
    }
    if (is("killed"))
        get_killed();
    start_others();
    if (is("killed-first"))
        get_killed();
    if (is("raw") || is("many"))
        leave(3);
    if (is("c11"))
        thrd_exit(0);
    if (is("cancel"))
        for (;;)
            pause();
    pthread_exit(NULL); /* thread, join, exit, kill */
}
