/* The public face of processes and cores: what both have in common. */
#include "capture/process_internal.h"

#include "unwind/stack_id.h"
#include "unwind/walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEFAULT_FRAMES = 1024,
    MAX_FRAMES = 1 << 20,
    DEFAULT_STACK = 256 * 1024,
    MAX_STACK = 64 * 1024 * 1024,
    DEFAULT_TIMEOUT_MS = 500,
    CACHE_BITS = 12, /* of the rule cache */
    DEEP_FRAMES = 1 << 16,
    LEAST_TAIL = 4,         /* frames of which one is kept for the outermost */
    MAX_COMPARED = 1 << 20, /* bytes of a stack that is not whole */
};

struct fw_process_options process_options(const struct fw_process_options *given)
{
    struct fw_process_options options = {0};
    if (given)
        memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if (!options.max_frames)
        options.max_frames = DEFAULT_FRAMES;
    if (options.max_frames > MAX_FRAMES)
        options.max_frames = MAX_FRAMES;
    if (!options.stack_bytes)
        options.stack_bytes = DEFAULT_STACK;
    if (options.stack_bytes > MAX_STACK)
        options.stack_bytes = MAX_STACK;
    if (!options.timeout_ms)
        options.timeout_ms = DEFAULT_TIMEOUT_MS;
    return options;
}

struct fw_process_thread *process_add_thread(struct fw_process *process, fw_thread_id id)
{
    if (process->count == process->capacity) {
        size_t capacity = process->capacity ? process->capacity * 2 : 64;
        struct fw_process_thread *grown = realloc(process->threads, capacity * sizeof *grown);
        if (!grown)
            return NULL;
        process->threads = grown;
        process->capacity = capacity;
    }
    struct fw_process_thread *thread = &process->threads[process->count++];
    *thread = (struct fw_process_thread){.thread.id = id, .thread.state = '?'};
    thread->thread.is_main = id == process->pid;
    return thread;
}

void process_unavailable(struct fw_process_thread *thread, fw_unavailable reason)
{
    free(thread->thread.stack.frames);
    thread->thread.stack =
        (struct fw_stack){.end = FW_END_UNAVAILABLE, .unavailable = (uint8_t)reason};
}

/* What lies behind the end of a stack that is not whole is unknown. So its id is that of another
 * one only when all that a walk could read is the same: the thread, and every byte of its stack. */
static void tell_apart(struct fw_stack *stack, fw_thread_id id, uint64_t sp,
                       const struct memory *memory)
{
    stack->id = stack_id_step(stack_id_step(stack->id, (uint64_t)id), sp);
    for (unsigned i = 0; i < 2; i++) {
        const struct memory_range *range = &memory->range[i];
        uint64_t at = sp - range->lo < range->size ? sp - range->lo : 0, word;
        uint64_t end = range->size - at < MAX_COMPARED ? range->size : at + MAX_COMPARED;
        for (; at + sizeof word <= end; at += sizeof word) {
            memcpy(&word, range->bytes + at, sizeof word);
            stack->id = stack_id_step(stack->id, word);
        }
    }
}

/* Few frames are wanted, and the id is to be that of the whole stack. */
static void cut_short(struct fw_stack *stack, uint32_t max_frames)
{
    if (stack->count + stack->omitted <= max_frames)
        return;
    stack->count = stack->head = max_frames;
    stack->omitted = 0;
    stack->end = FW_END_LIMIT;
}

/* Gives the stack frames of its own. A very deep one takes the scratch memory over, which is then
 * mostly its frames. */
static bool keep_frames(struct fw_process *process, struct fw_stack *stack)
{
    const size_t size = stack->count ? stack->count * sizeof *stack->frames : 1;
    const bool deep = stack->count > DEEP_FRAMES;
    struct fw_frame *frames = deep ? realloc(process->scratch, size) : malloc(size);
    if (!frames)
        return false;
    if (deep) {
        process->scratch = NULL;
        process->scratch_size = 0;
    } else if (stack->count) {
        memcpy(frames, stack->frames, stack->count * sizeof *frames);
    }
    stack->frames = frames;
    return true;
}

bool process_walk(struct fw_process *process, struct fw_process_thread *thread,
                  const struct arch *arch, const struct regs *regs, uint64_t pac_mask,
                  const struct memory *memory, uint32_t max_frames)
{
    const bool few = max_frames < LEAST_TAIL;
    const uint32_t room = few ? max_frames + 1 : max_frames;
    if (process->scratch_size < room) {
        struct fw_frame *grown = realloc(process->scratch, (size_t)room * sizeof *process->scratch);
        if (!grown)
            return false;
        process->scratch = grown;
        process->scratch_size = room;
    }
    struct walk_space space = {
        .arch = arch,
        .find_image = images_find,
        .context = &process->images,
        .cache = process->cache,
        .pac_mask = pac_mask,
        .is_code = images_is_code,
    };
    struct walk_options options = {.exact_first = true};
    struct fw_stack stack = {
        .frames = process->scratch, .capacity = room, .tail = few ? 1 : max_frames / LEAST_TAIL};
    walk_stack(&space, memory, regs, &options, &stack);
    if (stack.end != FW_END_ROOT)
        tell_apart(&stack, thread->thread.id, regs->r[arch->sp], memory);
    if (few)
        cut_short(&stack, max_frames);
    if (!keep_frames(process, &stack))
        return false;
    stack.capacity = stack.count;
    free(thread->thread.stack.frames);
    thread->thread.stack = stack;
    return true;
}

static void forget_threads(struct fw_process *process)
{
    for (size_t i = 0; i < process->count; i++)
        free(process->threads[i].thread.stack.frames);
    process->count = 0;
}

static struct fw_process *process_new(void)
{
    struct fw_process *process = calloc(1, sizeof *process);
    if (!process)
        return NULL;
    process->cache = calloc(1, RULE_CACHE_SIZE(CACHE_BITS));
    if (process->cache)
        rule_cache_init(process->cache, CACHE_BITS);
    if (!process->cache) {
        free(process);
        return NULL;
    }
    return process;
}

/* What was not found for lack of memory must not look as if it was not there. */
static fw_error memory_sufficed(const struct fw_process *process, fw_error error,
                                struct fw_failure *why)
{
    return error == FW_OK && process->images.no_memory
               ? failure_say(why, FW_ERR_MEMORY, 0, "out of memory")
               : error;
}

/* Entries of threads that no more could be done for. */
static void drop_unfinished(struct fw_process *process)
{
    size_t kept = 0;
    for (size_t i = 0; i < process->count; i++)
        if (process->threads[i].thread.stack.end != FW_END_NONE)
            process->threads[kept++] = process->threads[i];
        else
            free(process->threads[i].thread.stack.frames);
    process->count = kept;
}

fw_error fw_process_open(int32_t pid, struct fw_process **process, struct fw_failure *why)
{
    if (!process)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no place for the process");
    *process = NULL;
    if (pid <= 0)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "%d is no process id", (int)pid);
    struct fw_process *opened = process_new();
    if (!opened)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    fw_error error = memory_sufficed(opened, live_open(opened, pid, why), why);
    if (error != FW_OK) {
        fw_process_close(opened);
        return error;
    }
    *process = opened;
    return FW_OK;
}

fw_error fw_process_open_core(const char *path, const char *executable, const char *sysroot,
                              struct fw_process **process, struct fw_failure *why)
{
    if (!process || !path)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no core file named");
    *process = NULL;
    struct fw_process *opened = process_new();
    if (!opened)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    fw_error error =
        memory_sufficed(opened, core_open(opened, path, executable, sysroot, why), why);
    if (error != FW_OK) {
        fw_process_close(opened);
        return error;
    }
    *process = opened;
    return FW_OK;
}

void fw_process_close(struct fw_process *process)
{
    if (!process)
        return;
    forget_threads(process);
    free(process->threads);
    free(process->scratch);
    images_free(&process->images);
    core_close(process->core);
    free(process->cache);
    free(process->executable);
    free(process->command);
    free(process);
}

fw_error fw_process_capture(struct fw_process *process, const struct fw_process_options *options,
                            const struct fw_process_thread **threads, size_t *count,
                            struct fw_failure *why)
{
    if (!process || !threads || !count)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no place for the threads");
    *threads = NULL;
    *count = 0;
    struct fw_process_options chosen = process_options(options);
    forget_threads(process);
    process->images.no_memory = false;
    fw_error error =
        process->core ? core_capture(process, &chosen, why) : live_capture(process, &chosen, why);
    error = memory_sufficed(process, error, why);
    if (error != FW_OK)
        drop_unfinished(process);
    *threads = process->threads;
    *count = process->count;
    return error;
}

fw_error fw_process_symbol(struct fw_process *process, const struct fw_frame *frame,
                           struct fw_symbol *symbol)
{
    if (!process || !frame || !symbol)
        return FW_ERR_ARGUMENT;
    process->images.no_memory = false;
    images_symbol(&process->images, frame, symbol);
    return process->images.no_memory ? FW_ERR_MEMORY : FW_OK;
}

void fw_process_describe(const struct fw_process *process, struct fw_process_info *info)
{
    *info = (struct fw_process_info){
        .pid = process->pid,
        .executable = process->executable ? process->executable : "",
        .arch = process->arch ? process->arch->name : "unknown",
        .command = process->command ? process->command : "",
    };
    if (process->core)
        core_describe(process->core, info);
}
