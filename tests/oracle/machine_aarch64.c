/*
 * aarch64 by qemu's user emulation: there is no ptrace, so the emulator's debugger interface steps
 * the program and tells its registers. qemu places a 64-bit program at its own addresses
 * (guest base 0), so its memory and mappings are read as those of the emulator's process.
 * QEMU_LD_PREFIX and QEMU_CPU of the environment say where the program's libraries are and which
 * processor it sees.
 *
 * AAPCS64; "Arm Architecture Reference Manual for A-profile", chapter C4.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "oracle/machine.h"
#include "oracle/remote.h"

enum {
    LR = 30,
    SP = 31,
    PC = 32,
    REGISTERS = 33,
    PAGE = 4096,
    BELOW_SP = 256,    /* bytes that a leaf function may use */
    NEAR_SP = 1 << 16, /* bytes of the stack that are read for each walk */
};

struct emulated {
    struct machine machine;
    struct remote remote;
    uint64_t reg[REGISTERS];
    uint64_t stack_hi;
    uint8_t stack[NEAR_SP + BELOW_SP];
};

/* ------------------------------------------------------------------ running */

static bool ask_registers(struct emulated *e)
{
    if (!remote_ask(&e->remote, "g") || e->remote.size < 16 * REGISTERS ||
        !remote_bytes(e->remote.reply, e->reg, sizeof e->reg))
        return false;
    e->machine.pc = e->reg[PC];
    e->machine.sp = e->reg[SP];
    return true;
}

/* Runs it on; false when it ended, or stands there for another reason than `command` gives. */
static bool resume(struct emulated *e, const char *command)
{
    if (!remote_ask(&e->remote, command))
        return false;
    unsigned code;
    if (sscanf(e->remote.reply, "T%2x", &code) == 1 && code == SIGTRAP)
        return ask_registers(e);
    if (sscanf(e->remote.reply, "W%2x", &code) == 1)
        fprintf(stderr, "it ended with status %u\n", code);
    else
        fprintf(stderr, "the emulator says %s\n", e->remote.reply);
    return false;
}

static bool breakpoint(struct emulated *e, char set_or_clear, uint64_t address)
{
    char command[64];
    snprintf(command, sizeof command, "%c0,%lx,4", set_or_clear, (unsigned long)address);
    return remote_ask(&e->remote, command);
}

static bool run_to(struct machine *machine, uint64_t address)
{
    struct emulated *e = (struct emulated *)machine;
    return breakpoint(e, 'Z', address) && resume(e, "c") && breakpoint(e, 'z', address) &&
           machine->pc == address;
}

static bool is_exclusive(uint32_t insn, bool load)
{
    return (insn & 0x3fa00000) == 0x08000000 && (insn >> 22 & 1) == load;
}

static uint64_t branch_target(uint32_t insn, uint64_t pc)
{
    uint32_t distance = insn >> 5 & 0x7ffff;
    bool conditional = (insn & 0xff000010) == 0x54000000 || (insn & 0x7e000000) == 0x34000000;
    return conditional ? pc + (uint64_t)((int64_t)((uint64_t)distance << 45) >> 43) : 0;
}

/* A load and a store that are exclusive succeed only when nobody stops in between: all from the
 * one to the other, and the branch back for another try, is one step. */
static bool run_exclusive(struct emulated *e)
{
    enum { LONGEST = 16, MAX_EXITS = 4 };
    const uint64_t start = e->machine.pc; /* at the load */
    uint64_t exits[MAX_EXITS], at = start;
    size_t count = 0;
    bool stored = false, good = true;
    for (unsigned i = 0; i < LONGEST && count + 1 < MAX_EXITS; i++) {
        uint32_t insn;
        if (!machine_read(e, at, &insn, sizeof insn))
            return false;
        uint64_t target = branch_target(insn, at);
        bool back = target >= start && target <= at;
        if (stored && !back)
            break;
        at += 4;
        if (stored)
            break;
        if (target > at)
            exits[count++] = target;
        stored = is_exclusive(insn, false);
    }
    if (!stored)
        return resume(e, "s");
    exits[count++] = at;
    for (size_t i = 0; i < count; i++)
        good = good && breakpoint(e, 'Z', exits[i]);
    good = good && resume(e, "c");
    for (size_t i = 0; i < count; i++)
        good = breakpoint(e, 'z', exits[i]) && good;
    return good;
}

static bool changes_code(const struct emulated *e)
{
    enum { NUMBER = 8, MUNMAP = 215, MREMAP = 216, MMAP = 222, MPROTECT = 226 };
    uint64_t number = e->reg[NUMBER];
    return number == MUNMAP || number == MREMAP || number == MMAP || number == MPROTECT;
}

static bool loads_sp(uint32_t insn)
{
    if ((insn & 0x1f) != SP)
        return false;
    bool sum_of_immediate = (insn & 0x3f800000) == 0x11000000; /* add, sub */
    bool sum_of_register = (insn & 0x3fe00000) == 0x0b200000;
    bool and_of_immediate = (insn & 0x1f800000) == 0x12000000 && (insn & 0x60000000) != 0x60000000;
    return and_of_immediate || ((sum_of_immediate || sum_of_register) && (insn >> 5 & 0x1f) != SP);
}

static void describe(struct emulated *e, uint32_t insn, struct machine_step *step)
{
    enum { NUMBER = 8, RT_SIGRETURN = 139 };
    step->loads_sp = loads_sp(insn);
    step->slot = step->old_sp;
    step->ra = e->reg[PC];
    if ((insn & 0xfc000000) == 0x94000000 || (insn & 0xfefff000) == 0xd63f0000) {
        step->flow = MACHINE_CALL; /* bl; blr, blraa ... */
        step->ra = e->reg[LR];
    } else if ((insn & 0xfffff000) == 0xd65f0000) {
        step->flow = MACHINE_RETURN; /* ret, retaa, retab */
    } else if ((insn & 0xfefff000) == 0xd61f0000) {
        step->flow = MACHINE_JUMP; /* br, braa ... */
    } else if ((insn & 0xffe0001f) == 0xd4000001) {
        step->flow = e->reg[NUMBER] == RT_SIGRETURN ? MACHINE_SIGRETURN : MACHINE_SYSTEM;
    }
}

static void step_once(struct machine *machine, struct machine_step *step)
{
    struct emulated *e = (struct emulated *)machine;
    uint32_t insn = 0;
    *step = (struct machine_step){.event = MACHINE_ENDED, .old_sp = machine->sp};
    if (!machine_read(machine, machine->pc, &insn, sizeof insn) ||
        !(is_exclusive(insn, true) ? run_exclusive(e) : resume(e, "s")))
        return;
    step->event = MACHINE_STEPPED;
    step->ran = true;
    describe(e, insn, step);
    if (step->flow == MACHINE_SYSTEM && changes_code(e))
        machine->code_changes++;
}

/* ------------------------------------------------------------------ looking */

static void registers(const struct machine *machine, struct regs *regs)
{
    const struct emulated *e = (const struct emulated *)machine;
    *regs = (struct regs){{0}, 0};
    for (unsigned i = 0; i < REGISTERS; i++)
        regs_set(regs, (uint8_t)i, e->reg[i]);
}

static void memory(struct machine *machine, struct memory *memory)
{
    struct emulated *e = (struct emulated *)machine;
    uint64_t lo = machine->sp - BELOW_SP, size = e->stack_hi - lo;
    *memory = (struct memory){.slow = machine_read, .context = machine};
    if (lo >= e->stack_hi)
        return;
    if (size > sizeof e->stack)
        size = sizeof e->stack;
    if (machine_read(machine, lo, e->stack, size))
        memory->range[0] = (struct memory_range){lo, size, e->stack};
}

static uint64_t argument(const struct machine *machine)
{
    return ((const struct emulated *)machine)->reg[0];
}

static bool first_return(struct machine *machine, uint64_t *slot, uint64_t *ra)
{
    *slot = machine->sp;
    *ra = ((struct emulated *)machine)->reg[LR];
    return true;
}

/* ------------------------------------------------------------------ beginning and end */

static void end(struct machine *machine)
{
    struct emulated *e = (struct emulated *)machine;
    remote_close(&e->remote);
    if (machine->pid > 0) {
        kill(machine->pid, SIGKILL);
        waitpid(machine->pid, &machine->status, 0);
    }
    free(e);
}

static const struct machine_kind by_qemu = {
    .arch = &arch_aarch64,
    .pac_mask = UINT64_MAX << 48,
    .run_to = run_to,
    .step = step_once,
    .registers = registers,
    .memory = memory,
    .argument = argument,
    .first_return = first_return,
    .end = end,
};

static void run_emulator(const char *socket_path, char **argv)
{
    enum { MAX_ARGUMENTS = 64 };
    char *line[MAX_ARGUMENTS] = {(char *)"qemu-aarch64", (char *)"-g", (char *)socket_path};
    size_t n = 3;
    for (size_t i = 0; argv[i] && n + 1 < MAX_ARGUMENTS; i++)
        line[n++] = argv[i];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    personality(ADDR_NO_RANDOMIZE);
    execvp(line[0], line);
    _exit(127);
}

static int start(struct emulated *e, const char *socket_path, char **argv)
{
    e->machine.pid = fork();
    if (e->machine.pid < 0)
        return errno;
    if (e->machine.pid == 0)
        run_emulator(socket_path, argv);
    if (!remote_connect(&e->remote, socket_path)) {
        bool ended = waitpid(e->machine.pid, &e->machine.status, WNOHANG) == e->machine.pid;
        if (ended)
            e->machine.pid = 0;
        return ended && WIFEXITED(e->machine.status) && WEXITSTATUS(e->machine.status) == 127
                   ? ENOSYS
                   : ECHILD;
    }
    if (!remote_ask(&e->remote, "?") || !ask_registers(e))
        return ECHILD;
    e->stack_hi = (e->machine.sp + 2 * PAGE) & ~(uint64_t)(PAGE - 1);
    return 0;
}

int machine_start_aarch64(struct machine **machine, char **argv)
{
    struct emulated *e = calloc(1, sizeof *e);
    if (!e)
        return ENOMEM;
    e->machine.kind = &by_qemu;
    e->remote.fd = -1;
    *machine = &e->machine;

    const char *base = getenv("TMPDIR");
    char folder[80], path[96];
    snprintf(folder, sizeof folder, "%.60s/oracle.XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder))
        return errno;
    snprintf(path, sizeof path, "%s/gdb", folder);
    int error = start(e, path, argv);
    unlink(path);
    rmdir(folder);
    return error;
}
