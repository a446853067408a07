/*
 * `framewalk convert`: debug files to symbol maps.
 */
#include "cli/convert.h"

#include "cli/cli.h"
#include "cli/convert_formats.h"
#include "cli/convert_verify.h"
#include "cli/progress.h"
#include "symbolicate/find.h"
#include "symmap/convert.h"
#include "symmap/save.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    const char *output;
    enum convert_format format;
    unsigned threads;
    bool columns, no_calls, verify, quiet, help;
};

enum { OPTION_THREADS = 256, OPTION_COLUMNS, OPTION_NO_CALLS, OPTION_TO, OPTION_VERIFY };

static const struct option long_options[] = {
    {"output", required_argument, NULL, 'o'},
    {"to", required_argument, NULL, OPTION_TO},
    {"verify", no_argument, NULL, OPTION_VERIFY},
    {"threads", required_argument, NULL, OPTION_THREADS},
    {"columns", no_argument, NULL, OPTION_COLUMNS},
    {"no-calls", no_argument, NULL, OPTION_NO_CALLS},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void convert_usage(FILE *to)
{
    fputs("usage: framewalk convert [OPTIONS] FILE\n"
          "Turns a debug file into a symbol map: small, and searched in well under a microsecond.\n"
          "FILE may also be a symbol map, a GSYM file or Breakpad text.\n"
          "\n"
          "  -o, --output FILE  where to write (default: FILE.symmap, .gsym, .sym here)\n"
          "      --to FORMAT    symmap (default), gsym or breakpad\n"
          "      --verify       look everything up again and compare it with the debug file;\n"
          "                     --verify MAP FILE: only that, of a map that stands\n"
          "      --threads N    read with N threads (default: one per processor)\n"
          "      --columns      keep columns of lines\n"
          "      --no-calls     leave out call sites: no tail-call frames later\n"
          "  -q, --quiet        no summary\n"
          "  -h, --help         this text\n",
          to);
}

static bool parse(int argc, char **argv, struct options *options)
{
    *options = (struct options){0};
    optind = 1;
    int letter;
    while ((letter = getopt_long(argc, argv, "o:j:qh", long_options, NULL)) != -1) {
        switch (letter) {
        case 'o': options->output = optarg; break;
        case 'j':
        case OPTION_THREADS: {
            char *end;
            errno = 0;
            unsigned long number = strtoul(optarg, &end, 10);
            if (errno || *end || end == optarg || number < 1 || number > 256) {
                cli_error("--threads wants a number from 1 to 256, not '%s'", optarg);
                return false;
            }
            options->threads = (unsigned)number;
            break;
        }
        case OPTION_TO:
            if (!convert_format_named(optarg, &options->format))
                return false;
            break;
        case OPTION_VERIFY: options->verify = true; break;
        case OPTION_COLUMNS: options->columns = true; break;
        case OPTION_NO_CALLS: options->no_calls = true; break;
        case 'q': options->quiet = true; break;
        case 'h': options->help = true; break;
        default: return false;
        }
    }
    return true;
}

static void show(void *context, const char *phase, uint64_t done, uint64_t total)
{
    if (total)
        progress_show(context, "%s %.0f %%", phase, 100.0 * (double)done / (double)total);
    else
        progress_show(context, "%s", phase);
}

static void tell(const char *path, const struct convert_report *report, size_t size, double seconds)
{
    fprintf(stderr,
            "%s: %.1f MB from %.1f MB of DWARF in %.2f s: %zu functions, %zu inlined calls, %zu "
            "rows\n",
            path, (double)size / 1e6, (double)report->dwarf_bytes / 1e6, seconds, report->functions,
            report->inlined_calls, report->rows);
    for (int i = 0; i < DWARF_PROBLEM_COUNT; i++)
        if (report->dwarf.count[i])
            fprintf(stderr, "  %llu times: %s\n", (unsigned long long)report->dwarf.count[i],
                    report->dwarf.first[i].message);
}

/* What was found beside the file, and where nothing was when that matters. */
static void tell_files(const char *path, const struct object *object,
                       const struct debug_files *files)
{
    if (files->debug)
        fprintf(stderr, "%s: debug file %s\n", path, object_label(files->debug));
    if (files->debug || debug_files_has_dwarf(object))
        return;
    char *story = debug_files_story(files);
    fprintf(stderr, "%s: symbols only, no debug file: %s\n", path, story ? story : "");
    free(story);
}

static int convert(const char *path, const struct options *options)
{
    struct fw_failure why = {0};
    struct object *object;
    struct debug_files *files = NULL;
    fw_error error = object_open(path, &object, &why);
    if (error != FW_OK) {
        cli_error("%s", why.message);
        return (int)cli_exit_for(error);
    }
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    struct progress progress;
    progress_begin(&progress);
    struct convert_options convert_options = {.threads = options->threads,
                                              .columns = options->columns,
                                              .calls = !options->no_calls,
                                              .progress = show,
                                              .context = &progress};
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct convert_report report;
    const struct debug_find_options find = {
        .debuginfod = true, .progress = show, .context = &progress};
    error = debug_files_find(object, path, &find, &files, &why);
    if (error == FW_OK)
        error = symmap_convert(object, files->debug, &files->companions, &convert_options, &bytes,
                               &size, &report, &why);
    int differ = 0;
    if (error == FW_OK && options->verify)
        differ = convert_verify(&(struct verify_files){object, files}, bytes, size,
                                &convert_options, options->quiet, &error, &why);
    if (error == FW_OK)
        error = convert_to(options->format, &bytes, &size, &why);
    if (error == FW_OK)
        error = symmap_save(options->output, bytes, size, &why);
    progress_end(&progress);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (error != FW_OK)
        cli_error("%s", why.message);
    if (files && !options->quiet)
        tell_files(path, object, files);
    if (error == FW_OK && !options->quiet)
        tell(options->output, &report, size,
             (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9);
    free(bytes);
    debug_files_close(files);
    object_close(object);
    return error == FW_OK ? differ : (int)cli_exit_for(error);
}

/* Symbols that are a map already, or another tool's. */
static int convert_symbols(const char *path, const struct options *options)
{
    struct fw_failure why = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    fw_error error = convert_read_symbols(path, &bytes, &size, &why);
    if (error == FW_OK)
        error = convert_to(options->format, &bytes, &size, &why);
    if (error == FW_OK)
        error = symmap_save(options->output, bytes, size, &why);
    if (error != FW_OK)
        cli_error("%s", why.message);
    else if (!options->quiet)
        fprintf(stderr, "%s: %.1f MB\n", options->output, (double)size / 1e6);
    free(bytes);
    return (int)cli_exit_for(error);
}

int convert_main(int argc, char **argv)
{
    struct options options;
    if (!parse(argc, argv, &options))
        return CLI_USAGE;
    if (options.help) {
        convert_usage(stdout);
        return CLI_OK;
    }
    if (options.verify && optind + 2 == argc)
        return convert_verify_map(argv[optind], argv[optind + 1], options.threads, options.quiet);
    if (optind + 1 != argc) {
        cli_error("one file is wanted (framewalk convert --help)");
        return CLI_USAGE;
    }
    const char *path = argv[optind], *slash = strrchr(path, '/');
    char name[4096];
    if (!options.output) {
        snprintf(name, sizeof name, "%s%s", slash ? slash + 1 : path,
                 convert_suffix(options.format));
        options.output = name;
    }
    return convert_is_symbols(path) ? convert_symbols(path, &options) : convert(path, &options);
}
