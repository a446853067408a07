/* See remote.h. */
#include "oracle/remote.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

bool remote_connect(struct remote *remote, const char *path)
{
    enum { TRIES = 1000, PAUSE = 5000000 }; /* ns */
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    *remote = (struct remote){.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    if (remote->fd < 0 || strlen(path) >= sizeof name.sun_path)
        return false;
    strcpy(name.sun_path, path);
    for (int i = 0; i < TRIES; i++) {
        if (connect(remote->fd, (struct sockaddr *)&name, sizeof name) == 0)
            return true;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE}, NULL);
    }
    return false;
}

void remote_close(struct remote *remote)
{
    if (remote->fd >= 0)
        close(remote->fd);
}

static bool put(struct remote *remote, const char *bytes, size_t size)
{
    while (size) {
        ssize_t n = send(remote->fd, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
    }
    return true;
}

static int get(struct remote *remote)
{
    if (remote->taken == remote->received) {
        ssize_t n;
        do
            n = recv(remote->fd, remote->pending, sizeof remote->pending, 0);
        while (n < 0 && errno == EINTR);
        if (n <= 0)
            return -1;
        remote->taken = 0;
        remote->received = (size_t)n;
    }
    return (unsigned char)remote->pending[remote->taken++];
}

bool remote_ask(struct remote *remote, const char *command)
{
    char packet[256];
    unsigned sum = 0;
    for (const char *at = command; *at; at++)
        sum += (unsigned char)*at;
    int length = snprintf(packet, sizeof packet, "$%s#%02x", command, sum & 0xff);
    if (length >= (int)sizeof packet || !put(remote, packet, (size_t)length))
        return false;

    int c;
    while ((c = get(remote)) != '$')
        if (c < 0)
            return false;
    remote->size = 0;
    while ((c = get(remote)) != '#') {
        if (c < 0 || remote->size == REMOTE_PACKET)
            return false;
        remote->reply[remote->size++] = (char)c;
    }
    remote->reply[remote->size] = 0;
    return get(remote) >= 0 && get(remote) >= 0 && put(remote, "+", 1);
}

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool remote_bytes(const char *text, void *to, size_t size)
{
    uint8_t *bytes = to;
    for (size_t i = 0; i < size; i++) {
        int high = digit(text[2 * i]), low = high < 0 ? -1 : digit(text[2 * i + 1]);
        if (low < 0)
            return false;
        bytes[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}
