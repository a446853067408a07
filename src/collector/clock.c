/* The time of the process (clock.h): one state, behind one lock, as the wall clock is one. */
#include "collector/clock.h"

#include "base/failure.h"
#include "collector/clock_check.h"

#include <inttypes.h>
#include <stdio.h>

#ifndef CLOCK_BOOTTIME /* counts while the machine sleeps, too */
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif

static struct {
    pthread_mutex_t lock;
    struct clock_check check;
} the = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int64_t ms_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_real_ms(void)
{
    return ms_of(CLOCK_REALTIME);
}

uint64_t collector_now_ms(void)
{
    pthread_mutex_lock(&the.lock);
    int64_t now = clock_check_tell(&the.check, ms_of(CLOCK_REALTIME), ms_of(CLOCK_BOOTTIME));
    pthread_mutex_unlock(&the.lock);
    return now > 0 ? (uint64_t)now : 0;
}

void clock_known(int64_t known_ms)
{
    pthread_mutex_lock(&the.lock);
    clock_check_known(&the.check, known_ms, ms_of(CLOCK_REALTIME), ms_of(CLOCK_BOOTTIME));
    pthread_mutex_unlock(&the.lock);
}

void clock_other(int64_t other_ms)
{
    pthread_mutex_lock(&the.lock);
    clock_check_other(&the.check, other_ms, ms_of(CLOCK_REALTIME), ms_of(CLOCK_BOOTTIME));
    pthread_mutex_unlock(&the.lock);
}

void clock_confirm(void)
{
    pthread_mutex_lock(&the.lock);
    clock_check_confirm(&the.check, ms_of(CLOCK_REALTIME), ms_of(CLOCK_BOOTTIME));
    pthread_mutex_unlock(&the.lock);
}

static void say_time(char text[32], int64_t ms)
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm at;
    if (!gmtime_r(&seconds, &at) || !strftime(text, 32, "%Y-%m-%d %H:%M UTC", &at))
        snprintf(text, 32, "%" PRId64, ms);
}

bool clock_doubted(char text[CLOCK_TEXT_SIZE])
{
    char real[32], now[32], known[32];
    int64_t now_ms = (int64_t)collector_now_ms(), real_ms = ms_of(CLOCK_REALTIME);
    pthread_mutex_lock(&the.lock);
    struct clock_check c = the.check;
    pthread_mutex_unlock(&the.lock);
    say_time(real, real_ms);
    say_time(now, now_ms);
    say_time(known, c.known_ms);
    text[0] = 0;
    if (c.state == CLOCK_JUMPED)
        snprintf(text, CLOCK_TEXT_SIZE,
                 "this machine's clock has jumped to %s; by the time that has passed it is %s,"
                 " which is used for a day, or until the clock is confirmed",
                 real, now);
    else if (c.state == CLOCK_AHEAD)
        snprintf(text, CLOCK_TEXT_SIZE,
                 "this machine's clock says %s, and the newest in the database is of %s: the server"
                 " was switched off for long, or the clock is wrong; nothing is removed for a day,"
                 " or until the clock is confirmed",
                 real, known);
    else if (c.state == CLOCK_BEHIND)
        snprintf(text, CLOCK_TEXT_SIZE,
                 "this machine's clock says %s, and the database has things of %s: time goes on"
                 " from there for a day, or until the clock is confirmed",
                 real, known);
    else if (c.state == CLOCK_DISPUTED)
        snprintf(text, CLOCK_TEXT_SIZE,
                 "this machine's clock says %s, and another server of this database counts another"
                 " time: this one removes nothing until they agree, or the clock is confirmed",
                 real);
    return c.state != CLOCK_FINE;
}

fw_error clock_may_remove(struct fw_failure *why)
{
    char text[CLOCK_TEXT_SIZE];
    if (!clock_doubted(text))
        return FW_OK;
    return failure_say(why, FW_ERR_TIMEOUT, 0, "nothing is removed: %s", text);
}
