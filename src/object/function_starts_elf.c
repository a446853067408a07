/*
 * Where functions of an ELF file begin as its unwind tables know them.
 *
 * Starts come from the search table of .eh_frame_hdr and from .ARM.exidx where a linker made these.
 * Relocatable files and some static programs have no such table: there the records of .eh_frame are
 * read one by one, of which only the initial location matters (LSB 4.1 Core, 10.6.1). A broken
 * record ends the reading.
 */
#include "object/code_bounds.h"
#include "object/debug_sections_elf.h"

/* How the CIE that stands at `offset` encodes code addresses (DW_EH_PE_*); 0xff: cannot be told. */
static uint8_t encoding_of_cie(const struct object *object, struct span frame, uint64_t offset)
{
    struct reader r = object_reader(object, span_cut(frame, offset, UINT64_MAX));
    uint32_t length = reader_u32(&r);
    struct reader cie = reader_sub(&r, length);
    if (reader_u32(&cie) != 0)
        return 0xff;
    uint8_t version = reader_u8(&cie);
    const char *augmentation = reader_string(&cie);
    if (!augmentation || (version != 1 && version != 3))
        return 0xff;
    if (augmentation[0] != 'z')
        return augmentation[0] == 0 ? 0 : 0xff;
    (void)reader_uleb(&cie); /* code and data alignment, return address register */
    (void)reader_sleb(&cie);
    (void)(version == 1 ? reader_u8(&cie) : reader_uleb(&cie));
    (void)reader_uleb(&cie); /* size of what follows */
    for (const char *letter = augmentation + 1; *letter; letter++) {
        switch (*letter) {
        case 'R': {
            uint8_t encoding = reader_u8(&cie);
            return cie.failed ? 0xff : encoding;
        }
        case 'L': reader_skip(&cie, 1); break;
        case 'P': {
            uint8_t encoding = reader_u8(&cie) & 0x0f;
            reader_skip(&cie, encoding == 0x00                       ? (object->is_64 ? 8 : 4)
                              : encoding == 0x02 || encoding == 0x0a ? 2
                              : encoding == 0x03 || encoding == 0x0b ? 4
                                                                     : 8);
            break;
        }
        case 'S':
        case 'B':
        case 'G': break; /* signal frame, pointer authentication, memory tagging: no operand */
        default: return 0xff;
        }
    }
    return 0; /* DW_EH_PE_absptr */
}

/* An address in a DW_EH_PE_* encoding, relative to its own place or to nothing. */
static bool read_address(const struct object *object, struct reader *r, uint8_t encoding,
                         uint64_t place, uint64_t *address)
{
    switch (encoding & 0x0f) {
    case 0x00: *address = object_word(object, r); break;
    case 0x02: *address = reader_u16(r); break;
    case 0x03: *address = reader_u32(r); break;
    case 0x04:
    case 0x0c: *address = reader_u64(r); break;
    case 0x0a: *address = (uint64_t)(int16_t)reader_u16(r); break;
    case 0x0b: *address = (uint64_t)(int32_t)reader_u32(r); break;
    default: return false;
    }
    if ((encoding & 0xf0) == 0x10)
        *address += place;
    else if ((encoding & 0xf0) != 0)
        return false;
    if (!object->is_64)
        *address = (uint32_t)*address;
    return !r->failed;
}

static void starts_of_eh_frame(struct object *object, const struct unwind_section *section,
                               bool (*each)(void *context, uint64_t vaddr), void *context)
{
    struct span frame = {section->data, section->size};
    struct reader r = object_reader(object, frame);
    uint64_t cie = UINT64_MAX;
    uint8_t encoding = 0xff;
    while (reader_left(&r) > 4) {
        uint32_t length = reader_u32(&r);
        if (length == 0)
            continue; /* a terminator; linkers leave some between the parts of a file */
        struct reader record = reader_sub(&r, length);
        uint64_t at = reader_offset(&r) - length; /* of what follows the length */
        uint32_t back = reader_u32(&record);
        if (record.failed || length == UINT32_MAX)
            return;
        if (back == 0)
            continue;
        if (back > at)
            return;
        if (at - back != cie) {
            cie = at - back;
            encoding = encoding_of_cie(object, frame, cie);
        }
        uint64_t start;
        if (encoding != 0xff &&
            read_address(object, &record, encoding, section->vaddr + at + 4, &start) &&
            !each(context, start))
            return;
    }
}

void elf_function_starts(struct object *object, object_start_call each, void *context)
{
    struct unwind_image image;
    struct code_bounds bounds;
    struct unwind_section frame;
    object_unwind_image(object, NULL, &image);
    (void)code_bounds_init(&bounds, object, &image); /* ELF lists nothing that needs memory */
    if (bounds.eh_frame_hdr.count || bounds.exidx.count)
        code_bounds_each(&bounds, each, context);
    else if (elf_eh_frame(object, &frame) == FW_OK)
        starts_of_eh_frame(object, &frame, each, context);
    code_bounds_free(&bounds);
}
