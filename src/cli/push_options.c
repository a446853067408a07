/* The command line of `framewalk push`. framewalk-push(1) and the completions list the same
 * options. */
#include "cli/push.h"

#include "cli/cli.h"

#include <getopt.h>
#include <string.h>

enum { OPTION_TO = 256, OPTION_KEY_FILE, OPTION_CA_FILE, OPTION_PLAIN_HTTP, OPTION_KEEP };

static const struct option long_options[] = {
    {"to", required_argument, NULL, OPTION_TO},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"ca-file", required_argument, NULL, OPTION_CA_FILE},
    {"plain-http", no_argument, NULL, OPTION_PLAIN_HTTP},
    {"keep", no_argument, NULL, OPTION_KEEP},
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
        "Sends reports to a collector. PATH is a folder of reports, which is emptied as the\n"
        "collector takes them, or a report file, which stays. A report that is sent twice is the\n"
        "same one for the collector, so the command can be repeated at any time.\n"
        "\n"
        "      --to URL         the collector: https://host[:port][/path]\n"
        "      --key-file FILE  file with the key; readable by its owner (and group) alone\n"
        "      --ca-file FILE   certificates to trust instead of the system's\n"
        "      --plain-http     allow http:// to other machines\n"
        "      --keep           remove nothing from folders\n"
        "  -n, --dry-run        list what would be sent\n"
        "  -v, --verbose        say what became of each report\n"
        "  -q, --quiet          errors only\n"
        "  -h, --help           this text\n"
        "\n"
        "Exit status: 0 all sent, or nothing to send; 1 not sent; 2 wrong command line; 4 the key\n"
        "was not accepted, or permission denied; 5 a PATH cannot be opened or is no report;\n"
        "8 some were sent, others refused or left for later.\n",
        to);
}

bool push_parse(int argc, char **argv, struct push_command *command)
{
    *command = (struct push_command){0};
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
        case 'n': command->dry_run = true; break;
        case 'v': command->verbose = true; break;
        case 'q': command->quiet = true; break;
        case 'h': command->help = true; return true;
        default: cli_complain("push", long_options, argv, letter); return false;
        }
    }
    command->first_path = optind;
    if (optind == argc) {
        cli_error("which reports? framewalk push FOLDER --to URL");
        return false;
    }
    if (!command->url && !command->dry_run) {
        cli_error("where to? --to URL names the collector (--dry-run lists what would be sent)");
        return false;
    }
    return true;
}
