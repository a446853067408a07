/*
 * A program with a loop, and one oddity each, chosen by the first argument. What hangs is called
 * hang_here, for 400 ms, in the twentieth turn.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 40, HANGS_IN = 20, HANG_MS = 400 };

static const char *mode;
static volatile unsigned work;

static int is(const char *name)
{
    return strcmp(mode, name) == 0;
}

__attribute__((noinline)) static void hang_here(void)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += HANG_MS / 1000;
    end.tv_nsec += HANG_MS % 1000 * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000;
    end.tv_nsec %= 1000000000;
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) != 0) /* line: hang */
        continue;
    work++;
}

static int other_wait(int ms)
{
    fd_set none;
    FD_ZERO(&none);
    struct timeval time = {.tv_usec = ms * 1000};
    return select(0, &none, NULL, NULL, &time);
}

/* A library's wait for one answer, in the middle of a turn. */
__attribute__((noinline)) static void wait_for_answer(void)
{
    other_wait(HANG_MS); /* line: answer */
    work++;
}

/* Busy, although it calls poll() all the time. */
__attribute__((noinline)) static void spin(void)
{
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        poll(NULL, 0, 0); /* line: spin */
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 <
             HANG_MS);
}

static void wait_in_handler(int number)
{
    int saved = errno;
    (void)number;
    poll(NULL, 0, 1);
    work++;
    errno = saved;
}

static sigjmp_buf back;

static void leave_wait(int number)
{
    (void)number;
    siglongjmp(back, 1);
}

static void *other_thread(void *argument)
{
    for (int i = 0; i < 200; i++)
        poll(NULL, 0, i % 3);
    return argument;
}

static void close_all(void)
{
    for (int fd = 3; fd < 1024; fd++)
        close(fd);
    syscall(SYS_close_range, 3U, ~0U, 0U);
}

static void limit_all(void)
{
    struct rlimit none = {0, 0}, few = {4, 4};
    setrlimit(RLIMIT_FSIZE, &none);
    setrlimit(RLIMIT_NOFILE, &few);
}

static void begin(void)
{
    struct sigaction action = {.sa_handler = wait_in_handler};
    struct itimerval timer = {{0, 3000}, {0, 3000}};
    pthread_t threads[8];
    if (is("handler")) {
        sigaction(SIGALRM, &action, NULL);
        setitimer(ITIMER_REAL, &timer, NULL);
    } else if (is("threads")) {
        for (int i = 0; i < 8; i++)
            pthread_create(&threads[i], NULL, other_thread, NULL);
    } else if (is("limits"))
        limit_all();
    else if (is("user")) {
        if (setgid(65534) != 0 || setuid(65534) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0)
            exit(1);
    } else if (is("environment"))
        clearenv();
    else if (is("jump")) {
        action.sa_handler = leave_wait;
        sigaction(SIGALRM, &action, NULL);
    } else if (is("early-close"))
        close_all();
}

/* Before the hang: another 200 ms of what must not disturb. */
static void odd(int turn)
{
    if (is("close") && turn == 10)
        close_all();
    if (is("kill") && turn == HANGS_IN) {
        if (fork() == 0) {
            usleep(700000);
            kill(getppid(), SIGKILL);
            _exit(0);
        }
        sleep(30);
    }
    if (is("fork") && turn == 10 && fork() == 0) {
        for (int i = 0; i < TURNS; i++) {
            poll(NULL, 0, 5);
            if (i == HANGS_IN)
                hang_here(); /* of the child */
        }
        _exit(0);
    }
    if (is("vfork") && turn == 10 && vfork() == 0) {
        execl("/bin/true", "true", NULL);
        _exit(127);
    }
    if (is("system") && turn == 10 && system("env | grep -E 'FRAMEWALK|LD_PRELOAD'; true") != 0)
        exit(1);
    if (is("jump") && turn == 10) {
        struct itimerval timer = {{0, 0}, {0, 20000}};
        setitimer(ITIMER_REAL, &timer, NULL);
        if (sigsetjmp(back, 1) == 0)
            poll(NULL, 0, 10000); /* never returns */
    }
}

static void work_in(int turn)
{
    odd(turn);
    if (is("often") && turn > HANGS_IN && turn % 5 == 0)
        hang_here();
    if (turn != HANGS_IN || is("calm"))
        return;
    if (is("answer"))
        wait_for_answer();
    else if (is("spin"))
        spin();
    else if (!is("fork"))
        hang_here();
}

static void run_loop(void)
{
    int epoll = is("epoll") ? epoll_create1(EPOLL_CLOEXEC) : -1;
    struct epoll_event event;
    for (int turn = 0; turn < TURNS; turn++) {
        if (epoll >= 0)
            epoll_wait(epoll, &event, 1, 5);
        else if (is("select"))
            other_wait(5);
        else if (is("zero"))
            poll(NULL, 0, turn % 2 ? 5 : 0);
        else
            poll(NULL, 0, 5);
        work_in(turn);
    }
    if (is("idle")) /* longer than a hang, in the loop's own wait */
        poll(NULL, 0, 900);
}

static void check_errno(void)
{
    errno = 0;
    struct pollfd *volatile nowhere = (struct pollfd *)1;
    struct epoll_event event;
    if (poll(nowhere, 1, 1) != -1 || errno != EFAULT)
        exit(10);
    if (epoll_wait(-1, &event, 1, 0) != -1 || errno != EBADF)
        exit(11);
    errno = 1234;
    if (poll(NULL, 0, 1) != 0 || errno != 1234)
        exit(12);
}

/* The mask holds during the wait and is back afterwards. */
static void check_mask(void)
{
    sigset_t blocked, open, now;
    struct timespec time = {.tv_sec = 5};
    struct sigaction action = {.sa_handler = wait_in_handler};
    sigemptyset(&open);
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaction(SIGUSR1, &action, NULL);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    raise(SIGUSR1);
    if (ppoll(NULL, 0, &time, &open) != -1 || errno != EINTR)
        exit(13);
    sigprocmask(SIG_BLOCK, NULL, &now);
    if (!sigismember(&now, SIGUSR1))
        exit(14);
}

int main(int argc, char **argv)
{
    mode = argc > 1 ? argv[1] : "plain";
    if (is("never"))
        return 7;
    begin();
    run_loop();
    const struct itimerval never = {{0, 0}, {0, 0}};
    setitimer(ITIMER_REAL, &never, NULL);
    check_errno();
    check_mask();
    while (wait(NULL) > 0)
        continue;
    if (is("leave"))
        _exit(9);
    if (is("abort"))
        abort();
    return 0;
}
