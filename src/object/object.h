/*
 * One view over object files: what the unwinder and the symbol tables need of an ELF or a Mach-O
 * file, whether it is a file, a slice of a fat file, bytes in memory, or (ELF) an image read out of
 * a process.
 *
 * An object keeps its file mapped until object_close; every span, string and section handed out
 * points into it (or into sections that it inflated and owns) and lives as long. Objects are
 * immutable after opening, but sections are inflated on first use: use one object from one thread
 * at a time. Nothing here may be called from a signal handler.
 */
#ifndef OBJECT_OBJECT_H
#define OBJECT_OBJECT_H

#include "arch/arch.h"
#include "base/reader.h"
#include "framewalk/error.h"
#include "unwind/image.h"

struct object;

enum object_type {
    OBJECT_OTHER = 0,
    OBJECT_EXECUTABLE,
    OBJECT_SHARED,
    OBJECT_RELOCATABLE,
    OBJECT_CORE,
    OBJECT_DSYM /* Mach-O debug information beside its image */
};

struct object_segment { /* a PT_LOAD; LC_SEGMENT but for __PAGEZERO */
    uint64_t vaddr, memory_size, offset, file_size;
    bool readable, writable, executable;
};

struct object_section {
    const char *name;
    uint64_t vaddr; /* in relocatable ELF objects a made-up one: code from 0 on, no two overlap */
    uint64_t offset, size; /* size as stored in the file */
    uint32_t type, index;  /* SHT_*; S_REGULAR ... */
    uint64_t flags;        /* SHF_*; S_ATTR_* */
    bool code;             /* machine instructions that are loaded */
};

enum { SYMBOL_LOCAL = 0, SYMBOL_GLOBAL = 1, SYMBOL_WEAK = 2 }; /* as ELF's STB_* */
enum {                                                         /* as ELF's STT_* */
       SYMBOL_NOTYPE = 0,
       SYMBOL_DATA = 1,
       SYMBOL_FUNCTION = 2,
       SYMBOL_IFUNC = 10 /* finds the function when it is first called */
};

struct object_symbol {
    uint64_t vaddr;   /* link-time; the Thumb bit is removed */
    uint64_t size;    /* 0 when the table gives none */
    const char *name; /* mangled, never NULL; of Mach-O without the one underscore before it */
    uint8_t binding;  /* SYMBOL_LOCAL ...; others as ELF has them */
    uint8_t type;     /* SYMBOL_FUNCTION ... */
    uint32_t section; /* section header index (SHN_XINDEX resolved); 0 for an absolute one */
    const char *file; /* of a local ELF symbol: the source file that its object was made of, as
                         the table says it; NULL: unknown */
    bool thumb;
    bool stub; /* begins a stub that leads to the function `name` (Mach-O __objc_stubs) */
};

/* Which slice of a fat file is wanted. A UUID decides alone; else the slice of that name, else the
 * only one of its family (arm64 of arm64e, armv7 of armv7s, x86_64 of x86_64h). A file that is not
 * fat has to be what is asked for, too. */
struct object_choice {
    const char *arch; /* as object_arch_name spells it, or NULL */
    struct span uuid; /* UUID or build id; size 0 for any */
};

struct object_slice {
    const char *arch;
    struct span uuid; /* size 0 when none; lives as long as the call */
    uint64_t offset, size;
};

/* Inflates a compressed section: returns malloc'ed bytes of exactly `size`, or NULL; errno is then
 * ENOMEM when memory ran out. */
typedef uint8_t *(*object_inflate)(const uint8_t *data, size_t data_size, size_t size);
struct object_codecs { /* set by libframewalk-symbols; libframewalk alone has none and says
                          FW_ERR_UNSUPPORTED */
    object_inflate zlib, zstd;
    /* MiniDebugInfo: unpacks a whole .xz stream; *size is its length. At most `limit` bytes. NULL
     * as for object_inflate. */
    uint8_t *(*xz)(const uint8_t *data, size_t data_size, size_t limit, size_t *size);
};
void object_set_codecs(const struct object_codecs *codecs); /* once, before any object is opened */

/* Opens a file (mmap). `why` may be NULL. On success *object is to be closed with object_close.
 * FW_ERR_ARGUMENT for a fat file of several slices; the message names them. */
fw_error object_open(const char *path, struct object **object, struct fw_failure *why);
/* The same with a choice, which may be NULL. FW_ERR_NOT_FOUND when the file has no such slice; the
 * message names those that it has. */
fw_error object_open_choice(const char *path, const struct object_choice *choice,
                            struct object **object, struct fw_failure *why);
/* The same for what people name: also a dSYM bundle (its debug information), an .app, .framework or
 * other bundle (its program) and FILE(MEMBER) for a member of an archive. */
fw_error object_open_path(const char *path, const struct object_choice *choice,
                          struct object **object, struct fw_failure *why);
/* The slices of what object_open_path takes: of a fat file, or of all files in a dSYM bundle; any
 * other object file is one slice. Stops when `each` returns false. */
fw_error object_slices(const char *path, bool (*each)(void *context, const struct object_slice *),
                       void *context, struct fw_failure *why);
/* The same for an open descriptor, which stays the caller's; `label` is used in messages. */
fw_error object_open_fd(int fd, const char *label, struct object **object, struct fw_failure *why);
/* Bytes of a whole file. They must outlive the object, or are copied when `copy`. */
fw_error object_open_bytes(const void *data, size_t size, bool copy, const char *label,
                           struct object **object, struct fw_failure *why);
/* An ELF image as it lies in memory (vDSO, deleted file): program headers and what PT_LOAD covers;
 * no sections. `read` copies from the image's address space. `base` is where its ELF header lies.
 * At most 256 MB. */
fw_error object_open_image(bool (*read)(void *context, uint64_t address, void *to, size_t size),
                           void *context, uint64_t base, const char *label, struct object **object,
                           struct fw_failure *why);
void object_close(struct object *object);

const char *object_label(const struct object *object);
bool object_is_macho(const struct object *object);
enum object_type object_type(const struct object *object);
const struct arch *
object_arch(const struct object *object); /* NULL for one Framewalk does not unwind */
/* e_machine; for Mach-O that of the same architecture. */
uint16_t object_machine(const struct object *object);
/* Mach-O as Apple's tools spell it: arm64 arm64e arm64_32 armv7 armv7s armv7k i386 x86_64 x86_64h;
 * ELF: x86_64 aarch64 arm i386 ppc64le s390x riscv64 ... "unknown" for any other. */
const char *object_arch_name(const struct object *object);
bool object_is_64(const struct object *object);
bool object_is_big_endian(const struct object *object);
/* Something that the headers describe lies beyond the end of the file (or, for an image, in memory
 * that could not be read). Opening succeeds as long as the program headers are whole; what is
 * missing is then absent or FW_ERR_TRUNCATED. A core file cut short is recognised by this. */
bool object_is_truncated(const struct object *object);
/* Whether these bytes lie in the file's own read-only mapping: dropped from memory, they are read
 * again when they are next looked at. */
bool object_maps(const struct object *object, const void *data, size_t size);
/* Memory ran out while contents were unpacked: what this object seems to lack may be there. */
bool object_lacks_memory(const struct object *object);
uint64_t object_entry(const struct object *object);
/* GNU build id, LC_UUID; size 0 when none. */
struct span object_build_id(const struct object *object);
/* When the file, or the member of an archive, was last written, in seconds since 1970; 0 when
 * unknown. */
uint64_t object_modified(const struct object *object);
/* .gnu_debuglink: name and CRC-32; false when none. */
bool object_debuglink(const struct object *object, const char **name, uint32_t *crc);

size_t object_segment_count(const struct object *object);
const struct object_segment *object_segment(const struct object *object, size_t i);
/* The bytes of segment i that the file has: fewer than file_size when it is cut short. */
struct span object_segment_data(const struct object *object, size_t i);
/* Bytes from a link-time address to the end of what its segment has in the file; empty when there
 * are none (outside all segments, zero-filled, cut off). */
struct span object_at(const struct object *object, uint64_t vaddr);
/* Link-time address that file offset 0 would have (first PT_LOAD's vaddr - offset; of Mach-O the
 * address of the header, which is __TEXT's): runtime mapping start at file offset o of that
 * segment, minus (o + this), is the bias. */
uint64_t object_base(const struct object *object);

size_t object_section_count(const struct object *object);
bool object_section_at(const struct object *object, size_t i, struct object_section *section);
/* Contents of a section by name, inflated when compressed (SHF_COMPRESSED, .zdebug_*, __zdebug_*).
 * FW_ERR_NOT_FOUND when there is none (SHT_NOBITS counts as none). */
fw_error object_section_data(struct object *object, const char *name,
                             struct unwind_section *section, struct fw_failure *why);
/* The PT_NOTE notes and SHT_NOTE sections, one call each; stops when `each` returns false. */
void object_notes(const struct object *object,
                  bool (*each)(void *context, const char *name, uint32_t type,
                               struct span contents),
                  void *context);

/* Walks .symtab (dynamic == false) or .dynsym; `each` is not called for undefined, section and file
 * symbols. Without section headers .dynsym is found through PT_DYNAMIC. Mapping symbols ($a $t $d
 * $x) are left out. Mach-O has one table, found as .symtab: symbols of sections, without those of
 * debuggers and labels of compilers (ltmp, l_); in code they are SYMBOL_FUNCTION, or SYMBOL_NOTYPE
 * for a further entry into a function, else SYMBOL_DATA. */
fw_error object_symbols(struct object *object, bool dynamic,
                        bool (*each)(void *context, const struct object_symbol *symbol),
                        void *context);

/* MiniDebugInfo: the object inside .gnu_debugdata, opened once and owned by `object`; NULL when
 * there is none or it cannot be unpacked (then *why says so when it exists). */
struct object *object_minidebug(struct object *object, struct fw_failure *why);

/* Fills in everything the unwinder can use of this file: sections by name, else by program headers.
 * `image->bias` is left 0, `eh_index`/`debug_index` NULL. `debug` may be NULL: another object
 * (separate debug file or MiniDebugInfo) that supplies .debug_frame when `object` has none. */
void object_unwind_image(struct object *object, struct object *debug, struct unwind_image *image);

/* find.c: the separate debug file of `object` by build id (DIR/.build-id/xx/yyyy.debug) and
 * .gnu_debuglink with its CRC (beside the file, in .debug/, under DIR + its folder). `dirs` is a
 * NULL-terminated list or NULL for /usr/lib/debug; `root` is prefixed to every path when not NULL
 * (a process in another mount namespace). Identity is checked: a candidate with another build id or
 * CRC is refused and named in *why. FW_ERR_NOT_FOUND: *why names the places that were looked at. */
fw_error object_find_debug(const struct object *object, const char *path, const char *root,
                           const char *const *dirs, struct object **debug, struct fw_failure *why);

/* The same, telling of every place that is looked at: `outcome` is NULL for the file that is taken,
 * OBJECT_NO_FILE, or what speaks against the file that is there. FW_OK, FW_ERR_NOT_FOUND or
 * FW_ERR_MEMORY. */
#define OBJECT_NO_FILE "no such file"
typedef void (*object_place_call)(void *context, const char *path, const char *outcome);
fw_error object_find_debug_told(const struct object *object, const char *path, const char *root,
                                const char *const *dirs, object_place_call place, void *context,
                                struct object **debug);
/* NULL when `candidate` proves to belong to `object`, else what speaks against it. `crc`: that of a
 * .gnu_debuglink, which the file must have; NULL: it must have the same build id. */
const char *object_mismatch(const struct object *object, const struct object *candidate,
                            const uint32_t *crc);

#endif
