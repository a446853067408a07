#include "symmap/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS_LIMIT = 256 };

struct worker {
    struct workers *all;
    pthread_t thread;
    unsigned number;
};

struct workers {
    pthread_mutex_t lock;
    pthread_cond_t begin, done;
    unsigned long round; /* under `lock`: grows with each run */
    unsigned busy;       /* under `lock`: threads that have not finished this round */
    bool stop;           /* under `lock` */
    /* This round's work, written before `round` grows. */
    void (*task)(void *context, size_t item, unsigned worker);
    void *context;
    size_t count;
    atomic_size_t next;
    unsigned started; /* threads besides the caller's */
    struct worker worker[];
};

static void work(struct workers *all, unsigned number)
{
    for (;;) {
        size_t item = atomic_fetch_add_explicit(&all->next, 1, memory_order_relaxed);
        if (item >= all->count)
            return;
        all->task(all->context, item, number);
    }
}

static void *loop(void *argument)
{
    struct worker *self = argument;
    struct workers *all = self->all;
    unsigned long seen = 0;
    pthread_mutex_lock(&all->lock);
    for (;;) {
        while (all->round == seen && !all->stop)
            pthread_cond_wait(&all->begin, &all->lock);
        if (all->stop)
            break;
        seen = all->round;
        pthread_mutex_unlock(&all->lock);
        work(all, self->number);
        pthread_mutex_lock(&all->lock);
        if (--all->busy == 0)
            pthread_cond_signal(&all->done);
    }
    pthread_mutex_unlock(&all->lock);
    return NULL;
}

struct workers *workers_start(unsigned threads)
{
    if (!threads) {
        long processors = sysconf(_SC_NPROCESSORS_ONLN);
        threads = processors > 0 ? (unsigned)processors : 1;
    }
    if (threads > THREADS_LIMIT)
        threads = THREADS_LIMIT;
    struct workers *all = calloc(1, sizeof *all + threads * sizeof all->worker[0]);
    if (!all)
        return NULL;
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->begin, NULL);
    pthread_cond_init(&all->done, NULL);
    for (unsigned i = 1; i < threads; i++) {
        struct worker *worker = &all->worker[i];
        *worker = (struct worker){.all = all, .number = i};
        if (pthread_create(&worker->thread, NULL, loop, worker) != 0)
            break;
        all->started++;
    }
    return all;
}

void workers_stop(struct workers *all)
{
    if (!all)
        return;
    pthread_mutex_lock(&all->lock);
    all->stop = true;
    pthread_cond_broadcast(&all->begin);
    pthread_mutex_unlock(&all->lock);
    for (unsigned i = 1; i <= all->started; i++)
        pthread_join(all->worker[i].thread, NULL);
    pthread_cond_destroy(&all->done);
    pthread_cond_destroy(&all->begin);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

unsigned workers_count(const struct workers *all)
{
    return all->started + 1;
}

void workers_run(struct workers *all, size_t count,
                 void (*task)(void *context, size_t item, unsigned worker), void *context)
{
    pthread_mutex_lock(&all->lock);
    all->task = task;
    all->context = context;
    all->count = count;
    atomic_store_explicit(&all->next, 0, memory_order_relaxed);
    all->busy = all->started;
    all->round++;
    pthread_cond_broadcast(&all->begin);
    pthread_mutex_unlock(&all->lock);
    work(all, 0);
    pthread_mutex_lock(&all->lock);
    while (all->busy)
        pthread_cond_wait(&all->done, &all->lock);
    pthread_mutex_unlock(&all->lock);
}
