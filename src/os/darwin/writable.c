/* Changing protections for a moment (writable.h): <mach/vm_map.h>. */
#include "os/darwin/writable.h"

#include <mach/mach.h>

static bool region_at(uintptr_t address, uintptr_t *end, vm_prot_t *protection)
{
    enum { DEEPEST = 16 };
    vm_address_t start = (vm_address_t)address;
    vm_size_t size = 0;
    natural_t depth = DEEPEST;
    struct vm_region_submap_short_info_64 info;
    mach_msg_type_number_t count = VM_REGION_SUBMAP_SHORT_INFO_COUNT_64;
    if (vm_region_recurse_64(mach_task_self(), &start, &size, &depth,
                             (vm_region_recurse_info_t)&info, &count) != KERN_SUCCESS ||
        address < start)
        return false;
    *end = (uintptr_t)start + size;
    *protection = info.protection;
    return true;
}

bool writable_open(struct writable *memory, uintptr_t address, uintptr_t end)
{
    uintptr_t region_end;
    vm_prot_t protection;
    if (address >= memory->lo && address < memory->hi)
        return true;
    writable_close(memory);
    if (!region_at(address, &region_end, &protection))
        return false;
    const uintptr_t page = vm_page_size, lo = address & ~(page - 1);
    uintptr_t hi = (end + page - 1) & ~(page - 1);
    if (hi > region_end || hi < lo)
        hi = region_end;
    if (protection & VM_PROT_WRITE) {
        *memory = (struct writable){lo, hi, 0};
        return true;
    }
    if (vm_protect(mach_task_self(), lo, hi - lo, false,
                   VM_PROT_READ | VM_PROT_WRITE | VM_PROT_COPY) != KERN_SUCCESS)
        return false;
    *memory = (struct writable){lo, hi, protection};
    return true;
}

void writable_close(struct writable *memory)
{
    if (memory->before)
        vm_protect(mach_task_self(), memory->lo, memory->hi - memory->lo, false, memory->before);
    *memory = (struct writable){0, 0, 0};
}
