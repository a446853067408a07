/* heavy.h */
#include "collector/heavy.h"
#include "collector/clock.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>

struct heavy {
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t ended;
    size_t bytes; /* that are being read */
    unsigned waiting;
};

struct heavy *heavy_create(void)
{
    struct heavy *heavy = calloc(1, sizeof *heavy);
    if (!heavy)
        return NULL;
    clock_cond_init(&heavy->ended);
    pthread_mutex_init(&heavy->lock, NULL);
    return heavy;
}

void heavy_free(struct heavy *heavy)
{
    if (!heavy)
        return;
    pthread_cond_destroy(&heavy->ended);
    pthread_mutex_destroy(&heavy->lock);
    free(heavy);
}

static bool fits(const struct heavy *heavy, size_t bytes)
{
    return heavy->bytes == 0 || heavy->bytes + bytes <= HEAVY_BYTES;
}

bool heavy_begin(struct heavy *heavy, size_t bytes)
{
    if (!heavy || bytes < HEAVY_FROM)
        return true;
    struct timespec until = clock_after(HEAVY_WAIT_MS);
    pthread_mutex_lock(&heavy->lock);
    if (heavy->waiting < HEAVY_WAITING) {
        heavy->waiting++;
        while (!fits(heavy, bytes) &&
               pthread_cond_timedwait(&heavy->ended, &heavy->lock, &until) == 0)
            ;
        heavy->waiting--;
    }
    bool turn = fits(heavy, bytes);
    if (turn)
        heavy->bytes += bytes;
    pthread_mutex_unlock(&heavy->lock);
    return turn;
}

void heavy_end(struct heavy *heavy, size_t bytes)
{
    if (!heavy || bytes < HEAVY_FROM)
        return;
    malloc_trim(0); /* else each thread's heap keeps what it had */
    pthread_mutex_lock(&heavy->lock);
    heavy->bytes -= bytes;
    pthread_cond_broadcast(&heavy->ended);
    pthread_mutex_unlock(&heavy->lock);
}
