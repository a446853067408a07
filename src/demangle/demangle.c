/* Which language a name is of, and what stands around it. docs/dependencies.md says why the
 * decoders are our own. */
#include "demangle/demangle.h"

#include "demangle/itanium.h"
#include "demangle/rust.h"
#include "demangle/swift.h"
#include "demangle/text.h"

static bool starts_with(const char *name, const char *prefix)
{
    return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* _GLOBAL__sub_I_NAME, _GLOBAL__I_NAME, _GLOBAL__D_NAME: what runs before and after main. */
static bool global_code(const char *name, const struct demangle_options *options, struct text *text)
{
    static const char prefix[] = "_GLOBAL_";
    if (!starts_with(name, prefix))
        return false;
    name += sizeof prefix - 1;
    if (*name != '_' && *name != '.' && *name != '$')
        return false;
    name++;
    if (starts_with(name, "sub_"))
        name += 4;
    if ((*name != 'I' && *name != 'D') || name[1] != '_')
        return false;
    text_string(text,
                *name == 'I' ? "global constructors keyed to " : "global destructors keyed to ");
    name += 2;
    size_t before = text->used;
    if (!itanium_demangle(name, strlen(name), options, text)) {
        text->used = before;
        text_string(text, name);
    }
    return true;
}

/* Swift's compiler appends suffixes of its own, which its names show; versions are the linker's. */
static bool swift(const char *name, size_t length, const struct demangle_options *options,
                  struct text *text)
{
    if (!swift_is_mangled(name))
        return false;
    const char *version = memchr(name + 1, '@', length - 1);
    size_t own = version ? (size_t)(version - name) : length;
    bool simplified = options->style != DEMANGLE_FULL;
    if (!swift_demangle(name, own, simplified ? SWIFT_SIMPLIFIED : SWIFT_FULL, text->start,
                        text->size + 1))
        return false;
    text->used = strlen(text->start);
    text_add(text, name + own, length - own);
    return true;
}

static enum demangle_language any(const char *name, size_t length,
                                  const struct demangle_options *options, struct text *text)
{
    enum demangle_language only = options->language;
    if ((only == DEMANGLE_NONE || only == DEMANGLE_SWIFT) && swift(name, length, options, text))
        return DEMANGLE_SWIFT;
    /* Legacy names of Rust are names of C++ with a hash at the end: Rust is asked first. */
    if (only == DEMANGLE_NONE || only == DEMANGLE_RUST) {
        if (rust_decode(name, length, options, text))
            return DEMANGLE_RUST;
        text->used = 0;
        text->full = false;
    }
    if ((only == DEMANGLE_NONE || only == DEMANGLE_CXX) &&
        (itanium_demangle(name, length, options, text) || global_code(name, options, text)))
        return DEMANGLE_CXX;
    return DEMANGLE_NONE;
}

enum demangle_language demangle(const char *mangled, const struct demangle_options *options,
                                char *buffer, size_t size)
{
    static const struct demangle_options defaults = {0};
    if (!options)
        options = &defaults;
    size_t length = strnlen(mangled, DEMANGLE_MAX_INPUT + 1);
    if (length > DEMANGLE_MAX_INPUT)
        return DEMANGLE_NONE;
    struct text text = {.start = buffer, .size = size - 1};
    enum demangle_language language = any(mangled, length, options, &text);
    if (language == DEMANGLE_NONE || text.used == 0)
        return DEMANGLE_NONE;
    if (text.full)
        memcpy(buffer + size - 4, "...", 3);
    buffer[text.used] = '\0';
    return language;
}
