/*
 * Function bounds from LC_FUNCTION_STARTS of Mach-O images: ULEB128 distances, the first from the
 * address of the mach header, each next one from the start before; a zero ends the list. On ARM the
 * lowest bit of a start says Thumb.
 *
 * Entries of compact unwind are no bounds: linkers fold neighbouring functions of one encoding.
 *
 * Invariant: starts ascend, so the first one behind the address ends the search. A broken list
 * knows the functions in front of the place where it breaks.
 *
 * <mach-o/loader.h>, LC_FUNCTION_STARTS.
 */
#include "unwind/image.h"

bool unwind_function_at(const struct unwind_image *image, uint64_t vaddr,
                        struct function_range *function)
{
    struct reader r = reader_over(image->function_starts.data, image->function_starts.size);
    const uint64_t thumb = image->arch->id == ARCH_ARM;
    uint64_t at = image->header, lo = 0, hi = image->hi;
    bool found = false;
    while (reader_left(&r)) {
        uint64_t distance = reader_uleb(&r);
        if (r.failed)
            return false;
        if (distance == 0)
            break;
        if (__builtin_add_overflow(at, distance, &at))
            return false;
        uint64_t start = at & ~thumb;
        if (start > vaddr) {
            hi = start;
            break;
        }
        lo = start;
        found = true;
        function->thumb = at & thumb;
    }
    for (unsigned i = 0; i < UNWIND_STUB_AREAS; i++) /* the last function ends in front of them */
        if (image->plt[i].size && image->plt[i].vaddr > lo && image->plt[i].vaddr < hi)
            hi = image->plt[i].vaddr;
    function->lo = lo;
    function->hi = hi;
    return found && vaddr < hi;
}

bool unwind_leads_to_function(const struct unwind_image *image, uint64_t at, uint64_t target)
{
    struct function_range function;
    return unwind_function_at(image, target, &function) && function.lo == target &&
           (at < function.lo || at >= function.hi);
}
