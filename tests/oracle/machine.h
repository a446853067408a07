/*
 * A program that runs one instruction at a time, as the oracle sees it, whatever runs it: ptrace
 * (x86_64, tracee.h) or the debugger interface of qemu's user emulation (aarch64, remote.h).
 *
 * A kind of machine embeds struct machine as its first member and keeps pc and sp in it up to date.
 */
#ifndef TESTS_ORACLE_MACHINE_H
#define TESTS_ORACLE_MACHINE_H

#include <sys/types.h>

#include "unwind/memory.h"
#include "unwind/row.h"

enum machine_event {
    MACHINE_STEPPED,   /* one instruction ran, or one turn of a repeated one */
    MACHINE_DELIVERED, /* a signal handler was entered */
    MACHINE_SIGNALLED, /* a signal waits; the next step delivers it. `ran`: the instruction ran too
                        */
    MACHINE_ENDED,
};

enum machine_flow {
    MACHINE_NEXT,      /* nothing that concerns the call stack, but for sp */
    MACHINE_CALL,      /* `slot` and `ra` are the new frame's */
    MACHINE_RETURN,    /* through `slot` */
    MACHINE_JUMP,      /* to a computed address */
    MACHINE_SYSTEM,    /* a system call */
    MACHINE_SIGRETURN, /* the one that ends a signal handler */
};

struct machine_signal { /* what the kernel wrote down when it entered a handler */
    uint64_t slot, trampoline, pc, sp;
};

/* What happened in one step. */
struct machine_step {
    enum machine_event event;
    bool ran; /* the instruction was executed */
    enum machine_flow flow;
    bool loads_sp; /* sp was given a value from elsewhere, rather than moved */
    /* Where the return address lies; on machines with a link register, where sp is at the call and
     * again behind the return. */
    uint64_t slot;
    uint64_t ra;                  /* MACHINE_CALL: behind the call; MACHINE_RETURN: where it led */
    uint64_t old_sp;              /* before the instruction */
    struct machine_signal signal; /* MACHINE_DELIVERED */
};

struct machine;

struct machine_kind {
    const struct arch *arch;
    bool ra_in_slots;  /* calls push the return address to where `slot` says */
    uint64_t pac_mask; /* bits that signed return addresses have besides the address */

    bool (*run_to)(struct machine *machine, uint64_t address);
    void (*step)(struct machine *machine, struct machine_step *step);
    void (*registers)(const struct machine *machine, struct regs *regs);
    /* Memory for a walk from the present sp. */
    void (*memory)(struct machine *machine, struct memory *memory);
    /* The first argument, where a function begins. */
    uint64_t (*argument)(const struct machine *machine);
    /* On a stack on which nothing was called yet: what the first function returns to. */
    bool (*first_return)(struct machine *machine, uint64_t *slot, uint64_t *ra);
    void (*end)(struct machine *machine);
};

struct machine {
    const struct machine_kind *kind;
    pid_t pid;             /* whose memory it is */
    int status;            /* wait status at the end */
    uint64_t pc, sp;       /* before the next instruction */
    uint64_t code_changes; /* system calls that may have changed which code is mapped */
    uint64_t undecoded;    /* instructions that changed registers which the decoder does not name */
};

/* Starts `argv` stopped at its first instruction: of an x86_64 program by ptrace, of an aarch64 one
 * under qemu-aarch64. 0, or an errno value; EPERM: programs cannot be traced here, ENOSYS: there is
 * no emulator. */
int machine_start(struct machine **machine, char **argv);

/* The machines' own: see machine_start. */
int machine_start_x86_64(struct machine **machine, char **argv);
int machine_start_aarch64(struct machine **machine, char **argv);

/* Copies memory of the program; false when any of it cannot be read. `machine` is a struct machine.
 */
bool machine_read(void *machine, uint64_t address, void *to, size_t size);

/* The runtime address of a symbol of the program's own file, or of its entry point when `symbol` is
 * NULL; 0 when there is none. */
uint64_t machine_symbol(const struct machine *machine, const char *path, const char *symbol);

#endif
