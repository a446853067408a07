/* framewalk COMMAND: finds the command. Its arguments are the command's own business. */
#include "cli/cli.h"
#include "cli/convert.h"
#include "cli/demangle.h"
#include "cli/dump.h"
#include "cli/groups.h"
#include "cli/inspect.h"
#include "cli/push.h"
#include "cli/room.h"
#include "cli/run.h"
#include "cli/serve.h"
#include "cli/symbolicate.h"
#include "object/codecs.h"

#include <string.h>

struct command {
    const char *name;
    const char *arguments;
    const char *summary;
    int (*run)(int argc, char **argv);
    void (*usage)(FILE *to);
};

static int help_main(int argc, char **argv);

static const struct command commands[] = {
    {"dump", "PID|CORE", "stacks of all threads of a process or a core file", dump_main,
     dump_usage},
    {"run", "PROGRAM...", "a program under watch: where it hangs, who calls what", run_main,
     run_usage},
    {"symbolicate", "FILE [ADDRESS...]",
     "a crash report, or addresses, to functions, files and lines", symbolicate_main,
     symbolicate_usage},
    {"convert", "FILE", "a debug file to a symbol map", convert_main, convert_usage},
    {"inspect", "FILE...", "what is in a binary, debug file, symbol map or report", inspect_main,
     inspect_usage},
    {"demangle", "[NAME...]", "mangled names, or those in standard input, to readable ones",
     demangle_main, demangle_usage},
    {"push", "PATH... --to URL", "send reports and debug files to a collector", push_main,
     push_usage},
    {"groups", "--to URL", "what a collector's reports say: what hangs most, who calls what",
     groups_main, groups_usage},
    {"serve", "", "the collector: takes reports, groups hangs, shows them", serve_main,
     serve_usage},
    {"help", "[COMMAND]", "what a command does and takes", help_main, NULL},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void usage(FILE *to)
{
    fputs("usage: framewalk COMMAND [ARGUMENTS]\n"
          "Tells what every thread of a program is doing, who called what, and why it hangs.\n\n",
          to);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(to, "  %-11s %-17s %s\n", commands[i].name, commands[i].arguments,
                commands[i].summary);
    fputs("\nframewalk COMMAND --help says more; so does man framewalk.\n", to);
}

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int print_version(void)
{
    puts("framewalk " FW_VERSION);
    return CLI_OK;
}

static int unknown(const char *word)
{
    if (strcmp(word, "version") == 0) {
        cli_error("'version' is not a command; did you mean 'framewalk --version'?");
        return CLI_USAGE;
    }
    const char *names[COMMANDS + 1] = {NULL};
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *nearest = cli_nearest(word, names);
    if (word[0] == '-')
        cli_error("unknown option '%s' (framewalk help lists what there is)", word);
    else if (word[0] != '\0' && word[strspn(word, "0123456789")] == '\0')
        cli_error("'%s' is not a command; did you mean 'framewalk dump %s'?", word, word);
    else if (nearest != NULL)
        cli_error("'%s' is not a command; did you mean '%s'?", word, nearest);
    else
        cli_error("'%s' is not a command (framewalk help lists them)", word);
    return CLI_USAGE;
}

static int help_main(int argc, char **argv)
{
    if (argc < 2) {
        usage(stdout);
        return CLI_OK;
    }
    const struct command *command = find(argv[1]);
    if (command == NULL)
        return unknown(argv[1]);
    if (command->usage != NULL)
        command->usage(stdout);
    else
        usage(stdout);
    return CLI_OK;
}

int main(int argc, char **argv)
{
    object_set_codecs(&object_codecs_all);
    if (argc < 2) {
        usage(stderr);
        return CLI_USAGE;
    }
    const char *word = argv[1];
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help_main(1, argv);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_version();
    const struct command *command = find(word);
    /* --version of groups chooses reports. */
    if (command != NULL && command->run != groups_main && argc == 3 &&
        strcmp(argv[2], "--version") == 0)
        return print_version();
    return command != NULL ? room_for(command->run, argc - 1, argv + 1) : unknown(word);
}
