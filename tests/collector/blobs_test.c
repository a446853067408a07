/* The blob store (blobs.h): one suite for files and S3. */
#include "collector/blobs_support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void blobs_come_back_as_they_went(void **state)
{
    (void)state;
    put("packs/20261122/a.pack", "hello, world");
    holds("packs/20261122/a.pack", 0, 0, "hello, world");
    holds("packs/20261122/a.pack", 7, 0, "world");
    holds("packs/20261122/a.pack", 0, 5, "hello");
    holds("packs/20261122/a.pack", 11, 1, "d");
    holds("packs/20261122/a.pack", 12, 0, "");
    put("packs/20261122/a.pack", "again");
    holds("packs/20261122/a.pack", 0, 0, "again");
    put("empty", "");
    holds("empty", 0, 0, "");
    uint64_t size;
    FINE(blobs_size(blobs, "packs/20261122/a.pack", &size, &why));
    assert_int_equal(size, 5);
    FINE(blobs_size(blobs, "empty", &size, &why));
    assert_int_equal(size, 0);
}

static void what_is_not_there_is_told_so(void **state)
{
    (void)state;
    put("a/b", "12345");
    assert_int_equal(get_error("a/c", 0, 0), FW_ERR_NOT_FOUND);
    assert_int_equal(get_error("a/c", 1, 2), FW_ERR_NOT_FOUND);
    assert_int_equal(get_error("b/c", 0, 0), FW_ERR_NOT_FOUND);
    assert_int_equal(get_error("a/b", 3, 3), FW_ERR_TRUNCATED);
    assert_int_equal(get_error("a/b", 5, 1), FW_ERR_TRUNCATED);
    assert_int_equal(get_error("a/b", 6, 0), FW_ERR_TRUNCATED);
    assert_int_equal(get_error("a/b", 1u << 30, 1), FW_ERR_TRUNCATED);
    uint64_t size;
    int fd;
    assert_int_equal(blobs_size(blobs, "a/c", &size, &why), FW_ERR_NOT_FOUND);
    assert_int_equal(blobs_file(blobs, "a/c", &fd, &why), FW_ERR_NOT_FOUND);
    assert_int_equal(fd, -1);
    FINE(blobs_remove(blobs, "a/b", &why));
    FINE(blobs_remove(blobs, "a/b", &why));
    assert_int_equal(get_error("a/b", 0, 0), FW_ERR_NOT_FOUND);
}

static void keys_of_other_forms_are_refused(void **state)
{
    (void)state;
    char longest[600];
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = 0;
    const char *const bad[] = {"",     "/a",    "a/",       "a//b", "../a", "a/../b", "a/..",
                               ".",    "a/./b", ".new/x",   "a/.b", "A",    "a b",    "a%2e",
                               "a\\b", "a\nb",  "\xc3\xa4", "a?b",  "a#b",  "a&b",    longest};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t size;
        int fd;
        assert_int_equal(blobs_put(blobs, bad[i], text("x"), &why), FW_ERR_ARGUMENT);
        assert_int_equal(get_error(bad[i], 0, 0), FW_ERR_ARGUMENT);
        assert_int_equal(blobs_put_file(blobs, bad[i], "/nowhere", &why), FW_ERR_ARGUMENT);
        assert_int_equal(blobs_file(blobs, bad[i], &fd, &why), FW_ERR_ARGUMENT);
        assert_int_equal(blobs_size(blobs, bad[i], &size, &why), FW_ERR_ARGUMENT);
        assert_int_equal(blobs_remove(blobs, bad[i], &why), FW_ERR_ARGUMENT);
    }
    put("0.a_b-c/d..e", "x");
}

struct listed {
    char keys[64][64];
    uint64_t bytes;
    size_t count, stop_at;
    bool times;
};

static bool list_one(void *context, const char *key, uint64_t size, uint64_t changed_ms)
{
    struct listed *l = context;
    assert_true(l->count < 64);
    strcpy(l->keys[l->count++], key);
    l->bytes += size;
    l->times = l->times && changed_ms > 1700000000000;
    return l->count != l->stop_at;
}

static void keys_are_listed(void **state)
{
    (void)state;
    char key[64];
    for (int i = 0; i < 30; i++) { /* the stand-in gives 7 at a time */
        snprintf(key, sizeof key, "packs/202611%02d/%d.pack", i / 10 + 20, i);
        put(key, "four");
    }
    put("symbols/ab/c", "x");
    const struct {
        const char *prefix;
        size_t count;
    } cases[] = {{"", 31},
                 {"packs/", 30},
                 {"packs/2026112", 30},
                 {"packs/20261121", 10},
                 {"packs/20261121/", 10},
                 {"packs/20261122/2", 10},
                 {"sym", 1},
                 {"symbols/ab/c", 1},
                 {"nothing", 0},
                 {"no/thing", 0},
                 {"packs/20261120/1.", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct listed l = {.times = true};
        FINE(blobs_list(blobs, cases[i].prefix, list_one, &l, &why));
        assert_int_equal(l.count, cases[i].count);
        assert_true(l.times);
        for (size_t k = 0; k < l.count; k++) {
            assert_memory_equal(l.keys[k], cases[i].prefix, strlen(cases[i].prefix));
            for (size_t other = 0; other < k; other++)
                assert_string_not_equal(l.keys[k], l.keys[other]);
        }
    }
    struct listed l = {.stop_at = 9, .times = true};
    FINE(blobs_list(blobs, "", list_one, &l, &why));
    assert_int_equal(l.count, 9);
    l = (struct listed){.times = true};
    FINE(blobs_list(blobs, "packs/20261121", list_one, &l, &why));
    assert_int_equal(l.bytes, 40);
}

/* Small and from another file system, where containers have little room; and of several parts. */
static void files_become_blobs(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1000003, ((uint64_t)70 << 20) + 5};
    for (int i = 0; i < 2; i++) {
        char path[96];
        snprintf(path, sizeof path, "%s/fw-blob-%ld", i ? folder : "/dev/shm", (long)getpid());
        make_file(path, sizes[i]);
        FINE(blobs_put_file(blobs, "symbols/ab/cd/debuginfo", path, &why));
        assert_int_equal(access(path, F_OK), -1);
        int fd;
        FINE(blobs_file(blobs, "symbols/ab/cd/debuginfo", &fd, &why));
        same_file(fd, sizes[i]);
        close(fd);
        uint64_t size;
        FINE(blobs_size(blobs, "symbols/ab/cd/debuginfo", &size, &why));
        assert_true(size == sizes[i]);
    }
    assert_int_equal(blobs_put_file(blobs, "x", "/nowhere/at/all", &why), FW_ERR_NOT_FOUND);
}

/* What was handed out stays readable when the blob is replaced or removed. */
static void open_files_stay(void **state)
{
    (void)state;
    put("a/map", "first");
    int fd, second;
    FINE(blobs_file(blobs, "a/map", &fd, &why));
    put("a/map", "second");
    FINE(blobs_file(blobs, "a/map", &second, &why));
    FINE(blobs_remove(blobs, "a/map", &why));
    char bytes[8] = "";
    assert_int_equal(pread(fd, bytes, 8, 0), 5);
    assert_memory_equal(bytes, "first", 5);
    assert_int_equal(pread(second, bytes, 8, 0), 6);
    assert_memory_equal(bytes, "second", 6);
    close(fd);
    close(second);
    assert_int_equal(blobs_file(blobs, "a/map", &fd, &why), FW_ERR_NOT_FOUND);
}

static void *put_and_remove(void *context)
{
    struct fw_failure mine = {.code = FW_OK};
    char key[32];
    fw_error error = FW_OK;
    for (int i = 0; i < 40 && !error; i++) {
        snprintf(key, sizeof key, "same/folder/%s", (const char *)context);
        uint8_t *bytes = NULL;
        size_t got = 0;
        error = blobs_put(blobs, key, text(context), &mine);
        if (!error)
            error = blobs_get(blobs, key, 0, 0, &bytes, &got, &mine);
        if (!error && (got != strlen(context) || memcmp(bytes, context, got) != 0))
            error = FW_ERR_CORRUPT;
        free(bytes);
        if (!error)
            error = blobs_remove(blobs, key, &mine);
    }
    if (error)
        print_error("%s: %s\n", (const char *)context, mine.message);
    return (void *)(uintptr_t)error;
}

/* Folders come and go under others' hands. */
static void threads_share_a_store(void **state)
{
    (void)state;
    static const char *const names[] = {"one", "two", "three", "four"};
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, put_and_remove, (void *)(uintptr_t)names[i]), 0);
    for (int i = 0; i < 4; i++) {
        void *error;
        pthread_join(threads[i], &error);
        assert_null(error);
    }
}

static void stores_of_other_names_are_refused(void **state)
{
    (void)state;
    const char *const bad[] = {"ftp://x",
                               "file:",
                               "/tmp/x",
                               "s3://",
                               "s3://a/",
                               "s3://UPPER/x",
                               "s3://tests/a b",
                               "s3://tests/x?endpoint=ftp://x",
                               "s3://tests/x?region=a%20b",
                               "s3://tests/x?timeout=0"};
    setenv("AWS_ACCESS_KEY_ID", "x", 0);
    setenv("AWS_SECRET_ACCESS_KEY", "x", 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct blobs *none;
        assert_int_equal(blobs_open(bad[i], cache, 0, &none, &why), FW_ERR_ARGUMENT);
        assert_null(none);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blobs_come_back_as_they_went, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_there_is_told_so, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_of_other_forms_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keys_are_listed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_become_blobs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(open_files_stay, set_up, tear_down),
        cmocka_unit_test_setup_teardown(threads_share_a_store, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stores_of_other_names_are_refused, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
