/*
 * Path and build id of a loaded image, by an address in it. What the loader and the image hold is
 * copied by checked reads: the image may be unloaded while we look.
 *
 * Notes: System V ABI, chapter 5 "Note Section"; NT_GNU_BUILD_ID: LSB Core, 10.7.2.
 */
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/reader.h"
#include "os/linux/loaded_image.h"
#include "os/self_images.h"
#include "os/self_maps.h"

enum { NOTES_MAX = 2048, PAGE = 4096 };

static void take_build_id(const uint8_t *notes, size_t size, struct self_identity *identity)
{
    struct reader r = reader_over(notes, size);
    while (reader_left(&r) && !r.failed && !identity->build_id_size) {
        const uint8_t *name, *id;
        uint32_t name_size = reader_u32(&r), id_size = reader_u32(&r), type = reader_u32(&r);
        if (name_size > NOTES_MAX || id_size > NOTES_MAX ||
            !reader_take(&r, (name_size + 3) & ~(size_t)3, &name) ||
            !reader_take(&r, (id_size + 3) & ~(size_t)3, &id))
            return;
        if (type == NT_GNU_BUILD_ID && name_size == 4 && memcmp(name, "GNU", 4) == 0 &&
            id_size <= sizeof identity->build_id) {
            memcpy(identity->build_id, id, id_size);
            identity->build_id_size = id_size;
        }
    }
}

static void read_build_id(const struct loaded_image *image, struct self_identity *identity)
{
    for (size_t i = 0; i < image->phdr_count && !identity->build_id_size; i++) {
        ElfW(Phdr) p;
        uint8_t notes[NOTES_MAX];
        if (!self_read((uintptr_t)image->phdrs + i * sizeof p, &p, sizeof p))
            return;
        size_t size = p.p_memsz < sizeof notes ? (size_t)p.p_memsz : sizeof notes;
        if (p.p_type == PT_NOTE && self_read(image->bias + (uintptr_t)p.p_vaddr, notes, size))
            take_build_id(notes, size, identity);
    }
}

/* Piece by piece to the next page, as what follows the text may not be there. */
static void read_text(uintptr_t at, char *to, size_t capacity)
{
    size_t used = 0;
    while (used < capacity - 1) {
        size_t piece = PAGE - (at & (PAGE - 1));
        if (piece > capacity - 1 - used)
            piece = capacity - 1 - used;
        if (!self_read(at, to + used, piece))
            break;
        if (memchr(to + used, 0, piece))
            return;
        at += piece;
        used += piece;
    }
    to[used] = 0;
}

bool self_image_identify(uint64_t address, struct self_identity *identity)
{
    struct loaded_image image;
    if (address > UINTPTR_MAX || !loaded_image_at((uintptr_t)address, &image))
        return false;
    *identity = (struct self_identity){.lo = image.lo, .hi = image.hi, .bias = image.bias};
    read_build_id(&image, identity);
    if (image.lo == (uintptr_t)getauxval(AT_SYSINFO_EHDR)) {
        strcpy(identity->path, "[vdso]");
        return true;
    }
    /* The loaders call the executable "", or by the words that it was started with. */
    const uintptr_t own = (uintptr_t)getauxval(AT_PHDR);
    if (image.name && own - image.lo >= image.hi - image.lo)
        read_text((uintptr_t)image.name, identity->path, sizeof identity->path);
    return true;
}
