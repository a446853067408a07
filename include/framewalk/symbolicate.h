/*
 * Symbolication: addresses of an image to function, file, line, inlined calls and tail calls, from
 * its debug file (ELF, Mach-O, dSYM; DWARF 2 to 5), a symbol map, GSYM, Breakpad text or, when
 * there is nothing better, symbol tables. In libframewalk-symbols; works for images of any
 * platform.
 *
 *     struct fw_symbolicator *symbolicator;
 *     struct fw_source *source;
 *     struct fw_symbols *symbols;
 *     fw_symbolicator_create(NULL, &symbolicator);
 *     fw_source_open(symbolicator, &(struct fw_source_request){.size = sizeof(struct
 *                    fw_source_request), .path = "app.dSYM", .arch = "arm64"}, &source, &why);
 *     fw_symbolicate(source, &(struct fw_address){0x100003f20, FW_ADDRESS_LINK}, 1, &symbols);
 *     for (size_t i = 0; i < symbols->items[0].frame_count; i++) ...
 *     fw_symbols_free(symbols);
 *
 * Structs that may grow begin with `size`, which the caller sets to sizeof; bytes of a newer caller
 * that are not zero give FW_ERR_UNSUPPORTED. All functions are thread-safe: one symbolicator and
 * one source serve any number of threads. None may be called from a signal handler.
 */
#ifndef FRAMEWALK_SYMBOLICATE_H
#define FRAMEWALK_SYMBOLICATE_H

#include "framewalk/error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the symbolicator: where to look, what to keep ---- */

struct fw_symbolicator;

struct fw_symbolicator_options {
    size_t size;                      /* sizeof(struct fw_symbolicator_options) */
    const char *const *debug_folders; /* NULL-terminated: folder trees with debug files, dSYMs,
                                         symbol maps, found by build id or UUID; may be NULL */
    const char *sysroot;              /* put before the system's own places; may be NULL */
    const char *cache_folder; /* for symbol maps; NULL: $XDG_CACHE_HOME/framewalk; "": no cache */
    uint64_t cache_limit;     /* bytes; 0: 2 GB */
    unsigned threads;         /* for conversions; 0: one per processor */
    bool no_debuginfod;       /* also when DEBUGINFOD_URLS is set */
    bool no_separate;         /* only the given file itself, no separate debug files */
    bool columns;             /* keep columns */
    bool mangled;             /* leave names mangled */
    bool simplified;          /* short demangled names: Swift simplified, no parameters */
    /* Told now and then while a call takes long; may be NULL. `total` 0: unknown. */
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *progress_context;
};

/* `options` may be NULL. Strings are copied. */
FW_API fw_error fw_symbolicator_create(const struct fw_symbolicator_options *options,
                                       struct fw_symbolicator **symbolicator);
/* After all its sources are closed. */
FW_API void fw_symbolicator_destroy(struct fw_symbolicator *symbolicator);

/* ---- sources ---- */

struct fw_source; /* one image of one architecture */

struct fw_source_request {
    size_t size;
    const char *path; /* image, debug file, dSYM bundle, symbol map, GSYM, Breakpad text, or
                         archive(member); NULL: found by `id` alone */
    const char
        *arch; /* slice of a fat file: "arm64", "x86_64", ...; NULL: by id, or the only one */
    const uint8_t *id; /* the build id or UUID it must have; NULL: any */
    size_t id_size;
};

/* When the file at `path` has another identity, it is looked for by `id` in the folders as well.
 * FW_ERR_NOT_FOUND when nothing with this identity was found; the message says what was looked for
 * and where. FW_ERR_ARGUMENT for a fat file without a choice; the message names its slices. A
 * source without any debug information opens: its addresses get names of the symbol table, or a
 * reason. */
FW_API fw_error fw_source_open(struct fw_symbolicator *symbolicator,
                               const struct fw_source_request *request, struct fw_source **source,
                               struct fw_failure *why);
FW_API void fw_source_close(struct fw_source *source);

enum fw_source_kind { /* the best that there is */
                      FW_SOURCE_NOTHING = 0,
                      FW_SOURCE_SYMBOLS, /* symbol tables only */
                      FW_SOURCE_DWARF,
                      FW_SOURCE_MAP, /* symbol map, GSYM, Breakpad */
};

struct fw_source_info { /* lives as long as the source */
    size_t size;
    enum fw_source_kind kind;
    const char *path;       /* of the image or the file given */
    const char *debug_path; /* where the names come from; NULL: `path` itself */
    const char *arch;
    const uint8_t *id;
    size_t id_size;
    uint64_t base;        /* link-time address that offset 0 stands for */
    const char *searched; /* one line for each place that was looked at for debug files, and what
                             was there; "" when none was needed */
};
FW_API fw_error fw_source_info(const struct fw_source *source, struct fw_source_info *info);

/* ---- looking up ---- */

enum fw_address_space {
    FW_ADDRESS_LINK = 0,    /* as the image is linked: what nm and objdump show (svma) */
    FW_ADDRESS_IMAGE = 1,   /* offset from the image's base: runtime address - load address */
    FW_ADDRESS_FILE = 2,    /* offset in the file */
    FW_ADDRESS_RETURN = 16, /* added to one of the above: a return address, the call before it is
                               looked up */
};

struct fw_address {
    uint64_t value;
    uint32_t space; /* enum fw_address_space */
};

enum fw_reason {                       /* why an address has no name */
                 FW_REASON_NONE = 0,   /* it has one */
                 FW_REASON_OUTSIDE,    /* not in the image's code */
                 FW_REASON_NO_SYMBOLS, /* the image has no symbol there and no debug file was found
                                        */
                 FW_REASON_GAP, /* the debug file knows nothing there: padding, hand-written code */
                 FW_REASON_UNKNOWN_FILE, /* no file with this identity was found */
                 FW_REASON_DAMAGED,      /* the debug file is broken at this place */
};
FW_API const char *fw_reason_text(enum fw_reason reason);

enum fw_symbol_flags {
    FW_SYMBOL_INLINED = 1,   /* inlined into the next frame */
    FW_SYMBOL_TAIL_CALL = 2, /* not on the stack: inferred from call sites (fw_symbolicate_stack) */
    FW_SYMBOL_FROM_TABLE = 4,       /* only the symbol table knows it: no file and line */
    FW_SYMBOL_SYNTHESIZED = 8,      /* bounds without a name: `function` is NULL */
    FW_SYMBOL_ARTIFICIAL = 16,      /* made by the compiler */
    FW_SYMBOL_PLT = 32,             /* a stub that leads to `function` */
    FW_SYMBOL_PART = 64,            /* in a part of the function away from its entry (.cold) */
    FW_SYMBOL_AMBIGUOUS_TAIL = 128, /* tail calls lie between this frame and the one inside of it,
                                       but several ways are possible: none is shown */
};

struct fw_symbol_frame {
    const char *function; /* demangled unless asked otherwise; NULL: unknown */
    const char *mangled;  /* as in the symbol table or the debug file; NULL: unknown */
    const char *file;     /* whole path; NULL: unknown */
    uint32_t line;        /* 0: unknown */
    uint32_t column;      /* 0: unknown, or not kept */
    uint64_t start;       /* link-time address of the outer function's piece */
    uint64_t offset;      /* looked-up address - start (return addresses: of the address given) */
    uint32_t flags;       /* enum fw_symbol_flags */
    uint32_t reserved;
};

struct fw_resolved {                      /* the answer for one address */
    const struct fw_symbol_frame *frames; /* innermost first */
    size_t frame_count;                   /* 0: see `reason` */
    enum fw_reason reason;
};

struct fw_symbols {
    const struct fw_resolved *items; /* one for each address, in the order of the addresses */
    size_t count;
};

/* Looks up many addresses; duplicates and any order are fine. For a few, only the units of the
 * debug file that hold them are read; for many the whole file is converted, and the map kept in the
 * cache when there is one. *symbols is one allocation with everything in it. */
FW_API fw_error fw_symbolicate(struct fw_source *source, const struct fw_address *addresses,
                               size_t count, struct fw_symbols **symbols, struct fw_failure *why);

struct fw_stack_address {
    struct fw_source *source; /* NULL: the image is unknown */
    struct fw_address address;
};
/* The same for one whole stack, innermost frame first. Where a caller cannot have called the frame
 * inside of it, and the call sites admit exactly one chain of tail calls between them, the
 * functions of that chain stand at the end of the inner address's frames, flagged
 * FW_SYMBOL_TAIL_CALL with the place of their jump. */
FW_API fw_error fw_symbolicate_stack(const struct fw_stack_address *stack, size_t count,
                                     struct fw_symbols **symbols, struct fw_failure *why);
FW_API void fw_symbols_free(struct fw_symbols *symbols);

#ifdef __cplusplus
}
#endif
#endif
