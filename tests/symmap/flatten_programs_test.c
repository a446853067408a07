/*
 * Flattening of whole programs: for every byte of every function of programs that both compilers
 * make of the sources here, all frames with function, file, line and column as llvm-symbolizer has
 * them. Its copy of the program has no symbol table, so that its names are those of the DWARF.
 * Nothing in the sources needs a name put together from scopes, which llvm-symbolizer does not do.
 */
#include "object/codecs.h"
#include "object/fixture.h"
#include "symmap/code.h"

#include <inttypes.h>
#include <stdio.h>

static const char c_source[] =
    "#include <stdlib.h>\n"
    "struct list { struct list *next; int value; };\n"
    "static inline int weigh(int v) { if (v < 0) abort(); return v % 7 ? v * 3 : v + 1; }\n"
    "static inline int both(int a, int b) { return weigh(a) + weigh(b); }\n"
    "static inline int wrapped(int a) { return both(a, a + 1); }\n"
    "__attribute__((noinline)) static int sum(struct list *l)\n"
    "{\n  int s = 0;\n  for (; l; l = l->next) {\n    if (l->value > 1000)\n      exit(both(s, "
    "3));\n"
    "    s += wrapped(l->value) ^ both(s, l->value);\n  }\n  return s;\n}\n"
    "static struct list *add(struct list *l, int v)\n"
    "{\n  struct list *n = malloc(sizeof *n);\n  if (!n)\n    abort();\n"
    "  n->next = l; n->value = weigh(v);\n  return n;\n}\n"
    "int main(int c, char **v)\n"
    "{\n  struct list *l = NULL;\n  for (int i = 0; i < c; i++)\n    l = add(add(l, i), "
    "atoi(v[i]));\n"
    "  return sum(l) + wrapped(c);\n}\n";

static const char cc_source[] =
    "#include <algorithm>\n#include <functional>\n#include <map>\n#include <string>\n"
    "#include <vector>\n"
    "struct item { int n; std::string s; bool operator<(const item &o) const { return s < o.s; } "
    "};\n"
    "static int work(std::vector<item> &v, std::map<std::string, int> &m)\n"
    "{\n  std::sort(v.begin(), v.end());\n  int r = 0;\n  for (auto &t : v) {\n"
    "    auto [at, fresh] = m.try_emplace(t.s, t.n);\n    if (!fresh) at->second += t.n;\n"
    "    r += at->second;\n  }\n  return r;\n}\n"
    "struct job {\n  std::vector<item> *v; std::map<std::string, int> *m;\n"
    "  int operator()() const { return work(*v, *m); }\n};\n"
    "int main(int c, char **v)\n"
    "{\n  std::vector<item> x;\n  std::map<std::string, int> m;\n"
    "  for (int i = 0; i < c; i++) x.push_back({i, v[i]});\n"
    "  std::function<int()> f = job{&x, &m};\n"
    "  try { return f() + x.at(100).n; } catch (std::exception &e) { return e.what()[0]; }\n}\n";

static FILE *questions, *answers;

static void print_place(const struct code_unit *code, uint32_t file, uint32_t line, uint32_t column)
{
    if (file == CODE_NONE) {
        fprintf(answers, "??:%" PRIu32 ":%" PRIu32 "\n", line, column);
        return;
    }
    const struct code_file *f = &code->files[file];
    fprintf(answers, "%s%s%s%s%s:%" PRIu32 ":%" PRIu32 "\n", f->comp_dir, f->comp_dir[0] ? "/" : "",
            f->directory, f->directory[0] ? "/" : "", f->name, line, column);
}

static void print_name(const struct code_unit *code, uint32_t subject)
{
    const char *name = subject == CODE_NONE ? NULL : code->subjects[subject].name;
    fprintf(answers, "%s\n", name ? name : "??");
}

static void print_frames(const struct code_unit *code, const struct code_function *function,
                         uint32_t row)
{
    const struct code_row *r = &code->rows[row];
    uint32_t file = r->file, line = r->line, column = code->columns[row], context = r->context;
    while (context) {
        const struct code_context *c = &code->contexts[function->first_context + context - 1];
        print_name(code, c->subject);
        print_place(code, file, line, column);
        file = c->call_file;
        line = c->call_line;
        column = c->call_column;
        context = c->parent;
    }
    print_name(code, function->subject);
    print_place(code, file, line, column);
    fputc('\n', answers);
}

/* Returns the number of addresses. */
static size_t print_unit(const struct code_unit *code)
{
    size_t count = 0;
    for (size_t i = 0; i < code->function_count; i++) {
        const struct code_function *f = &code->functions[i];
        uint32_t row = f->first_row, last = f->first_row + f->row_count - 1;
        if (f->flags & CODE_FUNCTION_LINES_ONLY)
            continue;
        for (uint64_t at = f->lo; at < f->hi; at++, count++) {
            if (row < last && f->lo + code->rows[row + 1].offset <= at)
                row++;
            fprintf(questions, "0x%" PRIx64 "\n", at);
            print_frames(code, f, row);
        }
    }
    return count;
}

static size_t print_program(void)
{
    struct object *object = fixture_open("program");
    struct fw_failure why = {0};
    struct dwarf *dwarf;
    if (dwarf_open(object, NULL, &dwarf, &why) != FW_OK)
        fail_msg("%s", why.message);
    struct dwarf_options options = {0};
    assert_int_equal(object_code_ranges(object, &options.code, &options.code_count), FW_OK);
    questions = fopen(fixture_path("questions"), "w");
    answers = fopen(fixture_path("ours"), "w");
    assert_true(questions && answers);
    struct arena arena = {0};
    size_t count = 0;
    for (size_t i = 0; i < dwarf_unit_count(dwarf); i++) {
        struct dwarf_unit unit;
        struct dwarf_lines lines = {0};
        struct code_unit code;
        struct flatten_options flat = {.columns = true};
        assert_int_equal(dwarf_unit_read(dwarf, i, &options, &arena, &unit, NULL), FW_OK);
        if (unit.has_lines)
            assert_int_equal(dwarf_lines_read(&unit.line, &arena, &lines, &why), FW_OK);
        assert_int_equal(code_flatten(&unit, &lines, &flat, &arena, &code), FW_OK);
        count += print_unit(&code);
        code_unit_free(&code);
        arena_reset(&arena);
    }
    arena_free(&arena);
    fclose(questions);
    fclose(answers);
    dwarf_close(dwarf);
    object_close(object);
    return count;
}

static void expect_same(const char *command)
{
    if (!fixture_try("%s", command)) {
        print_message("skipped: %s\n", command);
        return;
    }
    size_t count = print_program();
    assert_true(count > 200);
    fixture_run("llvm-objcopy-19 -R .symtab program bare\n"
                "llvm-symbolizer-19 --obj=bare --no-demangle -i < questions > theirs\n"
                "cmp -s ours theirs || { echo '%s'; diff ours theirs | head -20; false; }",
                command);
}

static void every_address_as_llvm_symbolizer(void **state)
{
    (void)state;
    fixture_need("gcc g++ clang-19 clang++-19 llvm-symbolizer-19 llvm-objcopy-19");
    fixture_text("list.c", c_source);
    fixture_text("items.cc", cc_source);
    static const char *const commands[] = {
        "gcc -g -O2 list.c -o program",
        "gcc -g -O3 -gdwarf-4 list.c -o program",
        "gcc -g -O2 -gdwarf-3 -gstrict-dwarf list.c -o program",
        "gcc -g -O0 list.c -o program",
        "clang-19 -g -O2 list.c -o program",
        "clang-19 -g -O2 -gdwarf-4 -ffunction-sections list.c -o program",
        "clang-19 -gline-tables-only -O2 list.c -o program",
        "g++ -g -O2 items.cc -o program",
        "g++ -g -O3 -gdwarf-4 items.cc -o program",
        "clang++-19 -g -O2 items.cc -o program",
        "clang++-19 -g -O3 -gdwarf-4 -ffunction-sections items.cc -o program",
    };
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        expect_same(commands[i]);
}

static int begin(void **state)
{
    object_set_codecs(&object_codecs_all);
    return fixture_begin(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_address_as_llvm_symbolizer)};
    return cmocka_run_group_tests(tests, begin, fixture_end);
}
