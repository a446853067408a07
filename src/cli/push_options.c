/* The command line of `framewalk push`. framewalk-push(1) and the completions list the same
 * options. */
#include "cli/push.h"

#include "cli/cli.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_TO = 256,
    OPTION_KEY_FILE,
    OPTION_CA_FILE,
    OPTION_PLAIN_HTTP,
    OPTION_KEEP,
    OPTION_STRIPPED,
    OPTION_WAIT,
    OPTION_WAIT_LIMIT,
    OPTION_JSON,
    OPTION_CHECK_CALLS,
    OPTION_COMPARE_WITH,
    OPTION_PROJECT,
    OPTION_SOURCES,
    OPTION_SOURCE_MAP,
    OPTION_SYSTEM_SOURCES
};

enum { WAIT_LIMIT = 1800, WAIT_LIMIT_MOST = 604800 };

static const struct option long_options[] = {
    {"to", required_argument, NULL, OPTION_TO},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"ca-file", required_argument, NULL, OPTION_CA_FILE},
    {"plain-http", no_argument, NULL, OPTION_PLAIN_HTTP},
    {"keep", no_argument, NULL, OPTION_KEEP},
    {"include-stripped", no_argument, NULL, OPTION_STRIPPED},
    {"wait", no_argument, NULL, OPTION_WAIT},
    {"wait-limit", required_argument, NULL, OPTION_WAIT_LIMIT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"check-calls", required_argument, NULL, OPTION_CHECK_CALLS},
    {"compare-with", required_argument, NULL, OPTION_COMPARE_WITH},
    {"project", required_argument, NULL, OPTION_PROJECT},
    {"sources", no_argument, NULL, OPTION_SOURCES},
    {"source-map", required_argument, NULL, OPTION_SOURCE_MAP},
    {"system-sources", no_argument, NULL, OPTION_SYSTEM_SOURCES},
    {"dry-run", no_argument, NULL, 'n'},
    {"verbose", no_argument, NULL, 'v'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void push_usage(FILE *to)
{
    fputs(
        "usage: framewalk push [OPTIONS] PATH... --to URL\n"
        "Sends reports and debug files to a collector. PATH is a folder of reports, which is\n"
        "emptied as the collector takes them, or a report file, ours or another tool's (.ips,\n"
        ".crash, ...), which stays; a program, library, debug file, symbol map, dSYM, .xcarchive,\n"
        "a zip or tar of these, or any folder: debug files in it are found, and those that the\n"
        "collector lacks are sent. What is sent twice is the same for the collector, so the\n"
        "command can be repeated at any time; an upload that was broken off goes on.\n"
        "\n"
        "      --to URL         the collector: https://host[:port][/path]\n"
        "      --key-file FILE  file with the key; readable by its owner (and group) alone\n"
        "      --ca-file FILE   certificates to trust instead of the system's\n"
        "      --plain-http     allow http:// to other machines\n"
        "      --keep           remove nothing from folders\n"
        "      --include-stripped  also programs and libraries without names (for debuggers)\n"
        "      --sources        also the source files that the debug files name and that are on "
        "this\n"
        "                       machine. Off by default: whoever may fetch debug files from the\n"
        "                       collector can then read them\n"
        "      --source-map OLD=NEW  the folder OLD of the debug files is NEW here; may be "
        "repeated\n"
        "      --system-sources with --sources: those of the compiler and the system as well\n"
        "      --wait           until debug files are converted; say what became of each\n"
        "      --wait-limit SECONDS  the same; ends when the collector told nothing new for that\n"
        "                       long (1800)\n"
        "      --json           print the result as JSON, and no text but errors\n"
        "      --check-calls VERSION  (or FROM..TO) send nothing: list watched functions that "
        "this\n"
        "                       version calls from places the last release before it did not\n"
        "      --compare-with FROM  with --check-calls: this version instead of that release\n"
        "      --project NAME   for a token of several projects: which (default: default)\n"
        "  -n, --dry-run        list what would be sent\n"
        "  -v, --verbose        say what became of each report and file\n"
        "  -q, --quiet          errors only\n"
        "  -h, --help           this text\n"
        "\n"
        "Exit status: 0 all sent, or nothing to send; 1 not sent; 2 wrong command line; 4 the key\n"
        "was not accepted, or permission denied; 5 a PATH cannot be opened, is neither report nor\n"
        "debug file, or (--wait) the collector cannot use it; 8 some were sent, others refused or\n"
        "left for later, names are missing, or (--wait) the collector was not done with all in\n"
        "time; 9 (--check-calls) there are new calls that the project's allow list does not have.\n"
        "A check whose answer is not known ends with 8; one of the first version, which has\n"
        "nothing to be compared with, with 0.\n",
        to);
}

static bool take_source_map(struct push_command *command, const char *text)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || !equals[1]) {
        cli_error("--source-map '%s': OLD=NEW names two folders", text);
        return false;
    }
    if (command->source_map_count == PUSH_SOURCE_MAPS) {
        cli_error("more than %d --source-map", PUSH_SOURCE_MAPS);
        return false;
    }
    command->source_maps[command->source_map_count++] = text;
    return true;
}

static bool seconds(const char *text, unsigned *value)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *value = (unsigned)number;
    if (*text >= '0' && *text <= '9' && !*end && number <= WAIT_LIMIT_MOST)
        return true;
    cli_error("--wait-limit takes seconds, up to %d, not '%s'", WAIT_LIMIT_MOST, text);
    return false;
}

/* --check-calls VERSION or FROM..TO, --compare-with FROM: two versions, or one. */
static bool check_versions(const struct push_command *command)
{
    const char *to = command->check_calls, *from = command->compare_with;
    const char *dots = to ? strstr(to, "..") : NULL;
    if (from && (!to || dots)) {
        cli_error("--compare-with says more about --check-calls VERSION");
        return false;
    }
    if (to && (!*to || dots == to || (dots && !dots[2]) || (from && !*from))) {
        cli_error("a version is missing: --check-calls VERSION, FROM..TO, or VERSION with "
                  "--compare-with FROM");
        return false;
    }
    if ((from && strcmp(from, to) == 0) || (dots && strlen(dots + 2) == (size_t)(dots - to) &&
                                            strncmp(to, dots + 2, (size_t)(dots - to)) == 0)) {
        cli_error("the version would be compared with itself: name another one");
        return false;
    }
    return true;
}

bool push_parse(int argc, char **argv, struct push_command *command)
{
    *command = (struct push_command){.wait_limit = WAIT_LIMIT};
    optind = 1;
    opterr = 0;
    int letter;
    while ((letter = getopt_long(argc, argv, ":nvqh", long_options, NULL)) != -1) {
        switch (letter) {
        case OPTION_TO: command->url = optarg; break;
        case OPTION_KEY_FILE: command->key_file = optarg; break;
        case OPTION_CA_FILE: command->ca_file = optarg; break;
        case OPTION_PLAIN_HTTP: command->plain_http = true; break;
        case OPTION_KEEP: command->keep = true; break;
        case OPTION_STRIPPED: command->stripped_too = true; break;
        case OPTION_WAIT: command->wait = true; break;
        case OPTION_WAIT_LIMIT:
            command->wait = true;
            if (!seconds(optarg, &command->wait_limit))
                return false;
            break;
        case OPTION_JSON: command->json = command->quiet = true; break;
        case OPTION_CHECK_CALLS: command->check_calls = optarg; break;
        case OPTION_COMPARE_WITH: command->compare_with = optarg; break;
        case OPTION_PROJECT: command->project = optarg; break;
        case OPTION_SOURCES: command->sources = true; break;
        case OPTION_SYSTEM_SOURCES: command->system_sources = true; break;
        case OPTION_SOURCE_MAP:
            if (!take_source_map(command, optarg))
                return false;
            break;
        case 'n': command->dry_run = true; break;
        case 'v': command->verbose = true; break;
        case 'q': command->quiet = true; break;
        case 'h': command->help = true; return true;
        default: cli_complain("push", long_options, argv, letter); return false;
        }
    }
    command->first_path = optind;
    if (command->check_calls && optind < argc) {
        cli_error("--check-calls sends nothing: what is '%s'?", argv[optind]);
        return false;
    }
    if (!check_versions(command))
        return false;
    if ((command->source_map_count || command->system_sources) && !command->sources) {
        cli_error("--source-map and --system-sources say more about --sources: it is not there");
        return false;
    }
    if (optind == argc && !command->check_calls) {
        cli_error("which reports or debug files? framewalk push PATH --to URL");
        return false;
    }
    if (!command->url && (!command->dry_run || command->check_calls)) {
        cli_error("where to? --to URL names the collector (--dry-run lists what would be sent)");
        return false;
    }
    return true;
}
