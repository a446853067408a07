/* The symbol index: which symbol speaks for an address, how far it reaches, and that nothing gets a
 * neighbour's name. */
#include "object/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct index {
    struct object *object;
    struct symbols *symbols;
};

static struct index open_index(const char *name)
{
    struct index index = {.object = fixture_open(name)};
    index.symbols = symbols_build(index.object, NULL);
    assert_non_null(index.symbols);
    return index;
}

static void close_index(struct index *index)
{
    symbols_destroy(index->symbols);
    object_close(index->object);
}

static void expect_name(const struct index *index, uint64_t vaddr, const char *name,
                        uint64_t offset)
{
    struct symbol_match match;
    if (!symbols_lookup(index->symbols, vaddr, &match))
        fail_msg("0x%llx has no name, expected %s", (unsigned long long)vaddr, name);
    assert_string_equal(match.name, name);
    assert_int_equal(match.offset, offset);
    assert_int_equal(match.vaddr, vaddr - offset);
    assert_true(match.offset < match.size);
}

static void expect_none(const struct index *index, uint64_t vaddr)
{
    struct symbol_match match;
    if (symbols_lookup(index->symbols, vaddr, &match))
        fail_msg("0x%llx is %s, expected no name", (unsigned long long)vaddr, match.name);
}

/* x86-64 code with every kind of symbol; offsets are from the start of .text.probe. */
static const char probe[] =
    ".section .text.probe,\"ax\",@progbits\n"
    ".p2align 4\n"
    ".globl begin\nbegin:\n"
    ".type sized,@function\n.globl sized\nsized:\n"             /* 0x00, 16 bytes of 32 */
    ".fill 8,1,0x90\ninside:\n.fill 8,1,0x90\n.size sized,16\n" /* a label inside, 0x08 */
    ".fill 16,1,0x90\n"
    ".type __alias,@function\n.globl __alias\n__alias:\n" /* 0x20: four names, 16 bytes */
    ".type alias,@function\n.weak alias\nalias:\n"
    ".type alias_local,@function\nalias_local:\n"
    ".globl alia\nalia:\n.type _ali,@function\n.globl _ali\n_ali:\n"
    ".fill 16,1,0x90\n.size __alias,16\n.size alias,16\n.size alias_local,16\n"
    ".type outer,@function\n.globl outer\nouter:\n" /* 0x30, 32 bytes, around inner */
    ".fill 8,1,0x90\n"
    ".type inner,@function\n.globl inner\ninner:\n.fill 8,1,0x90\n.size inner,8\n"
    ".fill 16,1,0x90\n.size outer,32\n"
    "label:\n.fill 8,1,0x90\n"                   /* 0x50, a local label to the next */
    ".type open,@function\n.globl open\nopen:\n" /* 0x58, sizeless; the next function is unnamed */
    ".cfi_startproc\n.fill 8,1,0x90\n.cfi_endproc\n"
    ".cfi_startproc\n.fill 8,1,0x90\n.cfi_endproc\n" /* 0x60, nobody's */
    ".globl code_object\n.type code_object,@object\ncode_object:\n.fill 8,1,0x90\n"
    ".size code_object,8\n"                                      /* 0x68, data */
    ".type last,@function\n.globl last\nlast:\n.fill 8,1,0x90\n" /* 0x70 to the section's end */
    ".section .text.zzz,\"ax\",@progbits\n.globl other\nother: .fill 8,1,0x90\n"
    ".data\n.globl datum_label\ndatum_label: .globl datum\n.type datum,@object\ndatum: .quad "
    "1\n.size datum,8\n"
    ".globl absolute\n.set absolute,0x77\n"
    ".section .note.GNU-stack,\"\",@progbits\n";

/* Sections stay apart, so that their ends are known; `extra` are more flags. */
static void link_probe(const char *to, const char *extra)
{
    fixture_need("gcc");
    if (!fixture_try("gcc -m64 -x c /dev/null -fsyntax-only && uname -m | grep -q x86_64")) {
        print_message("skipped: the fixture is x86-64 assembler\n");
        skip();
    }
    fixture_text("probe.s", probe);
    fixture_text("probe.ld", "SECTIONS { . = 0x1000; .dynsym : {*(.dynsym)} .dynstr : {*(.dynstr)} "
                             ".gnu.hash : {*(.gnu.hash)} .hash : {*(.hash)} "
                             ".eh_frame_hdr : {*(.eh_frame_hdr)} .eh_frame : {*(.eh_frame)} "
                             ". = 0x3000; .text.probe : {*(.text.probe)} "
                             ". = 0x4000; .text.zzz : {*(.text.zzz)} "
                             ". = 0x5000; .dynamic : {*(.dynamic)} .data : {*(.data)} }");
    fixture_run("gcc -m64 -shared -nostdlib -Wl,-T,probe.ld -Wl,--no-warn-rwx-segments %s probe.s "
                "-o %s",
                extra, to);
}

static void chooses_the_right_symbol(void **state)
{
    (void)state;
    link_probe("probe.so", "");
    struct index i = open_index("probe.so");
    const uint64_t at = 0x3000;
    expect_name(&i, at, "sized", 0);           /* the function, not the label `begin` */
    expect_name(&i, at + 0x0c, "sized", 0x0c); /* not `inside` */
    expect_none(&i, at + 0x10);                /* past its size */
    expect_none(&i, at + 0x1f);
    expect_name(&i, at + 0x20, "alias", 0); /* not __alias, alias_local or the shorter label */
    expect_name(&i, at + 0x2f, "alias", 0xf);
    expect_name(&i, at + 0x34, "outer", 4);
    expect_name(&i, at + 0x3f, "inner", 7);
    expect_name(&i, at + 0x40, "outer", 0x10); /* behind the nested one again */
    expect_name(&i, at + 0x4f, "outer", 0x1f);
    expect_name(&i, at + 0x57, "label", 7);
    expect_name(&i, at + 0x5f, "open", 7);
    expect_none(&i, at + 0x60); /* a function that only the unwind table knows */
    expect_none(&i, at + 0x68);
    expect_name(&i, at + 0x77, "last", 7);
    expect_none(&i, at + 0x78); /* never past the section */
    expect_none(&i, at - 1);
    expect_name(&i, 0x4000, "other", 0);
    expect_none(&i, 0x4008);
    expect_none(&i, fixture_nm("", "probe.so", "datum_label"));
    expect_none(&i, 0x77);
    expect_none(&i, 0);
    expect_none(&i, UINT64_MAX);
    close_index(&i);
}

static void stripped_neighbours_stay_unnamed(void **state)
{
    (void)state;
    link_probe("probe.so", "");
    fixture_run("strip probe.so -o stripped.so");
    struct index i = open_index("stripped.so");
    const uint64_t at = 0x3000;
    expect_name(&i, at + 0x5f, "open", 7);
    expect_none(&i, at + 0x60);
    expect_none(&i, at + 0x50); /* `label` is gone, and `outer` has a size */
    close_index(&i);

    /* Nothing tells where functions begin: a sizeless export names its first byte. */
    link_probe("bare.so", "-Wl,--no-eh-frame-hdr");
    fixture_run("strip bare.so -o bare.so");
    i = open_index("bare.so");
    expect_name(&i, at + 0x58, "open", 0);
    expect_none(&i, at + 0x59);
    expect_name(&i, at + 0x2f, "alias", 0xf);
    close_index(&i);
}

/* Tables of some functions say nothing of those in between, which assembler has none for. */
static void exports_without_tables_name_one_byte(void **state)
{
    (void)state;
    fixture_need("gcc strip");
    fixture_text("s.s", ".text\n.type told,@function\n.globl told\ntold:\n"
                        ".cfi_startproc\n.fill 8,1,0x90\n.cfi_endproc\n"
                        "hidden:\n.fill 8,1,0x90\n" /* 8 */
                        ".type bare,@function\n.globl bare\nbare:\n.fill 8,1,0x90\n"
                        "call_of_its_own:\n.fill 64,1,0x90\n"
                        ".type sized,@function\n.globl sized\nsized:\n"
                        ".cfi_startproc\n.fill 8,1,0x90\n.cfi_endproc\n.size sized,8\n"
                        ".section .note.GNU-stack,\"\",%progbits\n");
    fixture_run("gcc -shared -nostdlib -Wl,--eh-frame-hdr s.s -o s.so && cp s.so whole.so && "
                "strip s.so");
    uint64_t at = fixture_nm("", "whole.so", "told");
    struct index i = open_index("s.so");
    expect_name(&i, at + 7, "told", 7);
    expect_none(&i, at + 8); /* hidden */
    expect_name(&i, at + 16, "bare", 0);
    expect_none(&i, at + 17);
    expect_none(&i, at + 24 + 63);
    expect_name(&i, at + 88 + 7, "sized", 7);
    close_index(&i);

    i = open_index("whole.so"); /* with all symbols the next one bounds the one before */
    expect_name(&i, at + 15, "hidden", 7);
    expect_name(&i, at + 23, "bare", 7);
    expect_name(&i, at + 24 + 63, "call_of_its_own", 63);
    close_index(&i);
}

static void arm_tables_bound_sizeless_functions(void **state)
{
    (void)state;
    const struct fixture_target *arm = &fixture_targets[3];
    if (!fixture_target_works(arm))
        skip();
    fixture_text("a.s", ".arm\n.text\n.globl known\n.type known,%function\nknown:\n.fnstart\n"
                        "nop\nbx lr\n.fnend\n"
                        "nobodys:\n.fnstart\n.cantunwind\nnop\nbx lr\n.fnend\n");
    fixture_run("%s -shared -nostdlib a.s -o a.so && %sstrip -N nobodys a.so", arm->compiler,
                arm->tools);
    uint64_t at = fixture_nm(arm->tools, "a.so", "known");
    struct index i = open_index("a.so");
    expect_name(&i, at + 4, "known", 4);
    expect_none(&i, at + 8);
    close_index(&i);

    /* The linker may have merged entries, so the table alone does not prove where `known` ends. */
    fixture_run("%sstrip a.so", arm->tools);
    i = open_index("a.so");
    expect_name(&i, at, "known", 0);
    expect_none(&i, at + 4);
    close_index(&i);
}

static void takes_symbols_of_the_debug_file(void **state)
{
    (void)state;
    link_probe("probe.so", "");
    fixture_run("objcopy --only-keep-debug probe.so probe.debug && strip probe.so -o stripped.so");
    struct object *object = fixture_open("stripped.so"), *debug = fixture_open("probe.debug");
    struct index i = {object, symbols_build(object, debug)};
    expect_name(&i, 0x3053, "label", 3);
    expect_name(&i, 0x3040, "outer", 0x10);
    expect_none(&i, 0x3060);
    close_index(&i);
    object_close(debug);
}

static void cuts_versions_off(void **state)
{
    (void)state;
    fixture_need("gcc objcopy");
    fixture_text("v.c", "__attribute__((symver(\"verso@@V_2\"))) int verso_2(void) { return 2; }\n"
                        "int plain(void) { return 1; }\n");
    fixture_text("v.map", "V_2 { global: verso; plain; local: *; };");
    if (!fixture_try("gcc -O1 -shared -fPIC -Wl,--version-script=v.map v.c -o v.so")) {
        print_message("skipped: the compiler knows no symver attribute\n");
        skip();
    }
    char *line = fixture_output("nm v.so | grep ' verso'");
    uint64_t at = strtoull(line, NULL, 16);
    free(line);
    struct index i = open_index("v.so");
    struct symbol_match match;
    assert_true(symbols_lookup(i.symbols, at, &match));
    assert_string_equal(match.name, "verso");
    close_index(&i);

    fixture_run("objcopy --only-keep-debug v.so v.debug"); /* no .dynsym that has the bare name */
    i = open_index("v.debug");
    expect_name(&i, at, "verso", 0);
    assert_true(symbols_lookup(i.symbols, fixture_nm("", "v.so", "plain"), &match));
    assert_string_equal(match.name, "plain");
    close_index(&i);
}

/* What follows an @ is a version only where it looks like one. */
static void keeps_names_with_an_at(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        size_t size;
    } names[] = {
        {"read@GLIBC_2.2.5", 4},
        {"read@@GLIBC_2.2.5", 4},
        {"deflate@@ZLIB_1.2", 7},
        {"x@Base", 1},
        {"fmt@typeInfo(T).name", 0},
        {"a@b@c", 0},
        {"@GLIBC_2.0", 0},
        {"name@", 0},
        {"name@@", 0},
        {"stdcall@8", 0},
        {"$s4main1A@B<C>.d", 0},
        {"plain", 0},
        {"a@B c", 0},
        {"_ZN1aC2Ev@@LIBA_1.0-beta", 9},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (symbol_unversioned(names[i].name) != names[i].size)
            fail_msg("%s: %zu", names[i].name, symbol_unversioned(names[i].name));
    fixture_need("gcc");
    fixture_text("at.s", ".text\n.globl \"fmt@typeInfo(T).name\"\n"
                         ".type \"fmt@typeInfo(T).name\", @function\n"
                         "\"fmt@typeInfo(T).name\": nop\nnop\n"
                         ".size \"fmt@typeInfo(T).name\", 2\n");
    if (!fixture_try("gcc -shared -nostdlib at.s -o at.so")) {
        print_message("skipped: the assembler takes no such name\n");
        skip();
    }
    char *line = fixture_output("nm at.so | grep typeInfo");
    uint64_t at = strtoull(line, NULL, 16);
    free(line);
    struct index i = open_index("at.so");
    expect_name(&i, at + 1, "fmt@typeInfo(T).name", 1);
    close_index(&i);
}

static void removes_the_thumb_bit(void **state)
{
    (void)state;
    const struct fixture_target *arm = &fixture_targets[3];
    if (!fixture_target_works(arm))
        skip();
    fixture_text("t.c", "__attribute__((target(\"thumb\"))) int in_thumb(int x) { return x * 3; }\n"
                        "__attribute__((target(\"arm\"))) int in_arm(int x) { return x * 5; }\n");
    fixture_run("%s -O1 -shared -fPIC t.c -o t.so", arm->compiler);
    struct index i = open_index("t.so");
    uint64_t thumb = fixture_nm(arm->tools, "t.so", "in_thumb") & ~(uint64_t)1;
    expect_name(&i, thumb, "in_thumb", 0);
    expect_name(&i, thumb + 1, "in_thumb", 1);
    expect_name(&i, fixture_nm(arm->tools, "t.so", "in_arm"), "in_arm", 0);
    close_index(&i);
}

/* What objdump calls NAME@plt is a stub with that name here; other stubs have none. */
static void expect_stubs(const struct fixture_target *t, const char *flags)
{
    bool lld = strcmp(flags, "lld") == 0;
    if (lld ? !fixture_try("%s %s -O1 -foptimize-sibling-calls -fPIC -c p.c -o p.o && ld.lld-19 "
                           "-shared p.o -o p.so",
                           t->compiler, t->flags)
            : !fixture_try("%s %s -O1 -foptimize-sibling-calls %s p.c -o p.so", t->compiler,
                           t->flags, flags)) {
        print_message("skipped for %s: cannot link with %s\n", t->name, flags);
        return;
    }
    char *list = fixture_output("%sobjdump -d p.so | sed -n "
                                "'s/^\\([0-9a-f]*\\) <\\([a-z_]*\\)@plt>:$/\\1 \\2/p'",
                                t->tools);
    struct index i = open_index("p.so");
    size_t count = 0;
    for (char *line = strtok(list, "\n"); line; line = strtok(NULL, "\n"), count++) {
        char name[64];
        unsigned long long at;
        assert_int_equal(sscanf(line, "%llx %63s", &at, name), 2);
        struct symbol_match match;
        if (!symbols_lookup(i.symbols, at, &match) || strcmp(match.name, name) != 0 || !match.plt)
            fail_msg("%s %s: 0x%llx is not the stub of %s", t->name, flags, at, name);
        assert_int_equal(match.offset, 0);
        assert_true(match.size >= 8 && match.size <= 24);
    }
    /* With .plt.sec, entry n + 1 of .plt is the lazy half of stub n. */
    struct unwind_section lazy, second;
    if (object_section_data(i.object, ".plt.sec", &second, NULL) == FW_OK &&
        object_section_data(i.object, ".plt", &lazy, NULL) == FW_OK)
        for (uint64_t at = 0; at + 16 < lazy.size; at += 16) {
            struct symbol_match a, b;
            assert_true(symbols_lookup(i.symbols, second.vaddr + at, &a));
            assert_true(symbols_lookup(i.symbols, lazy.vaddr + at + 16, &b));
            assert_string_equal(a.name, b.name);
        }
    if (count < 2 && !lld) /* objdump does not know lld's stubs of every architecture */
        fail_msg("%s %s: objdump names no stubs", t->name, flags);
    close_index(&i);
    free(list);
}

static void names_plt_stubs(void **state)
{
    (void)state;
    fixture_need("sed");
    fixture_text("p.c", "extern int puts(const char *), abs_(int), atoi(const char *);\n"
                        "void *taken(void) { return (void *)atoi; }\n"
                        "int use(const char *s) { return puts(s) + abs_(1) + atoi(s) + 1; }\n"
                        "int tail(const char *s) { return atoi(s); }\n");
    static const char *const flags[] = {
        "-shared -fPIC -Wl,-z,lazy",
        "-shared -fPIC -Wl,-z,now",
        "-shared -fPIC -fcf-protection=full -Wl,-z,ibtplt",
        "-shared -fPIC -fcf-protection=full -Wl,-z,lazy,-z,ibtplt",
        "-shared -fPIC -mbranch-protection=standard -Wl,-z,force-bti,-z,pac-plt",
        "-no-pie -fno-pie -Wl,--unresolved-symbols=ignore-all -DMAIN -include stdlib.h "
        "-Wl,-e,use",
        "lld",
        "-no-pie -fno-pie -Wl,--unresolved-symbols=ignore-all -Wl,-e,use "
        "-mbranch-protection=standard -Wl,-z,force-bti,-z,pac-plt",
    };
    for (size_t i = 0; i < fixture_target_count; i++) {
        const struct fixture_target *t = &fixture_targets[i];
        bool arm64 = strcmp(t->name, "aarch64") == 0, x86 = i < 2;
        if (!fixture_target_works(t))
            continue;
        for (size_t k = 0; k < sizeof flags / sizeof flags[0]; k++) {
            if ((k == 2 || k == 3) && !x86)
                continue;
            if ((k == 4 || k == 7) && !arm64)
                continue;
            expect_stubs(t, flags[k]);
        }
    }
}

/* Every function that nm -D knows of a real library is found, at its start and at its last byte. */
static void agrees_with_nm_on_libc(void **state)
{
    (void)state;
    fixture_need("nm ldd awk");
    char *path = fixture_output("ldd /bin/sh | awk '/libc\\.so/ { printf \"%%s\", $3 }'");
    if (!path[0]) {
        free(path);
        print_message("skipped: no shared libc here\n");
        skip();
    }
    char *list = fixture_output("nm -D -S --defined-only --without-symbol-versions '%s' | "
                                "awk '$3 ~ /^[TtWi]$/ { print $1, $2, $4 }'",
                                path);
    struct object *object;
    assert_int_equal(object_open(path, &object, NULL), FW_OK);
    struct index i = {object, symbols_build(object, NULL)};
    assert_non_null(i.symbols);
    size_t count = 0, same = 0;
    for (char *line = strtok(list, "\n"); line; line = strtok(NULL, "\n"), count++) {
        unsigned long long at, size;
        char name[256];
        assert_int_equal(sscanf(line, "%llx %llx %255s", &at, &size, name), 3);
        struct symbol_match match;
        if (!symbols_lookup(i.symbols, at, &match))
            fail_msg("no name at %s", name);
        assert_int_equal(match.offset, 0);
        assert_true(match.size >= size || match.size == 0);
        same += strcmp(match.name, name) == 0;
        if (!symbols_lookup(i.symbols, at + size - 1, &match))
            fail_msg("no name at the end of %s", name);
    }
    assert_true(count > 1000);
    assert_true(same * 2 > count); /* the others are aliases of one address */
    close_index(&i);
    free(list);
    free(path);
}

static void relocatable_files_have_addresses_of_their_own(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("r.c", "int f(void) { return 1; } int g(void) { return 2; }");
    fixture_run("gcc -ffunction-sections -c r.c -o r.o");
    struct index i = open_index("r.o");
    struct symbol_match f, g;
    assert_int_equal(symbols_count(i.symbols), 2);
    assert_true(symbols_lookup(i.symbols, 0, &f));
    assert_string_equal(f.name, "f");
    assert_true(symbols_lookup(i.symbols, f.size, &g));
    assert_string_equal(g.name, "g");
    expect_none(&i, g.vaddr + g.size);
    close_index(&i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chooses_the_right_symbol),
        cmocka_unit_test(stripped_neighbours_stay_unnamed),
        cmocka_unit_test(exports_without_tables_name_one_byte),
        cmocka_unit_test(arm_tables_bound_sizeless_functions),
        cmocka_unit_test(takes_symbols_of_the_debug_file),
        cmocka_unit_test(cuts_versions_off),
        cmocka_unit_test(keeps_names_with_an_at),
        cmocka_unit_test(removes_the_thumb_bit),
        cmocka_unit_test(names_plt_stubs),
        cmocka_unit_test(agrees_with_nm_on_libc),
        cmocka_unit_test(relocatable_files_have_addresses_of_their_own),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
