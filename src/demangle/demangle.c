/*
 * Demangling with libiberty's parsers, which hand out text piece by piece. That is what bounds
 * hostile names: when the buffer is full, the piece function leaves the parser by longjmp. The
 * parser keeps its state on the stack, so nothing is lost by leaving it.
 *
 * docs/dependencies.md has the comparison with the other demanglers.
 */
#include "demangle/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <string.h>

struct output {
    char *text;
    size_t size, used;
    bool cut; /* it did not fit */
    jmp_buf full;
};

static void append(const char *piece, size_t length, void *context)
{
    struct output *output = context;
    size_t room = output->size - 1 - output->used;
    size_t take = length < room ? length : room;
    memcpy(output->text + output->used, piece, take);
    output->used += take;
    if (take < length)
        longjmp(output->full, 1);
}

static bool starts_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

static bool parse(const char *name, struct output *output)
{
    if (setjmp(output->full) != 0)
        return output->cut = true;
    /* Legacy Rust names are C++ names with a hash for a last part: Rust must be asked first. */
    if (rust_demangle_callback(name, 0, append, output))
        return true;
    output->used = 0;
    /* The recursion limit of the library refuses every name over 1024 bytes; ours is the cap on the
     * input. */
    return cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT, append,
                                      output);
}

bool demangle(const char *mangled, char *text, size_t size)
{
    /* Mach-O puts one more underscore before every name. */
    bool extra = starts_with(mangled, "__Z") || starts_with(mangled, "__R");
    const char *const name = mangled + extra;
    if (!starts_with(name, "_Z") && !starts_with(name, "_R") && !starts_with(name, "_GLOBAL_"))
        return false;
    if (strnlen(name, DEMANGLE_MAX_INPUT + 1) > DEMANGLE_MAX_INPUT)
        return false;

    struct output output = {.text = text, .size = size};
    if (!parse(name, &output) || output.used == 0)
        return false;
    if (output.cut)
        memcpy(text + size - 4, "...", 4);
    else
        text[output.used] = '\0';
    return true;
}
