/* The debuginfod client against a real server and against one that misbehaves in every way. */
#include "symbolicate/find.h"

#include "object/codecs.h"
#include "object/fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define ID "00aabbccddeeff0011223344"

static const char source[] =
    "static __attribute__((noinline)) int hidden(int x) { return x * 7; }\n"
    "int main(int n, char **v) { (void)v; return hidden(n); }\n";

/* Answers /KIND/buildid/...: KIND says how. Every request is a line in the file `asked`. */
static const char server[] =
    "import http.server, socketserver, sys, time\n"
    "right = open('prog.debug', 'rb').read()\n"
    "class H(http.server.BaseHTTPRequestHandler):\n"
    "    protocol_version = 'HTTP/1.1'\n"
    "    def log_message(self, *a): pass\n"
    "    def whole(self, b):\n"
    "        self.send_response(200); self.send_header('Content-Length', str(len(b)))\n"
    "        self.end_headers(); self.wfile.write(b)\n"
    "    def do_GET(self):\n"
    "        kind = self.path.split('/')[1]\n"
    "        open('asked', 'a').write(self.path + ' ' + "
    "str(self.headers.get('X-DEBUGINFOD-MAXSIZE')) "
    "+ '\\n')\n"
    "        if kind == 'right': self.whole(right)\n"
    "        elif kind == 'wrong': self.whole(open('other.debug', 'rb').read())\n"
    "        elif kind == 'text': self.whole(b'<html>hello</html>')\n"
    "        elif kind == 'empty': self.whole(b'')\n"
    "        elif kind == 'cut':\n"
    "            self.send_response(200); self.send_header('Content-Length', str(len(right)))\n"
    "            self.end_headers(); self.wfile.write(right[:len(right) // 2])\n"
    "            self.close_connection = True\n"
    "        elif kind == 'cutchunk': self.whole(right[:len(right) // 2])\n"
    "        elif kind == 'slow':\n"
    "            self.send_response(200); self.send_header('Content-Length', str(len(right)))\n"
    "            self.end_headers()\n"
    "            try:\n"
    "                for i in range(600): self.wfile.write(right[i:i + 1]); self.wfile.flush(); "
    "time.sleep(0.1)\n"
    "            except OSError: pass\n"
    "        elif kind == 'moved':\n"
    "            self.send_response(302); self.send_header('Location', self.path.replace('moved', "
    "'right'))\n"
    "            self.send_header('Content-Length', '0'); self.end_headers()\n"
    "        elif kind == 'file':\n"
    "            import os\n"
    "            self.send_response(302); self.send_header('Location', 'file://' + "
    "os.path.abspath('prog.debug'))\n"
    "            self.send_header('Content-Length', '0'); self.end_headers()\n"
    "        elif kind == 'circle':\n"
    "            self.send_response(302); self.send_header('Location', self.path)\n"
    "            self.send_header('Content-Length', '0'); self.end_headers()\n"
    "        elif kind == '500': self.send_response(500); self.send_header('Content-Length', '0'); "
    "self.end_headers()\n"
    "        else: self.send_response(404); self.send_header('Content-Length', '3'); "
    "self.end_headers(); self.wfile.write(b'no\\n')\n"
    "class S(socketserver.ThreadingMixIn, http.server.HTTPServer): daemon_threads = True\n"
    "s = S(('127.0.0.1', 0), H)\n"
    "open('port.new', 'w').write(str(s.server_port))\n"
    "import os\n"
    "os.rename('port.new', 'port')\n"
    "s.serve_forever()\n";

static pid_t child;
static unsigned port;

/* Starts a shell command in the fixture's folder, to be ended by stop(). */
static void start(const char *command)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s", fixture_path("."));
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setpgid(0, 0);
        if (chdir(folder) == 0)
            execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    setpgid(child, child);
}

static void stop(void)
{
    if (child <= 0)
        return;
    kill(-child, SIGKILL);
    waitpid(child, NULL, 0);
    child = 0;
}

static void make_files(void)
{
    fixture_need("gcc objcopy strip python3");
    fixture_text("prog.c", source);
    fixture_run("mkdir -p bin && gcc -g -O1 -Wl,--build-id=0x" ID " prog.c -o whole &&"
                "gcc -g -O2 -Wl,--build-id=0x0102030405060708090a0b0c prog.c -o other &&"
                "objcopy --only-keep-debug whole prog.debug &&"
                "objcopy --only-keep-debug other other.debug && strip whole -o bin/prog");
}

static void start_server(void)
{
    make_files();
    fixture_text("server.py", server);
    fixture_run("rm -f port asked");
    start("exec python3 server.py >/dev/null 2>&1");
    for (int i = 0; i < 600 && access(fixture_path("port"), F_OK) != 0; i++)
        usleep(50000);
    size_t size;
    uint8_t *text = fixture_read("port", &size);
    char digits[16] = "";
    memcpy(digits, text, size < 15 ? size : 15);
    free(text);
    port = (unsigned)atoi(digits);
}

/* DEBUGINFOD_URLS with the kinds of servers in `kinds`, separated by spaces. */
static void use_servers(const char *kinds)
{
    char urls[1024] = "", copy[256];
    snprintf(copy, sizeof copy, "%s", kinds);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " ")) {
        size_t used = strlen(urls);
        if (strstr(word, "://"))
            snprintf(urls + used, sizeof urls - used, " %s ", word);
        else
            snprintf(urls + used, sizeof urls - used, " http://127.0.0.1:%u/%s/", port, word);
    }
    setenv("DEBUGINFOD_URLS", urls, 1);
}

static void fresh_cache(void)
{
    fixture_run("rm -rf cache asked");
    setenv("DEBUGINFOD_CACHE_PATH", fixture_path("cache"), 1);
}

struct progress {
    unsigned calls;
    uint64_t done;
};

static void count_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct progress *p = context;
    assert_string_equal(phase, "Downloading");
    assert_true(total == 0 || done <= total);
    p->calls++;
    p->done = done;
}

static struct debug_files *ask(struct object **object, struct progress *progress)
{
    char path[512];
    snprintf(path, sizeof path, "%s", fixture_path("bin/prog"));
    struct debug_find_options options = {
        .debuginfod = true, .progress = progress ? count_progress : NULL, .context = progress};
    struct debug_files *files;
    struct fw_failure why;
    assert_int_equal(object_open(path, object, NULL), FW_OK);
    assert_int_equal(debug_files_find(*object, path, &options, &files, &why), FW_OK);
    return files;
}

static void expect_fetched(const char *kinds)
{
    struct object *object;
    struct progress progress = {0, 0};
    use_servers(kinds);
    struct debug_files *files = ask(&object, &progress);
    char *story = debug_files_story(files);
    if (!files->debug)
        fail_msg("%s: %s", kinds, story);
    assert_string_equal(object_label(files->debug), fixture_path("cache/" ID "/debuginfo"));
    assert_true(progress.calls > 0 && progress.done > 0);
    free(story);
    debug_files_close(files);
    object_close(object);
    fixture_run("cmp cache/" ID "/debuginfo prog.debug && [ $(ls cache/" ID " | wc -l) = 1 ]");
}

/* Nothing is found; some place has an outcome with these words; nothing stays in the cache. */
static void expect_refused(const char *kinds, const char *outcome)
{
    struct object *object;
    use_servers(kinds);
    struct debug_files *files = ask(&object, NULL);
    bool said = false;
    assert_null(files->debug);
    for (size_t i = 0; i < files->place_count; i++)
        said |= strstr(files->places[i].outcome, outcome) != NULL;
    char *story = debug_files_story(files);
    if (!said)
        fail_msg("%s: no \"%s\" in: %s", kinds, outcome, story);
    free(story);
    debug_files_close(files);
    object_close(object);
    fixture_run("[ -z \"$(find cache -size +0 -name 'debuginfo*')\" ] &&"
                "[ -z \"$(find cache -name 'debuginfo.*')\" ]");
}

static unsigned times_asked(void)
{
    char *text = fixture_output("cat asked 2>/dev/null | wc -l");
    unsigned count = (unsigned)atoi(text);
    free(text);
    return count;
}

static void fetches_and_keeps(void **state)
{
    (void)state;
    start_server();
    fresh_cache();
    expect_fetched("right");
    assert_int_equal(times_asked(), 1);
    struct object *object; /* the second time, the cache answers */
    struct debug_files *files = ask(&object, NULL);
    assert_non_null(files->debug);
    debug_files_close(files);
    object_close(object);
    assert_int_equal(times_asked(), 1);
    static const char *const others[] = {"404 500 wrong cut right", "moved", "  404   right",
                                         "ftp://127.0.0.1/ right"};
    for (size_t i = 0; i < 4; i++) {
        fresh_cache();
        expect_fetched(others[i]);
    }
    stop();
}

static void refuses_and_says(void **state)
{
    (void)state;
    start_server();
    static const struct {
        const char *kind, *outcome;
    } cases[] = {
        {"404", "HTTP 404"},
        {"500", "HTTP 500"},
        {"wrong", "other build id"},
        {"text", "is no object file"},
        {"empty", "no object file"},
        {"cutchunk", "truncated"},
        {"circle", "redirect"},
        {"ftp://127.0.0.1/", "neither http nor https"},
        {"http://127.0.0.1:1/", "connect"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fresh_cache();
        expect_refused(cases[i].kind, cases[i].outcome);
    }
    fresh_cache();
    expect_refused("cut", ""); /* in libcurl's words */
    fresh_cache();
    expect_refused("file", "");
    fresh_cache();
    setenv("DEBUGINFOD_TIMEOUT", "1", 1);
    expect_refused("slow", "imeout");
    unsetenv("DEBUGINFOD_TIMEOUT");
    fresh_cache();
    setenv("DEBUGINFOD_MAXTIME", "1", 1);
    expect_refused("slow", "imeout");
    unsetenv("DEBUGINFOD_MAXTIME");
    fresh_cache();
    setenv("DEBUGINFOD_MAXSIZE", "1000", 1);
    expect_refused("right", "larger than allowed");
    char *asked = fixture_output("cat asked");
    assert_non_null(strstr(asked, "/debuginfo 1000"));
    free(asked);
    unsetenv("DEBUGINFOD_MAXSIZE");
    stop();
}

static void remembers_that_nobody_has_it(void **state)
{
    (void)state;
    start_server();
    fresh_cache();
    expect_refused("404 404", "HTTP 404");
    assert_int_equal(times_asked(), 2);
    expect_refused("404 404", "no server had it");
    expect_refused("right", "no server had it");
    assert_int_equal(times_asked(), 2);
    fixture_run("touch -d '20 minutes ago' cache/" ID "/debuginfo");
    expect_fetched("right"); /* a miss is believed for ten minutes */
    fresh_cache();
    fixture_run("mkdir -p cache && echo 0 >cache/cache_miss_s");
    expect_refused("404", "HTTP 404");
    expect_fetched("right");
    fresh_cache();
    expect_refused("404 500", "HTTP 500"); /* who failed may have it */
    expect_fetched("right");
    /* What lies in the cache is checked as well. */
    fixture_run("cp other.debug cache/" ID "/debuginfo");
    struct object *object;
    struct debug_files *files = ask(&object, NULL);
    assert_null(files->debug);
    char *story = debug_files_story(files);
    assert_non_null(strstr(story, "(other build id)"));
    free(story);
    debug_files_close(files);
    object_close(object);
    stop();
}

static void asks_nobody_without_being_told_to(void **state)
{
    (void)state;
    start_server();
    fresh_cache();
    struct object *object;
    unsetenv("DEBUGINFOD_URLS");
    struct debug_files *files = ask(&object, NULL);
    assert_null(files->debug);
    debug_files_close(files);
    use_servers("right");
    struct debug_find_options options = {.debuginfod = false};
    assert_int_equal(debug_files_find(object, NULL, &options, &files, NULL), FW_OK);
    assert_null(files->debug);
    debug_files_close(files);
    object_close(object);
    assert_int_equal(times_asked(), 0);
    stop();
}

static void shares_its_cache_folder(void **state)
{
    (void)state;
    start_server();
    use_servers("right");
    unsetenv("DEBUGINFOD_CACHE_PATH");
    char *home = getenv("HOME"), *kept = home ? strdup(home) : NULL;
    fixture_run("rm -rf home && mkdir -p home/xdg");
    setenv("HOME", fixture_path("home"), 1);
    struct object *object;
    static const char *const places[] = {"home/.cache/debuginfod_client/" ID "/debuginfo",
                                         "home/xdg/debuginfod_client/" ID "/debuginfo",
                                         "home/.debuginfod_client_cache/" ID "/debuginfo"};
    for (size_t i = 0; i < 3; i++) {
        if (i == 1)
            setenv("XDG_CACHE_HOME", fixture_path("home/xdg"), 1);
        else
            unsetenv("XDG_CACHE_HOME");
        if (i == 2)
            fixture_run("mkdir home/.debuginfod_client_cache");
        struct debug_files *files = ask(&object, NULL);
        assert_non_null(files->debug);
        assert_string_equal(object_label(files->debug), fixture_path(places[i]));
        debug_files_close(files);
        object_close(object);
    }
    if (kept)
        setenv("HOME", kept, 1);
    free(kept);
    stop();
}

static unsigned free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* elfutils' own server, and its client in the same cache. */
static void works_with_a_real_server(void **state)
{
    (void)state;
    fixture_need("debuginfod dwz curl");
    make_files();
    fixture_run("rm -rf served && mkdir served && cp prog.debug served/");
    port = free_port();
    char command[512];
    snprintf(command, sizeof command,
             "exec env -u DEBUGINFOD_URLS debuginfod -d :memory: -F -p %u served >log 2>&1", port);
    start(command);
    /* It scans its folder after it began to answer. */
    bool ready = false;
    for (int i = 0; i < 300 && !ready; i++) {
        ready = fixture_try("curl -sf http://127.0.0.1:%u/buildid/" ID "/debuginfo -o got", port);
        if (!ready)
            usleep(100000);
    }
    if (!ready) {
        stop();
        print_message("skipped: debuginfod does not serve here\n");
        skip();
    }
    char urls[64];
    snprintf(urls, sizeof urls, "http://127.0.0.1:%u", port);
    fresh_cache();
    setenv("DEBUGINFOD_URLS", urls, 1);
    struct object *object;
    struct debug_files *files = ask(&object, NULL);
    assert_non_null(files->debug);
    debug_files_close(files);
    object_close(object);
    fixture_run("cmp cache/" ID "/debuginfo prog.debug");
    stop();
    /* What one client fetched, the other finds, now that nobody serves it. */
    if (fixture_try("command -v debuginfod-find"))
        fixture_run("[ \"$(debuginfod-find debuginfo " ID ")\" = \"$DEBUGINFOD_CACHE_PATH/" ID
                    "/debuginfo\" ]");
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    unsetenv("http_proxy");
    return fixture_begin(state);
}

static int end(void **state)
{
    stop();
    return fixture_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fetches_and_keeps),
        cmocka_unit_test(refuses_and_says),
        cmocka_unit_test(remembers_that_nobody_has_it),
        cmocka_unit_test(asks_nobody_without_being_told_to),
        cmocka_unit_test(shares_its_cache_folder),
        cmocka_unit_test(works_with_a_real_server),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
