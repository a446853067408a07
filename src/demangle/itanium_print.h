/* What the printers of names, types and expressions share. */
#ifndef DEMANGLE_ITANIUM_PRINT_H
#define DEMANGLE_ITANIUM_PRINT_H

#include "demangle/itanium.h"

enum { PRINT_DEPTH = 1024, PRINT_STEPS = 200000 };

#define PRINT_NO_PACK UINT32_MAX

struct printer {
    struct text *text;
    enum demangle_style style;
    unsigned depth, steps;
    unsigned parentheses;           /* open since the last <: then > needs none of its own */
    uint32_t pack_place, pack_size; /* of the expansion around; PRINT_NO_PACK: none seen yet */
    bool failed;
};

/* itanium_print.c */
void print_both(struct printer *p, const struct node *node);
/* An item that prints nothing (an empty pack) has no comma either. */
void print_commas(struct printer *p, const struct list *list);
/* In parentheses where its precedence is too loose for where it stands. */
void print_operand(struct printer *p, const struct node *node, enum precedence precedence,
                   bool strictly_worse);
void print_expansion(struct printer *p, const struct node *node);
void print_in_parentheses(struct printer *p, const struct node *node);
void print_lambda_declarator(struct printer *p, const struct node *node);
/* itanium_print_expr.c */
void print_expression(struct printer *p, const struct node *node);

static inline void print_string(struct printer *p, const char *string)
{
    text_string(p->text, string);
}

static inline void print_text(struct printer *p, const struct node *node)
{
    text_add(p->text, node->text, node->length);
}

static inline void print_open(struct printer *p, char c)
{
    p->parentheses++;
    text_char(p->text, c);
}

static inline void print_close(struct printer *p, char c)
{
    p->parentheses--;
    text_char(p->text, c);
}

#endif
