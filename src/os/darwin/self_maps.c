/*
 * Questions about this process's address space, asked of the kernel by Mach calls on the own task:
 * they fail where nothing can be read, and take no lock of libc (<mach/vm_map.h>,
 * <mach/vm_region.h>).
 */
#include "os/self_maps.h"

#include <mach/mach.h>

/* Parts of the address space that processes share (the shared cache) are maps inside the map: asked
 * for as deep as they go. */
bool self_mapping_find(uintptr_t address, struct self_mapping *mapping)
{
    enum { DEEPEST = 16 };
    vm_address_t start = (vm_address_t)address;
    vm_size_t size = 0;
    natural_t depth = DEEPEST;
    struct vm_region_submap_short_info_64 info;
    mach_msg_type_number_t count = VM_REGION_SUBMAP_SHORT_INFO_COUNT_64;
    if (vm_region_recurse_64(mach_task_self(), &start, &size, &depth,
                             (vm_region_recurse_info_t)&info, &count) != KERN_SUCCESS)
        return false;
    if (address < start || address - start >= size) /* the next one, behind a hole */
        return false;
    *mapping = (struct self_mapping){
        .lo = (uintptr_t)start,
        .hi = (uintptr_t)start + size,
        .readable = info.protection & VM_PROT_READ,
        .executable = info.protection & VM_PROT_EXECUTE,
        .writable = info.protection & VM_PROT_WRITE,
    };
    return true;
}

bool self_read(uintptr_t address, void *to, size_t size)
{
    vm_size_t got = 0;
    return vm_read_overwrite(mach_task_self(), (vm_address_t)address, size, (vm_address_t)to,
                             &got) == KERN_SUCCESS &&
           got == size;
}

bool self_readable(uintptr_t address)
{
    uint32_t word;
    return self_read(address & ~(uintptr_t)3, &word, sizeof word);
}
