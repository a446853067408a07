/* aarch64: Procedure Call Standard for the Arm 64-bit Architecture, section 6.1.1; DWARF for the
 * Arm 64-bit Architecture, section 4.1. RA_SIGN_STATE (DWARF number 34) is kept at index 33. */
#include "arch/arch.h"

static const char *const names[] = {
    "x0",  "x1",
    "x2",  "x3",
    "x4",  "x5",
    "x6",  "x7",
    "x8",  "x9",
    "x10", "x11",
    "x12", "x13",
    "x14", "x15",
    "x16", "x17",
    "x18", "x19",
    "x20", "x21",
    "x22", "x23",
    "x24", "x25",
    "x26", "x27",
    "x28", "x29",
    "x30", "sp",
    "pc",  "ra_sign_state",
};

const struct arch arch_aarch64 = {
    .id = ARCH_AARCH64,
    .name = "aarch64",
    .pointer_size = 8,
    .register_size = 8,
    .reg_count = 34,
    .pc = 32,
    .sp = 31,
    .fp = 29,
    .lr = 30,
    .ra_column = 30,
    .elf_machine = 183,             /* EM_AARCH64 */
    .callee_saved = 0x7ffull << 19, /* x19..x29 */
    .pointer_mask = UINT64_MAX,
    .frame_records = true,
    .reg_names = names,
};

const struct arch arch_arm64_32 = {
    .id = ARCH_AARCH64,
    .name = "arm64_32",
    .pointer_size = 4,
    .register_size = 8,
    .reg_count = 34,
    .pc = 32,
    .sp = 31,
    .fp = 29,
    .lr = 30,
    .ra_column = 30,
    .callee_saved = 0x7ffull << 19, /* x19..x29 */
    .pointer_mask = UINT32_MAX,
    .frame_records = true,
    .reg_names = names,
};
