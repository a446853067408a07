/*
 * A program with an event loop, to be run as `framewalk run loop_demo`: sixty events come from a
 * timer. Three of them take too long, each in another way: one computes, one waits for a lock that
 * another thread holds, and one waits for a server's answer. No other event is served meanwhile.
 */
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 60, SAVING = 12, TYPING = 14, HEAVY = 25, REMOTE = 45 };

/* Frames worth looking at: no inlining, no tail call, and apart enough to differ without names. */
#define FRAME __attribute__((noinline, aligned(1024)))
#define KEEP  __asm__ volatile("" ::: "memory")

static volatile double shade;
static pthread_mutex_t document_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t save_wanted, saving, letter_typed;
static int server[2]; /* both ends of a connection */

/* Of the processor, for this thread: on a busy machine the same work takes longer. */
static double seconds_worked(void)
{
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL);
}

static void wait_for(sem_t *event)
{
    while (sem_wait(event) != 0)
        continue;
}

/* --- other threads --- */

FRAME static void save_document(void)
{
    pthread_mutex_lock(&document_lock);
    sem_post(&saving);
    wait_for(&letter_typed); /* the disk is slower than the user */
    pause_ms(500);
    pthread_mutex_unlock(&document_lock);
    KEEP;
}

static void *autosave(void *argument)
{
    wait_for(&save_wanted);
    save_document();
    return argument;
}

static void *answer(void *argument)
{
    char question;
    if (recv(server[1], &question, 1, 0) == 1) {
        pause_ms(400); /* a slow server */
        send(server[1], "!", 1, MSG_NOSIGNAL);
    }
    return argument;
}

/* --- the main thread --- */

FRAME static void make_thumbnail(void)
{
    const double end = seconds_worked() + 0.6;
    while (seconds_worked() < end)
        for (int pixel = 1; pixel < 50000; pixel++)
            shade += 1.0 / pixel;
    KEEP;
}

FRAME static void type_letter(void)
{
    wait_for(&saving); /* which began two events ago: the lock is held */
    sem_post(&letter_typed);
    pthread_mutex_lock(&document_lock);
    pthread_mutex_unlock(&document_lock);
    KEEP;
}

FRAME static void ask_server(void)
{
    struct addrinfo *found = NULL;
    char reply;
    if (getaddrinfo("localhost", "80", NULL, &found) == 0)
        freeaddrinfo(found);
    if (send(server[0], "?", 1, MSG_NOSIGNAL) != 1 || recv(server[0], &reply, 1, 0) != 1)
        perror("loop_demo");
    KEEP;
}

FRAME static void read_settings(void)
{
    const int file = open("/etc/hostname", O_RDONLY | O_CLOEXEC);
    if (file >= 0)
        close(file);
    KEEP;
}

FRAME static void serve(int event)
{
    if (event % 20 == 0)
        read_settings();
    if (event == SAVING)
        sem_post(&save_wanted);
    if (event == TYPING)
        type_letter();
    if (event == HEAVY)
        make_thumbnail();
    if (event == REMOTE)
        ask_server();
    KEEP;
}

FRAME static void run_loop(int timer)
{
    struct pollfd source = {.fd = timer, .events = POLLIN};
    for (int event = 0; event < EVENTS; event++) {
        uint64_t ticks;
        if (poll(&source, 1, -1) == 1 && read(timer, &ticks, sizeof ticks) == sizeof ticks)
            serve(event);
    }
    KEEP;
}

static int start(void *(*work)(void *))
{
    pthread_t thread;
    return pthread_create(&thread, NULL, work, NULL) == 0 ? pthread_detach(thread) : -1;
}

int main(void)
{
    const struct itimerspec each = {{0, 10000000}, {0, 10000000}};
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, server) != 0 || sem_init(&save_wanted, 0, 0) != 0 ||
        sem_init(&saving, 0, 0) != 0 || sem_init(&letter_typed, 0, 0) != 0 ||
        start(autosave) != 0 || start(answer) != 0) {
        perror("loop_demo");
        return 1;
    }
    if (timer < 0 || timerfd_settime(timer, 0, &each, NULL) != 0) {
        perror("loop_demo");
        return 1;
    }
    run_loop(timer);
    close(timer);
    return 0;
}
