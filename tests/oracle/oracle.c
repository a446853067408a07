/*
 * The shadow-stack oracle: runs a program one instruction at a time, keeps its true call stack from
 * the calls and returns that are executed, and compares the walker's answer at every instruction.
 * The figure is the share of instructions with an exact stack: every frame's address and kind, from
 * the innermost to the outermost, and the knowledge that it is the outermost.
 *
 *     fw_oracle [--skip N] [--max N] [--every N] [--sites N] [--least PERCENT] [--entry 1]
 *               [--macho SYMBOL] [--seconds N] -- PROGRAM ARG...
 *
 * With --entry 1 the dynamic loader's start is not looked at. With --macho, PROGRAM is a loader of
 * Mach-O programs, and SYMBOL its function whose first argument is where such a program begins: it
 * is followed from there on, instructions of Mach-O files are compared, and the loader's own frames
 * do not count, as if it were a kernel.
 *
 * Exit status: 0, 1 when the share is below PERCENT or the decoder missed a written register, 2 for
 * wrong usage, 77 when programs cannot be traced here. x86_64 programs, and aarch64 ones under
 * qemu-aarch64, of one thread; what other threads and children do is not looked at.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "oracle/machine.h"
#include "oracle/misses.h"
#include "oracle/peer.h"
#include "oracle/process_images.h"
#include "oracle/shadow.h"
#include "unwind/rule.h"
#include "unwind/walk.h"

enum { MAX_FRAMES = 1 << 16, RULES = 1 << 16 };

struct settings {
    uint64_t skip, max, every;
    size_t sites;
    double least, seconds;
    bool entry;
    const char *macho; /* symbol, or NULL */
    char **program;
};

struct oracle {
    struct settings settings;
    struct machine *machine;
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
    bool left;           /* they were left: the next return is such a jump, too */
    size_t adopted;      /* frames that stood when the Mach-O program began */
    bool ended;
    uint64_t instructions, compared, undefined, repeated;
    size_t deepest;
    struct misses misses, peer_misses;
};

/* ------------------------------------------------------------------ the true stack */

/* The true stack; of the loader of Mach-O files, only the frames that its programs see. */
static size_t true_stack(struct oracle *o)
{
    size_t kept = 0;
    size_t count = shadow_frames(&o->shadows, o->machine->pc, o->expected, MAX_FRAMES);
    for (size_t i = 0; i < count; i++) {
        const struct shadow_frame *frame = &o->expected[i];
        if (!o->settings.macho ||
            process_images_is_macho(&o->images, frame->address - !frame->exact))
            o->expected[kept++] = *frame;
    }
    return kept;
}

/* On a new stack somebody has put a return address for the first function. */
static void adopt_first_return(struct oracle *o)
{
    uint64_t slot, ra;
    if (shadow_is_fresh(&o->shadows) && o->machine->kind->first_return(o->machine, &slot, &ra) &&
        process_images_is_code(&o->images, ra))
        shadow_call(&o->shadows, slot, ra);
}

static bool returns(struct oracle *o, const struct machine_step *step)
{
    /* Where the slot holds no address, it is the address that tells a return from a jump. */
    if (!o->machine->kind->ra_in_slots && shadow_innermost(&o->shadows) != step->ra)
        return false;
    return shadow_return(&o->shadows, step->slot);
}

static void follow(struct oracle *o, const struct machine_step *step)
{
    bool arrived = false; /* where a jump between stacks leads */
    uint64_t sp = o->machine->sp;
    switch (step->flow) {
    case MACHINE_CALL: shadow_call(&o->shadows, step->slot, step->ra); break;
    case MACHINE_RETURN: arrived = !returns(o, step); break;
    case MACHINE_JUMP: arrived = true; break;
    case MACHINE_SIGRETURN: shadow_sigreturn(&o->shadows, sp); break;
    default: break;
    }
    arrived |= o->left && step->flow == MACHINE_RETURN;
    if (arrived && o->between_stacks) {
        adopt_first_return(o);
        o->between_stacks = o->left = false;
        size_t count = true_stack(o);
        misses_settle(&o->misses, &o->images, o->expected, count);
        misses_settle(&o->peer_misses, &o->images, o->expected, count);
    }
    bool system = step->flow == MACHINE_SYSTEM || step->flow == MACHINE_SIGRETURN;
    if (step->loads_sp && sp != step->old_sp) {
        o->left |= shadow_jumped(&o->shadows, step->old_sp, sp);
        o->between_stacks |= o->left;
    } else if (sp > step->old_sp && !system) {
        shadow_moved(&o->shadows, sp);
    }
}

/* ------------------------------------------------------------------ the walker's stack */

static struct walked walk(struct oracle *o)
{
    struct memory memory;
    struct regs regs;
    if (o->cache_changes != o->machine->code_changes)
        rule_cache_clear(&o->cache);
    o->cache_changes = o->machine->code_changes;
    o->machine->kind->memory(o->machine, &memory);
    o->machine->kind->registers(o->machine, &regs);
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
    if (!o->machine->kind->ra_in_slots)
        return false;
    for (size_t i = 1; i < count; i++) {
        uint64_t ra;
        struct shadow_frame *e = &o->expected[i];
        if (e->slot && machine_read(o->machine, e->slot, &ra, sizeof ra) && ra != e->address) {
            shadow_rewrite(&o->shadows, e->slot, ra);
            e->address = ra;
            any = true;
        }
    }
    return any;
}

static void compare(struct oracle *o)
{
    size_t at, count = true_stack(o);
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

static bool is_of_interest(struct oracle *o)
{
    const struct settings *s = &o->settings;
    return o->instructions >= s->skip && o->instructions % s->every == 0 &&
           (!s->macho || !process_images_is_host(&o->images, o->machine->pc));
}

static void run(struct oracle *o)
{
    const struct settings *s = &o->settings;
    uint64_t last_pc = 0, peer_changes = 0;
    double end = seconds() + s->seconds;
    while (o->instructions < s->skip + s->max) {
        if (o->instructions % 1024 == 0 && seconds() > end)
            return;
        uint64_t pc = o->machine->pc;
        if (o->between_stacks) {
            o->undefined++;
        } else if (pc == last_pc) {
            o->repeated++; /* the next turn of a repeated string instruction */
        } else if (is_of_interest(o)) {
            if (o->peer && peer_changes != o->machine->code_changes)
                peer_flush(o->peer);
            peer_changes = o->machine->code_changes;
            compare(o);
        }
        last_pc = pc;
        struct machine_step step;
        o->machine->kind->step(o->machine, &step);
        o->ended = step.event == MACHINE_ENDED;
        if (o->ended)
            return;
        const struct machine_signal *signal = &step.signal;
        if (step.event == MACHINE_DELIVERED)
            shadow_signal(&o->shadows, signal->slot, signal->trampoline, signal->pc, signal->sp);
        if (step.ran) {
            follow(o, &step);
            o->instructions++;
        }
        o->ended = o->shadows.stack[0].count < o->adopted;
        if (o->ended)
            return; /* the Mach-O program's main has returned */
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
    char **last = o->settings.program;
    while (o->settings.macho && last[1])
        last++; /* the loader's argument */
    printf("%s: %lu instructions, %lu compared, %lu exact: %.4f %%, %lu gave up, %lu wrong\n",
           *last, (unsigned long)o->instructions, (unsigned long)o->compared,
           (unsigned long)(o->compared - o->misses.total), share(o, &o->misses),
           (unsigned long)o->misses.gave_up, (unsigned long)(o->misses.total - o->misses.gave_up));
    printf("  deepest %zu frames, %lu stacks, %lu frames left without a return, %lu instructions "
           "between two stacks, %lu ahead of a jump, %.0f instructions/s\n",
           o->deepest, (unsigned long)o->shadows.count, (unsigned long)o->shadows.dropped,
           (unsigned long)o->undefined, (unsigned long)o->misses.ahead,
           (double)o->instructions / took);
    if (o->machine->undecoded)
        printf("  %lu instructions changed registers that the decoder does not name\n",
               (unsigned long)o->machine->undecoded);
    if (!o->ended) {
        char name[160];
        process_images_name(&o->images, o->machine->pc, true, name, sizeof name);
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
    o->images.machine = o->machine;
    o->space = (struct walk_space){.arch = o->machine->kind->arch,
                                   .find_image = process_images_find,
                                   .context = &o->images,
                                   .cache = &o->cache,
                                   .pac_mask = o->machine->kind->pac_mask,
                                   .is_code = process_images_is_code};
    return o->cache.slot && o->expected && o->frames && o->address && o->exact &&
           shadow_start(&o->shadows);
}

static void finish(struct oracle *o)
{
    if (o->peer)
        peer_end(o->peer);
    process_images_free(&o->images);
    shadow_free(&o->shadows);
    misses_free(&o->misses);
    misses_free(&o->peer_misses);
    free(o->cache.slot);
    free(o->expected);
    free(o->frames);
    free(o->address);
    free(o->exact);
    if (o->machine)
        o->machine->kind->end(o->machine);
}

static bool parse(int argc, char **argv, struct settings *s)
{
    *s = (struct settings){.max = UINT64_MAX / 2, .every = 1, .sites = 20, .seconds = 1e9};
    int i = 1;
    for (; i + 1 < argc && strcmp(argv[i], "--") != 0; i += 2) {
        char *end;
        if (strcmp(argv[i], "--macho") == 0) {
            s->macho = argv[i + 1];
            continue;
        }
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

/* The frames that stand already, as the walker sees them. */
static bool adopt_stack(struct oracle *o)
{
    struct memory memory;
    struct regs regs;
    const struct arch *arch = o->machine->kind->arch;
    const uint64_t below = o->machine->kind->ra_in_slots ? arch->pointer_size : 0;
    uint8_t method;
    bool exact = true, signal_frame;
    size_t count = 0;
    enum unwind_status status;
    o->machine->kind->memory(o->machine, &memory);
    o->machine->kind->registers(o->machine, &regs);
    while ((status = walk_step(&o->space, &memory, exact, &regs, &method, &signal_frame)) ==
               UNWIND_OK &&
           regs.r[arch->pc] != 0 && !signal_frame && count < MAX_FRAMES) {
        o->expected[count++] =
            (struct shadow_frame){regs.r[arch->pc], false, regs.r[arch->sp] - below};
        exact = false;
    }
    for (size_t i = count; i-- > 0;)
        shadow_call(&o->shadows, o->expected[i].slot, o->expected[i].address);
    o->adopted = count;
    return status == UNWIND_ROOT || (status == UNWIND_OK && regs.r[arch->pc] == 0);
}

static bool run_to_begin(struct oracle *o)
{
    const struct settings *s = &o->settings;
    struct machine *machine = o->machine;
    uint64_t start = machine_symbol(machine, s->program[0], s->macho);
    if (!start || !machine->kind->run_to(machine, start)) {
        fprintf(stderr, "%s: never at %s\n", s->program[0],
                s->macho ? s->macho : "its entry point");
        return false;
    }
    if (!s->macho)
        return true;
    if (!machine->kind->run_to(machine, machine->kind->argument(machine)) || !adopt_stack(o)) {
        fprintf(stderr, "%s: the Mach-O program does not begin\n", s->program[0]);
        return false;
    }
    return true;
}

/* 0, or an exit status. */
static int begin(struct oracle *o)
{
    const struct settings *s = &o->settings;
    int error = machine_start(&o->machine, s->program);
    if (error == EPERM || error == ENOSYS) {
        printf("skip: %s\n", error == EPERM ? "programs cannot be traced here" : "no qemu-aarch64");
        return 77;
    }
    if (error || !prepare(o)) {
        fprintf(stderr, "%s: %s\n", s->program[0], strerror(error ? error : ENOMEM));
        return 2;
    }
    return (!s->entry && !s->macho) || run_to_begin(o) ? 0 : 2;
}

int main(int argc, char **argv)
{
    struct oracle o = {0};
    if (!parse(argc, argv, &o.settings)) {
        fprintf(stderr,
                "usage: %s [--skip N] [--max N] [--every N] [--sites N] [--least PERCENT] "
                "[--entry 1] [--macho SYMBOL] [--seconds N] -- PROGRAM ARG...\n",
                argv[0]);
        return 2;
    }
    int status = begin(&o);
    if (status == 0) {
        if (peer_name)
            o.peer = peer_start(o.machine->pid);
        double start = seconds();
        run(&o);
        report(&o, seconds() - start);
        bool good =
            o.machine->undecoded == 0 && o.compared > 0 && share(&o, &o.misses) >= o.settings.least;
        status = good ? 0 : 1;
    }
    finish(&o);
    return status;
}
