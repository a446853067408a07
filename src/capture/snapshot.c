#include "capture/snapshot.h"

#include "os/linux/procfs.h"
#include "os/linux/regset.h"

#include <string.h>
#include <sys/mman.h>

enum {
    RED_ZONE = 128,                 /* below sp, still the function's own (System V AMD64 3.2.2) */
    SECOND_BELOW = 4096,            /* saved registers lie below the first word that was missed */
    GUARD_LIMIT = 64 * 1024 * 1024, /* how far above a stray sp the stack is looked for */
    CODE_BEFORE = 8,                /* of SNAPSHOT_CODE, before pc */
};

bool snapshot_arena_create(struct snapshot_arena *arena, size_t size, size_t touch)
{
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return false;
    *arena = (struct snapshot_arena){.bytes = bytes, .size = size};
    for (size_t i = 0; i < touch && i < size; i += 4096)
        ((volatile uint8_t *)arena->bytes)[i] = 0;
    return true;
}

void snapshot_arena_destroy(struct snapshot_arena *arena)
{
    if (arena->bytes)
        munmap(arena->bytes, arena->size);
    *arena = (struct snapshot_arena){0};
}

static void fail(struct snapshot *snapshot, enum trace_status status)
{
    snapshot->status = status;
    switch (status) {
    case TRACE_GONE: snapshot->unavailable = FW_UNAVAILABLE_EXITED; break;
    case TRACE_DENIED: snapshot->unavailable = FW_UNAVAILABLE_PERMISSION; break;
    case TRACE_OK: snapshot->unavailable = FW_AVAILABLE; break;
    default: snapshot->unavailable = FW_UNAVAILABLE_TIMEOUT; break;
    }
}

void snapshot_begin(struct snapshot *snapshot, pid_t tid)
{
    *snapshot = (struct snapshot){0};
    fail(snapshot, trace_seize(&snapshot->trace, tid));
    if (snapshot->status != TRACE_OK)
        return;
    snapshot->asked = trace_clock();
    fail(snapshot, trace_interrupt(&snapshot->trace));
}

void snapshot_wait(struct snapshot *snapshot, uint64_t deadline)
{
    if (snapshot->status != TRACE_OK)
        return;
    fail(snapshot, trace_wait(&snapshot->trace, deadline));
    snapshot->stopped = snapshot->status == TRACE_OK;
}

/* Copies [from, from + size) as far as it is there and the arena has room. */
static bool copy_bytes(pid_t tid, uint64_t from, uint64_t size, struct snapshot_arena *arena,
                       struct memory_range *range)
{
    size_t room = arena->size - arena->used;
    size_t got =
        trace_read(tid, from, arena->bytes + arena->used, size < room ? (size_t)size : room);
    if (!got)
        return false;
    *range = (struct memory_range){.lo = from, .size = got, .bytes = arena->bytes + arena->used};
    arena->used += (got + 15) & ~(size_t)15;
    if (arena->used > arena->size)
        arena->used = arena->size;
    return true;
}

/* The stack from its red zone to the end of its mapping. sp may stand below the mapping: in a stack
 * that grew since the mappings were read, or in the guard page of one that overflowed. */
static void copy_stack(pid_t tid, const struct arch *arch, uint64_t sp, const struct maps *maps,
                       uint64_t limit, struct snapshot_arena *arena, struct memory_range *range)
{
    if (sp > UINT64_MAX - limit - RED_ZONE)
        return;
    uint64_t below = arch->id == ARCH_X86_64 ? RED_ZONE : 0;
    uint64_t from = sp > below ? sp - below : 0, to = sp + limit;
    const struct mapping *mapping = maps_above(maps, sp);
    if (mapping && mapping->lo <= sp && mapping->readable) {
        from = from < mapping->lo ? mapping->lo : from;
        to = to < mapping->hi ? to : mapping->hi;
        copy_bytes(tid, from, to - from, arena, range);
        return;
    }
    while (mapping && !mapping->readable && mapping->lo - sp < GUARD_LIMIT &&
           mapping + 1 < maps->list + maps->count)
        mapping++;
    bool near = mapping && mapping->readable && mapping->lo > sp && mapping->lo - sp < GUARD_LIMIT;
    if (near && to > mapping->hi)
        to = mapping->hi;
    if (copy_bytes(tid, from, to - from, arena, range) ||
        copy_bytes(tid, sp, to - sp, arena, range))
        return;
    if (near)
        copy_bytes(tid, mapping->lo,
                   mapping->hi - mapping->lo < limit ? mapping->hi - mapping->lo : limit, arena,
                   range);
}

static void copy_second(pid_t tid, const struct maps *maps, const struct snapshot_want *want,
                        struct snapshot_arena *arena, struct memory_range *range)
{
    const struct mapping *mapping = maps_find(maps, want->second);
    if (!want->second || !mapping || !mapping->readable)
        return;
    uint64_t from =
        want->second - mapping->lo > SECOND_BELOW ? want->second - SECOND_BELOW : mapping->lo;
    uint64_t size = mapping->hi - from;
    copy_bytes(tid, from, size < want->stack_bytes ? size : want->stack_bytes, arena, range);
}

/* Code that is not a file's is a just-in-time compiler's, which may put another function there any
 * time. Deleted is also what memfd_create made, for compilers that never write where they execute.
 */
static bool is_generated(const struct mapping *mapping)
{
    const char *path = mapping->path;
    return mapping->writable || mapping->deleted || path[0] == '\0' || !strncmp(path, "[anon", 5);
}

static void copy_code(struct snapshot *snapshot, pid_t tid, const struct maps *maps)
{
    uint64_t pc = snapshot->regs.r[snapshot->arch->pc];
    const struct mapping *mapping = maps_find(maps, pc);
    if (!mapping || !mapping->readable || !is_generated(mapping))
        return;
    uint64_t lo = pc - mapping->lo > CODE_BEFORE ? pc - CODE_BEFORE : mapping->lo;
    uint64_t size = mapping->hi - lo;
    snapshot->code_lo = lo;
    snapshot->code_size =
        trace_read(tid, lo, snapshot->code, size < SNAPSHOT_CODE ? (size_t)size : SNAPSHOT_CODE);
}

struct memory_range snapshot_code(const struct snapshot *snapshot)
{
    return (struct memory_range){
        .lo = snapshot->code_lo, .size = snapshot->code_size, .bytes = snapshot->code};
}

static void copy_memory(struct snapshot *snapshot, pid_t tid, const struct maps *maps,
                        const struct snapshot_want *want, struct snapshot_arena *arena)
{
    copy_stack(tid, snapshot->arch, snapshot->regs.r[snapshot->arch->sp], maps, want->stack_bytes,
               arena, &snapshot->range[0]);
    if (want->second)
        copy_second(tid, maps, want, arena, &snapshot->range[1]);
    copy_code(snapshot, tid, maps);
}

void snapshot_copy(struct snapshot *snapshot, const struct maps *maps,
                   const struct snapshot_want *want, struct snapshot_arena *arena)
{
    if (!snapshot->stopped)
        return;
    fail(snapshot,
         trace_registers(&snapshot->trace, &snapshot->arch, &snapshot->regs, &snapshot->pac_mask));
    if (snapshot->status == TRACE_OK)
        copy_memory(snapshot, snapshot->trace.tid, maps, want, arena);
}

void snapshot_end(struct snapshot *snapshot)
{
    if (!snapshot->stopped)
        return;
    trace_release(&snapshot->trace);
    snapshot->stopped = false;
    snapshot->pause_ns = trace_clock() - snapshot->asked;
}

void snapshot_asleep(struct snapshot *snapshot, int tasks, pid_t tid, const struct arch *arch,
                     const struct maps *maps, const struct snapshot_want *want,
                     struct snapshot_arena *arena)
{
    *snapshot = (struct snapshot){.trace.tid = tid, .status = TRACE_TIMEOUT, .arch = arch};
    snapshot->unavailable = FW_UNAVAILABLE_UNINTERRUPTIBLE;
    struct procfs_syscall before, after;
    uint64_t switches, switches_after;
    if (!procfs_switches(tasks, tid, &switches))
        return;
    enum procfs_place place = procfs_thread_syscall(tasks, tid, &before);
    if (place == PROCFS_DENIED || place == PROCFS_GONE) {
        fail(snapshot, place == PROCFS_DENIED ? TRACE_DENIED : TRACE_GONE);
        return;
    }
    if (place != PROCFS_ASLEEP || !arch)
        return;
    size_t used = arena->used;
    if (before.in_call)
        regset_from_arguments(arch, before.argument, &snapshot->regs);
    regs_set(&snapshot->regs, arch->sp, before.sp);
    regs_set(&snapshot->regs, arch->pc, before.pc);
    copy_memory(snapshot, tid, maps, want, arena);
    if (procfs_thread_syscall(tasks, tid, &after) != PROCFS_ASLEEP || after.sp != before.sp ||
        after.pc != before.pc || !procfs_switches(tasks, tid, &switches_after) ||
        switches_after != switches) {
        memset(snapshot->range, 0, sizeof snapshot->range);
        arena->used = used;
        return;
    }
    fail(snapshot, TRACE_OK);
}
