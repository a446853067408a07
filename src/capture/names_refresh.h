/*
 * fw_names_refresh in its steps, for who guards an index with a lock of its own. Listing images
 * takes the loader's lock, and whoever holds that may be waiting for ours: so images are listed
 * first, with nothing held, and what is done under a lock calls no loader.
 */
#ifndef CAPTURE_NAMES_REFRESH_H
#define CAPTURE_NAMES_REFRESH_H

#include "capture/names_source.h"
#include "framewalk/names.h"

/* An index of no image. NULL when out of memory. With `lazy`, the symbols of an image are read when
 * names_learn asks for them, else as soon as the image is listed. */
struct fw_names *names_empty(bool lazy);

/* Makes `names` the index of what names_source_list listed, unless it is already one of a later
 * moment. The list is gone afterwards, whatever comes of it. FW_ERR_MEMORY leaves the index as it
 * was. */
fw_error names_adopt(struct fw_names *names, struct names_list *now);

/* Whether the symbols of all images that the frames lie in were read. Thread-safe beside lookups.
 */
bool names_knows(const struct fw_names *names, const struct fw_frame *frames, size_t count);
/* Reads what is missing of them; nobody else may use the index meanwhile. False when out of memory:
 * then the index counts as outdated, and the next refresh tries again. */
bool names_learn(struct fw_names *names, const struct fw_frame *frames, size_t count);

/* names_source_changes as of the list that it was made from. Lock-free, also beside names_adopt. */
uint64_t names_changes(const struct fw_names *names);

#endif
