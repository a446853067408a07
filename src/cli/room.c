/* See room.h. */
#include "cli/room.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>

enum { ENOUGH = 1 << 20, GIVEN = 8 << 20 };

struct call {
    room_run *run;
    int argc, code;
    char **argv;
};

static void *enter(void *context)
{
    struct call *call = context;
    call->code = call->run(call->argc, call->argv);
    return NULL;
}

static bool is_scarce(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur < ENOUGH;
}

/* libc gives threads as much as the process began with. */
static void give_threads_room(const pthread_attr_t *attributes)
{
#if defined(__GLIBC__)
    pthread_setattr_default_np(attributes);
#else
    (void)attributes;
#endif
}

int room_for(room_run *run, int argc, char **argv)
{
    struct call call = {.run = run, .argc = argc, .argv = argv};
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    if (!is_scarce() || pthread_attr_init(&attributes) != 0)
        return run(argc, argv);
    pthread_attr_setstacksize(&attributes, GIVEN);
    give_threads_room(&attributes);
    const bool started = pthread_create(&thread, &attributes, enter, &call) == 0;
    pthread_attr_destroy(&attributes);
    if (!started)
        return run(argc, argv);
    sigfillset(&all); /* signals are the command's: they interrupt what it waits for */
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    pthread_join(thread, NULL);
    return call.code;
}
