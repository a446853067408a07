/* Images by address on Linux: os/linux/self_identity.c, as the writer of reports wants it. */
#include <string.h>

#include "arch/arch.h"
#include "os/self_images.h"
#include "watch/session.h"

bool watch_locate(void *context, uint64_t address, struct fwr_image *image)
{
    struct locate *locate = context;
    struct self_identity identity;
    if (!self_image_identify(address, &identity))
        return false;
    memcpy(locate->id, identity.build_id, identity.build_id_size);
    memcpy(locate->path, identity.path, sizeof locate->path);
    *image = (struct fwr_image){.key = identity.lo,
                                .base = identity.bias,
                                .size = identity.hi - identity.lo,
                                .id = locate->id,
                                .id_size = identity.build_id_size,
                                .path = identity.path[0] ? locate->path : locate->program,
                                .arch = ARCH_NATIVE.name};
    return true;
}
