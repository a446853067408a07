/*
 * A program with an event loop, to be run as `framewalk run loop_demo`: sixty events come from a
 * timer. One of them makes it compute for too long, and one makes it wait for an answer in the
 * middle of its turn, during which no other event is served.
 */
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS = 60, HEAVY = 25, REMOTE = 45 };

/* Frames worth looking at: no inlining, no tail call. */
#define FRAME __attribute__((noinline))
#define KEEP  __asm__ volatile("" ::: "memory")

static volatile double shade;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

FRAME static void make_thumbnail(void)
{
    const double end = now() + 0.6;
    while (now() < end)
        for (int pixel = 1; pixel < 5000; pixel++)
            shade += 1.0 / pixel;
    KEEP;
}

FRAME static void find_server(void)
{
    struct addrinfo *found = NULL;
    struct pollfd nobody = {.fd = -1};
    if (getaddrinfo("localhost", "80", NULL, &found) == 0)
        freeaddrinfo(found);
    poll(&nobody, 1, 400); /* for an answer that does not come */
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
    if (event == HEAVY)
        make_thumbnail();
    if (event == REMOTE)
        find_server();
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

int main(void)
{
    const struct itimerspec each = {{0, 10000000}, {0, 10000000}};
    const int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timer < 0 || timerfd_settime(timer, 0, &each, NULL) != 0) {
        perror("loop_demo");
        return 1;
    }
    run_loop(timer);
    close(timer);
    return 0;
}
