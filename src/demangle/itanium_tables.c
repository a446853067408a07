/* The fixed words of C++ names: operators and builtin types (Itanium C++ ABI 5.1.3.3, 5.1.5.2). */
#include "demangle/itanium.h"

/* Sorted by code. */
static const struct operation operators[] = {
    {"aN", OPERATOR_BINARY, PREC_ASSIGN, false, "&="},
    {"aS", OPERATOR_BINARY, PREC_ASSIGN, false, "="},
    {"aa", OPERATOR_BINARY, PREC_AND_IF, false, "&&"},
    {"ad", OPERATOR_PREFIX, PREC_UNARY, false, "&"},
    {"an", OPERATOR_BINARY, PREC_AND, false, "&"},
    {"at", OPERATOR_OF_TYPE, PREC_UNARY, true, "alignof "},
    {"aw", OPERATOR_PREFIX, PREC_UNARY, false, " co_await"},
    {"az", OPERATOR_OF_EXPRESSION, PREC_UNARY, true, "alignof "},
    {"cc", OPERATOR_CAST, PREC_POSTFIX, true, "const_cast"},
    {"cl", OPERATOR_CALL, PREC_POSTFIX, false, "()"},
    {"cm", OPERATOR_BINARY, PREC_COMMA, false, ","},
    {"co", OPERATOR_PREFIX, PREC_UNARY, false, "~"},
    {"cv", OPERATOR_CONVERSION, PREC_CAST, false, ""},
    {"dV", OPERATOR_BINARY, PREC_ASSIGN, false, "/="},
    {"da", OPERATOR_DELETE, PREC_UNARY, false, " delete[]"},
    {"dc", OPERATOR_CAST, PREC_POSTFIX, true, "dynamic_cast"},
    {"de", OPERATOR_PREFIX, PREC_UNARY, false, "*"},
    {"dl", OPERATOR_DELETE, PREC_UNARY, false, " delete"},
    {"ds", OPERATOR_MEMBER, PREC_POINTER_TO_MEMBER, true, ".*"},
    {"dt", OPERATOR_MEMBER, PREC_POSTFIX, true, "."},
    {"dv", OPERATOR_BINARY, PREC_MULTIPLICATIVE, false, "/"},
    {"eO", OPERATOR_BINARY, PREC_ASSIGN, false, "^="},
    {"eo", OPERATOR_BINARY, PREC_XOR, false, "^"},
    {"eq", OPERATOR_BINARY, PREC_EQUALITY, false, "=="},
    {"ge", OPERATOR_BINARY, PREC_RELATIONAL, false, ">="},
    {"gt", OPERATOR_BINARY, PREC_RELATIONAL, false, ">"},
    {"ix", OPERATOR_INDEX, PREC_POSTFIX, false, "[]"},
    {"lS", OPERATOR_BINARY, PREC_ASSIGN, false, "<<="},
    {"le", OPERATOR_BINARY, PREC_RELATIONAL, false, "<="},
    {"ls", OPERATOR_BINARY, PREC_SHIFT, false, "<<"},
    {"lt", OPERATOR_BINARY, PREC_RELATIONAL, false, "<"},
    {"mI", OPERATOR_BINARY, PREC_ASSIGN, false, "-="},
    {"mL", OPERATOR_BINARY, PREC_ASSIGN, false, "*="},
    {"mi", OPERATOR_BINARY, PREC_ADDITIVE, false, "-"},
    {"ml", OPERATOR_BINARY, PREC_MULTIPLICATIVE, false, "*"},
    {"mm", OPERATOR_POSTFIX, PREC_POSTFIX, false, "--"},
    {"na", OPERATOR_NEW, PREC_UNARY, false, " new[]"},
    {"ne", OPERATOR_BINARY, PREC_EQUALITY, false, "!="},
    {"ng", OPERATOR_PREFIX, PREC_UNARY, false, "-"},
    {"nt", OPERATOR_PREFIX, PREC_UNARY, false, "!"},
    {"nw", OPERATOR_NEW, PREC_UNARY, false, " new"},
    {"nx", OPERATOR_OF_EXPRESSION, PREC_UNARY, true, "noexcept "},
    {"oR", OPERATOR_BINARY, PREC_ASSIGN, false, "|="},
    {"oo", OPERATOR_BINARY, PREC_OR_IF, false, "||"},
    {"or", OPERATOR_BINARY, PREC_OR, false, "|"},
    {"pL", OPERATOR_BINARY, PREC_ASSIGN, false, "+="},
    {"pl", OPERATOR_BINARY, PREC_ADDITIVE, false, "+"},
    {"pm", OPERATOR_MEMBER, PREC_POINTER_TO_MEMBER, false, "->*"},
    {"pp", OPERATOR_POSTFIX, PREC_POSTFIX, false, "++"},
    {"ps", OPERATOR_PREFIX, PREC_UNARY, false, "+"},
    {"pt", OPERATOR_MEMBER, PREC_POSTFIX, false, "->"},
    {"qu", OPERATOR_CONDITIONAL, PREC_CONDITIONAL, false, "?"},
    {"rM", OPERATOR_BINARY, PREC_ASSIGN, false, "%="},
    {"rS", OPERATOR_BINARY, PREC_ASSIGN, false, ">>="},
    {"rc", OPERATOR_CAST, PREC_POSTFIX, true, "reinterpret_cast"},
    {"rm", OPERATOR_BINARY, PREC_MULTIPLICATIVE, false, "%"},
    {"rs", OPERATOR_BINARY, PREC_SHIFT, false, ">>"},
    {"sc", OPERATOR_CAST, PREC_POSTFIX, true, "static_cast"},
    {"ss", OPERATOR_BINARY, PREC_SPACESHIP, false, "<=>"},
    {"st", OPERATOR_OF_TYPE, PREC_UNARY, true, "sizeof "},
    {"sz", OPERATOR_OF_EXPRESSION, PREC_UNARY, true, "sizeof "},
    {"te", OPERATOR_OF_EXPRESSION, PREC_POSTFIX, true, "typeid "},
    {"ti", OPERATOR_OF_TYPE, PREC_POSTFIX, true, "typeid "},
};

const struct operation *itanium_operator(char first, char second)
{
    size_t low = 0, high = sizeof operators / sizeof *operators;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const struct operation *at = &operators[middle];
        if (at->code[0] == first && at->code[1] == second)
            return at;
        if (at->code[0] < first || (at->code[0] == first && at->code[1] < second))
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

const char *itanium_builtin(char letter)
{
    static const char *const names[26] = {
        ['a' - 'a'] = "signed char", ['b' - 'a'] = "bool",
        ['c' - 'a'] = "char",        ['d' - 'a'] = "double",
        ['e' - 'a'] = "long double", ['f' - 'a'] = "float",
        ['g' - 'a'] = "__float128",  ['h' - 'a'] = "unsigned char",
        ['i' - 'a'] = "int",         ['j' - 'a'] = "unsigned int",
        ['l' - 'a'] = "long",        ['m' - 'a'] = "unsigned long",
        ['n' - 'a'] = "__int128",    ['o' - 'a'] = "unsigned __int128",
        ['s' - 'a'] = "short",       ['t' - 'a'] = "unsigned short",
        ['v' - 'a'] = "void",        ['w' - 'a'] = "wchar_t",
        ['x' - 'a'] = "long long",   ['y' - 'a'] = "unsigned long long",
        ['z' - 'a'] = "...",
    };
    return letter >= 'a' && letter <= 'z' ? names[letter - 'a'] : NULL;
}

const char *itanium_builtin_d(char letter)
{
    switch (letter) {
    case 'a': return "auto";
    case 'c': return "decltype(auto)";
    case 'd': return "decimal64";
    case 'e': return "decimal128";
    case 'f': return "decimal32";
    case 'h': return "half";
    case 'i': return "char32_t";
    case 'n': return "std::nullptr_t";
    case 's': return "char16_t";
    case 'u': return "char8_t";
    default: return NULL;
    }
}
