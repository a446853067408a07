/*
 * The cache of symbol maps: what is kept and for whom, what is refused and made again, what goes
 * when it is full, and many processes at once.
 */
#include "symbolicate/programs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };

static char folder[64];            /* new and empty for each test */
static char map[PATH_SIZE];        /* where the map of programs[0] is kept */
static struct functions functions; /* of programs[0] */
static struct fw_address addresses[MANY];

/* "FOLDER/ID-ARCH-v1.symmap" */
static void map_path(const char *program, char path[PATH_SIZE])
{
    const struct fw_symbolicator_options options = {.size = sizeof options, .cache_folder = ""};
    struct fw_symbolicator *s;
    assert_int_equal(fw_symbolicator_create(&options, &s), FW_OK);
    struct fw_source *source = open_source(s, program);
    struct fw_source_info info = {.size = sizeof info};
    assert_int_equal(fw_source_info(source, &info), FW_OK);
    int used = snprintf(path, PATH_SIZE, "%s/", folder);
    for (size_t i = 0; i < info.id_size; i++)
        used += snprintf(path + used, PATH_SIZE - (size_t)used, "%02x", info.id[i]);
    snprintf(path + used, PATH_SIZE - (size_t)used, "%s%s-v1.symmap", info.arch[0] ? "-" : "",
             info.arch);
    fw_source_close(source);
    fw_symbolicator_destroy(s);
}

static int set_up(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/framewalk-cache-XXXXXX");
    if (!mkdtemp(folder))
        return 1;
    read_functions(programs[0], &functions);
    many_addresses(&functions, addresses);
    map_path(programs[0], map);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/* Asks a new source; false when an answer is wrong. Asserts nothing: for child processes too. */
static bool ask(struct fw_symbolicator_options options, const char *program, size_t count)
{
    options.size = sizeof options;
    options.no_debuginfod = true;
    struct fw_symbolicator *s;
    struct fw_source_request request = {.size = sizeof request, .path = program};
    struct fw_source *source = NULL;
    struct fw_symbols *symbols = NULL;
    if (fw_symbolicator_create(&options, &s) != FW_OK)
        return false;
    bool good = fw_source_open(s, &request, &source, NULL) == FW_OK &&
                fw_symbolicate(source, addresses, count, &symbols, NULL) == FW_OK;
    for (size_t i = 0; good && program == programs[0] && i < count; i++)
        good = symbols->items[i].frame_count > 0;
    if (good && program == programs[0]) {
        const char *name = functions.item[0].name;
        good = strcmp(symbols->items[0].frames[0].mangled, name) == 0;
    }
    fw_symbols_free(symbols);
    fw_source_close(source);
    fw_symbolicator_destroy(s);
    return good;
}

static bool ask_all(uint64_t limit)
{
    return ask((struct fw_symbolicator_options){.cache_folder = folder, .cache_limit = limit},
               programs[0], MANY);
}

static size_t files_in(const char *path)
{
    DIR *dir = opendir(path);
    size_t count = 0;
    if (!dir)
        return 0;
    for (struct dirent *entry; (entry = readdir(dir));)
        count += entry->d_name[0] != '.';
    closedir(dir);
    return count;
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void write_file(const char *path, const void *bytes, size_t size, long age)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    struct timespec when = {.tv_sec = time(NULL) - age};
    assert_int_equal(utimensat(AT_FDCWD, path, (struct timespec[]){when, when}, 0), 0);
}

static uint8_t *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    uint8_t *bytes = malloc(1 << 22);
    assert_non_null(bytes);
    *size = fread(bytes, 1, 1 << 22, file);
    fclose(file);
    return bytes;
}

static void a_map_is_kept_and_used(void **state)
{
    (void)state;
    /* A few addresses need no whole map: nothing is kept. */
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = folder}, programs[0], 3));
    assert_int_equal(files_in(folder), 0);
    assert_true(ask_all(0));
    assert_true(exists(map));
    assert_int_equal(files_in(folder), 1);

    /* Use is seen by the time. One that is there is used for a few, too. */
    size_t size;
    uint8_t *bytes = read_file(map, &size);
    write_file(map, bytes, size, 100000);
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = folder}, programs[0], 1));
    struct stat status;
    assert_int_equal(stat(map, &status), 0);
    assert_true(time(NULL) - status.st_mtim.tv_sec < 1000);
    free(bytes);

    /* Columns are another way to make it. */
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = folder, .columns = true},
                    programs[0], MANY));
    assert_int_equal(files_in(folder), 2);
}

static void folders_above_are_made(void **state)
{
    (void)state;
    char deep[PATH_SIZE];
    snprintf(deep, sizeof deep, "%s/a/b/c", folder);
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = deep}, programs[0], MANY));
    assert_int_equal(files_in(deep), 1);
    struct stat status;
    assert_int_equal(stat(deep, &status), 0);
    assert_int_equal(status.st_mode & 077, 0);
}

/* What stands at the map's place must be refused, and made again. */
static void is_made_again(const void *bytes, size_t size)
{
    size_t good_size, new_size;
    assert_true(ask_all(0));
    uint8_t *good = read_file(map, &good_size);
    write_file(map, bytes, size, 0);
    assert_true(ask_all(0));
    uint8_t *new = read_file(map, &new_size);
    assert_int_equal(new_size, good_size);
    assert_memory_equal(new, good, good_size);
    assert_int_equal(files_in(folder), 1);
    free(new);
    free(good);
}

static void damaged_maps_are_made_again(void **state)
{
    (void)state;
    assert_true(ask_all(0));
    size_t size;
    uint8_t *bytes = read_file(map, &size);
    /* Eight bytes: up to seven between two sections say nothing. */
    for (size_t at = 0; at + 8 <= size; at += (size - 8) / 7) {
        for (size_t i = 0; i < 8; i++)
            bytes[at + i] ^= 0x40;
        is_made_again(bytes, size);
        for (size_t i = 0; i < 8; i++)
            bytes[at + i] ^= 0x40;
    }
    is_made_again(bytes, size / 2);
    is_made_again("", 0);
}

static void maps_of_another_identity_are_refused(void **state)
{
    (void)state;
    char other[PATH_SIZE];
    map_path(programs[1], other);
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = folder}, programs[1], MANY));
    size_t size;
    uint8_t *bytes = read_file(other, &size);
    unlink(other);
    is_made_again(bytes, size);
    free(bytes);
}

static void maps_of_another_version_are_made_again(void **state)
{
    (void)state;
    assert_true(ask_all(0));
    size_t size;
    uint8_t *bytes = read_file(map, &size);
    bytes[8]++; /* docs/symbol-map.md: the major version follows the magic */
    is_made_again(bytes, size);
    free(bytes);
}

static void the_longest_unused_go_first(void **state)
{
    (void)state;
    char path[4][PATH_SIZE];
    static const char bytes[10000];
    for (int i = 0; i < 4; i++) {
        snprintf(path[i], PATH_SIZE, "%s/old%d%s", folder, i,
                 i == 3 ? ".txt" : "-v1.symmap"); /* only maps are ours */
        write_file(path[i], bytes, sizeof bytes, i == 3 ? 900000 : 1000 * (3 - (i + 1) % 3));
    }
    /* Ages: old0 2000, old1 1000, old2 3000. */
    assert_true(ask_all(0));
    struct stat status;
    assert_int_equal(stat(map, &status), 0);
    unlink(map);
    assert_true(ask_all((uint64_t)status.st_size + 2 * sizeof bytes));
    assert_true(exists(map) && exists(path[0]) && exists(path[1]) && exists(path[3]));
    assert_false(exists(path[2]));
    unlink(map);
    assert_true(ask_all((uint64_t)status.st_size + sizeof bytes));
    assert_true(exists(map) && exists(path[1]) && exists(path[3]));
    assert_false(exists(path[0]));
    unlink(map);
    assert_true(ask_all((uint64_t)status.st_size)); /* exactly the new one */
    assert_true(exists(map) && exists(path[3]));
    assert_false(exists(path[1]));
    unlink(map);
    assert_true(ask_all((uint64_t)status.st_size - 1)); /* does not fit at all */
    assert_false(exists(map));
}

static void leftovers_of_killed_processes_go(void **state)
{
    (void)state;
    char old[PATH_SIZE + 16], fresh[PATH_SIZE + 16];
    snprintf(old, sizeof old, "%s.12-34-0", map);
    snprintf(fresh, sizeof fresh, "%s.12-34-1", map);
    write_file(old, "x", 1, 7200);
    write_file(fresh, "x", 1, 60);
    assert_true(ask_all(0));
    assert_true(exists(map) && exists(fresh));
    assert_false(exists(old));
}

static void a_folder_that_cannot_be_written_is_no_error(void **state)
{
    (void)state;
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/file", folder);
    write_file(path, "x", 1, 0);
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = path}, programs[0], MANY));
    snprintf(path, sizeof path, "%s/file/below", folder);
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = path}, programs[0], MANY));
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = "/proc/framewalk"},
                    programs[0], MANY));
}

static void set(const char *name, const char *value)
{
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

static void the_environment_says_where(void **state)
{
    (void)state;
    char xdg[PATH_SIZE], home[PATH_SIZE], in_xdg[PATH_SIZE + 32], in_home[PATH_SIZE + 32];
    snprintf(xdg, sizeof xdg, "%s/xdg", folder);
    snprintf(home, sizeof home, "%s/home", folder);
    snprintf(in_xdg, sizeof in_xdg, "%s/framewalk", xdg);
    snprintf(in_home, sizeof in_home, "%s/.cache/framewalk", home);
    const struct fw_symbolicator_options defaults = {0};

    set("XDG_CACHE_HOME", xdg);
    set("HOME", home);
    assert_true(ask(defaults, programs[0], MANY));
    assert_int_equal(files_in(in_xdg), 1);
    assert_int_equal(files_in(in_home), 0);

    set("XDG_CACHE_HOME", "relative"); /* to be ignored, says the specification */
    assert_true(ask(defaults, programs[0], MANY));
    assert_int_equal(files_in(in_home), 1);
    assert_false(exists("relative"));

    set("XDG_CACHE_HOME", NULL);
    set("HOME", NULL);
    assert_true(ask(defaults, programs[0], MANY));

    set("HOME", home);
    assert_int_equal(unlink(strcat(strcat(in_home, "/"), strrchr(map, '/') + 1)), 0);
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = ""}, programs[0], MANY));
    assert_false(exists(in_home));
}

static void maps_of_symbols_alone_are_not_kept(void **state)
{
    (void)state;
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = folder, .no_separate = true},
                    "/proc/self/exe", 0));
    assert_true(ask((struct fw_symbolicator_options){.cache_folder = folder, .no_separate = true},
                    "/bin/sh", MANY));
    assert_int_equal(files_in(folder), 0);
}

static void processes_share_a_folder(void **state)
{
    (void)state;
    enum { PROCESSES = 8, TIMES = 4 };
    pid_t children[PROCESSES];
    fflush(NULL);
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] > 0)
            continue;
        bool good = true;
        for (int k = 0; k < TIMES; k++) {
            if (k % 2) /* so that many write at once */
                unlink(map);
            good = good && ask_all(0);
        }
        _exit(good ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    assert_true(ask_all(0));
    assert_int_equal(files_in(folder), 1); /* nothing half written is left */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_map_is_kept_and_used, set_up, tear_down),
        cmocka_unit_test_setup_teardown(folders_above_are_made, set_up, tear_down),
        cmocka_unit_test_setup_teardown(damaged_maps_are_made_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maps_of_another_identity_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maps_of_another_version_are_made_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_longest_unused_go_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(leftovers_of_killed_processes_go, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written_is_no_error, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(the_environment_says_where, set_up, tear_down),
        cmocka_unit_test_setup_teardown(maps_of_symbols_alone_are_not_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(processes_share_a_folder, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
