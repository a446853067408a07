/*
 * PT_DYNAMIC: what the run-time linker goes by, and so what is left when section headers are gone.
 *
 * Addresses are stored link-time. In memory the C library may have replaced them by run-time ones
 * (glibc does, musl and the kernel's vDSO do not); of the two readings the one that lies inside the
 * image is taken. Both can lie inside only when they are equal or the image is larger than its
 * distance from address 0, which no system maps.
 *
 * System V gABI chapter 5, "Dynamic Section".
 */
#include "object/elf_internal.h"

static uint64_t pointer(const struct object *object, uint64_t value)
{
    if (!object->elf->is_image || object_load_at(object, value) >= 0)
        return value;
    uint64_t moved = value - object->elf->bias;
    if (!object->is_64)
        moved = (uint32_t)moved;
    return object_load_at(object, moved) >= 0 ? moved : value;
}

void elf_read_dynamic(struct object *object)
{
    const struct elf_segment *segment = elf_segment_of_type(object, PT_DYNAMIC);
    if (!segment)
        return;
    struct elf_dynamic *d = &object->elf->dynamic;
    struct reader r = object_reader(object, segment->bytes);
    for (;;) {
        uint64_t tag = object_word(object, &r);
        uint64_t value = object_word(object, &r);
        if (r.failed || tag == DT_NULL)
            return;
        switch (tag) {
        case DT_SYMTAB: d->symtab = pointer(object, value); break;
        case DT_STRTAB: d->strtab = pointer(object, value); break;
        case DT_STRSZ: d->strtab_size = value; break;
        case DT_SYMENT: d->symbol_size = value; break;
        case DT_HASH: d->hash = pointer(object, value); break;
        case DT_GNU_HASH: d->gnu_hash = pointer(object, value); break;
        case DT_PLTGOT: d->pltgot = pointer(object, value); break;
        case DT_SONAME: d->soname = true; break;
        case DT_FLAGS_1: d->pie = value & DF_1_PIE; break;
        default: break;
        }
    }
}
