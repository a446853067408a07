/*
 * Load for a collector: made-up reports (tests/collector/reports.h), sent one a request over kept
 * connections, as programs send them, at a steady rate. Then it waits until all are processed.
 *
 *     collector_load --url http://127.0.0.1:PORT --key fwk_... --token fwt_... --reports N --rate R
 *                    [--seed S] [--connections C] [--calls PER_MILLE] [--resend PER_MILLE]
 *
 * A request is due at its time whether the ones before it were answered or not: accept times count
 * from then, so a server that stalls does not look better for being asked less. --token (scope
 * read) is for /api/v1/server, which says how many reports wait. Prints:
 *
 *     accepted N duplicate N refused N retry N failed N bytes N
 *     accept p50 MS p99 MS max MS
 *     sent SECONDS processed SECONDS rate REPORTS/S
 */
#include "collector/reports.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CONNECTIONS_MOST = 256, ANSWER = 65536, VERDICTS = 4 };

static struct {
    unsigned port;
    const char *key, *token;
    unsigned long long reports, rate, seed, connections, calls, resend;
} options = {.reports = 1000, .rate = 200, .seed = 1, .connections = 16};

static const char *const verdicts[VERDICTS] = {"accepted", "duplicate", "refused", "retry"};

struct sender {
    pthread_t thread;
    unsigned number;
    struct reports_maker *maker;
    int fd;
    unsigned long long verdict[VERDICTS], failed, bytes;
    char answer[ANSWER];
};

static double began;  /* by now() */
static float *millis; /* accept time of each report */

static void die(const char *what)
{
    fprintf(stderr, "collector_load: %s\n", what);
    exit(1);
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_until(double at)
{
    double left = at - now();
    if (left <= 0)
        return;
    struct timespec t = {(time_t)left, (long)((left - (double)(time_t)left) * 1e9)};
    nanosleep(&t, NULL);
}

/* ---- HTTP ---- */

static int open_connection(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)options.port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof to) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fd;
}

static bool send_all(int fd, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t sent = send(fd, at, size, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Status and body of one answer; 0: the connection broke. */
static int read_answer(int fd, char *answer, char **body)
{
    size_t used = 0, wanted = 0;
    *body = NULL;
    while (!*body || used < wanted) {
        ssize_t got = used < ANSWER - 1 ? read(fd, answer + used, ANSWER - 1 - used) : -1;
        if (got <= 0)
            return 0;
        used += (size_t)got;
        answer[used] = '\0';
        if (!*body && (*body = strstr(answer, "\r\n\r\n")) != NULL) {
            *body += 4;
            const char *length = strcasestr(answer, "\r\nContent-Length:");
            wanted = (size_t)(*body - answer) + (length ? strtoul(length + 17, NULL, 10) : 0);
        }
    }
    return atoi(answer + strlen("HTTP/1.1 "));
}

/* ---- sending ---- */

static int send_report(struct sender *s, const uint8_t id[16], const uint8_t *bytes, size_t size,
                       char **body)
{
    char head[2048], line[64];
    size_t at = 0;
    for (int i = 0; i < 16; i++)
        at += (size_t)sprintf(line + at, "%02x", id[i]);
    at += (size_t)sprintf(line + at, " %zu\n", size);
    int length = snprintf(head, sizeof head,
                          "POST /api/v1/reports HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                          "Content-Type: application/vnd.framewalk.reports\r\n"
                          "Authorization: Bearer %s\r\nAccept: text/plain\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          options.port, options.key, at + size, line);
    s->bytes += size;
    if (s->fd < 0)
        s->fd = open_connection();
    if (s->fd < 0 || !send_all(s->fd, head, (size_t)length) || !send_all(s->fd, bytes, size))
        return 0;
    return read_answer(s->fd, s->answer, body);
}

static void send_number(struct sender *s, unsigned long long number)
{
    uint8_t id[16];
    size_t size;
    char *body;
    const uint8_t *bytes = reports_make(s->maker, number, id, &size);
    if (!bytes || size == 0)
        die("out of memory");
    int status = send_report(s, id, bytes, size, &body);
    if (status != 200) {
        s->failed++;
        if (s->failed == 1)
            fprintf(stderr, "collector_load: answer %d: %.200s\n", status, status ? body : "");
        if (status == 0 && s->fd >= 0) {
            close(s->fd);
            s->fd = -1;
        }
        return;
    }
    for (int i = 0; i < VERDICTS; i++)
        s->verdict[i] += strncmp(body + 33, verdicts[i], strlen(verdicts[i])) == 0;
}

/* Every connection has its share of the numbers, so each report has its time whoever sends it. */
static void *send_share(void *context)
{
    struct sender *s = context;
    for (unsigned long long i = s->number; i < options.reports; i += options.connections) {
        double due = began + (options.rate ? (double)i / (double)options.rate : 0);
        sleep_until(due);
        bool again = i > 1000 && i % 1000 < options.resend;
        double from = options.rate ? due : now();
        send_number(s, again ? i - 1000 : i);
        millis[i] = (float)((now() - from) * 1e3);
    }
    return NULL;
}

/* ---- the whole ---- */

static long long waiting(void)
{
    static char answer[ANSWER];
    char head[1024], *body, *found;
    int fd = open_connection();
    int length = snprintf(head, sizeof head,
                          "GET /api/v1/server HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                          "Authorization: Bearer %s\r\nConnection: close\r\n\r\n",
                          options.port, options.token);
    long long count = -1;
    if (fd >= 0 && send_all(fd, head, (size_t)length) && read_answer(fd, answer, &body) == 200 &&
        (found = strstr(body, "\"waiting_reports\":")) != NULL)
        count = atoll(found + strlen("\"waiting_reports\":"));
    if (fd >= 0)
        close(fd);
    return count;
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

static void parse(int argc, char **argv)
{
    const struct {
        const char *name;
        unsigned long long *value;
    } numbers[] = {{"--reports", &options.reports}, {"--rate", &options.rate},
                   {"--seed", &options.seed},       {"--connections", &options.connections},
                   {"--calls", &options.calls},     {"--resend", &options.resend}};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--url") == 0 && strrchr(argv[i + 1], ':'))
            options.port = (unsigned)atoi(strrchr(argv[i + 1], ':') + 1);
        else if (strcmp(argv[i], "--key") == 0)
            options.key = argv[i + 1];
        else if (strcmp(argv[i], "--token") == 0)
            options.token = argv[i + 1];
        for (size_t j = 0; j < sizeof numbers / sizeof *numbers; j++)
            if (strcmp(argv[i], numbers[j].name) == 0)
                *numbers[j].value = strtoull(argv[i + 1], NULL, 10);
    }
    if (!options.port || !options.key || !options.reports || !options.connections)
        die("usage: --url http://127.0.0.1:PORT --key KEY [--token TOKEN] --reports N --rate R");
    if (options.connections > CONNECTIONS_MOST)
        options.connections = CONNECTIONS_MOST;
}

static void start(struct sender *senders)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    struct reports_shape shape = {.now_ms = (uint64_t)wall.tv_sec * 1000,
                                  .calls_per_mille = (unsigned)options.calls};
    began = now();
    for (unsigned i = 0; i < options.connections; i++) {
        senders[i] = (struct sender){.number = i, .fd = -1};
        senders[i].maker = reports_maker_new(options.seed, &shape);
        if (!senders[i].maker ||
            pthread_create(&senders[i].thread, NULL, send_share, &senders[i]) != 0)
            die("threads cannot be started");
    }
}

int main(int argc, char **argv)
{
    static struct sender senders[CONNECTIONS_MOST];
    struct sender sum = {0};
    parse(argc, argv);
    millis = calloc(options.reports, sizeof *millis);
    if (!millis)
        die("out of memory");
    start(senders);
    for (unsigned i = 0; i < options.connections; i++) {
        pthread_join(senders[i].thread, NULL);
        for (int v = 0; v < VERDICTS; v++)
            sum.verdict[v] += senders[i].verdict[v];
        sum.failed += senders[i].failed;
        sum.bytes += senders[i].bytes;
        reports_maker_free(senders[i].maker);
    }
    double sent = now() - began;
    while (options.token && waiting() > 0)
        sleep_until(now() + 0.05);
    double processed = now() - began;
    qsort(millis, options.reports, sizeof *millis, by_value);
    for (int v = 0; v < VERDICTS; v++)
        printf("%s %llu ", verdicts[v], sum.verdict[v]);
    printf("failed %llu bytes %llu\n", sum.failed, sum.bytes);
    printf("accept p50 %.2f p99 %.2f max %.2f\n", (double)millis[options.reports / 2],
           (double)millis[options.reports * 99 / 100], (double)millis[options.reports - 1]);
    printf("sent %.2f processed %.2f rate %.1f\n", sent, processed,
           (double)options.reports / (options.token ? processed : sent));
    return sum.failed ? 1 : 0;
}
