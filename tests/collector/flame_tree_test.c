/* Stacks merged into a tree, and patterns of callers. */
#include "collector/calls_table.h"
#include "collector/flame_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t label(struct flame_tree *tree, const char *name, const char *image)
{
    const struct flame_label l = {.name = name, .image = image};
    return flame_label(tree, &l);
}

static json_t *written(struct flame_tree *tree, bool *truncated)
{
    struct report_bytes out = {0};
    assert_true(flame_write(tree, &out, truncated));
    json_t *root = json_loadb(out.data, out.size, 0, NULL);
    assert_non_null(root);
    report_bytes_free(&out);
    return root;
}

static json_int_t value_of(const json_t *node)
{
    return json_integer_value(json_object_get(node, "value"));
}

static const json_t *child(const json_t *node, size_t index)
{
    return json_array_get(json_object_get(node, "children"), index);
}

static const char *name_of(const json_t *node)
{
    return json_string_value(json_object_get(node, "name"));
}

/* Equal functions of equal images are one node; those of different images are two. */
static void merges(void **state)
{
    (void)state;
    struct flame_tree *tree = flame_tree_new();
    char copy[] = "main"; /* another place, the same text */
    uint32_t a[] = {label(tree, "main", "shop"), label(tree, "load", "shop")};
    uint32_t b[] = {label(tree, copy, "shop"), label(tree, "load", "libx")};
    bool truncated;
    assert_int_equal(a[0], b[0]);
    assert_int_not_equal(a[1], b[1]);
    assert_true(flame_add(tree, a, 2, 10) && flame_add(tree, b, 2, 30) && flame_add(tree, a, 1, 5));
    json_t *root = written(tree, &truncated);
    assert_false(truncated);
    assert_string_equal(name_of(root), "all");
    assert_int_equal(value_of(root), 45);
    assert_int_equal(value_of(child(root, 0)), 45);
    assert_int_equal(value_of(child(child(root, 0), 0)), 30); /* the heaviest first */
    assert_int_equal(value_of(child(child(root, 0), 1)), 10);
    assert_null(child(root, 1));
    json_decref(root);
    flame_tree_free(tree);
}

enum { MANY = 30000 };
static char many[MANY][16];

static void name_many(void)
{
    for (int i = 0; i < MANY; i++)
        snprintf(many[i], sizeof many[i], "f%d", i);
}

/* Nodes below 0.05 % are one "(other)" of their parent, and nothing of the sum is lost. */
static void folds(void **state)
{
    (void)state;
    struct flame_tree *tree = flame_tree_new();
    uint32_t path[] = {label(tree, "heavy", "shop"), 0};
    bool truncated;
    assert_true(flame_add(tree, path, 1, 1000000));
    for (int i = 0; i < 300; i++) {
        path[1] = label(tree, many[i], "shop");
        assert_true(flame_add(tree, path, 2, 10));
    }
    json_t *root = written(tree, &truncated);
    const json_t *node = child(root, 0);
    assert_false(truncated);
    assert_int_equal(value_of(node), 1003000);
    assert_string_equal(name_of(child(node, 0)), "(other)");
    assert_int_equal(value_of(child(node, 0)), 3000);
    assert_null(child(node, 1));
    json_decref(root);
    flame_tree_free(tree);
}

static size_t count_nodes(const json_t *node)
{
    size_t count = 1;
    for (size_t i = 0; child(node, i); i++)
        count += count_nodes(child(node, i));
    return count;
}

/* However wide and deep: bounded, and what is missing is said. */
static void bounds(void **state)
{
    (void)state;
    struct flame_tree *tree = flame_tree_new();
    uint32_t *deep = calloc(FLAME_DEPTH + 500, sizeof *deep);
    bool truncated;
    for (int i = 0; i < MANY; i++) { /* all weigh the same: none is small */
        uint32_t path[] = {label(tree, many[i % 40], "a"), label(tree, many[i / 40 % 40], "b"),
                           label(tree, many[i], "c")};
        assert_true(flame_add(tree, path, 3, 1));
    }
    json_t *root = written(tree, &truncated);
    assert_false(truncated);
    assert_true(count_nodes(root) <= FLAME_NODES);
    assert_int_equal(value_of(root), MANY);
    json_decref(root);
    for (size_t i = 0; i < FLAME_DEPTH + 500; i++)
        deep[i] = label(tree, "recursion", "a");
    assert_true(flame_add(tree, deep, FLAME_DEPTH + 500, 1000000));
    root = written(tree, &truncated);
    assert_true(truncated);
    assert_int_equal(value_of(root), MANY + 1000000);
    json_decref(root);
    free(deep);
    flame_tree_free(tree);
}

/* A tree without stacks is a root alone. */
static void empty(void **state)
{
    (void)state;
    struct flame_tree *tree = flame_tree_new();
    bool truncated;
    json_t *root = written(tree, &truncated);
    assert_false(truncated);
    assert_int_equal(value_of(root), 0);
    assert_null(child(root, 0));
    json_decref(root);
    flame_tree_free(tree);
}

static void patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *text;
        bool fits;
    } cases[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"*", "abc", true},
        {"a*", "abc", true},
        {"*c", "abc", true},
        {"*c", "abcd", false},
        {"a?c", "abc", true},
        {"a?c", "ac", false},
        {"?", "\xc3\xa9", true},
        {"?", "\xff", true},
        {"a*b*c", "a--b--b--c", true},
        {"a*b*c", "a--c", false},
        {"lib*!f*", "libx!foo", true},
        {"lib*!f*", "libx!", false},
        {"*!*", "!", true},
        {"[a]", "a", false},
        {"[a]", "[a]", true},
        {"**", "x", true},
        {"open", "open64", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(calls_fits(cases[i].pattern, cases[i].text), cases[i].fits);
    char text[5001];
    memset(text, 'a', 5000);
    text[5000] = 0;
    assert_false(calls_fits("*a*a*a*a*a*a*a*a*b", text)); /* in no time, not in 2^n */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges), cmocka_unit_test(folds),    cmocka_unit_test(bounds),
        cmocka_unit_test(empty),  cmocka_unit_test(patterns),
    };
    name_many();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
