/* The command line of `framewalk groups`. framewalk-groups(1) and the completions list the same
 * options. */
#include "cli/groups.h"

#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum {
    OPTION_TO = 256,
    OPTION_KEY_FILE,
    OPTION_CA_FILE,
    OPTION_PLAIN_HTTP,
    OPTION_PROJECT,
    OPTION_VERSION,
    OPTION_DAYS,
    OPTION_LIMIT,
    OPTION_WAIT,
    OPTION_CALLS,
    OPTION_FULL_PATH,
    OPTION_JSON,
    OPTION_COLOR
};
enum { DAYS = 14, DAYS_MOST = 400, LIMIT = 20, LIMIT_MOST = 500, WAIT_MOST_S = 86400 };

static const struct option long_options[] = {
    {"to", required_argument, NULL, OPTION_TO},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"ca-file", required_argument, NULL, OPTION_CA_FILE},
    {"plain-http", no_argument, NULL, OPTION_PLAIN_HTTP},
    {"project", required_argument, NULL, OPTION_PROJECT},
    {"version", required_argument, NULL, OPTION_VERSION},
    {"days", required_argument, NULL, OPTION_DAYS},
    {"limit", required_argument, NULL, OPTION_LIMIT},
    {"wait", required_argument, NULL, OPTION_WAIT},
    {"calls", no_argument, NULL, OPTION_CALLS},
    {"full-path", no_argument, NULL, OPTION_FULL_PATH},
    {"json", no_argument, NULL, OPTION_JSON},
    {"color", required_argument, NULL, OPTION_COLOR},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void groups_usage(FILE *to)
{
    fputs("usage: framewalk groups --to URL [OPTIONS]\n"
          "Lists what hangs, by the time it blocked people: the collector's groups.\n"
          "\n"
          "      --to URL         the collector: https://host[:port][/path]\n"
          "      --key-file FILE  file with a token that may read; readable by its owner alone\n"
          "      --calls          also who calls watched functions, and whether it is allowed\n"
          "      --wait SECONDS   first until the collector has processed what it was sent\n"
          "      --project NAME   whose groups (default: default)\n"
          "      --version V      of this version alone: \"2.1\", or \"2.1 (7)\" with its build\n"
          "      --days N         that far back (default 14, at most 400)\n"
          "      --limit N        at most that many lines (default 20, at most 500)\n"
          "      --full-path      whole paths of sources\n"
          "      --json           the collector's answers as JSON\n"
          "      --ca-file FILE   certificates to trust instead of the system's\n"
          "      --plain-http     allow http:// to other machines\n"
          "      --color WHEN     auto, always or never\n"
          "  -h, --help           this text\n"
          "\n"
          "Exit status: 0 done; 1 no answer, or no such project or version; 2 wrong command line;\n"
          "4 the token was not accepted; 8 (--wait) the collector was still at work.\n",
          to);
}

static bool parse_number(const char *option, unsigned most, unsigned *number)
{
    char *end;
    unsigned long value = strtoul(optarg, &end, 10);
    if (optarg[0] >= '0' && optarg[0] <= '9' && *end == '\0' && value >= 1 && value <= most) {
        *number = (unsigned)value;
        return true;
    }
    cli_error("%s wants a number from 1 to %u, not '%s'", option, most, optarg);
    return false;
}

static bool parse_color(enum style_when *when)
{
    static const char *const words[] = {"auto", "always", "never"};
    for (int i = STYLE_AUTO; i <= STYLE_NEVER; i++) {
        if (strcmp(optarg, words[i]) == 0) {
            *when = (enum style_when)i;
            return true;
        }
    }
    cli_error("--color wants auto, always or never, not '%s'", optarg);
    return false;
}

/* One option; false when its value is wrong, which was said. */
static bool take(struct groups_command *c, int letter)
{
    switch (letter) {
    case OPTION_TO: c->url = optarg; return true;
    case OPTION_KEY_FILE: c->key_file = optarg; return true;
    case OPTION_CA_FILE: c->ca_file = optarg; return true;
    case OPTION_PLAIN_HTTP: return c->plain_http = true;
    case OPTION_PROJECT: c->project = optarg; return true;
    case OPTION_VERSION: c->version = optarg; return true;
    case OPTION_DAYS: return parse_number("--days", DAYS_MOST, &c->days);
    case OPTION_LIMIT: return parse_number("--limit", LIMIT_MOST, &c->limit);
    case OPTION_WAIT: return parse_number("--wait", WAIT_MOST_S, &c->wait_s);
    case OPTION_CALLS: return c->calls = true;
    case OPTION_FULL_PATH: return c->full_paths = true;
    case OPTION_JSON: return c->json = true;
    case OPTION_COLOR: return parse_color(&c->color);
    default: return c->help = true;
    }
}

bool groups_parse(int argc, char **argv, struct groups_command *command)
{
    *command = (struct groups_command){.days = DAYS, .limit = LIMIT};
    optind = 1;
    opterr = 0;
    int letter;
    while ((letter = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        if (letter == ':' || letter == '?') {
            cli_complain("groups", long_options, argv, letter);
            return false;
        }
        if (!take(command, letter))
            return false;
        if (command->help)
            return true;
    }
    if (optind < argc) {
        cli_error("what is '%s'? framewalk groups --to URL", argv[optind]);
        return false;
    }
    if (!command->url) {
        cli_error("of which collector? --to URL names it");
        return false;
    }
    return true;
}
