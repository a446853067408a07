/* The sections of an ELF file that the unwinder reads, straight from <elf.h>: enough for tests of
 * the unwind sources, which stand below the object reader. Trusts the file. */
#ifndef TESTS_UNWIND_ELF_SECTIONS_H
#define TESTS_UNWIND_ELF_SECTIONS_H

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/image.h"

struct elf_file {
    const uint8_t *data;
    size_t size;
    struct unwind_image image;
};

static void elf_take_section(struct elf_file *elf, const char *name, uint32_t type, uint64_t offset,
                             uint64_t size, uint64_t vaddr)
{
    struct unwind_section section = {elf->data + offset, (size_t)size, vaddr};
    if (type == SHT_NOBITS || offset + size > elf->size)
        return;
    if (!strcmp(name, ".eh_frame"))
        elf->image.eh_frame = section;
    else if (!strcmp(name, ".eh_frame_hdr"))
        elf->image.eh_frame_hdr = section;
    else if (!strcmp(name, ".debug_frame"))
        elf->image.debug_frame = section;
    else if (!strcmp(name, ".text"))
        elf->image.text = section;
    else if (!strcmp(name, ".got") || !strcmp(name, ".got.plt"))
        elf->image.got_vaddr = vaddr;
}

/* False when the file is absent or not ELF of a known architecture. */
static bool elf_open(struct elf_file *elf, const char *path)
{
    memset(elf, 0, sizeof *elf);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || st.st_size < (off_t)sizeof(Elf64_Ehdr)) {
        close(fd);
        return false;
    }
    elf->size = (size_t)st.st_size;
    void *map = mmap(NULL, elf->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    elf->data = map;
    const Elf64_Ehdr *e64 = map;
    const Elf32_Ehdr *e32 = map;
    if (memcmp(map, ELFMAG, SELFMAG) != 0 || !(elf->image.arch = arch_of_elf(e64->e_machine))) {
        munmap(map, elf->size);
        return false;
    }
    if (e64->e_ident[EI_CLASS] == ELFCLASS64) {
        const Elf64_Shdr *s = (const void *)(elf->data + e64->e_shoff);
        const char *names = (const char *)elf->data + s[e64->e_shstrndx].sh_offset;
        for (unsigned i = 0; i < e64->e_shnum; i++)
            elf_take_section(elf, names + s[i].sh_name, s[i].sh_type, s[i].sh_offset, s[i].sh_size,
                             s[i].sh_addr);
    } else {
        const Elf32_Shdr *s = (const void *)(elf->data + e32->e_shoff);
        const char *names = (const char *)elf->data + s[e32->e_shstrndx].sh_offset;
        for (unsigned i = 0; i < e32->e_shnum; i++)
            elf_take_section(elf, names + s[i].sh_name, s[i].sh_type, s[i].sh_offset, s[i].sh_size,
                             s[i].sh_addr);
    }
    return true;
}

static void elf_close(struct elf_file *elf)
{
    munmap((void *)(uintptr_t)elf->data, elf->size);
}

#endif
