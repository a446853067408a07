/* Finding names in text that arrives in pieces. */
#include "cli/demangle.h"

#include <string.h>

/* What a byte may be in a run: its first, or a later one. */
enum { FIRST = 1, LATER = 2 };

static const unsigned char *classes(void)
{
    static const unsigned char table[256] = {
        ['0' ... '9'] = FIRST | LATER,
        ['A' ... 'Z'] = FIRST | LATER,
        ['a' ... 'z'] = FIRST | LATER,
        ['_'] = FIRST | LATER,
        ['$'] = FIRST | LATER,
        ['.'] = LATER,
        ['@'] = FIRST,           /* of Swift's macros */
        [0x80 ... 0xff] = LATER, /* letters beyond ASCII, in C++ */
    };
    return table;
}

const char *demangle_filter_name(struct demangle_filter *f, const char *name)
{
    if (f->off)
        return name;
    const char *asked = name + (f->strip_underscore && name[0] == '_');
    return demangle(asked, &f->options, f->shown, sizeof f->shown) ? f->shown : name;
}

static void emit(struct demangle_filter *f, const char *bytes, size_t count)
{
    fwrite(bytes, 1, count, f->out);
}

/* Shows the first `count` bytes of `run` as one name, if they are one. */
static bool emit_name(struct demangle_filter *f, char *run, size_t count)
{
    char behind = run[count];
    run[count] = '\0';
    const char *shown = demangle_filter_name(f, run);
    run[count] = behind;
    if (shown == run)
        return false;
    emit(f, shown, strlen(shown));
    return true;
}

/* How much of the run was a name and has been shown. */
static size_t name_at(struct demangle_filter *f, char *run, size_t length)
{
    while (length > 0 && run[length - 1] == '.')
        length--;
    return length > 0 && emit_name(f, run, length) ? length : 0;
}

/* The end of a sentence is no part of a name, nor are quotes beyond ASCII around it. */
static void end_run(struct demangle_filter *f)
{
    char *run = f->run;
    size_t length = f->length, ascii = 0;
    f->length = 0;
    if (length == 0)
        return;
    run[length] = '\0';
    while (ascii < length && !((unsigned char)run[ascii] & 0x80))
        ascii++;
    size_t done = name_at(f, run, length);
    if (done == 0 && ascii < length)
        done = name_at(f, run, ascii);
    if (done == 0 && run[0] == '@' && length > 1) {
        emit(f, run, 1);
        done = 1 + name_at(f, run + 1, ascii - 1);
    }
    emit(f, run + done, length - done);
}

/* Whether a run that begins so may be a name; most words of a text are not. */
static bool may_begin(const struct demangle_filter *f, char c)
{
    if (f->off)
        return false;
    return c == '_' || c == '$' || c == '@' || f->options.types ||
           f->options.language != DEMANGLE_NONE;
}

void demangle_filter_text(struct demangle_filter *f, const char *bytes, size_t count)
{
    const unsigned char *class = classes();
    const char *end = bytes + count;
    while (bytes < end) {
        const char *from = bytes;
        if (f->length == 0 && !f->passing) {
            while (bytes < end && !(class[(unsigned char)*bytes] & FIRST))
                bytes++;
            emit(f, from, (size_t)(bytes - from));
            if (bytes == end)
                return;
            f->passing = !may_begin(f, *bytes);
            if (!f->passing)
                f->run[f->length++] = *bytes++;
            from = bytes;
        }
        while (bytes < end && (class[(unsigned char)*bytes] & LATER))
            bytes++;
        size_t more = (size_t)(bytes - from);
        if (!f->passing && more > DEMANGLE_MAX_INPUT - f->length) {
            emit(f, f->run, f->length);
            f->length = 0;
            f->passing = true;
        }
        if (f->passing) {
            emit(f, from, more);
        } else {
            memcpy(f->run + f->length, from, more);
            f->length += more;
        }
        if (bytes < end) {
            end_run(f);
            f->passing = false;
        }
    }
}

void demangle_filter_end(struct demangle_filter *f)
{
    end_run(f);
    f->passing = false;
}
