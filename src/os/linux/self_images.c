/*
 * The images loaded in this process. Program headers as in the ELF specification (System V ABI,
 * chapter 5); they and the tables they point to were mapped by the loader, which is trusted;
 * lengths are still bounded by segments.
 */
#include "os/self_images.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "os/linux/loaded_image.h"
#include "os/linux/self_eh_frame.h"
#include "os/self_maps.h"

/* The segment of `image` that holds the link-time address, as a section that begins there. */
static struct unwind_section from_segment(uintptr_t bias, const ElfW(Phdr) * phdrs, size_t count,
                                          uint64_t vaddr)
{
    for (size_t i = 0; i < count; i++) {
        const ElfW(Phdr) *p = &phdrs[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) && vaddr - p->p_vaddr < p->p_memsz)
            return (struct unwind_section){(const uint8_t *)(bias + (uintptr_t)vaddr),
                                           p->p_memsz - (size_t)(vaddr - p->p_vaddr), vaddr};
    }
    return (struct unwind_section){NULL, 0, 0};
}

/* .eh_frame from its header: version 1, then the encoding of the pointer that follows (LSB 4.1
 * Core, 10.6.2). Only the form that linkers write, 4 bytes relative to itself, is taken; with
 * others the table alone is used. */
static uint64_t eh_frame_vaddr(const struct unwind_section *hdr)
{
    struct reader r = reader_over(hdr->data, hdr->size);
    uint8_t version = reader_u8(&r), encoding = reader_u8(&r);
    reader_skip(&r, 2);
    int32_t offset = (int32_t)reader_u32(&r);
    if (r.failed || version != 1 || encoding != 0x1b)
        return 0;
    return hdr->vaddr + 4 + (uint64_t)(int64_t)offset;
}

static void self_image_describe(uintptr_t bias, const void *headers, size_t count,
                                struct unwind_image *image)
{
    const ElfW(Phdr) *phdrs = headers;
    memset(image, 0, sizeof *image);
    image->arch = &ARCH_NATIVE;
    image->bias = bias;
    for (size_t i = 0; i < count; i++) {
        const ElfW(Phdr) *p = &phdrs[i];
        if (p->p_type == PT_LOAD && p->p_offset == 0 && (p->p_flags & PF_R) &&
            p->p_filesz >= sizeof(ElfW(Ehdr)))
            image->entry = ((const ElfW(Ehdr) *)(bias + p->p_vaddr))->e_entry;
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X)) {
            if (!image->hi || p->p_vaddr < image->lo)
                image->lo = p->p_vaddr;
            if (p->p_vaddr + p->p_memsz > image->hi)
                image->hi = p->p_vaddr + p->p_memsz;
            if ((p->p_flags & PF_R) && p->p_memsz > image->text.size)
                image->text = (struct unwind_section){(const uint8_t *)(bias + p->p_vaddr),
                                                      p->p_memsz, p->p_vaddr};
        } else if (p->p_type == PT_GNU_EH_FRAME) {
            image->eh_frame_hdr = from_segment(bias, phdrs, count, p->p_vaddr);
            if (image->eh_frame_hdr.size > p->p_memsz)
                image->eh_frame_hdr.size = p->p_memsz;
#ifdef PT_ARM_EXIDX
        } else if (p->p_type == PT_ARM_EXIDX) {
            image->exidx = from_segment(bias, phdrs, count, p->p_vaddr);
            if (image->exidx.size > p->p_memsz)
                image->exidx.size = p->p_memsz;
#endif
        }
    }
    if (image->eh_frame_hdr.data)
        image->eh_frame = from_segment(bias, phdrs, count, eh_frame_vaddr(&image->eh_frame_hdr));
    if (image->exidx.data) {
        for (size_t i = 0; i < count; i++) {
            const ElfW(Phdr) *p = &phdrs[i];
            if (p->p_type == PT_LOAD && image->exidx.vaddr - p->p_vaddr < p->p_memsz)
                image->extab = from_segment(bias, phdrs, count, p->p_vaddr);
        }
    }
}

/* Images known since start or the last refresh: for systems without _dl_find_object, and for images
 * that do not say by themselves what the unwinder needs. Two tables take turns, so that a reader in
 * a signal handler always finds a whole one; `version` tells a reader that slept for so long that
 * its table's turn came again. */
enum { MAX_IMAGES = 512, FIRST_PAGE = 4096 };

struct image_table {
    unsigned version; /* odd while it is written */
    size_t count;
    struct loaded_image image[MAX_IMAGES];
};

static struct image_table tables[2];
static struct image_table *current = &tables[0];
static unsigned long long loads_seen, unloads_seen;
static pid_t refreshing; /* the process that does; a forked child may inherit its parent's */

struct collecting {
    struct image_table *table;
    bool changed;
};

static bool leads_to_table(const ElfW(Phdr) * p)
{
#ifdef PT_ARM_EXIDX
    if (p->p_type == PT_ARM_EXIDX)
        return true;
#endif
    return p->p_type == PT_GNU_EH_FRAME;
}

static int collect(struct dl_phdr_info *info, size_t size, void *context)
{
    struct collecting *c = context;
    if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs) {
        if (!c->changed && info->dlpi_adds == loads_seen && info->dlpi_subs == unloads_seen)
            return 1;
        loads_seen = info->dlpi_adds;
        unloads_seen = info->dlpi_subs;
    }
    c->changed = true;
    if (c->table->count == MAX_IMAGES)
        return 1;
    struct loaded_image known = {.lo = UINTPTR_MAX,
                                 .bias = info->dlpi_addr,
                                 .phdrs = info->dlpi_phdr,
                                 .phdr_count = info->dlpi_phnum,
                                 .name = info->dlpi_name};
    bool has_table = false;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        has_table |= leads_to_table(p);
        if (p->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + p->p_vaddr < known.lo)
            known.lo = info->dlpi_addr + p->p_vaddr;
        if (info->dlpi_addr + p->p_vaddr + p->p_memsz > known.hi)
            known.hi = info->dlpi_addr + p->p_vaddr + p->p_memsz;
    }
    if (!has_table)
        known.eh_frame = self_eh_frame_of_file(info);
    c->table->image[c->table->count++] = known;
    return 0;
}

/* The process that refreshes, or 0. A child forked meanwhile finds its parent's number and takes
 * over; a thread that never comes back is not waited for without end. */
static bool refresh_begin(void)
{
    enum { TRIES = 1000 };
    const struct timespec nap = {0, 1000 * 1000};
    const pid_t own = getpid();
    for (int i = 0; i < TRIES; i++) {
        pid_t by = 0;
        if (__atomic_compare_exchange_n(&refreshing, &by, own, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED) ||
            (by != own && __atomic_compare_exchange_n(&refreshing, &by, own, false,
                                                      __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
            return true;
        nanosleep(&nap, NULL);
    }
    return false;
}

void self_images_refresh(void (*changed)(void))
{
    if (!refresh_begin())
        return;
    struct image_table *other = current == &tables[0] ? &tables[1] : &tables[0];
    struct collecting c = {other, current->count == 0}; /* musl counts loads from 0 */
    /* Read-modify-writes keep what is written, and read, on their side of them; the thread
     * sanitizer does not know fences. */
    __atomic_fetch_or(&other->version, 1, __ATOMIC_ACQ_REL);
    other->count = 0;
    dl_iterate_phdr(collect, &c);
    __atomic_store_n(&other->version, other->version + 1, __ATOMIC_RELEASE);
    if (c.changed) {
        __atomic_store_n(&current, other, __ATOMIC_RELEASE);
        changed();
    }
    __atomic_store_n(&refreshing, 0, __ATOMIC_RELEASE);
}

static bool table_find(const struct image_table *table, uintptr_t address,
                       struct loaded_image *found)
{
    const size_t count = table->count < MAX_IMAGES ? table->count : MAX_IMAGES;
    for (size_t i = 0; i < count; i++)
        if (address - table->image[i].lo < table->image[i].hi - table->image[i].lo) {
            *found = table->image[i];
            return true;
        }
    return false;
}

static bool known_find(uintptr_t address, struct loaded_image *found)
{
    for (;;) {
        struct image_table *table = __atomic_load_n(&current, __ATOMIC_ACQUIRE);
        const unsigned version = __atomic_load_n(&table->version, __ATOMIC_ACQUIRE);
        bool known = !(version & 1) && table_find(table, address, found);
        if (!(version & 1) && __atomic_fetch_or(&table->version, 0, __ATOMIC_ACQ_REL) == version)
            return known;
        /* written meanwhile, so the other one is current by now */
    }
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#pragma weak _dl_find_object

/* What the loader says now; the rest comes from the image's ELF header, or, where that or its
 * program headers are not mapped in front (glibc gives static programs from their code on; some
 * tools move the program headers to the end of the file), from the table. */
static bool loader_find(uintptr_t address, struct loaded_image *found)
{
    struct dl_find_object object;
    if (_dl_find_object((void *)address, &object) != 0)
        return false;
    const ElfW(Ehdr) *header = object.dlfo_map_start;
    const uintptr_t bias = object.dlfo_link_map->l_addr;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > FIRST_PAGE ||
        header->e_phnum > (FIRST_PAGE - header->e_phoff) / sizeof(ElfW(Phdr)))
        return known_find(address, found) && found->bias == bias;
    *found = (struct loaded_image){.lo = (uintptr_t)object.dlfo_map_start,
                                   .hi = (uintptr_t)object.dlfo_map_end,
                                   .bias = bias,
                                   .phdrs = (const char *)header + header->e_phoff,
                                   .phdr_count = header->e_phnum,
                                   .name = object.dlfo_link_map->l_name};
    return true;
}

bool loaded_image_at(uintptr_t address, struct loaded_image *found)
{
    return _dl_find_object ? loader_find(address, found) : known_find(address, found);
}
#else
bool loaded_image_at(uintptr_t address, struct loaded_image *found)
{
    return known_find(address, found);
}
#endif

/* For an image without a table of its own: .eh_frame as the refresh found it in the file. */
static void add_eh_frame(uintptr_t address, struct unwind_image *image)
{
    struct loaded_image known;
    if (!known_find(address, &known) || known.bias != image->bias || !known.eh_frame.size)
        return;
    image->eh_frame = from_segment(known.bias, known.phdrs, known.phdr_count, known.eh_frame.vaddr);
    if (image->eh_frame.size > known.eh_frame.size)
        image->eh_frame.size = (size_t)known.eh_frame.size;
}

const struct unwind_image *self_images_find(void *context, uint64_t address)
{
    struct self_images *images = context;
    struct loaded_image known;
    if (address - images->lo < images->hi - images->lo)
        return &images->image;
    if (address > UINTPTR_MAX || !loaded_image_at((uintptr_t)address, &known))
        return NULL;
    self_image_describe(known.bias, known.phdrs, known.phdr_count, &images->image);
    if (!images->image.eh_frame.data && !images->image.exidx.data)
        add_eh_frame((uintptr_t)address, &images->image);
    images->lo = known.lo;
    images->hi = known.hi;
    return &images->image;
}

void self_images_end(struct self_images *images)
{
    self_images_begin(images); /* the loader does not wait for walks */
}

bool self_images_is_code(void *context, uint64_t address)
{
    struct self_mapping mapping;
    (void)context;
    return address <= UINTPTR_MAX && self_mapping_find((uintptr_t)address, &mapping) &&
           mapping.executable;
}
