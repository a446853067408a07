/* Swift names: which mangling one is in, and the caps around its parser. */
#include "demangle/swift.h"

#include "demangle/swift_old.h"
#include "demangle/swift_parse.h"
#include "demangle/swift_print.h"

#include <string.h>

enum { FIRST_MEMORY = 6144 /* on the stack: most names need no other */ };

static bool starts(const char *name, size_t length, const char *prefix)
{
    size_t count = strlen(prefix);
    return length >= count && memcmp(name, prefix, count) == 0;
}

/* The length of the prefix, or 0: not Swift. *old: of Swift 1 to 3. Mach-O puts one more
 * underscore in front. */
static size_t find_prefix(const char *name, size_t length, bool *old)
{
    static const char *const prefixes[] = {"_T0", "$s", "$S", "$e", "@__swiftmacro_"};
    size_t extra = 0;
    *old = false;
    for (; extra < 3; extra++) {
        for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
            if (starts(name + extra, length - extra, prefixes[i]))
                return extra + strlen(prefixes[i]);
        if (starts(name + extra, length - extra, "_T")) {
            *old = true;
            return extra + 2;
        }
        if (starts(name + extra, length - extra, "async_MainT"))
            return extra + strlen("async_Main");
        if (extra == length || name[extra] != '_')
            break;
    }
    return 0;
}

bool swift_is_mangled(const char *name)
{
    bool old;
    return find_prefix(name, strlen(name), &old) != 0;
}

bool swift_print_name(struct swift_printer *out, const char *name, size_t length)
{
    bool old;
    size_t prefix = find_prefix(name, length, &old);
    if (prefix == 0 || out->symbols == SWIFT_MAX_NESTED_SYMBOLS || length > SWIFT_MAX_INPUT)
        return false;
    max_align_t first[FIRST_MEMORY / sizeof(max_align_t)];
    struct swift_arena arena;
    swift_arena_init(&arena, first, sizeof(first), SWIFT_MAX_MEMORY);
    struct swift_node *tree = old ? swift_parse_old(&arena, name + prefix, length - prefix)
                                  : swift_parse(&arena, name, length, prefix);
    bool understood = tree != NULL;
    if (understood) {
        out->symbols++;
        swift_print(out, tree);
        out->symbols--;
    }
    swift_arena_free(&arena);
    return understood && !out->failed;
}

bool swift_demangle(const char *mangled, size_t length, enum swift_style style, char *text,
                    size_t size)
{
    bool simplified = style == SWIFT_SIMPLIFIED;
    struct swift_printer out = {.text = text,
                                .size = size,
                                .simplified = simplified,
                                .clauses = !simplified,
                                .steps = SWIFT_MAX_PRINT_STEPS};
    if (!swift_print_name(&out, mangled, length) || out.used == 0)
        return false;
    text[out.used] = '\0';
    if (out.cut)
        memcpy(text + size - 4, "...", 4);
    return true;
}
