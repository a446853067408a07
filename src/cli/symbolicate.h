/*
 * `framewalk symbolicate`: what its files share.
 *
 * Three ways to speak: Framewalk's own, addr2line's (-e) and atos' (-o, -arch, -l). All three fill
 * in the same options; only what is printed differs.
 */
#ifndef CLI_SYMBOLICATE_H
#define CLI_SYMBOLICATE_H

#include "cli/style.h"
#include "framewalk/symbolicate.h"

#include <stdbool.h>
#include <stdio.h>

enum symbolicate_manner { MANNER_OWN = 0, MANNER_ADDR2LINE, MANNER_ATOS, MANNER_JSON };

struct symbolicate_options {
    enum symbolicate_manner manner;
    const char *file;      /* image, debug file, map or report */
    const char *arch;      /* -arch, --arch */
    const char *output;    /* --output; NULL: standard output */
    const char *section;   /* -j: addresses are offsets in this section */
    const char *delimiter; /* -d: between inlined frames, atos */
    const char **folders;  /* --debug, NULL-terminated */
    size_t folder_count;
    const char *sysroot, *cache;
    uint64_t load;  /* -l: where the image was loaded */
    uint64_t slide; /* -s of atos: load address - link-time address */
    bool has_load, has_slide;
    bool offsets;      /* --offset: addresses count from the image's base */
    bool file_offsets; /* --file-offset */
    bool returns;      /* --return: return addresses */
    bool inlines;      /* -i; always in Framewalk's own manner */
    bool functions, pretty, addresses, basenames; /* -f -p -a -s */
    bool demangle; /* on in Framewalk's own manner, -C in addr2line's */
    bool simplified, columns, full_paths;
    bool no_cache, no_debuginfod, no_separate, verbose, help;
    enum style_when color;
    unsigned threads;
    int first_address; /* index in argv; == argc: standard input */
};

/* False when the command line is wrong, which has been said. */
bool symbolicate_options_parse(int argc, char **argv, struct symbolicate_options *options);
void symbolicate_options_free(struct symbolicate_options *options);

/* Prints the answer for one address as the options want it. */
struct symbolicate_printer {
    const struct symbolicate_options *options;
    struct style style;
    const char *image; /* name of the image, for atos */
    bool is_64;
};
void symbolicate_print(struct symbolicate_printer *printer, uint64_t given,
                       const struct fw_resolved *symbol);

int symbolicate_main(int argc, char **argv);
void symbolicate_usage(FILE *to);

#endif
