/*
 * dump.256.pause: the longest pause of any one thread of another process, in microseconds, 99th
 * percentile over all threads and rounds. Sides:
 *   ours  pause_ns of fw_process_capture
 *   bare  seize, interrupt, wait, read registers, copy the stack in one go, detach
 */
#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "bench.h"
#include "framewalk/process.h"

enum { MAX_THREADS = 512, ROUNDS = 10, STACK_BYTES = 256 << 10 };

static double pauses[MAX_THREADS * ROUNDS];
static size_t pause_count;

static void keep(uint64_t ns)
{
    if (pause_count < sizeof pauses / sizeof *pauses)
        pauses[pause_count++] = (double)ns / 1e3;
}

/* Capture in the library's own way; `ids` are remembered for the bare side. */
static size_t capture(struct fw_process *process, pid_t *ids, bool record)
{
    const struct fw_process_options options = {.size = sizeof options};
    const struct fw_process_thread *threads;
    size_t count;
    struct fw_failure why;
    if (fw_process_capture(process, &options, &threads, &count, &why) != FW_OK) {
        fprintf(stderr, "%s\n", why.message);
        exit(1);
    }
    for (size_t i = 0; i < count && i < MAX_THREADS; i++) {
        ids[i] = threads[i].thread.id;
        if (record)
            keep(threads[i].pause_ns);
    }
    return count < MAX_THREADS ? count : MAX_THREADS;
}

static uintptr_t stack_pointer(const struct user_regs_struct *regs)
{
#if defined(__x86_64__)
    return regs->rsp;
#elif defined(__i386__)
    return (uintptr_t)regs->esp;
#else
    return regs->sp;
#endif
}

static void stop_copy_resume(pid_t thread)
{
    static uint8_t stack[STACK_BYTES];
    struct user_regs_struct regs;
    struct iovec register_block = {&regs, sizeof regs};
    int status;
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0)
        return;
    const uint64_t start = bench_now();
    ptrace(PTRACE_INTERRUPT, thread, NULL, NULL);
    waitpid(thread, &status, __WALL);
    ptrace(PTRACE_GETREGSET, thread, (void *)NT_PRSTATUS, &register_block);
    struct iovec to = {stack, sizeof stack};
    struct iovec from = {(void *)stack_pointer(&regs), sizeof stack};
    process_vm_readv(thread, &to, 1, &from, 1, 0);
    ptrace(PTRACE_DETACH, thread, NULL, NULL);
    keep(bench_now() - start);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    static pid_t ids[MAX_THREADS];
    const bool bare = strcmp(argv[1], "bare") == 0;
    struct fw_process *process;
    struct fw_failure why;
    if (fw_process_open(atoi(argv[2]), &process, &why) != FW_OK) {
        fprintf(stderr, "%s\n", why.message);
        return 1;
    }
    const size_t count = capture(process, ids, false);
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (!bare)
            capture(process, ids, true);
        for (size_t i = 0; bare && i < count; i++)
            stop_copy_resume(ids[i]);
    }
    fw_process_close(process);
    printf("%.2f\n", bench_quantile(pauses, pause_count, 0.99));
    return 0;
}
