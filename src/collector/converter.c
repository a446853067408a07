/*
 * framewalk-converter: the child that reads foreign debug files for the collector, behind walls
 * (lockdown.h). Started by sandbox.c, never by people.
 *
 *     framewalk-converter MEMORY SECONDS FILE MAPPED UNPACKED NAME
 *
 * Standard input is the upload, open for reading at its start; descriptor 3 a folder of this run
 * alone. Files of use are unpacked to "f1", "f2"... there ("f0" stands for the upload itself when
 * it is no archive), maps are written to "m1", "m2"... Of a source bundle "f1" becomes the stored
 * sources. Standard output gets JSON lines:
 *
 *     {"begin": NAME}                         which file is in hand
 *     {"phase": ..., "done": n, "total": n}   how far it is
 *     {"slice": {...}}                        tell_slice()
 *     {"end": {...}} or {"error": {"code": n, "message": ...}}
 */
#include "base/failure.h"
#include "base/hex.h"
#include "collector/clock.h"
#include "collector/lockdown.h"
#include "collector/source_bundle.h"
#include "collector/unpack.h"
#include "object/codecs.h"
#include "symbolicate/debug_file.h"
#include "symmap/convert.h"
#include "symmap/import.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT = 0, OUTPUT = 1, FOLDER = 3, THREADS = 2, CHUNK = 1 << 16, MESSAGE_MS = 250 };

struct run {
    struct lockdown_limits limits;
    uint64_t unpacked; /* bytes that an archive may hold */
    uint8_t *chunk;    /* what is being unpacked */
    unsigned files, maps;
    int64_t told_ms; /* when progress was last told */
    /* The file in hand: */
    char name[128];
    int fd;
    unsigned number;
    uint64_t size;
    bool kept; /* one of its slices is worth keeping */
    struct fw_failure failure;
};

/* ---- telling ---- */

static void tell(json_t *line)
{
    char *text = line ? json_dumps(line, JSON_COMPACT) : NULL;
    json_decref(line);
    if (text) {
        fputs(text, stdout);
        fputc('\n', stdout);
        fflush(stdout);
    }
    free(text);
}

static void progress(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct run *run = context;
    int64_t ms = clock_ms();
    if (ms - run->told_ms < MESSAGE_MS)
        return;
    run->told_ms = ms;
    tell(json_pack("{s:s, s:I, s:I}", "phase", phase, "done", (json_int_t)done, "total",
                   (json_int_t)total));
}

/* One identity of a file. `map`: number of its map, 0 none. */
static void tell_slice(struct run *run, const struct debug_slice *slice, unsigned map,
                       uint64_t map_size, const char *message)
{
    char id[2 * sizeof slice->id + 1];
    hex_text(id, slice->id, slice->id_size);
    json_t *features = json_array();
    for (size_t i = 0; debug_file_feature_names[i]; i++)
        if (slice->features & 1u << i)
            json_array_append_new(features, json_string(debug_file_feature_names[i]));
    bool keep = slice->id_size && slice->kind;
    run->kept |= keep;
    tell(json_pack("{s:{s:s, s:i, s:I, s:i, s:s, s:s, s:o, s:i, s:I, s:s, s:b}}", "slice", "name",
                   run->name, "file", (int)run->number, "size", (json_int_t)run->size, "kind",
                   (int)slice->kind, "arch", slice->arch, "id", id, "features", features, "map",
                   (int)map, "map_size", (json_int_t)map_size, "message", message ? message : "",
                   "keep", keep));
}

/* ---- one file ---- */

static const char *text_of(const struct run *run, const struct fw_failure *why, char *text,
                           size_t size)
{
    if (why->code == FW_ERR_MEMORY)
        snprintf(text, size, "needs more than %llu MB of memory to convert: --convert-memory",
                 (unsigned long long)(run->limits.memory >> 20));
    else
        snprintf(text, size, "%s", why->message[0] ? why->message : fw_error_text(why->code));
    return text;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size, uint64_t offset)
{
    while (size) {
        ssize_t n = pwrite(fd, bytes, size, (off_t)offset);
        if (n <= 0)
            return false;
        bytes += n;
        size -= (size_t)n;
        offset += (uint64_t)n;
    }
    return true;
}

static fw_error save_map(struct run *run, struct span bytes, unsigned *number,
                         struct fw_failure *why)
{
    char name[16];
    snprintf(name, sizeof name, "m%u", run->maps + 1);
    int fd = openat(FOLDER, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = fd >= 0 && write_all(fd, bytes.data, bytes.size, 0);
    int error = errno;
    if (fd >= 0)
        close(fd);
    run->maps++;
    if (!good)
        return failure_say(why, FW_ERR_FULL, error, "%s",
                           error == EFBIG
                               ? "its symbol map is larger than allowed: --convert-output"
                               : "its symbol map cannot be written: is the disk full?");
    *number = run->maps;
    return FW_OK;
}

static fw_error convert_object(struct run *run, struct object *object, struct debug_slice *slice,
                               unsigned *map, size_t *map_size, struct fw_failure *why)
{
    const struct convert_options options = {
        .threads = THREADS, .calls = true, .progress = progress, .context = run};
    struct convert_report report = {0};
    uint8_t *bytes = NULL;
    fw_error error = symmap_convert(object, NULL, NULL, &options, &bytes, map_size, &report, why);
    if (error != FW_OK) {
        why->code = error;
        return error;
    }
    if (report.inlined_calls)
        slice->features |= DEBUG_FILE_INLINES;
    if (slice->features & DEBUG_FILE_DEBUG_INFO && !report.functions && report.parts_missing)
        slice->features |= DEBUG_FILE_SPLIT;
    if (report.dwarf.count[DWARF_PROBLEM_SPLIT] || report.dwarf.count[DWARF_PROBLEM_SUPPLEMENTARY])
        slice->features |= DEBUG_FILE_SPLIT;
    error = save_map(run, (struct span){bytes, *map_size}, map, why);
    free(bytes);
    return error;
}

static bool take_object(void *context, struct object *object, const struct fw_failure *failure)
{
    struct run *run = context;
    struct debug_slice slice = {0};
    struct fw_failure why = {0};
    char text[256];
    unsigned map = 0;
    size_t map_size = 0;
    if (!object) {
        tell_slice(run, &slice, 0, 0, text_of(run, failure, text, sizeof text));
        return true;
    }
    if (debug_file_look(object, &slice, &why) != FW_OK)
        tell_slice(run, &slice, 0, 0, why.message);
    else if (!slice.id_size)
        tell_slice(run, &slice, 0, 0,
                   object_is_macho(object) ? "it has no UUID, so that no report names it"
                                           : "it has no build id, so that no report names it: "
                                             "link with --build-id");
    else if (convert_object(run, object, &slice, &map, &map_size, &why) != FW_OK)
        tell_slice(run, &slice, 0, 0, text_of(run, &why, text, sizeof text));
    else
        tell_slice(run, &slice, map, map_size,
                   object_is_truncated(object) ? "the file is cut short: something is missing"
                                               : NULL);
    return true;
}

/* Symbols that are a map already, or another tool's. */
static fw_error take_symbols(struct run *run, struct span bytes, struct fw_failure *why)
{
    uint8_t *made = NULL;
    size_t size = bytes.size;
    struct symmap *map = NULL;
    struct debug_slice slice = {.kind = DEBUG_FILE_SYMBOLS, .features = DEBUG_FILE_SYMTAB};
    fw_error error = FW_OK;
    if (debug_file_form(bytes) != DEBUG_FILE_MAP)
        error = import_map(bytes, run->name, &made, &size, why);
    struct span whole = {made ? made : bytes.data, size};
    if (error == FW_OK)
        error = symmap_open_bytes(whole, made != NULL, run->name, &map, why);
    unsigned number = 0;
    if (error == FW_OK) {
        const struct symmap_identity *identity = symmap_identity(map);
        slice.id_size = identity->id_size >= DEBUG_FILE_ID_LEAST ? identity->id_size : 0;
        memcpy(slice.id, identity->id, slice.id_size);
        memcpy(slice.arch, identity->arch, sizeof slice.arch);
        slice.features |= DEBUG_FILE_LINES;
        error = slice.id_size
                    ? save_map(run, whole, &number, why)
                    : failure_say(why, FW_ERR_UNSUPPORTED, 0, "it names no build id or UUID");
    }
    if (error == FW_OK)
        tell_slice(run, &slice, number, size, NULL);
    symmap_close(map);
    free(made);
    return error;
}

static void take_file(struct run *run)
{
    struct fw_failure why = {0};
    struct stat about;
    char text[256];
    fw_error error = FW_OK;
    if (fstat(run->fd, &about) != 0 || about.st_size <= 0) {
        tell_slice(run, &(struct debug_slice){0}, 0, 0, "an empty file");
        return;
    }
    run->size = (uint64_t)about.st_size;
    void *at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, run->fd, 0);
    if (at == MAP_FAILED) {
        tell_slice(run, &(struct debug_slice){0}, 0, 0, "too large to be mapped into memory");
        return;
    }
    struct span bytes = {at, (size_t)about.st_size};
    enum debug_file_form form = debug_file_form(bytes);
    if (form == DEBUG_FILE_ELF || form == DEBUG_FILE_MACHO)
        error = debug_file_slices(bytes, run->name, take_object, run, &why);
    else
        error = take_symbols(run, bytes, &why);
    if (error != FW_OK) {
        why.code = error;
        tell_slice(run, &(struct debug_slice){0}, 0, 0, text_of(run, &why, text, sizeof text));
    }
    munmap(at, bytes.size);
}

/* ---- archives ---- */

static ssize_t read_input(void *context, const void **bytes)
{
    struct run *run = context;
    *bytes = run->chunk;
    ssize_t n;
    do
        n = read(INPUT, run->chunk, CHUNK);
    while (n < 0 && errno == EINTR);
    return n;
}

static void name_file(struct run *run, const char *name)
{
    const char *slash = strrchr(name, '/');
    if (name != run->name)
        snprintf(run->name, sizeof run->name, "%s", slash && slash[1] ? slash + 1 : name);
    tell(json_pack("{s:s}", "begin", run->name));
}

static bool begin_file(void *context, const char *name)
{
    struct run *run = context;
    char file[16];
    run->number = ++run->files;
    run->kept = false;
    snprintf(file, sizeof file, "f%u", run->number);
    /* A single packed file has the upload's name, not libarchive's. */
    name_file(run, strcmp(name, "data") == 0 && run->number == 1 ? run->name : name);
    run->fd = openat(FOLDER, file, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (run->fd < 0)
        failure_say(&run->failure, FW_ERR_SYSTEM, errno, "a file cannot be made");
    return run->fd >= 0;
}

static bool write_file(void *context, uint64_t offset, struct span bytes)
{
    struct run *run = context;
    if (write_all(run->fd, bytes.data, bytes.size, offset))
        return true;
    failure_say(&run->failure, FW_ERR_FULL, errno, "%s: %s", run->name,
                errno == EFBIG ? "larger than allowed: --convert-output"
                               : "cannot be unpacked: is the disk full?");
    return false;
}

static bool end_file(void *context, uint64_t size)
{
    struct run *run = context;
    if (ftruncate(run->fd, (off_t)size) != 0)
        return write_file(run, size, (struct span){(const uint8_t *)"", 1});
    take_file(run);
    if (!run->kept && ftruncate(run->fd, 0) != 0)
        return false; /* nobody needs it: its room is for the next */
    close(run->fd);
    run->fd = -1;
    return true;
}

static int tell_error(const struct fw_failure *why)
{
    tell(json_pack("{s:{s:i, s:s}}", "error", "code", (int)why->code, "message", why->message));
    return 1;
}

static int take_archive(struct run *run)
{
    struct unpack_sum sum;
    struct fw_failure why = {0};
    const struct unpack_source source = {read_input, run};
    const struct unpack_sink sink = {begin_file, write_file, end_file, run, false};
    fw_error error = unpack(&source, run->unpacked, &sink, &sum, &why);
    if (error != FW_OK && run->failure.code != FW_OK)
        why = run->failure;
    if (error != FW_OK)
        return tell_error(&why);
    tell(json_pack("{s:{s:I, s:I, s:I}}", "end", "entries", (json_int_t)sum.entries, "files",
                   (json_int_t)sum.files, "archives", (json_int_t)sum.archives));
    return 0;
}

/* ---- sources ---- */

static void tell_bundle(struct run *run, const struct source_bundle *bundle)
{
    char id[2 * sizeof bundle->id + 1], files[32];
    hex_text(id, bundle->id, bundle->id_size);
    snprintf(files, sizeof files, "%u file%s", (unsigned)bundle->files,
             bundle->files == 1 ? "" : "s");
    tell(json_pack("{s:{s:s, s:i, s:I, s:i, s:s, s:s, s:[s], s:i, s:s, s:b}}", "slice", "name",
                   bundle->name[0] ? bundle->name : run->name, "file", (int)run->number, "size",
                   (json_int_t)bundle->size, "kind", DEBUG_FILE_SOURCES, "arch", bundle->arch, "id",
                   id, "features", files, "map", 0, "message", "", "keep", true));
    tell(json_pack("{s:{s:i, s:i, s:i}}", "end", "entries", (int)bundle->files, "files", 1,
                   "archives", 0));
}

static int take_bundle(struct run *run)
{
    struct fw_failure why = {0};
    struct source_bundle bundle;
    const struct unpack_source source = {read_input, run};
    const struct source_bundle_output output = {write_file, run};
    if (!begin_file(run, run->name))
        return tell_error(&run->failure);
    fw_error error = source_bundle_read(&source, run->unpacked, &output, &bundle, &why);
    if (error != FW_OK)
        return tell_error(run->failure.code != FW_OK ? &run->failure : &why);
    tell_bundle(run, &bundle);
    return 0;
}

static int take_upload(struct run *run)
{
    uint8_t start[DEBUG_FILE_START];
    ssize_t got = pread(INPUT, start, sizeof start, 0);
    if (got > 0 && source_bundle_is((struct span){start, (size_t)got}))
        return take_bundle(run);
    if (got > 0 && debug_file_form((struct span){start, (size_t)got}) == DEBUG_FILE_NONE)
        return take_archive(run);
    run->fd = INPUT;
    name_file(run, run->name);
    take_file(run);
    tell(json_pack("{s:{s:i, s:i, s:i}}", "end", "entries", 1, "files", 1, "archives", 0));
    return 0;
}

int main(int argc, char **argv)
{
    struct run run = {.fd = -1};
    if (argc != 7) {
        fputs("framewalk-converter is started by framewalk-collector\n", stderr);
        return 2;
    }
    uint64_t numbers[5];
    for (int i = 0; i < 5; i++)
        numbers[i] = strtoull(argv[1 + i], NULL, 10);
    run.limits = (struct lockdown_limits){numbers[0], numbers[1], numbers[2], numbers[3]};
    run.unpacked = numbers[4];
    snprintf(run.name, sizeof run.name, "%s", argv[6]);
    setlocale(LC_CTYPE, "C.UTF-8"); /* names of archives */
    object_set_codecs(&object_codecs_all);
    run.chunk = malloc(CHUNK);
    struct lockdown holds;
    struct fw_failure why;
    if (!run.chunk || lockdown(FOLDER, &run.limits, &holds, &why) != FW_OK) {
        tell(json_pack("{s:{s:i, s:s}}", "error", "code", (int)FW_ERR_SYSTEM, "message",
                       run.chunk ? why.message : "out of memory"));
        return 1;
    }
    int status = take_upload(&run);
    fflush(stdout);
    _exit(status); /* the system frees faster; and what runs at exit may want more calls */
}
