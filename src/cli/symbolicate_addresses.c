/*
 * Addresses of one image to names, as arguments, from a file or from standard input.
 *
 * Input is answered as it comes: whatever has arrived is looked up at once, so that somebody who
 * types, or a program that asks one by one, gets each answer, and a hundred thousand in a pipe are
 * one question. addr2line takes one address of each line; all others take words.
 */
#include "base/array.h"
#include "cli/cli.h"
#include "cli/symbolicate.h"
#include "object/object.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { INPUT_SIZE = 1 << 20, WORD_MAX = 256 };

struct question { /* a struct symbolicate_question whose word may still move */
    size_t word;  /* where it begins in `words` */
    uint64_t value;
    enum symbolicate_word kind;
};

struct run {
    const struct symbolicate_options *options;
    struct fw_source *source;
    struct symbolicate_printer printer;
    char image[256];
    uint64_t section, section_size; /* -j: where it lies */

    struct fw_address *addresses;
    struct question *questions;
    size_t count, address_capacity, question_capacity;
    char *words; /* of the questions, one after the other */
    size_t words_size, words_capacity;
    bool not_address; /* a word was none */
    bool nameless;    /* an address had no name because no debug file was found */
};

/* What was written to a place in the image. */
static struct fw_address address_of(const struct run *run, uint64_t value)
{
    const struct symbolicate_options *o = run->options;
    struct fw_address address = {.value = value, .space = FW_ADDRESS_LINK};
    if (o->section) /* beyond its end there is nothing */
        address.value = value < run->section_size ? run->section + value : UINT64_MAX;
    else if (o->file_offsets)
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

static bool add(struct run *run, const char *word, uint64_t value, enum symbolicate_word kind,
                struct fw_address address)
{
    size_t size = strlen(word) + 1;
    if (!array_room(&run->addresses, &run->address_capacity, run->count, sizeof *run->addresses) ||
        !array_room(&run->questions, &run->question_capacity, run->count, sizeof *run->questions) ||
        !array_reserve(&run->words, &run->words_capacity, run->words_size + size, 1))
        return false;
    run->addresses[run->count] = address;
    run->questions[run->count++] = (struct question){run->words_size, value, kind};
    memcpy(run->words + run->words_size, word, size);
    run->words_size += size;
    return true;
}

static int answer(struct run *run)
{
    struct fw_symbols *symbols;
    struct fw_failure why = {0};
    fw_error error = fw_symbolicate(run->source, run->addresses, run->count, &symbols, &why);
    if (error != FW_OK) {
        cli_error("%s", why.message[0] ? why.message : fw_error_text(error));
        return symbolicate_exit_for(error);
    }
    for (size_t i = 0; i < symbols->count; i++) {
        const struct question *q = &run->questions[i];
        run->nameless |= symbols->items[i].reason == FW_REASON_NO_SYMBOLS;
        symbolicate_print(&run->printer,
                          &(struct symbolicate_question){run->words + q->word, q->value, q->kind},
                          &symbols->items[i]);
    }
    fw_symbols_free(symbols);
    run->count = run->words_size = 0;
    errno = 0;
    if (fflush(run->printer.style.to) == 0)
        return CLI_OK;
    if (errno != EPIPE)
        cli_error("cannot write: %s", strerror(errno));
    return CLI_FAILED;
}

/* IMAGE+0xOFFSET of the image that was opened. */
static bool is_offset(const struct run *run, const char *word, uint64_t *offset)
{
    const char *plus = strrchr(word, '+');
    size_t size = plus ? (size_t)(plus - word) : 0;
    const char *name = word;
    for (const char *p = word; p < plus; p++)
        if (*p == '/')
            name = p + 1;
    if (!plus || strlen(run->printer.image) != size - (size_t)(name - word) ||
        strncmp(name, run->printer.image, size - (size_t)(name - word)) != 0)
        return false;
    char *end;
    errno = 0;
    *offset = strtoull(plus + 1, &end, 16);
    return !errno && end != plus + 1 && !*end && plus[1] != '-';
}

static bool add_word(struct run *run, const char *word)
{
    uint64_t value;
    uint32_t returns = run->options->returns ? FW_ADDRESS_RETURN : 0;
    if (is_offset(run, word, &value))
        return add(run, word, value, WORD_OFFSET,
                   (struct fw_address){value, FW_ADDRESS_IMAGE | returns});
    char *end;
    errno = 0;
    value = strtoull(word, &end, 16);
    bool whole = !errno && end != word && !*end && word[0] != '-' && word[0] != '+';
    /* addr2line takes what can be read of a word, and 0 when nothing can or it is negative. */
    if (run->options->manner == MANNER_ADDR2LINE && strchr(word, '-'))
        value = 0;
    if (whole || run->options->manner == MANNER_ADDR2LINE)
        return add(run, word, value, WORD_ADDRESS, address_of(run, value));
    run->not_address = true;
    return add(run, word, 0, WORD_OTHER, (struct fw_address){UINT64_MAX, FW_ADDRESS_FILE});
}

static int answer_arguments(struct run *run, int argc, char **argv)
{
    for (int i = run->options->first_address; i < argc; i++) {
        if (!add_word(run, argv[i])) {
            cli_error("%s", fw_error_text(FW_ERR_MEMORY));
            return CLI_FAILED;
        }
    }
    return answer(run);
}

/* Splits what has arrived into words or lines; one cut off at the end stays for the next round. */
static size_t take_words(struct run *run, char *text, size_t size, bool last)
{
    bool lines = run->options->manner == MANNER_ADDR2LINE;
    const char *separators = lines ? "\n" : " \t\r\n";
    size_t at = 0, kept = 0;
    while (at < size) {
        size_t start = at;
        while (at < size && !strchr(separators, text[at])) /* a zero byte separates, too */
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
        if ((length > 0 || lines) && !add_word(run, word))
            return SIZE_MAX;
        at++;
    }
    return kept;
}

static int answer_input(struct run *run, int fd)
{
    char *text = malloc(INPUT_SIZE);
    int code = text ? CLI_OK : CLI_FAILED;
    size_t size = 0;
    for (bool last = false; !last && code == CLI_OK;) {
        ssize_t got = read(fd, text + size, INPUT_SIZE - size);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            cli_error("cannot read addresses: %s", strerror(errno));
            code = CLI_FAILED;
            break;
        }
        last = got == 0;
        size = take_words(run, text, size + (size_t)got, last);
        if (size == SIZE_MAX) {
            cli_error("%s", fw_error_text(FW_ERR_MEMORY));
            code = CLI_FAILED;
        } else if (run->count > 0) {
            code = answer(run);
        }
    }
    free(text);
    return code;
}

static int answer_file(struct run *run, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        cli_error("cannot read '%s': %s", path, strerror(errno));
        return CLI_FAILED;
    }
    int code = answer_input(run, fd);
    close(fd);
    return code;
}

static void tell_places(const char *before, const struct fw_source_info *info)
{
    fprintf(stderr, "framewalk: ");
    symbolicate_put(stderr, info->path);
    fprintf(stderr, ": %s", before);
    symbolicate_put(stderr, info->searched[0] ? ": " : "");
    symbolicate_put(stderr, info->searched);
    fputc('\n', stderr);
}

static void tell_source(const struct fw_source *source)
{
    struct fw_source_info info = {.size = sizeof info};
    if (fw_source_info(source, &info) != FW_OK)
        return;
    static const char *const kinds[] = {[FW_SOURCE_NOTHING] = "nothing is known",
                                        [FW_SOURCE_SYMBOLS] = "symbol tables only",
                                        [FW_SOURCE_DWARF] = "DWARF",
                                        [FW_SOURCE_MAP] = "symbol map"};
    cli_error("%s: %s%s%s", info.path, kinds[info.kind], info.debug_path ? " of " : "",
              info.debug_path ? info.debug_path : "");
    if (info.searched[0])
        tell_places("looked for debug files", &info);
}

/* Why there are no files and lines, once, for people. */
static void tell_missing(const struct run *run)
{
    struct fw_source_info info = {.size = sizeof info};
    if (fw_source_info(run->source, &info) == FW_OK &&
        (info.kind == FW_SOURCE_SYMBOLS || info.kind == FW_SOURCE_NOTHING))
        tell_places(run->nameless ? "no debug file was found"
                                  : "no debug file was found, names are of the symbol table",
                    &info);
}

/* What only the file itself can say: how wide its addresses are, where a section lies, and how the
 * file inside a bundle is called. False: the section is not there, which has been said. */
static bool look_at_file(struct run *run)
{
    const struct symbolicate_options *o = run->options;
    struct object *object;
    struct fw_source_info info = {.size = sizeof info};
    struct object_choice choice = {.arch = o->arch};
    const char *name = o->file;
    run->printer.is_64 = fw_source_info(run->source, &info) != FW_OK || !info.arch ||
                         !info.arch[0] || strstr(info.arch, "64") || strstr(info.arch, "s390x");
    fw_error error = object_open_path(o->file, &choice, &object, NULL);
    if (error == FW_OK) {
        run->printer.is_64 = object_is_64(object);
        name = object_label(object);
    }
    snprintf(run->image, sizeof run->image, "%s", symbolicate_last_part(name));
    run->printer.image = run->image;
    bool found = !o->section;
    struct object_section section;
    for (size_t i = 0; error == FW_OK && !found && i < object_section_count(object); i++) {
        found = object_section_at(object, i, &section) && strcmp(section.name, o->section) == 0;
        if (found) {
            run->section = section.vaddr;
            run->section_size = section.size;
        }
    }
    if (!found)
        cli_error("%s: there is no section '%s'", o->file, o->section);
    if (error == FW_OK)
        object_close(object);
    return found;
}

int symbolicate_addresses(const struct symbolicate_options *o, struct fw_symbolicator *symbolicator,
                          FILE *to, int argc, char **argv)
{
    struct fw_source_request request = {.size = sizeof request, .path = o->file, .arch = o->arch};
    struct run run = {.options = o,
                      .printer = {.options = o, .style = {to, style_wanted(o->color, to)}}};
    struct fw_failure why = {0};
    fw_error error = symbolicate_open(o, symbolicator, &request, &run.source, &why);
    if (error != FW_OK) {
        cli_error("%s", why.message);
        return symbolicate_exit_for(error);
    }
    int code = CLI_FAILED;
    if (look_at_file(&run)) {
        if (o->verbose)
            tell_source(run.source);
        if (o->first_address < argc)
            code = answer_arguments(&run, argc, argv);
        else
            code = o->address_file ? answer_file(&run, o->address_file)
                                   : answer_input(&run, STDIN_FILENO);
        if (o->manner == MANNER_OWN && !o->verbose && !o->no_separate)
            tell_missing(&run);
        if (code == CLI_OK && run.not_address && o->manner == MANNER_OWN)
            code = CLI_USAGE; /* the others were answered */
        if (symbolicate_tell_incomplete(run.source) && code == CLI_OK && o->manner == MANNER_OWN)
            code = CLI_INCOMPLETE;
    }
    free(run.addresses);
    free(run.questions);
    free(run.words);
    fw_source_close(run.source);
    return code;
}
