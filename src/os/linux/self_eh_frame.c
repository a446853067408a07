/*
 * Section headers as in the ELF specification (System V ABI, chapter 4), read one at a time from
 * the file of a loaded image.
 *
 * Invariant: nothing that the file says is used before it is known to be the loaded one.
 */
#include "os/linux/self_eh_frame.h"

#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

enum {
    MAX_PHDRS = 128,
    COMPARED = 256, /* bytes at the beginning of the section */
};

static bool read_at(int file, uint64_t offset, void *to, size_t size)
{
    return offset <= INT64_MAX && pread(file, to, size, (off_t)offset) == (ssize_t)size;
}

static bool same_program_headers(int file, const ElfW(Ehdr) * header,
                                 const struct dl_phdr_info *info)
{
    ElfW(Phdr) phdr;
    if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phnum != info->dlpi_phnum ||
        header->e_phnum > MAX_PHDRS || header->e_phentsize != sizeof phdr)
        return false;
    for (unsigned i = 0; i < header->e_phnum; i++)
        if (!read_at(file, header->e_phoff + i * sizeof phdr, &phdr, sizeof phdr) ||
            memcmp(&phdr, &info->dlpi_phdr[i], sizeof phdr) != 0)
            return false;
    return true;
}

/* Whether the section lies in readable memory of the image, and begins there as in the file. */
static bool same_contents(int file, const ElfW(Shdr) * section, const struct dl_phdr_info *info)
{
    uint8_t bytes[COMPARED];
    size_t size = section->sh_size < COMPARED ? (size_t)section->sh_size : COMPARED;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = section->sh_addr - p->p_vaddr;
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_R) || at >= p->p_memsz ||
            section->sh_size > p->p_memsz - at)
            continue;
        return read_at(file, section->sh_offset, bytes, size) &&
               memcmp(bytes, (const void *)(info->dlpi_addr + section->sh_addr), size) == 0;
    }
    return false;
}

static bool is_eh_frame(int file, const ElfW(Shdr) * names, const ElfW(Shdr) * section)
{
    static const char wanted[] = ".eh_frame";
    char name[sizeof wanted];
    return section->sh_flags & SHF_ALLOC && section->sh_type != SHT_NOBITS && section->sh_size &&
           section->sh_name < names->sh_size &&
           read_at(file, names->sh_offset + section->sh_name, name, sizeof name) &&
           memcmp(name, wanted, sizeof wanted) == 0;
}

static struct self_section find_section(int file, const struct dl_phdr_info *info)
{
    const struct self_section none = {0, 0};
    ElfW(Ehdr) header;
    ElfW(Shdr) names, section;
    if (!read_at(file, 0, &header, sizeof header) || !same_program_headers(file, &header, info) ||
        header.e_shentsize != sizeof section || header.e_shstrndx >= header.e_shnum ||
        !read_at(file, header.e_shoff + header.e_shstrndx * sizeof names, &names, sizeof names))
        return none;
    for (unsigned i = 1; i < header.e_shnum; i++) {
        if (!read_at(file, header.e_shoff + i * sizeof section, &section, sizeof section))
            return none;
        if (is_eh_frame(file, &names, &section))
            return same_contents(file, &section, info)
                       ? (struct self_section){section.sh_addr, section.sh_size}
                       : none;
    }
    return none;
}

struct self_section self_eh_frame_of_file(const struct dl_phdr_info *info)
{
    /* The loaders call the executable "" or by the words that it was started with. */
    const bool named = info->dlpi_name && info->dlpi_name[0] == '/';
    int file = open(named ? info->dlpi_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return (struct self_section){0, 0};
    struct self_section found = find_section(file, info);
    close(file);
    return found;
}
