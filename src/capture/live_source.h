/* What a running process gives besides its threads: mappings, files, memory. */
#ifndef CAPTURE_LIVE_SOURCE_H
#define CAPTURE_LIVE_SOURCE_H

#include "capture/process_internal.h"

/* Chooses a thread that still runs to look at the process through. False when none does. */
bool live_choose_view(struct fw_process *process);
/* Reads the mappings; false with errno when that is not possible. */
bool live_read_maps(struct fw_process *process);
/* The source for process->images. */
struct image_source live_source(struct fw_process *process);

#endif
