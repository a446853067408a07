/*
 * The command line of `framewalk symbolicate`. framewalk-symbolicate(1) and the completions list
 * the same options.
 *
 * atos spells long options with one dash (-arch, -offset, -fullPath); those words are rewritten
 * before getopt sees them. For atos -s is a slide and -f a file of addresses, for addr2line "base
 * names" and "functions": which is meant follows from -o.
 */
#include "cli/cli.h"
#include "cli/symbolicate.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OPTION_ARCH = 256,
    OPTION_OUTPUT,
    OPTION_DEBUG,
    OPTION_SYSROOT,
    OPTION_CACHE,
    OPTION_NO_CACHE,
    OPTION_NO_DEBUGINFOD,
    OPTION_NO_SEPARATE,
    OPTION_OFFSET,
    OPTION_FILE_OFFSET,
    OPTION_RETURN,
    OPTION_JSON,
    OPTION_TO,
    OPTION_COLLAPSED,
    OPTION_HEADER,
    OPTION_NO_DEMANGLE,
    OPTION_SIMPLIFIED,
    OPTION_COLUMNS,
    OPTION_FULL_PATH,
    OPTION_COLOR,
    OPTION_THREADS,
    OPTION_NO_INLINES,
};

static const struct option long_options[] = {
    {"exe", required_argument, NULL, 'e'},
    {"functions", no_argument, NULL, 'f'},
    {"inlines", no_argument, NULL, 'i'},
    {"no-inlines", no_argument, NULL, OPTION_NO_INLINES},
    {"pretty-print", no_argument, NULL, 'p'},
    {"addresses", no_argument, NULL, 'a'},
    {"basenames", no_argument, NULL, 's'},
    {"demangle", optional_argument, NULL, 'C'},
    {"section", required_argument, NULL, 'j'},
    {"arch", required_argument, NULL, OPTION_ARCH},
    {"output", required_argument, NULL, OPTION_OUTPUT},
    {"debug", required_argument, NULL, OPTION_DEBUG},
    {"dsym", required_argument, NULL, OPTION_DEBUG},
    {"sysroot", required_argument, NULL, OPTION_SYSROOT},
    {"cache", required_argument, NULL, OPTION_CACHE},
    {"no-cache", no_argument, NULL, OPTION_NO_CACHE},
    {"no-debuginfod", no_argument, NULL, OPTION_NO_DEBUGINFOD},
    {"no-separate", no_argument, NULL, OPTION_NO_SEPARATE},
    {"offset", no_argument, NULL, OPTION_OFFSET},
    {"file-offset", no_argument, NULL, OPTION_FILE_OFFSET},
    {"return", no_argument, NULL, OPTION_RETURN},
    {"json", no_argument, NULL, OPTION_JSON},
    {"to", required_argument, NULL, OPTION_TO},
    {"collapsed", no_argument, NULL, OPTION_COLLAPSED},
    {"no-demangle", no_argument, NULL, OPTION_NO_DEMANGLE},
    {"simplified", no_argument, NULL, OPTION_SIMPLIFIED},
    {"columns", no_argument, NULL, OPTION_COLUMNS},
    {"fullPath", no_argument, NULL, OPTION_FULL_PATH},
    {"full-path", no_argument, NULL, OPTION_FULL_PATH},
    {"printHeader", no_argument, NULL, OPTION_HEADER},
    {"color", required_argument, NULL, OPTION_COLOR},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void symbolicate_usage(FILE *to)
{
    fputs("usage: framewalk symbolicate [OPTIONS] REPORT\n"
          "       framewalk symbolicate [OPTIONS] FILE [ADDRESS...]\n"
          "Puts functions, files, lines and inlined calls into a report (Framewalk's .fwr,\n"
          "Apple .ips and .crash, MetricKit, sample, spindump, KSCrash, sanitizers, perf\n"
          "script, framewalk dump --json), or names addresses of an image (ELF, Mach-O,\n"
          "dSYM, symbol map).\n"
          "Which of the two a file is, is seen from its contents; - or none: a report on\n"
          "standard input. Addresses that are not given are read from there.\n"
          "\n"
          "Where to look\n"
          "      --debug PATH     a dSYM, debug file, symbol map, or folder of them\n"
          "                       (also --dsym; repeatable)\n"
          "      --sysroot DIR    before the paths of a report and the system's own places\n"
          "      --no-separate    only FILE itself\n"
          "      --no-debuginfod  do not ask the servers of DEBUGINFOD_URLS\n"
          "      --cache DIR      where symbol maps are kept; --no-cache: nowhere\n"
          "      --threads N      for conversions (default: one per processor)\n"
          "\n"
          "Addresses (hexadecimal, or FILE+0xOFFSET)\n"
          "      --offset         count from the image's base, not as linked\n"
          "      --file-offset    are offsets in the file\n"
          "      --return         are return addresses: the call before each is meant\n"
          "  -l LOAD              are runtime addresses of the image loaded at LOAD (atos)\n"
          "  -j, --section NAME   are offsets in this section\n"
          "      --arch ARCH      the slice of a fat file\n"
          "\n"
          "How to show it\n"
          "      --to FORM        json; of a report also text (for people), crash (Apple's\n"
          "                       text), collapsed, speedscope, pprof or firefox\n"
          "      --json, --collapsed\n"
          "                       the same as --to json, --to collapsed\n"
          "      --no-inlines     the function that is really there only\n"
          "      --no-demangle    names as the symbol table has them\n"
          "      --simplified     short names\n"
          "      --columns        lines with columns\n"
          "      --full-path      files with their folders in Apple's formats, too\n"
          "  -s, --basenames      files without their folders\n"
          "      --output FILE    write to FILE\n"
          "      --color WHEN     auto, always or never\n"
          "  -v, --verbose        which files were used, and every place that was looked at\n"
          "  -h, --help           this text\n"
          "\n"
          "As addr2line: -e FILE [-a] [-f] [-i] [-p] [-s] [-C] [-j SECTION] [ADDRESS...]\n"
          "As atos:      -o FILE [-arch A] [-l LOAD | -s SLIDE | -offset] [-i]\n"
          "              [-d DELIMITER] [-fullPath] [-f ADDRESSFILE] [ADDRESS...]\n"
          "\n"
          "Exit code 8: an answer was written, but files of the program were not found.\n",
          to);
}

static bool parse_address(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 16);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-';
}

/* One dash for a long word, as atos has it. */
static void respell(int argc, char **argv)
{
    static const struct {
        const char *from, *to;
    } words[] = {{"-arch", "--arch"},
                 {"-offset", "--offset"},
                 {"-fullPath", "--fullPath"},
                 {"-printHeader", "--printHeader"},
                 {"--inlineFrames", "--inlines"},
                 {"-inlineFrames", "--inlines"}};
    for (int i = 1; i < argc; i++)
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (strcmp(argv[i], words[k].from) == 0)
                argv[i] = (char *)(uintptr_t)words[k].to;
}

/* -o says that -s takes a slide and -f a file. The words stay in their order. */
static bool is_atos(int argc, char **argv)
{
    bool atos = false;
    int letter;
    optind = 0;
    opterr = 0;
    while ((letter = getopt_long(argc, argv, "-:e:o:l:sj:d:fipaCvh", long_options, NULL)) != -1)
        atos |= letter == 'o';
    return atos;
}

static bool wants_address(char letter, uint64_t *value)
{
    if (parse_address(optarg, value))
        return true;
    cli_error("-%c wants an address, not '%s'", letter, optarg);
    return false;
}

static bool parse_color(enum style_when *color)
{
    static const char *const names[] = {
        [STYLE_AUTO] = "auto", [STYLE_ALWAYS] = "always", [STYLE_NEVER] = "never"};
    for (int i = STYLE_AUTO; i <= STYLE_NEVER; i++) {
        if (strcmp(optarg, names[i]) == 0) {
            *color = (enum style_when)i;
            return true;
        }
    }
    cli_error("--color wants auto, always or never, not '%s'", optarg);
    return false;
}

const char *symbolicate_form_name(enum symbolicate_form form)
{
    static const char *const names[FORMS] = {
        [FORM_JSON] = "json",           [FORM_CRASH] = "crash",
        [FORM_COLLAPSED] = "collapsed", [FORM_SPEEDSCOPE] = "speedscope",
        [FORM_PPROF] = "pprof",         [FORM_FIREFOX] = "firefox",
        [FORM_PEOPLE] = "text",
    };
    return names[form];
}

static bool parse_form(const char *word, enum symbolicate_form *form)
{
    for (int i = FORM_JSON; i < FORMS; i++) {
        if (strcmp(word, symbolicate_form_name((enum symbolicate_form)i)) == 0) {
            *form = (enum symbolicate_form)i;
            return true;
        }
    }
    cli_error("--to wants json, text, crash, collapsed, speedscope, pprof or firefox, not '%s'",
              word);
    return false;
}

static bool parse_threads(unsigned *threads)
{
    char *end;
    unsigned long number = strtoul(optarg, &end, 10);
    if (*end != '\0' || end == optarg || number < 1 || number > 256) {
        cli_error("--threads wants a number from 1 to 256, not '%s'", optarg);
        return false;
    }
    *threads = (unsigned)number;
    return true;
}

struct asked { /* what is on or off by itself, which depends on the manner */
    bool inlines, no_inlines, demangle, no_demangle;
};

static bool parse_letter(int letter, bool atos, struct symbolicate_options *o, struct asked *asked)
{
    switch (letter) {
    case 'e':
        o->manner = MANNER_ADDR2LINE;
        o->file = optarg;
        return true;
    case 'o':
        o->manner = MANNER_ATOS;
        o->file = optarg;
        return true;
    case 'l': o->has_load = true; return wants_address('l', &o->load);
    case 's':
        o->basenames = !atos;
        o->has_slide = atos;
        return !atos || wants_address('s', &o->slide);
    case 'j': o->section = optarg; return true;
    case 'd': o->delimiter = optarg; return true;
    case 'f':
        o->functions = !atos;
        o->address_file = atos ? optarg : NULL;
        return true;
    case 'i': asked->inlines = true; return true;
    case 'p': o->pretty = true; return true;
    case 'a': o->addresses = true; return true;
    case 'C': asked->demangle = true; return true;
    case 'v': o->verbose = true; return true;
    case 'h': o->help = true; return true;
    case OPTION_ARCH: o->arch = optarg; return true;
    case OPTION_OUTPUT: o->output = optarg; return true;
    case OPTION_DEBUG: o->folders[o->folder_count++] = optarg; return true;
    case OPTION_SYSROOT: o->sysroot = optarg; return true;
    case OPTION_CACHE: o->cache = optarg; return true;
    case OPTION_NO_CACHE: o->no_cache = true; return true;
    case OPTION_NO_DEBUGINFOD: o->no_debuginfod = true; return true;
    case OPTION_NO_SEPARATE: o->no_separate = true; return true;
    case OPTION_OFFSET: o->offsets = true; return true;
    case OPTION_FILE_OFFSET: o->file_offsets = true; return true;
    case OPTION_RETURN: o->returns = true; return true;
    case OPTION_JSON: return parse_form("json", &o->form);
    case OPTION_COLLAPSED: return parse_form("collapsed", &o->form);
    case OPTION_TO: return parse_form(optarg, &o->form);
    case OPTION_HEADER: return true; /* of processes, which atos can ask */
    case OPTION_NO_DEMANGLE: asked->no_demangle = true; return true;
    case OPTION_SIMPLIFIED: o->simplified = true; return true;
    case OPTION_COLUMNS: o->columns = true; return true;
    case OPTION_FULL_PATH: o->full_paths = true; return true;
    case OPTION_NO_INLINES: asked->no_inlines = true; return true;
    case OPTION_COLOR: return parse_color(&o->color);
    case OPTION_THREADS: return parse_threads(&o->threads);
    default: return false;
    }
}

/* What does not go together. */
static bool check(const struct symbolicate_options *o, int argc)
{
    if (o->section && (o->offsets || o->file_offsets || o->has_load || o->has_slide))
        cli_error("--section goes without --offset, --file-offset, -l and a slide");
    else if (o->offsets + o->file_offsets + o->has_load + o->has_slide > 1)
        cli_error("only one of --offset, --file-offset, -l and a slide can be meant");
    else if (o->form != FORM_TEXT && o->form != FORM_JSON &&
             (o->manner != MANNER_OWN || o->first_address < argc))
        cli_error("--to %s is for reports", symbolicate_form_name(o->form));
    else
        return true;
    return false;
}

/* A wrong name would be searched in vain for ever. */
static bool check_places(const struct symbolicate_options *o)
{
    for (size_t i = 0; i < o->folder_count; i++) {
        if (access(o->folders[i], R_OK) != 0) {
            cli_error("--debug %s: %s", o->folders[i], strerror(errno));
            return false;
        }
    }
    return true;
}

static bool parse_all(int argc, char **argv, bool atos, struct symbolicate_options *o)
{
    const char *letters = atos ? ":e:o:l:s:j:d:f:ipaCvh" : ":e:o:l:sj:d:fipaCvh";
    struct asked asked = {0};
    int letter;
    optind = 0; /* starts anew */
    opterr = 0;
    while ((letter = getopt_long(argc, argv, letters, long_options, NULL)) != -1) {
        if (letter == '?' || letter == ':') {
            cli_complain("symbolicate", long_options, argv, letter);
            return false;
        }
        if (!parse_letter(letter, atos, o, &asked))
            return false;
    }
    /* addr2line shows neither inlined calls nor demangled names unless asked to, atos no inlined
     * calls. */
    o->inlines = (o->manner == MANNER_OWN || asked.inlines) && !asked.no_inlines;
    o->demangle = (o->manner != MANNER_ADDR2LINE || asked.demangle) && !asked.no_demangle;
    if (!o->file && optind < argc)
        o->file = argv[optind++];
    o->first_address = optind;
    return o->help || (check(o, argc) && check_places(o));
}

bool symbolicate_options_parse(int argc, char **argv, struct symbolicate_options *o)
{
    *o = (struct symbolicate_options){0};
    o->folders = calloc((size_t)argc + 1, sizeof *o->folders);
    if (!o->folders) {
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
        return false;
    }
    respell(argc, argv);
    return parse_all(argc, argv, is_atos(argc, argv), o);
}

void symbolicate_options_free(struct symbolicate_options *options)
{
    free(options->folders);
}
