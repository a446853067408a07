/*
 * Where rows come from. Each source looks one link-time address up in one image and decodes a row;
 * all are async-signal-safe, allocate nothing and read tables only through the bounded reader.
 *
 * `vaddr` is the link-time lookup address: the pc itself for an exact frame, return address - 1
 * otherwise. They return UNWIND_OK with *row filled, UNWIND_NO_INFO when the source says nothing
 * about the address, or UNWIND_BAD_INFO. An outermost frame is UNWIND_OK with REG_UNDEFINED for the
 * return address (or UNWIND_ROOT where no row is needed).
 */
#ifndef UNWIND_SOURCES_H
#define UNWIND_SOURCES_H

#include "unwind/image.h"
#include "unwind/memory.h"
#include "unwind/row.h"

/* cfi.c: .eh_frame through its header's table, the built index, or a linear scan as the last
 * resort. LSB 4.1 Core chapter 10.6, DWARF 5 section 6.4. */
enum unwind_status cfi_find_eh(const struct unwind_image *image, uint64_t vaddr,
                               struct unwind_row *row);

/* cfi.c: the same from the FDE at that offset of .eh_frame; UNWIND_NO_INFO when there is none, or
 * it does not cover the address. */
enum unwind_status cfi_find_eh_at(const struct unwind_image *image, uint64_t offset, uint64_t vaddr,
                                  struct unwind_row *row);

/* compact.c: Apple's compact unwind, also where it refers to .eh_frame. Its rows hold in the body
 * of a function, at every address behind a call: for a thread that stands in a prologue or
 * epilogue, see analysis_correct. UNWIND_NO_INFO for functions that it lists without information.
 */
enum unwind_status compact_find(const struct unwind_image *image, uint64_t vaddr,
                                struct unwind_row *row);

/* cfi.c: .debug_frame through the built index, or a linear scan. */
enum unwind_status cfi_find_debug(const struct unwind_image *image, uint64_t vaddr,
                                  struct unwind_row *row);

/* cfi_index.c: a sorted index over an .eh_frame or .debug_frame without header. Allocates: not
 * async-signal-safe. Returns NULL when out of memory or when there is nothing to index; broken
 * entries are left out. Free with cfi_index_destroy. */
struct cfi_index;
struct cfi_index *cfi_index_build(const struct unwind_image *image, bool debug_frame);
void cfi_index_destroy(struct cfi_index *index);
/* Calls `each` with the link-time range of every function that the table describes (in index
 * order). */
void cfi_index_ranges(const struct cfi_index *index,
                      void (*each)(void *context, uint64_t lo, uint64_t hi), void *context);

/* expr.c: evaluates a DWARF expression (DWARF 5 section 2.5) with `initial` on the stack when
 * `push_initial`. Bounded in steps and stack depth. UNWIND_NEEDS_REGS when it reads an unknown
 * register. */
enum unwind_status expr_eval(const struct arch *arch, struct span expr, bool push_initial,
                             uint64_t initial, const struct regs *regs, const struct memory *memory,
                             uint64_t *result);

/* exidx.c: ARM exception index (EHABI32, "Exception Handling ABI for the Arm Architecture",
 * section 6). UNWIND_ROOT for an entry that says "cannot unwind", with row->lo and hi set:
 * outermost functions have one, but so has all code for which the linker found none. */
enum unwind_status exidx_find(const struct unwind_image *image, uint64_t vaddr,
                              struct unwind_row *row);

/* analysis_*.c: reads instructions around `vaddr` of a function without unwind information: PLT
 * stubs, syscall wrappers, prologue, body and epilogue of simple functions. `exact` says that the
 * thread stands at this address (innermost or interrupted), so the return address may still be in
 * the link register or on top of the stack. UNWIND_NO_INFO when the instructions do not prove
 * anything. */
enum unwind_status analysis_find(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                 struct unwind_row *row);

/* Puts a row of a table right where the instructions prove that it is wrong: some assembler
 * functions move the stack pointer and have a table that says nothing of it; tables of Mach-O
 * images say nothing of prologues and epilogues. Leaves *row alone in all other cases. */
void analysis_correct(const struct unwind_image *image, uint64_t vaddr, bool exact,
                      struct unwind_row *row);

/* For a frame pointer that is not known (a sleeping thread's, of which the kernel shows pc and sp
 * alone): how far it lies above sp at `vaddr`, when the instruction in front of `since` set it to
 * sp, and those from there on, inside [since, hi), prove what they did to sp. */
bool analysis_frame_pointer(const struct unwind_image *image, uint64_t vaddr, bool exact,
                            uint64_t since, uint64_t hi, int64_t *above_sp);

/* sigframe.c: recognises a signal trampoline by its instructions (Linux: rt_sigreturn and sigreturn
 * of the architecture) at the link-time address `vaddr` = pc of the trampoline, and gives the row
 * that restores all registers from the kernel's frame at sp. */
enum unwind_status sigframe_find(const struct unwind_image *image, uint64_t vaddr,
                                 struct unwind_row *row);

#endif
