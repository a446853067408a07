/*
 * Names that a Framewalk report brings of functions of its images. They are of a symbol table, so
 * they have no file and no line, and a debug file knows more.
 */
#include "base/array.h"
#include "demangle/demangle.h"
#include "report/read_fwr.h"

#include <errno.h>

enum { ENCLOSING = 16 /* functions that may begin inside one and end before it */ };

/* As the source has it. Without memory for that the report is not read: mangled it is another. */
static const char *shown(struct fwr_reading *f, const char *name)
{
    char text[DEMANGLE_TEXT_SIZE];
    if (!name)
        return NULL;
    errno = 0;
    const bool mangled = demangle(name, NULL, text, sizeof text) != DEMANGLE_NONE;
    if (errno == ENOMEM) {
        f->b->error = FW_ERR_MEMORY;
        return NULL;
    }
    return mangled ? build_format(f->b, "%s", text) : name;
}

void fwr_read_function(struct fwr_reading *f, struct reader message)
{
    struct fwr_field field;
    struct read_function function = {0};
    uint64_t image = 0;
    while (fwr_next_field(&message, &field)) {
        switch (field.number) {
        case FUNCTION_IMAGE: image = field.value; break;
        case FUNCTION_OFFSET: function.offset = field.value; break;
        case FUNCTION_SIZE: function.size = field.value; break;
        case FUNCTION_NAME: function.name = shown(f, fwr_read_text(f, &field)); break;
        default: break;
        }
    }
    if (message.failed || image == 0 || image > f->report->image_count) {
        fwr_nonsense(f, message.failed ? "a function cannot be read"
                                       : "a function is in an image that is not there");
        return;
    }
    function.image = (uint32_t)image - 1;
    if (function.name && fwr_read_room(f, &f->functions, &f->function_capacity, f->function_count,
                                       sizeof *f->functions, READ_SYMBOLS, "functions"))
        f->functions[f->function_count++] = function;
}

static int compare_functions(const void *a, const void *b)
{
    const struct read_function *x = a, *y = b;
    if (x->image != y->image)
        return x->image < y->image ? -1 : 1;
    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return x->size < y->size ? 1 : x->size > y->size ? -1 : strcmp(x->name, y->name);
}

/* The innermost one around the place. */
static const struct read_function *function_at(const struct fwr_reading *f, uint32_t image,
                                               uint64_t offset)
{
    size_t low = 0, high = f->function_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct read_function *at = &f->functions[middle];
        if (at->image < image || (at->image == image && at->offset <= offset))
            low = middle + 1;
        else
            high = middle;
    }
    for (size_t tried = 0; low > 0 && tried < ENCLOSING; tried++) {
        const struct read_function *at = &f->functions[--low];
        if (at->image != image)
            break;
        if (offset - at->offset < at->size)
            return at;
    }
    return NULL;
}

void fwr_read_name_functions(struct fwr_reading *f)
{
    struct report *r = f->report;
    if (f->function_count == 0)
        return;
    qsort(f->functions, f->function_count, sizeof *f->functions, compare_functions);
    for (size_t i = 0; i < r->frame_count; i++) {
        struct report_frame *frame = &r->frames[i];
        if (frame->image == REPORT_NONE || !frame->has_offset)
            continue;
        const uint64_t back = frame->kind == REPORT_RETURN;
        const struct read_function *function = function_at(f, frame->image, frame->offset - back);
        struct report_name *name = function ? build_known(f->b, frame) : NULL;
        if (!name)
            continue;
        name->function = function->name;
        name->has_offset = true;
        name->offset = frame->offset - function->offset;
        name->size = function->size;
    }
}
