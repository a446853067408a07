/* See tracee.h. ptrace(2), process_vm_readv(2); signal frames: Linux x86_64 struct rt_sigframe. */
#include "oracle/tracee.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CODE_SLOTS = 1 << 16, SMALL_WRITE = 64 };

uint64_t tracee_register(const struct user_regs_struct *r, unsigned number)
{
    switch (number) {
    case 0: return r->rax;
    case 1: return r->rcx;
    case 2: return r->rdx;
    case 3: return r->rbx;
    case 4: return r->rsp;
    case 5: return r->rbp;
    case 6: return r->rsi;
    case 7: return r->rdi;
    case 8: return r->r8;
    case 9: return r->r9;
    case 10: return r->r10;
    case 11: return r->r11;
    case 12: return r->r12;
    case 13: return r->r13;
    case 14: return r->r14;
    case 15: return r->r15;
    default: return 0;
    }
}

static void run_child(char **argv)
{
    personality(ADDR_NO_RANDOMIZE);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        _exit(126);
    execvp(argv[0], argv);
    _exit(127);
}

int tracee_start(struct tracee *tracee, char **argv)
{
    tracee->machine.pid = fork();
    if (tracee->machine.pid < 0)
        return errno;
    if (tracee->machine.pid == 0)
        run_child(argv);
    if (waitpid(tracee->machine.pid, &tracee->machine.status, 0) < 0)
        return errno;
    if (!WIFSTOPPED(tracee->machine.status))
        return WIFEXITED(tracee->machine.status) && WEXITSTATUS(tracee->machine.status) == 127
                   ? ENOENT
                   : EPERM;
    if (ptrace(PTRACE_SETOPTIONS, tracee->machine.pid, NULL, PTRACE_O_EXITKILL) != 0 ||
        ptrace(PTRACE_GETREGS, tracee->machine.pid, NULL, &tracee->regs) != 0)
        return errno;
    /* Arguments and environment lie above the first sp: one page of them is enough for a walker
     * that looks too far. */
    tracee->stack_hi = (tracee->regs.rsp + 2 * TRACEE_PAGE) & ~(uint64_t)(TRACEE_PAGE - 1);
    tracee->stack_lo = tracee->stack_hi - (uint64_t)TRACEE_MAX_PAGES * TRACEE_PAGE;
    tracee->mirror = calloc(TRACEE_MAX_PAGES, TRACEE_PAGE);
    tracee->fresh = calloc(TRACEE_MAX_PAGES, 1);
    tracee->cache = calloc(CODE_SLOTS, sizeof *tracee->cache);
    return tracee->mirror && tracee->fresh && tracee->cache ? 0 : ENOMEM;
}

static bool poke(const struct tracee *tracee, uint64_t address, uint64_t word)
{
    return ptrace(PTRACE_POKETEXT, tracee->machine.pid, (void *)(uintptr_t)address,
                  (void *)(uintptr_t)word) == 0;
}

bool tracee_run_to(struct tracee *tracee, uint64_t address)
{
    uint64_t word;
    if (!machine_read(tracee, address, &word, sizeof word) ||
        !poke(tracee, address, (word & ~(uint64_t)0xff) | 0xcc) ||
        ptrace(PTRACE_CONT, tracee->machine.pid, NULL, NULL) != 0 ||
        waitpid(tracee->machine.pid, &tracee->machine.status, 0) < 0 ||
        !WIFSTOPPED(tracee->machine.status) || WSTOPSIG(tracee->machine.status) != SIGTRAP ||
        !poke(tracee, address, word) ||
        ptrace(PTRACE_GETREGS, tracee->machine.pid, NULL, &tracee->regs) != 0)
        return false;
    tracee->regs.rip = address;
    return ptrace(PTRACE_SETREGS, tracee->machine.pid, NULL, &tracee->regs) == 0;
}

void tracee_end(struct tracee *tracee)
{
    if (tracee->machine.pid > 0 && !WIFEXITED(tracee->machine.status) &&
        !WIFSIGNALED(tracee->machine.status)) {
        kill(tracee->machine.pid, SIGKILL);
        waitpid(tracee->machine.pid, &tracee->machine.status, 0);
    }
    free(tracee->mirror);
    free(tracee->fresh);
    free(tracee->cache);
}

/* ------------------------------------------------------------------ code */

/* Whether an instruction with a memory operand only reads it: the common ones, so that the mirror
 * is not read again after each. */
static bool only_reads(const uint8_t *code)
{
    while (*code == 0x66 || *code == 0xf2 || *code == 0xf3 || *code == 0x2e || *code == 0x3e)
        code++;
    if ((*code & 0xf0) == 0x40)
        code++;
    if (code[0] == 0x0f)
        return code[1] == 0x10 || code[1] == 0x28 || code[1] == 0x6f || (code[1] & 0xf0) == 0x40 ||
               code[1] == 0x1f || code[1] == 0x18 || code[1] == 0xaf || (code[1] & 0xf6) == 0xb6;
    if (*code < 0x40)
        return (*code & 7) == 2 || (*code & 7) == 3 || (*code & 0x38) == 0x38;
    if (*code == 0x80 || *code == 0x81 || *code == 0x83)
        return (code[1] & 0x38) == 0x38;
    return *code == 0x8a || *code == 0x8b || *code == 0x63 || *code == 0x84 || *code == 0x85 ||
           *code == 0x8d;
}

static void classify(struct code *code)
{
    const struct x86_insn *insn = &code->insn;
    const uint8_t *b = code->bytes;
    bool is_string = false;
    for (unsigned i = 0; i < 3; i++) {
        is_string |= b[i] == 0xa4 || b[i] == 0xa5 || b[i] == 0xaa || b[i] == 0xab;
        if (b[i] != 0xf2 && b[i] != 0xf3 && (b[i] & 0xf0) != 0x40 && b[i] != 0x66)
            break;
    }
    bool evex = b[0] == 0x62;                                    /* its displacements are scaled */
    bool state = b[0] == 0x0f && (b[1] == 0xae || b[1] == 0xc7); /* xsave and its like */
    state |= (b[0] & 0xf0) == 0x40 && b[1] == 0x0f && (b[2] == 0xae || b[2] == 0xc7);
    code->writes_wide = !code->known || is_string || insn->kind == X86_SYSCALL || evex || state;
    code->writes =
        code->writes_wide || insn->kind == X86_PUSH || insn->kind == X86_CALL ||
        insn->kind == X86_CALL_INDIRECT || insn->kind == X86_ENTER ||
        (insn->memory && insn->kind != X86_LOAD && insn->kind != X86_LEA && !only_reads(b));
}

const struct code *tracee_code(struct tracee *tracee)
{
    uint64_t pc = tracee->regs.rip;
    struct code *code = &tracee->cache[pc % CODE_SLOTS];
    if (code->pc == pc)
        return code;
    *code = (struct code){.pc = pc};
    size_t size = sizeof code->bytes;
    while (size && !machine_read(tracee, pc, code->bytes, size))
        size--;
    code->known = x86_decode(reader_over(code->bytes, size), true, &code->insn);
    classify(code);
    return code;
}

static void forget_code(struct tracee *tracee)
{
    for (size_t i = 0; i < CODE_SLOTS; i++)
        tracee->cache[i].pc = 0;
    tracee->machine.code_changes++;
}

/* ------------------------------------------------------------------ the mirror */

static void mirror_forget(struct tracee *tracee)
{
    memset(tracee->fresh, 0, TRACEE_MAX_PAGES);
}

static bool mirror_has(const struct tracee *tracee, uint64_t address, size_t size)
{
    uint64_t offset = address - tracee->stack_lo;
    if (offset >= tracee->stack_hi - tracee->stack_lo ||
        size > tracee->stack_hi - tracee->stack_lo - offset)
        return false;
    return tracee->fresh[offset / TRACEE_PAGE] && tracee->fresh[(offset + size - 1) / TRACEE_PAGE];
}

static void mirror_put(struct tracee *tracee, uint64_t address, uint64_t value)
{
    if (mirror_has(tracee, address, sizeof value))
        memcpy(tracee->mirror + (address - tracee->stack_lo), &value, sizeof value);
}

static void mirror_read_again(struct tracee *tracee, uint64_t address)
{
    if (!mirror_has(tracee, address, SMALL_WRITE)) {
        uint64_t offset = address - tracee->stack_lo;
        if (offset < tracee->stack_hi - tracee->stack_lo)
            mirror_forget(tracee);
        return;
    }
    if (!machine_read(tracee, address, tracee->mirror + (address - tracee->stack_lo), SMALL_WRITE))
        mirror_forget(tracee);
}

/* Takes over what the instruction wrote; `before` are the registers that it ran with. */
static void mirror_follow(struct tracee *tracee, const struct code *code,
                          const struct user_regs_struct *before)
{
    const struct x86_insn *insn = &code->insn;
    if (!code->writes)
        return;
    if (code->writes_wide) {
        mirror_forget(tracee);
        return;
    }
    if (insn->kind == X86_CALL || insn->kind == X86_CALL_INDIRECT) {
        mirror_put(tracee, before->rsp - 8, code->pc + insn->length);
        return;
    }
    if (insn->kind == X86_PUSH && insn->reg != X86_NO_REG && insn->width == 8) {
        mirror_put(tracee, before->rsp - 8, tracee_register(before, insn->reg));
        return;
    }
    if (insn->kind == X86_PUSH || insn->kind == X86_ENTER || insn->kind == X86_POP)
        mirror_read_again(tracee, tracee->regs.rsp - 8);
    if (!insn->memory || insn->segment || insn->kind == X86_PUSH)
        return;
    uint64_t address = (uint64_t)insn->value;
    if (insn->base != X86_NO_REG)
        address += tracee_register(before, insn->base);
    if (insn->index != X86_NO_REG)
        address += tracee_register(before, insn->index) << insn->scale;
    if (insn->fixed)
        return; /* data of the program */
    if (insn->kind == X86_STORE && insn->source != X86_NO_REG)
        mirror_put(tracee, address, tracee_register(before, insn->source));
    else
        mirror_read_again(tracee, address);
}

static bool mirror_refresh(struct tracee *tracee, uint64_t lo)
{
    size_t first = (lo - tracee->stack_lo) / TRACEE_PAGE, end = TRACEE_MAX_PAGES;
    for (size_t page = first; page < end;) {
        size_t run = page;
        while (run < end && !tracee->fresh[run])
            run++;
        size_t offset = page * TRACEE_PAGE;
        if (run > page && !machine_read(tracee, tracee->stack_lo + offset, tracee->mirror + offset,
                                        (run - page) * TRACEE_PAGE))
            return false;
        memset(tracee->fresh + page, 1, run - page);
        page = run > page ? run : page + 1;
    }
    return true;
}

void tracee_memory(struct tracee *tracee, struct memory *memory)
{
    *memory = (struct memory){.slow = machine_read, .context = tracee};
    uint64_t sp = tracee->regs.rsp;
    if (sp < tracee->stack_lo || sp >= tracee->stack_hi)
        return;
    uint64_t lo = (sp - 128) & ~(uint64_t)(TRACEE_PAGE - 1);
    if (lo < tracee->stack_lo)
        lo = tracee->stack_lo;
    if (!mirror_refresh(tracee, lo))
        return;
    memory->range[0] =
        (struct memory_range){lo, tracee->stack_hi - lo, tracee->mirror + (lo - tracee->stack_lo)};
}

/* ------------------------------------------------------------------ stepping */

static bool changes_code(const struct code *code, const struct user_regs_struct *before)
{
    if (code->insn.kind != X86_SYSCALL)
        return false;
    return before->rax == SYS_mmap || before->rax == SYS_munmap || before->rax == SYS_mprotect ||
           before->rax == SYS_mremap || before->rax == SYS_execve;
}

/* The kernel made a signal frame: the interrupted sp stands in it. */
static bool handler_entered(struct tracee *tracee, const struct user_regs_struct *before)
{
    enum { CONTEXT = 8, CONTEXT_SP = 40 + 120 };
    uint64_t sp;
    return tracee->regs.rsp != before->rsp &&
           machine_read(tracee, tracee->regs.rsp + CONTEXT + CONTEXT_SP, &sp, sizeof sp) &&
           sp == before->rsp && tracee->regs.rdi == (unsigned)tracee->signal;
}

enum machine_event tracee_step(struct tracee *tracee, const struct code *code, bool *ran)
{
    struct user_regs_struct before = tracee->regs;
    *ran = false;
    if (ptrace(PTRACE_SINGLESTEP, tracee->machine.pid, NULL, (void *)(uintptr_t)tracee->signal) !=
            0 ||
        waitpid(tracee->machine.pid, &tracee->machine.status, 0) < 0 ||
        !WIFSTOPPED(tracee->machine.status))
        return MACHINE_ENDED;
    if (ptrace(PTRACE_GETREGS, tracee->machine.pid, NULL, &tracee->regs) != 0)
        return MACHINE_ENDED;
    int stopped_by = WSTOPSIG(tracee->machine.status);
    bool entered = tracee->signal && handler_entered(tracee, &before);
    tracee->signal = stopped_by == SIGTRAP ? 0 : stopped_by;
    if (entered) {
        mirror_forget(tracee);
        return MACHINE_DELIVERED;
    }
    *ran = stopped_by == SIGTRAP || tracee->regs.rip != before.rip;
    if (*ran) {
        mirror_follow(tracee, code, &before);
        if (changes_code(code, &before))
            forget_code(tracee);
    }
    return stopped_by == SIGTRAP ? MACHINE_STEPPED : MACHINE_SIGNALLED;
}
