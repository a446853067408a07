/*
 * Questions about this process's address space (proc_pid_maps(5), PROCMAP_QUERY in linux/fs.h
 * since 6.11).
 */
#include "os/self_maps.h"

#include "base/hex.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioctl.h>
#include <string.h>

#include "os/linux/sys.h"

/* Debian 12's headers are older than the call; layout as in the kernel's user API. */
struct procmap_query {
    uint64_t size, query_flags, query_addr;
    uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
    uint32_t dev_major, dev_minor, vma_name_size, build_id_size;
    uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY_IOCTL _IOWR('f', 17, struct procmap_query)
enum { PROCMAP_READABLE = 1, PROCMAP_WRITABLE = 2, PROCMAP_EXECUTABLE = 4 };

/* Returns 0 or -errno: -ENOENT when nothing is mapped there. */
static long query(int maps, uintptr_t address, struct self_mapping *mapping)
{
    struct procmap_query q = {.size = sizeof q, .query_addr = address};
    long result = sys_call4(SYS_ioctl, maps, (long)PROCMAP_QUERY_IOCTL, (long)&q, 0);
    if (result < 0)
        return result;
    mapping->lo = (uintptr_t)q.vma_start;
    mapping->hi = (uintptr_t)q.vma_end;
    mapping->readable = q.vma_flags & PROCMAP_READABLE;
    mapping->executable = q.vma_flags & PROCMAP_EXECUTABLE;
    mapping->writable = q.vma_flags & PROCMAP_WRITABLE;
    return 0;
}

/* Reads "lo-hi rwxp ..." lines as they come; only the first two fields of a line matter. */
struct maps_scan {
    uintptr_t number, lo;
    unsigned field, column;
    bool readable, executable, writable, skip;
};

/* True when a line's fields are complete and its range holds `address`. */
static bool scan_byte(struct maps_scan *s, char c, uintptr_t address, struct self_mapping *mapping)
{
    if (c == '\n') {
        *s = (struct maps_scan){0};
    } else if (s->skip) {
        return false;
    } else if (s->field < 2 && hex_lower_digit(c) >= 0) {
        s->number = s->number << 4 | (uintptr_t)hex_lower_digit(c);
    } else if (s->field == 0 && c == '-') {
        s->lo = s->number;
        s->number = 0;
        s->field = 1;
    } else if (s->field == 1 && c == ' ') {
        s->field = 2;
    } else if (s->field == 2 && c != ' ') {
        s->readable |= s->column == 0 && c == 'r';
        s->writable |= s->column == 1 && c == 'w';
        s->executable |= s->column == 2 && c == 'x';
        s->column++;
    } else {
        s->skip = true;
        if (address < s->lo || address >= s->number)
            return false;
        *mapping = (struct self_mapping){s->lo, s->number, s->readable, s->executable, s->writable};
        return true;
    }
    return false;
}

/* What a list of mappings says about an address. */
enum answer { SILENT, NOT_MAPPED, MAPPED };

static enum answer scan(int maps, uintptr_t address, struct self_mapping *mapping)
{
    struct maps_scan s = {0};
    enum answer answer = SILENT;
    char buffer[1024];
    for (;;) {
        long n = sys_read(maps, buffer, sizeof buffer);
        if (n == -EINTR)
            continue;
        if (n <= 0)
            return answer;
        answer = NOT_MAPPED;
        for (long i = 0; i < n; i++)
            if (scan_byte(&s, buffer[i], address, mapping))
                return MAPPED;
    }
}

static enum answer ask(const char *path, uintptr_t address, struct self_mapping *mapping)
{
    long maps = sys_open(path, O_RDONLY | O_CLOEXEC);
    if (maps < 0)
        return SILENT;
    enum answer answer = NOT_MAPPED;
    long result = query((int)maps, address, mapping);
    if (result == 0)
        answer = MAPPED;
    else if (result != -ENOENT)
        answer = scan((int)maps, address, mapping);
    sys_close((int)maps);
    return answer;
}

/* /proc/self is the first thread, which shows nothing once it has ended. (Asked first all the same:
 * emulators know no other name.) */
bool self_mapping_find(uintptr_t address, struct self_mapping *mapping)
{
    enum answer answer = ask("/proc/self/maps", address, mapping);
    if (answer == SILENT)
        answer = ask("/proc/thread-self/maps", address, mapping);
    return answer == MAPPED;
}

/* A futex wait compares the word first: EFAULT when it cannot be read. It returns at once in every
 * case, by the comparison or by its timeout of zero. */
bool self_readable(uintptr_t address)
{
    const uintptr_t word = address & ~(uintptr_t)3;
    return sys_futex_wait((const void *)word, 0x5ca1ab1e, 0) != -EFAULT;
}

bool self_read(uintptr_t address, void *to, size_t size)
{
    /* By this thread's id: the process's own is that of its first thread, which may have ended. */
    long n = sys_read_memory(sys_gettid(), address, to, size);
    if (n >= 0 || n == -EFAULT)
        return n == (long)size;

    /* No process_vm_readv here (seccomp, emulators): probe the first and the last byte's pages. */
    if (size > 4096 || address > UINTPTR_MAX - size || !self_readable(address) ||
        !self_readable(address + size - 1))
        return false;
    memcpy(to, (const void *)address, size);
    return true;
}
