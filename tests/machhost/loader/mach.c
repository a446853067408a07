/*
 * The task's side of Mach: port rights, memory, information. Rights are counted for each thread's
 * name beside the one that libpthread itself holds; what is taken must be given back, and whoever
 * gives back what it does not have is stopped at once.
 */
#include "internal.h"
#include "shims.h"

#include <errno.h>
#include <fcntl.h>
#include <mach/mach_types.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { PORT_TASK = 0x103, PORT_HOST = 0x203, ARRAY_LIMIT = 4096, SEMAPHORE_LIMIT = 256 };
enum { SEMAPHORE_FIRST = 0x800003 };

struct array {
    uintptr_t address;
    size_t size;
};
static struct array arrays[ARRAY_LIMIT];
static unsigned array_count;
static unsigned host_rights;

static size_t whole_pages(size_t size)
{
    return (size + 4095) & ~(size_t)4095;
}

static struct thread *by_port(uint32_t port)
{
    for (struct thread *each = machhost_threads; each; each = each->next) {
        if (each->port == port)
            return each;
    }
    return NULL;
}

int shim_task_threads(uint32_t task, uint32_t **list, uint32_t *count)
{
    INJECT(task_threads);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    lock();
    uint32_t living = 0;
    for (struct thread *each = machhost_threads; each; each = each->next)
        living += !each->dead;
    const size_t size = whole_pages(living * sizeof(uint32_t));
    uint32_t *ports = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ports == MAP_FAILED || array_count == ARRAY_LIMIT) {
        unlock();
        return KERN_RESOURCE_SHORTAGE;
    }
    uint32_t n = 0;
    for (struct thread *each = machhost_threads; each; each = each->next) {
        if (each->dead)
            continue;
        each->rights++;
        ports[n++] = each->port;
    }
    arrays[array_count++] = (struct array){(uintptr_t)ports, size};
    unlock();
    *list = ports;
    *count = n;
    return KERN_SUCCESS;
}

uint32_t shim_mach_thread_self(void)
{
    lock();
    thread_self()->rights++;
    unlock();
    return thread_self()->port;
}

uint32_t shim_mach_host_self(void)
{
    lock();
    host_rights++;
    unlock();
    return PORT_HOST;
}

/* right: MACH_PORT_RIGHT_SEND or _DEAD_NAME, or ANY_RIGHT for whichever the name has. */
enum { ANY_RIGHT = 99 };

static int change_refs(uint32_t name, int delta, uint32_t right)
{
    if (name == PORT_TASK || (name >= SEMAPHORE_FIRST && (name & 0xff) == 3))
        return KERN_SUCCESS;
    int result = KERN_SUCCESS;
    lock();
    struct thread *thread = by_port(name);
    uint32_t *rights = name == PORT_HOST ? &host_rights : thread ? &thread->rights : NULL;
    if (!rights || (thread && thread->dead && thread->rights == 0)) {
        result = KERN_INVALID_NAME;
    } else if (thread && right != ANY_RIGHT &&
               thread->dead != (right == MACH_PORT_RIGHT_DEAD_NAME)) {
        result = KERN_INVALID_RIGHT;
    } else if (delta < 0 && *rights < (uint32_t)-delta) {
        unlock();
        say("port 0x%x: %d rights given back, but only %u were taken; the others belong to "
            "libpthread",
            name, -delta, *rights);
        _exit(97);
    } else {
        *rights += (uint32_t)delta;
    }
    unlock();
    return result;
}

int shim_mach_port_deallocate(uint32_t task, uint32_t name)
{
    INJECT(mach_port_deallocate);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    return change_refs(name, -1, ANY_RIGHT);
}

int shim_mach_port_mod_refs(uint32_t task, uint32_t name, uint32_t right, int delta)
{
    INJECT(mach_port_mod_refs);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    if (right != MACH_PORT_RIGHT_SEND && right != MACH_PORT_RIGHT_DEAD_NAME)
        return KERN_INVALID_VALUE;
    return change_refs(name, delta, right);
}

int shim_mach_port_get_refs(uint32_t task, uint32_t name, uint32_t right, uint32_t *refs)
{
    INJECT(mach_port_get_refs);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    lock();
    const struct thread *thread = by_port(name);
    const bool known = thread && (!thread->dead || thread->rights > 0);
    if (known && right == MACH_PORT_RIGHT_SEND)
        *refs = thread->dead ? 0 : thread->rights + 1;
    else if (known && right == MACH_PORT_RIGHT_DEAD_NAME)
        *refs = thread->dead ? thread->rights : 0;
    unlock();
    return known ? KERN_SUCCESS : KERN_INVALID_NAME;
}

int shim_mach_port_type(uint32_t task, uint32_t name, uint32_t *type)
{
    INJECT(mach_port_type);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    lock();
    const struct thread *thread = by_port(name);
    const bool known = thread && (!thread->dead || thread->rights > 0);
    if (known)
        *type = thread->dead ? MACH_PORT_TYPE_DEAD_NAME : MACH_PORT_TYPE_SEND;
    unlock();
    return known ? KERN_SUCCESS : KERN_INVALID_NAME;
}

/* Memory. */

int shim_vm_allocate(uint32_t task, uintptr_t *address, uintptr_t size, int flags)
{
    INJECT(vm_allocate);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    const bool anywhere = flags & VM_FLAGS_ANYWHERE;
    void *memory =
        mmap(anywhere ? NULL : (void *)*address, whole_pages(size), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (anywhere ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
    if (memory == MAP_FAILED)
        return KERN_NO_SPACE;
    *address = (uintptr_t)memory;
    return KERN_SUCCESS;
}

int shim_vm_deallocate(uint32_t task, uintptr_t address, uintptr_t size)
{
    INJECT(vm_deallocate);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    if (size == 0)
        return KERN_SUCCESS;
    lock();
    for (unsigned i = 0; i < array_count; i++) {
        if (arrays[i].address == address && arrays[i].size == whole_pages(size)) {
            arrays[i] = arrays[--array_count];
            break;
        }
    }
    unlock();
    return munmap((void *)address, whole_pages(size)) == 0 ? KERN_SUCCESS : KERN_INVALID_ADDRESS;
}

int shim_mach_vm_allocate(uint32_t task, uintptr_t *address, uintptr_t size, int flags)
{
    INJECT(mach_vm_allocate);
    return shim_vm_allocate(task, address, size, flags);
}

int shim_mach_vm_deallocate(uint32_t task, uintptr_t address, uintptr_t size)
{
    INJECT(mach_vm_deallocate);
    return shim_vm_deallocate(task, address, size);
}

int shim_vm_protect(uint32_t task, uintptr_t address, uintptr_t size, int maximum, int protection)
{
    INJECT(vm_protect);
    if (task != PORT_TASK || maximum)
        return KERN_INVALID_ARGUMENT;
    return mprotect((void *)address, size, protection & 7) == 0 ? KERN_SUCCESS
                                                                : KERN_INVALID_ADDRESS;
}

/* Where process_vm_readv is missing (qemu-user): what can be written to a pipe can be read. */
static bool read_by_pipe(uintptr_t from, char *to, size_t size)
{
    static int ends[2] = {-1, -1};
    bool good = true;
    lock();
    if (ends[0] < 0 && pipe(ends) != 0)
        good = false;
    while (good && size > 0) {
        const size_t in_page = 4096 - (from & 4095), part = size < in_page ? size : in_page;
        good = write(ends[1], (const void *)from, part) == (ssize_t)part &&
               read(ends[0], to, part) == (ssize_t)part;
        from += part;
        to += part;
        size -= part;
    }
    unlock();
    return good;
}

static int read_memory(uintptr_t from, uintptr_t size, uintptr_t to, uintptr_t *out_size)
{
    static _Atomic bool missing;
    const int error = errno;
    bool good = false;
    if (!atomic_load(&missing)) {
        const struct iovec local = {(void *)to, size}, remote = {(void *)from, size};
        const ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
        good = n == (ssize_t)size;
        if (n < 0 && (errno == ENOSYS || errno == EPERM))
            atomic_store(&missing, true);
    }
    if (atomic_load(&missing))
        good = read_by_pipe(from, (char *)to, size);
    errno = error;
    if (!good)
        return KERN_INVALID_ADDRESS;
    if (out_size)
        *out_size = size;
    return KERN_SUCCESS;
}

int shim_vm_read_overwrite(uint32_t task, uintptr_t from, uintptr_t size, uintptr_t to,
                           uintptr_t *out_size)
{
    INJECT(vm_read_overwrite);
    return task == PORT_TASK ? read_memory(from, size, to, out_size) : MACH_SEND_INVALID_DEST;
}

int shim_mach_vm_read_overwrite(uint32_t task, uintptr_t from, uintptr_t size, uintptr_t to,
                                uintptr_t *out_size)
{
    INJECT(mach_vm_read_overwrite);
    return task == PORT_TASK ? read_memory(from, size, to, out_size) : MACH_SEND_INVALID_DEST;
}

struct mapping {
    uintptr_t low, high;
    char mode[4];
};

static bool parse_mapping(const char *line, struct mapping *mapping)
{
    char *end;
    mapping->low = strtoul(line, &end, 16);
    if (*end != '-')
        return false;
    mapping->high = strtoul(end + 1, &end, 16);
    if (*end != ' ')
        return false;
    memcpy(mapping->mode, end + 1, 4);
    return true;
}

/* The first mapping that ends above the address, as the kernel answers. No allocation: programs ask
 * in signal handlers. */
static bool find_mapping(uintptr_t address, struct mapping *mapping)
{
    char buffer[4096 + 1];
    size_t held = 0;
    bool found = false;
    const int error = errno, fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    for (ssize_t n; fd >= 0 && !found && held < sizeof(buffer) - 1;) {
        n = read(fd, buffer + held, sizeof(buffer) - 1 - held);
        if (n <= 0)
            break;
        held += (size_t)n;
        buffer[held] = 0;
        char *line = buffer;
        for (char *end; !found && (end = strchr(line, '\n')); line = end + 1)
            found = parse_mapping(line, mapping) && mapping->high > address;
        held -= (size_t)(line - buffer);
        memmove(buffer, line, held);
    }
    if (fd >= 0)
        close(fd);
    errno = error;
    return found;
}

static int protection_of(const struct mapping *mapping)
{
    return (mapping->mode[0] == 'r' ? VM_PROT_READ : 0) |
           (mapping->mode[1] == 'w' ? VM_PROT_WRITE : 0) |
           (mapping->mode[2] == 'x' ? VM_PROT_EXECUTE : 0);
}

static int region(uintptr_t *address, uintptr_t *size, int flavor, int *info, uint32_t *count)
{
    struct mapping mapping;
    if (flavor != VM_REGION_BASIC_INFO_64 || *count < VM_REGION_BASIC_INFO_COUNT_64)
        return KERN_INVALID_ARGUMENT;
    if (!find_mapping(*address, &mapping))
        return KERN_INVALID_ADDRESS;
    const vm_region_basic_info_data_64_t basic = {
        .protection = protection_of(&mapping),
        .max_protection = VM_PROT_ALL,
        .shared = mapping.mode[3] == 's',
    };
    memcpy(info, &basic, sizeof(basic));
    *count = VM_REGION_BASIC_INFO_COUNT_64;
    *address = mapping.low;
    *size = mapping.high - mapping.low;
    return KERN_SUCCESS;
}

int shim_vm_region_recurse_64(uint32_t task, uintptr_t *address, uintptr_t *size, uint32_t *depth,
                              int *info, uint32_t *count)
{
    INJECT(vm_region_recurse_64);
    struct mapping mapping;
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    if (*count < VM_REGION_SUBMAP_SHORT_INFO_COUNT_64)
        return KERN_INVALID_ARGUMENT;
    if (!find_mapping(*address, &mapping))
        return KERN_INVALID_ADDRESS;
    const vm_region_submap_short_info_data_64_t shown = {
        .protection = protection_of(&mapping),
        .max_protection = VM_PROT_ALL,
        .share_mode = mapping.mode[3] == 's' ? SM_SHARED : SM_PRIVATE,
    };
    memcpy(info, &shown, sizeof(shown));
    *count = VM_REGION_SUBMAP_SHORT_INFO_COUNT_64;
    *depth = 0;
    *address = mapping.low;
    *size = mapping.high - mapping.low;
    return KERN_SUCCESS;
}

int shim_vm_region_64(uint32_t task, uintptr_t *address, uintptr_t *size, int flavor, int *info,
                      uint32_t *count, uint32_t *object)
{
    INJECT(vm_region_64);
    *object = 0;
    return task == PORT_TASK ? region(address, size, flavor, info, count) : MACH_SEND_INVALID_DEST;
}

int shim_mach_vm_region(uint32_t task, uintptr_t *address, uintptr_t *size, int flavor, int *info,
                        uint32_t *count, uint32_t *object)
{
    INJECT(mach_vm_region);
    *object = 0;
    return task == PORT_TASK ? region(address, size, flavor, info, count) : MACH_SEND_INVALID_DEST;
}

/* Information. */

int shim_task_info(uint32_t task, uint32_t flavor, int *info, uint32_t *count)
{
    INJECT(task_info);
    if (task != PORT_TASK)
        return MACH_SEND_INVALID_DEST;
    if (flavor != TASK_DYLD_INFO || *count < TASK_DYLD_INFO_COUNT)
        return KERN_INVALID_ARGUMENT;
    uint64_t place[2];
    images_task_info(place);
    task_dyld_info_data_t dyld = {place[0], place[1], TASK_DYLD_ALL_IMAGE_INFO_64};
    memcpy(info, &dyld, sizeof(dyld));
    *count = TASK_DYLD_INFO_COUNT;
    return KERN_SUCCESS;
}

/* As Linux sees the thread. */
static int run_state(int tid)
{
    char path[64], text[256];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
    FILE *file = fopen(path, "r");
    const size_t size = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    if (file)
        fclose(file);
    text[size] = 0;
    const char *end = strrchr(text, ')');
    switch (end && end[1] ? end[2] : 'R') {
    case 'S': return TH_STATE_WAITING;
    case 'D': return TH_STATE_UNINTERRUPTIBLE;
    case 'T': return TH_STATE_STOPPED;
    default: return TH_STATE_RUNNING;
    }
}

int shim_thread_info(uint32_t port, uint32_t flavor, int *info, uint32_t *count)
{
    INJECT(thread_info);
    lock();
    const struct thread *thread = by_port(port);
    const bool living = thread && !thread->dead;
    unlock();
    if (!living)
        return MACH_SEND_INVALID_DEST;
    if (flavor == THREAD_IDENTIFIER_INFO && *count >= THREAD_IDENTIFIER_INFO_COUNT) {
        thread_identifier_info_data_t id = {thread->id, (uint64_t)(uintptr_t)thread,
                                            (uint64_t)(uintptr_t)&thread->queue};
        memcpy(info, &id, sizeof(id));
        *count = THREAD_IDENTIFIER_INFO_COUNT;
    } else if (flavor == THREAD_BASIC_INFO && *count >= THREAD_BASIC_INFO_COUNT) {
        thread_basic_info_data_t basic = {
            .policy = 1,
            .run_state = run_state(thread->tid),
            .suspend_count = (int)(atomic_load(&thread->stop) / STOP_ONE),
        };
        memcpy(info, &basic, sizeof(basic));
        *count = THREAD_BASIC_INFO_COUNT;
    } else if (flavor == THREAD_EXTENDED_INFO && *count >= THREAD_EXTENDED_INFO_COUNT) {
        thread_extended_info_data_t extended = {.pth_run_state = TH_STATE_RUNNING};
        lock();
        memcpy(extended.pth_name, thread->name, sizeof(extended.pth_name));
        unlock();
        memcpy(info, &extended, sizeof(extended));
        *count = THREAD_EXTENDED_INFO_COUNT;
    } else {
        return KERN_INVALID_ARGUMENT;
    }
    return KERN_SUCCESS;
}

/* Semaphores: a counter each, by its port's name. */

static _Atomic uint32_t semaphores[SEMAPHORE_LIMIT];
static unsigned semaphore_count;

static _Atomic uint32_t *semaphore(uint32_t name)
{
    const uint32_t index = (name - SEMAPHORE_FIRST) >> 8;
    return name >= SEMAPHORE_FIRST && index < semaphore_count ? &semaphores[index] : NULL;
}

int shim_semaphore_create(uint32_t task, uint32_t *name, int policy, int value)
{
    INJECT(semaphore_create);
    (void)policy;
    if (task != PORT_TASK || value < 0)
        return KERN_INVALID_ARGUMENT;
    lock();
    const bool room = semaphore_count < SEMAPHORE_LIMIT;
    if (room) {
        *name = SEMAPHORE_FIRST + (semaphore_count << 8);
        atomic_store(&semaphores[semaphore_count++], (uint32_t)value);
    }
    unlock();
    return room ? KERN_SUCCESS : KERN_RESOURCE_SHORTAGE;
}

int shim_semaphore_destroy(uint32_t task, uint32_t name)
{
    return task == PORT_TASK && semaphore(name) ? KERN_SUCCESS : KERN_INVALID_ARGUMENT;
}

int shim_semaphore_signal(uint32_t name)
{
    _Atomic uint32_t *word = semaphore(name);
    if (!word)
        return KERN_INVALID_ARGUMENT;
    atomic_fetch_add(word, 1);
    futex_wake(word, 1);
    return KERN_SUCCESS;
}

int shim_semaphore_wait(uint32_t name)
{
    _Atomic uint32_t *word = semaphore(name);
    if (!word)
        return KERN_INVALID_ARGUMENT;
    for (;;) {
        uint32_t seen = atomic_load(word);
        if (seen == 0)
            futex_wait(word, 0, NULL);
        else if (atomic_compare_exchange_strong(word, &seen, seen - 1))
            return KERN_SUCCESS;
    }
}

/* By value: seconds and nanoseconds. Time that the thread is parked counts, as on Mach. */
int shim_semaphore_timedwait(uint32_t name, mach_timespec_t span)
{
    INJECT(semaphore_timedwait);
    _Atomic uint32_t *word = semaphore(name);
    if (!word)
        return KERN_INVALID_ARGUMENT;
    const uint64_t until = now_ns() + (uint64_t)span.tv_sec * 1000000000 + (uint64_t)span.tv_nsec;
    for (;;) {
        uint32_t seen = atomic_load(word);
        if (seen > 0 && atomic_compare_exchange_strong(word, &seen, seen - 1))
            return KERN_SUCCESS;
        const uint64_t now = now_ns();
        if (now >= until)
            return KERN_OPERATION_TIMED_OUT;
        const struct timespec left = {(time_t)((until - now) / 1000000000),
                                      (long)((until - now) % 1000000000)};
        if (seen == 0)
            futex_wait(word, 0, &left);
    }
}

/* Receiving: a port is a semaphore here, a message is that it was signalled. */
int shim_mach_msg(void *message, int option, uint32_t send_size, uint32_t size, uint32_t port,
                  uint32_t timeout_ms)
{
    enum { RECEIVE = 2, TIMEOUT = 0x100, TIMED_OUT = 0x10004003 };
    (void)message, (void)send_size, (void)size;
    if (!(option & RECEIVE))
        return KERN_INVALID_ARGUMENT;
    if (!(option & TIMEOUT))
        return shim_semaphore_wait(port);
    const mach_timespec_t span = {timeout_ms / 1000, (int)(timeout_ms % 1000) * 1000000};
    const int result = shim_semaphore_timedwait(port, span);
    return result == KERN_OPERATION_TIMED_OUT ? TIMED_OUT : result;
}

char *shim_mach_error_string(int error)
{
    static const struct {
        int error;
        char text[40];
    } texts[] = {
        {KERN_SUCCESS, "(os/kern) successful"},
        {KERN_INVALID_ADDRESS, "(os/kern) invalid address"},
        {KERN_INVALID_ARGUMENT, "(os/kern) invalid argument"},
        {KERN_FAILURE, "(os/kern) failure"},
        {KERN_TERMINATED, "(os/kern) object terminated"},
        {MACH_SEND_INVALID_DEST, "(ipc/send) invalid destination port"},
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].error == error)
            return (char *)(uintptr_t)texts[i].text;
    }
    return (char *)(uintptr_t)"unknown error code";
}

void shim_mach_error(const char *text, int error)
{
    fprintf(stderr, "%s %s\n", text, shim_mach_error_string(error));
}

/* The accounts. */

unsigned shim_machhost_arrays(void)
{
    return array_count;
}

unsigned shim_machhost_rights(void)
{
    unsigned count = host_rights;
    for (const struct thread *each = machhost_threads; each; each = each->next)
        count += each->rights;
    return count;
}

unsigned machhost_report(void)
{
    unsigned kinds = 0;
    for (const struct thread *each = machhost_threads; each; each = each->next) {
        if (each->rights)
            say("thread port 0x%x%s%s: %u send rights were not given back", each->port,
                each->dead ? " (dead) " : " ", each->name, each->rights);
        if (atomic_load(&each->stop) >= STOP_ONE)
            say("thread port 0x%x %s: still suspended, count %u", each->port, each->name,
                atomic_load(&each->stop) / STOP_ONE);
        kinds += each->rights ? 1 : 0;
        kinds += atomic_load(&each->stop) >= STOP_ONE ? 1 : 0;
    }
    if (host_rights)
        say("the host's port: %u send rights were not given back", host_rights);
    if (array_count)
        say("task_threads: %u arrays were not deallocated", array_count);
    kinds += host_rights ? 1 : 0;
    kinds += array_count ? 1 : 0;
    return kinds;
}
