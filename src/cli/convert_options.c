/* The command line of `framewalk convert`. */
#include "cli/convert.h"

#include "cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>

enum {
    OPTION_ARCH = 256,
    OPTION_DEBUG,
    OPTION_SYSROOT,
    OPTION_NO_DEBUGINFOD,
    OPTION_NO_SEPARATE,
    OPTION_THREADS,
    OPTION_COLUMNS,
    OPTION_NO_CALLS,
    OPTION_JSON,
    OPTION_TO,
    OPTION_VERIFY
};

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"to", required_argument, NULL, OPTION_TO},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"debug", required_argument, NULL, OPTION_DEBUG},
    {"dsym", required_argument, NULL, OPTION_DEBUG},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"no-debuginfod", no_argument, NULL, OPTION_NO_DEBUGINFOD},
    {"no-separate", no_argument, NULL, OPTION_NO_SEPARATE},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"columns", no_argument, NULL, OPTION_COLUMNS},
    {"no-calls", no_argument, NULL, OPTION_NO_CALLS},
    {"json", no_argument, NULL, OPTION_JSON},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void convert_usage(FILE *to)
{
    fputs("usage: framewalk convert [OPTIONS] FILE...\n"
          "Turns debug files (ELF, Mach-O, dSYM bundles) into symbol maps: small, and searched in\n"
          "well under a microsecond. A file of several architectures becomes several maps.\n"
          "\n"
          "  -o, --output PATH    the map to write, or a folder for them (default: NAME.symmap, of "
          "a\n"
          "                       fat file NAME-ARCH.symmap, in the current folder)\n"
          "      --to FORMAT      symmap (as it is), gsym or breakpad; FILE may also be one of "
          "these\n"
          "      --verify         look everything up again and compare it with the debug file;\n"
          "                       --verify MAP FILE: only that, of a map that stands\n"
          "      --arch ARCH      only this slice of a fat file\n"
          "\n"
          "Where to look for the debug information of a program\n"
          "      --debug PATH     a dSYM, debug file or folder tree, also of the object files that "
          "a\n"
          "                       Mach-O program was linked of (also --dsym; repeatable)\n"
          "      --sysroot DIR    before the system's own places\n"
          "      --no-debuginfod  do not ask the servers of DEBUGINFOD_URLS\n"
          "      --no-separate    only FILE itself\n"
          "\n"
          "What to keep\n"
          "      --columns        columns of lines\n"
          "      --no-calls       no call sites: no tail-call frames later\n"
          "\n"
          "  -j, --threads N      read with N threads (default: one per processor)\n"
          "      --json           the summary as JSON on standard output, one line for each map\n"
          "  -q, --quiet          no summary\n"
          "  -h, --help           this text\n",
          to);
}

static bool parse_threads(const char *text, struct convert_command *command)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    if (errno || *end || end == text || number < 1 || number > 256) {
        cli_error("--threads wants a number from 1 to 256, not '%s'", text);
        return false;
    }
    command->threads = (unsigned)number;
    return true;
}

bool convert_parse(int argc, char **argv, struct convert_command *command)
{
    *command = (struct convert_command){.debug = calloc((size_t)argc + 1, sizeof(char *))};
    size_t debug_count = 0;
    bool good = command->debug != NULL;
    int letter;
    optind = 1;
    opterr = 0;
    while (good && (letter = getopt_long(argc, argv, ":o:j:qh", long_options, NULL)) != -1) {
        switch (letter) {
        case 'o': command->output = optarg; break;
        case OPTION_TO: good = convert_format_named(optarg, &command->format); break;
        case OPTION_VERIFY: command->verify = true; break;
        case OPTION_ARCH: command->arch = optarg; break;
        case OPTION_DEBUG: command->debug[debug_count++] = optarg; break;
        case OPTION_SYSROOT: command->sysroot = optarg; break;
        case OPTION_NO_DEBUGINFOD: command->no_debuginfod = true; break;
        case OPTION_NO_SEPARATE: command->no_separate = true; break;
        case 'j':
        case OPTION_THREADS: good = parse_threads(optarg, command); break;
        case OPTION_COLUMNS: command->columns = true; break;
        case OPTION_NO_CALLS: command->no_calls = true; break;
        case OPTION_JSON: command->json = true; break;
        case 'q': command->quiet = true; break;
        case 'h': command->help = true; break;
        default: cli_complain("convert", long_options, argv, letter); good = false;
        }
    }
    command->first_file = optind;
    if (good && !command->help && optind == argc) {
        cli_error("a file is wanted (framewalk convert --help)");
        good = false;
    }
    return good;
}
