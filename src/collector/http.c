/*
 * http.h on libmicrohttpd: its threads, and the way of a request through its callbacks
 * (http_inner.h). Why libmicrohttpd: docs/dependencies.md.
 */
#include "collector/clock.h"
#include "collector/http_inner.h"

#include "base/array.h"
#include "base/failure.h"
#include "collector/log.h"
#include "collector/rate_limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    IO_THREADS = 2,
    CONNECTION_MEMORY = 32 << 10, /* head and read buffer: longer heads are answered with 431 */
    BACKLOG = 1024,
    LINES_A_MINUTE = 60, /* in the log, of the library's own */
};

/* ---- one request ---- */

/* libmicrohttpd would now make a list of the query's arguments, in the memory of the connection's
 * head: some thousand of them leave none for the head, and the client without an answer. The query
 * is ours already (http_target_parse), so it is given an empty one. The text lies in its buffer,
 * and where the query begins it has looked before. */
static void hide_query(const char *raw)
{
    char *query = strchr(raw, '?');
    if (query && query[1])
        query[1] = '\0';
}

/* The request line is there; `raw` is as it was sent. */
static void *request_began(void *context, const char *raw, struct MHD_Connection *connection)
{
    struct http_server *server = context;
    struct http_private *p = calloc(1, sizeof *p);
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    if (!p || !info || !info->socket_context) {
        free(p);
        return NULL;
    }
    p->server = server;
    p->connection = connection;
    p->client = info->socket_context;
    p->began_us = clock_us();
    p->request.collector = server->collector;
    p->request.inner = p;
    p->target_wrong = http_target_parse(raw, &p->request.arena, &p->target, &p->target_too_long);
    p->request.path = p->target_wrong ? "/" : p->target.path;
    hide_query(raw);
    p->client->request = p;
    return p;
}

void http_request_free(struct http_private *p)
{
    struct http_server *server = p->server;
    http_body_drop(p);
    arena_free(&p->request.arena);
    if (p->head_done)
        atomic_fetch_sub(&server->under_way, 1);
    free(p);
}

void http_request_end(struct http_private *p)
{
    p->client->request = NULL;
    http_log_request(p);
    if (p->response)
        MHD_destroy_response(p->response);
    http_client_reads(p->client, HTTP_HEAD_SECONDS);
    if (p->stream_state && !p->handled)
        http_pool_free(p);
    else
        http_request_free(p);
}

static void request_ended(void *context, struct MHD_Connection *connection, void **state,
                          enum MHD_RequestTerminationCode code)
{
    (void)context;
    (void)connection;
    (void)code;
    if (*state)
        http_request_end(*state);
    *state = NULL;
}

static enum MHD_Result send_reply(struct http_private *p)
{
    if (!p->response)
        return MHD_NO;
    if (atomic_load(&p->server->ending)) /* else a busy client's next request is waited for, too */
        MHD_add_response_header(p->response, "Connection", "close");
    http_client_deadline(p->client, HTTP_BODY_SECONDS + p->reply_size / HTTP_SLOWEST);
    return MHD_queue_response(p->connection, p->status, p->response);
}

static uint64_t announced(const struct http_private *p)
{
    const char *text = http_header(&p->request, "Content-Length");
    uint64_t length;
    return text && http_number(text, &length) ? length : 0;
}

/* Until when more must have come. False: that was before now. */
static bool wait_for_body(struct http_private *p)
{
    uint64_t spent = ((uint64_t)clock_ms() - p->body_began_ms) / 1000;
    uint64_t due = HTTP_BODY_SECONDS + p->received / HTTP_SLOWEST;
    if (due <= spent)
        return false;
    http_client_reads(p->client, due - spent);
    return true;
}

/* Who asks is known, or the request was refused. A refusal goes out at once when the client waits
 * for it (100-continue), or would send more than is worth reading; libmicrohttpd closes the
 * connection then. */
static enum MHD_Result end_head(struct http_private *p)
{
    p->body_began_ms = (uint64_t)clock_ms();
    http_client_reads(p->client, HTTP_BODY_SECONDS);
    bool now = p->close || announced(p) > HTTP_DRAIN_MAX || http_header(&p->request, "Expect");
    return p->replied && now ? send_reply(p) : MHD_YES;
}

static enum MHD_Result take_head(struct http_private *p, const char *method, const char *version)
{
    p->head_done = true;
    atomic_fetch_add(&p->server->under_way, 1);
    p->request.method = method;
    if (http_head_check(p, version) && http_check_route(p)) {
        if (!http_access_remembered(p)) {
            p->head_again = true; /* a connection suspended in this call gets it once more */
            return http_pool_take(p, HTTP_TASK_ACCESS);
        }
        if (http_check_access(p))
            http_check_size(p);
    }
    return end_head(p);
}

/* What the pool has not seen of these bytes goes to it; they stay in libmicrohttpd's buffer until
 * it has seen all. More may have come while the connection was suspended. */
static enum MHD_Result stream_data(struct http_private *p, const char *data, size_t *size)
{
    if (p->piece_size) { /* the pool was given this; its time is not the client's */
        p->body_began_ms += (uint64_t)clock_ms() - p->piece_began_ms;
        p->pieces += p->piece_size;
        p->piece_size = 0;
    }
    if (p->pieces == *size) {
        p->pieces = 0;
        *size = 0;
        return wait_for_body(p) ? MHD_YES : MHD_NO;
    }
    p->received += *size - p->pieces;
    if (p->received > p->route->body_limit) {
        http_body_too_large(p);
        *size = 0;
        return MHD_YES;
    }
    if (!array_reserve(&p->piece, &p->piece_capacity, *size, 1))
        return MHD_NO;
    p->piece_size = *size - p->pieces;
    memcpy(p->piece, data + p->pieces, p->piece_size);
    p->piece_began_ms = (uint64_t)clock_ms();
    return http_pool_take(p, HTTP_TASK_PIECE);
}

static enum MHD_Result take_data(struct http_private *p, const char *data, size_t *size)
{
    if (!p->replied && p->route->flags & HTTP_STREAM)
        return stream_data(p, data, size);
    if (p->replied) {
        p->drained += *size;
        p->pieces = p->piece_size = 0;
    }
    p->received += *size;
    if (!p->replied)
        http_body_add(p, (const uint8_t *)data, *size);
    *size = 0;
    return wait_for_body(p) && p->drained <= HTTP_DRAIN_MAX ? MHD_YES : MHD_NO;
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *connection, const char *url,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **state)
{
    (void)context;
    (void)connection;
    (void)url;
    struct http_private *p = *state;
    if (!p)
        return MHD_NO;
    if (!p->head_done)
        return take_head(p, method, version);
    if (p->head_again) {
        p->head_again = false;
        return end_head(p);
    }
    if (*size)
        return take_data(p, data, size);
    if (p->replied)
        return send_reply(p);
    if (p->route->flags & HTTP_QUICK) {
        p->handled = true;
        p->route->handle(&p->request);
        return send_reply(p);
    }
    return http_pool_take(p, HTTP_TASK_HANDLE);
}

/* ---- the server ---- */

static void log_of_library(void *context, const char *format, va_list arguments)
{
    struct http_server *server = context;
    char text[LOG_LINE / 2];
    /* Most of it is about heads that are none, which anybody may send. */
    if (rate_limits_take(server->collector->limits, "log of libmicrohttpd", LINES_A_MINUTE,
                         LINES_A_MINUTE, 1, clock_us()))
        return;
    vsnprintf(text, sizeof text, format, arguments);
    text[strcspn(text, "\n")] = '\0';
    if (strncmp(text, "Failed to bind", 14) == 0)
        return; /* "to port 0", whichever it was: the server's own message is right */
    log_line("http: %s", text);
}

static fw_error read_pem(const char *path, char **text, struct fw_failure *why)
{
    enum { PEM_MAX = 1 << 20 };
    FILE *file = fopen(path, "re");
    *text = file ? calloc(1, PEM_MAX + 1) : NULL;
    if (!*text) {
        int error = errno;
        if (file)
            fclose(file);
        return failure_say(why, FW_ERR_SYSTEM, error, "%s: cannot read", path);
    }
    size_t size = fread(*text, 1, PEM_MAX + 1, file);
    bool whole = !ferror(file) && size <= PEM_MAX;
    fclose(file);
    return whole ? FW_OK : failure_say(why, FW_ERR_FORMAT, 0, "%s: not a PEM file", path);
}

static void more_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static fw_error start_daemon(struct http_server *server, const struct addrinfo *address,
                             struct fw_failure *why)
{
    const struct collector_options *o = server->collector->options;
    char *certificate = NULL, *key = NULL;
    fw_error error = FW_OK;
    server->tls = o->tls_certificate != NULL;
    if (server->tls)
        error = read_pem(o->tls_certificate, &certificate, why);
    if (server->tls && !error)
        error = read_pem(o->tls_key, &key, why);
    unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG;
    if (address->ai_family == AF_INET6)
        flags |= MHD_USE_IPv6;
    if (server->tls)
        flags |= MHD_USE_TLS;
    struct MHD_OptionItem tls[] = {
        {MHD_OPTION_HTTPS_MEM_CERT, 0, certificate},
        {MHD_OPTION_HTTPS_MEM_KEY, 0, key},
        {MHD_OPTION_END, 0, NULL},
    };
    if (!server->tls)
        tls[0].option = MHD_OPTION_END;
    errno = 0;
    if (!error)
        server->daemon = MHD_start_daemon(
            flags, 0, http_client_may_come, server, on_request,
            server, /* the logger before all it may log */
            MHD_OPTION_EXTERNAL_LOGGER, log_of_library, server, MHD_OPTION_SOCK_ADDR,
            address->ai_addr, MHD_OPTION_URI_LOG_CALLBACK, request_began, server,
            MHD_OPTION_NOTIFY_COMPLETED, request_ended, server, MHD_OPTION_NOTIFY_CONNECTION,
            http_client_event, server, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)IO_THREADS,
            MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS,
            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONNECTION_MEMORY,
            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_HEAD_SECONDS,
            MHD_OPTION_LISTEN_BACKLOG_SIZE, (unsigned)BACKLOG, MHD_OPTION_STRICT_FOR_CLIENT, 1,
            MHD_OPTION_ARRAY, tls, MHD_OPTION_END);
    if (!error && !server->daemon)
        error =
            failure_say(why, FW_ERR_SYSTEM, errno,
                        "cannot listen on %s port %u (--listen takes another)", o->listen, o->port);
    free(certificate);
    if (key)
        explicit_bzero(key, strlen(key));
    free(key);
    return error;
}

static fw_error listen_on(struct http_server *server, struct fw_failure *why)
{
    const struct collector_options *o = server->collector->options;
    struct addrinfo *address = NULL,
                    hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    char port[8];
    snprintf(port, sizeof port, "%u", o->port);
    int failed = getaddrinfo(o->listen, port, &hints, &address);
    if (failed)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "%s: %s", o->listen, gai_strerror(failed));
    fw_error error = start_daemon(server, address, why);
    freeaddrinfo(address);
    if (error)
        return error;
    server->port = MHD_get_daemon_info(server->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
    return FW_OK;
}

fw_error http_start(struct collector *collector, const struct http_routes *tables, size_t count,
                    struct http_server **out, struct fw_failure *why)
{
    struct http_server *server = calloc(1, sizeof *server);
    *out = NULL;
    if (!server)
        return failure_memory(why);
    server->collector = collector;
    server->tables = tables;
    server->table_count = count;
    for (unsigned i = 0; i < collector->options->proxy_count; i++)
        if (http_network_parse(collector->options->proxies[i], &server->proxies[i]))
            server->proxy_count++;
    pthread_mutex_init(&server->clients_lock, NULL);
    clock_cond_init(&server->sweep);
    more_descriptors();
    fw_error error = http_pool_start(server, &server->pool, why);
    if (!error)
        error = http_clients_start(server, why);
    if (!error)
        error = listen_on(server, why);
    if (error)
        http_stop(server, 0);
    else
        *out = server;
    return error;
}

unsigned http_port(const struct http_server *server)
{
    return server->port;
}

/* libmicrohttpd must not be stopped while connections are suspended. What was acknowledged is in
 * the database, so a server whose handlers do not end in time may simply leave. */
static void end_requests(struct http_server *server, unsigned seconds)
{
    MHD_socket listening = MHD_quiesce_daemon(server->daemon);
    if (listening != MHD_INVALID_SOCKET)
        close(listening);
    atomic_store(&server->ending, true);
    for (unsigned i = 0; i < seconds * 50 && atomic_load(&server->under_way); i++)
        usleep(20000);
    unsigned cut = atomic_load(&server->under_way);
    if (cut && seconds)
        log_line("http: %u requests are cut off, which were not whole after %u s", cut, seconds);
    atomic_store(&server->stopping, true); /* who still sends is cut off */
    for (unsigned i = 0; i < seconds * 50 && atomic_load(&server->suspended); i++)
        usleep(20000);
    unsigned left = atomic_load(&server->suspended);
    if (left) {
        log_line("http: %u requests did not end in %u s; leaving without them", left, 2 * seconds);
        _exit(1);
    }
    MHD_stop_daemon(server->daemon);
}

void http_stop(struct http_server *server, unsigned seconds)
{
    if (!server)
        return;
    if (server->daemon)
        end_requests(server, seconds);
    http_pool_stop(server->pool);
    http_clients_stop(server);
    pthread_cond_destroy(&server->sweep);
    pthread_mutex_destroy(&server->clients_lock);
    free(server);
}
