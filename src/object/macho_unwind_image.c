/*
 * What the unwinder uses of a Mach-O file: __unwind_info, __eh_frame, LC_FUNCTION_STARTS and the
 * places of stubs. There is no search table for __eh_frame; __unwind_info points into it.
 *
 * <mach-o/loader.h>; the names of sections are those that Apple's linker gives.
 */
#include "object/macho_internal.h"

static void find_stubs(struct object *object, struct unwind_image *image)
{
    size_t count = 0;
    for (size_t i = 1; i < object->section_count && count < UNWIND_STUB_AREAS; i++) {
        struct section *section = &object->sections[i];
        struct span bytes = {NULL, 0};
        if (!macho_holds_stubs(section->view.name, section->view.type) ||
            object_section_contents(object, section, &bytes, NULL) != FW_OK || bytes.size == 0)
            continue;
        image->plt[count++] = (struct unwind_section){bytes.data, bytes.size, section->view.vaddr};
    }
}

void macho_unwind_image(struct object *object, struct object *debug, struct unwind_image *image)
{
    struct span starts = object->macho->function_starts;
    object_find_code(object, image);
    image->macho = true;
    image->entry = object->macho->called_by_dyld ? 0 : object->entry;
    image->header = object->base;
    image->function_starts = (struct unwind_section){starts.data, starts.size, 0};
    object_section_data(object, "__unwind_info", &image->unwind_info, NULL);
    object_section_data(object, "__eh_frame", &image->eh_frame, NULL);
    if (object_section_data(object, "__debug_frame", &image->debug_frame, NULL) != FW_OK && debug)
        object_section_data(debug, "__debug_frame", &image->debug_frame, NULL);
    find_stubs(object, image);
}
