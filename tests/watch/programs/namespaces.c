/*
 * namespaces MODE: what only a process of one thread may do, in the middle of a loop; says how each
 * call went, then hangs once. Modes: user, twice, pid, time, mount, join, threads (which may not),
 * wrong; and filter: whoever opens a file from then on, in whatever thread, is killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif

static const char *mode;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

static void say(const char *what, int result)
{
    printf("%s: %s\n", what, result == 0 ? "done" : strerror(errno));
}

static void turns(int count)
{
    for (int i = 0; i < count; i++)
        poll(NULL, 0, 5);
}

static void hang_here(void)
{
    const struct timespec long_time = {.tv_nsec = 600000000};
    nanosleep(&long_time, NULL); /* line: hang */
}

/* The namespace that a child has made for itself, entered. */
static void join_child(int flags, const char *name)
{
    int ready[2], stay[2];
    char path[64], byte;
    if (pipe(ready) != 0 || pipe(stay) != 0)
        return;
    const pid_t child = fork();
    if (child == 0) {
        close(stay[1]);
        byte = unshare(flags) == 0 ? 'y' : 'n';
        if (write(ready[1], &byte, 1) == 1 && read(stay[0], &byte, 1) == 0)
            _exit(0);
        _exit(1);
    }
    close(stay[0]);
    if (read(ready[0], &byte, 1) != 1 || byte != 'y')
        printf("child: %s\n", strerror(errno));
    snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)child, name);
    const int space = open(path, O_RDONLY | O_CLOEXEC);
    say(name, setns(space, flags));
    close(space);
    close(stay[1]);
    waitpid(child, NULL, 0);
}

static int forbid_files(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &filter);
}

static void *stay(void *argument)
{
    pause();
    return argument;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    mode = argc > 1 ? argv[1] : "";
    turns(20);
    if (is("threads"))
        pthread_create(&thread, NULL, stay, NULL);
    if (is("user") || is("twice") || is("threads"))
        say("unshare", unshare(CLONE_NEWUSER));
    if (is("twice"))
        say("unshare again", unshare(CLONE_NEWUSER | CLONE_NEWNS));
    if (is("pid"))
        say("unshare", unshare(CLONE_NEWUSER | CLONE_NEWPID));
    if (is("filter"))
        say("filter", forbid_files());
    if (is("wrong"))
        say("unshare", unshare(0x7fff));
    if (is("time"))
        join_child(CLONE_NEWTIME, "time_for_children");
    if (is("mount"))
        join_child(CLONE_NEWNS, "mnt");
    if (is("join"))
        join_child(CLONE_NEWUSER, "user");
    fflush(stdout);
    turns(10);
    hang_here();
    turns(10);
    return 0;
}
