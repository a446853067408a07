/*
 * What the files http*.c share; nobody else includes it.
 *
 * Two kinds of threads. Those of libmicrohttpd move bytes and never block: they parse heads, gather
 * bodies, send replies. Those of the pool (http_pool.c) look up who asks, take pieces of streamed
 * bodies and run handlers; the connection is suspended meanwhile. So a request is worked on by one
 * thread at a time, and what that thread wrote is seen by the next one through the pool's lock and
 * through libmicrohttpd's at the resume.
 *
 *     head --check--> body or drain --last byte--> handler --http_reply_*--> reply sent
 *
 * A request that was refused drains: what is left of its body is read and dropped, up to
 * HTTP_DRAIN_MAX, since a client that is still sending does not read the answer.
 */
#ifndef COLLECTOR_HTTP_INNER_H
#define COLLECTOR_HTTP_INNER_H

#include "collector/access_store.h"
#include "collector/collector.h"
#include "collector/http.h"
#include "collector/http_parse.h"
#include "collector/http_peer.h"
#include "collector/http_unpack.h"

#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>

enum {
    HTTP_DRAIN_MAX = 32 << 20,
    HTTP_BUFFERED_MAX = 192 << 20, /* bodies in memory, of all requests */
    HTTP_CONNECTIONS = 2048,
    HTTP_CONNECTIONS_OF_ADDRESS = 128, /* unless the option says otherwise */
    HTTP_CONNECTIONS_OF_LOOPBACK = 1024,
    HTTP_HEADERS_MAX = 16,  /* that a handler adds */
    HTTP_HEAD_SECONDS = 30, /* for a head to arrive, idle time included */
    HTTP_BODY_SECONDS = 20, /* to begin with, and HTTP_SLOWEST from then on */
    HTTP_SLOWEST = 4096,    /* bytes a second below which a client is dropped */
};

struct http_client { /* a connection; in the list of http_clients.c */
    int fd;
    atomic_uint_fast64_t deadline_ms; /* monotonic; UINT64_MAX: it waits for us */
    atomic_int reads;                 /* enum http_reads */
    struct http_client *next, *previous;
    struct http_private *request;    /* that is under way; NULL: none */
    char address[HTTP_ADDRESS_SIZE]; /* of the other end */
    char name[HTTP_ADDRESS_SIZE];    /* by which its connections are counted: http_peer_name */
};

/* Whether more must come from the client, and whether its end was seen by the last look. */
enum http_reads { HTTP_READS_NOTHING, HTTP_READS, HTTP_READS_END_SEEN };

enum http_task { HTTP_TASK_ACCESS, HTTP_TASK_PIECE, HTTP_TASK_HANDLE, HTTP_TASK_FREE };

struct http_private {
    struct http_request request;
    struct http_server *server;
    struct MHD_Connection *connection;
    struct http_client *client;
    struct http_target target;
    const char *target_wrong; /* why it is no target; NULL: it is one */
    bool target_too_long;
    bool head_done;                  /* the first call of the access handler was */
    bool head_again;                 /* the next call is that one again */
    bool handled;                    /* the handler was called: streamed state is its own */
    bool close;                      /* where the body ends is not known: nothing more is read */
    bool forwarded;                  /* a proxy stands in front, whether trusted or not */
    char address[HTTP_ADDRESS_SIZE]; /* who asks; "" before the head was read */
    uint64_t began_us;

    const struct http_route *route;
    struct http_parts parts;
    const char *secret;      /* of the header, cookie or path; NULL: none */
    bool secret_of_cookie;   /* then changes need a CSRF token */
    struct access_entry who; /* request.access, and what sessions need */

    enum http_coding coding;
    uint8_t *body; /* as it came */
    size_t body_size, body_capacity;
    uint64_t received; /* bytes of the body so far, also drained ones */
    uint64_t drained;  /* of them, those after a refusal */
    uint64_t body_began_ms;
    size_t charged; /* of HTTP_BUFFERED_MAX */
    uint8_t *unpacked;
    void *stream_state;
    uint8_t *piece;        /* a copy: libmicrohttpd moves its own when the body is chunked */
    size_t piece_capacity; /* of it */
    size_t piece_size;     /* 0: the pool has none */
    size_t pieces;         /* bytes of libmicrohttpd's buffer that the pool has seen */
    uint64_t piece_began_ms;

    enum http_task task;
    struct http_private *next_task;
    uint64_t task_order;
    atomic_int holds; /* of a handler that runs and of http_wait; at 0 the connection goes on */
    bool waits;

    struct {
        const char *name, *value;
    } headers[HTTP_HEADERS_MAX]; /* texts in the arena */
    size_t header_count;
    bool replied;
    struct MHD_Response *response; /* NULL though replied: no memory, the connection is closed */
    unsigned status;
    uint64_t reply_size;
};

struct http_pool;
struct http_server {
    struct collector *collector;
    const struct http_routes *tables;
    size_t table_count;
    struct http_network proxies[COLLECTOR_PROXIES_MAX]; /* trusted ones */
    size_t proxy_count;
    struct MHD_Daemon *daemon;
    struct http_pool *pool;
    unsigned port;
    bool tls;
    atomic_size_t buffered; /* bytes of bodies in memory */
    atomic_uint under_way;  /* requests whose head is whole, until their end */
    atomic_uint suspended;  /* of them, those that the pool or a late reply has */
    atomic_bool ending;     /* connections are closed after their replies */
    atomic_bool stopping;   /* no more are suspended */
    pthread_mutex_t clients_lock;
    struct http_client *clients;
    pthread_t sweeper;
    bool sweeping; /* below clients_lock, as is the condition's */
    pthread_cond_t sweep;
};

/* http_clients.c: connections, and when they must have got on. */
fw_error http_clients_start(struct http_server *server, struct fw_failure *why);
void http_clients_stop(struct http_server *server);
void http_client_event(void *server, struct MHD_Connection *connection, void **context,
                       enum MHD_ConnectionNotificationCode code);
/* Of many connections of one address the later ones are closed at once. */
enum MHD_Result http_client_may_come(void *server, const struct sockaddr *address, socklen_t size);
/* Until when the client must have taken what it is sent; 0: it waits for us. */
void http_client_deadline(struct http_client *client, uint64_t seconds);
/* Until when more must have come from it. Its end closes the connection. */
void http_client_reads(struct http_client *client, uint64_t seconds);

/* http_pool.c */
fw_error http_pool_start(struct http_server *server, struct http_pool **pool,
                         struct fw_failure *why);
void http_pool_stop(struct http_pool *pool);
/* Suspends the connection (call from its callback) and hands it over. MHD_NO: the server ends. */
enum MHD_Result http_pool_take(struct http_private *p, enum http_task task);
/* Has a request without a connection freed there: dropping streamed state may block. */
void http_pool_free(struct http_private *p);
/* http.c: the end of a request, on a thread of libmicrohttpd. */
void http_request_end(struct http_private *p);
/* Its memory goes, on any thread. */
void http_request_free(struct http_private *p);

/* http_head.c: who asks (p->address), and whether the head says in one way where its body ends.
 * False: replied. `version`: as in the request line. */
bool http_head_check(struct http_private *p, const char *version);

/* http_check.c: from the head to the handler. Each returns false when it has replied. */
bool http_check_route(struct http_private *p);
/* Whether who asks can be told without the database; then http_check_access does not block. */
bool http_access_remembered(struct http_private *p);
bool http_check_access(struct http_private *p);
bool http_check_size(struct http_private *p);

/* http_body.c. False: replied. */
bool http_body_add(struct http_private *p, const uint8_t *data, size_t size);
bool http_body_finish(struct http_private *p);
void http_body_drop(struct http_private *p);
void http_body_too_large(struct http_private *p);

/* http_reply.c: frees the response when one was there already. */
void http_reply_response(struct http_private *p, unsigned status, struct MHD_Response *response,
                         uint64_t size);

/* http_log.c: a request that ended. */
void http_log_request(const struct http_private *p);

#endif
