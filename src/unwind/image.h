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

enum { UNWIND_STUB_AREAS = 4 };

struct unwind_image {
    const struct arch *arch;
    bool big_endian; /* tables are big-endian (never for the native image) */
    bool macho;      /* a Mach-O image, for which Apple's conventions hold */
    uint64_t bias;   /* runtime - link-time, modulo 2^64 */
    uint64_t lo, hi; /* link-time range of executable code, [lo, hi) */
    uint64_t entry;  /* link-time address where the process begins (e_entry, LC_UNIXTHREAD; not
                        LC_MAIN, which dyld calls); 0 when unknown */
    struct unwind_section text; /* code bytes, for instruction analysis; may cover only a part */
    struct unwind_section eh_frame_hdr; /* binary search table; optional */
    struct unwind_section
        eh_frame; /* when found through the header in memory, `size` is an upper bound */
    struct unwind_section debug_frame;
    struct unwind_section exidx; /* ARM: .ARM.exidx */
    struct unwind_section
        extab; /* ARM: bytes that exidx entries may point into (.ARM.extab or its segment) */
    /* Where code only leads on to other code. ELF: .plt, .plt.sec, .plt.got where section headers
     * tell. Mach-O: __stubs, __auth_stubs, __stub_helper, __objc_stubs, as far as there are any.
     * Areas that are not used are empty, wherever they stand. */
    struct unwind_section plt[UNWIND_STUB_AREAS];
    struct unwind_section unwind_info; /* Mach-O: __TEXT,__unwind_info, Apple's compact unwind */
    struct unwind_section function_starts; /* Mach-O: what LC_FUNCTION_STARTS points at, ULEB128
                                              distances; in __LINKEDIT, so its vaddr is of no use */
    uint64_t header; /* Mach-O: link-time address of the mach header (of the segment __TEXT), from
                        which unwind_info and function_starts count; else 0 */
    uint64_t got_vaddr;  /* DW_EH_PE_datarel base when known, else 0 */
    uint64_t text_vaddr; /* DW_EH_PE_textrel base when known, else 0 */
    const struct cfi_index
        *eh_index; /* index of .eh_frame made by cfi_index_build where there is no usable header */
    const struct cfi_index *debug_index; /* the same for .debug_frame */
};

/* A function as the image's own list of starts bounds it. */
struct function_range {
    uint64_t lo, hi; /* link-time; hi is the start of the next one, so padding belongs to it */
    bool thumb;      /* ARM: the list says that it is Thumb code */
};

/* function_starts.c: the function around the link-time address `vaddr`; false when the image has no
 * list, or one that does not cover the address. One pass over the list, so it is for what the rule
 * cache keeps. Async-signal-safe. */
bool unwind_function_at(const struct unwind_image *image, uint64_t vaddr,
                        struct function_range *function);

/* Whether `target` is where a function begins, another one than `at` lies in. */
bool unwind_leads_to_function(const struct unwind_image *image, uint64_t at, uint64_t target);

#endif
