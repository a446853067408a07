/* The printer's core: text, templates, and which part of the printer writes which kind. */
#include "demangle/swift_print.h"

#include <string.h>

void swift_write(struct swift_printer *out, const char *text, size_t length)
{
    size_t room = out->size - 1 - out->used;
    if (length > room) {
        out->cut = true;
        length = room;
    }
    memcpy(out->text + out->used, text, length);
    out->used += length;
}

void swift_write_words(struct swift_printer *out, const char *words)
{
    swift_write(out, words, strlen(words));
}

void swift_write_number(struct swift_printer *out, uint64_t number)
{
    char digits[20];
    size_t at = sizeof(digits);
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    swift_write(out, digits + at, sizeof(digits) - at);
}

void swift_print_joined(struct swift_printer *out, const struct swift_node *list,
                        const char *between)
{
    for (uint32_t i = 0; list != NULL && i < list->count && !out->cut && !out->failed; i++) {
        if (i != 0)
            swift_write_words(out, between);
        swift_print(out, list->kids[i]);
    }
}

static const struct {
    const char *full, *simplified;
} templates[SW_KIND_COUNT] = {
#define X(kind, flags, full, simplified) {full, simplified},
    SWIFT_KINDS(X)
#undef X
};

static void print_template(struct swift_printer *out, const struct swift_node *node,
                           const char *template)
{
    for (const char *at; *template != '\0'; template = at) {
        at = strchr(template, '%');
        if (at == NULL)
            at = template + strlen(template);
        swift_write(out, template, (size_t)(at - template));
        if (*at == '\0')
            return;
        if (at[1] == '*')
            swift_print_joined(out, node, "");
        else
            swift_print(out, swift_kid(node, (uint32_t)(at[1] - '0')));
        at += 2;
    }
}

static void print_name(struct swift_printer *out, const struct swift_node *node)
{
    switch (node->kind) {
    case SW_LOCAL_NAME:
        swift_print(out, node->kids[1]);
        swift_write_words(out, " #");
        swift_write_number(out, node->kids[0]->index + 1);
        return;
    case SW_PRIVATE_NAME:
        if (out->simplified) {
            swift_print(out, swift_kid(node, 1));
            return;
        }
        swift_write_words(out, "(");
        swift_print(out, swift_kid(node, 1));
        swift_write_words(out, node->count > 1 ? " in " : "in ");
        swift_write_text(out, node->kids[0]);
        swift_write_words(out, ")");
        return;
    default: break;
    }
    swift_write_text(out, node);
    if (node->kind == SW_INFIX)
        swift_write_words(out, " infix");
    else if (node->kind == SW_PREFIX)
        swift_write_words(out, " prefix");
    else if (node->kind == SW_POSTFIX)
        swift_write_words(out, " postfix");
}

static void print_phrase(struct swift_printer *out, const struct swift_node *node)
{
    const struct swift_phrase *phrase = node->phrase;
    bool short_one = out->simplified && phrase->simplified != NULL;
    swift_write_words(out, short_one ? phrase->simplified : phrase->full);
    swift_print(out, swift_kid(node, 0));
}

static void print_coded(struct swift_printer *out, const struct swift_node *node)
{
    switch (node->kind) {
    case SW_WORDS:
    case SW_BUILTIN: swift_write_text(out, node); return;
    case SW_INDEX:
    case SW_INTEGER: swift_write_number(out, node->index); return;
    case SW_NEGATIVE_INTEGER:
        swift_write_words(out, "-");
        swift_write_number(out, node->index);
        return;
    case SW_PHRASE:
    case SW_ATTRIBUTE: print_phrase(out, node); return;
    case SW_MODULE:
        if (!out->simplified)
            swift_write_text(out, node);
        return;
    case SW_SPECIALIZATION: swift_print_specialization(out, node); return;
    default: break;
    }
    if (swift_is(node, SW_IS_NAME))
        print_name(out, node);
    else if (!swift_print_type(out, node) && !swift_print_declaration(out, node) &&
             !swift_print_symbol(out, node))
        out->failed = true;
}

void swift_print(struct swift_printer *out, const struct swift_node *node)
{
    if (node == NULL || out->cut || out->failed)
        return;
    if (out->steps == 0 || out->depth == SWIFT_MAX_PRINT_DEPTH) {
        out->failed = true;
        return;
    }
    out->steps--;
    out->depth++;
    const char *full = templates[node->kind].full;
    const char *simplified = templates[node->kind].simplified;
    if (out->simplified && simplified != NULL)
        print_template(out, node, simplified);
    else if (full != NULL)
        print_template(out, node, full);
    else
        print_coded(out, node);
    out->depth--;
}
