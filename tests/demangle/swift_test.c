/* Swift names: the vectors of the Swift project in both styles, the caps, and what is cut short. */
#include "demangle/swift.h"
#include "demangle/swift_old.h"
#include "demangle/swift_print.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TEXT = 1 << 16, STACK = 256 << 10 };

static char text[TEXT];

static bool demangle_as(const char *mangled, enum swift_style style)
{
    return swift_demangle(mangled, strlen(mangled), style, text, sizeof(text));
}

static void expect(const char *mangled, const char *wanted)
{
    if (!demangle_as(mangled, SWIFT_FULL))
        fail_msg("%s is not understood", mangled);
    assert_string_equal(text, wanted);
}

/* ---- what the vectors do not have ---- */

static void test_prefixes(void **state)
{
    (void)state;
    static const char *const forms[] = {"$s4main3fooyyF",  "_$s4main3fooyyF", "__$s4main3fooyyF",
                                        "$S4main3fooyyF",  "$e4main3fooyyF",  "_$e4main3fooyyF",
                                        "_T04main3fooyyF", "__T04main3fooyyF"};
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        assert_true(swift_is_mangled(forms[i]));
        expect(forms[i], "main.foo() -> ()");
    }
    expect("__TF4main3fooFT_T_", "main.foo() -> ()");
    static const char *const others[] = {"", "_", "main", "$", "s4main", "_Z3foov", "@__swift"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_false(swift_is_mangled(others[i]));
        assert_false(demangle_as(others[i], SWIFT_FULL));
    }
}

static void test_operators(void **state)
{
    (void)state;
    expect("async_MainTQ0_", "(1) await resume partial function for async_Main");
    expect("_TtFzZSiSu", "(Swift.Int) async throws -> Swift.UInt");
    expect("_TtGSqBv4Bi8__", "Builtin.Vec4xInt8?");
    expect("_TtXBmSiiSb_", "{ var Swift.Int, let Swift.Bool }");
    expect("$sSiSSTZ0_", "checked @objc completion handler block implementation for Swift.Int with "
                         "result type Swift.String nonzero on error");
    expect("$s3foo7closureSSTf1cC0_n",
           "function signature specialization <Arg[0] = [Closure Propagated : closure, Argument "
           "Types : [Swift.String], Arg[1] = [Same As Argument 0]> of foo");
    expect("$s3foo4main1SVs5Int32VSbTf3npSSi3Si0_n",
           "function signature specialization <Arg[1] = [Constant Propagated Struct : main.S]"
           "[Constant Propagated Struct : Swift.Int32][Constant Propagated Integer : 3][Constant "
           "Propagated Struct : Swift.Bool][Constant Propagated Integer : 0]> of foo");
    expect("$s4main1SVMa", "type metadata accessor for main.S");
    expect("$sSo8NSObjectC4nameSSSgvgTeob_",
           "outlined bridged method (ob) of __C.NSObject.name.getter : Swift.String?");
    expect("$sSo8NSObjectC4nameSSSgvgTembgnb_",
           "outlined bridged method (mbgnb) of __C.NSObject.name.getter : Swift.String?");
    expect("$s4main1SVN", "type metadata for main.S");
    expect("$s4main3fooSiyYaFTY1_",
           "(2) suspend resume partial function for main.foo() async -> Swift.Int");
    expect("$s4main3fooyyFTwb", "back deployment thunk for main.foo() -> ()");
    expect("$s4main1xSivg", "main.x.getter : Swift.Int");
    expect("$s4main1xSivau", "main.x.unsafeMutableAddressor : Swift.Int");
    expect("$s4main1x_WZ", "one-time initialization function for x");
    expect("$s4main1x_1y_Wz", "one-time initialization token for (x, y)");
    expect("$s4main1CCfD", "main.C.__deallocating_deinit");
    expect("$s4main1SVACycfC", "main.S.init() -> main.S");
    expect("$s4main1CCACycfC", "main.C.__allocating_init() -> main.C");
    expect("$s4main3fooyyF1xL_Sivp", "x #1 : Swift.Int in main.foo() -> ()");
    expect("$s4main3fooyySi_SStF", "main.foo(Swift.Int, Swift.String) -> ()");
    expect("$s4main3foo1a1bySi_SStF", "main.foo(a: Swift.Int, b: Swift.String) -> ()");
    expect("$s4main3fooyyxlF", "main.foo<A>(A) -> ()");
    expect("$s4main3fooyyxRi_zlF", "main.foo<A where A: ~Swift.Copyable>(A) -> ()");
    expect("$s4main1SVSgMa", "type metadata accessor for main.S?");
    expect("$sSaySDySSSiGGD", "[[Swift.String : Swift.Int]]");
    expect("$sypD", "Any");
    expect("$syXlD", "Swift.AnyObject");
    expect("$s4main1P_pD", "main.P");
    expect("$s4main1P_pXpD", "main.P.Type");
    expect("$s4main1P_pmD", "main.P.Protocol");
    expect("$s4main1PP_pSgD", "main.P?");
    expect("$s4main1P_AA1QpSgD", "(main.P & main.Q)?");
}

static void test_simplified(void **state)
{
    (void)state;
    assert_true(demangle_as("$s4main3foo1a1bySi_SStF", SWIFT_SIMPLIFIED));
    assert_string_equal(text, "foo(a:b:)");
    assert_true(demangle_as("$s4main3foo1aySi_tFyycfU_", SWIFT_SIMPLIFIED));
    assert_string_equal(text, "closure #1 in foo(a:)");
    /* Nothing is left of a module: the name is shown as it is. */
    assert_false(demangle_as("$ss", SWIFT_SIMPLIFIED));
}

static void test_output_is_cut_at_the_buffer(void **state)
{
    (void)state;
    char small[12];
    const char *name = "$s4main3fooyyF";
    assert_true(swift_demangle(name, strlen(name), SWIFT_FULL, small, sizeof(small)));
    assert_string_equal(small, "main.foo...");
    char exact[sizeof("main.foo() -> ()")];
    assert_true(swift_demangle(name, strlen(name), SWIFT_FULL, exact, sizeof(exact)));
    assert_string_equal(exact, "main.foo() -> ()");
    assert_true(swift_demangle(name, strlen(name), SWIFT_FULL, small, 4));
    assert_string_equal(small, "...");
}

/* ---- the vectors ---- */

struct vectors {
    FILE *file;
    char *line;
    size_t room;
    char *mangled, *wanted;
};

static void open_vectors(struct vectors *vectors, const char *name)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/demangle/%s", FW_SHARED_DATA, name);
    *vectors = (struct vectors){.file = fopen(path, "re")};
    if (vectors->file == NULL) {
        print_message("no %s: skipped\n", name);
        skip();
    }
}

/* False at the end, where everything is closed. */
static bool next_vector(struct vectors *vectors)
{
    while (getline(&vectors->line, &vectors->room, vectors->file) > 0) {
        vectors->line[strcspn(vectors->line, "\n")] = '\0';
        char *arrow = strstr(vectors->line, " ---> ");
        if (arrow == NULL)
            continue;
        vectors->mangled = vectors->line;
        vectors->wanted = arrow + strlen(" ---> ");
        while (arrow > vectors->line && arrow[-1] == ' ')
            arrow--;
        *arrow = '\0';
        while (vectors->wanted[0] == '{') { /* notes on the symbol */
            vectors->wanted = strchr(vectors->wanted, '}') + 1;
            vectors->wanted += strspn(vectors->wanted, " ");
        }
        return true;
    }
    free(vectors->line);
    fclose(vectors->file);
    return false;
}

static void check_vectors(const char *name, enum swift_style style, size_t least)
{
    struct vectors vectors;
    size_t total = 0, exact = 0;
    for (open_vectors(&vectors, name); next_vector(&vectors); total++) {
        const char *shown = demangle_as(vectors.mangled, style) ? text : vectors.mangled;
        if (strcmp(shown, vectors.wanted) == 0)
            exact++;
        else
            print_message("%s\n  wanted %s\n  is     %s\n", vectors.mangled, vectors.wanted, shown);
    }
    print_message("%zu of %zu names of %s exact\n", exact, total, name);
    assert_int_equal(exact, total);
    assert_true(total >= least);
}

static void test_full_vectors(void **state)
{
    (void)state;
    check_vectors("swift-manglings.txt", SWIFT_FULL, 248);
}

static void test_simplified_vectors(void **state)
{
    (void)state;
    check_vectors("swift-simplified-manglings.txt", SWIFT_SIMPLIFIED, 108);
}

/* Each prefix of each name, in memory that ends where the name does, and with one byte changed:
 * for the address sanitizer. What is understood is terminated within its buffer. */
static void test_cut_and_changed_vectors(void **state)
{
    (void)state;
    struct vectors vectors;
    size_t tries = 0;
    for (open_vectors(&vectors, "swift-manglings.txt"); next_vector(&vectors);) {
        size_t length = strlen(vectors.mangled);
        for (size_t cut = 0; cut <= length; cut++) {
            char *exact = malloc(cut + 1);
            assert_non_null(exact);
            memcpy(exact, vectors.mangled, cut);
            for (size_t style = 0; style < 2; style++, tries++) {
                char *name = realloc(exact, cut != 0 ? cut : 1);
                assert_non_null(name);
                exact = name;
                if (swift_demangle(exact, cut, (enum swift_style)style, text, sizeof(text)))
                    assert_true(strlen(text) < sizeof(text));
            }
            if (cut != 0) {
                exact[cut * 7 % cut] = "AzQTy_0"[cut % 7];
                exact[cut - 1] = "RIfXS9."[cut % 7];
                swift_demangle(exact, cut, SWIFT_FULL, text, sizeof(text));
            }
            free(exact);
        }
    }
    print_message("%zu cut names\n", tries);
    assert_true(tries > 17000);
}

/* The parsers with each amount of memory up to what a name needs: a tree, or none. */
static void test_memory_runs_out(void **state)
{
    (void)state;
    static max_align_t memory[8192 / sizeof(max_align_t)];
    struct vectors vectors;
    size_t refused = 0;
    for (open_vectors(&vectors, "swift-manglings.txt"); next_vector(&vectors);) {
        const char *name = vectors.mangled + strspn(vectors.mangled, "_");
        bool old = name[0] == 'T' && name[1] != '0';
        size_t prefix = name[0] == '$' || name[1] == '0' ? 2 : 1;
        if (name[0] == '@' || strlen(name) <= prefix)
            continue;
        for (size_t size = 0; size <= sizeof(memory); size += sizeof(max_align_t)) {
            struct swift_arena arena;
            swift_arena_init(&arena, memory, size, 0);
            struct swift_node *tree =
                old ? swift_parse_old(&arena, name + prefix, strlen(name + prefix))
                    : swift_parse(&arena, name, strlen(name), prefix);
            refused += tree == NULL;
            if (tree == NULL)
                continue;
            struct swift_printer out = {.text = text, .size = sizeof(text), .steps = 10000};
            swift_print(&out, tree);
            assert_false(out.cut);
            break;
        }
    }
    assert_true(refused > 1000);
}

/* ---- hostile names ---- */

static char large[SWIFT_MAX_INPUT + 64];

/* A name of `count` times `piece` between two others. */
static const char *repeated(const char *before, const char *piece, size_t count, const char *after)
{
    char *at = stpcpy(large, before);
    size_t length = strlen(piece);
    while (count-- > 0 && (size_t)(at - large) + length + strlen(after) < SWIFT_MAX_INPUT)
        at = stpcpy(at, piece);
    strcpy(at, after);
    return large;
}

static void *hostile(void *unused)
{
    static const struct {
        const char *before, *piece, *after;
    } names[] = {
        {"$sSi", "Sg", "D"},
        {"$sSi", "m", "D"},
        {"$sSi", "z", "D"},
        {"$sSi", "_t", "D"},
        {"$sy", "yc", "D"},
        {"$sSi", "Iegn_", "D"},
        {"$s1a", "1bV", "D"},
        {"$s1a", "yyF1bL_", "yyF"},
        {"$s1ayyF", "yycfU_", ""},
        {"$s1ayyF", "TA", ""},
        {"$s1ayyF", "Tc", ""},
        {"$s1ayyF", "Tm", ""},
        {"$s1a1bV", "A2048a", "_tD"},
        {"$sx", "1aQZ", "D"},
        {"$sx1a_", "1b", "QZD"},
        {"$s", "_", "yG"},
        {"$s1aV", "y_", "G"},
        {"$s", "0000", ""},
        {"$s01", "a", "A"},
        {"$s00400_", "z", ""},
        {"$sxr", "_", "lu"},
        {"$sx", "Rvz", "r__________________________________________________lu"},
        {"$sx", "Rz", "lu"},
        {"_Tt", "R", "Si"},
        {"_Tt", "GSq", "Si"},
        {"_Tt", "T", ""},
        {"_Tt", "F", ""},
        {"_Tt", "XFo_i", ""},
        {"_Tt", "u", ""},
        {"_Tt", "Q", ""},
        {"_Tt", "q", "x"},
        {"_T", "F", ""},
        {"_T", "E1a", ""},
        {"_T", "VC", "1a1b1c"},
        {"_T", "PA__T", ""},
        {"_T", "TSg5Si___T", ""},
        {"_TTSf1", "cl9_TTSf1cl_", ""},
        {"_TTSf1", "n_", "__TF1a1bFT_T_"},
        {"_T", "Z", "F"},
        {"_T", "G", "V1a1b"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        for (size_t count = 1; count < SWIFT_MAX_INPUT; count *= 4)
            for (unsigned style = 0; style < 2; style++) {
                const char *name = repeated(names[i].before, names[i].piece, count, names[i].after);
                swift_demangle(name, strlen(name), (enum swift_style)style, text, sizeof(text));
            }
    return unused;
}

/* On a stack of 256 KB: what nests without end is given up, not followed. */
static void test_hostile_nesting(void **state)
{
    (void)state;
    pthread_attr_t attributes;
    pthread_t thread;
    assert_int_equal(pthread_attr_init(&attributes), 0);
    assert_int_equal(pthread_attr_setstacksize(&attributes, STACK), 0);
    assert_int_equal(pthread_create(&thread, &attributes, hostile, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    pthread_attr_destroy(&attributes);
    /* Deep, but within the caps. */
    assert_true(demangle_as(repeated("$sSi", "Sg", 50, "D"), SWIFT_FULL));
    assert_int_equal(strlen(text), strlen("Swift.Int") + 50);
}

static void test_exploding_name_is_cut(void **state)
{
    (void)state;
    char name[1024] = "$sxSg";
    size_t used = strlen(name);
    /* A? is the first substitution; each next one is an optional function of the one before, whose
     * parameter and result are the same. */
    for (int i = 0; i < 24; i++) {
        char last = (char)('A' + i);
        used += (size_t)snprintf(name + used, sizeof(name) - used, "A%ccSg", last);
    }
    strcat(name, "D");
    assert_true(demangle_as(name, SWIFT_FULL));
    assert_int_equal(strlen(text), sizeof(text) - 1);
    assert_string_equal(text + sizeof(text) - 4, "...");
}

static void test_too_long(void **state)
{
    (void)state;
    memset(large, 'm', sizeof(large));
    memcpy(large, "$sSi", 4);
    assert_false(swift_demangle(large, SWIFT_MAX_INPUT + 1, SWIFT_FULL, text, sizeof(text)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prefixes),
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_simplified),
        cmocka_unit_test(test_output_is_cut_at_the_buffer),
        cmocka_unit_test(test_full_vectors),
        cmocka_unit_test(test_simplified_vectors),
        cmocka_unit_test(test_cut_and_changed_vectors),
        cmocka_unit_test(test_memory_runs_out),
        cmocka_unit_test(test_hostile_nesting),
        cmocka_unit_test(test_exploding_name_is_cut),
        cmocka_unit_test(test_too_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
