/* Spelling of expressions in C++ names: parentheses only where precedence asks for them. */
#include "demangle/itanium_print.h"

#include <math.h>
#include <stdio.h>

static void binary(struct printer *p, const struct node *node)
{
    bool wrap = p->parentheses == 0 && node->text[0] == '>' &&
                (node->length == 1 || (node->length == 2 && node->text[1] == '>'));
    bool assign = node->precedence == PREC_ASSIGN;
    if (wrap)
        print_open(p, '(');
    print_operand(p, node->a, assign ? PREC_OR_IF : (enum precedence)node->precedence, !assign);
    if (node->text[0] != ',')
        text_char(p->text, ' ');
    print_text(p, node);
    text_char(p->text, ' ');
    print_operand(p, node->b, (enum precedence)node->precedence, assign);
    if (wrap)
        print_close(p, ')');
}

static void fold_pack(struct printer *p, const struct node *node)
{
    print_open(p, '(');
    const struct node expanded = {.kind = NODE_EXPANSION, .a = node->a};
    print_expansion(p, &expanded);
    print_close(p, ')');
}

static void fold(struct printer *p, const struct node *node)
{
    print_open(p, '(');
    if (node->number == 0 || node->b) {
        if (node->number)
            print_operand(p, node->b, PREC_CAST, true);
        else
            fold_pack(p, node);
        text_char(p->text, ' ');
        print_text(p, node);
        text_char(p->text, ' ');
    }
    print_string(p, "...");
    if (node->number == 1 || node->b) {
        text_char(p->text, ' ');
        print_text(p, node);
        text_char(p->text, ' ');
        if (node->number)
            fold_pack(p, node);
        else
            print_operand(p, node->b, PREC_CAST, true);
    }
    print_close(p, ')');
}

static void integer(struct printer *p, const struct node *node)
{
    static const char *const suffixes[] = {"", "u", "l", "ul", "ll", "ull"};
    if (node->a)
        print_in_parentheses(p, node->a);
    bool negative = node->text[0] == 'n';
    if (negative)
        text_char(p->text, '-');
    text_add(p->text, node->text + negative, node->length - negative);
    if (!node->a)
        print_string(p, suffixes[node->number]);
}

static unsigned nibble(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

/* The bits are written from the highest down. long double is x86's, the only one with 80 bits. */
static void floating(struct printer *p, const struct node *node)
{
    char digits[64];
    uint64_t bits = 0;
    size_t head = node->number == 'e' ? 4 : 0;
    for (size_t i = head; i < node->length; i++)
        bits = bits << 4 | nibble(node->text[i]);
    if (node->number == 'f') {
        uint32_t half = (uint32_t)bits;
        float value;
        memcpy(&value, &half, sizeof value);
        snprintf(digits, sizeof digits, "%af", (double)value);
    } else if (node->number == 'd') {
        double value;
        memcpy(&value, &bits, sizeof value);
        snprintf(digits, sizeof digits, "%a", value);
    } else {
        unsigned exponent = 0;
        for (size_t i = 0; i < head; i++)
            exponent = exponent << 4 | nibble(node->text[i]);
        long double value = ldexpl((long double)bits, (int)(exponent & 0x7fff) - 16383 - 63);
        snprintf(digits, sizeof digits, "%LaL", exponent & 0x8000 ? -value : value);
    }
    print_string(p, digits);
}

static void new_expression(struct printer *p, const struct node *node)
{
    print_string(p, node->number & 2 ? "::new" : "new");
    if (node->number & 1)
        print_string(p, "[]");
    if (node->list.count > 0) {
        print_open(p, '(');
        print_commas(p, &node->list);
        print_close(p, ')');
    }
    text_char(p->text, ' ');
    print_both(p, node->a);
    if (node->b && node->b->list.count > 0)
        print_in_parentheses(p, node->b);
}

static void braces(struct printer *p, const struct node *node)
{
    if (node->a)
        print_both(p, node->a);
    text_char(p->text, '{');
    print_commas(p, &node->list);
    text_char(p->text, '}');
}

static void designated(struct printer *p, const struct node *node)
{
    text_char(p->text, node->number ? '[' : '.');
    print_both(p, node->a);
    if (node->c) {
        print_string(p, " ... ");
        print_both(p, node->c);
    }
    if (node->number)
        text_char(p->text, ']');
    if (node->b->kind != NODE_BRACES && node->b->kind != NODE_DESIGNATED)
        print_string(p, " = ");
    print_both(p, node->b);
}

static void conversion(struct printer *p, const struct node *node)
{
    if (node->number) { /* a part of an object: b.<a at offset text> */
        print_both(p, node->b);
        print_string(p, ".<");
        print_both(p, node->a);
        print_string(p, " at offset ");
        if (node->text[0] == 'n')
            text_char(p->text, '-');
        text_add(p->text, node->text + (node->text[0] == 'n'),
                 node->length - (node->text[0] == 'n'));
        text_char(p->text, '>');
        return;
    }
    print_in_parentheses(p, node->a);
    print_open(p, '(');
    print_commas(p, &node->list);
    print_close(p, ')');
}

static void requirements(struct printer *p, const struct node *node)
{
    print_string(p, "requires");
    if (node->list.count > 0) {
        print_string(p, " ");
        print_open(p, '(');
        print_commas(p, &node->list);
        print_close(p, ')');
    }
    print_string(p, " ");
    print_open(p, '{');
    for (uint32_t i = 0; i < node->a->list.count; i++)
        print_both(p, node->a->list.items[i]);
    print_string(p, " ");
    print_close(p, '}');
}

static void requirement(struct printer *p, const struct node *node)
{
    text_char(p->text, ' ');
    bool braced = (node->number & 1) || node->b;
    if (node->number & 2)
        print_string(p, "typename ");
    if (node->number & 4)
        print_string(p, "requires ");
    if (braced)
        print_open(p, '{');
    print_both(p, node->a);
    if (braced)
        print_close(p, '}');
    if (node->number & 1)
        print_string(p, " noexcept");
    if (node->b) {
        print_string(p, " -> ");
        print_both(p, node->b);
    }
    text_char(p->text, ';');
}

void print_expression(struct printer *p, const struct node *node)
{
    enum precedence precedence = (enum precedence)node->precedence;
    switch (node->kind) {
    case NODE_BINARY: binary(p, node); break;
    case NODE_PREFIX:
        print_text(p, node);
        print_operand(p, node->a, precedence, false);
        break;
    case NODE_POSTFIX:
        print_operand(p, node->a, precedence, true);
        print_text(p, node);
        break;
    case NODE_CONDITIONAL:
        print_operand(p, node->a, precedence, false);
        print_string(p, " ? ");
        print_operand(p, node->b, PREC_DEFAULT, false);
        print_string(p, " : ");
        print_operand(p, node->c, PREC_ASSIGN, true);
        break;
    case NODE_ACCESS:
        print_operand(p, node->a, precedence, true);
        print_text(p, node);
        print_operand(p, node->b, precedence, false);
        break;
    case NODE_INDEX:
        print_operand(p, node->a, precedence, true);
        print_open(p, '[');
        print_both(p, node->b);
        print_close(p, ']');
        break;
    case NODE_CALL:
        print_both(p, node->a);
        print_open(p, '(');
        print_commas(p, &node->list);
        print_close(p, ')');
        break;
    case NODE_CAST: {
        print_text(p, node);
        unsigned parentheses = p->parentheses;
        p->parentheses = 0;
        text_char(p->text, '<');
        print_both(p, node->a);
        text_char(p->text, '>');
        p->parentheses = parentheses;
        print_in_parentheses(p, node->b);
        break;
    }
    case NODE_CONVERT: conversion(p, node); break;
    case NODE_BRACES: braces(p, node); break;
    case NODE_DESIGNATED: designated(p, node); break;
    case NODE_NEW: new_expression(p, node); break;
    case NODE_FOLD: fold(p, node); break;
    case NODE_INTEGER: integer(p, node); break;
    case NODE_FLOAT: floating(p, node); break;
    case NODE_CLOSURE:
        print_string(p, "[]");
        print_lambda_declarator(p, node->a);
        print_string(p, "{...}");
        break;
    case NODE_REQUIREMENTS: requirements(p, node); break;
    case NODE_REQUIREMENT: requirement(p, node); break;
    }
}
