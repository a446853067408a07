/*
 * The notes of a core file: threads with their registers, the mapped files, the process's name and
 * auxiliary vector.
 *
 * All pointers and spans lead into the core's own bytes and live as long as its object.
 */
#ifndef CAPTURE_CORE_NOTES_H
#define CAPTURE_CORE_NOTES_H

#include "object/object.h"

struct core_thread {
    int32_t id;
    int32_t signal;    /* of NT_SIGINFO; 0 when there is none */
    int32_t current;   /* pr_cursig */
    struct span regs;  /* general registers as the kernel lays them out */
    uint64_t pac_mask; /* pointer-authentication bits of code addresses */
};

struct core_file { /* a mapped file: NT_FILE */
    uint64_t lo, hi, offset;
    const char *path;
};

struct core_notes {
    struct core_thread *threads;
    size_t thread_count, thread_capacity;
    struct core_file *files; /* sorted by address */
    size_t file_count;
    int32_t pid;      /* 0 when unknown */
    char name[17];    /* of the process */
    char command[81]; /* its first 80 bytes */
    uint64_t entry;   /* AT_ENTRY, run time */
    uint64_t execfn;  /* AT_EXECFN: address of the path it was started by */
    uint64_t vdso;    /* AT_SYSINFO_EHDR */
    bool no_memory;
};

/* Reads what there is; broken notes are left out. False when out of memory. */
bool core_notes_read(const struct object *object, struct core_notes *notes);
/* The mapped file around an address, or NULL when none is listed. */
const struct core_file *core_notes_file_at(const struct core_notes *notes, uint64_t address);
void core_notes_free(struct core_notes *notes);

#endif
