/* Sources of a small program of several units, in C and C++, for the tests of the conversion. */
#ifndef TESTS_SYMMAP_PROGRAMS_H
#define TESTS_SYMMAP_PROGRAMS_H

/* A unit for each -DPART=name; function names end in it. */
static const char part_source[] =
    "#include <stdlib.h>\n"
    "#define JOIN(a, b) a##_##b\n#define NAME(a, b) JOIN(a, b)\n"
    "static inline int weigh(int v) { if (v < 0) abort(); return v % 7 ? v * 3 : v + 1; }\n"
    "static inline int both(int a, int b) { return weigh(a) + weigh(b); }\n"
    "__attribute__((noinline)) static int NAME(inner, PART)(int *v, int n)\n"
    "{\n  int s = 0;\n  for (int i = 0; i < n; i++) {\n    if (v[i] > 1000)\n"
    "      exit(both(s, 3));\n    s += both(s, v[i]) ^ weigh(i);\n  }\n  return s;\n}\n"
    "int NAME(outer, PART)(int *v, int n) { return NAME(inner, PART)(v, n) + both(n, 2); }\n"
    "int NAME(tail, PART)(int *v) { v[0]++; return NAME(outer, PART)(v, 1); }\n";

static const char main_source[] =
    "int outer_a(int *, int), outer_b(int *, int), tail_c(int *), tail_d(int *), items(int);\n"
    "int main(int c, char **v)\n{\n  int all[4] = {c, 2, 3, 4};\n  (void)v;\n"
    "  return outer_a(all, 4) + outer_b(all, 2) + tail_c(all) + tail_d(all) + items(c);\n}\n";

static const char items_source[] =
    "#include <algorithm>\n#include <map>\n#include <string>\n#include <vector>\n"
    "struct item { int n; std::string s; bool operator<(const item &o) const { return s < o.s; } "
    "};\n"
    "extern \"C\" int items(int c)\n{\n  std::vector<item> x;\n  std::map<std::string, int> m;\n"
    "  for (int i = 0; i < c; i++)\n    x.push_back({i, std::string(i, 'a')});\n"
    "  std::sort(x.begin(), x.end());\n  int r = 0;\n  for (auto &t : x) {\n"
    "    auto [at, fresh] = m.try_emplace(t.s, t.n);\n    r += fresh ? 1 : at->second;\n  }\n"
    "  return r;\n}\n";

#endif
