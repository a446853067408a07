/*
 * What a file can give to symbolication, told from its own bytes: never from its name.
 *
 * A file is one slice or (fat Mach-O) several; each has an identity and an architecture of its own.
 */
#ifndef SYMBOLICATE_DEBUG_FILE_H
#define SYMBOLICATE_DEBUG_FILE_H

#include "object/object.h"

enum debug_file_form {
    DEBUG_FILE_NONE = 0, /* nothing that symbolication reads */
    DEBUG_FILE_ELF,
    DEBUG_FILE_MACHO, /* fat ones too */
    DEBUG_FILE_MAP,   /* a symbol map of ours */
    DEBUG_FILE_GSYM,
    DEBUG_FILE_BREAKPAD
};
enum {
    DEBUG_FILE_START = 64,  /* bytes of the start that tell the form */
    DEBUG_FILE_ID_LEAST = 4 /* bytes of an identity; what is shorter is none */
};
enum debug_file_form debug_file_form(struct span start);
/* The same by the start of a file; DEBUG_FILE_NONE when it cannot be read. */
enum debug_file_form debug_file_form_at(const char *path);
/* Whether files of this form hold symbols alone: a symbol map, GSYM or Breakpad text. */
bool debug_file_is_symbols(enum debug_file_form form);

enum debug_file_kind {
    DEBUG_FILE_EXECUTABLE = 1, /* has code */
    DEBUG_FILE_DEBUGINFO = 2,  /* debug information alone: a dSYM, a separate debug file */
    DEBUG_FILE_SYMBOLS = 3,    /* a map as it came: ours, GSYM, Breakpad */
    DEBUG_FILE_SOURCES = 4     /* source files: no debug file, but kept by the same identity */
};
enum debug_file_features {
    DEBUG_FILE_SYMTAB = 1, /* names of functions that are not exported */
    DEBUG_FILE_DEBUG_INFO = 2,
    DEBUG_FILE_LINES = 4,
    DEBUG_FILE_INLINES = 8, /* known once it is converted */
    DEBUG_FILE_UNWIND = 16, /* .eh_frame, __unwind_info: the bounds of functions */
    DEBUG_FILE_SPLIT = 32   /* names another file that has the rest: .dwo, dwz */
};
/* "symtab", ... for each bit from the lowest on; NULL after the last. */
extern const char *const debug_file_feature_names[];

struct debug_slice {
    enum debug_file_kind kind;
    unsigned features;
    uint8_t id[64]; /* build id or UUID */
    size_t id_size; /* 0: none, nothing can be found by it */
    char arch[16];
};

bool debug_file_has_code(const struct object *object);
/* FW_ERR_UNSUPPORTED for what has no place in a symbol store: cores, relocatable objects. */
fw_error debug_file_look(struct object *object, struct debug_slice *slice, struct fw_failure *why);

/* Each slice of an ELF or Mach-O file. `each` gets an object that lives for the call, or NULL and
 * `why`; it stops when that returns false. FW_ERR_FORMAT when the bytes are neither. */
fw_error debug_file_slices(struct span file, const char *label,
                           bool (*each)(void *context, struct object *object,
                                        const struct fw_failure *why),
                           void *context, struct fw_failure *why);

#endif
