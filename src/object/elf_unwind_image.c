/*
 * What the unwinder can use of an object: its tables and code as bounded bytes.
 *
 * Sections tell most, so they go first; program headers (PT_GNU_EH_FRAME, PT_ARM_EXIDX, PT_LOAD)
 * stand in where a section is not listed, as in images read from memory and in packed files. A
 * relocatable file has neither addresses nor relocated tables: it gets none.
 *
 * LSB 4.1 Core chapter 10.6 (.eh_frame_hdr); Exception Handling ABI for the Arm Architecture.
 */
#include "object/elf_internal.h"

/* DWARF exception header encodings (LSB 4.1 Core, 10.5). */
enum {
    PE_OMIT = 0xff,
    PE_UDATA2 = 0x02,
    PE_UDATA4 = 0x03,
    PE_UDATA8 = 0x04,
    PE_SDATA2 = 0x0a,
    PE_SDATA4 = 0x0b,
    PE_SDATA8 = 0x0c,
    PE_ABSPTR = 0x00,
    PE_PCREL = 0x10,
    PE_DATAREL = 0x30,
};

static bool section(struct object *object, const char *name, struct unwind_section *out)
{
    return object_section_data(object, name, out, NULL) == FW_OK;
}

/* Is a section of this name listed at all, with or without contents? */
static bool listed(const struct object *object, const char *name)
{
    for (size_t i = 1; i < object->section_count; i++)
        if (strcmp(object->sections[i].view.name, name) == 0)
            return true;
    return false;
}

static void from_segment(const struct object *object, uint32_t type, const char *name,
                         struct unwind_section *out)
{
    if (out->data || listed(object, name))
        return;
    const struct elf_segment *s = elf_segment_of_type(object, type);
    if (s && s->bytes.size)
        *out = (struct unwind_section){s->bytes.data, s->bytes.size, s->vaddr};
}

/* The address that .eh_frame_hdr gives for .eh_frame; false for an encoding that says nothing. */
static bool eh_frame_address(const struct object *object, const struct unwind_section *header,
                             uint64_t *address)
{
    struct reader r = object_reader(object, (struct span){header->data, header->size});
    uint8_t version = reader_u8(&r);
    uint8_t encoding = reader_u8(&r);
    reader_skip(&r, 2);
    uint64_t value;
    switch (encoding & 0x0f) {
    case PE_ABSPTR: value = object_word(object, &r); break;
    case PE_UDATA2: value = reader_u16(&r); break;
    case PE_UDATA4: value = reader_u32(&r); break;
    case PE_SDATA2: value = (uint64_t)(int16_t)reader_u16(&r); break;
    case PE_SDATA4: value = (uint64_t)(int32_t)reader_u32(&r); break;
    case PE_UDATA8:
    case PE_SDATA8: value = reader_u64(&r); break;
    default: return false;
    }
    switch (encoding & 0x70) {
    case PE_ABSPTR: break;
    case PE_PCREL: value += header->vaddr + 4; break;
    case PE_DATAREL: value += header->vaddr; break;
    default: return false;
    }
    *address = object->is_64 ? value : (uint32_t)value;
    return !r.failed && version == 1 && encoding != PE_OMIT;
}

static void find_eh_frame(struct object *object, struct unwind_image *image)
{
    section(object, ".eh_frame_hdr", &image->eh_frame_hdr);
    from_segment(object, PT_GNU_EH_FRAME, ".eh_frame_hdr", &image->eh_frame_hdr);
    if (section(object, ".eh_frame", &image->eh_frame) || listed(object, ".eh_frame"))
        return;
    uint64_t address;
    if (!image->eh_frame_hdr.data || !eh_frame_address(object, &image->eh_frame_hdr, &address))
        return;
    struct span bytes = object_at(object, address);
    if (bytes.size)
        image->eh_frame = (struct unwind_section){bytes.data, bytes.size, address};
}

/* exidx entries point into .ARM.extab by prel31 offsets; handing out the whole segment that holds
 * both lets all of them resolve, whatever the sections are called. */
static void find_exidx(struct object *object, struct unwind_image *image)
{
    if (object->machine != EM_ARM)
        return;
    section(object, ".ARM.exidx", &image->exidx);
    from_segment(object, PT_ARM_EXIDX, ".ARM.exidx", &image->exidx);
    if (!image->exidx.data)
        return;
    ptrdiff_t load = object_load_at(object, image->exidx.vaddr);
    struct span bytes = load >= 0 ? object_segment_data(object, (size_t)load) : (struct span){0};
    if (bytes.size)
        image->extab = (struct unwind_section){bytes.data, bytes.size, object->loads[load].vaddr};
    else
        section(object, ".ARM.extab", &image->extab);
}

void elf_unwind_image(struct object *object, struct object *debug, struct unwind_image *image)
{
    object_find_code(object, image);
    uint64_t entry = object->machine == EM_ARM ? object->entry & ~(uint64_t)1 : object->entry;
    if (entry >= image->lo && entry < image->hi)
        image->entry = entry;
    image->entry = object_entry(object);
    find_eh_frame(object, image);
    find_exidx(object, image);
    if (!section(object, ".debug_frame", &image->debug_frame) && debug)
        section(debug, ".debug_frame", &image->debug_frame);
    section(object, ".plt", &image->plt[0]);
    section(object, ".plt.sec", &image->plt[1]);
    section(object, ".plt.got", &image->plt[2]);

    struct unwind_section found;
    image->got_vaddr = object->elf->dynamic.pltgot;
    if (!image->got_vaddr &&
        (section(object, ".got.plt", &found) || section(object, ".got", &found)))
        image->got_vaddr = found.vaddr;
    if (section(object, ".text", &found))
        image->text_vaddr = found.vaddr;
}
