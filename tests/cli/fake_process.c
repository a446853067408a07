/* Canned answers of fw_process_*; see the header for which. */
#include "cli/fake_process.h"

#include "framewalk/process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROOM         128
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct fw_process {
    int32_t pid;
    const char *core;
    int captures;
    struct fw_process_thread threads[ROOM];
    size_t count;
};

static int open_count;

int fake_open_count(void)
{
    return open_count;
}

/* Images and symbols */

static const uint8_t libc_id[20] = {0xab, 0xcd, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9};
static const char hang[] = "/opt/hang/bin/hang", libc[] = "/lib/x86_64-linux-gnu/libc.so.6";

static const struct {
    uint64_t start, size;
    const char *name, *image;
    bool plt;
} symbols[] = {
    {0x401000, 0x100, "main", hang, false},
    {0x401100, 0x100, "_ZN4hang6Server4waitEi", hang, false},
    {0x401200, 0x100, "_RNvC6_123foo3bar", hang, false},
    {0x401300, 0x100, "_ZN4hang6WorkerINS_3JobEE3runERKSt6vectorIS1_SaIS1_EEPKcbdfxyz", hang,
     false},
    {0x401400, 0x10, "read", hang, true},
    {0x401500, 0x100, "on_signal", hang, false},
    {0x401600, 0x100, NULL, hang, false},
    {0x401700, 0x100, "evil;\033[31mname\xff", hang, false},
    {0x401800, 0x100, "recurse", hang, false},
    {0x7f0000001000, 0x100, "__futex_abstimed_wait_common", libc, false},
    {0x7f0000001100, 0x100, "start_thread", libc, false},
    {0x7f0000001200, 0x100, "__libc_start_main", libc, false},
    {0x7f0000001300, 0x20, "__restore_rt", libc, false},
    {0x7f0000001400, 0x100, "read", libc, false},
};

fw_error fw_process_symbol(struct fw_process *process, const struct fw_frame *frame,
                           struct fw_symbol *symbol)
{
    (void)process;
    *symbol = (struct fw_symbol){0};
    uint64_t address = frame->address - (frame->kind == FW_FRAME_RETURN);
    for (size_t i = 0; i < COUNT(symbols); i++) {
        if (address - symbols[i].start >= symbols[i].size)
            continue;
        bool in_libc = symbols[i].image == libc;
        symbol->name = symbols[i].name;
        symbol->offset = frame->address - symbols[i].start;
        symbol->image = symbols[i].image;
        symbol->image_offset = frame->address - (in_libc ? 0x7f0000000000 : 0);
        symbol->build_id = in_libc ? libc_id : NULL;
        symbol->build_id_size = in_libc ? sizeof(libc_id) : 0;
        symbol->plt = symbols[i].plt;
        break;
    }
    return FW_OK;
}

/* Stacks. A frame is written as its address; SIGNAL marks the trampoline. */

#define SIGNAL (1ull << 63)
static const uint64_t idle[] = {0x7f0000001012, 0x401112, 0x7f0000001155};
static const uint64_t waiting[] = {0x7f0000001012, 0x401112, 0x401020, 0x7f0000001233};
static const uint64_t busy[] = {0x401204, 0x401355, 0x7f0000001155};
static const uint64_t handler[] = {0x401500, 0x7f0000001300 | SIGNAL, 0x401404, 0x401620,
                                   0x401020, 0x7f0000001233};
static const uint64_t jit[] = {0x7fdeadbeef00, 0x401734, 0x401355};
static const uint64_t deep[] = {0x401804, 0x401812, 0x401812, 0x401812, 0x401020, 0x7f0000001233};
static const uint64_t recursion[] = {0x401804, 0x401812, 0x401812, 0x401812,      0x401812,
                                     0x401812, 0x401812, 0x401020, 0x7f0000001233};
static const uint64_t reading[] = {0x7f0000001410, 0x401112, 0x401020, 0x7f0000001233};

static struct fw_process_thread *add(struct fw_process *process, fw_thread_id id, const char *name,
                                     char state, const char *channel, const uint64_t *addresses,
                                     uint32_t count, fw_end end)
{
    struct fw_process_thread *thread = &process->threads[process->count++];
    struct fw_frame *frames = calloc(count > 0 ? count : 1, sizeof(*frames));
    if (frames == NULL)
        abort();
    *thread = (struct fw_process_thread){
        .thread = {.id = id,
                   .state = state,
                   .is_main = id == process->pid,
                   .stack = {.frames = frames, .count = count, .head = count, .end = (uint8_t)end}},
        .pause_ns = process->core == NULL ? 21500 : 0,
    };
    snprintf(thread->thread.name, sizeof(thread->thread.name), "%s", name);
    snprintf(thread->wait_channel, sizeof(thread->wait_channel), "%s", channel);
    uint64_t hash = 1;
    for (uint32_t i = 0; i < count; i++) {
        bool after_signal = i > 0 && (addresses[i - 1] & SIGNAL) != 0;
        frames[i].address = addresses[i] & ~SIGNAL;
        frames[i].kind = i == 0 || after_signal ? FW_FRAME_EXACT : FW_FRAME_RETURN;
        frames[i].method = i == 0         ? FW_METHOD_REGISTERS
                           : after_signal ? FW_METHOD_SIGNAL
                                          : FW_METHOD_CFI;
        frames[i].flags = addresses[i] & SIGNAL ? FW_FRAME_SIGNAL : 0;
        if (addresses[i] & SIGNAL)
            frames[i].kind = FW_FRAME_EXACT;
        hash = hash * 0x100000001b3u + frames[i].address;
    }
    thread->thread.stack.id = hash;
    return thread;
}

#define STACK(array) (array), (uint32_t)COUNT(array)

static void fill_odd(struct fw_process *process)
{
    struct fw_stack *stack;
    add(process, 101, "hang", 'S', "futex_wait_queue", STACK(waiting), FW_END_ROOT);
    add(process, 200, "handler", 'D', "nfs_wait", STACK(handler), FW_END_ROOT);
    add(process, 201, "jit;\033[2J", 'R', "", STACK(jit), FW_END_BAD_MEMORY);
    stack = &add(process, 202, "deep", 'S', "pipe_read", STACK(deep), FW_END_ROOT)->thread.stack;
    stack->head = 4;
    stack->omitted = 99744;
    stack = &add(process, 203, "gone", 'Z', "", NULL, 0, FW_END_UNAVAILABLE)->thread.stack;
    stack->unavailable = FW_UNAVAILABLE_EXITED;
    stack = &add(process, 204, "stuck", 'D', "", NULL, 0, FW_END_UNAVAILABLE)->thread.stack;
    stack->unavailable = FW_UNAVAILABLE_TIMEOUT;
    add(process, 206, "recursion", 'S', "", STACK(recursion), FW_END_ROOT);
    add(process, 205, "limit", 'S', "", STACK(busy), FW_END_LIMIT);
}

static void fill_pool(struct fw_process *process)
{
    char name[24];
    add(process, 102, "hang", 'S', "futex_wait_queue", STACK(waiting), FW_END_ROOT);
    add(process, 300, "timer", 'S', "hrtimer_nanosleep", STACK(reading), FW_END_ROOT);
    for (int i = 0; i < 64; i++) {
        snprintf(name, sizeof(name), "worker-%d", i);
        add(process, 400 + i, name, 'S', "futex_wait_queue", STACK(idle), FW_END_ROOT);
    }
    add(process, 500, "compute", 'R', "", STACK(busy), FW_END_ROOT);
    add(process, 501, "alpha", 'S', "pipe_read", STACK(reading), FW_END_ROOT);
    add(process, 502, "beta", 'S', "pipe_read", STACK(reading), FW_END_ROOT);
}

static fw_error fail(struct fw_failure *why, fw_error code, const char *message)
{
    why->code = code;
    snprintf(why->message, sizeof(why->message), "%s", message);
    return code;
}

static void forget(struct fw_process *process)
{
    for (size_t i = 0; i < process->count; i++)
        free(process->threads[i].thread.stack.frames);
    process->count = 0;
}

/* Applies --thread and --depth as the contract says. */
static fw_error choose(struct fw_process *process, const struct fw_process_options *options,
                       struct fw_failure *why)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->count; i++) {
        struct fw_process_thread *thread = &process->threads[i];
        struct fw_stack *stack = &thread->thread.stack;
        if (options->max_frames != 0 && stack->count > options->max_frames) {
            stack->count = stack->head = options->max_frames;
            stack->end = FW_END_LIMIT;
        }
        if (options->only == 0 || options->only == thread->thread.id)
            process->threads[kept++] = *thread;
        else
            free(stack->frames);
    }
    process->count = kept;
    return kept > 0 ? FW_OK : fail(why, FW_ERR_NOT_FOUND, "the process has no such thread");
}

fw_error fw_process_capture(struct fw_process *process, const struct fw_process_options *options,
                            const struct fw_process_thread **threads, size_t *count,
                            struct fw_failure *why)
{
    fw_error error = FW_OK;
    bool second = process->captures++ % 2 == 1;
    forget(process);
    switch (process->pid) {
    case FAKE_ODD: fill_odd(process); break;
    case FAKE_POOL: fill_pool(process); break;
    case FAKE_SAMPLED:
    case FAKE_SHORTLIVED:
        if (process->pid == FAKE_SHORTLIVED && process->captures == 3)
            return fail(why, FW_ERR_VANISHED, "process 107 has ended");
        add(process, process->pid, "hang", second ? 'R' : 'S', "", second ? busy : waiting,
            second ? COUNT(busy) : COUNT(waiting), FW_END_ROOT);
        add(process, 600, "idle", 'S', "", STACK(idle), FW_END_ROOT);
        add(process, 601, "idle", 'S', "", STACK(idle), FW_END_ROOT);
        break;
    case FAKE_VANISHING:
        add(process, 106, "hang", 'S', "", STACK(waiting), FW_END_ROOT);
        error = fail(why, FW_ERR_VANISHED, "process 106 ended during the capture");
        break;
    default:
        add(process, process->pid, "hang", process->core ? '?' : 'S',
            process->core ? "" : "futex_wait_queue", STACK(waiting), FW_END_ROOT);
        if (process->core != NULL)
            process->threads[0].signal = 11;
        add(process, 110, "worker", process->core ? '?' : 'S', "", STACK(idle), FW_END_ROOT);
    }
    if (error == FW_OK)
        error = choose(process, options, why);
    *threads = process->threads;
    *count = process->count;
    return error;
}

static fw_error make(int32_t pid, const char *core, struct fw_process **process)
{
    *process = calloc(1, sizeof(**process));
    if (*process == NULL)
        return FW_ERR_MEMORY;
    (*process)->pid = pid;
    (*process)->core = core;
    open_count++;
    return FW_OK;
}

fw_error fw_process_open(int32_t pid, struct fw_process **process, struct fw_failure *why)
{
    if (pid == FAKE_MISSING)
        return fail(why, FW_ERR_NOT_FOUND, "there is no process 104");
    if (pid == FAKE_DENIED)
        return fail(why, FW_ERR_PERMISSION, "not allowed: see kernel.yama.ptrace_scope");
    return make(pid, NULL, process);
}

fw_error fw_process_open_core(const char *core, const char *executable, const char *sysroot,
                              struct fw_process **process, struct fw_failure *why)
{
    (void)executable;
    (void)sysroot;
    if (strcmp(core, "absent") == 0)
        return fail(why, FW_ERR_NOT_FOUND, "absent: no such file");
    if (strcmp(core, "program") == 0)
        return fail(why, FW_ERR_FORMAT, "program: not a core file");
    return make(FAKE_WHOLE, core, process);
}

void fw_process_close(struct fw_process *process)
{
    if (process == NULL)
        return;
    forget(process);
    free(process);
    open_count--;
}

void fw_process_describe(const struct fw_process *process, struct fw_process_info *info)
{
    *info = (struct fw_process_info){
        .pid = process->pid, .executable = hang, .arch = "x86_64", .command = "hang --port 80"};
    if (process->core != NULL && strcmp(process->core, "truncated.core") == 0) {
        info->truncated = true;
        info->missing_bytes = 5903;
    }
}
