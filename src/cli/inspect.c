#include "cli/inspect.h"

#include "base/hex.h"
#include "cli/cli.h"
#include "cli/convert_formats.h"
#include "symbolicate/debug_file.h"
#include "symmap/read_file.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_JSON = 256, OPTION_FUNCTIONS, OPTION_FILES, OPTION_ADDRESS, OPTION_COLOR };

static const struct option long_options[] = {
    {"json", no_argument, NULL, OPTION_JSON},
    {"functions", no_argument, NULL, OPTION_FUNCTIONS},
    {"files", no_argument, NULL, OPTION_FILES},
    {"address", required_argument, NULL, OPTION_ADDRESS},
    {"color", optional_argument, NULL, OPTION_COLOR},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

void inspect_usage(FILE *to)
{
    fputs("usage: framewalk inspect [OPTIONS] FILE...\n"
          "Tells what is in a program, library, debug file, dSYM bundle, symbol map, GSYM file,\n"
          "Breakpad symbol file, crash report, Framewalk report or folder of such reports.\n"
          "\n"
          "      --json        one line of JSON for each file, or slice of a file\n"
          "      --color WHEN  auto, always or never\n"
          "  -h, --help        this text\n"
          "\n"
          "Of symbols\n"
          "      --functions   list the functions\n"
          "      --files       list the source files\n"
          "      --address A   what is known at this link-time address\n",
          to);
}

static bool parse_color(const char *text, enum style_when *when)
{
    static const char *const names[] = {"auto", "always", "never"};
    for (int i = 0; text && i < 3; i++)
        if (strcmp(text, names[i]) == 0) {
            *when = (enum style_when)i;
            return true;
        }
    if (!text)
        *when = STYLE_ALWAYS;
    else
        cli_error("--color wants auto, always or never, not '%s'", text);
    return !text;
}

static bool parse_address(const char *text, struct inspect_options *options)
{
    char *end;
    errno = 0;
    options->address = strtoull(text, &end, 16);
    options->has_address = true;
    if (!errno && !*end && end != text && text[0] != '-')
        return true;
    cli_error("--address wants a hexadecimal number, not '%s'", text);
    return false;
}

/* 1: help was asked for; -1: the command line is wrong. */
static int parse(int argc, char **argv, struct inspect_options *options)
{
    bool good = true;
    int letter;
    optind = 1;
    opterr = 0;
    while (good && (letter = getopt_long(argc, argv, ":h", long_options, NULL)) != -1) {
        switch (letter) {
        case OPTION_JSON: options->json = true; break;
        case OPTION_FUNCTIONS: options->functions = true; break;
        case OPTION_FILES: options->files = true; break;
        case OPTION_ADDRESS: good = parse_address(optarg, options); break;
        case OPTION_COLOR: good = parse_color(optarg, &options->color); break;
        case 'h': return 1;
        default: cli_complain("inspect", long_options, argv, letter); good = false;
        }
    }
    if (good && optind == argc) {
        cli_error("a file is wanted (framewalk inspect --help)");
        good = false;
    }
    return good ? 0 : -1;
}

/* ---- JSON ---- */

void inspect_text(json_t *to, const char *key, const char *text)
{
    if (!text)
        return;
    json_t *value = json_string(text);
    if (!value) {
        size_t size = 4 * strlen(text) + 1;
        char *clean = malloc(size);
        if (clean)
            style_clean(text, clean, size);
        value = json_string(clean ? clean : "");
        free(clean);
    }
    json_object_set_new(to, key, value);
}

void inspect_number(json_t *to, const char *key, uint64_t number)
{
    json_object_set_new(to, key, json_integer((json_int_t)number));
}

void inspect_hex(json_t *to, const char *key, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "0x%llx", (unsigned long long)number);
    inspect_text(to, key, text);
}

void inspect_bytes(json_t *to, const char *key, const void *bytes, size_t size)
{
    char text[129];
    hex_text(text, bytes, size < 64 ? size : 64);
    if (size)
        inspect_text(to, key, text);
}

json_t *inspect_table(json_t *to, const char *key)
{
    json_t *table = json_array();
    json_object_set_new(to, key, table);
    return table;
}

json_t *inspect_entry(json_t *table)
{
    json_t *entry = json_object();
    json_array_append_new(table, entry);
    return entry;
}

/* ---- files ---- */

struct show {
    const struct inspect_options *options;
    struct style style;
    const char *path;
    bool several; /* descriptions were printed before */
    int result;
};

static void print(struct show *s, json_t *description)
{
    if (s->options->json) {
        json_dumpf(description, stdout, JSON_COMPACT);
        putchar('\n');
    } else {
        if (s->several)
            putchar('\n');
        inspect_print(description, &s->style);
    }
    s->several = true;
    json_decref(description);
}

static void failed(struct show *s, fw_error error, const struct fw_failure *why)
{
    cli_error("%s", why->message[0] ? why->message : fw_error_text(error));
    if (s->result == CLI_OK)
        s->result = (int)cli_exit_for(error);
}

static const char *kind_of(struct span bytes)
{
    enum debug_file_form form = debug_file_form(bytes);
    return form == DEBUG_FILE_GSYM       ? "GSYM"
           : form == DEBUG_FILE_BREAKPAD ? "Breakpad symbols"
                                         : "symbol map";
}

static void show_symbols(struct show *s)
{
    struct fw_failure why = {0};
    uint8_t *file = NULL, *bytes = NULL;
    size_t file_size, size;
    struct symmap *map = NULL;
    fw_error error = symmap_read_file(s->path, &file, &file_size, &why);
    if (error == FW_OK)
        error = convert_read_symbols(s->path, &bytes, &size, &why);
    if (error == FW_OK)
        error = symmap_open_bytes((struct span){bytes, size}, true, s->path, &map, &why);
    if (error == FW_OK) {
        struct span whole = {file, file_size};
        bool own = size == file_size && memcmp(file, bytes, size) == 0;
        json_t *about = json_object();
        inspect_text(about, "file", s->path);
        inspect_text(about, "kind", kind_of(whole));
        inspect_number(about, "size", file_size);
        if (!inspect_map(map, own ? whole : (struct span){0}, s->options, about) &&
            s->result == CLI_OK)
            s->result = CLI_NO_PROCESS;
        print(s, about);
    } else {
        failed(s, error, &why);
    }
    symmap_close(map);
    free(bytes);
    free(file);
}

static bool show_slice(void *context, const struct object_slice *slice)
{
    struct show *s = context;
    struct fw_failure why = {0};
    struct object *object;
    const struct object_choice choice = {.arch = slice->uuid.size ? NULL : slice->arch,
                                         .uuid = slice->uuid};
    fw_error error = object_open_path(s->path, &choice, &object, &why);
    if (error != FW_OK) {
        failed(s, error, &why);
        return true;
    }
    json_t *about = json_object();
    inspect_text(about, "file", s->path);
    error = inspect_object(object, about, &why);
    if (object_type(object) == OBJECT_CORE)
        inspect_text(about, "note", "framewalk dump shows the stacks in it");
    if (error != FW_OK)
        failed(s, error, &why);
    print(s, about);
    object_close(object);
    return true;
}

static bool show_report(struct show *s)
{
    struct fw_failure why = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    json_t *about = json_object();
    inspect_text(about, "file", s->path);
    bool known = symmap_read_file(s->path, &bytes, &size, &why) == FW_OK &&
                 inspect_report((struct span){bytes, size}, about, &why);
    if (known)
        print(s, about);
    else
        json_decref(about);
    free(bytes);
    return known;
}

static bool show_reports(struct show *s)
{
    json_t *about = json_object();
    inspect_text(about, "file", s->path);
    bool known = inspect_reports(s->path, about);
    if (known)
        print(s, about);
    else
        json_decref(about);
    return known;
}

static bool is_called_report(const char *path)
{
    const char *dot = strrchr(path, '.');
    return dot && (strcmp(dot, ".fwr") == 0 || strcmp(dot, ".part") == 0);
}

static void show_file(struct show *s)
{
    struct fw_failure why = {0};
    if (show_reports(s))
        return;
    if (debug_file_is_symbols(debug_file_form_at(s->path))) {
        show_symbols(s);
        return;
    }
    fw_error error = object_slices(s->path, show_slice, s, &why);
    if (error != FW_OK && (error != FW_ERR_FORMAT || !show_report(s))) {
        if (error == FW_ERR_FORMAT && is_called_report(s->path))
            snprintf(why.message, sizeof why.message,
                     "%s: no whole Framewalk report: its beginning is missing or damaged", s->path);
        failed(s, error, &why);
    }
}

int inspect_main(int argc, char **argv)
{
    struct inspect_options options = {0};
    int parsed = parse(argc, argv, &options);
    if (parsed < 0)
        return CLI_USAGE;
    if (parsed > 0) {
        inspect_usage(stdout);
        return CLI_OK;
    }
    struct show show = {.options = &options,
                        .style = {stdout, style_wanted(options.color, stdout)},
                        .result = CLI_OK};
    for (int i = optind; i < argc; i++) {
        show.path = argv[i];
        show_file(&show);
    }
    if (fflush(stdout) != 0 && show.result == CLI_OK) {
        cli_error("standard output: %s", strerror(errno));
        show.result = CLI_FAILED;
    }
    return show.result;
}
