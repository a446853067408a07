/*
 * The shadow-stack oracle: runs a program one instruction at a time, keeps its true call stack from
 * the calls and returns that are executed, and compares the walker's answer at every instruction.
 * The figure is the share of instructions with an exact stack: every frame's address and kind, from
 * the innermost to the outermost, and the knowledge that it is the outermost.
 *
 *     fw_oracle [--skip N] [--max N] [--every N] [--sites N] [--least PERCENT] [--entry 1]
 *               [--seconds N] -- PROGRAM ARG...
 *
 * With --entry 1 the dynamic loader's start is not looked at.
 * Exit status: 0, 1 when the share is below PERCENT or the decoder missed a written register, 2 for
 * wrong usage, 77 when programs cannot be traced here. x86_64 programs of one thread; what other
 * threads and children do is not looked at.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "oracle/misses.h"
#include "oracle/peer.h"
#include "oracle/process_images.h"
#include "oracle/shadow.h"
#include "oracle/tracee.h"
#include "unwind/rule.h"
#include "unwind/walk.h"

enum { MAX_FRAMES = 1 << 16, RULES = 1 << 16 };

struct settings {
    uint64_t skip, max, every;
    size_t sites;
    double least, seconds;
    bool entry;
    char **program;
};

struct oracle {
    struct settings settings;
    struct tracee tracee;
    struct process_images images;
    struct shadows shadows;
    struct rule_cache cache;
    struct walk_space space;
    uint64_t cache_changes;
    void *peer;

    struct shadow_frame *expected;
    struct fw_frame *frames;
    uint64_t *address;
    uint8_t *exact;

    bool between_stacks; /* frames were left or replaced, and the jump that follows is not done */
    uint64_t instructions, compared, undefined, repeated;
    size_t deepest;
    uint64_t undecoded; /* instructions that changed registers which the decoder does not name */
    struct misses misses, peer_misses;
};

/* ------------------------------------------------------------------ the true stack */

static bool loads_sp(const struct x86_insn *insn)
{
    if (insn->kind == X86_MOV || insn->kind == X86_LOAD || insn->kind == X86_POP)
        return insn->reg == X86_SP;
    return insn->kind == X86_LEA && insn->reg == X86_SP && insn->base != X86_SP;
}

/* On a new stack somebody has put a return address for the first function. */
static void adopt_first_return(struct oracle *o)
{
    uint64_t ra;
    if (shadow_is_fresh(&o->shadows) &&
        tracee_read(&o->tracee, o->tracee.regs.rsp, &ra, sizeof ra) &&
        process_images_is_code(&o->images, ra))
        shadow_call(&o->shadows, o->tracee.regs.rsp, ra);
}

static void follow(struct oracle *o, const struct code *code, const struct user_regs_struct *before)
{
    const struct x86_insn *insn = &code->insn;
    const struct user_regs_struct *now = &o->tracee.regs;
    bool arrived = false; /* where a jump between stacks leads */
    switch (insn->kind) {
    case X86_CALL:
    case X86_CALL_INDIRECT:
        if (insn->kind == X86_CALL_INDIRECT || insn->target != 0)
            shadow_call(&o->shadows, before->rsp - 8, code->pc + insn->length);
        break;
    case X86_RET: arrived = !shadow_return(&o->shadows, before->rsp); break;
    case X86_JUMP_INDIRECT: arrived = !insn->fixed; break;
    case X86_SYSCALL:
        if (before->rax == 15) /* rt_sigreturn */
            shadow_sigreturn(&o->shadows, now->rsp);
        break;
    default: break;
    }
    if (arrived && o->between_stacks) {
        adopt_first_return(o);
        o->between_stacks = false;
        size_t count = shadow_frames(&o->shadows, now->rip, o->expected, MAX_FRAMES);
        misses_settle(&o->misses, &o->images, o->expected, count);
        misses_settle(&o->peer_misses, &o->images, o->expected, count);
    }
    if (loads_sp(insn) && now->rsp != before->rsp)
        o->between_stacks |= shadow_jumped(&o->shadows, before->rsp, now->rsp);
    else if (now->rsp > before->rsp && insn->kind != X86_SYSCALL)
        shadow_moved(&o->shadows, now->rsp);
}

static void follow_signal(struct oracle *o)
{
    enum { CONTEXT_PC = 8 + 40 + 128, CONTEXT_SP = 8 + 40 + 120 };
    uint64_t sp = o->tracee.regs.rsp, trampoline = 0, pc = 0, old_sp = 0;
    tracee_read(&o->tracee, sp, &trampoline, sizeof trampoline);
    tracee_read(&o->tracee, sp + CONTEXT_PC, &pc, sizeof pc);
    tracee_read(&o->tracee, sp + CONTEXT_SP, &old_sp, sizeof old_sp);
    shadow_signal(&o->shadows, sp, trampoline, pc, old_sp);
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

static void check_decoder(struct oracle *o, const struct code *code,
                          const struct user_regs_struct *before)
{
    unsigned allowed = may_change(&code->insn);
    for (unsigned i = 0; i < 16; i++)
        if (!(allowed >> i & 1) &&
            tracee_register(before, i) != tracee_register(&o->tracee.regs, i)) {
            if (o->undecoded++ == 0)
                fprintf(stderr, "%#lx: register %u changed\n", (unsigned long)code->pc, i);
            return;
        }
}

/* ------------------------------------------------------------------ the walker's stack */

static void set_regs(const struct user_regs_struct *from, struct regs *regs)
{
    static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
    *regs = (struct regs){{0}, 0};
    for (unsigned i = 0; i < 16; i++)
        regs_set(regs, dwarf[i], tracee_register(from, i));
    regs_set(regs, arch_x86_64.pc, from->rip);
}

static struct walked walk(struct oracle *o)
{
    struct memory memory;
    struct regs regs;
    if (o->cache_changes != o->tracee.code_changes)
        rule_cache_clear(&o->cache);
    o->cache_changes = o->tracee.code_changes;
    tracee_memory(&o->tracee, &memory);
    set_regs(&o->tracee.regs, &regs);
    struct walk_options options = {.exact_first = true};
    struct fw_stack stack = {.frames = o->frames, .capacity = MAX_FRAMES};
    walk_stack(&o->space, &memory, &regs, &options, &stack);
    for (size_t i = 0; i < stack.count; i++) {
        o->address[i] = stack.frames[i].address;
        o->exact[i] = stack.frames[i].kind == FW_FRAME_EXACT;
    }
    return (struct walked){o->address, o->exact, stack.count, stack.end == FW_END_ROOT, stack.end};
}

/* Return addresses that the program itself has overwritten are what memory says. */
static bool correct_rewritten(struct oracle *o, size_t count)
{
    bool any = false;
    for (size_t i = 1; i < count; i++) {
        uint64_t ra;
        struct shadow_frame *e = &o->expected[i];
        if (e->slot && tracee_read(&o->tracee, e->slot, &ra, sizeof ra) && ra != e->address) {
            shadow_rewrite(&o->shadows, e->slot, ra);
            e->address = ra;
            any = true;
        }
    }
    return any;
}

static void compare(struct oracle *o)
{
    size_t at, count = shadow_frames(&o->shadows, o->tracee.regs.rip, o->expected, MAX_FRAMES);
    if (count > o->deepest)
        o->deepest = count;
    struct walked got = walk(o);
    enum miss_class class = misses_compare(o->expected, count, &got, &at);
    if (class != MISS_CLASSES && correct_rewritten(o, count)) {
        class = misses_compare(o->expected, count, &got, &at);
        if (class != MISS_CLASSES) {
            /* The exception runtime has put the address of a handler in place of the return address
             * of a function that still runs: until it jumps there, memory holds no stack. */
            o->between_stacks = true;
            o->undefined++;
            return;
        }
    }
    o->compared++;
    if (class == MISS_CLASSES)
        misses_settle(&o->misses, &o->images, NULL, 0);
    else
        misses_defer(&o->misses, &o->images, o->instructions, class, o->expected, count, &got, at);
    if (!o->peer)
        return;
    got = (struct walked){.address = o->address};
    got.count = peer_walk(o->peer, o->address, MAX_FRAMES, &got.whole);
    class = misses_compare(o->expected, count, &got, &at);
    if (class == MISS_CLASSES)
        misses_settle(&o->peer_misses, &o->images, NULL, 0);
    else
        misses_defer(&o->peer_misses, &o->images, o->instructions, class, o->expected, count, &got,
                     at);
}

/* ------------------------------------------------------------------ the run */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void run(struct oracle *o)
{
    const struct settings *s = &o->settings;
    uint64_t last_pc = 0, peer_changes = 0;
    double end = seconds() + s->seconds;
    while (o->instructions < s->skip + s->max) {
        if (o->instructions % 1024 == 0 && seconds() > end)
            return;
        const struct code *code = tracee_code(&o->tracee);
        struct code copy = *code;
        if (o->between_stacks) {
            o->undefined++;
        } else if (copy.pc == last_pc && o->tracee.regs.rip == last_pc) {
            o->repeated++; /* the next turn of a repeated string instruction */
        } else if (o->instructions >= s->skip && o->instructions % s->every == 0) {
            if (o->peer && peer_changes != o->tracee.code_changes)
                peer_flush(o->peer);
            peer_changes = o->tracee.code_changes;
            compare(o);
        }
        last_pc = copy.pc;
        struct user_regs_struct before = o->tracee.regs;
        bool ran;
        enum tracee_event event = tracee_step(&o->tracee, &copy, &ran);
        if (event == TRACEE_ENDED)
            return;
        if (event == TRACEE_DELIVERED)
            follow_signal(o);
        if (ran) {
            follow(o, &copy, &before);
            check_decoder(o, &copy, &before);
            o->instructions++;
        }
    }
}

static double share(const struct oracle *o, const struct misses *misses)
{
    return o->compared ? 100.0 * (double)(o->compared - misses->total) / (double)o->compared : 0;
}

static void report(struct oracle *o, double took)
{
    misses_settle(&o->misses, &o->images, NULL, 0);
    misses_settle(&o->peer_misses, &o->images, NULL, 0);
    printf("%s: %lu instructions, %lu compared, %lu exact: %.4f %%\n", o->settings.program[0],
           (unsigned long)o->instructions, (unsigned long)o->compared,
           (unsigned long)(o->compared - o->misses.total), share(o, &o->misses));
    printf("  deepest %zu frames, %lu stacks, %lu frames left without a return, %lu instructions "
           "between two stacks, %lu ahead of a jump, %.0f instructions/s\n",
           o->deepest, (unsigned long)o->shadows.count, (unsigned long)o->shadows.dropped,
           (unsigned long)o->undefined, (unsigned long)o->misses.ahead,
           (double)o->instructions / took);
    if (o->undecoded)
        printf("  %lu instructions changed registers that the decoder does not name\n",
               (unsigned long)o->undecoded);
    if (WIFSTOPPED(o->tracee.status)) {
        char name[160];
        process_images_name(&o->images, o->tracee.regs.rip, true, name, sizeof name);
        printf("  still running, in %s\n", name);
    }
    misses_print(&o->misses, stdout, o->settings.sites);
    if (o->peer) {
        printf("%s: %lu exact of the same: %.4f %%\n", peer_name,
               (unsigned long)(o->compared - o->peer_misses.total), share(o, &o->peer_misses));
        misses_print(&o->peer_misses, stdout, o->settings.sites);
    }
}

static bool prepare(struct oracle *o)
{
    o->cache = (struct rule_cache){.mask = RULES - 1, .slot = calloc(RULES, sizeof *o->cache.slot)};
    o->expected = calloc(MAX_FRAMES, sizeof *o->expected);
    o->frames = calloc(MAX_FRAMES, sizeof *o->frames);
    o->address = calloc(MAX_FRAMES, sizeof *o->address);
    o->exact = calloc(MAX_FRAMES, sizeof *o->exact);
    o->images.tracee = &o->tracee;
    o->space = (struct walk_space){.arch = &arch_x86_64,
                                   .find_image = process_images_find,
                                   .context = &o->images,
                                   .cache = &o->cache,
                                   .is_code = process_images_is_code};
    return o->cache.slot && o->expected && o->frames && o->address && o->exact &&
           shadow_start(&o->shadows);
}

static void finish(struct oracle *o)
{
    if (o->peer)
        peer_end(o->peer);
    tracee_end(&o->tracee);
    process_images_free(&o->images);
    shadow_free(&o->shadows);
    misses_free(&o->misses);
    misses_free(&o->peer_misses);
    free(o->cache.slot);
    free(o->expected);
    free(o->frames);
    free(o->address);
    free(o->exact);
}

static bool parse(int argc, char **argv, struct settings *s)
{
    *s = (struct settings){.max = UINT64_MAX / 2, .every = 1, .sites = 20, .seconds = 1e9};
    int i = 1;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        char *end;
        double value = strtod(argv[i + 1], &end);
        if (*end || value < 0)
            return false;
        if (strcmp(argv[i], "--skip") == 0)
            s->skip = (uint64_t)value;
        else if (strcmp(argv[i], "--max") == 0)
            s->max = (uint64_t)value;
        else if (strcmp(argv[i], "--every") == 0 && value >= 1)
            s->every = (uint64_t)value;
        else if (strcmp(argv[i], "--sites") == 0)
            s->sites = (size_t)value;
        else if (strcmp(argv[i], "--least") == 0)
            s->least = value;
        else if (strcmp(argv[i], "--seconds") == 0)
            s->seconds = value;
        else if (strcmp(argv[i], "--entry") == 0)
            s->entry = value != 0;
        else
            return false;
    }
    if (i + 1 >= argc)
        return false;
    s->program = argv + i + 1;
    return true;
}

int main(int argc, char **argv)
{
    struct oracle o = {0};
    if (!parse(argc, argv, &o.settings)) {
        fprintf(stderr,
                "usage: %s [--skip N] [--max N] [--every N] [--sites N] [--least PERCENT] "
                "[--entry 1] [--seconds N] -- PROGRAM ARG...\n",
                argv[0]);
        return 2;
    }
    int error = tracee_start(&o.tracee, o.settings.program);
    if (error == EPERM) {
        printf("skip: programs cannot be traced here\n");
        return 77;
    }
    if (!error && o.settings.entry && !tracee_run_to_entry(&o.tracee))
        error = ECHILD;
    if (error || !prepare(&o)) {
        fprintf(stderr, "%s: %s\n", o.settings.program[0], strerror(error ? error : ENOMEM));
        tracee_end(&o.tracee);
        return 2;
    }
    if (peer_name)
        o.peer = peer_start(o.tracee.pid);
    double start = seconds();
    run(&o);
    report(&o, seconds() - start);
    bool good = o.undecoded == 0 && o.compared > 0 && share(&o, &o.misses) >= o.settings.least;
    finish(&o);
    return good ? 0 : 1;
}
