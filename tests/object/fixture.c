/* Fixtures: see fixture.h. */
#include "object/fixture.h"

#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

int fixture_begin(void **state)
{
    (void)state;
    strcpy(folder, "/tmp/fw_object_XXXXXX");
    setenv("LC_ALL", "C", 1);
    return mkdtemp(folder) ? 0 : -1;
}

int fixture_end(void **state)
{
    (void)state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}

static char *in_folder(const char *format, va_list arguments)
{
    char *command, *whole;
    assert_true(vasprintf(&command, format, arguments) >= 0);
    assert_true(asprintf(&whole, "cd '%s' && { %s\n}", folder, command) >= 0);
    free(command);
    return whole;
}

void fixture_run(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *command = in_folder(format, arguments);
    va_end(arguments);
    if (system(command) != 0)
        fail_msg("failed: %s", command);
    free(command);
}

bool fixture_try(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *command = in_folder(format, arguments);
    va_end(arguments);
    char *quiet;
    assert_true(asprintf(&quiet, "{ %s\n} >/dev/null 2>&1", command) >= 0);
    bool good = system(quiet) == 0;
    free(command);
    free(quiet);
    return good;
}

char *fixture_output(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *command = in_folder(format, arguments);
    va_end(arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = 0, capacity = 1 << 16;
    char *text = malloc(capacity);
    assert_non_null(text);
    for (size_t n; (n = fread(text + size, 1, capacity - size - 1, pipe)) > 0;) {
        size += n;
        if (capacity - size < 2) {
            capacity *= 2;
            text = realloc(text, capacity);
            assert_non_null(text);
        }
    }
    text[size] = 0;
    if (pclose(pipe) != 0)
        fail_msg("failed: %s", command);
    free(command);
    return text;
}

void fixture_need(const char *programs)
{
    char copy[256];
    snprintf(copy, sizeof copy, "%s", programs);
    for (char *word = strtok(copy, " "); word; word = strtok(NULL, " "))
        if (!fixture_try("command -v %s", word)) {
            print_message("skipped: there is no %s here\n", word);
            skip();
        }
}

void fixture_write(const char *name, const void *bytes, size_t size)
{
    FILE *file = fopen(fixture_path(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void fixture_text(const char *name, const char *text)
{
    fixture_write(name, text, strlen(text));
}

const char *fixture_path(const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

struct object *fixture_open(const char *name)
{
    struct object *object = NULL;
    struct fw_failure why = {0};
    if (object_open(fixture_path(name), &object, &why) != FW_OK)
        fail_msg("%s", why.message);
    return object;
}

uint8_t *fixture_read(const char *name, size_t *size)
{
    FILE *file = fopen(fixture_path(name), "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*size ? *size : 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

uint64_t fixture_nm(const char *tools, const char *name, const char *symbol)
{
    char *text = fixture_output("%snm %s | awk '$3 == \"%s\" { print $1 }'", tools, name, symbol);
    if (!text[0])
        fail_msg("nm knows no %s in %s", symbol, name);
    uint64_t value = strtoull(text, NULL, 16);
    free(text);
    return value;
}

const struct fixture_target fixture_targets[] = {
    {"x86_64", "gcc", "", "-m64", EM_X86_64, 8},
    {"i386", "gcc", "", "-m32", EM_386, 4},
    {"aarch64", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-", "", EM_AARCH64, 8},
    {"arm", "arm-linux-gnueabihf-gcc", "arm-linux-gnueabihf-", "-mthumb", EM_ARM, 4},
};
const size_t fixture_target_count = sizeof fixture_targets / sizeof fixture_targets[0];

bool fixture_target_works(const struct fixture_target *target)
{
    fixture_text("works.c", "int works;");
    bool works = fixture_try("%s %s -fPIC -shared works.c -o works.so && %sobjdump -f works.so",
                             target->compiler, target->flags, target->tools);
    if (!works)
        print_message("skipped for %s: %s %s cannot link here\n", target->name, target->compiler,
                      target->flags);
    return works;
}
