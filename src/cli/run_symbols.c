/*
 * Names for code that lies in no image: what just-in-time compilers write into /tmp/perf-PID.map
 * (perf_names.h).
 *
 * The names that a report needs go into its file, as records before its end, since the map is gone
 * when the report is read elsewhere.
 */
#include "cli/cli.h"
#include "cli/run.h"

#include "base/array.h"
#include "cli/perf_names.h"
#include "report/fwr_write.h"
#include "report/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool list_wanted(const struct report *r, struct perf_wants *wants)
{
    for (size_t i = 0; i < r->frame_count; i++) {
        const struct report_frame *frame = &r->frames[i];
        if (frame->image != REPORT_NONE || !frame->has_address || frame->name_count)
            continue;
        if (!perf_wants_add(wants, frame->address - (frame->kind == REPORT_RETURN)))
            return false;
    }
    perf_wants_sort(wants);
    return wants->count > 0;
}

/* ---- the map ---- */

static void map_path(pid_t pid, char path[64])
{
    snprintf(path, 64, "/tmp/perf-%d.map", (int)pid);
}

static bool read_map(pid_t pid, struct perf_wants *wants)
{
    char path[64];
    struct stat status;
    map_path(pid, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool read = fd >= 0 && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                perf_wants_read(wants, fd, UINT64_MAX);
    if (fd >= 0)
        close(fd);
    return read;
}

/* ---- into the report ---- */

struct bytes {
    uint8_t *data;
    size_t size, capacity;
};

static bool append(void *context, const void *data, size_t size)
{
    struct bytes *bytes = context;
    if (!array_reserve(&bytes->data, &bytes->capacity, bytes->size + size, 1))
        return false;
    memcpy(bytes->data + bytes->size, data, size);
    bytes->size += size;
    return true;
}

/* Offset of the first record of `type` at or after `at`, and of what follows it; the end of the
 * whole records when there is none. */
static size_t find_record(const uint8_t *data, size_t size, size_t at, uint8_t type, size_t *next)
{
    while (at + FWR_RECORD_HEAD <= size) {
        uint32_t payload = (uint32_t)data[at] | (uint32_t)data[at + 1] << 8 |
                           (uint32_t)data[at + 2] << 16 | (uint32_t)data[at + 3] << 24;
        size_t whole = FWR_RECORD_HEAD + (((size_t)payload + 3) & ~(size_t)3);
        if (payload > FWR_MAX_PAYLOAD || whole > size - at)
            break;
        *next = at + whole;
        if (data[at + 4] == type)
            return at;
        at += whole;
    }
    *next = at;
    return at;
}

/* A report of its own that holds the names: its FWR_SYMBOLS records are what is wanted. */
static bool write_symbols(const struct perf_wants *wants, struct bytes *out)
{
    struct fwr_about about = {.kind = FWR_KIND_SNAPSHOT, .id = {1}};
    void *memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    if (!memory)
        return false;
    struct fwr_writer *w = fwr_create(memory, append, out, NULL, NULL, &about);
    for (size_t i = 0; i < wants->count; i++) {
        const struct perf_wanted *wanted = &wants->items[i];
        if (!wanted->name || (i > 0 && wants->items[i - 1].name && wanted->size &&
                              wants->items[i - 1].start == wanted->start))
            continue; /* the same code as the one before */
        struct perf_name name;
        perf_map_name(wanted->name, &name);
        fwr_symbol(w, wanted->start, wanted->size, name.function, name.file, name.line);
    }
    bool written = fwr_flush(w);
    free(memory);
    return written;
}

/* The report with the records in it, before its end. */
static bool insert(const struct run_report *report, const struct bytes *symbols, struct bytes *out)
{
    size_t next, end = find_record(report->bytes, report->size, FWR_MAGIC_SIZE, FWR_END, &next);
    bool any = false;
    if (!append(out, report->bytes, end))
        return false;
    for (size_t at = FWR_MAGIC_SIZE;; at = next) {
        at = find_record(symbols->data, symbols->size, at, FWR_SYMBOLS, &next);
        if (at == next)
            break;
        any = true;
        if (!append(out, symbols->data + at, next - at))
            return false;
    }
    return any && append(out, report->bytes + end, report->size - end);
}

/* Whole or not at all. */
static bool replace_file(const char *path, const struct bytes *bytes)
{
    char *part;
    if (asprintf(&part, "%s.names", path) < 0)
        return false;
    int fd = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool written = fd >= 0;
    for (size_t at = 0; written && at < bytes->size;) {
        ssize_t size = write(fd, bytes->data + at, bytes->size - at);
        written = size > 0;
        at += written ? (size_t)size : 0;
    }
    if (fd >= 0)
        written = close(fd) == 0 && written && rename(part, path) == 0;
    if (!written)
        unlink(part);
    free(part);
    return written;
}

static void take_new(struct run_report *report, struct bytes *bytes)
{
    struct report *again;
    struct fw_failure why;
    if (report_read((struct span){bytes->data, bytes->size}, &again, &why) != FW_OK)
        return;
    report_free(report->report);
    free(report->bytes);
    report->report = again;
    report->bytes = bytes->data;
    report->size = bytes->size;
    bytes->data = NULL;
}

static void name_code(struct run_report *report)
{
    struct perf_wants wants = {0};
    struct bytes symbols = {0}, whole = {0};
    if (list_wanted(report->report, &wants) && read_map(report->pid, &wants) &&
        write_symbols(&wants, &symbols) && insert(report, &symbols, &whole)) {
        if (!replace_file(report->path, &whole))
            cli_error("%s: names of compiled code are not kept: %s", report->path, strerror(errno));
        take_new(report, &whole);
    }
    perf_wants_free(&wants);
    free(symbols.data);
    free(whole.data);
}

void run_symbols(struct run_result *result, bool remove_maps)
{
    for (size_t i = 0; i < result->count; i++)
        name_code(&result->reports[i]);
    for (size_t i = 0; remove_maps && i < result->process_count; i++) {
        char path[64];
        map_path((pid_t)result->processes[i].pid, path);
        unlink(path);
    }
}
