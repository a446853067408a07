/*
 * Programs compiled here in every layout of DWARF that the compilers know. What is read is held
 * against llvm-dwarfdump (ranges and inlined calls of every DIE) and nm (names), and the layouts of
 * one program against each other: the same code must give the same functions, inlined calls and
 * call sites, however its DWARF is packed.
 */
#include "object/fixture.h"

#include "dwarf/dwarf.h"
#include "object/codecs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE "__attribute__((noinline)) "

static const char main_cc[] =
    "int other(int);\n"
    "extern \"C\" int plain(int);\n"
    "int (*volatile pointer)(int) = other;\n"
    "volatile int sink;\n"
    "namespace outer {\n"
    "static " NOINLINE "int hidden(int x) { return sink + x; }\n"
    "namespace { " NOINLINE "int secret(int x) { return sink * x; } }\n"
    "struct Base { Base(int); virtual ~Base(); virtual int work(int) = 0; int kept; };\n"
    "Base::Base(int x) : kept(x) { sink = x; }\n"
    "Base::~Base() { sink = 1; }\n"
    "struct Shape : Base {\n"
    "    Shape(int x) : Base(x) {}\n"
    "    int area(int a) { return hidden(a) + secret(a); }\n"
    "    " NOINLINE "int twice(int a) { return area(a) + area(a + sink); }\n"
    "    int work(int) override;\n"
    "};\n"
    "int Shape::work(int a) { return twice(a) + 1; }\n"
    "template <class T> " NOINLINE "T twisted(T t) { return t + other(3) * sink; }\n"
    "}\n"
    "static inline int middle(int x) { if (x > sink) return outer::Shape(x).area(x); return x; }\n"
    "static inline int wrap(int x) { return middle(x + 1); }\n" NOINLINE "int local(int x) {\n"
    "    struct Inner { " NOINLINE "static int run(int y) { return sink - y; } };\n"
    "    auto lambda = [](int z) " NOINLINE "{ return z + sink; };\n"
    "    return Inner::run(x) + lambda(x);\n"
    "}\n" NOINLINE "int tail(int x) { return other(x + 1); }\n" NOINLINE
    "int indirect(int x) { return pointer(x) + 1; }\n"
    "int rare(int x) { if (__builtin_expect(x == 12345, 0)) { plain(x); throw x; } return x; }\n"
    "int main(int argc, char **argv) {\n"
    "    (void)argv;\n"
    "    outer::Shape s(argc);\n"
    "    outer::Base *b = &s;\n"
    "    return wrap(argc) + wrap(sink) + b->work(argc) + outer::twisted(4) + outer::twisted(2L)\n"
    "        + local(argc) + tail(argc) + indirect(1) + rare(argc) + plain(3);\n"
    "}\n";
static const char other_cc[] = "extern volatile int sink;\n"
                               "namespace { " NOINLINE "int alone(int x) { return sink / x; } }\n"
                               "int other(int x) { return alone(x) + 2; }\n";
static const char plain_c[] =
    "extern volatile int sink;\n"
    "static " NOINLINE "int helper(int x) { return x ^ sink; }\n"
    "static inline int small(int x) { return helper(x) + helper(sink); }\n"
    "int plain(int x) { return small(x) + small(3); }\n";
static const char nested_c[] =
    "volatile int sink;\n"
    "static int apply(int (*f)(int), int x) { return f(x) + sink; }\n"
    "static inline int once(int x) { return sink + x; }\n" NOINLINE "int outer(int a) {\n"
    "    " NOINLINE "int inner(int b) {\n"
    "        " NOINLINE "int innermost(int c) { return a + b + c + once(c); }\n"
    "        return apply(innermost, b) + once(b);\n"
    "    }\n"
    "    return apply(inner, a) + once(a) + once(sink);\n"
    "}\n"
    "int main(int argc, char **argv) { (void)argv; return outer(argc); }\n";

/* ---- growing text, sorted by lines ---- */

struct text {
    char *data;
    size_t size;
    FILE *file;
};

static void text_begin(struct text *t)
{
    t->file = open_memstream(&t->data, &t->size);
    assert_non_null(t->file);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts blocks: a line that does not begin with a space begins one. */
static char *text_sorted(struct text *t)
{
    fclose(t->file);
    size_t count = 0;
    char **blocks = calloc(t->size + 1, sizeof *blocks);
    char *sorted = calloc(1, t->size + 2);
    assert_non_null(blocks);
    assert_non_null(sorted);
    for (char *p = t->data; *p; p++)
        if ((p == t->data || p[-1] == '\n') && *p != ' ')
            blocks[count++] = p;
    for (size_t i = 1; i < count; i++)
        blocks[i][-1] = '\0';
    qsort(blocks, count, sizeof *blocks, by_text);
    for (size_t i = 0; i < count; i++) {
        size_t length = strlen(blocks[i]);
        strcat(sorted, blocks[i]);
        if (length && blocks[i][length - 1] != '\n')
            strcat(sorted, "\n");
    }
    free(blocks);
    free(t->data);
    return sorted;
}

/* ---- reading ---- */

struct opened {
    struct object *object, *supplementary, *package;
    struct dwarf *dwarf;
    struct dwarf_options options;
    struct object *dwo[16];
    size_t dwo_count;
};

static struct object *find_dwo(void *context, const char *comp_dir, const char *dwo_name,
                               uint64_t dwo_id)
{
    struct opened *o = context;
    (void)comp_dir;
    (void)dwo_id;
    const char *base = strrchr(dwo_name, '/');
    struct object *object;
    if (o->dwo_count == 16 || object_open(fixture_path(base ? base + 1 : dwo_name), &object, NULL))
        return NULL;
    return o->dwo[o->dwo_count++] = object;
}

static struct opened *open_with(const char *name, const char *supplementary, const char *package)
{
    struct opened *o = calloc(1, sizeof *o);
    struct fw_failure why = {0};
    assert_non_null(o);
    o->object = fixture_open(name);
    o->supplementary = supplementary ? fixture_open(supplementary) : NULL;
    o->package = package ? fixture_open(package) : NULL;
    const struct dwarf_companions companions = {.supplementary = o->supplementary,
                                                .package = o->package,
                                                .find_dwo = package ? NULL : find_dwo,
                                                .context = o};
    if (dwarf_open(o->object, &companions, &o->dwarf, &why) != FW_OK)
        fail_msg("%s: %s", name, why.message);
    o->options.calls = true;
    assert_int_equal(object_code_ranges(o->object, &o->options.code, &o->options.code_count),
                     FW_OK);
    return o;
}

static void close_all(struct opened *o)
{
    dwarf_close(o->dwarf);
    object_close(o->object);
    if (o->supplementary)
        object_close(o->supplementary);
    if (o->package)
        object_close(o->package);
    for (size_t i = 0; i < o->dwo_count; i++)
        object_close(o->dwo[i]);
    free(o);
}

static void print_ranges(FILE *to, const struct dwarf_unit *u, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < first + count; i++)
        fprintf(to, " %" PRIx64 "-%" PRIx64, u->ranges[i].lo, u->ranges[i].hi);
}

static const char *name_of(const struct dwarf_unit *u, uint32_t subject)
{
    return subject == DWARF_NONE               ? "?"
           : u->subjects[subject].name != NULL ? u->subjects[subject].name
                                               : "-";
}

static void print_function(FILE *to, const struct dwarf_unit *u, const struct dwarf_function *f)
{
    fprintf(to, "%s %" PRIx64 "%s%s", name_of(u, f->subject), f->entry,
            f->artificial ? " artificial" : "", f->all_tail_calls ? " all" : "");
    print_ranges(to, u, f->first_range, f->range_count);
    fputc('\n', to);
    for (uint32_t i = 0; i < f->inline_count; i++) {
        const struct dwarf_inline *n = &u->inlines[f->first_inline + i];
        int parent = n->parent == DWARF_NONE ? -1 : (int)(n->parent - f->first_inline);
        fprintf(to, "  inlined %s in %d at %u:%u", name_of(u, n->subject), parent, n->call_line,
                n->call_column);
        print_ranges(to, u, n->first_range, n->range_count);
        fputc('\n', to);
    }
    for (uint32_t i = 0; i < f->call_count; i++) {
        const struct dwarf_call *c = &u->calls[f->first_call + i];
        fprintf(to, "  calls %s at %" PRIx64 "%s\n", name_of(u, c->subject), c->pc,
                c->tail ? " tail" : "");
    }
}

static void check_quiet(const struct dwarf_problems *problems)
{
    for (int i = 0; i < DWARF_PROBLEM_COUNT; i++)
        if (problems->count[i])
            fail_msg("problem %d: %s", i, problems->first[i].message);
}

/* Everything that is in a file, in an order that does not depend on the layout. */
static char *read_all(struct opened *o)
{
    struct text t;
    struct arena arena = {0};
    struct dwarf_problems problems = {0};
    text_begin(&t);
    for (size_t i = 0; i < dwarf_unit_count(o->dwarf); i++) {
        struct dwarf_unit u;
        arena_reset(&arena);
        assert_int_equal(dwarf_unit_read(o->dwarf, i, &o->options, &arena, &u, &problems), FW_OK);
        for (size_t k = 0; k < u.function_count; k++)
            print_function(t.file, &u, &u.functions[k]);
        dwarf_unit_done(o->dwarf, i);
    }
    arena_free(&arena);
    check_quiet(&problems);
    return text_sorted(&t);
}

static char *read_file(const char *name, const char *supplementary, const char *package)
{
    struct opened *o = open_with(name, supplementary, package);
    char *all = read_all(o);
    close_all(o);
    return all;
}

static void same_text(const char *what, const char *a, const char *b)
{
    if (strcmp(a, b) == 0)
        return;
    fixture_write("a.txt", a, strlen(a));
    fixture_write("b.txt", b, strlen(b));
    char *difference = fixture_output("diff a.txt b.txt | head -40; true");
    print_error("%s\n%s", what, difference);
    free(difference);
    fail();
}

/* ---- against llvm-dwarfdump and nm ---- */

/* What the linker threw away begins at 0 (an inlined call in it at most at 4). "offset ranges" of
 * each subprogram with code, "i line ranges" of each inlined call. */
static char *dumped(const char *program)
{
    char *dump = fixture_output("llvm-dwarfdump-19 --debug-info %s", program), *save = NULL;
    struct text t;
    text_begin(&t);
    uint64_t offset = 0, lo = 0, hi = 0;
    unsigned line_number = 0;
    int kind = 0; /* 1: function, 2: inlined */
    struct text ranges = {0};
    text_begin(&ranges);
    for (char *line = strtok_r(dump, "\n", &save);; line = strtok_r(NULL, "\n", &save)) {
        char *at;
        if (!line || strncmp(line, "0x", 2) == 0) {
            if (kind && hi > lo)
                fprintf(ranges.file, " %" PRIx64 "-%" PRIx64, lo, hi);
            fclose(ranges.file);
            bool dead = strstr(ranges.data, " 0-") || strncmp(ranges.data, " 4-", 3) == 0;
            if (kind == 1 && *ranges.data && !dead)
                fprintf(t.file, "%" PRIx64 "%s\n", offset, ranges.data);
            else if (kind == 2 && !dead)
                fprintf(t.file, "i %u%s\n", line_number, ranges.data);
            free(ranges.data);
            text_begin(&ranges);
            lo = hi = 0;
            line_number = 0;
            if (!line)
                break;
            offset = strtoull(line, NULL, 16);
            kind = strstr(line, "DW_TAG_subprogram")           ? 1
                   : strstr(line, "DW_TAG_inlined_subroutine") ? 2
                                                               : 0;
        } else if ((at = strstr(line, "DW_AT_low_pc\t("))) {
            lo = strtoull(at + 14, NULL, 16);
        } else if ((at = strstr(line, "DW_AT_high_pc\t("))) {
            hi = strtoull(at + 15, NULL, 16);
        } else if ((at = strstr(line, "DW_AT_call_line\t("))) {
            line_number = (unsigned)strtoul(at + 17, NULL, 0);
        } else if (kind && (at = strstr(line, "   [0x")) && !strstr(line, "):")) {
            uint64_t from = strtoull(at + 4, &at, 16);
            uint64_t to = strtoull(at + 2, NULL, 16);
            if (to > from)
                fprintf(ranges.file, " %" PRIx64 "-%" PRIx64, from, to);
        }
    }
    fclose(ranges.file);
    free(ranges.data);
    free(dump);
    return text_sorted(&t);
}

static char *ours_like_dump(struct opened *o)
{
    struct text t;
    struct arena arena = {0};
    text_begin(&t);
    for (size_t i = 0; i < dwarf_unit_count(o->dwarf); i++) {
        struct dwarf_unit u;
        assert_int_equal(dwarf_unit_read(o->dwarf, i, &o->options, &arena, &u, NULL), FW_OK);
        for (size_t k = 0; k < u.function_count; k++) {
            const struct dwarf_function *f = &u.functions[k];
            fprintf(t.file, "%" PRIx64, f->die);
            print_ranges(t.file, &u, f->first_range, f->range_count);
            fputc('\n', t.file);
        }
        for (size_t k = 0; k < u.inline_count; k++) {
            fprintf(t.file, "i %u", u.inlines[k].call_line);
            print_ranges(t.file, &u, u.inlines[k].first_range, u.inlines[k].range_count);
            fputc('\n', t.file);
        }
    }
    arena_free(&arena);
    return text_sorted(&t);
}

/* A name of which a scope is a function: nm has its parameters in the middle. */
static bool demangled_like(const char *table, const char *line, const char *name)
{
    const char *last = name, *first = strstr(name, "::"), *p = strstr(table, line);
    for (const char *colon = first; colon; colon = strstr(last, "::"))
        last = colon + 2;
    if (!first || !p)
        return false;
    const char *end = strchr(p, '\n'), *at = strstr(p, last);
    return strncmp(p + 19, name, (size_t)(first - name)) == 0 && at && at < end &&
           at[strlen(last)] == '(';
}

/* Every function's name is one that nm gives its entry: as it is, or demangled up to its scopes. */
static void check_names(const char *program, struct opened *o)
{
    char *raw = fixture_output("nm %s", program), *plain = fixture_output("nm -C %s", program);
    struct arena arena = {0};
    for (size_t i = 0; i < dwarf_unit_count(o->dwarf); i++) {
        struct dwarf_unit u;
        assert_int_equal(dwarf_unit_read(o->dwarf, i, &o->options, &arena, &u, NULL), FW_OK);
        for (size_t k = 0; k < u.function_count; k++) {
            const struct dwarf_function *f = &u.functions[k];
            const struct dwarf_subject *s = &u.subjects[f->subject];
            char line[512];
            assert_non_null(s->name);
            snprintf(line, sizeof line, "%016" PRIx64 " ", f->entry);
            bool found = s->qualified && demangled_like(plain, line, s->name);
            for (int demangled = 0; demangled < 2; demangled++) { /* for names without linkage */
                const char *table = demangled ? plain : raw;
                for (const char *p = strstr(table, line); p && !found; p = strstr(p + 1, line)) {
                    const char *name = p + 19, *end = name + strlen(s->name);
                    found = strncmp(name, s->name, strlen(s->name)) == 0 &&
                            (demangled ? !s->linkage && *end == '(' : *end == '\n' || *end == '.');
                }
            }
            /* What has no name in the source is called differently by everyone. */
            found |= strstr(s->name, "(anonymous struct)") ||
                     strstr(s->name, "(anonymous class)") || strstr(s->name, "<lambda");
            if (!found)
                fail_msg("%s: %s is not at %" PRIx64, program, s->name, f->entry);
        }
    }
    arena_free(&arena);
    free(raw);
    free(plain);
}

static void write_sources(void)
{
    fixture_text("main.cc", main_cc);
    fixture_text("other.cc", other_cc);
    fixture_text("plain.c", plain_c);
    fixture_text("nested.c", nested_c);
}

/* Compiles and links the program with these flags, object files beside the sources. */
static bool build(const char *c, const char *cc, const char *flags, const char *output)
{
    return fixture_try("rm -f *.dwo; for f in main other; do %s -O2 %s -c $f.cc -o $f.o || exit 1; "
                       "done; %s -O2 %s -c plain.c -o plain.o && "
                       "%s %s main.o other.o plain.o -o %s",
                       cc, flags, c, flags, cc, flags, output);
}

static const struct {
    const char *c, *cc;
} compilers[] = {{"gcc", "g++"}, {"clang-19", "clang++-19"}};

static void versions_and_formats(void **state)
{
    (void)state;
    fixture_need("gcc g++ clang++-19 llvm-dwarfdump-19 nm");
    static const char *const flags[] = {
        "-gdwarf-2",           "-gdwarf-3",
        "-gdwarf-4",           "-gdwarf-5",
        "-gdwarf-5 -gdwarf64", "-gdwarf-4 -fdebug-types-section",
        "-gdwarf-5 -O0",       "-gdwarf-5 -fdebug-types-section",
        "-gdwarf-4 -flto",     "-gdwarf-5 -flto",
        "-gdwarf-5 -g1",       "-gdwarf-5 -ffunction-sections -Wl,--gc-sections"};
    write_sources();
    unsigned built = 0;
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
            if (!build(compilers[i].c, compilers[i].cc, flags[k], "program")) {
                print_message("%s %s does not work here\n", compilers[i].cc, flags[k]);
                continue;
            }
            built++;
            struct opened *o = open_with("program", NULL, NULL);
            char *ours = ours_like_dump(o), *theirs = dumped("program"), what[128];
            snprintf(what, sizeof what, "%s %s", compilers[i].cc, flags[k]);
            assert_true(strlen(ours) > 100);
            same_text(what, theirs, ours);
            if (!strstr(flags[k], "-g1")) /* which leaves scopes out */
                check_names("program", o);
            free(ours);
            free(theirs);
            close_all(o);
        }
    assert_true(built >= 16);
}

static void layouts_agree(void **state)
{
    (void)state;
    fixture_need("gcc g++ clang++-19 llvm-dwp-19");
    static const struct {
        const char *base, *flags;
        bool package;
    } layouts[] = {
        {"-gdwarf-5", "-gdwarf-5 -gdwarf64", false},
        {"-gdwarf-5", "-gdwarf-5 -fdebug-types-section", false},
        {"-gdwarf-5", "-gdwarf-5 -gz", false},
        {"-gdwarf-5", "-gdwarf-5 -gsplit-dwarf", true},
        {"-gdwarf-5", "-gdwarf-5 -gsplit-dwarf -fdebug-types-section", true},
        {"-gdwarf-4", "-gdwarf-4 -gsplit-dwarf", true},
        {"-gdwarf-4", "-gdwarf-4 -gsplit-dwarf -fdebug-types-section", true},
    };
    write_sources();
    unsigned compared = 0;
    for (size_t i = 0; i < 2; i++) {
        const char *base = NULL; /* which `whole` is */
        for (size_t k = 0; k < sizeof layouts / sizeof layouts[0]; k++) {
            char what[160];
            snprintf(what, sizeof what, "%s %s", compilers[i].cc, layouts[k].flags);
            if (!base || strcmp(base, layouts[k].base) != 0)
                base = build(compilers[i].c, compilers[i].cc, layouts[k].base, "whole")
                           ? layouts[k].base
                           : NULL;
            if (!base || !build(compilers[i].c, compilers[i].cc, layouts[k].flags, "program")) {
                print_message("%s does not work here\n", what);
                continue;
            }
            char *whole = read_file("whole", NULL, NULL);
            char *other = read_file("program", NULL, NULL);
            assert_true(strlen(whole) > 100);
            same_text(what, whole, other);
            compared++;
            free(other);
            if (layouts[k].package && fixture_try("timeout 20 llvm-dwp-19 *.dwo -o program.dwp")) {
                other = read_file("program", NULL, "program.dwp");
                same_text("package", whole, other);
                compared++;
                free(other);
            }
            free(whole);
        }
    }
    print_message("%u layouts compared\n", compared);
    assert_true(compared >= 14);
}

static void dwz_moves_names(void **state)
{
    (void)state;
    fixture_need("gcc g++ dwz");
    write_sources();
    for (int version = 4; version <= 5; version++) {
        char flags[32];
        snprintf(flags, sizeof flags, "-gdwarf-%d", version);
        assert_true(build("gcc", "g++", flags, "whole"));
        if (!fixture_try("cp whole one; cp whole two; dwz -m common one two")) {
            print_message("dwz does not work here for version %d\n", version);
            continue;
        }
        char *whole = read_file("whole", NULL, NULL), *packed = read_file("one", "common", NULL);
        same_text("dwz", whole, packed);
        free(packed);
        /* Without the supplementary file the names that went there are missing, and it is told. */
        struct opened *o = open_with("one", NULL, NULL);
        struct arena arena = {0};
        struct dwarf_problems problems = {0};
        for (size_t i = 0; i < dwarf_unit_count(o->dwarf); i++) {
            struct dwarf_unit u;
            assert_int_equal(dwarf_unit_read(o->dwarf, i, &o->options, &arena, &u, &problems),
                             FW_OK);
        }
        assert_true(problems.count[DWARF_PROBLEM_STRING] + problems.count[DWARF_PROBLEM_REFERENCE]);
        arena_free(&arena);
        close_all(o);
        free(whole);
    }
}

static void missing_dwo_is_told(void **state)
{
    (void)state;
    fixture_need("gcc g++");
    write_sources();
    assert_true(build("gcc", "g++", "-gdwarf-5 -gsplit-dwarf", "program"));
    fixture_run("mv main.dwo kept; cp other.dwo main.dwo; rm other.dwo");
    struct opened *o = open_with("program", NULL, NULL);
    struct arena arena = {0};
    struct dwarf_problems problems = {0};
    size_t functions = 0;
    for (size_t i = 0; i < dwarf_unit_count(o->dwarf); i++) {
        struct dwarf_unit u;
        assert_int_equal(dwarf_unit_read(o->dwarf, i, &o->options, &arena, &u, &problems), FW_OK);
        assert_int_equal(u.has_lines, u.function_count > 0); /* alone they mislead */
        functions += u.function_count;
    }
    assert_int_equal(problems.count[DWARF_PROBLEM_SPLIT], 2); /* another one, and none at all */
    assert_non_null(strstr(problems.first[DWARF_PROBLEM_SPLIT].message, "another build"));
    assert_true(functions >= 2); /* plain.dwo is in its place */
    arena_free(&arena);
    close_all(o);
}

static void nested_functions(void **state)
{
    (void)state;
    fixture_need("gcc llvm-dwarfdump-19");
    write_sources();
    for (int optimise = 0; optimise < 3; optimise++) {
        fixture_run("gcc -g -O%d nested.c -o nested", optimise);
        struct opened *o = open_with("nested", NULL, NULL);
        char *ours = ours_like_dump(o), *theirs = dumped("nested"), *all = read_all(o);
        same_text("nested", theirs, ours);
        assert_non_null(strstr(all, "innermost "));
        free(ours);
        free(theirs);
        free(all);
        close_all(o);
    }
}

static void what_calls_say(void **state)
{
    (void)state;
    fixture_need("gcc g++");
    write_sources();
    for (int version = 4; version <= 5; version++) {
        char flags[32];
        snprintf(flags, sizeof flags, "-gdwarf-%d", version);
        assert_true(build("gcc", "g++", flags, "program"));
        char *all = read_file("program", NULL, NULL);
        const char *tail = strstr(all, "_Z4taili "), *indirect = strstr(all, "_Z8indirecti ");
        assert_non_null(tail);
        assert_non_null(indirect);
        assert_non_null(strstr(all, "\n_ZN5outer4BaseC")); /* a constructor by its own name */
        char *line = strndup(tail, strcspn(tail, "\n"));
        assert_non_null(strstr(line, " all "));
        free(line);
        tail = strchr(tail, '\n') + 1;
        assert_int_equal(strncmp(tail, "  calls _Z5otheri at ", 21), 0);
        assert_int_equal(strncmp(strchr(tail, '\n') - 5, " tail", 5), 0);
        indirect = strchr(indirect, '\n') + 1;
        assert_int_equal(strncmp(indirect, "  calls ? at ", 13), 0);
        free(all);
    }
}

static void scopes_of_short_names(void **state)
{
    (void)state;
    fixture_need("gcc g++ clang++-19");
    write_sources();
    for (size_t i = 0; i < 2; i++) {
        assert_true(build(compilers[i].c, compilers[i].cc, "-gdwarf-5", "program"));
        char *all = read_file("program", NULL, NULL);
        bool linkage = strstr(all, "_ZN5outerL6hiddenEi ") != NULL;
        assert_true(linkage || strstr(all, "\nouter::hidden "));
        linkage = strstr(all, "secretEi ") != NULL;
        assert_true(linkage || strstr(all, "\nouter::(anonymous namespace)::secret "));
        assert_non_null(strstr(all, "\nhelper ")); /* C has no scopes */
        free(all);
    }
}

static void claimed_ranges(void **state)
{
    (void)state;
    fixture_need("gcc g++ clang++-19");
    write_sources();
    for (size_t i = 0; i < 2; i++) {
        assert_true(build(compilers[i].c, compilers[i].cc, "-gdwarf-5", "program"));
        struct opened *o = open_with("program", NULL, NULL);
        struct arena arena = {0};
        for (size_t k = 0; k < dwarf_unit_count(o->dwarf); k++) {
            struct dwarf_unit u;
            struct object_range *ranges;
            size_t count;
            assert_int_equal(dwarf_unit_ranges(o->dwarf, k, &o->options, &arena, &ranges, &count),
                             FW_OK);
            assert_int_equal(dwarf_unit_read(o->dwarf, k, &o->options, &arena, &u, NULL), FW_OK);
            assert_true(count > 0);
            for (size_t r = 0; r < u.range_count; r++) {
                bool inside = false;
                for (size_t c = 0; c < count; c++)
                    inside |= u.ranges[r].lo >= ranges[c].lo && u.ranges[r].hi <= ranges[c].hi;
                assert_true(inside);
            }
        }
        arena_free(&arena);
        close_all(o);
    }
}

static void *read_in_thread(void *context)
{
    return read_all(context);
}

static void threads_agree(void **state)
{
    (void)state;
    fixture_need("gcc g++");
    write_sources();
    for (int version = 4; version <= 5; version++) {
        char flags[64];
        snprintf(flags, sizeof flags, "-gdwarf-%d -gsplit-dwarf", version);
        assert_true(build("gcc", "g++", flags, "program"));
        char *alone = read_file("program", NULL, NULL);
        for (int round = 0; round < 8; round++) {
            struct opened *o = open_with("program", NULL, NULL);
            pthread_t threads[4];
            for (int i = 0; i < 4; i++)
                assert_int_equal(pthread_create(&threads[i], NULL, read_in_thread, o), 0);
            for (int i = 0; i < 4; i++) {
                void *text;
                assert_int_equal(pthread_join(threads[i], &text), 0);
                same_text("threads", alone, text);
                free(text);
            }
            assert_int_equal(o->dwo_count, 3); /* each was asked for once */
            close_all(o);
        }
        free(alone);
    }
}

int main(void)
{
    object_set_codecs(&object_codecs_all);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(versions_and_formats),  cmocka_unit_test(layouts_agree),
        cmocka_unit_test(dwz_moves_names),       cmocka_unit_test(missing_dwo_is_told),
        cmocka_unit_test(nested_functions),      cmocka_unit_test(what_calls_say),
        cmocka_unit_test(scopes_of_short_names), cmocka_unit_test(claimed_ranges),
        cmocka_unit_test(threads_agree),
    };
#if defined(__SANITIZE_THREAD__) /* slow there, and nothing to find in one thread */
    cmocka_set_test_filter("threads_*");
#endif
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
