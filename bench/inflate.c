/*
 * convert.ceph.zlib: FILE: milliseconds that the fastest library takes to inflate all debug
 * sections of a 64-bit ELF file of this machine's byte order, in one thread; nothing else is done
 * with them.
 */
#include <elf.h>
#include <fcntl.h>
#include <libdeflate.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"

static void inflate_section(struct libdeflate_decompressor *decompressor, const uint8_t *data,
                            size_t size)
{
    const Elf64_Chdr *header = (const Elf64_Chdr *)data;
    uint8_t *out = malloc(header->ch_size);
    size_t written = 0;
    bench_require(out != NULL && header->ch_type == ELFCOMPRESS_ZLIB, 1, "a section of zlib");
    bench_require(libdeflate_zlib_decompress(decompressor, data + sizeof *header,
                                             size - sizeof *header, out, header->ch_size, &written),
                  LIBDEFLATE_SUCCESS, "inflating");
    free(out);
}

int main(int argc, char **argv)
{
    struct stat status;
    const int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
    if (fd < 0 || fstat(fd, &status) != 0)
        return 1;
    const uint8_t *file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file == MAP_FAILED)
        return 1;
    const uint64_t start = bench_now();
    const Elf64_Ehdr *elf = (const Elf64_Ehdr *)file;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + elf->e_shoff);
    struct libdeflate_decompressor *decompressor = libdeflate_alloc_decompressor();
    for (unsigned i = 0; i < elf->e_shnum; i++)
        if (sections[i].sh_flags & SHF_COMPRESSED)
            inflate_section(decompressor, file + sections[i].sh_offset, sections[i].sh_size);
    printf("%.3f\n", (double)(bench_now() - start) / 1e6);
    return 0;
}
