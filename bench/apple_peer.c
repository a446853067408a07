/* The peer of the Apple figures (apple_peer.h). Formats: <mach-o/loader.h>, <mach-o/nlist.h>. */
#include "apple_peer.h"

#include <mach-o/dyld.h>
#include <mach-o/loader.h>
#include <mach-o/nlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IMAGES = 64 };

static struct {
    const struct mach_header_64 *header;
    intptr_t slide;
} images[IMAGES];
static uint32_t image_count;

void peer_note_images(void)
{
    image_count = _dyld_image_count();
    if (image_count > IMAGES) {
        fprintf(stderr, "peer: %u images\n", image_count);
        exit(1);
    }
    for (uint32_t i = 0; i < image_count; i++) {
        images[i].header = (const struct mach_header_64 *)(const void *)_dyld_get_image_header(i);
        images[i].slide = _dyld_get_image_vmaddr_slide(i);
    }
}

static const struct load_command *first_command(const struct mach_header_64 *header)
{
    return (const struct load_command *)(const void *)(header + 1);
}

static const struct load_command *next_command(const struct load_command *command)
{
    return (const struct load_command *)(const void *)((const char *)command + command->cmdsize);
}

/* Whether a segment of the image contains the unslid address; __PAGEZERO is none of its memory. */
static bool contains(const struct mach_header_64 *header, uint64_t address)
{
    const struct load_command *command = first_command(header);
    for (uint32_t i = 0; i < header->ncmds; i++, command = next_command(command)) {
        const struct segment_command_64 *segment = (const void *)command;
        if (command->cmd == LC_SEGMENT_64 && segment->initprot &&
            address - segment->vmaddr < segment->vmsize)
            return true;
    }
    return false;
}

static const char *scan(const struct mach_header_64 *header, intptr_t slide, uint64_t address)
{
    const struct load_command *command = first_command(header);
    const struct symtab_command *table = NULL;
    uint64_t linkedit = 0;
    for (uint32_t i = 0; i < header->ncmds; i++, command = next_command(command)) {
        const struct segment_command_64 *segment = (const void *)command;
        if (command->cmd == LC_SYMTAB)
            table = (const void *)command;
        else if (command->cmd == LC_SEGMENT_64 &&
                 memcmp(segment->segname, SEG_LINKEDIT, sizeof SEG_LINKEDIT) == 0)
            linkedit = segment->vmaddr + (uint64_t)slide - segment->fileoff;
    }
    if (!table || !linkedit)
        return NULL;
    const struct nlist_64 *symbols = (const void *)(uintptr_t)(linkedit + table->symoff);
    const struct nlist_64 *best = NULL;
    uint64_t distance = UINT64_MAX;
    for (uint32_t i = 0; i < table->nsyms; i++) {
        const uint64_t value = symbols[i].n_value;
        if (value && address >= value && address - value <= distance) {
            best = &symbols[i];
            distance = address - value;
        }
    }
    return best ? (const char *)(uintptr_t)(linkedit + table->stroff + best->n_un.n_strx) : NULL;
}

const char *peer_name(uintptr_t address)
{
    for (uint32_t i = 0; i < image_count; i++) {
        const uint64_t unslid = address - (uint64_t)images[i].slide;
        if (contains(images[i].header, unslid))
            return scan(images[i].header, images[i].slide, unslid);
    }
    return NULL;
}

bool peer_walk(thread_act_t thread, struct peer_stack *stack)
{
    x86_thread_state64_t state;
    mach_msg_type_number_t size = x86_THREAD_STATE64_COUNT;
    stack->count = 0;
    if (thread_get_state(thread, x86_THREAD_STATE64, (thread_state_t)&state, &size) != KERN_SUCCESS)
        return false;
    stack->addresses[stack->count++] = state.__rip;
    uint64_t record[2] = {state.__rbp, 0}; /* the record before, the return address */
    while (stack->count < PEER_FRAMES && record[0]) {
        vm_size_t got = 0;
        if (vm_read_overwrite(mach_task_self(), record[0], sizeof record, (vm_address_t)record,
                              &got) != KERN_SUCCESS ||
            !record[1])
            break;
        stack->addresses[stack->count++] = record[1];
    }
    return true;
}

void peer_names(struct peer_stack *stack)
{
    for (size_t i = 0; i < stack->count; i++)
        stack->names[i] = peer_name(i == 0 ? stack->addresses[i] : stack->addresses[i] - 1);
}
