/* Demangling: the vectors of libc++abi and rustc-demangle, the choice by prefix, and the caps. */
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

static void expect(const char *mangled, const char *wanted)
{
    assert_true(demangle(mangled, text, sizeof(text)));
    assert_string_equal(text, wanted);
}

static void test_cpp(void **state)
{
    (void)state;
    expect("_ZN4hang6Server4waitEi", "hang::Server::wait(int)");
    expect("__ZN4hang6Server4waitEi", "hang::Server::wait(int)");
    expect("_ZSt4sortIPiEvT_S1_", "void std::sort<int*>(int*, int*)");
    expect("_Z3foov.cold", "foo() [clone .cold]");
    expect("_ZNSt6vectorIiSaIiEEixEm",
           "std::vector<int, std::allocator<int> >::operator[](unsigned "
           "long)");
}

static void test_rust(void **state)
{
    (void)state;
    expect("_ZN4core6result13unwrap_failed17h0123456789abcdefE", "core::result::unwrap_failed");
    expect("_ZN61_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$3fmt"
           "17h0123456789abcdefE",
           "<alloc::vec::Vec<T> as core::fmt::Debug>::fmt");
    expect("_ZN9backtrace3foo17hbb467fcdaea5d79bE.llvm.A5310EB9", "backtrace::foo");
    expect("_RNvC6_123foo3bar", "123foo::bar");
    expect("_RNCNCNgCs6DXkGYLi8lr_2cc5spawn00B5_", "cc::spawn::{closure#0}::{closure#0}");
}

static void test_others_are_left_alone(void **state)
{
    (void)state;
    static const char *const names[] = {
        "main",   "",       "_",      "_Z",  "_R",          "_Zoo_keeper", "__libc_start_main",
        "Z3foov", "_start", "__Rest", "_ZN", "_ZN3fooEv17h"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        assert_false(demangle(names[i], text, sizeof(text)));
}

static void test_output_is_cut_at_the_buffer(void **state)
{
    (void)state;
    char small[12];
    assert_true(demangle("_ZN4hang6Server4waitEi", small, sizeof(small)));
    assert_string_equal(small, "hang::Se...");
    /* Exactly fitting is not cut. */
    char exact[sizeof("foo()")];
    assert_true(demangle("_Z3foov", exact, sizeof(exact)));
    assert_string_equal(exact, "foo()");
}

/* Each parameter is a function type that names the one before it twice: 2^60 characters. */
static void test_exploding_name_is_cut(void **state)
{
    (void)state;
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    char name[2048] = "_Z1fPFvvE";
    size_t used = strlen(name);
    for (int i = 0; i < 60; i++) {
        int id = 2 * i;
        char ref[8];
        if (id < 36)
            snprintf(ref, sizeof(ref), "S%c_", digits[id]);
        else
            snprintf(ref, sizeof(ref), "S%c%c_", digits[id / 36], digits[id % 36]);
        used += (size_t)snprintf(name + used, sizeof(name) - used, "PFv%s%sE", ref, ref);
    }
    assert_true(demangle(name, text, sizeof(text)));
    assert_int_equal(strlen(text), sizeof(text) - 1);
    assert_string_equal(text + sizeof(text) - 4, "...");
}

static void test_input_cap(void **state)
{
    (void)state;
    static char name[DEMANGLE_MAX_INPUT + 2], large[8 * DEMANGLE_MAX_INPUT];
    memset(name, 'a', DEMANGLE_MAX_INPUT + 1);
    memcpy(name, "_Z8186", 6); /* and the rest of the buffer is its only identifier */
    assert_false(demangle(name, large, sizeof(large)));
    name[DEMANGLE_MAX_INPUT] = '\0';
    assert_true(demangle(name, large, sizeof(large)));

    /* As deep as the cap lets it nest: understood or not, it comes back. */
    memcpy(name, "_Z1f", 4);
    memset(name + 4, 'P', DEMANGLE_MAX_INPUT - 5);
    demangle(name, large, sizeof(large));
}

/* "> >" and ">>" are two spellings of one name. */
static void close_brackets(char *name)
{
    for (char *at; (at = strstr(name, "> >")) != NULL;)
        memmove(at + 1, at + 2, strlen(at + 2) + 1);
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

/* The shares that docs/dependencies.md states. The rest is known: expressions inside decltype and
 * template arguments are spelt differently, and the newest constructs are not understood. */
static void test_itanium_vectors(void **state)
{
    (void)state;
    FILE *file = vectors("itanium.tsv");
    char *line = NULL;
    size_t room = 0, total = 0, equal = 0, unhandled = 0;
    for (ssize_t length; (length = getline(&line, &room, file)) > 0; total++) {
        line[strcspn(line, "\n")] = '\0';
        char *wanted = strchr(line, '\t');
        assert_non_null(wanted);
        *wanted++ = '\0';
        static char large[1 << 18];
        if (!demangle(line, large, sizeof(large))) {
            unhandled++;
            continue;
        }
        close_brackets(large);
        close_brackets(wanted);
        equal += strcmp(large, wanted) == 0;
    }
    free(line);
    fclose(file);
    print_message("%zu of %zu names equal, %zu not understood\n", equal, total, unhandled);
    assert_true(total > 10000);
    assert_true(equal * 1000 >= total * 985);
    assert_true(unhandled * 1000 <= total * 5);
}

static void test_rust_vectors(void **state)
{
    (void)state;
    /* Names without a hash are C++ to everybody; pattern types came after the library, and Unicode
     * escapes in legacy names are kept. */
    static const char *const known[] = {"u10e1", "_RMC0W", ".exit.i.i", "FORK_HANDLER_REGISTERED"};
    FILE *file = vectors("rust.tsv");
    char *line = NULL;
    size_t room = 0, compared = 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *kind = strtok(line, "\t"), *mangled = strtok(NULL, "\t"), *wanted = strtok(NULL, "");
        assert_non_null(wanted);
        bool skipped = strstr(kind, "nohash") == NULL || mangled[0] != '_';
        skipped |= mangled[1] == 'Z' && strstr(mangled, "17h") == NULL;
        for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
            skipped |= strstr(mangled, known[i]) != NULL;
        if (skipped || !demangle(mangled, text, sizeof(text)))
            continue;
        compared++;
        assert_string_equal(text, wanted);
    }
    free(line);
    fclose(file);
    print_message("%zu Rust names equal\n", compared);
    assert_true(compared >= 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpp),
        cmocka_unit_test(test_rust),
        cmocka_unit_test(test_others_are_left_alone),
        cmocka_unit_test(test_output_is_cut_at_the_buffer),
        cmocka_unit_test(test_exploding_name_is_cut),
        cmocka_unit_test(test_input_cap),
        cmocka_unit_test(test_itanium_vectors),
        cmocka_unit_test(test_rust_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
