/*
 * `framewalk symbolicate`: what its files share.
 *
 * Three ways to speak: Framewalk's own, addr2line's (-e) and atos' (-o, -arch, -l). All three fill
 * in the same options; only what is read and printed differs. What is given is an image and
 * addresses in it, or a report, in which images and addresses are found.
 */
#ifndef CLI_SYMBOLICATE_H
#define CLI_SYMBOLICATE_H

#include "base/reader.h"
#include "cli/style.h"
#include "framewalk/symbolicate.h"

#include <stdbool.h>
#include <stdio.h>

enum symbolicate_manner { MANNER_OWN = 0, MANNER_ADDR2LINE, MANNER_ATOS };
enum symbolicate_form {                /* --to: what is written */
                        FORM_TEXT = 0, /* addresses: lines; a report: the same report */
                        FORM_JSON,
                        FORM_CRASH,     /* a report as Apple's classic text */
                        FORM_COLLAPSED, /* a report as collapsed stacks; and so on */
                        FORM_SPEEDSCOPE,
                        FORM_PPROF,
                        FORM_FIREFOX,
                        FORM_PEOPLE, /* a report as text for people */
                        FORMS
};

struct symbolicate_options {
    enum symbolicate_manner manner;
    enum symbolicate_form form;
    const char *file;         /* image, debug file, map or report; NULL or "-": standard input */
    const char *arch;         /* -arch, --arch */
    const char *output;       /* --output; NULL: standard output */
    const char *section;      /* -j: addresses are offsets in this section */
    const char *delimiter;    /* -d: between inlined frames, atos */
    const char *address_file; /* -f of atos */
    const char **folders;     /* --debug, NULL-terminated */
    size_t folder_count;
    const char *sysroot, *cache;
    uint64_t load;  /* -l: where the image was loaded */
    uint64_t slide; /* -s of atos: load address - link-time address */
    bool has_load, has_slide;
    bool offsets;      /* --offset: addresses count from the image's base */
    bool file_offsets; /* --file-offset */
    bool returns;      /* --return: return addresses */
    bool inlines;      /* -i; in Framewalk's own manner unless --no-inlines */
    bool functions, pretty, addresses, basenames; /* -f -p -a -s */
    bool demangle; /* on in Framewalk's own manner and atos', -C in addr2line's */
    bool simplified, columns, full_paths;
    bool no_cache, no_debuginfod, no_separate, verbose, help;
    enum style_when color;
    unsigned threads;
    int first_address; /* index in argv; == argc: none there */
};

/* What --to calls a form; NULL for FORM_TEXT, which is what comes without it. */
const char *symbolicate_form_name(enum symbolicate_form form);
/* False when the command line is wrong, which has been said. */
bool symbolicate_options_parse(int argc, char **argv, struct symbolicate_options *options);
void symbolicate_options_free(struct symbolicate_options *options);

enum symbolicate_word {
    WORD_ADDRESS, /* hexadecimal digits */
    WORD_OFFSET,  /* IMAGE+0xOFFSET */
    WORD_OTHER    /* neither: nothing was looked up */
};
struct symbolicate_question { /* one address as it was asked for */
    const char *word;         /* as it was written */
    uint64_t value;
    enum symbolicate_word kind;
};

/* Prints the answer for one address as the options want it. */
struct symbolicate_printer {
    const struct symbolicate_options *options;
    struct style style;
    const char *image; /* name of the image, for atos */
    bool is_64;
};
void symbolicate_print(struct symbolicate_printer *printer,
                       const struct symbolicate_question *question,
                       const struct fw_resolved *symbol);
void symbolicate_print_json(FILE *to, const struct symbolicate_options *options,
                            const struct symbolicate_question *question,
                            const struct fw_resolved *symbol);

/* As cli_exit_for, but what is not found is a file, and what is not clear a matter of options. */
int symbolicate_exit_for(fw_error code);
/* Writes foreign text whole, control characters made visible. */
void symbolicate_put(FILE *to, const char *text);
/* What follows the last slash (or backslash of a Windows path). */
const char *symbolicate_last_part(const char *path);

/* symbolicate.c: fw_source_open, but that something with more than symbol tables is taken out of
 * --debug when there is one of the same identity. */
fw_error symbolicate_open(const struct symbolicate_options *options,
                          struct fw_symbolicator *symbolicator,
                          const struct fw_source_request *request, struct fw_source **source,
                          struct fw_failure *why);
/* Says what the debug information of a source names and was not found, as far as it was needed;
 * false: nothing is missing. NULL is fine. */
bool symbolicate_tell_incomplete(const struct fw_source *source);
/* symbolicate_addresses.c: addresses of argv, a file or standard input. An exit code. */
int symbolicate_addresses(const struct symbolicate_options *options,
                          struct fw_symbolicator *symbolicator, FILE *to, int argc, char **argv);
/* symbolicate_report.c: a whole report. FW_ERR_FORMAT when `text` is none, and nothing is said.
 * Else *code is an exit code. */
fw_error symbolicate_report(const struct symbolicate_options *options,
                            struct fw_symbolicator *symbolicator, struct span text, FILE *to,
                            int *code);

int symbolicate_main(int argc, char **argv);
void symbolicate_usage(FILE *to);

#endif
