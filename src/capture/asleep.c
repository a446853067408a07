/*
 * Walking a sleeping thread in place: proc(5) /proc/PID/syscall, process_vm_readv(2).
 *
 * Invariant: what is handed out was read while the thread slept. It is walked first and verified
 * afterwards: same registers, and not one more switch away from a processor since before the first
 * look; a thread that woke must switch away once more to be asleep again. Meanwhile its memory is
 * read only through the kernel, so that a stack which is unmapped under the walk ends it and no
 * more.
 */
#include "capture/asleep.h"

#include "capture/self.h"
#include "os/linux/sys.h"
#include "os/linux/tasks.h"
#include "unwind/walk.h"

enum { PAGE = 4096 }; /* of the cache; no page of the system is smaller */

struct stack_page {
    fw_thread_id reader; /* this thread: the first one, whose id is the process's, may have ended */
    uint64_t at;         /* its address, or 1 before the first read */
    uint8_t bytes[PAGE];
};

static bool read_page(void *context, uint64_t address, void *to, size_t size)
{
    struct stack_page *page = context;
    uint8_t *out = to;
    while (size) {
        uint64_t at = address & ~(uint64_t)(PAGE - 1);
        size_t offset = (size_t)(address - at);
        size_t n = size < PAGE - offset ? size : PAGE - offset;
        if (page->at != at) {
            page->at = 1;
            if (at > UINTPTR_MAX || sys_read_memory(page->reader, at, page->bytes, PAGE) != PAGE)
                return false;
            page->at = at;
        }
        memcpy(out, page->bytes + offset, n);
        out += n;
        address += n;
        size -= n;
    }
    return true;
}

/* DWARF numbers of the registers that carry system call arguments, in their order. */
#if defined(__x86_64__)
static const uint8_t argument_regs[6] = {5, 4, 1, 10, 8, 9};
#elif defined(__i386__)
static const uint8_t argument_regs[6] = {3, 1, 2, 6, 7, 5};
#else
static const uint8_t argument_regs[6] = {0, 1, 2, 3, 4, 5};
#endif

static struct regs regs_of(const struct task_registers *task)
{
    struct regs regs = {.known = 0};
    if (task->in_call)
        for (unsigned i = 0; i < 6; i++)
            regs_set(&regs, argument_regs[i], task->argument[i]);
    regs_set(&regs, ARCH_NATIVE.sp, task->sp);
    regs_set(&regs, ARCH_NATIVE.pc, task->pc);
    return regs;
}

fw_error asleep_capture(fw_thread_id id, struct fw_stack *stack, struct task_status *status)
{
    struct task_status after;
    struct task_registers first, last;
    fw_error error = tasks_status(id, status);
    if (error == FW_OK && (status->state == 'Z' || status->state == 'X'))
        return FW_ERR_NOT_FOUND; /* ended: the process's first thread stays in the list */
    if (error == FW_OK)
        error = tasks_registers(id, &first);
    if (error != FW_OK)
        return error;

    struct stack_page page = {.reader = sys_gettid(), .at = 1};
    const struct memory memory = {.slow = read_page, .context = &page};
    const struct walk_options options = {.exact_first = true};
    const struct regs regs = regs_of(&first);
    struct self_images images;
    struct walk_space space;
    self_space(&images, &space);
    const bool ours =
        space.find_image(space.context, first.pc) || space.is_code(space.context, first.pc);
    if (ours)
        walk_stack(&space, &memory, &regs, &options, stack);
    self_images_end(&images);
    if (!ours)
        return FW_ERR_UNSUPPORTED; /* an emulator's registers, not those of this program */

    error = tasks_registers(id, &last);
    if (error == FW_OK)
        error = tasks_status(id, &after);
    if (error != FW_OK)
        return error;
    bool slept = first.pc == last.pc && first.sp == last.sp && status->switches == after.switches;
    return slept ? FW_OK : FW_ERR_VANISHED;
}
