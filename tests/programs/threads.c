/*
 * A program of many threads whose stacks are known: each argument "KIND:DEPTH" starts one thread
 * that calls recurse() DEPTH times and then stays in wait_KIND(). Prints "ready" and its id when
 * all are there.
 *
 *     futex    waits on a condition             nanosleep  sleeps again and again, counts early
 * ends pipe     reads from a pipe                spin       computes altstack sleeps in a signal
 * handler on another stack churn    starts and joins short threads   usr1       takes queued
 * real-time signals, counts vfork    waits for a child in uninterruptible sleep
 *
 * "remap-text" copies the program's code to anonymous memory in its place, as is done for huge
 * pages. "exit-main" ends the main thread and leaves the others. Otherwise main waits in
 * wait_main() for standard input: 'c' prints the count of signals and of early ends, end of file
 * ends the program.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile unsigned long spins;
static volatile int early, signals;
static volatile sig_atomic_t in_handler;
static int pipes[2];
static pthread_barrier_t barrier;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static void arrived(void)
{
    pthread_barrier_wait(&barrier);
}

NOINLINE static void wait_futex(void)
{
    arrived();
    pthread_mutex_lock(&mutex);
    for (;;)
        pthread_cond_wait(&never, &mutex);
}

NOINLINE static void wait_nanosleep(void)
{
    arrived();
    for (;;) {
        struct timespec start, end, length = {.tv_nsec = 20 * 1000 * 1000};
        clock_gettime(CLOCK_MONOTONIC, &start);
        int failed = nanosleep(&length, NULL);
        clock_gettime(CLOCK_MONOTONIC, &end);
        long ns = (end.tv_sec - start.tv_sec) * 1000000000L + end.tv_nsec - start.tv_nsec;
        if (failed || ns < length.tv_nsec)
            early++;
    }
}

NOINLINE static void wait_pipe(void)
{
    char c;
    arrived();
    while (read(pipes[0], &c, 1) != 0)
        early++;
}

NOINLINE static void wait_spin(void)
{
    arrived();
    for (;;)
        spins = spins * 3 + 1;
}

NOINLINE static void handler_on_other_stack(int number)
{
    (void)number;
    in_handler = 1;
    arrived();
    for (;;)
        pause();
}

NOINLINE static void wait_altstack(void)
{
    enum { SIZE = 65536 };
    stack_t stack = {.ss_sp = malloc(SIZE), .ss_size = SIZE};
    struct sigaction action = {.sa_handler = handler_on_other_stack, .sa_flags = SA_ONSTACK};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR2, &action, NULL);
    pthread_kill(pthread_self(), SIGUSR2);
    in_handler = 2;
}

static void *short_lived(void *argument)
{
    return argument;
}

NOINLINE static void wait_churn(void)
{
    arrived();
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_lived, NULL) == 0)
            pthread_join(thread, NULL);
    }
}

static void count_signal(int number)
{
    (void)number;
    signals++;
}

NOINLINE static void wait_usr1(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    arrived();
    for (;;)
        pause();
}

NOINLINE static void wait_vfork(void)
{
    arrived();
    pid_t child = vfork();
    if (child == 0) {
        struct timespec length = {.tv_sec = 4};
        nanosleep(&length, NULL);
        _exit(0);
    }
    waitpid(child, NULL, 0);
    for (;;)
        pause();
}

static const struct {
    const char *name;
    void (*run)(void);
} kinds[] = {{"futex", wait_futex}, {"nanosleep", wait_nanosleep}, {"pipe", wait_pipe},
             {"spin", wait_spin},   {"altstack", wait_altstack},   {"churn", wait_churn},
             {"usr1", wait_usr1},   {"vfork", wait_vfork}};

/* Not a tail call, and different at every depth. */
NOINLINE static int recurse(int depth, void (*run)(void))
{
    volatile int keep = depth;
    if (depth <= 0) {
        run();
        return keep;
    }
    return recurse(depth - 1, run) + keep;
}

NOINLINE static void *start(void *argument)
{
    const char *text = argument;
    const char *colon = strchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    char name[16];
    snprintf(name, sizeof name, "t-%.*s", (int)(length < 13 ? length : 13), text);
    pthread_setname_np(pthread_self(), name);
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (strlen(kinds[i].name) == length && !strncmp(kinds[i].name, text, length))
            recurse(colon ? atoi(colon + 1) : 0, kinds[i].run);
    return NULL;
}

NOINLINE static int wait_main(void)
{
    char c;
    for (;;) {
        ssize_t n = read(0, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return 0;
        if (c == 'c') {
            printf("%d %d\n", signals, early);
            fflush(stdout);
        }
    }
}

/* The bounds of this program's executable mapping. */
static int find_text(char **lo, char **hi)
{
    char line[512];
    unsigned long a, b;
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && !found && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx r-x", &a, &b) == 2 && strstr(line, " r-x") &&
            a <= (unsigned long)(uintptr_t)&wait_main && (unsigned long)(uintptr_t)&wait_main < b) {
            *lo = (char *)(uintptr_t)a;
            *hi = (char *)(uintptr_t)b;
            found = 1;
        }
    if (maps)
        fclose(maps);
    return found;
}

static int remap_text(void)
{
    char *lo, *hi;
    if (!find_text(&lo, &hi))
        return 0;
    size_t size = (size_t)(hi - lo);
    char *copy = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (copy == MAP_FAILED)
        return 0;
    memcpy(copy, lo, size);
    return mprotect(copy, size, PROT_READ | PROT_EXEC) == 0 &&
           mremap(copy, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, lo) == lo;
}

int main(int argc, char **argv)
{
    int threads = 0, exit_main = 0;
    struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
    sigset_t set;
    pthread_attr_t attributes;
    sigaction(SIGRTMIN + 1, &action, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN + 1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (pipe(pipes))
        return 1;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "exit-main"))
            exit_main = 1;
        else if (!strcmp(argv[i], "remap-text"))
            threads += !remap_text(); /* then "ready" never comes */
        else
            threads++;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads + 1);
    pthread_attr_init(&attributes);
    for (int i = 1; i < argc; i++) {
        pthread_t thread;
        const char *colon = strchr(argv[i], ':');
        size_t size = colon && atoi(colon + 1) > 1000 ? (size_t)64 << 20 : (size_t)512 << 10;
        pthread_attr_setstacksize(&attributes, size);
        if (strcmp(argv[i], "exit-main") && strcmp(argv[i], "remap-text") &&
            pthread_create(&thread, &attributes, start, argv[i]))
            return 1;
    }
    arrived();
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    if (exit_main)
        pthread_exit(NULL);
    return wait_main();
}
