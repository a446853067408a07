/*
 * Frames in words. The name of a function that is on the stack is that of its symbol, as long as
 * debug information means the same function: there is nothing there that people know better.
 *
 * Names to show are kept in a hash table by the address of the name that they were made of:
 * fw_process hands out the same pointer for the same function, and many threads run the same
 * functions.
 */
#include "cli/frame_text.h"

#include "base/array.h"
#include "cli/frame_lines.h"
#include "cli/generated.h"
#include "demangle/demangle.h"

#include <stdlib.h>
#include <string.h>

struct frame_name_slot {
    const char *key; /* NULL = free */
    bool plt;
    char *shown;
};

void frame_names_init(struct frame_names *names, const struct dump *dump,
                      const struct dump_options *options)
{
    *names = (struct frame_names){.dump = dump, .options = options};
}

void frame_names_free(struct frame_names *names)
{
    for (size_t i = 0; i < names->room; i++)
        free(names->slots[i].shown);
    free(names->slots);
    *names = (struct frame_names){0};
}

static size_t find_slot(const struct frame_name_slot *slots, size_t room, const char *key, bool plt)
{
    size_t at = (size_t)(((uint64_t)(uintptr_t)key * 0x9e3779b97f4a7c15u) >> 20) + plt;
    for (;; at++) {
        const struct frame_name_slot *slot = &slots[at & (room - 1)];
        if (slot->key == NULL || (slot->key == key && slot->plt == plt))
            return at & (room - 1);
    }
}

static bool make_room(struct frame_names *names)
{
    if (names->used * 2 < names->room)
        return true;
    size_t room = names->room == 0 ? 256 : names->room * 2;
    struct frame_name_slot *slots = calloc(room, sizeof(*slots));
    if (slots == NULL)
        return false;
    for (size_t i = 0; i < names->room; i++) {
        const struct frame_name_slot *old = &names->slots[i];
        if (old->key != NULL)
            slots[find_slot(slots, room, old->key, old->plt)] = *old;
    }
    free(names->slots);
    names->slots = slots;
    names->room = room;
    return true;
}

/* What to show for `name`, kept until the end; NULL when out of memory. */
static const char *shown_name(struct frame_names *names, const char *name, bool demangled, bool plt)
{
    if (!make_room(names))
        return NULL;
    struct frame_name_slot *slot = &names->slots[find_slot(names->slots, names->room, name, plt)];
    if (slot->key != NULL)
        return slot->shown;

    char plain[DEMANGLE_TEXT_SIZE], clean[DEMANGLE_TEXT_SIZE + 8];
    bool better = demangled && demangle(name, NULL, plain, sizeof(plain));
    style_clean(better ? plain : name, clean, DEMANGLE_TEXT_SIZE);
    if (plt)
        strcat(clean, "@plt");
    char *shown = strdup(clean);
    if (shown == NULL)
        return NULL;
    *slot = (struct frame_name_slot){.key = name, .plt = plt, .shown = shown};
    names->used++;
    return shown;
}

const char *frame_role_mark(enum frame_role role)
{
    switch (role) {
    case FRAME_INLINED: return " [inlined]";
    case FRAME_TAIL_CALL: return " [tail call]";
    case FRAME_TAIL_INLINED: return " [inlined, tail call]";
    case FRAME_REAL: break;
    }
    return "";
}

bool frame_role_is_certain(enum frame_role role)
{
    return role == FRAME_REAL || role == FRAME_INLINED;
}

void frame_list_free(struct frame_list *list)
{
    free(list->items);
    *list = (struct frame_list){0};
}

static bool append(struct frame_list *list, const struct frame_text *text)
{
    if (text->name == NULL || !array_room(&list->items, &list->room, list->count, sizeof *text))
        return false;
    list->items[list->count++] = *text;
    return true;
}

static enum frame_role role_of(const struct fw_symbol_frame *frame)
{
    bool inlined = (frame->flags & FW_SYMBOL_INLINED) != 0;
    if ((frame->flags & FW_SYMBOL_TAIL_CALL) != 0)
        return inlined ? FRAME_TAIL_INLINED : FRAME_TAIL_CALL;
    return inlined ? FRAME_INLINED : FRAME_REAL;
}

/* A function that debug information knows of, and that is not on the stack itself. */
static bool append_other(struct frame_names *names, const struct frame_text *real,
                         const struct fw_symbol_frame *from, struct frame_list *list)
{
    struct frame_text text = {.subject = FRAME_FUNCTION,
                              .role = role_of(from),
                              .linkage = from->mangled,
                              .file = from->file,
                              .line = from->line,
                              .frame = real->frame,
                              .image = real->image};
    const char *name = from->function != NULL ? from->function : "(no name)";
    text.name = shown_name(names, name, false, false);
    return append(list, &text);
}

/* The last of the frames of an answer that are at its address: those behind are tail calls. */
static const struct fw_symbol_frame *real_frame(const struct fw_resolved *answer)
{
    const struct fw_symbol_frame *real = NULL;
    for (size_t i = 0; answer != NULL && i < answer->frame_count; i++) {
        if (role_of(&answer->frames[i]) == FRAME_REAL)
            real = &answer->frames[i];
    }
    return real;
}

/* What lies between frame `at` and the frame inside of it belongs to the answer for that one. */
static bool append_tail_calls(struct frame_names *names, const struct dump_stack *stack,
                              struct frame_text *real, struct frame_list *list)
{
    uint32_t at = real->frame;
    bool gap = at == stack->head && stack->omitted > 0;
    const struct fw_resolved *inner =
        at > 0 && !gap ? frame_lines_at(names->dump->lines, stack, at - 1) : NULL;
    for (size_t i = 0; inner != NULL && i < inner->frame_count; i++) {
        const struct fw_symbol_frame *frame = &inner->frames[i];
        real->ambiguous |= (frame->flags & FW_SYMBOL_AMBIGUOUS_TAIL) != 0;
        if (!frame_role_is_certain(role_of(frame)) && !append_other(names, real, frame, list))
            return false;
    }
    return true;
}

static bool append_inlined(struct frame_names *names, const struct fw_resolved *answer,
                           const struct frame_text *real, struct frame_list *list)
{
    for (size_t i = 0; answer != NULL && i < answer->frame_count; i++) {
        if (role_of(&answer->frames[i]) == FRAME_INLINED &&
            !append_other(names, real, &answer->frames[i], list))
            return false;
    }
    return true;
}

/* Generated code: no image knows it. False when nobody does. */
static bool name_generated(struct frame_names *names, const struct fw_frame *frame,
                           struct frame_text *text)
{
    struct generated_name known;
    if (names->options->no_names || !generated_find(names->dump->generated, frame, &known))
        return false;
    text->subject = FRAME_FUNCTION;
    text->linkage = known.whole;
    text->offset = frame->address - known.start;
    text->file = names->options->no_lines ? NULL : known.file;
    text->line = known.line;
    text->name = shown_name(names, known.function, !names->options->no_demangle, false);
    return true;
}

/* Names the function on the stack, from its symbol and from debug information. */
static void name_real(struct frame_names *names, const struct fw_symbol_frame *known,
                      struct frame_text *text)
{
    const struct fw_symbol *symbol = &text->image;
    bool same = known == NULL || known->function == NULL || symbol->plt ||
                known->start == symbol->image_offset - symbol->offset;
    text->subject = FRAME_FUNCTION;
    text->file = known != NULL ? known->file : NULL;
    text->line = known != NULL ? known->line : 0;
    if (symbol->name != NULL && same) {
        text->linkage = symbol->name;
        text->offset = symbol->offset;
        text->name = shown_name(names, symbol->name, !names->options->no_demangle, symbol->plt);
    } else if (known != NULL && known->function != NULL) {
        text->linkage = known->mangled;
        text->offset = known->offset;
        text->name = shown_name(names, known->function, false, false);
    } else {
        text->subject = FRAME_IMAGE;
        text->offset = symbol->image_offset;
        text->name = shown_name(names, dump_image_name(symbol->image), false, false);
    }
}

bool frame_describe(struct frame_names *names, const struct dump_stack *stack, uint32_t at,
                    struct frame_list *list)
{
    const struct fw_frame *frame = &stack->frames[at];
    struct frame_text real = {.subject = FRAME_NOWHERE, .name = "", .frame = at};
    if (fw_process_symbol(names->dump->process, frame, &real.image) != FW_OK)
        real.image = (struct fw_symbol){0};
    if (names->options->no_names)
        real.image.name = NULL;

    if (frame->flags & FW_FRAME_SIGNAL) {
        real.subject = FRAME_SIGNAL;
        real.name = "[signal handler called]";
        real.linkage = real.image.name;
        real.offset = real.image.offset;
        return append(list, &real);
    }
    const struct fw_resolved *answer = frame_lines_at(names->dump->lines, stack, at);
    const bool generated = real.image.name == NULL && name_generated(names, frame, &real);
    if (!generated && real.image.image != NULL)
        name_real(names, real_frame(answer), &real);
    return append_tail_calls(names, stack, &real, list) &&
           append_inlined(names, answer, &real, list) && append(list, &real);
}
