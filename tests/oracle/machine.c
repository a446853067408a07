/* See machine.h. proc(5), /proc/PID/maps. */
#include "oracle/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/uio.h>

#include "object/object.h"

int machine_start(struct machine **machine, char **argv)
{
    struct object *object;
    struct fw_failure why;
    const struct arch *arch = NULL;
    if (object_open(argv[0], &object, &why) == FW_OK) {
        arch = object_arch(object);
        object_close(object);
    }
    return arch == &arch_aarch64 ? machine_start_aarch64(machine, argv)
                                 : machine_start_x86_64(machine, argv);
}

bool machine_read(void *context, uint64_t address, void *to, size_t size)
{
    const struct machine *machine = context;
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    return process_vm_readv(machine->pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Where the first byte of the file is mapped. */
static uint64_t mapped_at(pid_t pid, const char *file_path)
{
    char path[64], line[512], mapped[256];
    char *real = realpath(file_path, NULL);
    uint64_t found = 0;
    snprintf(path, sizeof path, "/proc/%d/maps", pid);
    FILE *maps = real ? fopen(path, "re") : NULL;
    while (maps && !found && fgets(line, sizeof line, maps)) {
        unsigned long lo, offset;
        if (sscanf(line, "%lx-%*x %*s %lx %*s %*s %255[^\n]", &lo, &offset, mapped) == 3 &&
            offset == 0 && strcmp(mapped, real) == 0)
            found = lo;
    }
    if (maps)
        fclose(maps);
    free(real);
    return found;
}

struct wanted {
    const char *name;
    uint64_t vaddr;
};

static bool match(void *context, const struct object_symbol *symbol)
{
    struct wanted *wanted = context;
    if (strcmp(symbol->name, wanted->name) == 0)
        wanted->vaddr = symbol->vaddr;
    return wanted->vaddr == 0;
}

uint64_t machine_symbol(const struct machine *machine, const char *path, const char *symbol)
{
    struct object *object;
    struct fw_failure why;
    struct wanted wanted = {symbol, 0};
    uint64_t base = mapped_at(machine->pid, path);
    if (base == 0 || object_open(path, &object, &why) != FW_OK)
        return 0;
    if (symbol)
        object_symbols(object, false, match, &wanted);
    else
        wanted.vaddr = object_entry(object);
    uint64_t bias = base - object_base(object);
    object_close(object);
    return wanted.vaddr ? wanted.vaddr + bias : 0;
}
