/*
 * A program run one instruction at a time, and its memory.
 *
 * The main stack is mirrored here, so that a walk at every instruction costs no system call: the
 * bytes that an instruction writes are computed, or read again, or (when it is not known what it
 * wrote) the whole mirror is read again where it is next needed. Invariant: between steps every
 * page of the mirror is either equal to the tracee's memory or marked stale.
 */
#ifndef TESTS_ORACLE_TRACEE_H
#define TESTS_ORACLE_TRACEE_H

#include <sys/types.h>
#include <sys/user.h>

#include "unwind/memory.h"
#include "unwind/x86_decode.h"

enum { TRACEE_PAGE = 4096, TRACEE_MAX_PAGES = 16384 };

/* One decoded instruction; kept by address. */
struct code {
    uint64_t pc;
    uint8_t bytes[16];
    struct x86_insn insn;
    bool known;       /* decoded */
    bool writes;      /* may write to memory */
    bool writes_wide; /* more than 64 bytes, or at an address that is not computed */
};

enum tracee_event {
    TRACEE_STEPPED,   /* one instruction ran, or one turn of a repeated one */
    TRACEE_DELIVERED, /* a signal handler was entered */
    TRACEE_SIGNALLED, /* a signal waits; the next step delivers it. `ran`: the instruction ran too
                       */
    TRACEE_ENDED,
};

struct tracee {
    pid_t pid;
    struct user_regs_struct regs; /* before the next instruction */
    int signal;                   /* to deliver with the next step */
    int status;                   /* wait status at the end */
    uint64_t stack_lo, stack_hi;  /* range of the mirror */
    uint8_t *mirror;
    uint8_t *fresh; /* per page */
    struct code *cache;
    uint64_t code_changes; /* system calls that may have changed which code is mapped */
};

/* Starts `argv` stopped at its first instruction (of the dynamic loader), at fixed addresses. 0, or
 * an errno value; EPERM: tracing is not permitted here. */
int tracee_start(struct tracee *tracee, char **argv);
/* Lets it run, unseen, to the entry point of the program: past the dynamic loader. */
bool tracee_run_to_entry(struct tracee *tracee);
void tracee_end(struct tracee *tracee);

/* Copies memory; false when any of it cannot be read. `tracee` is a struct tracee. */
bool tracee_read(void *tracee, uint64_t address, void *to, size_t size);

/* The instruction that runs next. */
const struct code *tracee_code(struct tracee *tracee);

/* Runs it. *ran says whether it was executed (a signal may come first). */
enum tracee_event tracee_step(struct tracee *tracee, const struct code *code, bool *ran);

/* Memory for a walk from the present sp. */
void tracee_memory(struct tracee *tracee, struct memory *memory);

/* Value of a register by its number in instructions. */
uint64_t tracee_register(const struct user_regs_struct *regs, unsigned number);

#endif
