/*
 * .eh_frame of a loaded image whose program headers do not tell where it lies: programs linked with
 * -static by gcc, and whatever is linked with --no-eh-frame-hdr. Its section headers, which are not
 * loaded, are read from its file.
 */
#ifndef OS_LINUX_SELF_EH_FRAME_H
#define OS_LINUX_SELF_EH_FRAME_H

#include <stddef.h>
#include <stdint.h>

struct dl_phdr_info;

/* A section of a loaded image; size 0 when there is none. */
struct self_section {
    uint64_t vaddr, size; /* link-time */
};

/* The file is believed only when its program headers and the beginning of the section are, byte for
 * byte, what is loaded. Allocates nothing; not async-signal-safe by contract (opens files). */
struct self_section self_eh_frame_of_file(const struct dl_phdr_info *info);

#endif
