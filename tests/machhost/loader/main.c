/*
 * machhost SYSTEM-FOLDER PROGRAM ARGUMENTS...: runs a Mach-O executable of this machine's
 * architecture. The folder holds libSystem.dylib and dyld.dylib. Exit status: the program's; 97
 * when it did not give back what it took; 98 after a forbidden call; 127 when it cannot be run.
 */
#include "internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

extern char **environ;

static void set_word(const char *name, uint64_t value)
{
    uint64_t *word = system_symbol(name);
    if (!word)
        abort();
    *word = value;
}

static void set_data(void)
{
    set_word("_mach_task_self_", 0x103);
    set_word("___stack_chk_guard", 0x595e9fbd94fda766);
    set_word("___stdinp", (uint64_t)(uintptr_t)stdin);
    set_word("___stdoutp", (uint64_t)(uintptr_t)stdout);
    set_word("___stderrp", (uint64_t)(uintptr_t)stderr);
    set_word("_environ", (uint64_t)(uintptr_t)environ);
    set_word("_vm_page_size", 4096);
    set_word("_vm_page_mask", 4095);
    set_word("_vm_page_shift", 12);
}

static void *entry(const struct image *image)
{
    const struct load_command *command = (const void *)(image->header + 1);
    for (uint32_t i = 0; i < image->header->ncmds; i++) {
        if (command->cmd == LC_MAIN)
            return (char *)(uintptr_t)image->header +
                   ((const struct entry_point_command *)(const void *)command)->entryoff;
        command = (const void *)((const char *)command + command->cmdsize);
    }
    say("%s has no LC_MAIN", image->path);
    _exit(127);
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: machhost SYSTEM-FOLDER PROGRAM [ARGUMENT...]\n");
        return 127;
    }
    threads_start();
    images_start(argv[1], argv[2]);
    signals_start();
    set_data();
    images_announce();
    image_initialise(image_main);
    const char *apple[] = {image_main->path, NULL};
    host_exit(run_main(entry(image_main), argc - 2, argv + 2, environ, apple));
}
