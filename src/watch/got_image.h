/*
 * One loaded ELF image as its dynamic section describes it (System V ABI, chapter 5, "Dynamic
 * Section", "Symbol Table", "Hash Table"; LSB 5.0, 10.7 "Symbol Versioning"; the GNU hash table):
 * what it imports, where the pointers to it are, and what it defines.
 *
 * Everything is read inside the image's own readable segments. Tables that lie outside, or lead
 * there, are taken as empty: such an image is left alone.
 *
 * The loader's lock must be held as long as an image is looked at.
 */
#ifndef WATCH_GOT_IMAGE_H
#define WATCH_GOT_IMAGE_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct got_table {
    uintptr_t at; /* address, 0 none */
    size_t size;  /* bytes */
};

struct got_image {
    struct link_map *map;
    uint32_t space; /* number of its namespace; 0: the program's */
    uintptr_t bias, lo, hi;
    const ElfW(Phdr) * phdr;
    size_t phdr_count;
    uintptr_t relro, relro_size; /* whole pages that are read-only when the image is ready */
    struct got_table strings, symbols;
    uintptr_t hash, gnu_hash, versym, verneed, verdef;
    size_t verneed_count, verdef_count;
    struct got_table rel, rela, plt;
    bool plt_is_rela, symbolic;
    uintptr_t soname; /* address of the string, 0 none */
    bool has_runpath, has_rpath;
};

/* Fills `image` from its map and program headers; false when there is nothing to be had. */
bool got_image_read(struct got_image *image, struct link_map *map, const ElfW(Phdr) * phdr,
                    size_t count);

/* `size` bytes at `address`, when a readable segment of the image holds them; else NULL. */
const void *got_bytes(const struct got_image *image, uintptr_t address, size_t size);
/* Whether an executable segment of the image holds `address`. */
bool got_is_code(const struct got_image *image, uintptr_t address);
/* Whether [address, address + a word) is in a writable segment. */
bool got_is_data(const struct got_image *image, uintptr_t address);

/* The string at `offset` of the string table; "" when it is not whole. */
const char *got_string(const struct got_image *image, uintptr_t offset);

/* Symbol `index`; false when there is none. */
bool got_symbol(const struct got_image *image, size_t index, ElfW(Sym) * symbol);

/* The version that a reference to symbol `index` asks for; NULL: none. */
const char *got_wanted_version(const struct got_image *image, size_t index);

/* A definition of `name` (`length` bytes), in `version` (NULL: the default one, or any when there
 * is no other). */
bool got_find(const struct got_image *image, const char *name, size_t length, const char *version,
              ElfW(Sym) * symbol);

/* A relocation that puts a symbol's address somewhere. */
enum got_kind { GOT_OTHER = 0, GOT_JUMP_SLOT, GOT_SLOT, GOT_DATA };
struct got_relocation {
    enum got_kind kind;
    size_t symbol;
    uintptr_t slot; /* address of the pointer */
};
/* Calls `each` for all of them that name a symbol. */
void got_relocations(const struct got_image *image,
                     void (*each)(void *context, const struct got_relocation *relocation),
                     void *context);

/* Calls `each` with the names of the images that this one needs, in their order. */
void got_needed(const struct got_image *image, void (*each)(void *context, const char *name),
                void *context);

#endif
