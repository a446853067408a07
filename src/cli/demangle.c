/*
 * `framewalk demangle`: a filter as c++filt is one, for all languages. framewalk-demangle(1) and
 * the completions list the same options; those of c++filt and swift-demangle mean what they mean
 * there.
 */
#include "cli/demangle.h"

#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READ_SIZE = 64 * 1024, OPTION_SIMPLIFIED = 256, OPTION_COMPACT, OPTION_HASHES };

static const struct option long_options[] = {
    {"strip-underscore", no_argument, NULL, '_'},
    {"no-strip-underscore", no_argument, NULL, 'n'},
    {"no-params", no_argument, NULL, 'p'},
    {"no-parameters", no_argument, NULL, 'p'},
    {"types", no_argument, NULL, 't'},
    {"no-verbose", no_argument, NULL, 'i'},
    {"format", required_argument, NULL, 's'},
    {"recurse-limit", no_argument, NULL, 'R'},
    {"no-recurse-limit", no_argument, NULL, 'r'},
    {"simplified", no_argument, NULL, OPTION_SIMPLIFIED},
    {"compact", no_argument, NULL, OPTION_COMPACT},
    {"hashes", no_argument, NULL, OPTION_HASHES},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void demangle_usage(FILE *to)
{
    fputs(
        "usage: framewalk demangle [OPTIONS] [NAME...]\n"
        "Shows names of C++, Rust and Swift as the source has them. Without names, standard input\n"
        "is copied to standard output with the names in it replaced.\n"
        "\n"
        "  -p, --no-params         without parameters and return types\n"
        "      --simplified        short: no template or generic arguments either\n"
        "      --hashes            Rust: with the hashes\n"
        "  -t, --types             C++: types alone too (i: int)\n"
        "  -s, --format FORMAT     auto, gnu-v3, rust, swift or none (default: auto)\n"
        "  -_, --strip-underscore  take one underscore off each name\n"
        "  -n, --no-strip-underscore\n"
        "                          do not (default)\n"
        "  -h, --help              this text\n"
        "\n"
        "-i, -r, -R and --compact of c++filt and swift-demangle are accepted: it is always so.\n",
        to);
}

static bool parse_format(struct demangle_filter *filter)
{
    static const struct {
        const char *name;
        enum demangle_language language;
    } formats[] = {{"auto", DEMANGLE_NONE}, {"none", DEMANGLE_NONE}, {"gnu-v3", DEMANGLE_CXX},
                   {"c++", DEMANGLE_CXX},   {"rust", DEMANGLE_RUST}, {"swift", DEMANGLE_SWIFT}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(optarg, formats[i].name) == 0) {
            filter->options.language = formats[i].language;
            filter->off = i == 1;
            return true;
        }
    }
    cli_error("--format wants auto, gnu-v3, rust, swift or none, not '%s'", optarg);
    return false;
}

/* swift-demangle spells its options with one dash too. */
static void respell(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-simplified") == 0)
            argv[i] = (char *)(uintptr_t)"--simplified";
        else if (strcmp(argv[i], "-compact") == 0)
            argv[i] = (char *)(uintptr_t)"--compact";
    }
}

static bool parse_options(int argc, char **argv, struct demangle_filter *filter, bool *help)
{
    respell(argc, argv);
    optind = 1;
    opterr = 0;
    int letter;
    while ((letter = getopt_long(argc, argv, ":_nptis:rRh", long_options, NULL)) != -1) {
        switch (letter) {
        case '_': filter->strip_underscore = true; break;
        case 'n': filter->strip_underscore = false; break;
        case 'p':
            if (filter->options.style == DEMANGLE_FULL)
                filter->options.style = DEMANGLE_NO_PARAMETERS;
            break;
        case 't': filter->options.types = true; break;
        case 's':
            if (!parse_format(filter))
                return false;
            break;
        case OPTION_SIMPLIFIED: filter->options.style = DEMANGLE_SIMPLIFIED; break;
        case OPTION_HASHES: filter->options.hashes = true; break;
        case 'h': *help = true; break;
        case 'i':
        case 'r':
        case 'R':
        case OPTION_COMPACT: break;
        default: cli_complain("demangle", long_options, argv, letter); return false;
        }
    }
    return true;
}

/* Each piece is written before the next is read: a pipe that stays open is answered at once. */
static int filter_input(struct demangle_filter *filter)
{
    static char bytes[READ_SIZE];
    for (;;) {
        ssize_t got = read(STDIN_FILENO, bytes, sizeof bytes);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            cli_error("standard input: %s", strerror(errno));
            return CLI_FAILED;
        }
        if (got > 0)
            demangle_filter_text(filter, bytes, (size_t)got);
        else
            demangle_filter_end(filter);
        if (fflush(filter->out) != 0 || ferror(filter->out)) {
            cli_error("standard output: %s", strerror(errno));
            return CLI_FAILED;
        }
        if (got == 0)
            return CLI_OK;
    }
}

int demangle_main(int argc, char **argv)
{
    static struct demangle_filter filter;
    bool help = false;
    filter.out = stdout;
    if (!parse_options(argc, argv, &filter, &help))
        return CLI_USAGE;
    if (help) {
        demangle_usage(stdout);
        return CLI_OK;
    }
    if (optind == argc)
        return filter_input(&filter);
    for (int i = optind; i < argc; i++)
        puts(demangle_filter_name(&filter, argv[i]));
    if (fflush(stdout) != 0) {
        cli_error("standard output: %s", strerror(errno));
        return CLI_FAILED;
    }
    return CLI_OK;
}
