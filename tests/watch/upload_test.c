/*
 * Upload with a transport of our own: nothing of libcurl is there at all (upload_curl below fails
 * the test), every answer is ours, and no network is needed. upload_test.py has the real server.
 */
#include "framewalk/upload.h"

#include "watch/spool_support.h"
#include "watch/upload_curl.h"
#include "watch/upload_internal.h"
#include "watch/upload_reports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

static atomic_int curl_calls;

const struct upload_curl *upload_curl(void)
{
    curl_calls++;
    return NULL;
}

/* --- a collector in the process --- */

enum { SEEN_MAX = 256 };

struct collector {
    uint32_t status, retry_after;
    const char *text;    /* the answer; NULL: every report is accepted */
    const char *message; /* with status 0 */
    size_t too_long;     /* bytes of an answer that is longer than any */
    bool later;          /* the policy's answer */
    atomic_bool offline; /* the transport has no network that may be used */
    atomic_bool block;   /* the transport does not come back */
    atomic_int requests, blocked, asked;
    char seen[SEEN_MAX][33];
    size_t seen_count;
    char headers[512];
};

static char *unpack(const struct fw_upload_request *request, size_t *size)
{
    char *text = malloc(1 << 24);
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)request->body,
                       .avail_in = (uInt)request->body_size,
                       .next_out = (Bytef *)text,
                       .avail_out = 1 << 24};
    assert_int_equal(inflateInit2(&stream, 15 + 16), Z_OK);
    assert_int_equal(inflate(&stream, Z_FINISH), Z_STREAM_END);
    *size = stream.total_out;
    inflateEnd(&stream);
    return text;
}

/* Reads the frames as docs/upload.md says, and accepts all. */
static char *accept_all(struct collector *c, const char *body, size_t size)
{
    char *answer = calloc(1, size + 1);
    for (const char *at = body; at < body + size;) {
        unsigned long long bytes;
        char id[33];
        assert_int_equal(sscanf(at, "%32s %llu", id, &bytes), 2);
        at = strchr(at, '\n') + 1;
        assert_true(bytes <= (size_t)(body + size - at));
        assert_memory_equal(at, "FWREPRT\n", 8);
        at += bytes;
        strcat(strcat(answer, id), " accepted\n");
        assert_true(c->seen_count < SEEN_MAX);
        strcpy(c->seen[c->seen_count++], id);
    }
    return answer;
}

static void transport(void *context, const struct fw_upload_request *request,
                      struct fw_upload_response *response)
{
    struct collector *c = context;
    c->requests++;
    c->headers[0] = '\0';
    bool packed = false;
    for (const char *const *h = request->headers; *h; h++) {
        strcat(strcat(c->headers, *h), "\n");
        packed |= strcmp(*h, "Content-Encoding: gzip") == 0;
    }
    while (atomic_load(&c->block)) {
        c->blocked = 1;
        usleep(1000);
    }
    response->status = c->status;
    response->retry_after = c->retry_after;
    if (c->message)
        memset(response->message, 'm', sizeof response->message); /* and no terminating zero */
    if (atomic_load(&c->offline)) {
        response->status = 0;
        response->later = true;
    }
    if (response->status != 200)
        return;
    size_t size = request->body_size;
    char *body = packed ? unpack(request, &size) : memcpy(malloc(size), request->body, size);
    char *accepted = accept_all(c, body, size);
    free(body);
    if (c->text || c->too_long) {
        free(accepted);
        accepted = c->too_long ? calloc(1, c->too_long) : strdup(c->text);
    }
    response->body = accepted;
    response->body_size = c->too_long ? c->too_long : strlen(accepted);
}

static fw_upload_decision policy(void *context)
{
    struct collector *c = context;
    c->asked++;
    return c->later ? FW_UPLOAD_LATER : FW_UPLOAD_NOW;
}

/* --- a folder --- */

static char folder[64];

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/upload-test.XXXXXX");
    curl_calls = 0;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[600];
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing)) != NULL;) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    closedir(listing);
    assert_int_equal(curl_calls, 0);
    return rmdir(folder);
}

static void make(int count)
{
    char id[33];
    for (int i = 0; i < count; i++)
        assert_true(upload_make_report(folder, 1000, NULL, id));
}

static struct fw_upload_options options_for(struct collector *c)
{
    return (struct fw_upload_options){.size = sizeof(struct fw_upload_options),
                                      .folder = folder,
                                      .url = "https://reports.example.com/shop",
                                      .key = "secret-key",
                                      .poll_seconds = 1,
                                      .first_wait_s = 1,
                                      .longest_wait_s = 1,
                                      .transport = transport,
                                      .context = c};
}

static fw_error now(struct collector *c, struct fw_upload_totals *totals, struct fw_failure *why)
{
    struct fw_upload_options options = options_for(c);
    *totals = (struct fw_upload_totals){.size = sizeof *totals};
    return fw_upload_now(&options, totals, why);
}

/* Until it holds; a minute is for ever. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        int ms = 0;                                                                                \
        while (!(condition) && ms++ < 60000)                                                       \
            usleep(1000);                                                                          \
        assert_true(condition);                                                                    \
    } while (0)

/* --- sending --- */

static void test_sends_all(void **state)
{
    (void)state;
    struct collector c = {.status = 200};
    struct fw_upload_totals totals;
    make(23);
    assert_int_equal(now(&c, &totals, NULL), FW_OK);
    assert_int_equal(totals.sent, 23);
    assert_int_equal(totals.requests, 3);
    assert_int_equal(totals.waiting, 0);
    assert_int_equal(c.seen_count, 23);
    assert_non_null(strstr(c.headers, "Authorization: Bearer secret-key\n"));
    assert_non_null(strstr(c.headers, "Content-Type: application/vnd.framewalk.reports\n"));
}

static void test_failures_keep_all(void **state)
{
    (void)state;
    struct collector cases[] = {{.status = 0, .message = "m"},
                                {.status = 0},
                                {.status = 100},
                                {.status = 304},
                                {.status = 999},
                                {.status = 204},
                                {.status = 200, .text = ""},
                                {.status = 200, .text = "hello\n\n\n \n"},
                                {.status = 200, .too_long = UPLOAD_ANSWER_MAX + 1},
                                {.status = 503, .retry_after = UINT32_MAX}};
    make(3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fw_upload_totals totals;
        struct fw_failure why = {0};
        assert_int_not_equal(now(&cases[i], &totals, &why), FW_OK);
        assert_int_equal(totals.waiting, 3);
        assert_int_equal(totals.requests, 1);
        assert_int_equal(totals.failures, 1);
        assert_true(why.message[0] && totals.message[0]);
        assert_null(strstr(why.message, "secret"));
    }
}

static void test_vanishing_reports(void **state)
{
    (void)state;
    struct collector c = {.status = 200};
    struct upload_settings settings;
    struct fw_upload_options options = options_for(&c);
    assert_int_equal(upload_settings_make(&options, true, &settings, NULL), FW_OK);
    make(5);
    struct upload_list list;
    struct upload_outcome outcome;
    int fd = open(folder, O_RDONLY | O_DIRECTORY);
    assert_int_equal(upload_folder_list(fd, &list, NULL), FW_OK);
    assert_int_equal(list.count, 5);
    for (size_t i = 1; i < 4; i++) { /* the folder's limits took them */
        char name[64];
        snprintf(name, sizeof name, "%s.fwr", list.items[i].id);
        assert_int_equal(unlinkat(fd, name, 0), 0);
    }
    const struct upload_job job = {.settings = &settings};
    upload_send(&job, &list, &outcome);
    assert_int_equal(outcome.end, UPLOAD_DONE);
    assert_int_equal(outcome.sent, 2);
    assert_int_equal(outcome.left + outcome.refused + outcome.failures, 0);
    upload_list_free(&list);
    upload_settings_free(&settings);
    close(fd);
}

/* Somebody else has the lock: waited for, then said. */
static void test_lock_is_held(void **state)
{
    (void)state;
    struct collector c = {.status = 200};
    struct fw_upload_totals totals;
    struct fw_failure why = {0};
    char path[128];
    make(1);
    snprintf(path, sizeof path, "%s/upload.state", folder);
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_int_equal(now(&c, &totals, &why), FW_ERR_TIMEOUT);
    assert_non_null(strstr(why.message, "another process"));
    assert_int_equal(c.requests, 0);
    close(fd);
    assert_int_equal(now(&c, &totals, NULL), FW_OK);
}

/* A state file that is a link or a folder of somebody is not followed. */
static void test_hostile_state(void **state)
{
    (void)state;
    struct collector c = {.status = 200};
    struct fw_upload_totals totals;
    char path[128], target[128], byte;
    make(1);
    snprintf(path, sizeof path, "%s/upload.state", folder);
    snprintf(target, sizeof target, "%s/target", folder);
    int fd = open(target, O_RDWR | O_CREAT, 0600);
    assert_int_equal(symlink("target", path), 0);
    assert_int_not_equal(now(&c, &totals, NULL), FW_OK);
    assert_int_equal(read(fd, &byte, 1), 0);
    close(fd);
    unlink(path);
    fd = open(path, O_RDWR | O_CREAT, 0600);
    for (int i = 0; i < 100; i++)
        assert_int_equal(write(fd, "framewalk-upload 1 99999999999999999999", 39), 39);
    close(fd);
    c.status = 503;
    assert_int_not_equal(now(&c, &totals, NULL), FW_OK);
    struct stat about;
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_size, UPLOAD_BACKOFF_TEXT); /* ours again, as a whole */
    c.status = 200;
    assert_int_equal(now(&c, &totals, NULL), FW_OK);
    assert_int_equal(totals.sent, 1);
}

/* Together with who writes: what is open stays, the state is no report and is not evicted. */
static void test_with_a_spool(void **state)
{
    (void)state;
    struct collector c = {.status = 503};
    struct fw_upload_totals totals;
    struct fw_reports_totals in_folder = {.size = sizeof in_folder};
    struct fw_reports *reports = spool_open(folder, 3);
    assert_non_null(reports);
    struct spool_report *open_one = spool_begin(reports, FWR_KIND_HANG, 1800000000000);
    spool_say_hang(open_one, 300000000);
    assert_true(spool_flush(open_one, false));
    assert_true(spool_write_hang(reports, 1800000000000, 500000000, NULL));
    assert_int_not_equal(now(&c, &totals, NULL), FW_OK); /* leaves its state */
    for (int i = 0; i < 10; i++)
        assert_true(spool_write_hang(reports, 1800000000000, 500000000, NULL));
    assert_int_equal(fw_reports_totals(reports, &in_folder), FW_OK);
    assert_true(in_folder.files > 0 && in_folder.files <= 3);
    assert_int_equal(upload_folder_count(folder), in_folder.files);
    char path[128];
    snprintf(path, sizeof path, "%s/upload.state", folder);
    assert_int_equal(access(path, F_OK), 0);
    c.status = 200;
    assert_int_equal(now(&c, &totals, NULL), FW_OK);
    assert_int_equal(totals.sent, in_folder.files);
    assert_true(spool_finish(open_one));
    assert_int_equal(now(&c, &totals, NULL), FW_OK);
    assert_int_equal(totals.sent, 1);
    fw_reports_close(reports);
}

/* --- the background thread --- */

static void test_background(void **state)
{
    (void)state;
    struct collector c = {.status = 200, .later = true};
    struct fw_upload_options options = options_for(&c);
    options.policy = policy;
    struct fw_upload *upload;
    struct fw_upload_totals totals = {.size = sizeof totals};
    make(2);
    assert_int_equal(fw_upload_start(&options, &upload, NULL), FW_OK);
    WAIT_FOR(c.asked >= 1);
    fw_upload_stop(upload, 10000);
    assert_int_equal(c.requests, 0); /* the policy said later */
    c.later = false;
    assert_int_equal(fw_upload_start(&options, &upload, NULL), FW_OK);
    WAIT_FOR(fw_upload_totals(upload, &totals) == FW_OK && totals.sent == 2);
    make(1);
    WAIT_FOR(fw_upload_totals(upload, &totals) == FW_OK && totals.sent == 3);
    assert_int_equal(totals.waiting, 0);
    fw_upload_stop(upload, 10000);
    fw_upload_stop(NULL, 0);
}

/* A transport that never comes back does not hold fw_upload_stop. */
static void test_stop_leaves_a_stuck_transport(void **state)
{
    (void)state;
    static struct collector c;
    c = (struct collector){.status = 200, .block = true};
    struct fw_upload_options options = options_for(&c);
    struct fw_upload *upload;
    make(1);
    assert_int_equal(fw_upload_start(&options, &upload, NULL), FW_OK);
    WAIT_FOR(c.blocked);
    fw_upload_stop(upload, 50); /* comes back: the test is still here */
    c.block = false;
    WAIT_FOR(upload_folder_count(folder) == 0); /* it ends what it had begun, and frees itself */
    char path[128];
    snprintf(path, sizeof path, "%s/upload.state", folder);
    int fd = open(path, O_RDWR);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    close(fd);
}

static void test_fork(void **state)
{
    (void)state;
    struct collector c = {.status = 200, .block = true};
    struct fw_upload_options options = options_for(&c);
    struct fw_upload *upload;
    make(1);
    assert_int_equal(fw_upload_start(&options, &upload, NULL), FW_OK);
    WAIT_FOR(c.blocked); /* now the lock is held */
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct fw_upload_totals totals = {.size = sizeof totals};
        bool good = fw_upload_totals(upload, &totals) == FW_ERR_ARGUMENT;
        fw_upload_stop(upload, UINT32_MAX);
        char byte;
        close(ends[1]);
        good = read(ends[0], &byte, 1) == 0 && good; /* lives on until the parent has done */
        _exit(good ? 0 : 1);
    }
    assert_true(child > 0);
    close(ends[0]);
    c.block = false;
    WAIT_FOR(upload_folder_count(folder) == 0);
    fw_upload_stop(upload, 10000);
    /* The child does not hold the lock. */
    char path[128];
    snprintf(path, sizeof path, "%s/upload.state", folder);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    close(fd);
    close(ends[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The sender is killed while a child of it lives on: the lock must be free. */
static void test_killed_with_a_child(void **state)
{
    (void)state;
    make(1);
    int ready[2], hold[2];
    assert_int_equal(pipe(ready), 0);
    assert_int_equal(pipe(hold), 0);
    pid_t sender = fork();
    if (sender == 0) {
        static struct collector c = {.status = 200, .block = true};
        struct fw_upload_options options = options_for(&c);
        struct fw_upload *upload;
        if (fw_upload_start(&options, &upload, NULL) != FW_OK)
            _exit(1);
        while (!c.blocked)
            usleep(1000);
        close(hold[1]);
        if (fork() == 0) {
            char byte;
            (void)!write(ready[1], "", 1);
            _exit((int)read(hold[0], &byte, 1));
        }
        for (;;)
            pause();
    }
    char byte;
    assert_int_equal(read(ready[0], &byte, 1), 1);
    kill(sender, SIGKILL);
    waitpid(sender, NULL, 0);
    struct collector c = {.status = 200};
    struct fw_upload_totals totals;
    assert_int_equal(now(&c, &totals, NULL), FW_OK);
    assert_int_equal(totals.sent, 1);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(hold[i]);
    }
}

/* --- options --- */

static void test_urls(void **state)
{
    (void)state;
    static const struct {
        const char *url;
        bool good, plain_good, loopback;
    } cases[] = {
        {"https://a.example", true, true, false},
        {"HTTPS://a.example:443/x/y/", true, true, false},
        {"https://[2001:db8::1]:8443", true, true, false},
        {"http://localhost:80", true, true, true},
        {"http://LOCALHOST", true, true, true},
        {"http://127.0.0.1:8080/a", true, true, true},
        {"http://127.255.0.9", true, true, true},
        {"http://[::1]:9", true, true, true},
        {"http://a.example", false, true, false},
        {"http://127.0.0.1.example.com", false, true, false},
        {"http://127.0.0.256", false, true, false},
        {"http://127.1", false, true, false},
        {"http://localhost.example.com", false, true, false},
        {"http://notlocalhost", false, true, false},
        {"http://[::1].example", false, false, false},
        {"http://localhost@a.example", false, false, false},
        {"https://me:secret@a.example", false, false, false},
        {"https://a.example?x", false, false, false},
        {"https://a.example/#x", false, false, false},
        {"https://a.example\\@b", false, false, false},
        {"https://a.example/\r\nX: y", false, false, false},
        {"https://a.example:", false, false, false},
        {"https://a.example:66666", false, false, false},
        {"https://a.example:1x/", false, false, false},
        {"https://", false, false, false},
        {"https:///x", false, false, false},
        {"https://[::1", false, false, false},
        {"https://b\xc3\xbc"
         "cher.example",
         false, false, false},
        {"ftp://a.example", false, false, false},
        {"a.example", false, false, false},
        {"file:///etc/passwd", false, false, false},
        {"", false, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int plain = 0; plain < 2; plain++) {
            struct fw_upload_options o = {.size = sizeof o, .url = cases[i].url};
            struct upload_settings settings;
            struct fw_failure why = {0};
            o.plain_http = plain == 1;
            fw_error error = upload_settings_make(&o, false, &settings, &why);
            if ((error == FW_OK) != (plain ? cases[i].plain_good : cases[i].good))
                fail_msg("%s: %s", cases[i].url, why.message);
            if (!error)
                assert_int_equal(settings.loopback, cases[i].loopback);
            assert_null(strstr(why.message, "secret"));
            upload_settings_free(&settings);
        }
    }
}

static void test_options(void **state)
{
    (void)state;
    struct collector c = {.status = 200};
    struct fw_upload *upload;
    struct fw_upload_options o;
    struct {
        struct fw_upload_options known;
        uint64_t unknown;
    } larger = {.known = options_for(&c)};

    larger.known.size = sizeof larger;
    assert_int_equal(fw_upload_now(&larger.known, NULL, NULL), FW_OK);
    larger.unknown = 1;
    assert_int_equal(fw_upload_now(&larger.known, NULL, NULL), FW_ERR_ARGUMENT);
    for (int i = 0; i < 6; i++) {
        o = options_for(&c);
        switch (i) {
        case 0: o.size = 0; break;
        case 1: o.reserved[3] = 1; break;
        case 2: o.folder = NULL; break;
        case 3: o.url = NULL; break;
        case 4: o.key_file = "/dev/null"; break;
        default: o.key = "two words"; break;
        }
        struct fw_failure why = {0};
        assert_int_equal(fw_upload_start(&o, &upload, &why), FW_ERR_ARGUMENT);
        assert_null(upload);
        assert_true(why.message[0]);
        assert_null(strstr(why.message, "words"));
    }
    o = options_for(&c);
    o.folder = "/nowhere/at/all";
    assert_int_equal(fw_upload_now(&o, NULL, NULL), FW_ERR_NOT_FOUND);
}

/* --- answers --- */

#define ID_A "0123456789abcdef0123456789abcdef"
#define ID_B "fedcba9876543210fedcba9876543210"

static void check_answer(const char *text, enum upload_verdict a, enum upload_verdict b)
{
    static const char ids[2][UPLOAD_ID_SIZE] = {ID_A, ID_B};
    struct upload_answer answers[2];
    size_t size = strlen(text);
    char *exact = malloc(size ? size : 1); /* the sanitizer sees a byte too much */
    memcpy(exact, text, size);
    upload_answer_parse(exact, size, ids, 2, answers);
    free(exact);
    assert_int_equal(answers[0].verdict, a);
    assert_int_equal(answers[1].verdict, b);
}

static void test_answers(void **state)
{
    (void)state;
    const enum upload_verdict none = UPLOAD_UNSAID;
    check_answer(ID_A " accepted\n" ID_B " duplicate\n", UPLOAD_ACCEPTED, UPLOAD_DUPLICATE);
    check_answer(ID_A " refused no app\r\n" ID_B " retry\n", UPLOAD_REFUSED, UPLOAD_RETRY);
    check_answer(ID_A " accepted", none, none); /* the line's end is missing */
    check_answer(ID_A " accepted now\n", UPLOAD_ACCEPTED, none);
    check_answer(ID_A "  accepted\n", none, none);
    check_answer(ID_A "\taccepted\n", none, none);
    check_answer(" " ID_A " accepted\n", none, none);
    check_answer(ID_A " \n" ID_B "\n", none, none);
    check_answer(ID_A " ACCEPTED\n", none, none);
    check_answer(ID_A " accepted\n" ID_A " accepted\n", UPLOAD_ACCEPTED, none);
    check_answer(ID_A " accepted\n" ID_A " refused\n", UPLOAD_RETRY, none);
    check_answer(ID_A " refused\n" ID_A " accepted\n" ID_A " accepted\n", UPLOAD_RETRY, none);
    check_answer("\n\n\r\n", none, none);
}

static void test_reason_is_cleaned(void **state)
{
    (void)state;
    static const char id[1][UPLOAD_ID_SIZE] = {ID_A};
    struct upload_answer answer;
    char text[600];
    int used = snprintf(text, sizeof text, ID_A " refused \x1b[31m\xff");
    memset(text + used, 'x', 500);
    text[used + 500] = '\n';
    upload_answer_parse(text, (size_t)used + 501, id, 1, &answer);
    assert_int_equal(answer.verdict, UPLOAD_REFUSED);
    assert_int_equal(strlen(answer.reason), sizeof answer.reason - 1);
    assert_memory_equal(answer.reason, "?[31m?xxx", 9);
}

/* --- waits --- */

static void test_backoff_text(void **state)
{
    (void)state;
    const struct upload_backoff given = {1800000000000, 21600000, 7, 0xdeadbeef};
    struct upload_backoff read;
    char text[UPLOAD_BACKOFF_TEXT];
    upload_backoff_print(&given, text);
    upload_backoff_parse(text, sizeof text, &read);
    assert_memory_equal(&read, &given, sizeof given);
    for (size_t i = 0; i < sizeof text; i++) { /* torn anywhere: no wait */
        upload_backoff_parse(text, i, &read);
        assert_int_equal(read.wait_ms, 0);
    }
    const struct upload_backoff most = {UINT64_MAX, UINT64_MAX, UINT32_MAX, UINT32_MAX};
    upload_backoff_print(&most, text);
    upload_backoff_parse(text, sizeof text, &read);
    assert_int_equal(read.wait_ms, 0);
}

static void test_clock_jumps(void **state)
{
    (void)state;
    bool changed;
    struct upload_backoff b = {.set_ms = 1000000, .wait_ms = 60000};
    assert_int_equal(upload_backoff_left(&b, 1000000, &changed), 60000);
    assert_int_equal(upload_backoff_left(&b, 1059999, &changed), 1);
    assert_int_equal(upload_backoff_left(&b, 1060000, &changed), 0);
    assert_int_equal(upload_backoff_left(&b, UINT64_MAX, &changed), 0);
    assert_false(changed);
    /* Set back by most of its time: the wait begins anew, once, and then ends. */
    assert_int_equal(upload_backoff_left(&b, 5000, &changed), 60000);
    assert_true(changed);
    assert_int_equal(upload_backoff_left(&b, 65000, &changed), 0);
    assert_false(changed);
    b = (struct upload_backoff){.set_ms = UINT64_MAX, .wait_ms = 0};
    assert_int_equal(upload_backoff_left(&b, 5, &changed), 0);
}

static void test_waits_grow(void **state)
{
    (void)state;
    struct upload_settings s = {.audience = 5};
    s.options.first_wait_s = 60;
    s.options.longest_wait_s = 21600;
    struct upload_backoff b = {0};
    for (uint32_t i = 1; i < 100; i++) {
        uint64_t ceiling = i < 9 ? UINT64_C(60000) << i : 21600000;
        for (uint64_t random = 0; random < 2; random++) { /* the ends of what is drawn */
            struct upload_backoff next = b;
            upload_backoff_fail(&next, &s, 0, 77, random ? ceiling - 60000 : 0);
            assert_int_equal(next.wait_ms, random ? ceiling : 60000);
            assert_int_equal(next.failures, i);
            assert_int_equal(next.set_ms, 77);
        }
        upload_backoff_fail(&b, &s, 0, 77, 0);
    }
    upload_backoff_fail(&b, &s, 100000, 77, 59999);
    assert_true(b.wait_ms >= 100000000);
    upload_backoff_fail(&b, &s, UINT32_MAX, 77, UINT64_MAX);
    assert_true(b.wait_ms <= (UPLOAD_WAIT_MAX + 21600) * UINT64_C(1000));
    s.audience = 6; /* another collector: counted anew */
    upload_backoff_fail(&b, &s, 0, 77, 0);
    assert_int_equal(b.failures, 1);
}

/* No network is no failure: nothing is counted, no wait grows, and all is sent once there is one.
 */
static void test_no_network(void **state)
{
    (void)state;
    struct collector c = {.status = 200, .offline = true};
    struct fw_upload_options options = options_for(&c);
    struct fw_upload_totals totals = {.size = sizeof totals};
    struct fw_upload *upload;
    struct fw_failure why;
    options.longest_wait_s = options.first_wait_s = 86400;
    make(2);
    assert_int_equal(fw_upload_start(&options, &upload, NULL), FW_OK);
    WAIT_FOR(c.requests >= 2); /* asked again after poll_seconds */
    assert_int_equal(fw_upload_totals(upload, &totals), FW_OK);
    assert_int_equal(totals.failures + totals.requests + totals.sent, 0);
    assert_int_equal(totals.waiting, 2);
    c.offline = false;
    WAIT_FOR(fw_upload_totals(upload, &totals) == FW_OK && totals.sent == 2);
    fw_upload_stop(upload, 10000);
    make(1); /* who wants it sent now is told */
    c.offline = true;
    assert_int_equal(now(&c, &totals, &why), FW_ERR_SYSTEM);
    assert_int_equal(totals.waiting, 1);
}

static void test_retry_after(void **state)
{
    (void)state;
    enum { NOW = 784111777 }; /* Sun, 06 Nov 1994 08:49:37 GMT */
    static const struct {
        const char *value;
        uint32_t seconds;
    } cases[] = {
        {"120", 120},
        {"0", 0},
        {"604801", UPLOAD_WAIT_MAX},
        {"99999999999999999999999999", UPLOAD_WAIT_MAX},
        {"Sun, 06 Nov 1994 08:49:37 GMT", 0},
        {"Sun, 06 Nov 1994 08:50:07 GMT", 30},
        {"Mon, 07 Nov 1994 08:49:37 GMT", 86400},
        {"Sun, 06 Nov 1993 08:49:37 GMT", 0},
        {"Sun, 06 Nov 2094 08:49:37 GMT", UPLOAD_WAIT_MAX},
        {"Sun, 06 ovN 1994 08:50:07 GMT", 0},
        {"Sun, 06 Nov 1994 08:50:07 CET", 0},
        {"Sun, 06 Nov 1994 08:50:07 GMT+2", 0},
        {"Sun, 06 Nov 1994 99:50:07 GMT", 0},
        {"-5", 0},
        {"5x", 0},
        {" 5", 0},
        {"", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint32_t seconds = upload_retry_after(cases[i].value, NOW);
        if (seconds != cases[i].seconds)
            fail_msg("%s: %u, not %u", cases[i].value, seconds, cases[i].seconds);
    }
}

static void test_allow(void **state)
{
    (void)state;
    struct upload_settings settings;
    struct fw_upload_options o = {.size = sizeof o, .url = "https://a.example"};
    o.allow = FW_UPLOAD_ON_ALL;
    assert_int_equal(upload_settings_make(&o, false, &settings, NULL), FW_OK);
    upload_settings_free(&settings);
    o.allow = FW_UPLOAD_ON_ALL + 1; /* of a later version: not to be passed over */
    assert_int_equal(upload_settings_make(&o, false, &settings, NULL), FW_ERR_ARGUMENT);
}

int main(void)
{
#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)
    const struct CMUnitTest tests[] = {
        IN_FOLDER(test_sends_all),
        IN_FOLDER(test_failures_keep_all),
        IN_FOLDER(test_vanishing_reports),
        IN_FOLDER(test_lock_is_held),
        IN_FOLDER(test_hostile_state),
        IN_FOLDER(test_with_a_spool),
        IN_FOLDER(test_background),
        IN_FOLDER(test_stop_leaves_a_stuck_transport),
        IN_FOLDER(test_fork),
        IN_FOLDER(test_killed_with_a_child),
        cmocka_unit_test(test_urls),
        IN_FOLDER(test_options),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_reason_is_cleaned),
        cmocka_unit_test(test_backoff_text),
        cmocka_unit_test(test_clock_jumps),
        cmocka_unit_test(test_waits_grow),
        IN_FOLDER(test_no_network),
        cmocka_unit_test(test_retry_after),
        cmocka_unit_test(test_allow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
