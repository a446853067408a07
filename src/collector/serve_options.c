/*
 * serve_options.h. `framewalk serve --help` (src/cli/serve.c) is the text for people; a new option
 * is a line here, one there, and one in the man page.
 */
#include "collector/serve_options.h"

#include "collector/http_parse.h"
#include "collector/http_peer.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_number {
    OPTION_BACKUP = 256,
    OPTION_BASE_URL,
    OPTION_CHECK,
    OPTION_CONNECTIONS,
    OPTION_CONVERT_MEMORY,
    OPTION_CONVERT_OUTPUT,
    OPTION_CONVERT_SECONDS,
    OPTION_DATA,
    OPTION_DATABASE,
    OPTION_DISK_RESERVE,
    OPTION_LISTEN,
    OPTION_NEW_TOKEN,
    OPTION_OPEN_SYMBOLS,
    OPTION_REQUESTS,
    OPTION_RESTORE,
    OPTION_ROUTES,
    OPTION_STORE,
    OPTION_TLS_CERT,
    OPTION_TLS_KEY,
    OPTION_TRUSTED_PROXY,
    OPTION_UNPACKED,
    OPTION_UPLOAD,
    OPTION_WORKERS,
};

static const struct option names[] = {
    {"backup", required_argument, NULL, OPTION_BACKUP},
    {"base-url", required_argument, NULL, OPTION_BASE_URL},
    {"check", no_argument, NULL, OPTION_CHECK},
    {"connections-per-address", required_argument, NULL, OPTION_CONNECTIONS},
    {"convert-memory", required_argument, NULL, OPTION_CONVERT_MEMORY},
    {"convert-output", required_argument, NULL, OPTION_CONVERT_OUTPUT},
    {"convert-seconds", required_argument, NULL, OPTION_CONVERT_SECONDS},
    {"data", required_argument, NULL, OPTION_DATA},
    {"database", required_argument, NULL, OPTION_DATABASE},
    {"disk-reserve", required_argument, NULL, OPTION_DISK_RESERVE},
    {"listen", required_argument, NULL, OPTION_LISTEN},
    {"new-token", no_argument, NULL, OPTION_NEW_TOKEN},
    {"open-symbols", no_argument, NULL, OPTION_OPEN_SYMBOLS},
    {"requests-per-minute", required_argument, NULL, OPTION_REQUESTS},
    {"restore", required_argument, NULL, OPTION_RESTORE},
    {"routes", no_argument, NULL, OPTION_ROUTES},
    {"store", required_argument, NULL, OPTION_STORE},
    {"tls-cert", required_argument, NULL, OPTION_TLS_CERT},
    {"tls-key", required_argument, NULL, OPTION_TLS_KEY},
    {"trusted-proxy", required_argument, NULL, OPTION_TRUSTED_PROXY},
    {"unpacked-limit", required_argument, NULL, OPTION_UNPACKED},
    {"upload-limit", required_argument, NULL, OPTION_UPLOAD},
    {"workers", required_argument, NULL, OPTION_WORKERS},
    {NULL, 0, NULL, 0},
};

static const struct collector_options defaults = {
    .data = "framewalk-data",
    .listen = "127.0.0.1",
    .port = 8470,
    .convert_memory = (uint64_t)3 << 30,
    .convert_seconds = 600,
    .convert_output = (uint64_t)4 << 30,
    .upload_bytes = (uint64_t)4 << 30,
    .unpacked_bytes = (uint64_t)10 << 30,
    .disk_reserve = (uint64_t)512 << 20,
    .requests_a_minute = 60000,
};

static bool number(const char *option, const char *text, uint64_t high, uint64_t *value)
{
    if (http_number(text, value) && *value <= high)
        return true;
    fprintf(stderr, "framewalk serve: %s takes a number up to %llu, not '%s'\n", option,
            (unsigned long long)high, text);
    return false;
}

/* 4096, 512M, 4G; units of 1024. */
static bool size(const char *option, const char *text, uint64_t *value)
{
    static const char units[] = "KMGT";
    size_t length = strlen(text);
    const char *unit = length ? strchr(units, text[length - 1]) : NULL;
    char digits[24];
    if (length && length < sizeof digits) {
        snprintf(digits, sizeof digits, "%.*s", (int)(unit ? length - 1 : length), text);
        unsigned shift = unit ? 10 * ((unsigned)(unit - units) + 1) : 0;
        if (http_number(digits, value) && *value <= (UINT64_MAX >> 1) >> shift) {
            *value <<= shift;
            return true;
        }
    }
    fprintf(stderr, "framewalk serve: %s takes a size such as 512M or 4G, not '%s'\n", option,
            text);
    return false;
}

/* "HOST:PORT", "[V6]:PORT", "PORT" */
static bool address(char *text, struct collector_options *options)
{
    char *colon = strrchr(text, ':');
    uint64_t port;
    const char *digits = colon ? colon + 1 : text;
    if (!http_number(digits, &port) || port > 65535) {
        fprintf(stderr,
                "framewalk serve: --listen takes HOST:PORT, such as 127.0.0.1:8470, not "
                "'%s'\n",
                text);
        return false;
    }
    options->port = (unsigned)port;
    if (!colon)
        return true;
    *colon = '\0';
    size_t length = strlen(text);
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        text[length - 1] = '\0';
        text++;
    }
    options->listen = *text ? text : "0.0.0.0";
    return true;
}

static bool proxy(const char *text, struct collector_options *o)
{
    struct http_network network;
    if (o->proxy_count == COLLECTOR_PROXIES_MAX || !http_network_parse(text, &network)) {
        fprintf(stderr,
                "framewalk serve: --trusted-proxy takes an address such as 10.0.0.1 or 10.0.0.0/8 "
                "(%d at the most), not '%s'\n",
                COLLECTOR_PROXIES_MAX, text);
        return false;
    }
    o->proxies[o->proxy_count++] = text;
    return true;
}

/* The value of an option that may hold a password. What is on the command line, all users of the
 * machine can see: it is copied, and crossed out there from behind "scheme://" on. The environment
 * is for the server's user alone. */
static const char *take_secret(char *value, char **kept)
{
    free(*kept);
    *kept = strdup(value);
    if (!*kept) {
        fputs("framewalk serve: out of memory\n", stderr);
        exit(1);
    }
    char *rest = strstr(value, "://");
    if (rest && (strchr(rest, '@') || strcasestr(rest, "password")))
        memset(rest + 3, 'x', strlen(rest + 3));
    return *kept;
}

static bool take(int option, char *value, struct collector_options *o)
{
    static char *database, *store; /* as long as the process */
    uint64_t n = 0;
    bool fine = true;
    switch (option) {
    case OPTION_BASE_URL: o->base_url = value; break;
    case OPTION_CONNECTIONS:
        fine = number("--connections-per-address", value, 2048, &n);
        o->connections_an_address = (unsigned)n;
        break;
    case OPTION_CONVERT_MEMORY: return size("--convert-memory", value, &o->convert_memory);
    case OPTION_CONVERT_OUTPUT: return size("--convert-output", value, &o->convert_output);
    case OPTION_CONVERT_SECONDS:
        return number("--convert-seconds", value, 86400, &o->convert_seconds);
    case OPTION_DATA: o->data = value; break;
    case OPTION_DATABASE: o->database = take_secret(value, &database); break;
    case OPTION_DISK_RESERVE: return size("--disk-reserve", value, &o->disk_reserve);
    case OPTION_LISTEN: return address(value, o);
    case OPTION_OPEN_SYMBOLS: o->open_symbols = true; break;
    case OPTION_REQUESTS:
        fine = number("--requests-per-minute", value, 100000000, &n);
        o->requests_a_minute = (unsigned)n;
        break;
    case OPTION_STORE: o->store = take_secret(value, &store); break;
    case OPTION_TLS_CERT: o->tls_certificate = value; break;
    case OPTION_TLS_KEY: o->tls_key = value; break;
    case OPTION_TRUSTED_PROXY: return proxy(value, o);
    case OPTION_UNPACKED: return size("--unpacked-limit", value, &o->unpacked_bytes);
    case OPTION_UPLOAD: return size("--upload-limit", value, &o->upload_bytes);
    case OPTION_WORKERS:
        fine = number("--workers", value, 1024, &n);
        o->workers = (unsigned)n;
        break;
    default: return false;
    }
    return fine;
}

/* NULL when it is empty or not there. */
static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

enum serve_action serve_options_parse(int argc, char **argv, struct collector_options *options)
{
    enum serve_action action = SERVE_RUN;
    int option;
    *options = defaults;
    options->database = from_environment("FW_DATABASE");
    options->store = from_environment("FW_STORE");
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":", names, NULL)) != -1) {
        if (option == '?' || option == ':') {
            fprintf(
                stderr, "framewalk serve: %s '%s' (framewalk serve --help lists what there is)\n",
                option == ':' ? "a value is missing after" : "unknown option", argv[optind - 1]);
            return SERVE_WRONG;
        }
        if (option == OPTION_NEW_TOKEN)
            action = SERVE_NEW_TOKEN;
        else if (option == OPTION_CHECK)
            action = SERVE_CHECK;
        else if (option == OPTION_ROUTES)
            action = SERVE_ROUTES;
        else if (option == OPTION_BACKUP || option == OPTION_RESTORE) {
            action = option == OPTION_BACKUP ? SERVE_BACKUP : SERVE_RESTORE;
            options->archive = optarg;
        } else if (!take(option, optarg, options))
            return SERVE_WRONG;
    }
    if (optind < argc) {
        fprintf(stderr, "framewalk serve: what is '%s'? It takes options alone\n", argv[optind]);
        return SERVE_WRONG;
    }
    if (!options->tls_certificate != !options->tls_key) {
        fputs("framewalk serve: --tls-cert and --tls-key go together\n", stderr);
        return SERVE_WRONG;
    }
    return action;
}
