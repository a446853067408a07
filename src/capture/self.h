/* Walking in this process, for the other files of capture/. */
#ifndef CAPTURE_SELF_H
#define CAPTURE_SELF_H

#include "os/self_images.h"
#include "unwind/walk.h"

/* The space of this process. It points to `images`, which belongs to one walk, to be ended by
 * self_images_end; async-signal-safe. */
void self_space(struct self_images *images, struct walk_space *space);

#endif
