/* The command line of `framewalk run`. framewalk-run(1) and the completions list the same options.
 */
#include "cli/cli.h"
#include "cli/run.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum {
    OPTION_HANG = 256,
    OPTION_SEVERE,
    OPTION_CALLS,
    OPTION_APP_ONLY,
    OPTION_APP_VERSION,
    OPTION_APP_BUILD,
    OPTION_OUT,
    OPTION_TO,
    OPTION_KEY_FILE,
    OPTION_KEEP,
    OPTION_FOLLOW,
    OPTION_IDLE,
    OPTION_STARTUP,
    OPTION_STARVED,
    OPTION_NO_SCRIPT_NAMES,
    OPTION_DEBUG,
    OPTION_NO_DEBUGINFOD,
    OPTION_JSON,
    OPTION_COLOR,
};

static const struct option long_options[] = {
    {"hang", required_argument, NULL, OPTION_HANG},
    {"severe", required_argument, NULL, OPTION_SEVERE},
    {"calls", required_argument, NULL, OPTION_CALLS},
    {"app-only", no_argument, NULL, OPTION_APP_ONLY},
    {"app-version", required_argument, NULL, OPTION_APP_VERSION},
    {"app-build", required_argument, NULL, OPTION_APP_BUILD},
    {"out", required_argument, NULL, OPTION_OUT},
    {"to", required_argument, NULL, OPTION_TO},
    {"key-file", required_argument, NULL, OPTION_KEY_FILE},
    {"keep", no_argument, NULL, OPTION_KEEP},
    {"follow", no_argument, NULL, OPTION_FOLLOW},
    {"idle", required_argument, NULL, OPTION_IDLE},
    {"startup", no_argument, NULL, OPTION_STARTUP},
    {"starved", no_argument, NULL, OPTION_STARVED},
    {"no-script-names", no_argument, NULL, OPTION_NO_SCRIPT_NAMES},
    {"debug", required_argument, NULL, OPTION_DEBUG},
    {"no-debuginfod", no_argument, NULL, OPTION_NO_DEBUGINFOD},
    {"output", required_argument, NULL, 'o'},
    {"json", no_argument, NULL, OPTION_JSON},
    {"color", required_argument, NULL, OPTION_COLOR},
    {"quiet", no_argument, NULL, 'q'},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void run_usage(FILE *to)
{
    fputs(
        "usage: framewalk run [OPTIONS] [--] PROGRAM [ARGUMENT...]\n"
        "Runs a program that needs no change, watches its main thread for hangs, and tells at the\n"
        "end where it hung, and who called what. Ends as the program does.\n"
        "\n"
        "What to watch\n"
        "      --hang MS          a turn of the main loop longer than this is a hang (default "
        "250,\n"
        "                         at least 50)\n"
        "      --severe MS        and longer than this a severe one (default 2000)\n"
        "      --idle WHICH       which waits are idle: loop, the main loop's own (default), or\n"
        "                         any\n"
        "      --startup          the time before the first wait is a turn, too\n"
        "      --starved          count turns that took long for want of a processor, too\n"
        "      --calls LIST       count calls of these functions, by caller: names with commas\n"
        "                         between them; groups are @files, @network, @processes, @privacy\n"
        "      --app-only         count only calls that the program's own file makes\n"
        "      --follow           watch the processes that it starts, too, and wait for them\n"
        "      --no-script-names  do not ask Python where it is, and do not put the options that\n"
        "                         name JavaScript functions into NODE_OPTIONS for Node\n"
        "\n"
        "What to do with it\n"
        "      --app-version V    the reports are of this version of the program\n"
        "      --app-build B      and of this build\n"
        "      --out DIR          keep the reports in DIR\n"
        "      --keep             keep them in the temporary folder\n"
        "      --to URL           send them to a collector\n"
        "      --key-file FILE    with the key in FILE\n"
        "  -o, --output FILE      write the summary to FILE instead of standard error\n"
        "      --json             the summary as JSON\n"
        "  -q, --quiet            no summary\n"
        "  -v, --verbose          whole stacks, all callers\n"
        "      --debug PATH       debug file or folder of them\n"
        "      --no-debuginfod    do not ask servers for debug files\n"
        "      --color WHEN       auto, always or never\n"
        "  -h, --help             this text\n",
        to);
}

/* ---- groups of --calls ---- */

static const struct {
    const char *name, *list;
} groups[] = {
    {"@files", "open,openat,creat,fopen,freopen,unlink,unlinkat,remove,"
               "rename,renameat,mkdir,rmdir,truncate,chmod,chown,link,symlink"},
    {"@network", "socket,connect,bind,listen,accept,accept4,sendto,sendmsg,getaddrinfo,"
                 "gethostbyname,gethostbyname_r,gethostbyname2_r,getnameinfo,res_query,res_search"},
    {"@processes", "fork,vfork,execve,execv,execvp,execvpe,execl,execlp,execle,fexecve,posix_spawn,"
                   "posix_spawnp,system,popen,kill,ptrace,dlopen"},
    {"@privacy", "gethostname,getlogin,getlogin_r,getpwuid,getpwuid_r,getpwnam,getpwnam_r,"
                 "getifaddrs,gethostid,uname,getenv,secure_getenv,getaddrinfo,connect,"
                 "gtk_clipboard_get,gtk_clipboard_wait_for_text,gdk_pixbuf_get_from_window,"
                 "XGetImage,XGrabKeyboard,XConvertSelection,snd_pcm_open,pa_stream_connect_record"},
};
enum { GROUPS = sizeof groups / sizeof *groups, OF_GROUP = '@' };

static bool add_call(struct run_options *o, const char *name, enum run_reason reason)
{
    for (size_t i = 0; i < o->call_count; i++)
        if (strcmp(o->calls[i], name) == 0) {
            if (reason < o->reasons[i])
                o->reasons[i] = reason;
            return true;
        }
    if (o->call_count == FW_CALLS_NAMES) {
        cli_error("--calls: more than %d functions", FW_CALLS_NAMES);
        return false;
    }
    if (strlen(name) >= STATUS_API_NAME || strpbrk(name, "\n=")) {
        cli_error("--calls: '%s' is no function's name", name);
        return false;
    }
    o->reasons[o->call_count] = reason;
    o->calls[o->call_count++] = name;
    return true;
}

/* The names of a group, each behind OF_GROUP. */
static void write_group(const char *list, FILE *to)
{
    while (*list) {
        const size_t length = strcspn(list, ",");
        fprintf(to, "%c%.*s,", OF_GROUP, (int)length, list);
        list += length + (list[length] == ',');
    }
}

/* The whole text of --calls with groups written out; malloc'ed. */
static char *write_out(const char *list)
{
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    for (const char *at = list + strspn(list, ", "); to && *at; at += strspn(at, ", ")) {
        size_t length = strcspn(at, ", ");
        const char *group = NULL;
        for (size_t i = 0; at[0] == '@' && i < GROUPS; i++)
            if (strlen(groups[i].name) == length && strncmp(at, groups[i].name, length) == 0)
                group = groups[i].list;
        if (at[0] == '@' && !group) {
            cli_error("--calls: there is no group '%.*s' (there are @files, @network, @processes "
                      "and @privacy)",
                      (int)length, at);
            fclose(to);
            free(text);
            return NULL;
        }
        if (group)
            write_group(group, to);
        else
            fprintf(to, "%.*s,", (int)length, at);
        at += length;
    }
    if (!to || fclose(to) != 0) {
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
        return NULL;
    }
    return text;
}

/* What a program that is compiled for large files calls instead. */
static const char *const with_large_files[][2] = {
    {"open", "open64"},   {"openat", "openat64"},   {"creat", "creat64"},
    {"fopen", "fopen64"}, {"freopen", "freopen64"}, {"truncate", "truncate64"},
};

static bool add_with_kin(struct run_options *o, const char *name)
{
    const bool of_group = name[0] == OF_GROUP;
    name += of_group;
    if (!add_call(o, name, of_group ? RUN_OF_GROUP : RUN_ASKED))
        return false;
    for (size_t i = 0; i < sizeof with_large_files / sizeof *with_large_files; i++)
        if (strcmp(with_large_files[i][0], name) == 0)
            return add_call(o, with_large_files[i][1], RUN_VARIANT);
    return true;
}

static bool parse_calls(struct run_options *o)
{
    if (o->call_text) {
        cli_error("--calls was given twice: commas stand between names");
        return false;
    }
    o->call_text = write_out(optarg);
    if (!o->call_text)
        return false;
    for (char *save, *name = strtok_r(o->call_text, ", ", &save); name;
         name = strtok_r(NULL, ", ", &save))
        if (!add_with_kin(o, name))
            return false;
    if (o->call_count == 0)
        cli_error("--calls wants names of functions");
    return o->call_count > 0;
}

/* ---- the rest ---- */

static bool parse_ms(const char *option, unsigned least, unsigned *to)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(optarg, &end, 10);
    if (end != optarg && strcmp(end, "ms") == 0)
        end += 2;
    if (errno || end == optarg || *end || *optarg == '-' || value < least || value > 86400000) {
        cli_error("%s wants milliseconds, at least %u, not '%s'", option, least, optarg);
        return false;
    }
    *to = (unsigned)value;
    return true;
}

/* It goes to the program in a line of its own, and reports keep 127 bytes. */
static bool is_version(const char *option, const char *text)
{
    size_t size = strlen(text);
    bool good = size > 0 && size < 128;
    for (size_t i = 0; i < size && good; i++)
        good = (unsigned char)text[i] >= ' ' && text[i] != 0x7f;
    if (!good)
        cli_error("%s wants a text of 1 to 127 bytes on one line", option);
    return good;
}

static bool parse_idle(struct run_options *o)
{
    o->any_wait = strcmp(optarg, "any") == 0;
    if (o->any_wait || strcmp(optarg, "loop") == 0)
        return true;
    cli_error("--idle wants loop or any, not '%s'", optarg);
    return false;
}

static bool parse_color(struct run_options *o)
{
    static const char *const names[] = {
        [STYLE_AUTO] = "auto", [STYLE_ALWAYS] = "always", [STYLE_NEVER] = "never"};
    for (int i = STYLE_AUTO; i <= STYLE_NEVER; i++)
        if (strcmp(optarg, names[i]) == 0) {
            o->color = (enum style_when)i;
            return true;
        }
    cli_error("--color wants auto, always or never, not '%s'", optarg);
    return false;
}

static bool unknown_option(char **argv)
{
    const char *word = argv[optind - 1];
    const char *names[sizeof long_options / sizeof *long_options] = {NULL};
    for (size_t i = 0; long_options[i].name; i++)
        names[i] = long_options[i].name;
    const char *nearest = strncmp(word, "--", 2) == 0 ? cli_nearest(word + 2, names) : NULL;
    if (nearest)
        cli_error("unknown option '%s'; did you mean '--%s'?", word, nearest);
    else
        cli_error("unknown option '%s' (framewalk run --help lists what there is; -- stands before "
                  "the program)",
                  word);
    return false;
}

static bool parse_option(int option, char **argv, struct run_options *o)
{
    switch (option) {
    case OPTION_HANG: return parse_ms("--hang", 50, &o->hang_ms);
    case OPTION_SEVERE: return parse_ms("--severe", 50, &o->severe_ms);
    case OPTION_CALLS: return parse_calls(o);
    case OPTION_APP_ONLY: return o->app_callers = true;
    case OPTION_APP_VERSION: return is_version("--app-version", o->app_version = optarg);
    case OPTION_APP_BUILD: return is_version("--app-build", o->app_build = optarg);
    case OPTION_OUT: o->out = optarg; return true;
    case OPTION_TO: o->to = optarg; return true;
    case OPTION_KEY_FILE: o->key_file = optarg; return true;
    case OPTION_KEEP: return o->keep = true;
    case OPTION_FOLLOW: return o->follow = true;
    case OPTION_IDLE: return parse_idle(o);
    case OPTION_STARVED: return o->keep_starved = true;
    case OPTION_STARTUP: return o->from_start = true;
    case OPTION_NO_SCRIPT_NAMES: return o->no_script_names = true;
    case OPTION_DEBUG: o->folders[o->folder_count++] = optarg; return true;
    case OPTION_NO_DEBUGINFOD: return o->no_debuginfod = true;
    case OPTION_JSON: return o->json = true;
    case OPTION_COLOR: return parse_color(o);
    case 'o': o->output = optarg; return true;
    case 'q': return o->quiet = true;
    case 'v': return o->verbose = true;
    case 'h': return o->help = true;
    case ':': cli_error("option '%s' wants a value", argv[optind - 1]); return false;
    default: return unknown_option(argv);
    }
}

static bool check(struct run_options *o)
{
    if (!*o->program) {
        cli_error("which program? (framewalk run --help)");
        return false;
    }
    if (o->severe_ms < o->hang_ms)
        o->severe_ms = o->hang_ms;
    if (o->app_callers && o->call_count == 0) {
        cli_error("--app-only is about --calls, which is not given");
        return false;
    }
    if (o->key_file && !o->to) {
        cli_error("--key-file is for --to, which is not given");
        return false;
    }
    return true;
}

bool run_options_parse(int argc, char **argv, struct run_options *o)
{
    int option;
    *o = (struct run_options){.hang_ms = 250, .severe_ms = 2000};
    o->folders = calloc((size_t)argc + 1, sizeof *o->folders);
    if (!o->folders) {
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
        return false;
    }
    optind = 0; /* starts anew */
    opterr = 0;
    /* "+": the first word that is no option is the program, and what follows is the program's. */
    while ((option = getopt_long(argc, argv, "+:o:qvh", long_options, NULL)) != -1)
        if (!parse_option(option, argv, o))
            return false;
    o->program = argv + optind;
    return o->help || check(o);
}

void run_options_free(struct run_options *options)
{
    free(options->folders);
    free(options->call_text);
}
