/*
 * A recorded stack: maps.txt, regs.txt, stack*.data, ELF files (gzipped) and the right answer in
 * output.txt, as a space that the walker can walk.
 */
#ifndef TESTS_RECORDED_RECORDING_H
#define TESTS_RECORDED_RECORDING_H

#include "object/object.h"
#include "object/symbols.h"
#include "unwind/walk.h"

enum { MAX_MAPS = 64, MAX_STACKS = 2, MAX_EXPECTED = 128 };

struct recorded_map {
    uint64_t lo, hi, offset;
    bool executable;
    char name[64];
    void *bytes; /* the whole file; NULL when it is not there. Owned by the first map of it */
    bool owner;
    struct object *object;
    struct symbols *symbols;
    struct unwind_image image;
    struct cfi_index *eh_index, *debug_index;
};

struct expected_frame {
    uint64_t pc; /* link-time, moved back before the call for return addresses */
    char module[64];
    char function[512]; /* empty when the recorded answer names none */
    uint64_t offset;
};

struct recording {
    struct recorded_map map[MAX_MAPS];
    size_t map_count;
    struct memory memory;
    struct regs regs;
    const struct arch *arch;
    struct walk_space space;
    struct expected_frame expected[MAX_EXPECTED];
    size_t expected_count;
    void *stack[MAX_STACKS];
    struct rule_cache *cache;
    char missing[64]; /* a file that maps.txt names and that is not there */
};

/* False when the folder is not there. */
bool recording_open(struct recording *recording, const char *folder);
void recording_close(struct recording *recording);

/* The map around the runtime address, executable or not; NULL when there is none. */
const struct recorded_map *recording_map(const struct recording *recording, uint64_t address);

#endif
