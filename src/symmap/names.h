/*
 * Numbers for everything that has a name: strings, files and subjects of all units, each kept once.
 * Subjects are numbered by descending use, so that those that appear most take one byte.
 */
#ifndef SYMMAP_NAMES_H
#define SYMMAP_NAMES_H

#include "base/arena.h"
#include "symmap/format.h"
#include "symmap/intern.h"
#include "symmap/merge.h"

/* The subject of a function, and what its rows are relative to. */
struct names_function {
    uint32_t subject;
    uint32_t file; /* as in format_subject */
    uint32_t line;
    uint32_t source_name; /* offset in the strings, 0: none */
    uint32_t name_id;     /* of its name in the strings */
    uint32_t symbol_file; /* of rows that have none: 0: unknown, else number + 1 */
};

struct names {
    /* By unit: subject i of unit u is subject_number[first_subject[u] + i]; its file in the form of
     * format_subject is file_number[first_file[u] + i], 0 also for files that nothing uses. */
    uint32_t *subject_number, *file_number;
    size_t *first_subject, *first_file;
    uint32_t unknown_subject;         /* number of the subject of contexts that have none */
    struct names_function *functions; /* as merge->functions */

    /* Tables of the file. */
    struct format_subject *subjects;
    uint32_t subject_count;
    struct format_file *files;
    uint32_t file_count;
    struct format_pair *aliases; /* ascending */
    uint32_t alias_count;
    uint32_t *alias_id;                   /* ids in the strings, as merge->aliases */
    uint32_t object, producer, converter; /* offsets of the identity's strings */

    struct intern_strings strings; /* items[].offset: in the file; 0: not in it */
    uint32_t *string_order;        /* ids by offset */
    uint32_t string_count;
    uint64_t string_size;

    struct arena *arenas; /* of paths that were put together, one for each worker */
    unsigned arena_count;

    unsigned unit_shift; /* all starts and lengths are multiples of 1 << this */
};

/* FW_ERR_MEMORY; FW_ERR_UNSUPPORTED when the names exceed 4 GB. */
fw_error names_run(const struct symmap_source *source, struct workers *workers,
                   const struct merge *merge, struct names *names);
void names_free(struct names *names);

/* The row that holds at this offset from the function's start, NULL when there is none. */
const struct code_row *names_row_at(const struct code_unit *unit,
                                    const struct code_function *function, uint64_t offset);

#endif
