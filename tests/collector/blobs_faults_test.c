/* Stores that fail (blobs.h): full, read-only, away, answering nonsense; and that get well again.
 */
#include "collector/blobs_support.h"

#include "collector/clock.h"

#include <curl/curl.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- files ---- */

static unsigned left_over(void)
{
    char path[96];
    snprintf(path, sizeof path, "%s/store/.new", folder);
    DIR *d = opendir(path);
    assert_non_null(d);
    unsigned count = 0;
    for (struct dirent *e; (e = readdir(d));)
        count += e->d_name[0] != '.';
    closedir(d);
    return count;
}

/* A limit of the size of files says what a full disk says, at any byte. */
static void a_full_disk_leaves_nothing_half(void **state)
{
    (void)state;
    if (s3)
        skip();
    put("a/old", "kept");
    char path[96];
    snprintf(path, sizeof path, "/dev/shm/fw-blobs-%ld", (long)getpid());
    make_file(path, 300000);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000});
        static uint8_t bytes[200000];
        int wrong = 0;
        wrong += blobs_put(blobs, "a/new", (struct span){bytes, sizeof bytes}, &why) != FW_ERR_FULL;
        wrong += blobs_put(blobs, "a/old", (struct span){bytes, sizeof bytes}, &why) != FW_ERR_FULL;
        wrong += blobs_put_file(blobs, "a/file", path, &why) != FW_ERR_FULL;
        wrong += access(path, F_OK) != 0; /* can be tried again */
        wrong += blobs_put(blobs, "a/small", text("fits"), &why) != FW_OK;
        _exit(wrong);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    unlink(path);
    assert_int_equal(get_error("a/new", 0, 0), FW_ERR_NOT_FOUND);
    assert_int_equal(get_error("a/file", 0, 0), FW_ERR_NOT_FOUND);
    holds("a/old", 0, 0, "kept");
    holds("a/small", 0, 0, "fits");
    assert_int_equal(left_over(), 0);
}

/* A file system that is full, and then read-only, where this may mount one. */
static void a_small_file_system_fills_and_recovers(void **state)
{
    (void)state;
    char path[96], small[128];
    snprintf(path, sizeof path, "%s/disk", folder);
    if (s3 || mkdir(path, 0700) != 0 || mount("none", path, "tmpfs", 0, "size=256k") != 0) {
        print_message("skip: this may not mount a file system\n");
        skip();
    }
    snprintf(small, sizeof small, "file:%s/store", path);
    struct blobs *disk;
    fw_error opened = blobs_open(small, NULL, 0, &disk, &why);
    static uint8_t bytes[100000];
    struct span much = {bytes, sizeof bytes};
    fw_error first = blobs_put(disk, "a", much, &why), second = blobs_put(disk, "b", much, &why);
    fw_error third = blobs_put(disk, "c", much, &why);
    uint64_t free_bytes = blobs_free(disk);
    fw_error removed = blobs_remove(disk, "a", &why), again = blobs_put(disk, "c", much, &why);
    int remounted = mount("none", path, "tmpfs", MS_REMOUNT | MS_RDONLY, "size=256k");
    fw_error written = blobs_put(disk, "d", text("x"), &why);
    fw_error gone = blobs_remove(disk, "b", &why);
    uint8_t *got;
    size_t size;
    fw_error read = blobs_get(disk, "c", 0, 0, &got, &size, &why);
    blobs_close(disk);
    fw_error opened_again = blobs_open(small, NULL, 0, &disk, &why);
    blobs_close(disk);
    umount(path);
    assert_int_equal(opened, FW_OK);
    assert_int_equal(first, FW_OK);
    assert_int_equal(second, FW_OK);
    assert_int_equal(third, FW_ERR_FULL);
    assert_true(free_bytes < 100000);
    assert_int_equal(removed, FW_OK);
    assert_int_equal(again, FW_OK);
    assert_int_equal(remounted, 0);
    assert_int_equal(written, FW_ERR_PERMISSION);
    assert_int_equal(gone, FW_ERR_PERMISSION);
    assert_int_equal(read, FW_OK);
    assert_int_equal(size, sizeof bytes);
    free(got);
    assert_int_equal(opened_again, FW_OK); /* what is there can be read */
}

/* Somebody killed while writing leaves a file, which goes after an hour; a fresh one stays. */
static void what_killed_processes_left_is_removed(void **state)
{
    (void)state;
    if (s3)
        skip();
    char old[96], fresh[96];
    snprintf(old, sizeof old, "%s/store/.new/old", folder);
    snprintf(fresh, sizeof fresh, "%s/store/.new/fresh", folder);
    make_file(old, 10);
    make_file(fresh, 10);
    struct timespec times[2] = {{.tv_sec = time(NULL) - 61 * 60}, {.tv_sec = time(NULL) - 61 * 60}};
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    blobs_close(blobs);
    FINE(blobs_open(url, NULL, 0, &blobs, &why));
    assert_int_equal(access(old, F_OK), 0); /* who only looks changes nothing */
    blobs_tidy(blobs);
    assert_int_equal(access(old, F_OK), -1);
    assert_int_equal(access(fresh, F_OK), 0);
}

/* ---- S3 ---- */

static size_t ignore(char *data, size_t one, size_t count, void *context)
{
    (void)data, (void)context;
    return one * count;
}

/* What the server does with the next requests. */
static void fault(const char *kind, int count)
{
    char address[256];
    snprintf(address, sizeof address, "%s?kind=%s&count=%d", getenv("FW_S3_CONTROL"), kind, count);
    CURL *curl = curl_easy_init();
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, ignore);
    assert_int_equal(curl_easy_perform(curl), CURLE_OK);
    curl_easy_cleanup(curl);
}

#define NEEDS_FAULTS()                                                                             \
    do {                                                                                           \
        if (!getenv("FW_S3_CONTROL"))                                                              \
            skip();                                                                                \
    } while (0)

static void what_passes_is_tried_again(void **state)
{
    (void)state;
    NEEDS_FAULTS();
    const char *const kinds[] = {"500", "503", "429", "close", "garbage"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        fault(kinds[i], 2);
        put("a", kinds[i]);
        fault(kinds[i], 2);
        holds("a", 0, 0, kinds[i]);
        fault(kinds[i], 2);
        FINE(blobs_remove(blobs, "a", &why));
    }
    put("b", "halves are not taken for wholes");
    fault("cut", 2);
    holds("b", 0, 0, "halves are not taken for wholes");
    fault("cut", 1);
    int fd;
    FINE(blobs_file(blobs, "b", &fd, &why));
    char bytes[64];
    assert_int_equal(read(fd, bytes, sizeof bytes), 31);
    close(fd);
}

static bool count_one(void *context, const char *key, uint64_t size, uint64_t changed_ms)
{
    (void)key, (void)size, (void)changed_ms;
    ++*(unsigned *)context;
    return true;
}

/* What lasts is told as what it is, in bounded time, and is over when it is over. */
static void what_lasts_is_told(void **state)
{
    (void)state;
    NEEDS_FAULTS();
    const struct {
        const char *kind;
        fw_error error;
    } cases[] = {{"500", FW_ERR_TIMEOUT},    {"503", FW_ERR_TIMEOUT},    {"close", FW_ERR_TIMEOUT},
                 {"hang", FW_ERR_TIMEOUT},   {"403", FW_ERR_PERMISSION}, {"507", FW_ERR_FULL},
                 {"garbage", FW_ERR_TIMEOUT}};
    put("a", "there");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned count = 0;
        int fd;
        fault(cases[i].kind, 100);
        int64_t start = clock_ms();
        assert_int_equal(blobs_put(blobs, "b", text("x"), &why), cases[i].error);
        assert_true(why.message[0]);
        assert_true(clock_ms() - start < 30000); /* the limit is 2 s; the machine may be slow */
        assert_int_equal(get_error("a", 0, 0), cases[i].error);
        assert_int_equal(blobs_file(blobs, "a", &fd, &why), cases[i].error);
        assert_int_equal(blobs_list(blobs, "", count_one, &count, &why), cases[i].error);
        assert_int_equal(count, 0);
        fault("none", 0);
        put("b", "well again");
        holds("b", 0, 0, "well again");
        holds("a", 0, 0, "there");
    }
    /* A page that asks to log in is no list. */
    unsigned count = 0;
    fault("html", 1);
    assert_int_equal(blobs_list(blobs, "", count_one, &count, &why), FW_ERR_SYSTEM);
    assert_int_equal(count, 0);
    fault("none", 0);
}

/* A store that is away does not keep a server from starting; a wrong setting does. */
static void opening_tells_what_is_set_wrong(void **state)
{
    (void)state;
    NEEDS_FAULTS();
    struct blobs *other;
    fault("503", 100);
    FINE(blobs_open(url, cache, 0, &other, &why));
    fault("none", 0);
    FINE(blobs_put(other, "a", text("x"), &why));
    blobs_close(other);
    char wrong[512];
    snprintf(wrong, sizeof wrong, "s3://nobody%s", strchr(url, '?'));
    assert_int_equal(blobs_open(wrong, cache, 0, &other, &why), FW_ERR_PERMISSION);
    char *secret = strdup(getenv("AWS_SECRET_ACCESS_KEY"));
    setenv("AWS_SECRET_ACCESS_KEY", "another", 1);
    assert_int_equal(blobs_open(url, cache, 0, &other, &why), FW_ERR_PERMISSION);
    unsetenv("AWS_SECRET_ACCESS_KEY");
    assert_int_equal(blobs_open(url, cache, 0, &other, &why), FW_ERR_ARGUMENT);
    setenv("AWS_SECRET_ACCESS_KEY", secret, 1);
    free(secret);
}

/* Parts of a large file that fail for a while are sent again; for long, nothing is left. */
static void large_files_survive_faults(void **state)
{
    (void)state;
    NEEDS_FAULTS();
    char path[96];
    snprintf(path, sizeof path, "%s/large", folder);
    make_file(path, ((uint64_t)80 << 20) + 3);
    fault("503", 2);
    FINE(blobs_put_file(blobs, "large", path, &why));
    int fd;
    FINE(blobs_file(blobs, "large", &fd, &why));
    same_file(fd, ((uint64_t)80 << 20) + 3);
    close(fd);
    make_file(path, (uint64_t)65 << 20);
    fault("507", 1);
    assert_int_equal(blobs_put_file(blobs, "other", path, &why), FW_ERR_FULL);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(get_error("other", 0, 0), FW_ERR_NOT_FOUND);
}

/* ---- the copies of S3's files ---- */

static uint64_t cached(unsigned *files)
{
    uint64_t bytes = 0;
    *files = 0;
    DIR *d = opendir(cache);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        struct stat info;
        if (e->d_name[0] == '.')
            continue;
        assert_int_equal(fstatat(dirfd(d), e->d_name, &info, 0), 0);
        bytes += (uint64_t)info.st_size;
        ++*files;
    }
    closedir(d);
    return bytes;
}

/* 1 MB is kept (set_up): what was used last, whatever came first. */
static void copies_that_are_used_stay(void **state)
{
    (void)state;
    if (!s3)
        skip();
    char path[96], key[16];
    unsigned files;
    snprintf(path, sizeof path, "%s/file", folder);
    for (int i = 0; i < 8; i++) {
        int fd;
        snprintf(key, sizeof key, "f%d", i);
        make_file(path, 200000);
        FINE(blobs_put_file(blobs, key, path, &why));
        FINE(blobs_file(blobs, key, &fd, &why));
        same_file(fd, 200000);
        close(fd);
        FINE(blobs_file(blobs, "f0", &fd, &why));
        same_file(fd, 200000);
        close(fd);
    }
    assert_int_equal(cached(&files), 1000000);
    assert_int_equal(files, 5);
    /* f0 came first and is there: without the server. */
    if (getenv("FW_S3_CONTROL")) {
        int fd;
        fault("403", 100);
        FINE(blobs_file(blobs, "f0", &fd, &why));
        close(fd);
        FINE(blobs_file(blobs, "f7", &fd, &why));
        close(fd);
        assert_int_equal(blobs_file(blobs, "f1", &fd, &why), FW_ERR_PERMISSION);
        fault("none", 0);
    }
    /* Larger than all that is kept: handed out all the same. */
    make_file(path, 3000000);
    FINE(blobs_put_file(blobs, "large", path, &why));
    int fd;
    FINE(blobs_file(blobs, "large", &fd, &why));
    same_file(fd, 3000000);
    close(fd);
    assert_true(cached(&files) <= 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_nothing_half, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_small_file_system_fills_and_recovers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_killed_processes_left_is_removed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_passes_is_tried_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_lasts_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(opening_tells_what_is_set_wrong, set_up, tear_down),
        cmocka_unit_test_setup_teardown(large_files_survive_faults, set_up, tear_down),
        cmocka_unit_test_setup_teardown(copies_that_are_used_stay, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
