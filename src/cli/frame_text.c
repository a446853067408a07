/*
 * Frames in words. Demangled names are kept in a hash table by the address of the mangled one:
 * fw_process hands out the same pointer for the same function, and many threads run the same
 * functions.
 */
#include "cli/frame_text.h"

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

bool frame_describe(struct frame_names *names, const struct fw_frame *frame,
                    struct frame_text *text)
{
    *text = (struct frame_text){.subject = FRAME_NOWHERE, .name = ""};
    struct fw_symbol *symbol = &text->symbol;
    if (fw_process_symbol(names->dump->process, frame, symbol) != FW_OK)
        *symbol = (struct fw_symbol){0};
    if (names->options->no_names)
        symbol->name = NULL;

    if (frame->flags & FW_FRAME_SIGNAL) {
        text->subject = FRAME_SIGNAL;
        text->name = "[signal handler called]";
    } else if (symbol->name != NULL) {
        text->subject = FRAME_FUNCTION;
        text->offset = symbol->offset;
        text->name = shown_name(names, symbol->name, !names->options->no_demangle, symbol->plt);
    } else if (symbol->image != NULL) {
        text->subject = FRAME_IMAGE;
        text->offset = symbol->image_offset;
        text->name = shown_name(names, dump_image_name(symbol->image), false, false);
    }
    return text->name != NULL;
}
