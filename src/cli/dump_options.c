/* The command line of `framewalk dump`. framewalk-dump(1) and the completions list the same
 * options. */
#include "cli/cli.h"
#include "cli/dump.h"

#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_SECONDS = 256,
    OPTION_HZ,
    OPTION_CONSISTENT,
    OPTION_DEPTH,
    OPTION_FULL,
    OPTION_NO_FOLD,
    OPTION_NO_DEMANGLE,
    OPTION_NO_LINES,
    OPTION_FORMAT,
    OPTION_JSON,
    OPTION_COLLAPSED,
    OPTION_COLOR,
    OPTION_SYSROOT,
    OPTION_EXE,
};

static const struct option long_options[] = {
    {"seconds", required_argument, NULL, OPTION_SECONDS},
    {"hz", required_argument, NULL, OPTION_HZ},
    {"consistent", no_argument, NULL, OPTION_CONSISTENT},
    {"pid", required_argument, NULL, 'p'},
    {"thread", required_argument, NULL, 't'},
    {"tid", required_argument, NULL, 't'},
    {"depth", required_argument, NULL, OPTION_DEPTH},
    {"full", no_argument, NULL, OPTION_FULL},
    {"no-fold", no_argument, NULL, OPTION_NO_FOLD},
    {"no-names", no_argument, NULL, 'q'},
    {"no-demangle", no_argument, NULL, OPTION_NO_DEMANGLE},
    {"no-lines", no_argument, NULL, OPTION_NO_LINES},
    {"format", required_argument, NULL, OPTION_FORMAT},
    {"json", no_argument, NULL, OPTION_JSON},
    {"collapsed", no_argument, NULL, OPTION_COLLAPSED},
    {"output", required_argument, NULL, 'o'},
    {"color", required_argument, NULL, OPTION_COLOR},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"exe", required_argument, NULL, OPTION_EXE},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void dump_usage(FILE *to)
{
    fputs(
        "usage: framewalk dump [OPTIONS] PID|CORE\n"
        "Prints the stack of every thread of a running process, or of a core file. A number is a\n"
        "process id; write ./123 for a file with such a name.\n"
        "\n"
        "What to capture\n"
        "  -p, --pid PID        this process: the same as the bare number\n"
        "  -t, --thread TID     this thread only; --tid means the same\n"
        "      --depth N        at most N frames of each stack\n"
        "      --full           all frames, however deep (otherwise 1024)\n"
        "      --consistent     stop all threads first, so that all stacks are of one moment\n"
        "      --seconds N      sample for N seconds and merge equal stacks; Ctrl-C ends it early\n"
        "      --hz N           samples a second (default 50)\n"
        "      --exe FILE       core file: the program it is of\n"
        "      --sysroot DIR    core file: where the program's files are\n"
        "\n"
        "How to show it\n"
        "      --format FORMAT  text, json or collapsed; --json and --collapsed for short\n"
        "  -o, --output FILE    write to FILE\n"
        "      --no-fold        show each thread and each frame for itself, also where they are "
        "the same\n"
        "      --no-lines       no lines and inlined functions: reads no debug information\n"
        "  -q, --no-names       addresses in files instead of function names\n"
        "      --no-demangle    names as the symbol table has them\n"
        "  -v, --verbose        addresses, how each frame was found, pauses, full paths, build "
        "ids\n"
        "      --color WHEN     auto, always or never\n"
        "  -h, --help           this text\n"
        "\n"
        "Exit codes: 0 done, 2 usage, 3 no such process, 4 no permission, 5 not a core file,\n"
        "6 truncated core file, 7 process ended meanwhile, 8 something is missing, 1 other.\n",
        to);
}

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    if (text[0] == '\0' || text[strspn(text, "0123456789")] != '\0')
        return false;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    *number = value;
    return errno == 0 && value >= least && value <= most;
}

static bool parse_real(const char *text, double most, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*number) && *number > 0 && *number <= most;
}

static bool bad_value(const char *option, const char *wanted)
{
    cli_error("%s wants %s, not '%s'", option, wanted, optarg);
    return false;
}

static bool parse_format(struct dump_options *options)
{
    static const char *const names[] = {
        [DUMP_TEXT] = "text", [DUMP_JSON] = "json", [DUMP_COLLAPSED] = "collapsed"};
    for (int i = DUMP_TEXT; i <= DUMP_COLLAPSED; i++) {
        if (strcmp(optarg, names[i]) == 0) {
            options->format = (enum dump_format)i;
            return true;
        }
    }
    return bad_value("--format", "text, json or collapsed");
}

static bool parse_color(struct dump_options *options)
{
    static const char *const names[] = {
        [STYLE_AUTO] = "auto", [STYLE_ALWAYS] = "always", [STYLE_NEVER] = "never"};
    for (int i = STYLE_AUTO; i <= STYLE_NEVER; i++) {
        if (strcmp(optarg, names[i]) == 0) {
            options->color = (enum style_when)i;
            return true;
        }
    }
    return bad_value("--color", "auto, always or never");
}

static bool unknown_option(char **argv)
{
    const char *word = argv[optind - 1];
    if (strncmp(word, "--", 2) != 0) {
        cli_error("unknown option '-%c' (framewalk dump --help lists what there is)", optopt);
        return false;
    }
    const char *names[sizeof(long_options) / sizeof(long_options[0])] = {NULL};
    for (size_t i = 0; long_options[i].name != NULL; i++)
        names[i] = long_options[i].name;
    const char *nearest = cli_nearest(word + 2, names);
    if (optopt != 0)
        cli_error("option '%s' takes no value", word);
    else if (nearest != NULL)
        cli_error("unknown option '%s'; did you mean '--%s'?", word, nearest);
    else
        cli_error("unknown option '%s' (framewalk dump --help lists what there is)", word);
    return false;
}

static bool parse_option(int option, char **argv, struct dump_options *options)
{
    uint64_t number;
    switch (option) {
    case OPTION_SECONDS:
        return parse_real(optarg, 1e7, &options->seconds) ||
               bad_value("--seconds", "a number of seconds");
    case OPTION_HZ:
        return parse_real(optarg, 10000, &options->hz) ||
               bad_value("--hz", "samples a second, at most 10000");
    case 'p':
        if (!parse_number(optarg, 1, INT32_MAX, &number))
            return bad_value("--pid", "a process id");
        options->target = optarg;
        options->pid = (int32_t)number;
        return true;
    case 't':
        if (!parse_number(optarg, 1, INT32_MAX, &number))
            return bad_value("--thread", "a thread id");
        options->thread = (fw_thread_id)number;
        return true;
    case OPTION_DEPTH:
        if (!parse_number(optarg, 1, 10000000, &number))
            return bad_value("--depth", "a number of frames");
        options->depth = (uint32_t)number;
        return true;
    case OPTION_FORMAT: return parse_format(options);
    case OPTION_JSON: options->format = DUMP_JSON; return true;
    case OPTION_COLLAPSED: options->format = DUMP_COLLAPSED; return true;
    case OPTION_COLOR: return parse_color(options);
    case OPTION_CONSISTENT: return options->consistent = true;
    case OPTION_FULL: return options->full = true;
    case OPTION_NO_FOLD: return options->no_fold = true;
    case OPTION_NO_DEMANGLE: return options->no_demangle = true;
    case OPTION_NO_LINES: return options->no_lines = true;
    case OPTION_SYSROOT: options->sysroot = optarg; return true;
    case OPTION_EXE: options->executable = optarg; return true;
    case 'o': options->output = optarg; return true;
    case 'q': return options->no_names = true;
    case 'v': return options->verbose = true;
    case 'h': return options->help = true;
    case ':': cli_error("option '%s' wants a value", argv[optind - 1]); return false;
    default: return unknown_option(argv);
    }
}

static bool parse_target(const char *target, struct dump_options *options)
{
    uint64_t pid;
    options->target = target;
    if (target[0] == '\0' || target[strspn(target, "0123456789")] != '\0')
        return true; /* a file */
    if (!parse_number(target, 1, INT32_MAX, &pid)) {
        cli_error("'%s' is no process id (write ./%s for a file)", target, target);
        return false;
    }
    options->pid = (int32_t)pid;
    return true;
}

/* Options that contradict each other, or that say nothing here. */
static bool check(const struct dump_options *options)
{
    bool live = options->pid > 0;
    const char *core_only = options->executable != NULL ? "--exe"
                            : options->sysroot != NULL  ? "--sysroot"
                                                        : NULL;
    const char *live_only = options->seconds > 0  ? "--seconds"
                            : options->hz > 0     ? "--hz"
                            : options->consistent ? "--consistent"
                                                  : NULL;
    if (live && core_only != NULL)
        cli_error("%s is for core files; a process is read where it runs", core_only);
    else if (!live && live_only != NULL)
        cli_error("%s is for running processes; '%s' is a file", live_only, options->target);
    else if (options->hz > 0 && options->seconds <= 0)
        cli_error("--hz needs --seconds: how long to sample");
    else if (options->full && options->depth > 0)
        cli_error("--full and --depth contradict each other");
    else
        return true;
    return false;
}

bool dump_options_parse(int argc, char **argv, struct dump_options *options)
{
    *options = (struct dump_options){0};
    optind = 0; /* glibc: begin anew */
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":hvqo:p:t:", long_options, NULL)) != -1;) {
        if (!parse_option(option, argv, options))
            return false;
        if (options->help)
            return true;
    }
    const bool named = options->target != NULL; /* by --pid */
    if (optind == argc && !named) {
        cli_error("dump wants a process id or a core file (framewalk dump --help says more)");
        return false;
    }
    if (optind + !named < argc) {
        cli_error("dump takes one process or core file; '%s' is one too many",
                  argv[optind + !named]);
        return false;
    }
    if ((!named && !parse_target(argv[optind], options)) || !check(options))
        return false;
    if (options->seconds > 0 && options->hz <= 0)
        options->hz = 50;
    return true;
}
