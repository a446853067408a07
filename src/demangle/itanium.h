/*
 * Names of C++ (Itanium C++ ABI, chapter 5.1), inside of the demangler. Parsing makes a graph of
 * nodes (substitutions are shared, so a short name can describe a text of gigabytes), printing
 * walks it. Both are bounded: depth of parsing and printing, number of nodes by the input's length,
 * steps of printing, bytes of text.
 *
 * The spelling is that of LLVM's demangler, which llvm-symbolizer, lldb and Apple's tools show.
 */
#ifndef DEMANGLE_ITANIUM_H
#define DEMANGLE_ITANIUM_H

#include "base/arena.h"
#include "demangle/demangle.h"
#include "demangle/text.h"

#include <stdint.h>

enum node_kind {
    /* Names. `text` and `length` are a spelling, part of the input or constant. */
    NODE_TEXT,
    NODE_STANDARD,  /* an abbreviation of the standard library; text; b: its constructor's name */
    NODE_NESTED,    /* a::b */
    NODE_FRIEND,    /* a::friend b */
    NODE_LOCAL,     /* a::b, a being a function */
    NODE_GLOBAL,    /* ::a */
    NODE_TEMPLATE,  /* a, arguments b */
    NODE_ARGUMENTS, /* <list> */
    NODE_STRUCTOR,  /* a: the class; number: 1 for a destructor */
    NODE_TAGGED,    /* a, ABI tag text */
    NODE_MODULE,    /* a@b, or a module's name: a, text, number: its separator */
    NODE_BINDINGS,  /* [list] */
    NODE_LAMBDA,    /* text: its number; list: parameters; a: template parameters; b, c: requires */
    NODE_UNNAMED,   /* text: its number */
    NODE_CONVERSION, /* operator a */
    NODE_PREFIXED,   /* text before a */
    NODE_BETWEEN,    /* text, a, "-in-", b */
    NODE_ENCODING,   /* a: return type; b: name; list: parameters; c: attributes; quals */
    NODE_ENABLE_IF,  /* [enable_if:list] */
    NODE_REQUIRES,   /* a, b: attributes and the clause after them */
    /* Types. */
    NODE_QUALIFIED,   /* a with quals */
    NODE_VENDOR,      /* a, qualifier text, template arguments b */
    NODE_POINTER,     /* a; text: "*" */
    NODE_REFERENCE,   /* a; number: 1 for && */
    NODE_OBJC,        /* object type a with protocol text */
    NODE_MEMBER,      /* pointer to member: class a, type b */
    NODE_POSTFIXED,   /* a, then text */
    NODE_FUNCTION,    /* a: return type; list: parameters; b: exception specification; quals */
    NODE_THROW,       /* throw(list) */
    NODE_ARRAY,       /* a [b] */
    NODE_VECTOR,      /* a vector[b] */
    NODE_ENCLOSED,    /* text(a) */
    NODE_LIST,        /* list with commas */
    NODE_PACK,        /* a parameter's pack: list, of which an expansion shows one at a time */
    NODE_EXPANSION,   /* a, once for each of the packs' items */
    NODE_FORWARD,     /* a template parameter whose arguments come later: number; a when known */
    NODE_DECLARATION, /* a template parameter's: text before b, or of type a */
    NODE_DECLARATION_PACK,     /* a... */
    NODE_DECLARATION_TEMPLATE, /* template<list> typename b */
    /* Expressions. */
    NODE_BINARY,       /* a text b */
    NODE_PREFIX,       /* text a */
    NODE_POSTFIX,      /* a text */
    NODE_CONDITIONAL,  /* a ? b : c */
    NODE_ACCESS,       /* a text b, without spaces */
    NODE_INDEX,        /* a[b] */
    NODE_CALL,         /* a(list) */
    NODE_CAST,         /* text<a>(b) */
    NODE_CONVERT,      /* (a)(list) */
    NODE_BRACES,       /* a{list}, a may be missing */
    NODE_DESIGNATED,   /* .a = b; number: 1 for [a], 2 for [a ... c] */
    NODE_NEW,          /* new (list) a(b); number: 1 new[], 2 ::, 4 with (b) */
    NODE_FOLD,         /* text; a: pack; b: init; number: 1 for a left fold */
    NODE_INTEGER,      /* text: digits; type a, or number: its suffix's place */
    NODE_FLOAT,        /* text: hexadecimal digits; number: the type's letter */
    NODE_CLOSURE,      /* [](a's parameters){...} */
    NODE_REQUIREMENTS, /* requires (list) { a } */
    NODE_REQUIREMENT,  /* expression a; type constraint b; number: 1 noexcept, 2 type, 4 nested */
};

enum node_quals {
    QUAL_CONST = 1,
    QUAL_VOLATILE = 2,
    QUAL_RESTRICT = 4,
    QUAL_LVALUE = 8,  /* & */
    QUAL_RVALUE = 16, /* && */
};

/* From tightest to loosest, as in the standard's chapter on expressions. */
enum precedence {
    PREC_PRIMARY,
    PREC_POSTFIX,
    PREC_UNARY,
    PREC_CAST,
    PREC_POINTER_TO_MEMBER,
    PREC_MULTIPLICATIVE,
    PREC_ADDITIVE,
    PREC_SHIFT,
    PREC_SPACESHIP,
    PREC_RELATIONAL,
    PREC_EQUALITY,
    PREC_AND,
    PREC_XOR,
    PREC_OR,
    PREC_AND_IF,
    PREC_OR_IF,
    PREC_CONDITIONAL,
    PREC_ASSIGN,
    PREC_COMMA,
    PREC_DEFAULT,
};

struct node;
struct list {
    struct node **items;
    uint32_t count, capacity;
};

struct node {
    uint8_t kind, quals, precedence;
    uint32_t number;
    const char *text;
    size_t length;
    struct node *a, *b, *c;
    struct list list;
};

enum operator_class {
    OPERATOR_BINARY,
    OPERATOR_PREFIX,
    OPERATOR_POSTFIX, /* a prefix when '_' follows */
    OPERATOR_MEMBER,
    OPERATOR_INDEX,
    OPERATOR_CALL,
    OPERATOR_CONDITIONAL,
    OPERATOR_NEW,
    OPERATOR_DELETE,
    OPERATOR_CONVERSION,
    OPERATOR_CAST,
    OPERATOR_OF_TYPE, /* sizeof (type) and its like */
    OPERATOR_OF_EXPRESSION,
};

struct operation {
    char code[3];
    uint8_t class, precedence;
    bool nameless; /* never the name of a function */
    const char *name;
};

const struct operation *itanium_operator(char first, char second);
/* The spelling of a builtin type's letter, or NULL. */
const char *itanium_builtin(char letter);
const char *itanium_builtin_d(char letter);

enum { TEMPLATE_LEVELS = 16 };

struct itanium {
    const char *pos, *end;
    struct arena arena;
    struct list substitutions;
    struct list forwards;                 /* forward references not known yet */
    struct list outer;                    /* template arguments of the encoding */
    struct list *levels[TEMPLATE_LEVELS]; /* NULL: the parameters of a generic lambda */
    unsigned level_count;
    unsigned lambda_level; /* whose parameters are being parsed; ~0: none */
    bool gnu_scopes;       /* what follows `sr` is a whole type, as GCC writes it */
    unsigned synthetic[3]; /* names made up for template parameters: types, values, templates */
    unsigned depth;
    bool may_forward;  /* in a conversion operator's type */
    bool no_arguments; /* template arguments belong to what is around */
    bool in_clause;    /* of requirements: template parameters are not looked up */
};

/* What a name tells about the function that it is of. */
struct name_state {
    bool structor_or_conversion; /* has no return type in its encoding */
    bool ends_with_arguments;
    bool explicit_object;
    uint8_t quals;
    uint32_t forwards_begin;
};

/* The template arguments that T_ may mean. */
struct template_scope {
    struct list outer;
    struct list *levels[TEMPLATE_LEVELS];
    unsigned count;
};

/* Each parser returns NULL for what is not understood. */
/* itanium_special.c */
struct node *itanium_encoding(struct itanium *d);
/* Arguments of an encoding mean nothing outside of it. */
void itanium_enter(struct itanium *d, struct template_scope *saved);
void itanium_leave(struct itanium *d, const struct template_scope *saved);
/* itanium_parse.c: names */
/* [SEQ-ID] _ : what it counts, or ~0. */
uint32_t itanium_sequence(struct itanium *d);
/* (W [P] NAME)*: steps of a module's name behind *module. */
bool itanium_module_name(struct itanium *d, struct node **module);
struct node *itanium_name(struct itanium *d, struct name_state *state);
struct node *itanium_unscoped(struct itanium *d, struct name_state *state, bool *substitution);
struct node *itanium_unnamed(struct itanium *d);
struct node *itanium_source_name(struct itanium *d);
struct node *itanium_operator_name(struct itanium *d, struct name_state *state);
struct node *itanium_substitution(struct itanium *d);
/* itanium_template.c */
struct node *itanium_arguments(struct itanium *d, bool tag);
struct node *itanium_argument(struct itanium *d);
struct node *itanium_template_parameter(struct itanium *d);
struct node *itanium_parameter_declaration(struct itanium *d, struct list *parameters);
bool itanium_is_declaration(const struct itanium *d);
struct node *itanium_clause(struct itanium *d);
/* itanium_type.c */
struct node *itanium_type(struct itanium *d);
struct node *itanium_decltype(struct itanium *d);
uint8_t itanium_quals(struct itanium *d);
/* itanium_expr.c */
struct node *itanium_expression(struct itanium *d);
struct node *itanium_primary(struct itanium *d);
/* itanium_print.c: false when the graph is too deep, or printing takes too long. */
bool itanium_print(const struct node *root, enum demangle_style style, struct text *text);

/* itanium.c: nodes and the input. */
enum { ITANIUM_DEPTH = 512 };
struct node *itanium_node(struct itanium *d, enum node_kind kind, struct node *a, struct node *b);
struct node *itanium_text(struct itanium *d, enum node_kind kind, const char *text, size_t length,
                          struct node *a);
static inline struct node *itanium_string(struct itanium *d, enum node_kind kind, const char *text,
                                          struct node *a)
{
    return itanium_text(d, kind, text, strlen(text), a);
}

static inline struct node *itanium_word(struct itanium *d, const char *word)
{
    return itanium_string(d, NODE_TEXT, word, NULL);
}
bool itanium_push(struct itanium *d, struct list *list, struct node *node);
/* Items up to 'E' (which is taken), each read by `parse`. */
bool itanium_until_end(struct itanium *d, struct list *list,
                       struct node *(*parse)(struct itanium *));
/* A decimal number, with 'n' before it for a negative one when `negative`. False: none there. */
bool itanium_number(struct itanium *d, bool negative, const char **text, size_t *length);

/* The character `ahead`, NUL behind the end. */
static inline char look(const struct itanium *d, size_t ahead)
{
    return (size_t)(d->end - d->pos) > ahead ? d->pos[ahead] : '\0';
}

static inline bool take(struct itanium *d, char c)
{
    if (d->pos == d->end || *d->pos != c)
        return false;
    d->pos++;
    return true;
}

static inline bool take_two(struct itanium *d, const char *two)
{
    if (look(d, 0) != two[0] || look(d, 1) != two[1] || d->end - d->pos < 2)
        return false;
    d->pos += 2;
    return true;
}

static inline bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Demangles the whole of a name. `type`: it may be a type. False: not understood. */
bool itanium_demangle(const char *name, size_t length, const struct demangle_options *options,
                      struct text *text);

#endif
