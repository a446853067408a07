/*
 * Addresses for the sections of relocatable files (ET_REL: objects, kernel modules), where every
 * section begins at 0.
 *
 * Invariant: no two allocated sections overlap. Code goes first, in the order of the section
 * headers and each section at its own alignment, then everything else that is allocated. So in an
 * object of one code section, addresses are offsets into it, which is what other tools expect; the
 * separate debug file of an object (its code is SHT_NOBITS there) gets the same addresses as the
 * object; and whatever looks up an address finds at most one function. Sections that are not
 * allocated stay at 0.
 *
 * System V gABI chapter 4: sh_addr is 0 in what no loader has placed.
 */
#include "object/elf_internal.h"

/* Larger alignments than any page are a damaged header's. */
#define ALIGNMENT_LIMIT ((uint64_t)1 << 20)

static bool is_code(const struct section *section)
{
    return section->view.flags & SHF_EXECINSTR;
}

/* What a section takes: a claim that lies beyond the end of the file takes nothing. */
static uint64_t size_of(const struct section *section)
{
    return section->inside || section->view.type == SHT_NOBITS ? section->view.size : 0;
}

/* Places one kind of section from `next` on and returns what follows it. A section that no longer
 * fits stays at 0: its size is a lie, as no file is that large. */
static uint64_t place(struct object *object, bool code, uint64_t next)
{
    const uint64_t limit = object->is_64 ? UINT64_MAX : UINT32_MAX;
    for (size_t i = 1; i < object->section_count; i++) {
        struct section *s = &object->sections[i];
        if (s->view.type == SHT_NULL || !(s->view.flags & SHF_ALLOC) || is_code(s) != code)
            continue;
        uint64_t align = s->elf.alignment;
        if (align == 0 || align > ALIGNMENT_LIMIT || (align & (align - 1)) != 0)
            align = 1;
        if (next > limit - align)
            continue;
        uint64_t start = (next + align - 1) & ~(align - 1);
        if (size_of(s) > limit - start)
            continue;
        s->view.vaddr = start;
        next = start + size_of(s);
    }
    return next;
}

void elf_layout(struct object *object)
{
    for (size_t i = 0; i < object->section_count; i++)
        object->sections[i].view.vaddr = 0;
    place(object, false, place(object, true, 0));
}
