/*
 * watch_locate() for Apple platforms: the image of an address, from the table that dyld's
 * notifications feed (os/darwin/image_list.h). No lock, no call of dyld: the thread that is watched
 * may hang in dlopen().
 *
 * Where an image was linked to does not matter: offsets count from its header, as in Apple's
 * reports. Its size is that of the code it begins with, as segments of the shared cache's images
 * lie anywhere.
 */
#include "watch/session.h"

#include "object/macho_format.h"
#include "os/darwin/image_list.h"

/* Apple's names, as far as this code can be loaded. */
static const char *arch_name(uint32_t type, uint32_t subtype)
{
    enum { ARM64_E = 2, ARM_V7S = 11, ARM_V7K = 12, X86_64_H = 8 };
    subtype &= CPU_SUBTYPE_MASK;
    switch (type) {
    case CPU_ARM64: return subtype == ARM64_E ? "arm64e" : "arm64";
    case CPU_X86_64: return subtype == X86_64_H ? "x86_64h" : "x86_64";
    case CPU_ARM64_32: return "arm64_32";
    case CPU_ARM: return subtype == ARM_V7K ? "armv7k" : subtype == ARM_V7S ? "armv7s" : "armv7";
    case CPU_I386: return "i386";
    default: return NULL;
    }
}

bool watch_locate(void *context, uint64_t address, struct fwr_image *image)
{
    struct locate *locate = context;
    struct found_image found;
    if (!image_list_find(address, &found, locate->path, sizeof locate->path))
        return false;
    memcpy(locate->id, found.uuid, sizeof found.uuid);
    *image = (struct fwr_image){
        .key = found.base,
        .base = found.base,
        .size = found.size,
        .id = locate->id,
        .id_size = found.has_uuid ? sizeof found.uuid : 0,
        .path = locate->path,
        .arch = arch_name(found.cpu_type, found.cpu_subtype),
        .from_header = true,
    };
    return true;
}
