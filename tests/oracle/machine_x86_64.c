/* x86_64 by ptrace: what each instruction does to the call stack. System V ABI, AMD64 supplement;
 * signal frames: Linux x86_64 struct rt_sigframe. See machine.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "oracle/tracee.h"

static void publish(struct tracee *tracee)
{
    tracee->machine.pc = tracee->regs.rip;
    tracee->machine.sp = tracee->regs.rsp;
}

static bool loads_sp(const struct x86_insn *insn)
{
    if (insn->kind == X86_MOV || insn->kind == X86_LOAD || insn->kind == X86_POP)
        return insn->reg == X86_SP;
    if (insn->kind == X86_OTHER)
        return insn->writes >> X86_SP & 1;
    return insn->kind == X86_LEA && insn->reg == X86_SP && insn->base != X86_SP;
}

static void describe(const struct tracee *tracee, const struct code *code,
                     const struct user_regs_struct *before, struct machine_step *step)
{
    const struct x86_insn *insn = &code->insn;
    step->loads_sp = loads_sp(insn);
    step->slot = before->rsp;
    step->ra = tracee->regs.rip;
    switch (insn->kind) {
    case X86_CALL:
    case X86_CALL_INDIRECT:
        if (insn->kind == X86_CALL && insn->target == 0)
            break; /* only asks where it is */
        step->flow = MACHINE_CALL;
        step->slot = before->rsp - 8;
        step->ra = code->pc + insn->length;
        break;
    case X86_RET: step->flow = MACHINE_RETURN; break;
    case X86_JUMP_INDIRECT: step->flow = insn->fixed ? MACHINE_NEXT : MACHINE_JUMP; break;
    case X86_SYSCALL:
        step->flow = before->rax == 15 /* rt_sigreturn */ ? MACHINE_SIGRETURN : MACHINE_SYSTEM;
        break;
    default: break;
    }
}

static void describe_signal(struct tracee *tracee, struct machine_signal *signal)
{
    enum { CONTEXT_PC = 8 + 40 + 128, CONTEXT_SP = 8 + 40 + 120 };
    uint64_t sp = tracee->regs.rsp;
    signal->slot = sp;
    machine_read(tracee, sp, &signal->trampoline, sizeof signal->trampoline);
    machine_read(tracee, sp + CONTEXT_PC, &signal->pc, sizeof signal->pc);
    machine_read(tracee, sp + CONTEXT_SP, &signal->sp, sizeof signal->sp);
}

/* General registers that the decoder says `insn` may change. */
static unsigned may_change(const struct x86_insn *insn)
{
    unsigned mask = insn->writes;
    switch (insn->kind) {
    case X86_POP: mask |= 1u << X86_SP; /* fallthrough */
    case X86_MOV:
    case X86_LOAD:
    case X86_LEA:
    case X86_ADD: return insn->reg == X86_NO_REG ? mask : mask | 1u << insn->reg;
    case X86_ENTER:
    case X86_LEAVE: return mask | 1u << X86_SP | 1u << X86_BP;
    case X86_PUSH:
    case X86_CALL:
    case X86_CALL_INDIRECT:
    case X86_RET: return mask | 1u << X86_SP;
    case X86_SYSCALL: return ~0u; /* rt_sigreturn */
    default: return mask;
    }
}

static void check_decoder(struct tracee *tracee, const struct code *code,
                          const struct user_regs_struct *before)
{
    unsigned allowed = may_change(&code->insn);
    for (unsigned i = 0; i < 16; i++)
        if (!(allowed >> i & 1) &&
            tracee_register(before, i) != tracee_register(&tracee->regs, i)) {
            if (tracee->machine.undecoded++ == 0)
                fprintf(stderr, "%#lx: register %u changed\n", (unsigned long)code->pc, i);
            return;
        }
}

static void step_once(struct machine *machine, struct machine_step *step)
{
    struct tracee *tracee = (struct tracee *)machine;
    const struct code code = *tracee_code(tracee);
    const struct user_regs_struct before = tracee->regs;
    *step = (struct machine_step){.old_sp = before.rsp};
    step->event = tracee_step(tracee, &code, &step->ran);
    if (step->event == MACHINE_ENDED)
        return;
    publish(tracee);
    if (step->event == MACHINE_DELIVERED)
        describe_signal(tracee, &step->signal);
    if (step->ran) {
        describe(tracee, &code, &before, step);
        check_decoder(tracee, &code, &before);
    }
}

static bool run_to(struct machine *machine, uint64_t address)
{
    bool arrived = tracee_run_to((struct tracee *)machine, address);
    publish((struct tracee *)machine);
    return arrived;
}

static void registers(const struct machine *machine, struct regs *regs)
{
    static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
    const struct user_regs_struct *from = &((const struct tracee *)machine)->regs;
    *regs = (struct regs){{0}, 0};
    for (unsigned i = 0; i < 16; i++)
        regs_set(regs, dwarf[i], tracee_register(from, i));
    regs_set(regs, arch_x86_64.pc, from->rip);
}

static void memory(struct machine *machine, struct memory *memory)
{
    tracee_memory((struct tracee *)machine, memory);
}

static uint64_t argument(const struct machine *machine)
{
    return ((const struct tracee *)machine)->regs.rdi;
}

static bool first_return(struct machine *machine, uint64_t *slot, uint64_t *ra)
{
    *slot = machine->sp;
    return machine_read(machine, machine->sp, ra, sizeof *ra);
}

static void end(struct machine *machine)
{
    tracee_end((struct tracee *)machine);
    free(machine);
}

static const struct machine_kind by_ptrace = {
    .arch = &arch_x86_64,
    .ra_in_slots = true,
    .run_to = run_to,
    .step = step_once,
    .registers = registers,
    .memory = memory,
    .argument = argument,
    .first_return = first_return,
    .end = end,
};

int machine_start_x86_64(struct machine **machine, char **argv)
{
    struct tracee *tracee = calloc(1, sizeof *tracee);
    if (!tracee)
        return ENOMEM;
    tracee->machine.kind = &by_ptrace;
    int error = tracee_start(tracee, argv);
    publish(tracee);
    *machine = &tracee->machine;
    return error;
}
