/*
 * The images of the traced process, for the walker: every executable mapping of a file (ELF or
 * Mach-O), and the vDSO. Read anew when the process has changed its mappings.
 */
#ifndef TESTS_ORACLE_PROCESS_IMAGES_H
#define TESTS_ORACLE_PROCESS_IMAGES_H

#include "object/object.h"
#include "object/symbols.h"
#include "oracle/machine.h"

struct process_image {
    struct unwind_image unwind;
    struct object *object;
    struct symbols *symbols; /* built when first needed */
    bool symbols_tried;
    uint64_t lo, hi; /* executable mapping */
    bool macho;
    char name[64];
};

struct process_images {
    struct machine *machine;
    struct process_image **image;
    size_t count;
    struct process_image *last;
    uint64_t changes; /* machine->code_changes at the last reading */
};

void process_images_free(struct process_images *images);

/* For struct walk_space; `images` is a struct process_images. */
const struct unwind_image *process_images_find(void *images, uint64_t address);
bool process_images_is_code(void *images, uint64_t address);

/* Whether the address lies in code of a Mach-O file. */
bool process_images_is_macho(struct process_images *images, uint64_t address);

/* Whether it lies in none, or in a function that the Mach-O host has put into its libSystem to make
 * a frame that hides its own. */
bool process_images_is_host(struct process_images *images, uint64_t address);

/* "image+offset function+offset" */
void process_images_name(struct process_images *images, uint64_t address, bool exact, char *text,
                         size_t size);

#endif
