/*
 * ELF architectures, with names as LLVM and the kernel spell them: one machine number stands for
 * several, told apart by class and byte order.
 */
#include "object/elf_internal.h"

#ifndef EM_LOONGARCH
#define EM_LOONGARCH 258
#endif

const struct arch *elf_arch(const struct object *object)
{
    const struct arch *arch = arch_of_elf(object->machine);
    /* x32 and ILP32 have the machine number of their 64-bit sibling but other pointers. */
    return arch && arch->pointer_size == (object->is_64 ? 8 : 4) ? arch : NULL;
}

const char *elf_arch_name(const struct object *object)
{
    static const struct {
        uint16_t machine;
        const char *names[2][2]; /* [64-bit][big-endian] */
    } table[] = {
        {EM_X86_64, {{"x32", "unknown"}, {"x86_64", "unknown"}}},
        {EM_386, {{"i386", "unknown"}, {"unknown", "unknown"}}},
        {EM_AARCH64, {{"aarch64_32", "aarch64_32_be"}, {"aarch64", "aarch64_be"}}},
        {EM_ARM, {{"arm", "armeb"}, {"unknown", "unknown"}}},
        {EM_PPC, {{"ppcle", "ppc"}, {"unknown", "unknown"}}},
        {EM_PPC64, {{"unknown", "unknown"}, {"ppc64le", "ppc64"}}},
        {EM_S390, {{"unknown", "s390"}, {"unknown", "s390x"}}},
        {EM_RISCV, {{"riscv32", "riscv32be"}, {"riscv64", "riscv64be"}}},
        {EM_MIPS, {{"mipsel", "mips"}, {"mips64el", "mips64"}}},
        {EM_LOONGARCH, {{"loongarch32", "unknown"}, {"loongarch64", "unknown"}}},
        {EM_SPARC, {{"unknown", "sparc"}, {"unknown", "unknown"}}},
        {EM_SPARCV9, {{"unknown", "unknown"}, {"unknown", "sparc64"}}},
        {EM_68K, {{"unknown", "m68k"}, {"unknown", "unknown"}}},
        {EM_BPF, {{"unknown", "unknown"}, {"bpfel", "bpfeb"}}},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (table[i].machine == object->machine)
            return table[i].names[object->is_64][object->big_endian];
    return "unknown";
}
