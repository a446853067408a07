/*
 * Connections, and when they must have got on: a head within HTTP_HEAD_SECONDS, a body and a reply
 * at HTTP_SLOWEST bytes a second at least. libmicrohttpd's own timeout counts from the last byte,
 * so one byte now and then would hold a connection for ever.
 *
 * A thread looks once a second and shuts the sockets down whose time is over; libmicrohttpd then
 * closes them. An fd is closed only after http_client_event took its client off the list, so the
 * one that is shut down is never another's.
 */
#include "base/failure.h"
#include "collector/clock.h"
#include "collector/http_inner.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>

void http_client_deadline(struct http_client *client, uint64_t seconds)
{
    uint64_t when = seconds ? (uint64_t)clock_ms() + seconds * 1000 : UINT64_MAX;
    atomic_store_explicit(&client->deadline_ms, when, memory_order_relaxed);
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
    http_client_deadline(client, HTTP_HEAD_SECONDS);
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

static void *sweep(void *context)
{
    struct http_server *server = context;
    pthread_mutex_lock(&server->clients_lock);
    while (server->sweeping) {
        uint64_t now = (uint64_t)clock_ms();
        for (struct http_client *c = server->clients; c; c = c->next) {
            if (atomic_load_explicit(&c->deadline_ms, memory_order_relaxed) < now) {
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
