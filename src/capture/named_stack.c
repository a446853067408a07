/*
 * Naming a stack into one block: the head, a copy of the frames, their names, the strings, the
 * text. Measured first, then allocated and filled. A string that a frame nearby has too is stored
 * once: most frames share their image, recursion its function.
 */
#include "capture/named_stack.h"

#include "capture/stack_text.h"

#include <stdlib.h>
#include <string.h>

enum { NEARBY = 16 };

/* The strings of a name. */
enum { FUNCTION, IMAGE, SOURCE, STRINGS };

static const char **string_of(struct fw_name *name, int which)
{
    return which == FUNCTION ? &name->function : which == IMAGE ? &name->image : &name->file;
}

/* A stack being named: the names still point into the index. */
struct naming {
    const struct fw_stack *stack;
    struct fw_named_frame *frames;
    uint32_t count, left_out, left_out_last; /* the latter behind the last named frame */
    size_t strings;
    struct stack_text text;
};

/* The frame before `i` that has this string already, or `i`. */
static uint32_t first_with(struct naming *naming, uint32_t i, int which)
{
    const char *string = *string_of(&naming->frames[i].name, which);
    uint32_t first = i;
    for (uint32_t j = i; j-- > 0 && i - j <= NEARBY;)
        if (*string_of(&naming->frames[j].name, which) == string)
            first = j;
    return first;
}

static void look_up(struct naming *naming, const struct fw_names *names,
                    const struct image_filter *filter)
{
    const char *last_image = NULL;
    bool last_taken = image_filter_takes(filter, NULL);
    for (uint32_t i = 0; i < naming->stack->count; i++) {
        struct fw_named_frame *named = &naming->frames[naming->count];
        *named = (struct fw_named_frame){.frame = i,
                                         .index = stack_text_index(naming->stack, i),
                                         .left_out = naming->left_out_last};
        fw_names_lookup(names, &naming->stack->frames[i], &named->name);
        if (named->name.image != last_image) {
            last_image = named->name.image;
            last_taken = image_filter_takes(filter, last_image);
        }
        if (!last_taken) {
            naming->left_out++;
            naming->left_out_last++;
            continue;
        }
        for (int which = 0; which < STRINGS; which++) {
            const char *string = *string_of(&named->name, which);
            if (string && first_with(naming, naming->count, which) == naming->count)
                naming->strings += strlen(string) + 1;
        }
        naming->left_out_last = 0;
        naming->count++;
    }
}

/* As fw_text_stack, and with what the filter left out. Where frames were omitted from the middle of
 * what it left out, both are said at one place. */
static void write_text(struct naming *naming)
{
    const struct fw_stack *stack = naming->stack;
    struct stack_text *text = &naming->text;
    uint64_t omitted = stack->omitted;
    for (uint32_t i = 0; i < naming->count; i++) {
        const struct fw_named_frame *named = &naming->frames[i];
        stack_text_gap(text, named->left_out, STACK_TEXT_OTHERS);
        if (named->frame >= stack->head) {
            stack_text_gap(text, omitted, STACK_TEXT_OMITTED);
            omitted = 0;
        }
        stack_text_frame(text, named->index, &stack->frames[named->frame], &named->name);
    }
    stack_text_gap(text, naming->left_out_last, STACK_TEXT_OTHERS);
    stack_text_gap(text, omitted, STACK_TEXT_OMITTED);
    stack_text_end(text, stack);
    stack_text_add(text, "%s", "");
}

static void copy_strings(struct naming *naming, struct fw_named_frame *frames, char *to)
{
    for (uint32_t i = 0; i < naming->count; i++) {
        for (int which = 0; which < STRINGS; which++) {
            const char *string = *string_of(&naming->frames[i].name, which);
            uint32_t first = string ? first_with(naming, i, which) : i;
            if (first < i) {
                *string_of(&frames[i].name, which) = *string_of(&frames[first].name, which);
            } else if (string) {
                size_t size = strlen(string) + 1;
                *string_of(&frames[i].name, which) = memcpy(to, string, size);
                to += size;
            }
        }
    }
}

static struct named_stack *into_one_block(struct naming *naming)
{
    const struct fw_stack *stack = naming->stack;
    const size_t stack_size = stack->count * sizeof *stack->frames;
    const size_t names_size = naming->count * sizeof *naming->frames;
    const size_t text_size = naming->text.at ? naming->text.length + 1 : 0;
    const size_t bytes =
        sizeof(struct named_stack) + stack_size + names_size + naming->strings + text_size;
    struct named_stack *named = malloc(bytes);
    if (!named)
        return NULL;
    struct fw_named_frame *frames = (struct fw_named_frame *)(named + 1);
    struct fw_frame *own = (struct fw_frame *)(frames + naming->count);
    char *strings = (char *)(own + stack->count), *text = strings + naming->strings;
    *named = (struct named_stack){
        .shown = {.frames = frames, .count = naming->count, .left_out = naming->left_out},
        .stack = *stack,
        .bytes = bytes,
    };
    named->stack.frames = own;
    if (stack->count)
        memcpy(own, stack->frames, stack_size);
    memcpy(frames, naming->frames, names_size);
    copy_strings(naming, frames, strings);
    if (text_size) {
        named->shown.text = memcpy(text, naming->text.at, text_size);
        named->shown.text_length = text_size - 1;
    }
    return named;
}

struct named_stack *named_stack_create(const struct fw_stack *stack, const struct fw_names *names,
                                       const struct image_filter *filter, bool text)
{
    struct naming naming = {.stack = stack};
    struct named_stack *named = NULL;
    naming.frames = calloc((size_t)stack->count + 1, sizeof *naming.frames);
    if (naming.frames) {
        look_up(&naming, names, filter);
        if (text)
            write_text(&naming);
        if (!naming.text.failed)
            named = into_one_block(&naming);
    }
    free(naming.text.at);
    free(naming.frames);
    return named;
}

bool named_stack_is(const struct named_stack *named, const struct fw_stack *stack)
{
    const struct fw_stack *own = &named->stack;
    if (own->count != stack->count || own->head != stack->head || own->omitted != stack->omitted ||
        own->end != stack->end || own->unavailable != stack->unavailable)
        return false;
    if (!own->count || memcmp(own->frames, stack->frames, own->count * sizeof *own->frames) == 0)
        return true;
    /* The same frames may have been found in another way. */
    for (uint32_t i = 0; i < own->count; i++) {
        const struct fw_frame *a = &own->frames[i], *b = &stack->frames[i];
        if (a->address != b->address || a->kind != b->kind || a->flags != b->flags)
            return false;
    }
    return true;
}
