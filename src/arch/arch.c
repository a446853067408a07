#include "arch/arch.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

const struct arch *arch_of_elf(uint16_t e_machine)
{
    static const struct arch *const all[] = {&arch_x86_64, &arch_aarch64, &arch_arm, &arch_i386};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (all[i]->elf_machine == e_machine)
            return all[i];
    return NULL;
}

bool arch_has_thumb(const char *name)
{
    if (!name)
        return false;
    if (strncasecmp(name, "thumb", 5) == 0)
        return true;
    if (strncasecmp(name, "arm", 3) != 0)
        return false;
    const char *rest = name + 3;
    rest += *rest == '-' || *rest == '_';
    return strncmp(rest, "64", 2) != 0;
}
