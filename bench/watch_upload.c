/*
 * Sending reports to a collector on this machine, over plain HTTP: what a report costs beside
 * curl(1) called for each file, which is what a script does.
 *
 *     watch_upload ours|curl COUNT BYTES     prints microseconds a report
 *     watch_upload ours-mb COUNT BYTES       prints MB of reports a second
 *
 * Sides end with every report acknowledged and every file removed. The collector is a thread here:
 * it reads the frames (docs/upload.md), remembers nothing and accepts all, for both sides alike.
 */
#include "framewalk/upload.h"
#include "watch/upload_reports.h"

#include <dirent.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { REQUEST_MAX = 32 << 20 };

static void die(const char *what)
{
    fprintf(stderr, "watch_upload: %s\n", what);
    exit(1);
}

/* --- the collector --- */

static int listener;
static char request[REQUEST_MAX], unpacked[REQUEST_MAX], answer[1 << 16];

static size_t unpack(const char *body, size_t size)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)body,
                       .avail_in = (uInt)size,
                       .next_out = (Bytef *)unpacked,
                       .avail_out = sizeof unpacked};
    if (inflateInit2(&stream, 15 + 16) != Z_OK || inflate(&stream, Z_FINISH) != Z_STREAM_END)
        die("a body that cannot be unpacked");
    inflateEnd(&stream);
    return stream.total_out;
}

static void accept_all(const char *body, size_t size, int to)
{
    char lines[8192];
    size_t used = 0;
    for (const char *at = body; at < body + size;) {
        char id[33];
        size_t bytes;
        if (sscanf(at, "%32s %zu", id, &bytes) != 2 || used + 64 > sizeof lines)
            die("a body of another form");
        at = (const char *)memchr(at, '\n', size) + 1 + bytes;
        used += (size_t)snprintf(lines + used, sizeof lines - used, "%s accepted\n", id);
    }
    int head =
        snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", used);
    memcpy(answer + head, lines, used);
    if (write(to, answer, (size_t)head + used) < 0)
        die("a client that does not wait");
}

/* One request; false at the connection's end. */
static bool serve_one(int from)
{
    size_t used = 0, wanted = 0;
    char *body = NULL;
    while (!body || used < wanted) {
        ssize_t got = read(from, request + used, sizeof request - 1 - used);
        if (got <= 0)
            return false;
        used += (size_t)got;
        request[used] = '\0';
        if (!body && (body = strstr(request, "\r\n\r\n")) != NULL) {
            body += 4;
            const char *length = strcasestr(request, "\r\nContent-Length:");
            wanted = (size_t)(body - request) + (length ? strtoul(length + 17, NULL, 10) : 0);
        }
    }
    size_t size = wanted - (size_t)(body - request);
    if ((uint8_t)body[0] == 0x1f)
        accept_all(unpacked, unpack(body, size), from);
    else
        accept_all(body, size, from);
    return true;
}

static void *serve(void *context)
{
    (void)context;
    for (;;) {
        int client = accept(listener, NULL, NULL);
        while (client >= 0 && serve_one(client))
            ;
        close(client);
    }
    return NULL;
}

static int start_collector(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    pthread_t thread;
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, size) != 0 || listen(listener, 64) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) != 0 ||
        pthread_create(&thread, NULL, serve, NULL) != 0)
        die("no collector");
    return ntohs(address.sin_port);
}

/* --- the sides --- */

static void send_ours(const char *folder, const char *url, unsigned count)
{
    struct fw_upload_options options = {.size = sizeof options, .folder = folder, .url = url};
    struct fw_upload_totals totals = {.size = sizeof totals};
    struct fw_failure why = {0};
    if (fw_upload_now(&options, &totals, &why) != FW_OK || totals.sent != count)
        die(why.message);
}

/* A frame's line, the file, one curl; as a script would, without the shell's own cost. */
static void send_one(const char *folder, const char *name, const char *url)
{
    char path[600], framed[600], data[620], target[200];
    static char bytes[1 << 22];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    snprintf(framed, sizeof framed, "%s/body", folder);
    snprintf(data, sizeof data, "@%s", framed);
    snprintf(target, sizeof target, "%s/api/v1/reports", url);
    FILE *from = fopen(path, "rb"), *to = fopen(framed, "wb");
    if (!from || !to)
        die("a file that cannot be opened");
    size_t size = fread(bytes, 1, sizeof bytes, from);
    fprintf(to, "%.32s %zu\n", name, size);
    fwrite(bytes, 1, size, to);
    fclose(from);
    fclose(to);
    pid_t child = fork();
    if (child == 0) {
        execlp("curl", "curl", "-s", "-f", "-o", "/dev/null", "-H",
               "Content-Type: application/vnd.framewalk.reports", "--data-binary", data, target,
               (char *)NULL);
        _exit(127);
    }
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        die("curl is not there, or failed");
    unlink(framed);
    unlink(path);
}

static void send_curl(const char *folder, const char *url)
{
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        if (strlen(entry->d_name) == 36)
            send_one(folder, entry->d_name, url);
    }
    closedir(listing);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        die("watch_upload ours|ours-mb|curl COUNT BYTES");
    unsigned count = (unsigned)atoi(argv[2]);
    char folder[] = "/tmp/watch-upload.XXXXXX", url[64], path[600], id[33];
    if (!mkdtemp(folder))
        die("no folder");
    signal(SIGPIPE, SIG_IGN);
    snprintf(url, sizeof url, "http://127.0.0.1:%d", start_collector());
    double mb = 0;
    for (unsigned i = 0; i < count; i++) {
        struct stat about;
        if (!upload_make_report(folder, (size_t)atol(argv[3]), NULL, id))
            die("a report that cannot be written");
        snprintf(path, sizeof path, "%s/%s.fwr", folder, id);
        mb += stat(path, &about) == 0 ? (double)about.st_size * 1e-6 : 0;
    }
    double begin = seconds();
    if (strcmp(argv[1], "curl") == 0)
        send_curl(folder, url);
    else
        send_ours(folder, url, count);
    double taken = seconds() - begin;
    if (strcmp(argv[1], "ours-mb") == 0)
        printf("%.1f\n", mb / taken);
    else
        printf("%.1f\n", taken / count * 1e6);
    snprintf(path, sizeof path, "%s/upload.state", folder);
    unlink(path);
    return rmdir(folder) == 0 ? 0 : 1;
}
