/*
 * An x86_64 program run one instruction at a time by ptrace, and its memory.
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

#include "oracle/machine.h"
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

struct tracee {
    struct machine machine;
    struct user_regs_struct regs; /* before the next instruction */
    int signal;                   /* to deliver with the next step */
    uint64_t stack_lo, stack_hi;  /* range of the mirror */
    uint8_t *mirror;
    uint8_t *fresh; /* per page */
    struct code *cache;
};

/* Starts `argv` stopped at its first instruction (of the dynamic loader), at fixed addresses. 0, or
 * an errno value; EPERM: tracing is not permitted here. *tracee is zero but for its kind. */
int tracee_start(struct tracee *tracee, char **argv);
/* Lets it run, unseen, to the first time that it comes to `address`. */
bool tracee_run_to(struct tracee *tracee, uint64_t address);
void tracee_end(struct tracee *tracee);

/* The instruction that runs next. */
const struct code *tracee_code(struct tracee *tracee);

/* Runs it. *ran says whether it was executed (a signal may come first). */
enum machine_event tracee_step(struct tracee *tracee, const struct code *code, bool *ran);

/* Memory for a walk from the present sp. */
void tracee_memory(struct tracee *tracee, struct memory *memory);

/* Value of a register by its number in instructions. */
uint64_t tracee_register(const struct user_regs_struct *regs, unsigned number);

#endif
