/* Core files: opened, every thread walked, every frame named. The bytes go through an anonymous
 * file, as a path is what fw_process_open_core takes. */
#include "framewalk/process.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static void read_all(struct fw_process *process)
{
    const struct fw_process_thread *threads;
    size_t count;
    struct fw_failure why;
    struct fw_process_options options = {.size = sizeof options, .max_frames = 64};
    struct fw_process_info info;
    fw_process_capture(process, &options, &threads, &count, &why);
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < threads[i].thread.stack.count; k++) {
            struct fw_symbol symbol;
            fw_process_symbol(process, &threads[i].thread.stack.frames[k], &symbol);
            sink += symbol.offset + (symbol.name ? (uint64_t)symbol.name[0] : 0);
        }
    fw_process_describe(process, &info);
    sink += info.missing_bytes;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct fw_process *process;
    int fd = memfd_create("core", MFD_CLOEXEC);
    if (fd < 0)
        return 0;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (write(fd, data, size) == (ssize_t)size &&
        fw_process_open_core(path, NULL, NULL, &process, NULL) == FW_OK) {
        read_all(process);
        fw_process_close(process);
    }
    close(fd);
    return 0;
}
