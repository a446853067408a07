/*
 * Function starts out of the tables of an object file: .eh_frame_hdr, .ARM.exidx, and the list that
 * its format may have.
 */
#include "object/code_bounds.h"
#include "object/object_internal.h"

enum { DATAREL_SDATA4 = 0x3b, DATAREL_UDATA4 = 0x33, DATAREL_SDATA8 = 0x3c, DATAREL_UDATA8 = 0x34 };

static void init_eh_frame_hdr(struct code_starts *starts, const struct object *object,
                              const struct unwind_section *header)
{
    struct reader r = object_reader(object, (struct span){header->data, header->size});
    uint8_t version = reader_u8(&r);
    uint8_t pointer = reader_u8(&r);
    uint8_t count = reader_u8(&r);
    uint8_t table = reader_u8(&r);
    switch (pointer & 0x0f) {
    case 0x00: reader_skip(&r, object->is_64 ? 8 : 4); break;
    case 0x02:
    case 0x0a: reader_skip(&r, 2); break;
    case 0x03:
    case 0x0b: reader_skip(&r, 4); break;
    default: reader_skip(&r, 8); break;
    }
    uint64_t entries = 0;
    switch (count) {
    case 0x03:
    case 0x0b: entries = reader_u32(&r); break;
    case 0x04:
    case 0x0c: entries = reader_u64(&r); break;
    default: return;
    }
    switch (table) {
    case DATAREL_SDATA4:
    case DATAREL_UDATA4: starts->entry_size = 8; break;
    case DATAREL_SDATA8:
    case DATAREL_UDATA8: starts->entry_size = 16; break;
    default: return;
    }
    if (r.failed || version != 1)
        return;
    starts->is_signed = table == DATAREL_SDATA4;
    starts->base = header->vaddr;
    starts->table = (struct span){r.pos, reader_left(&r)};
    uint64_t room = starts->table.size / starts->entry_size;
    starts->count = (size_t)(entries < room ? entries : room);
}

bool code_bounds_init(struct code_bounds *bounds, const struct object *object,
                      const struct unwind_image *image)
{
    *bounds = (struct code_bounds){.swap = object->swap, .is_64 = object->is_64};
    if (image->eh_frame_hdr.data)
        init_eh_frame_hdr(&bounds->eh_frame_hdr, object, &image->eh_frame_hdr);
    bounds->eh_frame = (struct span){image->eh_frame.data, image->eh_frame.size};
    bounds->eh_frame_vaddr = image->eh_frame.vaddr;
    if (image->exidx.data)
        bounds->exidx = (struct code_starts){
            .table = {image->exidx.data, image->exidx.size},
            .count = image->exidx.size / 8,
            .entry_size = 8,
            .base = image->exidx.vaddr,
        };
    object->format->starts(object, code_bounds_list, bounds);
    return !bounds->no_memory;
}
