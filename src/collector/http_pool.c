/*
 * The threads that may block: they look up who asks, take pieces of streamed bodies and run
 * handlers, in the order in which requests came. Handlers of GET may have most of the threads but
 * not all, so that however many people look at something large, reports are still taken in. Each
 * request in a queue is a suspended connection, or has just lost its own, so the limit of
 * connections bounds the queues.
 */
#include "base/failure.h"
#include "collector/http_inner.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 16, VIEW_THREADS = 12 };

struct queue {
    struct http_private *first, **last;
};

struct http_pool {
    struct http_server *server;
    pthread_mutex_t lock;
    pthread_cond_t work;
    struct queue views, others;
    uint64_t added; /* tasks so far: their order */
    unsigned views_running;
    bool ending; /* what is queued is done still, by all threads */
    pthread_t threads[THREADS];
    unsigned count;
};

/* The handler has returned, or its late reply is there: who comes last lets the connection go on.
 */
static void let_go(struct http_private *p)
{
    if (atomic_fetch_sub(&p->holds, 1) != 1)
        return;
    struct http_server *server = p->server;
    MHD_resume_connection(p->connection);
    atomic_fetch_sub(&server->suspended, 1);
}

static void handle(struct http_private *p)
{
    struct http_request *r = &p->request;
    if (http_body_finish(p)) {
        p->handled = true;
        p->route->handle(r);
        if (!p->waits && !p->replied)
            http_reply_error(r, MHD_HTTP_INTERNAL_SERVER_ERROR, "this request got no answer");
    }
}

static void take_piece(struct http_private *p)
{
    bool more = p->route->piece(&p->request, &p->stream_state, p->piece, p->piece_size);
    if (!more && !p->replied)
        http_reply_error(&p->request, MHD_HTTP_INTERNAL_SERVER_ERROR, "this request got no answer");
}

static void run(struct http_private *p)
{
    switch (p->task) {
    case HTTP_TASK_ACCESS:
        if (http_check_access(p))
            http_check_size(p);
        break;
    case HTTP_TASK_PIECE: take_piece(p); break;
    case HTTP_TASK_HANDLE: handle(p); break;
    case HTTP_TASK_FREE: http_request_free(p); return;
    }
    let_go(p);
}

static bool is_view(const struct http_private *p)
{
    return p->task == HTTP_TASK_HANDLE && strcmp(p->route->method, "GET") == 0;
}

static void put(struct queue *queue, struct http_private *p)
{
    p->next_task = NULL;
    *queue->last = p;
    queue->last = &p->next_task;
}

/* What came first of all that may run now; NULL: nothing. Below the lock. */
static struct http_private *next(struct http_pool *pool)
{
    bool views = pool->views.first && (pool->ending || pool->views_running < VIEW_THREADS);
    bool others = pool->others.first != NULL;
    if (!views && !others)
        return NULL;
    if (views && others)
        views = pool->views.first->task_order < pool->others.first->task_order;
    struct queue *queue = views ? &pool->views : &pool->others;
    struct http_private *p = queue->first;
    queue->first = p->next_task;
    if (!queue->first)
        queue->last = &queue->first;
    return p;
}

static void *work(void *context)
{
    struct http_pool *pool = context;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct http_private *p;
        while (!(p = next(pool)) && !pool->ending)
            pthread_cond_wait(&pool->work, &pool->lock);
        if (!p)
            break;
        bool view = is_view(p); /* asked now: p is gone after it ran */
        pool->views_running += view;
        pthread_mutex_unlock(&pool->lock);
        run(p);
        pthread_mutex_lock(&pool->lock);
        pool->views_running -= view; /* this thread takes the next one that waits for that */
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

static void add(struct http_pool *pool, struct http_private *p, enum http_task task)
{
    p->task = task;
    pthread_mutex_lock(&pool->lock);
    p->task_order = pool->added++;
    put(is_view(p) ? &pool->views : &pool->others, p);
    pthread_cond_signal(&pool->work);
    pthread_mutex_unlock(&pool->lock);
}

void http_pool_free(struct http_private *p)
{
    add(p->server->pool, p, HTTP_TASK_FREE);
}

enum MHD_Result http_pool_take(struct http_private *p, enum http_task task)
{
    atomic_fetch_add(&p->server->suspended, 1);
    if (atomic_load(&p->server->stopping)) {
        atomic_fetch_sub(&p->server->suspended, 1);
        return MHD_NO;
    }
    atomic_store(&p->holds, 1);
    http_client_deadline(p->client, 0);
    MHD_suspend_connection(p->connection);
    add(p->server->pool, p, task);
    return MHD_YES;
}

void http_wait(struct http_request *r)
{
    r->inner->waits = true;
    atomic_fetch_add(&r->inner->holds, 1);
}

void http_reply_response(struct http_private *p, unsigned status, struct MHD_Response *response,
                         uint64_t size)
{
    if (p->replied) {
        if (response)
            MHD_destroy_response(response);
        return;
    }
    for (size_t i = 0; response && i < p->header_count; i++)
        MHD_add_response_header(response, p->headers[i].name, p->headers[i].value);
    p->replied = true;
    p->status = status;
    p->reply_size = size;
    p->response = response;
    if (p->waits)
        let_go(p);
}

fw_error http_pool_start(struct http_server *server, struct http_pool **out, struct fw_failure *why)
{
    struct http_pool *pool = calloc(1, sizeof *pool);
    *out = pool;
    if (!pool)
        return failure_memory(why);
    pool->server = server;
    pool->views.last = &pool->views.first;
    pool->others.last = &pool->others.first;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    for (; pool->count < THREADS; pool->count++) {
        int error = pthread_create(&pool->threads[pool->count], NULL, work, pool);
        if (error)
            return failure_say(why, FW_ERR_SYSTEM, error, "cannot start a thread");
    }
    return FW_OK;
}

void http_pool_stop(struct http_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->ending = true;
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->count; i++)
        pthread_join(pool->threads[i], NULL);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}
