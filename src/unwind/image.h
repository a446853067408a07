/*
 * One loaded image as the unwinder sees it: where it lies, and its tables as bounded bytes. The
 * bytes may be the mapped memory of this process, a file, or inflated sections; the unwinder does
 * not care.
 *
 * All `vaddr` and table addresses are link-time (as the file says); runtime address = link-time +
 * bias.
 */
#ifndef UNWIND_IMAGE_H
#define UNWIND_IMAGE_H

#include "arch/arch.h"
#include "base/reader.h"

struct unwind_section {
    const uint8_t *data; /* NULL when the image has none */
    size_t size;
    uint64_t vaddr; /* link-time address of data[0]; pc-relative encodings count from it */
};

struct unwind_image {
    const struct arch *arch;
    bool big_endian; /* tables are big-endian (never for the native image) */
    uint64_t bias;   /* runtime - link-time, modulo 2^64 */
    uint64_t lo, hi; /* link-time range of executable code, [lo, hi) */
    uint64_t entry;  /* link-time address where the process begins (e_entry); 0 when unknown */
    struct unwind_section text; /* code bytes, for instruction analysis; may cover only a part */
    struct unwind_section eh_frame_hdr; /* binary search table; optional */
    struct unwind_section
        eh_frame; /* when found through the header in memory, `size` is an upper bound */
    struct unwind_section debug_frame;
    struct unwind_section exidx; /* ARM: .ARM.exidx */
    struct unwind_section
        extab; /* ARM: bytes that exidx entries may point into (.ARM.extab or its segment) */
    struct unwind_section
        plt[3];          /* .plt, .plt.sec, .plt.got where section headers tell; else empty */
    uint64_t got_vaddr;  /* DW_EH_PE_datarel base when known, else 0 */
    uint64_t text_vaddr; /* DW_EH_PE_textrel base when known, else 0 */
    const struct cfi_index
        *eh_index; /* index of .eh_frame made by cfi_index_build where there is no usable header */
    const struct cfi_index *debug_index; /* the same for .debug_frame */
    /* Function bounds where known from symbols: fills [*lo, *hi) (link-time) of the function around
     * `vaddr`, which is called at *lo (no .cold parts); false when unknown. Optional. Must be
     * async-signal-safe for an image of this process. */
    bool (*function_bounds)(const struct unwind_image *image, uint64_t vaddr, uint64_t *lo,
                            uint64_t *hi);
    void *context; /* for function_bounds */
};

#endif
