/* Mach-O files, fat files and archives: headers, symbols, debug sections with their relocations,
 * function starts, the debug map; members by name. */
#include "../tests/object/exercise_macho.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

/* Archives are opened by path: a file in memory has one. */
static void open_members(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.o", "a member with a long name.o", ""};
    static const char *const archs[] = {NULL, "arm64", "x86_64"};
    int fd = memfd_create("archive", MFD_CLOEXEC);
    bool written = fd >= 0 && write(fd, data, size) == (ssize_t)size;
    for (int i = 0; written && i < 9; i++) {
        char path[64];
        struct object *object;
        struct fw_failure why;
        struct object_choice choice = {.arch = archs[i % 3]};
        snprintf(path, sizeof path, "/proc/self/fd/%d%s%s%s", fd, i / 3 < 2 ? "(" : "",
                 names[i / 3], i / 3 < 2 ? ")" : "");
        if (object_open_path(path, &choice, &object, &why) == FW_OK) {
            sink = exercise_debug(object);
            object_close(object);
        }
    }
    if (fd >= 0)
        close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    sink = exercise_macho(data, size);
    if (size > 8 && (memcmp(data, "!<", 2) == 0 || memcmp(data, "\xca\xfe\xba", 3) == 0))
        open_members(data, size);
    return 0;
}
