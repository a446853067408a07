/* Loaded Mach-O images: real files laid out in memory beside what the file's own reader says of
 * them, images of a shared cache by hand, and every field of the load commands to extremes. */
#include "fixture.h"
#include "loaded_layout.h"
#include "macho_build.h"
#include "object/object.h"
#include "object/symbols.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Real files. */

struct tally {
    size_t images, symbols, names_more, linkedit;
};
static struct tally tally;

static bool same_section(const struct unwind_section *a, const struct unwind_section *b)
{
    return a->vaddr == b->vaddr && a->size == b->size &&
           (a->size == 0 || memcmp(a->data, b->data, a->size) == 0);
}

static void compare_unwinding(struct object *object, const struct macho_loaded *loaded,
                              uint64_t slide)
{
    struct unwind_image file, memory;
    object_unwind_image(object, NULL, &file);
    macho_loaded_unwind_image(loaded, file.lo + slide, &memory);
    assert_int_equal(memory.bias, slide);
    assert_int_equal(memory.lo, file.lo);
    assert_int_equal(memory.hi, file.hi);
    assert_int_equal(memory.header, file.header);
    assert_true(memory.macho);
    assert_true(same_section(&memory.unwind_info, &file.unwind_info));
    assert_true(same_section(&memory.eh_frame, &file.eh_frame));
    for (size_t i = 0; i < UNWIND_STUB_AREAS; i++)
        assert_true(same_section(&memory.plt[i], &file.plt[i]));
    assert_true(same_section(&memory.function_starts, &file.function_starts));
    assert_true(memory.text.size > 0);
}

/* Every name of the file's index is found in memory, with the same extent unless one more export
 * ends it. */
static void compare_symbols(struct object *object, const struct macho_loaded *loaded)
{
    struct symbols *file = symbols_build(object, NULL), *memory = symbols_build_loaded(loaded);
    assert_non_null(file);
    assert_non_null(memory);
    for (size_t i = 0; i < symbols_count(file); i++) {
        struct symbol_match a, b;
        symbols_at(file, i, &a);
        if (!symbols_lookup(memory, a.vaddr, &b))
            fail_msg("%s: no %s in memory", object_label(object), a.name);
        assert_string_equal(a.name, b.name);
        assert_int_equal(a.vaddr, b.vaddr);
        assert_true(b.size <= a.size);
        assert_int_equal(a.plt, b.plt);
    }
    assert_true(symbols_count(memory) >= symbols_count(file));
    tally.names_more += symbols_count(memory) - symbols_count(file);
    tally.symbols += symbols_count(file);
    symbols_destroy(file);
    symbols_destroy(memory);
}

static void check_image(struct object *object, const uint8_t *bytes, size_t size, uint64_t slide,
                        uint64_t linkedit_move)
{
    struct layout layout = {.count = 0};
    if (layout_load(&layout, bytes, size, slide, linkedit_move)) {
        struct macho_memory memory = layout_memory(&layout);
        struct macho_loaded loaded;
        struct span id = object_build_id(object);
        if (!macho_loaded_read(&loaded, &memory, layout.header))
            fail_msg("%s is not read", object_label(object));
        assert_int_equal(loaded.slide, slide);
        assert_int_equal(loaded.vaddr, object_base(object));
        assert_int_equal(loaded.has_uuid, id.size == 16);
        assert_true(!loaded.has_uuid || memcmp(id.data, loaded.uuid, 16) == 0);
        tally.linkedit += loaded.symbols.size && loaded.strings.size;
        compare_unwinding(object, &loaded, slide);
        compare_symbols(object, &loaded);
        tally.images++;
    }
    layout_free(&layout);
}

static const char *current_path;

static bool check_slice(void *context, const struct object_slice *slice)
{
    const struct object_choice choice = {.arch = slice->arch, .uuid = slice->uuid};
    FILE *file = fopen(current_path, "rb");
    uint8_t *bytes = malloc((size_t)slice->size + 1);
    struct object *object;
    (void)context;
    assert_non_null(file);
    assert_non_null(bytes);
    if (fseek(file, (long)slice->offset, SEEK_SET) == 0 &&
        fread(bytes, 1, (size_t)slice->size, file) == slice->size &&
        object_open_choice(current_path, &choice, &object, NULL) == FW_OK) {
        const bool narrow = !object_is_64(object);
        if (object_is_macho(object)) {
            check_image(object, bytes, (size_t)slice->size, narrow ? 0x70000 : 0x7f0123450000, 0);
            check_image(object, bytes, (size_t)slice->size, narrow ? 0 : (uint64_t)-0x100000000,
                        narrow ? 0x20000000 : 0x3000000000);
        }
        object_close(object);
    }
    fclose(file);
    free(bytes);
    return true;
}

static int check_path(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)place;
    uint32_t magic = 0;
    FILE *file = type == FTW_F && status->st_size > 4096 ? fopen(path, "rb") : NULL;
    bool good = file && fread(&magic, 4, 1, file) == 1;
    if (file)
        fclose(file);
    current_path = path;
    if (good && (magic == 0xfeedfacf || magic == 0xfeedface || magic == 0xbebafeca))
        object_slices(path, check_slice, NULL, NULL);
    return 0;
}

static void real_files_in_memory(void **state)
{
    (void)state;
    if (access(FW_SHARED_DATA, R_OK) != 0) {
        print_message("no test data at %s\n", FW_SHARED_DATA);
        skip();
    }
    nftw(FW_SHARED_DATA "/debug", check_path, 16, FTW_PHYS);
    nftw(FW_SHARED_DATA "/unwind/framehop", check_path, 16, FTW_PHYS);
    print_message("%zu images, %zu with symbols, %zu names, %zu more by export tries\n",
                  tally.images, tally.linkedit, tally.symbols, tally.names_more);
    assert_true(tally.images > 40);
    assert_true(tally.linkedit > 40);
}

/* A shared cache by hand: two dylibs whose segments interleave, with one __LINKEDIT. */

enum {
    CACHE_SLIDE = 0x5000000,
    LINKEDIT = 0x180000000,
    LINKEDIT_OFFSET = 0x40000, /* in the file of the cache */
    LINKEDIT_SIZE = 0x4000,
};

struct dylib {
    uint64_t text, code2, data; /* vmaddr of its segments, 0x1000 bytes each */
    uint32_t symbols, strings, starts, exports;
    uint8_t uuid;
};
static const struct dylib first = {0x100000000, 0x100004000, 0x100002000, 0x0,
                                   0x200,       0x400,       0x440,       7};
static const struct dylib second = {0x100001000, 0x100005000, 0x100003000, 0x800,
                                    0xa00,       0xc00,       0,           9};

static void build_dylib(struct macho_build *b, const struct dylib *d)
{
    macho_begin(b, true, false, CPU_ARM64, 2, MH_DYLIB);
    macho_patch32(b, 24, MH_DYLIB_IN_CACHE);
    /* File offsets of the cache are not those of the dylib's own file. */
    size_t at = macho_segment(b, "__TEXT", d->text, 0x1000, d->text - 0x100000000 + 0x8000, 0x1000,
                              VM_READ | VM_EXECUTE, 3);
    macho_section(b, "__text", "__TEXT",
                  (struct macho_place){.vaddr = d->text + 0x800,
                                       .size = 0x400,
                                       .offset = 0x800,
                                       .flags = S_ATTR_PURE_INSTRUCTIONS});
    macho_section(b, "__stubs", "__TEXT",
                  (struct macho_place){.vaddr = d->text + 0xc00,
                                       .size = 24,
                                       .offset = 0xc00,
                                       .flags = S_SYMBOL_STUBS | S_ATTR_PURE_INSTRUCTIONS,
                                       .stub_size = 12});
    macho_section(b, "__unwind_info", "__TEXT",
                  (struct macho_place){.vaddr = d->text + 0xd00, .size = 0x80, .offset = 0xd00});
    macho_end_command(b, at);
    at = macho_segment(b, "__DATA", d->data, 0x1000, 0x20000, 0x800, VM_READ | VM_WRITE, 0);
    macho_end_command(b, at);
    at =
        macho_segment(b, "__TEXT_EXEC", d->code2, 0x1000, 0x10000, 0x1000, VM_READ | VM_EXECUTE, 1);
    macho_section(b, "__more", "__TEXT_EXEC",
                  (struct macho_place){.vaddr = d->code2,
                                       .size = 0x100,
                                       .offset = 0x10000,
                                       .flags = S_ATTR_PURE_INSTRUCTIONS});
    macho_end_command(b, at);
    at = macho_segment(b, "__LINKEDIT", LINKEDIT, LINKEDIT_SIZE, LINKEDIT_OFFSET, LINKEDIT_SIZE,
                       VM_READ, 0);
    macho_end_command(b, at);
    const uint32_t symtab[] = {LINKEDIT_OFFSET + d->symbols, 6, LINKEDIT_OFFSET + d->strings,
                               0x100};
    macho_words(b, LC_SYMTAB, symtab, 4);
    at = macho_command(b, LC_DYSYMTAB);
    b->used += 48;
    macho_put32(b, LINKEDIT_OFFSET + 0x1000);
    macho_put32(b, 2);
    b->used += 16;
    macho_end_command(b, at);
    const uint32_t starts[] = {LINKEDIT_OFFSET + d->starts, 0x20};
    macho_words(b, LC_FUNCTION_STARTS, starts, 2);
    const uint32_t exports[] = {LINKEDIT_OFFSET + d->exports, d->exports ? 0x40 : 0};
    macho_words(b, LC_DYLD_EXPORTS_TRIE, exports, 2);
    at = macho_command(b, LC_UUID);
    memset(b->bytes + b->used, d->uuid, 16);
    b->used += 16;
    macho_end_command(b, at);
    static const char name[16] = "/usr/lib/l.dylib"; /* no NUL: that is in what follows */
    at = macho_command(b, LC_ID_DYLIB);
    macho_put32(b, 24);
    b->used += 12;
    memcpy(b->bytes + b->used, name, sizeof name);
    b->used += sizeof name + (d == &first ? 8 : 0);
    macho_end_command(b, at);
    macho_end(b);
}

static void put_table(uint8_t *linkedit, const struct dylib *d, const struct macho_entry *entries,
                      size_t count)
{
    uint32_t next = 1;
    for (size_t i = 0; i < count; i++) {
        uint8_t *e = linkedit + d->symbols + i * 16;
        memcpy(e, &next, 4);
        e[4] = entries[i].type;
        e[5] = entries[i].section;
        memcpy(e + 6, &entries[i].desc, 2);
        memcpy(e + 8, &entries[i].value, 8);
        strcpy((char *)linkedit + d->strings + next, entries[i].name);
        next += (uint32_t)strlen(entries[i].name) + 1;
    }
}

/* ULEB128 distances of two bytes each, from the header. */
static void put_starts(uint8_t *list, const uint64_t *starts, size_t count, uint64_t header)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t distance = starts[i] - (i ? starts[i - 1] : header);
        for (; distance > 0x7f; distance >>= 7)
            *list++ = (uint8_t)(distance | 0x80);
        *list++ = (uint8_t)distance;
    }
}

static void put_dylib(struct layout *l, const struct dylib *d)
{
    static struct macho_build b;
    build_dylib(&b, d);
    uint8_t *text = layout_add(l, d->text + CACHE_SLIDE, 0x1000);
    assert_non_null(text);
    memcpy(text, b.bytes, b.used);
    assert_non_null(layout_add(l, d->data + CACHE_SLIDE, 0x1000));
    assert_non_null(layout_add(l, d->code2 + CACHE_SLIDE, 0x1000));
}

static void build_cache(struct layout *l)
{
    l->count = 0;
    uint8_t *linkedit = layout_add(l, LINKEDIT + CACHE_SLIDE, LINKEDIT_SIZE);
    assert_non_null(linkedit);
    put_dylib(l, &first);
    put_dylib(l, &second);
    const uint64_t t = first.text + 0x800, u = second.text + 0x800;
    const struct macho_entry a[] = {
        {"_alpha", N_SECT | N_EXT, 1, 0, t},
        {"<redacted>", N_SECT, 1, 0, t + 0x40},
        {"ltmp0", N_SECT, 1, 0, t},
        {"_main.c", 0x64, 0, 0, 0}, /* a stab */
        {"_far", N_SECT | N_EXT, 4, 0, first.code2 + 0x20},
        {"_imported", N_EXT, 0, 0, 0},
    };
    put_table(linkedit, &first, a, 6);
    const struct macho_entry c[] = {
        {"_beta", N_SECT | N_EXT, 1, 0, u},        {"__ZL5localv", N_SECT, 1, 0, u + 0x40},
        {"_data", N_SECT | N_EXT, 9, 0, u + 0x80}, {"", N_SECT | N_EXT, 1, 0, u + 0x80},
        {"_outside", N_SECT, 1, 0, second.data},   {"_imported2", N_EXT, 0, 0, 0},
    };
    put_table(linkedit, &second, c, 6);
    put_starts(linkedit + first.starts, (uint64_t[]){t, t + 0x40, t + 0x80, first.code2 + 0x20}, 4,
               first.text);
    put_starts(linkedit + second.starts, (uint64_t[]){u, u + 0x40, u + 0x100}, 3, second.text);
    memcpy(linkedit + 0x1000, (uint32_t[]){5, 0x80000000}, 8);
    /* { root: "_" -> { "alpha" -> 0x800, "hidden" -> 0x880, "far" ->, "mh" -> 0 } } */
    static const uint8_t trie[] = {0, 1,    '_',  0,   5,   0, 3,    'a',  'l',  'p',  'h', 'a',
                                   0, 30,   'h',  'i', 'd', 0, 35,   'f',  'a',  'r',  0,   40,
                                   0, 0,    0,    0,   0,   0, 3,    0,    0x80, 0x10, 0,   3,
                                   0, 0x80, 0x11, 0,   4,   0, 0xa0, 0x80, 0x01, 0};
    memcpy(linkedit + first.exports, trie, sizeof trie);
}

struct mapped {
    size_t count, code, linkedit;
    uint64_t lo[8], hi[8];
};

static bool take_mapped(void *context, const struct macho_loaded_segment *s)
{
    struct mapped *m = context;
    m->lo[m->count] = s->lo;
    m->hi[m->count++] = s->hi;
    m->code += s->executable;
    m->linkedit += s->linkedit;
    return true;
}

static const char *name_at(const struct symbols *symbols, uint64_t vaddr)
{
    struct symbol_match match;
    return symbols_lookup(symbols, vaddr, &match) ? match.name : "none";
}

static void segments_of_a_cache_interleave(void **state)
{
    (void)state;
    struct layout l;
    build_cache(&l);
    struct macho_memory memory = layout_memory(&l);
    struct macho_loaded image;
    struct unwind_image unwind;
    struct mapped m = {0};

    assert_true(macho_loaded_read(&image, &memory, first.text + CACHE_SLIDE));
    assert_int_equal(image.slide, CACHE_SLIDE);
    assert_true(image.permanent);
    assert_true(image.has_uuid);
    assert_int_equal(image.uuid[15], 7);
    assert_string_equal(image.install_name, "/usr/lib/l.dylib");
    macho_loaded_segments(&image, take_mapped, &m);
    assert_int_equal(m.count, 4);
    assert_int_equal(m.code, 2);
    assert_int_equal(m.linkedit, 1);
    assert_int_equal(m.lo[2], first.code2 + CACHE_SLIDE);
    assert_int_equal(m.hi[2], first.code2 + CACHE_SLIDE + 0x1000);
    assert_int_equal(image.symbols.vaddr, LINKEDIT);

    /* The text is that of the segment around the address. */
    macho_loaded_unwind_image(&image, first.code2 + CACHE_SLIDE + 0x20, &unwind);
    assert_int_equal(unwind.text.vaddr, first.code2);
    macho_loaded_unwind_image(&image, first.text + CACHE_SLIDE + 0x800, &unwind);
    assert_int_equal(unwind.text.vaddr, first.text);
    assert_int_equal(unwind.unwind_info.vaddr, first.text + 0xd00);
    assert_int_equal(unwind.plt[0].vaddr, first.text + 0xc00);
    assert_int_equal(unwind.header, first.text);
    assert_int_equal(unwind.function_starts.size, 0x20);
    layout_free(&l);
}

static void names_of_a_cache(void **state)
{
    (void)state;
    struct layout l;
    build_cache(&l);
    struct macho_memory memory = layout_memory(&l);
    struct macho_loaded image;
    const uint64_t t = first.text + 0x800, u = second.text + 0x800;

    assert_true(macho_loaded_read(&image, &memory, first.text + CACHE_SLIDE));
    struct symbols *symbols = symbols_build_loaded(&image);
    assert_non_null(symbols);
    assert_string_equal(name_at(symbols, t - 1), "none");
    assert_string_equal(name_at(symbols, t), "alpha");
    assert_string_equal(name_at(symbols, t + 0x3f), "alpha");
    assert_string_equal(name_at(symbols, t + 0x40), "none"); /* redacted */
    assert_string_equal(name_at(symbols, t + 0x7f), "none");
    assert_string_equal(name_at(symbols, t + 0x80), "hid"); /* only the trie knows it */
    assert_string_equal(name_at(symbols, first.code2), "none");
    assert_string_equal(name_at(symbols, first.code2 + 0x20), "far");
    assert_string_equal(name_at(symbols, first.text + 0xc00), "imported");
    assert_string_equal(name_at(symbols, first.text + 0xc0c), "none");
    symbols_destroy(symbols);

    assert_true(macho_loaded_read(&image, &memory, second.text + CACHE_SLIDE));
    assert_null(image.install_name); /* its string runs over the end of the command */
    symbols = symbols_build_loaded(&image);
    assert_non_null(symbols);
    assert_string_equal(name_at(symbols, u), "beta");
    assert_string_equal(name_at(symbols, u + 0x40), "_ZL5localv");
    assert_string_equal(name_at(symbols, u + 0xff), "_ZL5localv");
    assert_string_equal(name_at(symbols, u + 0x100), "none"); /* stripped: a start without name */
    assert_string_equal(name_at(symbols, second.data), "none");
    symbols_destroy(symbols);
    layout_free(&l);
}

/* Damage. */

static uint64_t exercise(struct layout *l, uint64_t header)
{
    struct macho_memory memory = layout_memory(l);
    struct macho_loaded image;
    if (!macho_loaded_read(&image, &memory, header))
        return 0;
    uint64_t sum = image.slide;
    struct unwind_image u;
    macho_loaded_unwind_image(&image, header + 0x800, &u);
    const struct unwind_section *all[] = {
        &u.text,   &u.unwind_info, &u.eh_frame, &u.function_starts,
        &u.plt[0], &u.plt[1],      &u.plt[2],   &u.plt[3]};
    for (size_t i = 0; i < 8; i++)
        for (size_t k = 0; k < all[i]->size; k++)
            sum += all[i]->data[k];
    struct symbols *symbols = symbols_build_loaded(&image);
    assert_non_null(symbols);
    for (size_t i = 0; i < symbols_count(symbols); i++) {
        struct symbol_match match;
        symbols_at(symbols, i, &match);
        sum += strlen(match.name);
        assert_true(match.size > 0);
        assert_true(symbols_lookup(symbols, match.vaddr, &match));
    }
    symbols_destroy(symbols);
    return sum | 1;
}

static void every_field_to_extremes(void **state)
{
    (void)state;
    static const uint32_t extremes[] = {0, 1, 7, 8, 0x7fffffff, 0x80000000, 0xfffffff0, UINT32_MAX};
    struct layout l;
    build_cache(&l);
    uint8_t *text = l.block[1].bytes;
    uint32_t size;
    memcpy(&size, text + 20, 4);
    size_t good = 0, refused = 0;
    for (size_t at = 0; at < 32 + size; at += 4) {
        uint32_t kept;
        memcpy(&kept, text + at, 4);
        for (size_t i = 0; i < 10; i++) {
            uint32_t value = i < 8 ? extremes[i] : kept + (i == 8 ? 1 : UINT32_MAX);
            memcpy(text + at, &value, 4);
            if (exercise(&l, first.text + CACHE_SLIDE))
                good++;
            else
                refused++;
        }
        memcpy(text + at, &kept, 4);
    }
    assert_true(good > 100);
    assert_true(refused > 100);
    assert_true(exercise(&l, first.text + CACHE_SLIDE));
    layout_free(&l);
}

static void every_byte_of_linkedit(void **state)
{
    (void)state;
    struct layout l;
    build_cache(&l);
    uint8_t *linkedit = l.block[0].bytes;
    for (size_t at = 0; at < 0x500; at++) {
        uint8_t kept = linkedit[at];
        for (unsigned i = 0; i < 3; i++) {
            linkedit[at] = (uint8_t)((unsigned[]){0, 0xff, kept ^ 0x80u})[i];
            assert_true(exercise(&l, first.text + CACHE_SLIDE));
        }
        linkedit[at] = kept;
    }
    /* No string ends. */
    memset(linkedit, 'x', LINKEDIT_SIZE);
    assert_true(exercise(&l, first.text + CACHE_SLIDE));
    layout_free(&l);
}

/* Memory that ends anywhere: what is missing may not be read. */
static void every_truncation(void **state)
{
    (void)state;
    struct layout l;
    for (size_t block = 0; block < 2; block++)
        for (size_t size = block ? 0 : LINKEDIT_SIZE - 0x200;
             size < (block ? 0x400 : LINKEDIT_SIZE); size += block ? 1 : 0x40) {
            build_cache(&l);
            uint8_t *cut = malloc(size ? size : 1);
            assert_non_null(cut);
            memcpy(cut, l.block[block].bytes, size);
            free(l.block[block].bytes);
            l.block[block].bytes = cut;
            l.block[block].size = size;
            exercise(&l, first.text + CACHE_SLIDE);
            layout_free(&l);
        }
}

static void headers_that_are_none(void **state)
{
    (void)state;
    struct layout l;
    build_cache(&l);
    struct macho_memory memory = layout_memory(&l);
    struct macho_loaded image;
    assert_false(macho_loaded_read(&image, &memory, first.data + CACHE_SLIDE));
    assert_false(macho_loaded_read(&image, &memory, 0));
    assert_false(macho_loaded_read(&image, &memory, UINT64_MAX - 8));
    uint8_t *text = l.block[1].bytes;
    uint32_t swapped = 0xcffaedfe;
    memcpy(text, &swapped, 4);
    assert_false(macho_loaded_read(&image, &memory, first.text + CACHE_SLIDE));
    layout_free(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(real_files_in_memory),   cmocka_unit_test(segments_of_a_cache_interleave),
        cmocka_unit_test(names_of_a_cache),       cmocka_unit_test(every_field_to_extremes),
        cmocka_unit_test(every_byte_of_linkedit), cmocka_unit_test(every_truncation),
        cmocka_unit_test(headers_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
