/*
 * Connections, and when they must have got on: a head within HTTP_HEAD_SECONDS, a body and a reply
 * at HTTP_SLOWEST bytes a second at least. libmicrohttpd's own timeout counts from the last byte,
 * so one byte now and then would hold a connection for ever.
 *
 * A thread looks once a second and shuts the sockets down whose time is over; libmicrohttpd then
 * closes them. It does the same with those that ended while more was to come from them: an end that
 * arrives together with data escapes libmicrohttpd, which is told of both once and reads once
 * (edge-triggered epoll). Only an end that two looks saw in one state counts, for a client may
 * close its half behind a whole request. An fd is closed only after http_client_event took its
 * client off the list, so the one that is shut down is never another's.
 */
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/http_inner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

void http_client_deadline(struct http_client *client, uint64_t seconds)
{
    uint64_t when = seconds ? (uint64_t)clock_ms() + seconds * 1000 : UINT64_MAX;
    atomic_store_explicit(&client->reads, HTTP_READS_NOTHING, memory_order_relaxed);
    atomic_store_explicit(&client->deadline_ms, when, memory_order_relaxed);
}

void http_client_reads(struct http_client *client, uint64_t seconds)
{
    http_client_deadline(client, seconds);
    atomic_store_explicit(&client->reads, HTTP_READS, memory_order_relaxed);
}

static void write_address(const struct sockaddr *address, char *text, socklen_t size)
{
    text[0] = '\0';
    if (!address)
        return;
    if (address->sa_family == AF_INET)
        inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)address)->sin_addr, text,
                  size);
    else if (address->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr, text,
                  size);
}

static void client_began(struct http_server *server, struct MHD_Connection *connection,
                         void **context)
{
    struct http_client *client = calloc(1, sizeof *client);
    *context = client; /* NULL: its requests are answered with 503 */
    if (!client)
        return;
    client->fd = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
    write_address(
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS)->client_addr,
        client->address, sizeof client->address);
    http_peer_name(client->address, client->name);
    http_client_reads(client, HTTP_HEAD_SECONDS);
    pthread_mutex_lock(&server->clients_lock);
    client->next = server->clients;
    if (client->next)
        client->next->previous = client;
    server->clients = client;
    pthread_mutex_unlock(&server->clients_lock);
}

static void client_ended(struct http_server *server, void **context)
{
    struct http_client *client = *context;
    *context = NULL;
    if (!client)
        return;
    if (client->request) /* libmicrohttpd tells of no end when its own reply to a head fails */
        http_request_end(client->request);
    pthread_mutex_lock(&server->clients_lock);
    if (client->previous)
        client->previous->next = client->next;
    else
        server->clients = client->next;
    if (client->next)
        client->next->previous = client->previous;
    pthread_mutex_unlock(&server->clients_lock);
    free(client);
}

void http_client_event(void *server, struct MHD_Connection *connection, void **context,
                       enum MHD_ConnectionNotificationCode code)
{
    if (code == MHD_CONNECTION_NOTIFY_STARTED)
        client_began(server, connection, context);
    else
        client_ended(server, context);
}

/* ---- how many an address may have ---- */

static bool is_loopback(const char *address)
{
    return strncmp(address, "127.", 4) == 0 || strncmp(address, "::ffff:127.", 11) == 0 ||
           strcmp(address, "::1") == 0;
}

/* UINT_MAX: a trusted proxy's are those of all its clients. */
static unsigned limit_of(const struct http_server *server, const char *address)
{
    if (http_peer_is_trusted(server->proxies, server->proxy_count, address))
        return UINT_MAX;
    if (server->collector->options->connections_an_address)
        return server->collector->options->connections_an_address;
    return is_loopback(address) ? HTTP_CONNECTIONS_OF_LOOPBACK : HTTP_CONNECTIONS_OF_ADDRESS;
}

enum MHD_Result http_client_may_come(void *context, const struct sockaddr *from, socklen_t size)
{
    struct http_server *server = context;
    char address[HTTP_ADDRESS_SIZE], name[HTTP_ADDRESS_SIZE];
    unsigned count = 0;
    (void)size;
    write_address(from, address, sizeof address);
    http_peer_name(address, name);
    unsigned limit = limit_of(server, address);
    pthread_mutex_lock(&server->clients_lock);
    for (const struct http_client *c = server->clients; c && count < limit; c = c->next)
        count += strcmp(c->name, name) == 0;
    pthread_mutex_unlock(&server->clients_lock);
    return count < limit ? MHD_YES : MHD_NO;
}

/* ---- who is too slow, or gone ---- */

static bool is_late(const struct http_client *client, uint64_t now)
{
    return atomic_load_explicit(&client->deadline_ms, memory_order_relaxed) < now;
}

/* Whether the client ended, twice seen in the same state. */
static bool is_gone(struct http_client *client)
{
    char byte;
    int reads = atomic_load_explicit(&client->reads, memory_order_relaxed);
    if (reads == HTTP_READS_NOTHING || recv(client->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) != 0)
        return false;
    if (reads == HTTP_READS) /* unless the state changed meanwhile */
        atomic_compare_exchange_strong(&client->reads, &reads, HTTP_READS_END_SEEN);
    return reads == HTTP_READS_END_SEEN;
}

static void *sweep(void *context)
{
    struct http_server *server = context;
    pthread_mutex_lock(&server->clients_lock);
    while (server->sweeping) {
        uint64_t now = (uint64_t)clock_ms();
        for (struct http_client *c = server->clients; c; c = c->next) {
            if (is_late(c, now) || is_gone(c)) {
                shutdown(c->fd, SHUT_RDWR);
                http_client_deadline(c, 0);
            }
        }
        struct timespec until = clock_after(1000);
        pthread_cond_timedwait(&server->sweep, &server->clients_lock, &until);
    }
    pthread_mutex_unlock(&server->clients_lock);
    return NULL;
}

fw_error http_clients_start(struct http_server *server, struct fw_failure *why)
{
    server->sweeping = true;
    int error = pthread_create(&server->sweeper, NULL, sweep, server);
    if (!error)
        return FW_OK;
    server->sweeping = false;
    return failure_say(why, FW_ERR_SYSTEM, error, "cannot start a thread");
}

void http_clients_stop(struct http_server *server)
{
    if (!server->sweeping)
        return;
    pthread_mutex_lock(&server->clients_lock);
    server->sweeping = false;
    pthread_cond_signal(&server->sweep);
    pthread_mutex_unlock(&server->clients_lock);
    pthread_join(server->sweeper, NULL);
}
