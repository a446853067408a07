/*
 * Symbolication: addresses of an image to function, file, line, inlined calls and tail calls, from
 * its debug file (ELF, Mach-O, dSYM; DWARF 2 to 5), a symbol map, GSYM, Breakpad text or, when
 * there is nothing better, symbol tables. In libframewalk-symbols; works for images of any
 * platform.
 *
 *     struct fw_symbolicator *symbolicator;
 *     struct fw_source *source;
 *     struct fw_symbols *symbols;
 *     struct fw_failure why;
 *     const struct fw_source_request request = {.size = sizeof request, .path = "app.dSYM"};
 *     const struct fw_address address = {0x100003f20, FW_ADDRESS_LINK};
 *     fw_symbolicator_create(NULL, &symbolicator);
 *     fw_source_open(symbolicator, &request, &source, &why);
 *     fw_symbolicate(source, &address, 1, &symbols, &why);
 *     for (size_t i = 0; i < symbols->items[0].frame_count; i++)
 *         puts(symbols->items[0].frames[i].function);
 *     fw_symbols_free(symbols);
 *     fw_source_close(source);
 *     fw_symbolicator_destroy(symbolicator);
 *
 * Threads. All functions are thread-safe: one symbolicator and one source serve any number of
 * threads, and with a whole map (see fw_symbolicate) they wait for nobody. What is destroyed or
 * closed must not be in use. No function may be called from a signal handler. A thread that is
 * cancelled (pthread_cancel) is so only after the call.
 *
 * Memory. 512 KB of stack are enough for any call, also for names that nest as deeply as is
 * allowed; conversions start threads of their own of the system's usual stack size. Everything that
 * is handed out belongs to the result, and lives until that is freed; the sources that it came from
 * may be closed before.
 *
 * Versions. The structs that the caller fills begin with `size`, which is to be sizeof the struct.
 * What an older caller's struct lacks counts as zero; what a newer caller's has more must be zero,
 * else FW_ERR_UNSUPPORTED. A size that no version has gives FW_ERR_ARGUMENT. Structs that are
 * handed out grow into their `reserved` members, which are zero until then.
 *
 * Pointers must not be NULL unless it is said that they may be. `why` may always be NULL; it
 * says something only after a call that failed. Results are NULL after a failure.
 */
#ifndef FRAMEWALK_SYMBOLICATE_H
#define FRAMEWALK_SYMBOLICATE_H

#include "error.h"

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the symbolicator: where to look, what to keep ---- */

struct fw_symbolicator; /* options, and nothing that changes */

struct fw_symbolicator_options {
    size_t size;                      /* sizeof(struct fw_symbolicator_options) */
    const char *const *debug_folders; /* NULL-terminated: folder trees with debug files, dSYMs,
                                         symbol maps, found by build id or UUID; may be NULL */
    const char *sysroot;              /* put before the system's own places; may be NULL */
    const char *cache_folder; /* for symbol maps; NULL: $XDG_CACHE_HOME/framewalk, by default
                                 ~/.cache/framewalk; "": no cache */
    uint64_t cache_limit;     /* bytes; the longest unused maps go first; 0: 2 GB */
    unsigned threads;         /* for conversions; 0: one per processor */
    bool no_debuginfod;       /* also when DEBUGINFOD_URLS is set */
    bool no_separate;         /* only the given file itself, no separate debug files */
    bool columns;             /* keep columns */
    bool mangled;             /* leave names mangled */
    bool simplified;          /* short demangled names: Swift simplified, no parameters */
    /* Told now and then while a call takes long: what it is at, bytes or units done and altogether
     * (0: unknown). From the thread of the call; several at once when several threads make calls.
     * It must not call anything of this header. May be NULL. */
    void (*progress)(void *context, const char *phase, uint64_t done, uint64_t total);
    void *progress_context; /* handed to `progress` */
};

/* `options` may be NULL: all zero. Strings are copied; the environment is read now. The cache
 * folder is made when something is kept in it; one that cannot be written is no error. */
FW_API fw_error fw_symbolicator_create(const struct fw_symbolicator_options *options,
                                       struct fw_symbolicator **symbolicator);
/* After all its sources are closed. NULL is fine. */
FW_API void fw_symbolicator_destroy(struct fw_symbolicator *symbolicator);

/* ---- sources ---- */

struct fw_source; /* one image of one architecture; files are kept open */

struct fw_source_request {
    size_t size;       /* sizeof(struct fw_source_request) */
    const char *path;  /* image, debug file, dSYM bundle, symbol map, GSYM, Breakpad text, or
                          archive(member); NULL: found by `id` alone */
    const char *arch;  /* slice of a fat file: "arm64", "x86_64", ...; NULL: by `id`, or the only
                          one */
    const uint8_t *id; /* the build id or UUID it must have, as bytes; NULL: any */
    size_t id_size;    /* bytes */
};

/* Opens an image and finds its debug information. When the file at `path` has another identity, it
 * is looked for by `id` in the folders as well. FW_ERR_NOT_FOUND when nothing with this identity
 * was found; the message says what was looked for and where. FW_ERR_ARGUMENT for a fat file without
 * a choice (the message names its slices), and for neither path nor id. FW_ERR_FORMAT,
 * FW_ERR_CORRUPT, FW_ERR_TRUNCATED, FW_ERR_PERMISSION, FW_ERR_MEMORY as said there. A source
 * without any debug information opens: its addresses get names of the symbol table, or a reason.
 * Reads little: conversion happens when addresses are asked for. */
FW_API fw_error fw_source_open(struct fw_symbolicator *symbolicator,
                               const struct fw_source_request *request, struct fw_source **source,
                               struct fw_failure *why);
/* NULL is fine. */
FW_API void fw_source_close(struct fw_source *source);

enum fw_source_kind { /* the best that there is */
                      FW_SOURCE_NOTHING = 0,
                      FW_SOURCE_SYMBOLS, /* symbol tables only */
                      FW_SOURCE_DWARF,
                      FW_SOURCE_MAP, /* symbol map, GSYM, Breakpad */
};

struct fw_source_info { /* strings and id live as long as the source */
    size_t size;        /* set it before the call, which keeps it */
    enum fw_source_kind kind;
    const char *path;       /* of the image or the file given */
    const char *debug_path; /* where the names come from; NULL: `path` itself */
    const char *arch;       /* "x86_64", "arm64", ...; "" when not known */
    const uint8_t *id;      /* build id or UUID */
    size_t id_size;         /* bytes; 0: it has none */
    uint64_t base;          /* link-time address that offset 0 stands for */
    const char *searched; /* where debug files were looked for in vain, and what was there instead,
                             as one line; "" when none was needed */
    const char *missing;  /* files that the debug information names and that were not found (.dwo,
                             .dwp, dwz's, object files of a debug map), as far as addresses asked so
                             far needed them, as one line: functions, inlined calls and lines that
                             are told in them are not in the answers. "": none */
};
/* Fills in *info as far as its `size` reaches. FW_ERR_ARGUMENT for a size that no version has. */
FW_API fw_error fw_source_info(const struct fw_source *source, struct fw_source_info *info);

/* ---- looking up ---- */

enum fw_address_space {
    FW_ADDRESS_LINK = 0,    /* as the image is linked: what nm and objdump show (svma) */
    FW_ADDRESS_IMAGE = 1,   /* offset from the image's base: runtime address - load address */
    FW_ADDRESS_FILE = 2,    /* offset in the file (not in a slice's fat file); maps know none */
    FW_ADDRESS_RETURN = 16, /* added to one of the above: a return address, the call before it is
                               looked up */
};

struct fw_address {
    uint64_t value; /* of 32-bit ARM with or without the lowest bit, which says Thumb */
    uint32_t space; /* enum fw_address_space; others give FW_ERR_ARGUMENT */
};

enum fw_reason {                       /* why an address has no name */
                 FW_REASON_NONE = 0,   /* it has one */
                 FW_REASON_OUTSIDE,    /* not in the image's code */
                 FW_REASON_NO_SYMBOLS, /* the image has no symbol there and no debug file was found
                                        */
                 FW_REASON_GAP, /* the debug file knows nothing there: padding, hand-written code */
                 FW_REASON_UNKNOWN_FILE, /* no file with this identity was found */
                 FW_REASON_DAMAGED,      /* the debug file is broken at this place */
                 FW_REASON_NO_OFFSETS,   /* an offset in the file, of which only a map is there */
};
/* A constant English phrase. */
FW_API const char *fw_reason_text(enum fw_reason reason);

enum fw_symbol_flags {
    FW_SYMBOL_INLINED = 1,   /* inlined into the next frame */
    FW_SYMBOL_TAIL_CALL = 2, /* not on the stack: inferred from call sites (fw_symbolicate_stack) */
    FW_SYMBOL_FROM_TABLE = 4,       /* only the symbol table knows it: no file and line */
    FW_SYMBOL_SYNTHESIZED = 8,      /* bounds without a name: `function` is NULL */
    FW_SYMBOL_ARTIFICIAL = 16,      /* made by the compiler */
    FW_SYMBOL_PLT = 32,             /* a stub that leads to `function` */
    FW_SYMBOL_PART = 64,            /* in a part of the function away from its entry (.cold) */
    FW_SYMBOL_AMBIGUOUS_TAIL = 128, /* tail calls lie between this frame and its caller, but
                                       several ways are possible: none is shown */
};

struct fw_symbol_frame {
    const char *function; /* demangled unless asked otherwise; NULL: unknown */
    const char *mangled;  /* as in the symbol table or the debug file; NULL: unknown. The same
                             pointer as `function` when it is not mangled */
    const char *file;     /* path with its folder as the compiler was told it; NULL: unknown */
    uint32_t line;        /* in `file`, of the address or of the call inlined there; 0: unknown */
    uint32_t column;      /* 0: unknown, or not kept */
    uint64_t start;       /* link-time address of the outer function's piece */
    uint64_t offset;      /* address given - start; of a tail call that of its jump, 0 if unknown */
    uint32_t flags;       /* enum fw_symbol_flags */
    uint32_t reserved;
    uint64_t size; /* bytes of the outer function's piece; 0: unknown, and of a tail call */
    uint64_t reserved_too;
};

struct fw_resolved {                      /* the answer for one address */
    const struct fw_symbol_frame *frames; /* innermost first */
    size_t frame_count;                   /* 0: see `reason` */
    enum fw_reason reason;                /* FW_REASON_NONE exactly when there are frames */
    uint32_t reserved;
};

struct fw_symbols {                  /* with everything that it points to: fw_symbols_free */
    const struct fw_resolved *items; /* one for each address, in the order of the addresses */
    size_t count;
};

/*
 * Looks up `count` addresses; duplicates and any order are fine, 0 gives an answer without items.
 *
 * For a few, only the units of the debug file that hold them are read. For many at once, or once
 * many were asked for one after the other, the whole file is converted to a map, which stands until
 * the source is closed, and is kept in the cache when the image has a build id and the debug file
 * was whole. While a source has no map yet, its calls wait for one another.
 *
 * FW_ERR_ARGUMENT for an address space that there is not, FW_ERR_MEMORY, or what was wrong with the
 * debug file. Damage in it that leaves the rest readable is no error: see fw_reason.
 */
FW_API fw_error fw_symbolicate(struct fw_source *source, const struct fw_address *addresses,
                               size_t count, struct fw_symbols **symbols, struct fw_failure *why);

struct fw_stack_address {
    struct fw_source *source; /* NULL: the image is unknown, FW_REASON_UNKNOWN_FILE */
    struct fw_address address;
};
/*
 * The same for one whole stack, innermost frame first, which may lead through any number of
 * sources. Where a caller cannot have called the frame inside of it, and the call sites admit
 * exactly one chain of tail calls between them, the functions of that chain stand at the end of the
 * inner address's frames, flagged FW_SYMBOL_TAIL_CALL with the place of their jump (and, with
 * FW_SYMBOL_INLINED too, the calls inlined at that place). Where several are possible, the last
 * frame has FW_SYMBOL_AMBIGUOUS_TAIL.
 */
FW_API fw_error fw_symbolicate_stack(const struct fw_stack_address *stack, size_t count,
                                     struct fw_symbols **symbols, struct fw_failure *why);
/* NULL is fine. */
FW_API void fw_symbols_free(struct fw_symbols *symbols);

#ifdef __cplusplus
}
#endif
#endif
