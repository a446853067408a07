/*
 * Architectures of Mach-O files, spelled as Apple's tools spell them (<mach/machine.h>, arch(3)).
 * Bits of capability in a subtype's high byte, such as the pointer authentication ABI of arm64e,
 * do not matter here.
 */
#include "object/macho_internal.h"

#include <elf.h>

static const struct arch_row {
    uint32_t cpu_type, cpu_subtype;
    const char *name;
} rows[] = {
    /* The first row of a CPU type names the subtypes that are not listed. */
    {CPU_X86_64, 3, "x86_64"}, {CPU_X86_64, 8, "x86_64h"}, {CPU_I386, 3, "i386"},
    {CPU_ARM64, 0, "arm64"},   {CPU_ARM64, 2, "arm64e"},   {CPU_ARM64_32, 1, "arm64_32"},
    {CPU_ARM, 0, "arm"},       {CPU_ARM, 5, "armv4t"},     {CPU_ARM, 6, "armv6"},
    {CPU_ARM, 7, "armv5"},     {CPU_ARM, 9, "armv7"},      {CPU_ARM, 11, "armv7s"},
    {CPU_ARM, 12, "armv7k"},   {CPU_ARM, 14, "armv6m"},    {CPU_ARM, 15, "armv7m"},
    {CPU_ARM, 16, "armv7em"},  {CPU_PPC, 0, "ppc"},        {CPU_PPC64, 0, "ppc64"},
};
enum { ROWS = sizeof rows / sizeof rows[0] };

const char *macho_arch_name(uint32_t cpu_type, uint32_t cpu_subtype)
{
    const char *name = "unknown";
    for (size_t i = ROWS; i-- > 0;) {
        if (rows[i].cpu_type != cpu_type)
            continue;
        if (rows[i].cpu_subtype == (cpu_subtype & CPU_SUBTYPE_MASK))
            return rows[i].name;
        name = rows[i].name;
    }
    return name;
}

static uint32_t cpu_type_of(const char *name)
{
    for (size_t i = 0; i < ROWS; i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].cpu_type;
    return 0;
}

bool macho_arch_family(const char *a, const char *b)
{
    uint32_t type = cpu_type_of(a);
    return type && type == cpu_type_of(b);
}

const struct arch *macho_arch(uint32_t cpu_type)
{
    switch (cpu_type) {
    case CPU_X86_64: return &arch_x86_64;
    case CPU_I386: return &arch_i386;
    case CPU_ARM64: return &arch_aarch64;
    case CPU_ARM64_32: return &arch_arm64_32;
    case CPU_ARM: return &arch_arm_apple;
    default: return NULL;
    }
}

uint16_t macho_elf_machine(uint32_t cpu_type)
{
    switch (cpu_type) {
    case CPU_X86_64: return EM_X86_64;
    case CPU_I386: return EM_386;
    case CPU_ARM64:
    case CPU_ARM64_32: return EM_AARCH64;
    case CPU_ARM: return EM_ARM;
    case CPU_PPC: return EM_PPC;
    case CPU_PPC64: return EM_PPC64;
    default: return EM_NONE;
    }
}
