/*
 * Debug files among what people name: programs and libraries, separate debug files, dSYM bundles
 * and archives of Xcode, symbol maps; folders are searched.
 */
#ifndef CLI_PUSH_FIND_H
#define CLI_PUSH_FIND_H

#include "symbolicate/debug_file.h"

#include <sys/types.h>

enum push_fate { /* what becomes of a file */
                 PUSH_WANTED = 0,
                 PUSH_NO_ID,      /* nothing that a report could name it by */
                 PUSH_STRIPPED,   /* an executable without names */
                 PUSH_HAS_BETTER, /* its debug file goes instead */
                 PUSH_TWIN,       /* the same was found before */
                 PUSH_PRESENT,    /* the collector has it */
                 PUSH_SENT,
                 PUSH_USELESS, /* sent, and the collector cannot use it */
                 PUSH_FAILED,
                 PUSH_ALONE /* no map of it: the files that have its names were not found */
};
extern const char *const push_fate_words[];

struct push_file {
    char *path;      /* of a source bundle: what it is called */
    char *source;    /* the file of which it is to be made (push_companions.h); NULL: it is there */
    char *made;      /* where it was made; NULL: at `path` */
    bool incomplete; /* made, and names are missing */
    char missing[200]; /* which file was not found */
    uint64_t size;
    dev_t device; /* with `inode`: what was looked at, and nothing else, is sent */
    ino_t inode;
    bool whole; /* an archive, or another tool's symbols: the collector looks inside */
    struct debug_slice *slices;
    size_t slice_count;
    struct span
        bundle; /* what is sent, mapped: a source bundle, which is no file (push_sources.h) */
    enum push_fate fate;
    char upload[40];   /* its id at the collector; "": none */
    char message[200]; /* why, or what the collector says */
};

struct push_found {
    struct push_file *files;
    size_t count, capacity;
    size_t entries, unreadable, bitcode_maps;
    bool cut; /* the search ended before the folders did */
    bool no_memory;
    bool core; /* the file that was named last is a core file */
};

/* A file that is named: false when it is nothing of the kind (a report, perhaps). */
bool push_find_file(struct push_found *found, const char *path);
/* Everything below a folder. */
void push_find_folder(struct push_found *found, const char *path);
/* Which are worth sending; sets fate and message of the others. */
void push_find_choose(struct push_found *found, bool stripped_too);
void push_find_free(struct push_found *found);

#endif
