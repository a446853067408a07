/*
 * `framewalk symbolicate`: addresses to names.
 *
 * Addresses from standard input are answered as they come: whatever has arrived is looked up at
 * once, so that somebody who types, or a program that asks one by one, gets each answer, and a
 * hundred thousand in a pipe are one question.
 */
#include "cli/symbolicate.h"

#include "base/array.h"
#include "cli/cli.h"
#include "cli/progress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct run {
    const struct symbolicate_options *options;
    struct fw_source *source;
    struct symbolicate_printer printer;
    struct fw_address *addresses;
    uint64_t *given; /* as they were written */
    size_t count, address_capacity, given_capacity;
};

/* What was written to a place in the image. */
static struct fw_address address_of(const struct symbolicate_options *o, uint64_t value)
{
    struct fw_address address = {.value = value, .space = FW_ADDRESS_LINK};
    if (o->file_offsets)
        address.space = FW_ADDRESS_FILE;
    else if (o->offsets)
        address.space = FW_ADDRESS_IMAGE;
    else if (o->has_load)
        address = (struct fw_address){value - o->load, FW_ADDRESS_IMAGE};
    else if (o->has_slide)
        address.value = value - o->slide;
    if (o->returns)
        address.space |= FW_ADDRESS_RETURN;
    return address;
}

static bool add(struct run *run, uint64_t value)
{
    if (!array_room(&run->addresses, &run->address_capacity, run->count, sizeof *run->addresses) ||
        !array_room(&run->given, &run->given_capacity, run->count, sizeof *run->given))
        return false;
    run->addresses[run->count] = address_of(run->options, value);
    run->given[run->count++] = value;
    return true;
}

static int answer(struct run *run)
{
    struct fw_symbols *symbols;
    struct fw_failure why = {0};
    fw_error error = fw_symbolicate(run->source, run->addresses, run->count, &symbols, &why);
    if (error != FW_OK) {
        cli_error("%s", why.message[0] ? why.message : fw_error_text(error));
        return (int)cli_exit_for(error);
    }
    for (size_t i = 0; i < symbols->count; i++)
        symbolicate_print(&run->printer, run->given[i], &symbols->items[i]);
    fw_symbols_free(symbols);
    run->count = 0;
    return fflush(run->printer.style.to) == 0 ? CLI_OK : CLI_FAILED;
}

/* A word that is no address is looked up as address 0 would be by addr2line: it has no name. */
static bool parse_word(struct run *run, const char *word)
{
    char *end;
    errno = 0;
    unsigned long long value = strtoull(word, &end, 16);
    if (errno || end == word || *end || word[0] == '-') {
        cli_error("'%s' is not an address", word);
        value = 0;
    }
    return add(run, value);
}

static int answer_arguments(struct run *run, int argc, char **argv)
{
    for (int i = run->options->first_address; i < argc; i++) {
        if (!parse_word(run, argv[i])) {
            cli_error("%s", fw_error_text(FW_ERR_MEMORY));
            return CLI_FAILED;
        }
    }
    return answer(run);
}

enum { INPUT_SIZE = 1 << 20, WORD_MAX = 64 };

/* Splits what has arrived into words; a word cut off at the end stays for the next round. */
static size_t take_words(struct run *run, char *text, size_t size, bool last)
{
    size_t at = 0, kept = 0;
    while (at < size) {
        size_t start = at;
        while (at < size && !strchr(" \t\r\n", text[at]))
            at++;
        if (at == size && !last && at - start < WORD_MAX) {
            kept = at - start;
            memmove(text, text + start, kept);
            break;
        }
        char word[WORD_MAX + 1];
        size_t length = at - start < WORD_MAX ? at - start : WORD_MAX;
        memcpy(word, text + start, length);
        word[length] = '\0';
        if (length > 0 && !parse_word(run, word))
            return SIZE_MAX;
        at++;
    }
    return kept;
}

static int answer_input(struct run *run)
{
    char *text = malloc(INPUT_SIZE);
    int code = text ? CLI_OK : CLI_FAILED;
    size_t size = 0;
    for (bool last = false; !last && code == CLI_OK;) {
        ssize_t got = read(STDIN_FILENO, text + size, INPUT_SIZE - size);
        if (got < 0 && errno == EINTR)
            continue;
        last = got <= 0;
        size = take_words(run, text, size + (size_t)(got > 0 ? got : 0), last);
        if (size == SIZE_MAX)
            code = CLI_FAILED;
        else if (run->count > 0)
            code = answer(run);
    }
    free(text);
    return code;
}

static void show_progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    if (total)
        progress_show(context, "%s %.0f %%", phase, 100.0 * (double)done / (double)total);
    else
        progress_show(context, "%s", phase);
}

static void tell_source(const struct fw_source *source)
{
    struct fw_source_info info = {.size = sizeof info};
    if (fw_source_info(source, &info) != FW_OK)
        return;
    static const char *const kinds[] = {[FW_SOURCE_NOTHING] = "nothing",
                                        [FW_SOURCE_SYMBOLS] = "symbol tables only",
                                        [FW_SOURCE_DWARF] = "DWARF",
                                        [FW_SOURCE_MAP] = "symbol map"};
    fprintf(stderr, "framewalk: %s: %s%s%s\n", info.path, kinds[info.kind],
            info.debug_path ? " of " : "", info.debug_path ? info.debug_path : "");
    if (info.searched[0])
        fprintf(stderr, "framewalk: %s\n", info.searched);
}

static int symbolicate_addresses(const struct symbolicate_options *o,
                                 struct fw_symbolicator *symbolicator, int argc, char **argv)
{
    struct fw_source_request request = {.size = sizeof request, .path = o->file, .arch = o->arch};
    struct run run = {.options = o};
    struct fw_failure why = {0};
    fw_error error = fw_source_open(symbolicator, &request, &run.source, &why);
    if (error != FW_OK) {
        cli_error("%s", why.message);
        return (int)cli_exit_for(error);
    }
    if (o->verbose)
        tell_source(run.source);
    const char *slash = strrchr(o->file, '/');
    run.printer = (struct symbolicate_printer){
        .options = o,
        .style = {.to = stdout, .color = style_wanted(o->color, stdout)},
        .image = slash && slash[1] ? slash + 1 : o->file,
        .is_64 = true,
    };
    int code = o->first_address < argc ? answer_arguments(&run, argc, argv) : answer_input(&run);
    free(run.addresses);
    free(run.given);
    fw_source_close(run.source);
    return code;
}

int symbolicate_main(int argc, char **argv)
{
    struct symbolicate_options options;
    if (!symbolicate_options_parse(argc, argv, &options)) {
        symbolicate_options_free(&options);
        return CLI_USAGE;
    }
    int code = CLI_OK;
    struct progress progress;
    progress_begin(&progress);
    struct fw_symbolicator_options wanted = {.size = sizeof wanted,
                                             .debug_folders = options.folders,
                                             .sysroot = options.sysroot,
                                             .cache_folder = options.no_cache ? "" : options.cache,
                                             .threads = options.threads,
                                             .no_debuginfod = options.no_debuginfod,
                                             .no_separate = options.no_separate,
                                             .columns = options.columns,
                                             .mangled = !options.demangle,
                                             .simplified = options.simplified,
                                             .progress = show_progress,
                                             .progress_context = &progress};
    struct fw_symbolicator *symbolicator = NULL;
    if (options.help)
        symbolicate_usage(stdout);
    else if (fw_symbolicator_create(&wanted, &symbolicator) != FW_OK) {
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
        code = CLI_FAILED;
    } else {
        code = symbolicate_addresses(&options, symbolicator, argc, argv);
    }
    fw_symbolicator_destroy(symbolicator);
    progress_end(&progress);
    symbolicate_options_free(&options);
    return code;
}
