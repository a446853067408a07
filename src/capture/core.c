/*
 * Capture of a core file: every thread is stopped for ever, so its stack is walked in place.
 *
 * A core that was cut off is used as far as it goes: a thread whose stack lies in the missing part
 * ends with FW_END_BAD_MEMORY, and the process says how many bytes are missing.
 */
#include "capture/core.h"

#include "os/linux/regset.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

void core_close(struct core *core)
{
    if (!core)
        return;
    core_notes_free(&core->notes);
    free(core->segments);
    for (size_t i = 0; i < core->path_count; i++)
        free(core->paths[i]);
    free(core->paths);
    free(core->given);
    free(core->sysroot);
    object_close(core->main);
    object_close(core->object);
    free(core);
}

void core_describe(const struct core *core, struct fw_process_info *info)
{
    info->truncated = core->truncated;
    info->missing_bytes = core->missing;
}

/* Opens the file and reads its notes into process->core. */
static fw_error open_file(struct fw_process *process, const char *path, struct fw_failure *why)
{
    struct core *core = process->core;
    fw_error error = object_open(path, &core->object, why);
    if (error != FW_OK)
        return error;
    if (object_type(core->object) != OBJECT_CORE)
        return failure_say(why, FW_ERR_FORMAT, 0, "%s: an ELF file, but not a core file", path);
    process->arch = process->images.arch = object_arch(core->object);
    if (!process->arch || object_is_big_endian(core->object))
        return failure_say(why, FW_ERR_UNSUPPORTED, 0,
                           "%s: cores of this architecture (ELF machine %u%s) are not supported",
                           path, object_machine(core->object),
                           object_is_big_endian(core->object) ? ", big-endian" : "");
    if (!core_notes_read(core->object, &core->notes) || !core_read_segments(core))
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    if (core->notes.thread_count)
        return FW_OK;
    if (core->truncated)
        return failure_say(why, FW_ERR_TRUNCATED, 0,
                           "%s: cut off before its first thread: %llu bytes are missing", path,
                           (unsigned long long)core->missing);
    return failure_say(why, FW_ERR_CORRUPT, 0, "%s: holds no thread", path);
}

fw_error core_open(struct fw_process *process, const char *path, const char *executable,
                   const char *sysroot, struct fw_failure *why)
{
    struct core *core = process->core = calloc(1, sizeof *core);
    if (!core)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    fw_error error = open_file(process, path, why);
    if (error != FW_OK)
        return error;
    if (executable) {
        error = object_open(executable, &core->main, why);
        if (error != FW_OK)
            return error;
        core->given = strdup(executable);
    }
    core->sysroot = sysroot ? strdup(sysroot) : NULL;
    process->pid = core->notes.pid ? core->notes.pid : core->notes.threads[0].id;
    process->command = strdup(core->notes.command);
    if ((executable && !core->given) || (sysroot && !core->sysroot) || !process->command)
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    for (size_t n = strlen(process->command); n && process->command[n - 1] == ' '; n--)
        process->command[n - 1] = 0;
    process->images.source = core_source(process);
    if (!core_make_maps(process))
        return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
    if (!core_is_given(process) && !process->images.no_memory)
        return failure_say(why, FW_ERR_FORMAT, 0, "%s is not the program of this core, %s",
                           executable, process->executable);
    return FW_OK;
}

/* The kernel gives every thread of a core the signal that killed the process, and the first one is
 * the thread it killed. NT_SIGINFO is better evidence where it stands. A core made of a running
 * process shows the signal that stopped it, which killed nobody. */
static int32_t killing_signal(const struct core *core, size_t i)
{
    const struct core_thread *thread = &core->notes.threads[i];
    int32_t signal = thread->signal;
    if (!signal && i == 0)
        signal = thread->current;
    return signal == SIGSTOP || signal < 0 ? 0 : signal;
}

/* Does the core say that it holds this byte, and does not? */
static bool is_missing(const struct core *core, uint64_t address)
{
    const struct core_segment *segment = core_segment_at(core, address);
    return segment && address - segment->lo < segment->stored &&
           address - segment->lo >= segment->bytes.size;
}

/* *walked says that the thread's stack is in the core. False when out of memory. */
static bool capture_thread(struct fw_process *process, size_t i, uint32_t max_frames, bool *walked)
{
    const struct core *core = process->core;
    const struct core_thread *from = &core->notes.threads[i];
    struct fw_process_thread *thread = process_add_thread(process, from->id);
    if (!thread)
        return false;
    thread->signal = killing_signal(core, i);
    if (thread->thread.is_main)
        memcpy(thread->thread.name, core->notes.name, sizeof core->notes.name);
    struct regs regs;
    if (!regset_decode(process->arch, reader_over(from->regs.data, from->regs.size), &regs)) {
        process_unavailable(thread, FW_UNAVAILABLE_EXITED);
        return true;
    }
    uint64_t sp = regs.r[process->arch->sp];
    const struct core_segment *stack = core_segment_at(core, sp);
    struct memory memory = {.slow = core_read_or_file, .context = process};
    if (stack)
        memory.range[0] = (struct memory_range){stack->lo, stack->bytes.size, stack->bytes.data};
    if (!process_walk(process, thread, process->arch, &regs, from->pac_mask, &memory, max_frames))
        return false;
    bool missing = is_missing(core, sp);
    if (missing && thread->thread.stack.end != FW_END_ROOT)
        thread->thread.stack.end = FW_END_BAD_MEMORY;
    *walked = *walked || !missing;
    return true;
}

fw_error core_capture(struct fw_process *process, const struct fw_process_options *options,
                      struct fw_failure *why)
{
    const struct core *core = process->core;
    size_t total = core->notes.thread_count;
    bool walked = false;
    for (size_t i = 0; i < total; i++) {
        if (options->only && core->notes.threads[i].id != options->only)
            continue;
        if (!capture_thread(process, i, options->max_frames, &walked))
            return failure_say(why, FW_ERR_MEMORY, 0, "out of memory");
        if (options->progress)
            options->progress(options->context, i + 1, total);
    }
    if (!process->count)
        return failure_say(why, FW_ERR_NOT_FOUND, 0, "the core has no thread %d",
                           (int)options->only);
    if (!walked)
        return failure_say(why, FW_ERR_TRUNCATED, 0,
                           "the core is cut off before any stack: %llu bytes are missing",
                           (unsigned long long)core->missing);
    return FW_OK;
}
