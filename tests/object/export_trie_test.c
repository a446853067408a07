/* Export tries: real ones beside llvm-objdump, and by hand those that no linker writes. */
#include "fixture.h"
#include "loaded_layout.h"
#include "object/export_trie.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

struct seen {
    size_t count, bytes, longest, limit;
    uint64_t offsets;
    char first[64];
    bool weak;
};

static bool see(void *context, const struct export_symbol *s)
{
    struct seen *seen = context;
    assert_int_equal(strlen(s->name), s->name_size);
    if (seen->count == 0)
        snprintf(seen->first, sizeof seen->first, "%s", s->name);
    seen->count++;
    seen->bytes += s->name_size;
    seen->longest = s->name_size > seen->longest ? s->name_size : seen->longest;
    seen->offsets += s->offset;
    seen->weak |= s->weak;
    return seen->count != seen->limit;
}

static bool walk(const void *bytes, size_t size, struct seen *seen)
{
    uint8_t *copy = malloc(size ? size : 1); /* of exactly its size, for the sanitizer */
    assert_non_null(copy);
    memcpy(copy, bytes, size);
    bool whole = export_trie_each((struct span){copy, size}, see, seen);
    free(copy);
    return whole;
}

static void kinds_of_exports(void **state)
{
    (void)state;
    static const uint8_t trie[] = {
        0,   6, /* six children */
        '_', 'a',  0,    30, '_', 'b', 0,    35,   '_',  'c', 0, 40,   '_',  'd',  0,
        45,                                                                           /* to 17 */
        '_', 'e',  0,    50, '_', 'f', 0,    56,   0,    0,   0, 0,                   /* to 29 */
        2,   0x00, 0x10, 0,  0,   2,   0x04, 0x20, 0,    0,   3, 0x08, 1,    0,    0, /* a b c */
        2,   0x02, 0x40, 0,  0,   3,   0x10, 0x7f, 0x50, 0,   0, 2,    0x01, 0x33, 0, /* d e f */
    };
    struct seen seen = {0};
    assert_true(walk(trie, sizeof trie, &seen));
    assert_int_equal(seen.count, 3); /* no re-export, nothing absolute or of threads */
    assert_string_equal(seen.first, "_a");
    assert_int_equal(seen.offsets, 0x10 + 0x20 + 0x7f); /* of a resolver the stub */
    assert_true(seen.weak);

    struct seen one = {.limit = 1};
    assert_true(walk(trie, sizeof trie, &one));
    assert_int_equal(one.count, 1);

    for (size_t size = 0; size < sizeof trie; size++) {
        struct seen cut = {0};
        walk(trie, size, &cut);
        assert_true(cut.count <= 3);
    }
}

static void circles_end(void **state)
{
    (void)state;
    static const uint8_t itself[] = {2, 0, 1, 1, 'x', 0, 0};
    static const uint8_t two[] = {0, 1, 'a', 0, 5, 2, 0, 9, 1, 'b', 0, 0};
    static const uint8_t empty_edge[] = {2, 0, 1, 1, 0, 0};
    struct seen seen = {0};
    assert_false(walk(itself, sizeof itself, &seen));
    assert_true(seen.count <= sizeof itself / 2);
    seen = (struct seen){0};
    assert_false(walk(two, sizeof two, &seen));
    assert_true(seen.count <= sizeof two / 2);
    seen = (struct seen){0};
    assert_false(walk(empty_edge, sizeof empty_edge, &seen));
    assert_int_equal(seen.count, 0);
}

/* 60 levels whose two edges lead to the same next node: 2^60 ways. */
static void shared_nodes_end(void **state)
{
    (void)state;
    uint8_t trie[60 * 8 + 4];
    for (size_t i = 0; i < 60; i++) {
        size_t next = (i + 1) * 8;
        uint8_t node[8] = {0, 2, 'a', 0, (uint8_t)next, 'b', 0, (uint8_t)next};
        if (next >= 128) { /* offsets of two bytes: one edge */
            uint8_t wide[8] = {0, 1, 'a', 0, (uint8_t)(next | 0x80), (uint8_t)(next >> 7), 0, 0};
            memcpy(node, wide, 8);
        }
        memcpy(trie + i * 8, node, 8);
    }
    memcpy(trie + 480, (uint8_t[]){2, 0, 5, 0}, 4);
    struct seen seen = {0};
    assert_false(walk(trie, sizeof trie, &seen));
    assert_true(seen.count > 0);
    assert_true(seen.count <= sizeof trie / 2);
    assert_int_equal(seen.longest, 60);
}

/* A chain of nodes with an edge of `edge` bytes each. */
static bool chain(size_t levels, size_t edge, struct seen *seen)
{
    size_t stride = edge + 9, size = levels * stride + 4;
    uint8_t *trie = calloc(1, size);
    assert_non_null(trie);
    for (size_t i = 0; i < levels; i++) {
        uint8_t *node = trie + i * stride;
        size_t next = (i + 1) * stride;
        node[0] = 2; /* exports itself */
        node[2] = 1;
        node[3] = 1;
        memset(node + 4, 'n', edge);
        node += 5 + edge;
        for (int k = 0; k < 3; k++, next >>= 7)
            *node++ = (uint8_t)((next & 0x7f) | (k < 2 ? 0x80 : 0));
    }
    bool whole = walk(trie, size, seen);
    free(trie);
    return whole;
}

static void depth_and_length_are_limited(void **state)
{
    (void)state;
    struct seen seen = {0};
    assert_true(chain(400, 1, &seen));
    assert_int_equal(seen.longest, 399);
    seen = (struct seen){0};
    assert_false(chain(4000, 1, &seen));
    assert_true(seen.longest < 512);
    seen = (struct seen){0};
    assert_false(chain(40, 1000, &seen));
    assert_int_equal(seen.longest, 16000);
}

/* Real ones: every line of llvm-objdump that is an address of the image itself. */
struct listing {
    char *text;
    size_t size, count;
    uint64_t base;
};

static bool list_export(void *context, const struct export_symbol *s)
{
    struct listing *l = context;
    char line[1 << 14];
    int n = snprintf(line, sizeof line, "0x%08" PRIX64 "  %s\n", l->base + s->offset, s->name);
    assert_true(n > 0 && (size_t)n < sizeof line);
    char *grown = realloc(l->text, l->size + (size_t)n + 1);
    assert_non_null(grown);
    memcpy(grown + l->size, line, (size_t)n + 1);
    l->text = grown;
    l->size += (size_t)n;
    l->count++;
    return true;
}

static size_t compare_with_llvm(const char *path)
{
    struct layout layout = {.count = 0};
    struct listing ours = {.text = NULL};
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc(1 << 24);
    assert_non_null(bytes);
    size_t size = fread(bytes, 1, 1 << 24, file), lines = 0;
    fclose(file);
    assert_true(layout_load(&layout, bytes, size, 0, 0));
    struct macho_memory memory = layout_memory(&layout);
    struct macho_loaded image;
    assert_true(macho_loaded_read(&image, &memory, layout.header));
    ours.base = image.vaddr;
    assert_true(export_trie_each(macho_loaded_bytes(&image, image.exports), list_export, &ours));

    char command[1024], line[1 << 14];
    snprintf(command, sizeof command, "llvm-objdump-19 --macho --exports-trie %s", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        char *weak = strstr(line, " [weak_def]");
        if (weak)
            memmove(weak, weak + 11, strlen(weak + 11) + 1);
        if (strncmp(line, "0x", 2) != 0 || strchr(line, '['))
            continue;
        if (!ours.text || !strstr(ours.text, line))
            fail_msg("%s: not found: %s", path, line);
        lines++;
    }
    assert_int_equal(pclose(pipe), 0);
    assert_int_equal(lines, ours.count);
    free(ours.text);
    free(bytes);
    layout_free(&layout);
    return lines;
}

static void same_as_llvm(void **state)
{
    (void)state;
    static const char *const paths[] = {
        FW_SHARED_DATA "/debug/samply/macos-ci/firefox",
        FW_SHARED_DATA "/debug/samply/macos-ci/libmozglue.dylib",
        FW_SHARED_DATA "/unwind/framehop/macos/arm64/fp/query-api",
        FW_SHARED_DATA "/unwind/framehop/macos/x86_64/nofp/libmozglue.dylib",
        FW_SHARED_DATA "/unwind/framehop/macos/x86_64/nofp/firefox-esr-78",
    };
    if (access(paths[0], R_OK) != 0 || system("llvm-objdump-19 --version > /dev/null 2>&1") != 0) {
        print_message("no test data, or no llvm-objdump-19\n");
        skip();
    }
    size_t count = 0;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        FILE *file = fopen(paths[i], "rb");
        uint32_t magic = 0;
        bool thin = file && fread(&magic, 4, 1, file) == 1 && magic == 0xfeedfacf;
        if (file)
            fclose(file);
        count += thin ? compare_with_llvm(paths[i]) : 0;
    }
    print_message("%zu exports\n", count);
    assert_true(count > 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kinds_of_exports), cmocka_unit_test(circles_end),
        cmocka_unit_test(shared_nodes_end), cmocka_unit_test(depth_and_length_are_limited),
        cmocka_unit_test(same_as_llvm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
