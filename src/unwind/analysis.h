/*
 * The per-architecture halves of analysis_find and sigframe_find (sources.h), which choose among
 * them by image->arch. Same contracts.
 */
#ifndef UNWIND_ANALYSIS_H
#define UNWIND_ANALYSIS_H

#include "unwind/sources.h"

/* x86_64 and i386 */
enum unwind_status analysis_find_x86(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                     struct unwind_row *row);
void analysis_correct_x86(const struct unwind_image *image, uint64_t vaddr, bool exact,
                          struct unwind_row *row);
bool analysis_frame_pointer_x86(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                uint64_t since, uint64_t hi, int64_t *above_sp);
enum unwind_status sigframe_find_x86(const struct unwind_image *image, uint64_t vaddr,
                                     struct unwind_row *row);

enum unwind_status analysis_find_aarch64(const struct unwind_image *image, uint64_t vaddr,
                                         bool exact, struct unwind_row *row);
enum unwind_status analysis_find_arm(const struct unwind_image *image, uint64_t vaddr, bool exact,
                                     struct unwind_row *row);
/* Stubs of Mach-O images, for an exact address. */
enum unwind_status stub_find(const struct unwind_image *image, uint64_t vaddr,
                             struct unwind_row *row);
bool stub_contains(const struct unwind_image *image, uint64_t vaddr);
/* Turns a row of Apple's _sigtramp, whose CFA is known, into that of the registers which the kernel
 * saved for its return. False, and the row is as it was, when they are not found. */
bool sigframe_darwin(const struct arch *arch, const struct memory *memory, uint64_t cfa,
                     struct unwind_row *row);

/* aarch64 and arm */
enum unwind_status sigframe_find_arm(const struct unwind_image *image, uint64_t vaddr,
                                     struct unwind_row *row);

#endif
