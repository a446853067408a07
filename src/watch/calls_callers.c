/*
 * Which callers are counted (fw_calls_options.callers): by the path of the image that a return
 * address lies in. Asked once for each address; async-signal-safe.
 */
#include "watch/calls_internal.h"
#include "watch/session.h"

bool calls_caller_wanted(const struct fw_calls *calls, uintptr_t return_address)
{
    struct locate locate = {.program = calls->program};
    struct fwr_image image;
    const bool found = watch_locate(&locate, return_address, &image);
    return image_filter_takes(calls->callers, found ? image.path : NULL);
}
