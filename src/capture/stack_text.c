/*
 * Lines of a stack. What Apple's format does with a name, found in its published Libc: the image is
 * the last component of its path, cut to 35 bytes and padded to as many; without a symbol the image
 * stands for it, counted from its header; without an image there are "???" and "0x0". One thing is
 * done better: a cut never splits a character of UTF-8, as a string that is not UTF-8 makes
 * -[NSString stringWithUTF8String:] return nil.
 */
#include "capture/stack_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_BYTES = 35,
    ADDRESS_DIGITS = 2 * sizeof(void *),
    FIRST_SIZE = 4096,
};

static bool make_room(struct stack_text *text, size_t more)
{
    if (more < text->capacity - text->length)
        return true;
    size_t capacity = text->capacity ? text->capacity : FIRST_SIZE;
    while (capacity - text->length <= more) {
        if (capacity > SIZE_MAX / 2)
            return false;
        capacity *= 2;
    }
    char *grown = realloc(text->at, capacity);
    if (!grown)
        return false;
    text->at = grown;
    text->capacity = capacity;
    return true;
}

void stack_text_add(struct stack_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (text->failed || length < 0 || !make_room(text, (size_t)length)) {
        text->failed = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(text->at + text->length, text->capacity - text->length, format, arguments);
    va_end(arguments);
    text->length += (size_t)length;
}

/* How many of the first `most` bytes are whole characters. */
static int whole_characters(const char *name, size_t most)
{
    size_t length = strnlen(name, most + 1);
    if (length <= most)
        return (int)length;
    size_t cut = most;
    while (cut > 0 && ((uint8_t)name[cut] & 0xc0) == 0x80)
        cut--;
    return (int)(most - cut < 4 ? cut : most); /* else it is not UTF-8 */
}

static const char *last_component(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

size_t stack_text_line(char *to, size_t size, uint64_t index, const struct fw_frame *frame,
                       const struct fw_name *name)
{
    const char *image = name->image ? last_component(name->image) : "???";
    int image_bytes = whole_characters(image, IMAGE_BYTES);
    const char *symbol = "0x0";
    size_t symbol_bytes = strlen(symbol);
    uint64_t offset = frame->address;
    if (name->function) {
        symbol = name->function;
        symbol_bytes = strlen(symbol);
        offset = name->offset;
    } else if (name->image) {
        symbol = image;
        symbol_bytes = (size_t)image_bytes;
        offset = frame->address - name->image_base;
    }
    /* A name may be longer than what printf's precision can say: it is copied. */
    int head = snprintf(to, size, "%-4" PRIu64 "%.*s%*s 0x%0*" PRIx64 " ", index, image_bytes,
                        image, IMAGE_BYTES - image_bytes, "", ADDRESS_DIGITS, frame->address);
    size_t at = head > 0 ? (size_t)head : 0;
    if (at < size) {
        size_t fits = symbol_bytes < size - at ? symbol_bytes : size - at - 1;
        memcpy(to + at, symbol, fits);
        to[at + fits] = 0;
    }
    at += symbol_bytes;
    int tail =
        snprintf(at < size ? to + at : NULL, at < size ? size - at : 0, " + %" PRIu64, offset);
    return at + (tail > 0 ? (size_t)tail : 0);
}

void stack_text_frame(struct stack_text *text, uint64_t index, const struct fw_frame *frame,
                      const struct fw_name *name)
{
    size_t length = stack_text_line(NULL, 0, index, frame, name);
    if (text->failed || !make_room(text, length)) {
        text->failed = true;
        return;
    }
    stack_text_line(text->at + text->length, length + 1, index, frame, name);
    text->length += length;
    stack_text_add(text, frame->flags & FW_FRAME_ASYNC ? " [async]\n" : "\n");
}

void stack_text_gap(struct stack_text *text, uint64_t count, const char *why)
{
    if (count)
        stack_text_add(text, "... %" PRIu64 " frame%s %s\n", count, count == 1 ? "" : "s", why);
}

void stack_text_end(struct stack_text *text, const struct fw_stack *stack)
{
    if (stack->end == FW_END_UNAVAILABLE)
        stack_text_add(text, "no stack: %s\n",
                       fw_unavailable_text((fw_unavailable)stack->unavailable));
    else if (stack->end != FW_END_ROOT)
        stack_text_add(text, "incomplete: %s\n", fw_end_text((fw_end)stack->end));
}

uint64_t stack_text_index(const struct fw_stack *stack, uint32_t i)
{
    return i + (i < stack->head ? 0 : stack->omitted);
}
