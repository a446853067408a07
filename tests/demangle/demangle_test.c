/*
 * Demangling: the choice of the language, suffixes, styles, hostile names, and the vectors of
 * libc++abi and rustc-demangle, whole and cut behind every byte.
 */
#include "demangle/demangle.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static char text[DEMANGLE_TEXT_SIZE];

static void expect_as(const char *mangled, const struct demangle_options *options,
                      enum demangle_language language, const char *wanted)
{
    enum demangle_language found = demangle(mangled, options, text, sizeof text);
    if (found != language || (found != DEMANGLE_NONE && strcmp(text, wanted) != 0))
        fail_msg("%s: language %d, %s instead of %s", mangled, found, found ? text : "nothing",
                 wanted ? wanted : "nothing");
}

static void expect(const char *mangled, const char *wanted)
{
    expect_as(mangled, NULL, DEMANGLE_CXX, wanted);
}

static void expect_rust(const char *mangled, const char *wanted)
{
    expect_as(mangled, NULL, DEMANGLE_RUST, wanted);
}

static void test_cpp(void **state)
{
    (void)state;
    expect("_ZN4hang6Server4waitEi", "hang::Server::wait(int)");
    expect("__ZN4hang6Server4waitEi", "hang::Server::wait(int)");
    expect("_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)");
    expect("_ZNSt6vectorIiSaIiEEixEm",
           "std::vector<int, std::allocator<int>>::operator[](unsigned long)");
    expect("___ZN4hang4waitEv_block_invoke_2", "invocation function for block in hang::wait()");
    expect("_GLOBAL__sub_I__Z3foov", "global constructors keyed to foo()");
    expect("_GLOBAL__sub_I_main.cpp", "global constructors keyed to main.cpp");
    expect("_ZZN4hang3runEvENUlvE_D1Ev", "hang::run()::'lambda'()::~'lambda'()");
}

/* GCC writes the scope in an expression as a type; the names are of g++ 12. */
static void test_scopes_of_gcc(void **state)
{
    (void)state;
    expect("_Z2f1IiE1IIXplstT_srSt7is_sameIS1_iE5valueEES1_",
           "I<sizeof (int) + std::is_same<int, int>::value> f1<int>(int)");
    expect("_Z2f3IiE1IIXsr2glIT_E1vEES2_", "I<gl<int>::v> f3<int>(int)");
    expect("_Z2f4IiE1IIXsrN2glIT_E1xE1yEES2_", "I<gl<int>::x::y> f4<int>(int)");
    expect("_Z2f5IiE1IIXsrN2ns2trIT_E2inIPS3_EE1wEES3_",
           "I<ns::tr<int>::in<int*>::w> f5<int>(int)");
    expect("_Z2f8IiEDTclsrN2ns2trIT_EE1gcvS2__EEES2_",
           "decltype(ns::tr<int>::g((int)())) f8<int>(int)");
    expect("_Z3f10IiE1IIXsrNSt6chrono8durationIT_St5ratioILl1ELl1EEE6periodE3numEES3_",
           "I<std::chrono::duration<int, std::ratio<1l, 1l>>::period::num> f10<int>(int)");
    expect("_Z3f14IicE1IIXplplsrSt7is_sameIT_T0_E5valuesrN2ns2trIS2_EE1vsrS4_5valueEES2_S3_PS4_",
           "I<std::is_same<int, char>::value + ns::tr<int>::v + std::is_same<int, char>::value> "
           "f14<int, char>(int, char, std::is_same<int, char>*)");
    expect("_Z2f6I1SE1IIXsrT_1vEES2_", "I<S::v> f6<S>(S)"); /* as the ABI says */
}

static void test_rust(void **state)
{
    (void)state;
    expect_rust("_ZN4core6result13unwrap_failed17h0123456789abcdefE",
                "core::result::unwrap_failed");
    expect_rust("_ZN61_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt"
                "17h0123456789abcdefE",
                "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt");
    expect_rust("_ZN9backtrace3foo17hbb467fcdaea5d79bE.llvm.A5310EB9", "backtrace::foo");
    expect_rust("_RNvC6_123foo3bar", "123foo::bar");
    expect_rust("__RNvC6_123foo3bar", "123foo::bar");
    expect_rust("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}");
    const struct demangle_options hashes = {.hashes = true};
    expect_as("_RNvCs9_2cc5spawn", &hashes, DEMANGLE_RUST, "cc[b]::spawn");
    expect_as("_ZN3foo17h0123456789abcdefE", &hashes, DEMANGLE_RUST, "foo::h0123456789abcdef");
    /* Types and constants that the vectors do not have. */
    expect_rust("_RMC0FG_KCRL0_hQcEu", "<for<'a> extern \"C\" fn(&'a u8, &mut char)>");
    expect_rust("_RMC0TPhOASlj3_E", "<(*const u8, *mut [[i32]; 3])>");
    expect_rust("_RINvC1a1bKb1_Kc61_Kln5_Koffffffffffffffff0_Kc27_KRe68690a_E",
                "a::b::<true, 'a', -5, 0xffffffffffffffff0, '\\'', \"hi\\n\">");
    expect_rust("_RINvC1a1bKAl1_l2_EKTb0_EKVC1sS1xh1_1yh2_EE",
                "a::b::<{[1, 2]}, {(false,)}, {s { x: 1, y: 2 }}>");
}

/* Who is asked, and who is told to be the answer. */
static void test_languages(void **state)
{
    (void)state;
    expect_as("$s4main3fooyyF", NULL, DEMANGLE_SWIFT, "main.foo() -> ()");
    expect_as("_$s4main3fooyyF", NULL, DEMANGLE_SWIFT, "main.foo() -> ()");
    expect_as("_TtC4main3Foo", NULL, DEMANGLE_SWIFT, "main.Foo");
    expect("_ZN3foo3barE", "foo::bar");
    expect("_ZN3foo5h05afE", "foo::h05af"); /* too short for a hash */
    const struct demangle_options rust = {.language = DEMANGLE_RUST};
    const struct demangle_options cxx = {.language = DEMANGLE_CXX};
    const struct demangle_options swift = {.language = DEMANGLE_SWIFT};
    expect_as("_ZN3foo5h05afE", &rust, DEMANGLE_RUST, "foo");
    expect_as("ZN4testE", &rust, DEMANGLE_RUST, "test");
    expect_as("_ZN3foo17h0123456789abcdefE", &cxx, DEMANGLE_CXX, "foo::h0123456789abcdef");
    expect_as("_Z3foov", &rust, DEMANGLE_NONE, NULL);
    expect_as("_Z3foov", &swift, DEMANGLE_NONE, NULL);
    expect_as("$s4main3fooyyF", &cxx, DEMANGLE_NONE, NULL);
    const struct demangle_options types = {.types = true};
    expect_as("PKc", &types, DEMANGLE_CXX, "char const*");
}

static void test_suffixes(void **state)
{
    (void)state;
    static const char *const suffixes[] = {
        ".cold",       ".cold.3",     ".part.1",       ".isra.0", ".constprop.0.isra.2",
        ".lto_priv.0", ".llvm.12345", ".__uniq.98765", ".resume", ".destroy",
        ".eh",         ".localalias", ".123"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        char name[128], wanted[128];
        snprintf(name, sizeof name, "_ZN3foo3barEi%s", suffixes[i]);
        snprintf(wanted, sizeof wanted, "foo::bar(int) (%s)", suffixes[i]);
        expect(name, wanted);
        strcat(name, "@plt");
        strcat(wanted, "@plt");
        expect(name, wanted);
        snprintf(name, sizeof name, "_ZN3foo3barE%s", suffixes[i]); /* without parameters */
        snprintf(wanted, sizeof wanted, "foo::bar (%s)", suffixes[i]);
        expect(name, wanted);
    }
    expect("_Z3foov@plt", "foo()@plt");
    expect("_Z3foo@@V_1.2", "foo@@V_1.2");
    expect("_Z3foov@V_1", "foo()@V_1");
    expect_rust("_RNvC1a1b.cold", "a::b.cold");
    expect_rust("_RNvC1a1b.llvm.1F", "a::b");
    expect_rust("_RNvC1a1b@plt", "a::b@plt");
    expect_as("$s4main3fooyyF@plt", NULL, DEMANGLE_SWIFT, "main.foo() -> ()@plt");
}

static void test_styles(void **state)
{
    (void)state;
    static const struct {
        const char *mangled, *wanted[3]; /* full, without parameters, simplified */
    } names[] = {
        {"_ZSt4sortIPiEvT_S1_",
         {"void std::sort<int*>(int*, int*)", "std::sort<int*>", "std::sort"}},
        {"_ZNKSt6vectorIiSaIiEE4sizeEv.cold",
         {"std::vector<int, std::allocator<int>>::size() const (.cold)",
          "std::vector<int, std::allocator<int>>::size (.cold)", "std::vector::size"}},
        {"_ZThn8_N1A1fEi",
         {"non-virtual thunk to A::f(int)", "non-virtual thunk to A::f",
          "non-virtual thunk to A::f"}},
        {"_ZZ1fiENKUlcE_clEc",
         {"f(int)::'lambda'(char)::operator()(char) const", "f(int)::'lambda'(char)::operator()",
          "f::'lambda'::operator()"}},
        {"_Z1fB5cxx11v", {"f[abi:cxx11]()", "f[abi:cxx11]", "f"}},
        {"_RINvC1a1bhE", {"a::b::<u8>", "a::b::<u8>", "a::b"}},
        {"_RNvYINtC1a1ShENtB5_1T1f",
         {"<a::S<u8> as a::T>::f", "<a::S<u8> as a::T>::f", "<a::S as a::T>::f"}},
        {"$s4main3fooyySiF", {"main.foo(Swift.Int) -> ()", "foo(_:)", "foo(_:)"}},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (unsigned style = 0; style < 3; style++) {
            const struct demangle_options options = {.style = (enum demangle_style)style};
            assert_int_not_equal(demangle(names[i].mangled, &options, text, sizeof text), 0);
            assert_string_equal(text, names[i].wanted[style]);
        }
    }
}

static void test_others_are_left_alone(void **state)
{
    (void)state;
    static const char *const names[] = {
        "main",    "",       "_",         "_Z",           "_R",           "_Zoo_keeper",
        "Z3foov",  "_start", "__Rest",    "_ZN",          "_ZN3fooEv17h", "__libc_start_main",
        "_ZSz",    "_Z1fS_", "_ZN1aC9Ev", "-[Hang wait]", "+[A _Z3foov]", "__wait_block_invoke",
        "_RC",     "_RB_",   "_RNvB_1a",  "_RIC1aL0_E",   "_Z1fIiEvT0_",  "_OBJC_CLASS_$_Hang",
        "_RMC0p1", "_Z1fUa", "_Z1fDv_",   "_Z1XIXsZE",    "_RC9999999a",  "OUTLINED_FUNCTION_3"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        expect_as(names[i], NULL, DEMANGLE_NONE, NULL);
    expect_as("__29-[Hang waitFor:]_block_invoke", NULL, DEMANGLE_NONE, NULL);
    expect_as("_Z99999999999999999999999f", NULL, DEMANGLE_NONE, NULL);
}

static void test_output_is_cut_at_the_buffer(void **state)
{
    (void)state;
    char small[12];
    assert_true(demangle("_ZN4hang6Server4waitEi", NULL, small, sizeof(small)));
    assert_string_equal(small, "hang::Se...");
    assert_true(demangle("_RNvC4hang10fn_to_wait", NULL, small, sizeof(small)));
    assert_string_equal(small, "hang::fn...");
    /* Exactly fitting is not cut. */
    char exact[sizeof("foo()")];
    assert_true(demangle("_Z3foov", NULL, exact, sizeof(exact)));
    assert_string_equal(exact, "foo()");
}

/* The place of a substitution: S_, S0_, ... */
static const char *substitution(unsigned place)
{
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    static char name[12];
    size_t at = sizeof name - 1;
    name[--at] = '_';
    if (place > 0) {
        unsigned rest = place - 1;
        do {
            name[--at] = digits[rest % 36];
            rest /= 36;
        } while (rest > 0);
    }
    name[--at] = 'S';
    return name + at;
}

/* Each parameter is a function type that names the one before it twice: 2^60 characters. */
static void test_exploding_name_is_cut(void **state)
{
    (void)state;
    char name[2048] = "_Z1fPFvvE";
    size_t used = strlen(name);
    for (unsigned i = 0; i < 60; i++) {
        used +=
            (size_t)snprintf(name + used, sizeof(name) - used, "PFv%s", substitution(2 * i + 1));
        used += (size_t)snprintf(name + used, sizeof(name) - used, "%sE", substitution(2 * i + 1));
    }
    assert_true(demangle(name, NULL, text, sizeof(text)));
    assert_int_equal(strlen(text), sizeof(text) - 1);
    assert_string_equal(text + sizeof(text) - 4, "...");
}

/* What is printed twice at every level, in Rust. */
static void test_exploding_rust_name_is_cut(void **state)
{
    (void)state;
    char name[2048] = "_RMC0";
    size_t used = strlen(name), start = used - 2; /* references count from behind "_R" */
    used += (size_t)snprintf(name + used, sizeof name - used, "FTThhE");
    for (unsigned i = 0; i < 40; i++) { /* T <what was before> B<that> E, built from the outside */
        memmove(name + start + 4, name + start + 3, used - start - 2);
        name[start + 3] = 'T';
        used++;
        used += (size_t)snprintf(name + used, sizeof name - used, "B%c_E", i < 10 ? '5' : 'a');
        name[used] = '\0';
        demangle(name, NULL, text, sizeof text); /* understood or not, it comes back */
    }
}

/* Text that is made and taken back: an expansion of nothing has no output that could end it. */
static void test_exploding_expansion_of_nothing_ends(void **state)
{
    (void)state;
    static char name[8192];
    size_t used = (size_t)snprintf(name, sizeof name, "_Z1fIJEEvDpPFvT_T_E");
    for (unsigned i = 2; i < 200; i++) {
        used += (size_t)snprintf(name + used, sizeof name - used, "DpPFv%s", substitution(i));
        used += (size_t)snprintf(name + used, sizeof name - used, "%sE", substitution(i));
        for (unsigned style = 0; style < 3; style++) {
            const struct demangle_options options = {.style = (enum demangle_style)style};
            demangle(name, &options, text, sizeof text);
        }
    }
}

static void test_input_cap(void **state)
{
    (void)state;
    static char name[DEMANGLE_MAX_INPUT + 2], large[8 * DEMANGLE_MAX_INPUT];
    memset(name, 'a', DEMANGLE_MAX_INPUT + 1);
    memcpy(name, "_Z65529", 7); /* and the rest of the buffer is its only identifier */
    assert_false(demangle(name, NULL, large, sizeof(large)));
    name[DEMANGLE_MAX_INPUT] = '\0';
    assert_true(demangle(name, NULL, large, sizeof(large)));
}

/* As deep as they can nest: understood or not, they come back. */
static void test_deep_names(void **state)
{
    (void)state;
    static const char *const deep[][2] = {
        {"_Z1f", "P"},     {"_Z1f", "K"},        {"_Z1f", "1AI"},  {"_Z", "Z1fv"},
        {"_Z", "N"},       {"_Z1f", "FPF"},      {"_Z1f", "A_"},   {"_Z1f", "M1A"},
        {"_Z1fI", "J"},    {"_Z1fI", "Xng"},     {"_Z1fIX", "ds"}, {"_Z1fIX", "cl"},
        {"_Z1fIX", "il"},  {"_Z1f", "U1a"},      {"_Z1fI", "Tt"},  {"_Z", "T"},
        {"_Z", "GVZ1fvE"}, {"_Z1fIXil", "di1a"}, {"_Z1f", "Ts"},   {"_Z1fI", "LZ"},
        {"_Z1fI", "Tp"},   {"_Z1f", "DT"},       {"_Z1f", "DpS_"}, {"_Z1f", "UlS_"},
        {"_Zcv", "T_I"},   {"_RMC0", "T"},       {"_R", "Nv"},     {"_RMC0", "F"},
        {"_RMC0", "R"},    {"_RMC0", "DI"},      {"_R", "YB_"},    {"_RIC0K", "A"},
        {"_RIC0K", "R"},   {"_RMC0Wm", "O"},     {"_R", "I"},      {"_R", "M"},
        {"_RMC0FG", "z"},  {"$s", "Sg"},         {"_T", "F"},      {"_Z1f", "R"}};
    static char name[DEMANGLE_MAX_INPUT + 1];
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        size_t used = strlen(deep[i][0]), step = strlen(deep[i][1]);
        memcpy(name, deep[i][0], used);
        for (; used + step <= DEMANGLE_MAX_INPUT; used += step)
            memcpy(name + used, deep[i][1], step);
        name[used] = '\0';
        demangle(name, NULL, text, sizeof text);
    }
    /* Pointers to pointers by substitution: deep without any depth of parsing. */
    size_t used = (size_t)snprintf(name, sizeof name, "_Z1fPi");
    for (unsigned i = 0; used + 16 < sizeof name; i++)
        used += (size_t)snprintf(name + used, sizeof name - used, "P%s", substitution(i));
    demangle(name, NULL, text, sizeof text);
}

static FILE *vectors(const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/demangle/%s", FW_SHARED_DATA, name);
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        print_message("no %s: skipped\n", name);
        skip();
    }
    return file;
}

/* Cut behind every byte, each in memory that ends there. */
static void cut_everywhere(const char *name)
{
    for (size_t length = 0; name[length]; length++) {
        char *part = strndup(name, length);
        assert_non_null(part);
        if (demangle(part, NULL, text, sizeof text))
            assert_true(strlen(text) < sizeof text);
        free(part);
    }
}

static void test_itanium_vectors(void **state)
{
    (void)state;
    FILE *file = vectors("itanium.tsv");
    char *line = NULL;
    size_t room = 0, total = 0, equal = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0; total++) {
        line[strcspn(line, "\n")] = '\0';
        char *wanted = strchr(line, '\t');
        assert_non_null(wanted);
        *wanted++ = '\0';
        static char large[1 << 18];
        const struct demangle_options options = {.types = line[0] != '_'};
        if (demangle(line, &options, large, sizeof large) && strcmp(large, wanted) == 0)
            equal++;
        else
            print_message("not equal: %s\n", line);
        cut_everywhere(line);
    }
    free(line);
    fclose(file);
    print_message("%zu of %zu C++ names equal\n", equal, total);
    assert_true(total > 10000);
    /* One qualifies with & a function that is no member's. */
    assert_true(total - equal <= 1);
}

static void test_rust_vectors(void **state)
{
    (void)state;
    FILE *file = vectors("rust.tsv");
    char *line = NULL;
    size_t room = 0, compared = 0;
    for (; getline(&line, &room, file) > 0; compared++) {
        line[strcspn(line, "\n")] = '\0';
        char *kind = strtok(line, "\t"), *mangled = strtok(NULL, "\t"), *wanted = strtok(NULL, "");
        assert_non_null(wanted);
        const struct demangle_options options = {.language = DEMANGLE_RUST,
                                                 .hashes = strstr(kind, "nohash") == NULL};
        expect_as(mangled, &options, DEMANGLE_RUST, wanted);
        cut_everywhere(mangled);
    }
    free(line);
    fclose(file);
    print_message("%zu Rust names equal\n", compared);
    assert_int_equal(compared, 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpp),
        cmocka_unit_test(test_scopes_of_gcc),
        cmocka_unit_test(test_rust),
        cmocka_unit_test(test_languages),
        cmocka_unit_test(test_suffixes),
        cmocka_unit_test(test_styles),
        cmocka_unit_test(test_others_are_left_alone),
        cmocka_unit_test(test_output_is_cut_at_the_buffer),
        cmocka_unit_test(test_exploding_name_is_cut),
        cmocka_unit_test(test_exploding_rust_name_is_cut),
        cmocka_unit_test(test_exploding_expansion_of_nothing_ends),
        cmocka_unit_test(test_input_cap),
        cmocka_unit_test(test_deep_names),
        cmocka_unit_test(test_itanium_vectors),
        cmocka_unit_test(test_rust_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
