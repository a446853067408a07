/*
 * `framewalk symbolicate`: what is given, an image or a report, is seen from its contents.
 *
 * A file that is an image has addresses, from the command line or standard input. Anything else is
 * read as a report; so are words like IMAGE+0xOFFSET that are no file, and standard input when no
 * file is named.
 */
#include "cli/symbolicate.h"

#include "base/array.h"
#include "cli/cli.h"
#include "cli/progress.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct command {
    struct symbolicate_options options;
    struct fw_symbolicator *symbolicator;
    FILE *to;
    struct progress progress;
};

static void show_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    if (total)
        progress_show(context, "%s %.0f %%", phase, 100.0 * (double)done / (double)total);
    else
        progress_show(context, "%s", phase);
}

static fw_error create_symbolicator(struct command *c)
{
    const struct symbolicate_options *o = &c->options;
    struct fw_symbolicator_options wanted = {.size = sizeof wanted,
                                             .debug_folders = o->folders,
                                             .sysroot = o->sysroot,
                                             .cache_folder = o->no_cache ? "" : o->cache,
                                             .threads = o->threads,
                                             .no_debuginfod = o->no_debuginfod,
                                             .no_separate = o->no_separate,
                                             .columns = o->columns,
                                             .mangled = !o->demangle,
                                             .simplified = o->simplified,
                                             .progress = show_progress,
                                             .progress_context = &c->progress};
    return fw_symbolicator_create(&wanted, &c->symbolicator);
}

/* ---- output ---- */

/* Opened before the work, so that a wrong name costs nobody a long wait. */
static FILE *open_output(const char *path)
{
    if (!path)
        return stdout;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!to)
        cli_error("cannot write '%s': %s", path, strerror(errno));
    return to;
}

/* What an older file held behind the end of the new contents goes. */
static int close_output(struct command *c, int code)
{
    errno = 0;
    bool written = fflush(c->to) == 0 && !ferror(c->to);
    struct stat status;
    if (written && c->to != stdout && fstat(fileno(c->to), &status) == 0 && S_ISREG(status.st_mode))
        written = ftruncate(fileno(c->to), ftello(c->to)) == 0;
    int number = errno;
    if (c->to != stdout && fclose(c->to) != 0 && written) {
        written = false;
        number = errno;
    }
    if (written)
        return code;
    if (code == CLI_OK || code == CLI_INCOMPLETE)
        cli_error("cannot write %s: %s", c->options.output ? c->options.output : "standard output",
                  number ? strerror(number) : "write error");
    return CLI_FAILED;
}

/* ---- input ---- */

struct input {
    struct span text;
    void *mapped; /* to be unmapped */
    char *owned;  /* or to be freed */
    size_t capacity;
};

static void input_close(struct input *input)
{
    if (input->mapped)
        munmap(input->mapped, input->text.size);
    free(input->owned);
}

static bool read_whole(int fd, struct input *input)
{
    for (;;) {
        if (!array_reserve(&input->owned, &input->capacity, input->text.size + 65536, 1)) {
            errno = ENOMEM;
            return false;
        }
        ssize_t got = read(fd, input->owned + input->text.size, input->capacity - input->text.size);
        if (got < 0 && errno == EINTR)
            continue;
        input->text.data = (const uint8_t *)input->owned;
        if (got <= 0)
            return got == 0;
        input->text.size += (size_t)got;
    }
}

/* A file is mapped: whoever makes it shorter meanwhile gets what mmap(2) promises. */
static bool input_open(int fd, struct input *input)
{
    *input = (struct input){0};
    struct stat status;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
        void *mapped = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (mapped != MAP_FAILED) {
            input->mapped = mapped;
            input->text = (struct span){mapped, (size_t)status.st_size};
            return true;
        }
    }
    return read_whole(fd, input);
}

/* ---- what is it? ---- */

/* Object files, archives, symbol maps: what is never the text of a report. */
static bool is_image(struct span text)
{
    static const struct {
        const char *bytes;
        size_t size;
    } starts[] = {{"\177ELF", 4},
                  {"\xcf\xfa\xed\xfe", 4},
                  {"\xce\xfa\xed\xfe", 4},
                  {"\xfe\xed\xfa\xcf", 4},
                  {"\xfe\xed\xfa\xce", 4},
                  {"\xca\xfe\xba\xbe", 4},
                  {"\xca\xfe\xba\xbf", 4},
                  {"!<arch>\n", 8},
                  {"!<thin>\n", 8},
                  {"FWSYMMAP", 8},
                  {"MYSG", 4},
                  {"GSYM", 4},
                  {"MODULE ", 7}};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text.size >= starts[i].size && memcmp(text.data, starts[i].bytes, starts[i].size) == 0)
            return true;
    return false;
}

static int addresses(struct command *c, int argc, char **argv)
{
    return symbolicate_addresses(&c->options, c->symbolicator, c->to, argc, argv);
}

static int report(struct command *c, int fd, const char *name)
{
    struct input input;
    int code = CLI_FAILED;
    if (!input_open(fd, &input))
        cli_error("cannot read %s: %s", name, strerror(errno));
    else if (symbolicate_report(&c->options, c->symbolicator, input.text, c->to, &code) != FW_OK) {
        cli_error("%s: neither an image nor a report that is known", name);
        code = CLI_FORMAT;
    }
    input_close(&input);
    return code;
}

/* All words on the command line as a report of one line each. */
static int words(struct command *c, int argc, char **argv)
{
    struct span text = {0};
    char *lines = NULL;
    size_t capacity = 0;
    int code = CLI_FAILED;
    for (int i = c->options.first_address - 1; i < argc; i++) {
        size_t size = strlen(argv[i]);
        if (!array_reserve(&lines, &capacity, text.size + size + 1, 1)) {
            cli_error("%s", fw_error_text(FW_ERR_MEMORY));
            free(lines);
            return code;
        }
        memcpy(lines + text.size, argv[i], size);
        lines[text.size + size] = '\n';
        text.size += size + 1;
    }
    text.data = (const uint8_t *)lines;
    if (symbolicate_report(&c->options, c->symbolicator, text, c->to, &code) != FW_OK) {
        cli_error("%s: %s", c->options.file, strerror(ENOENT));
        code = CLI_FORMAT;
    }
    free(lines);
    return code;
}

static int run(struct command *c, int argc, char **argv)
{
    const struct symbolicate_options *o = &c->options;
    if (!o->file || strcmp(o->file, "-") == 0) {
        if (!o->file && isatty(STDIN_FILENO) == 1) {
            cli_error("which file? (framewalk symbolicate --help)");
            return CLI_USAGE;
        }
        return report(c, STDIN_FILENO, "standard input");
    }
    struct stat status;
    if (o->manner != MANNER_OWN)
        return addresses(c, argc, argv);
    if (stat(o->file, &status) != 0 && errno == ENOENT && strstr(o->file, "+0x"))
        return words(c, argc, argv);
    if (cli_is_report_folder(o->file)) {
        cli_error("%s: a folder of reports; name one of them ('framewalk inspect %s' lists them)",
                  o->file, o->file);
        return CLI_FORMAT;
    }
    int fd = open(o->file, O_RDONLY | O_CLOEXEC);
    uint8_t start[8];
    ssize_t size = fd >= 0 ? pread(fd, start, sizeof start, 0) : -1;
    int code;
    /* What cannot be read may still be a folder, or a member of an archive. */
    if (o->first_address < argc || (size < 0 && errno != ESPIPE) ||
        is_image((struct span){start, size > 0 ? (size_t)size : 0}))
        code = addresses(c, argc, argv);
    else
        code = report(c, fd, o->file);
    if (fd >= 0)
        close(fd);
    return code;
}

int symbolicate_exit_for(fw_error code)
{
    if (code == FW_ERR_ARGUMENT) /* which architecture? */
        return CLI_USAGE;
    return code == FW_ERR_NOT_FOUND ? CLI_FORMAT : (int)cli_exit_for(code);
}

static bool has_names(const struct fw_source *source, struct fw_source_info *info)
{
    *info = (struct fw_source_info){.size = sizeof *info};
    return fw_source_info(source, info) == FW_OK &&
           (info->kind == FW_SOURCE_DWARF || info->kind == FW_SOURCE_MAP);
}

bool symbolicate_tell_incomplete(const struct fw_source *source)
{
    struct fw_source_info info = {.size = sizeof info};
    if (!source || fw_source_info(source, &info) != FW_OK || !info.missing || !info.missing[0])
        return false;
    fputs("framewalk: names or lines are missing: ", stderr);
    symbolicate_put(stderr, info.missing);
    fputc('\n', stderr);
    return true;
}

fw_error symbolicate_open(const struct symbolicate_options *options,
                          struct fw_symbolicator *symbolicator,
                          const struct fw_source_request *request, struct fw_source **source,
                          struct fw_failure *why)
{
    struct fw_source_info info, other_info;
    struct fw_source *other;
    fw_error error = fw_source_open(symbolicator, request, source, why);
    if (error != FW_OK || has_names(*source, &info) || info.id_size == 0 ||
        options->folder_count == 0 || options->no_separate || !request->path)
        return error;
    struct fw_source_request by_id = {.size = sizeof by_id, .id = info.id, .id_size = info.id_size};
    if (fw_source_open(symbolicator, &by_id, &other, NULL) != FW_OK)
        return FW_OK;
    bool better = has_names(other, &other_info);
    fw_source_close(better ? *source : other);
    if (better)
        *source = other;
    return FW_OK;
}

int symbolicate_main(int argc, char **argv)
{
    struct command c = {0};
    int code = CLI_OK;
    if (!symbolicate_options_parse(argc, argv, &c.options)) {
        code = CLI_USAGE;
    } else if (c.options.help) {
        symbolicate_usage(stdout);
    } else if (create_symbolicator(&c) != FW_OK) {
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
        code = CLI_FAILED;
    } else if (!(c.to = open_output(c.options.output))) {
        code = CLI_FAILED;
    } else {
        progress_begin(&c.progress);
        code = run(&c, argc, argv);
        progress_end(&c.progress);
        code = close_output(&c, code);
    }
    fw_symbolicator_destroy(c.symbolicator);
    symbolicate_options_free(&c.options);
    return code;
}
