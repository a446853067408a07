/* Images read out of memory: the vDSO and libc of this very process (with its relocated dynamic
 * section), and fixtures laid out as a loader would. */
#include "object/fixture.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>
#include <unistd.h>

static bool read_self(void *context, uint64_t address, void *to, size_t size)
{
    (void)context;
    struct iovec local = {to, size}, remote = {(void *)(uintptr_t)address, size};
    return process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size;
}

/* Emulators do not have the system call. */
static void need_reading(void)
{
    int from = 1, to = 0;
    if (!read_self(NULL, (uintptr_t)&from, &to, sizeof to)) {
        print_message("skipped: no process_vm_readv here\n");
        skip();
    }
}

static struct object *open_self(uint64_t base)
{
    struct object *o = NULL;
    struct fw_failure why = {0};
    if (object_open_image(read_self, NULL, base, "self", &o, &why) != FW_OK)
        fail_msg("%s", why.message);
    return o;
}

static void reads_the_vdso(void **state)
{
    (void)state;
    need_reading();
    uint64_t base = getauxval(AT_SYSINFO_EHDR);
    if (!base) {
        print_message("skipped: the kernel gave no vDSO\n");
        skip();
    }
    struct object *o = open_self(base);
    assert_ptr_equal(object_arch(o), &ARCH_NATIVE);
    assert_int_equal(object_section_count(o), 0);
    struct symbols *symbols = symbols_build(o, NULL);
    assert_true(symbols_count(symbols) >= 2);
    struct unwind_image image;
    object_unwind_image(o, NULL, &image);
    assert_true(image.hi > image.lo && image.text.size > 0);
    assert_true(image.eh_frame.size > 0 && image.eh_frame_hdr.size > 0);
    symbols_destroy(symbols);
    object_close(o);
}

static int find_base(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so"))
        return 0;
    const ElfW(Phdr) *first = info->dlpi_phdr;
    while (first->p_type != PT_LOAD)
        first++;
    *(uint64_t *)context = info->dlpi_addr + first->p_vaddr - first->p_offset;
    return 1;
}

static void reads_a_library_as_it_lies_in_memory(void **state)
{
    (void)state;
    need_reading();
    uint64_t base = 0;
    if (!dl_iterate_phdr(find_base, &base)) {
        print_message("skipped: no shared libc here\n");
        skip();
    }
    struct object *o = open_self(base);
    assert_false(object_is_truncated(o));
    assert_int_equal(object_type(o), OBJECT_SHARED);
    struct symbols *symbols = symbols_build(o, NULL);
    static const char *const functions[] = {"qsort", "malloc", "lsearch"};
    for (size_t i = 0; i < 3; i++) {
        Dl_info where;
        void *function = dlsym(RTLD_DEFAULT, functions[i]);
        if (!dladdr(function, &where) || (uint64_t)(uintptr_t)where.dli_fbase != base)
            continue; /* a sanitizer puts its own in front */
        uint64_t at = (uint64_t)(uintptr_t)function;
        struct symbol_match match;
        if (!symbols_lookup(symbols, at - (base - object_base(o)), &match))
            fail_msg("no name for %s", functions[i]);
        assert_string_equal(match.name, functions[i]);
    }
    symbols_destroy(symbols);
    object_close(o);
}

/* Memory at 0x7000000000 (or below 4 GB) as a loader leaves it; a hole where `hole` says. */
struct loaded {
    uint64_t base, hole;
    uint8_t *bytes;
    size_t size;
};

static bool read_loaded(void *context, uint64_t address, void *to, size_t size)
{
    const struct loaded *l = context;
    uint64_t offset = address - l->base;
    if (offset > l->size || size > l->size - offset)
        return false;
    if (l->hole && offset + size > l->hole && offset < l->hole + 4096)
        return false;
    memcpy(to, l->bytes + offset, size);
    return true;
}

static struct loaded load(const struct object *o, uint64_t base)
{
    struct loaded l = {.base = base, .size = 1 << 20};
    l.bytes = calloc(1, l.size);
    assert_non_null(l.bytes);
    for (size_t i = 0; i < object_segment_count(o); i++) {
        struct span bytes = object_segment_data(o, i);
        uint64_t at = object_segment(o, i)->vaddr - object_base(o);
        assert_true(at + bytes.size <= l.size);
        memcpy(l.bytes + at, bytes.data, bytes.size);
    }
    return l;
}

static bool count_symbol(void *context, const struct object_symbol *symbol)
{
    (void)symbol;
    ++*(size_t *)context;
    return true;
}

static void finds_dynamic_symbols_without_sections(void **state)
{
    (void)state;
    fixture_text("l.c",
                 "int first(int x) { return x + 1; }\nint second(int x) { return x * 3; }\n"
                 "extern int third(int); int fourth(int x) { return third(x) + 2; }\n"
                 "#define F(n) int f##n##1(void) { return 1 ## n; } int f##n##2(void) { return "
                 "2 ## n; } int f##n##3(void) { return 3 ## n; }\n"
                 "F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9)\n");
    static const char *const styles[] = {"gnu", "sysv", "both"};
    for (size_t t = 0; t < fixture_target_count; t++) {
        const struct fixture_target *target = &fixture_targets[t];
        if (!fixture_target_works(target))
            continue;
        for (size_t s = 0; s < 3; s++) {
            fixture_run("%s %s -O1 -shared -fPIC -Wl,--hash-style=%s l.c -o l.so", target->compiler,
                        target->flags, styles[s]);
            struct object *file = fixture_open("l.so");
            struct loaded l = load(file, target->pointer_size == 8 ? 0x7000000000 : 0x70000000);
            struct object *o;
            assert_int_equal(object_open_image(read_loaded, &l, l.base, "l", &o, NULL), FW_OK);
            struct symbols *a = symbols_build(file, NULL), *b = symbols_build(o, NULL);
            static const char *const names[] = {"first", "second", "fourth", "f01", "f92"};
            for (size_t i = 0; i < 5; i++) {
                struct symbol_match match;
                uint64_t at = fixture_nm(target->tools, "l.so", names[i]);
                if (target->machine == EM_ARM)
                    at &= ~(uint64_t)1;
                assert_true(symbols_lookup(a, at, &match));
                assert_string_equal(match.name, names[i]);
                assert_true(symbols_lookup(b, at, &match));
                assert_string_equal(match.name, names[i]);
            }
            size_t all = 0, found = 0;
            assert_int_equal(object_symbols(file, true, count_symbol, &all), FW_OK);
            assert_int_equal(object_symbols(o, true, count_symbol, &found), FW_OK);
            assert_int_equal(all, found);
            struct span x = object_build_id(file), y = object_build_id(o);
            assert_int_equal(x.size, y.size);
            assert_true(x.size == 0 || memcmp(x.data, y.data, x.size) == 0);
            symbols_destroy(a);
            symbols_destroy(b);
            object_close(o);
            object_close(file);
            free(l.bytes);
        }
    }
}

/* The last chain of the table may hold more than its first symbol: several sizes make sure. */
static void gnu_hash_counts_every_symbol(void **state)
{
    (void)state;
    fixture_need("gcc awk");
    for (int functions = 1; functions < 60; functions += 6) {
        fixture_run(
            "awk 'BEGIN { for (i = 0; i < %d; i++) print \"int f\" i \"(void) { return \" i "
            "\"; }\" }' >n.c && gcc -shared -nostdlib -fPIC -Wl,--hash-style=gnu n.c -o n.so",
            functions);
        struct object *file = fixture_open("n.so");
        struct loaded l = load(file, 0x7000000000);
        struct object *o;
        assert_int_equal(object_open_image(read_loaded, &l, l.base, "n", &o, NULL), FW_OK);
        size_t count = 0;
        assert_int_equal(object_symbols(o, true, count_symbol, &count), FW_OK);
        assert_int_equal(count, functions);
        object_close(o);
        object_close(file);
        free(l.bytes);
    }
}

static void keeps_what_can_be_read(void **state)
{
    (void)state;
    fixture_need("gcc");
    fixture_text("b.c", "__attribute__((section(\".text.big\"))) const char big[20000] = {1};\n"
                        "int small(void) { return 1; }");
    fixture_run("gcc -O1 -shared -fPIC b.c -o b.so");
    struct object *file = fixture_open("b.so");
    struct loaded l = load(file, 0x7000000000);
    const struct object_segment *code = NULL;
    for (size_t i = 0; i < object_segment_count(file); i++)
        if (object_segment(file, i)->executable)
            code = object_segment(file, i);
    assert_non_null(code);
    l.hole = ((code->vaddr - object_base(file) + 4096) | 4095) + 1;
    struct object *o;
    struct fw_failure why;
    assert_int_equal(object_open_image(read_loaded, &l, l.base, "b", &o, &why), FW_OK);
    assert_true(object_is_truncated(o));
    uint64_t hole = l.hole + object_base(file);
    assert_int_equal(object_at(o, hole - 1).size, 1);
    assert_int_equal(object_at(o, hole).size, 0);
    object_close(o);

    l.hole = 0;
    assert_int_equal(object_open_image(read_loaded, &l, l.base + 4096, "b", &o, &why),
                     FW_ERR_FORMAT);
    assert_int_equal(object_open_image(read_loaded, &l, 0x10, "b", &o, &why), FW_ERR_NOT_FOUND);
    free(l.bytes);
    object_close(file);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_vdso),
        cmocka_unit_test(reads_a_library_as_it_lies_in_memory),
        cmocka_unit_test(finds_dynamic_symbols_without_sections),
        cmocka_unit_test(gnu_hash_counts_every_symbol),
        cmocka_unit_test(keeps_what_can_be_read),
    };
    return cmocka_run_group_tests(tests, fixture_begin, fixture_end);
}
