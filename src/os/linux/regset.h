/*
 * General registers as the kernel hands them out (NT_PRSTATUS), the same bytes from ptrace and in a
 * core file, decoded to a register set by byte offsets: the target may be of another word size,
 * architecture or byte order than this program.
 */
#ifndef OS_LINUX_REGSET_H
#define OS_LINUX_REGSET_H

#include "arch/arch.h"
#include "base/reader.h"

enum { REGSET_MAX_SIZE = 34 * 8 };

/* Bytes that the architecture's set has, 0 when unknown. */
size_t regset_size(const struct arch *arch);

/* The architecture of a set of `size` bytes on this machine, or NULL: a 64-bit kernel tells a
 * 32-bit target by a shorter set. */
const struct arch *regset_arch(size_t size);

/* False when there are too few bytes. */
bool regset_decode(const struct arch *arch, struct reader reader, struct regs *regs);

/* Sets those registers that a system call's six arguments tell of and the call leaves alone. */
void regset_from_arguments(const struct arch *arch, const uint64_t *argument, struct regs *regs);

#endif
