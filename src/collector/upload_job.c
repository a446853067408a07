/*
 * The job "convert": an upload that is whole becomes debug files and symbol maps in the store.
 *
 *     parts -> one file, its SHA-256 checked -> the child (sandbox.h) -> blobs -> one transaction:
 *     rows of symbol_file, images that have a map now, jobs "names" for those, the upload's result
 *
 * Until that transaction nothing counts; whoever runs the job again begins anew, and puts the same
 * blobs under the same keys. Identities come from the files, never from names.
 *
 * What is the upload's own fault is its result (state 3, for people). Only what may be better later
 * fails the job.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/files.h"
#include "collector/sandbox.h"
#include "collector/symbol_store.h"
#include "collector/symbols.h"
#include "collector/upload_parts.h"
#include "collector/uploads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, FILES_MAX = 20000, RESULT_MAX = 2000, WALL_FACTOR = 3 };

struct found { /* a slice that the child told of */
    struct symbol_file file;
    unsigned number, map; /* of the child's files */
};

struct run {
    struct collector *c;
    const struct job *job;
    char id[UPLOAD_ID_DIGITS + 1], name[256], by[64];
    uint64_t size;
    uint8_t sha256[32];
    bool has_sha256;
    char folder[512]; /* of this run */
    int input, output;
    struct found *found;
    size_t count, capacity;
    json_t *told;         /* for the upload's result */
    uint64_t done, total; /* progress of the file in hand */
    char (*old)[320];     /* blobs that nobody names after the commit */
    size_t old_count, old_capacity;
    struct fw_failure *why;
};

/* ---- the upload's row ---- */

static fw_error read_row(struct run *run, bool *wanted)
{
    struct db_conn *conn;
    struct db_rows *rows = NULL;
    fw_error error = db_take(run->c->db, DB_READ, &conn, run->why);
    if (error != FW_OK)
        return error;
    error = db_query(conn, &rows, run->why,
                     "SELECT id, name, size, sha256, state, created_by FROM upload WHERE id = $1",
                     DB_VALUES(db_text(run->job->subject)));
    if (error == FW_OK && db_next(rows)) {
        struct span sha256 = db_get_bytes(rows, 3);
        *wanted = db_get_int(rows, 4) == UPLOAD_QUEUED;
        snprintf(run->id, sizeof run->id, "%s", db_get_text(rows, 0));
        snprintf(run->name, sizeof run->name, "%s", db_get_text(rows, 1));
        snprintf(run->by, sizeof run->by, "%s", db_get_text(rows, 5));
        run->size = (uint64_t)db_get_int(rows, 2);
        run->has_sha256 = sha256.size == 32;
        if (run->has_sha256)
            memcpy(run->sha256, sha256.data, 32);
    }
    if (error == FW_OK)
        error = db_end(rows, run->why);
    db_give(run->c->db, conn);
    return error;
}

static fw_error put_together(struct run *run)
{
    uint8_t sha256[32];
    fw_error error =
        upload_put_together(run->c, run->job, run->id, run->size, run->input, sha256, run->why);
    if (error == FW_OK && run->has_sha256 && memcmp(sha256, run->sha256, 32) != 0)
        error = failure_say(run->why, FW_ERR_CORRUPT, 0,
                            "what arrived is not what was sent (its SHA-256 differs): send it "
                            "again");
    if (error == FW_OK)
        memcpy(run->sha256, sha256, 32);
    return error;
}

/* ---- what the child says ---- */

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text ? text : "";
}

static uint64_t number_of(const json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value > 0 ? (uint64_t)value : 0;
}

static void join_features(const json_t *list, char *text, size_t size)
{
    size_t i, used = 0;
    const json_t *word;
    text[0] = 0;
    json_array_foreach(list, i, word)
    {
        int n = snprintf(text + used, size - used, "%s%s", used ? "," : "",
                         json_string_value(word) ? json_string_value(word) : "");
        if (n < 0 || (size_t)n >= size - used)
            break;
        used += (size_t)n;
    }
}

static size_t read_hex(const char *hex, uint8_t *bytes, size_t size)
{
    size_t n = 0;
    for (; n < size && hex[2 * n] && hex[2 * n + 1]; n++) {
        const char two[3] = {hex[2 * n], hex[2 * n + 1], 0};
        if (strspn(two, "0123456789abcdef") != 2)
            return 0;
        bytes[n] = (uint8_t)strtoul(two, NULL, 16);
    }
    return n;
}

static const char *const kind_names[] = {"", "executable", "debuginfo", "map"};

static void tell_file(struct run *run, const json_t *slice, int kind)
{
    const char *message = text_of(slice, "message");
    const char *state = !json_is_true(json_object_get(slice, "keep")) ? "unusable"
                        : number_of(slice, "map")                     ? "mapped"
                                                                      : "stored";
    if (json_array_size(run->told) < RESULT_MAX)
        json_array_append_new(
            run->told, json_pack("{s:s, s:s, s:s, s:s, s:s, s:s}", "debug_id", text_of(slice, "id"),
                                 "arch", text_of(slice, "arch"), "kind", kind_names[kind], "name",
                                 text_of(slice, "name"), "state", state, "message", message));
}

static bool take_slice(struct run *run, const json_t *slice)
{
    uint64_t kind = number_of(slice, "kind");
    tell_file(run, slice, kind <= 3 ? (int)kind : 0);
    if (!json_is_true(json_object_get(slice, "keep")) || kind < 1 || kind > 3)
        return true;
    if (run->count >= FILES_MAX ||
        !array_room(&run->found, &run->capacity, run->count, sizeof *run->found))
        return false;
    struct found *f = &run->found[run->count];
    *f = (struct found){.number = (unsigned)number_of(slice, "file"),
                        .map = (unsigned)number_of(slice, "map"),
                        .file = {.kind = (int)kind}};
    f->file.id_size = read_hex(text_of(slice, "id"), f->file.id, sizeof f->file.id);
    snprintf(f->file.arch, sizeof f->file.arch, "%s", text_of(slice, "arch"));
    snprintf(f->file.name, sizeof f->file.name, "%s", text_of(slice, "name"));
    snprintf(f->file.message, sizeof f->file.message, "%s", text_of(slice, "message"));
    join_features(json_object_get(slice, "features"), f->file.features, sizeof f->file.features);
    run->count += f->file.id_size > 0;
    return true;
}

static bool take_line(void *context, const json_t *line)
{
    struct run *run = context;
    const json_t *slice = json_object_get(line, "slice");
    if (json_object_get(line, "phase")) {
        run->done = number_of(line, "done");
        run->total = number_of(line, "total");
    }
    if (slice && !take_slice(run, slice))
        return false;
    if (!line && !upload_has_room(run->c, 0)) /* each file has its limit, all together have this */
        return false;
    return jobs_progress(run->c, run->job, run->done, run->total);
}

/* ---- files to blobs ---- */

static fw_error hash_file(int fd, uint8_t sha256[32], uint64_t *size, struct fw_failure *why)
{
    uint8_t *buffer = malloc(CHUNK), result[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool good = buffer && hash && EVP_DigestInit(hash, EVP_sha256());
    off_t at = 0;
    for (;;) {
        ssize_t n = good ? pread(fd, buffer, CHUNK, at) : 0;
        if (n <= 0) {
            good &= n == 0;
            break;
        }
        EVP_DigestUpdate(hash, buffer, (size_t)n);
        at += n;
    }
    good = good && EVP_DigestFinal(hash, result, NULL);
    EVP_MD_CTX_free(hash);
    free(buffer);
    if (!good)
        return failure_say(why, FW_ERR_SYSTEM, errno, "a file of the converter cannot be read");
    memcpy(sha256, result, 32);
    *size = (uint64_t)at;
    return FW_OK;
}

/* `name` in the child's folder under a key of ours. The upload's id makes keys of two uploads
 * differ, so that one that goes does not take the other's along. */
static fw_error put_file(struct run *run, const char *name, const char *key)
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", run->folder, name);
    return blobs_put_file(run->c->blobs, key, path, run->why);
}

static fw_error put_debug_file(struct run *run, struct found *f, const char *hex)
{
    struct symbol_file *file = &f->file;
    char sha256[65], name[32] = "input";
    int fd = f->number ? sandbox_open(run->output, 'f', f->number) : dup(run->input);
    fw_error error = fd < 0
                         ? failure_say(run->why, FW_ERR_CORRUPT, 0, "the converter named no file")
                         : hash_file(fd, file->sha256, &file->size, run->why);
    if (fd >= 0)
        close(fd);
    if (error != FW_OK)
        return error;
    symbol_id_hex(file->sha256, 32, sha256, sizeof sha256);
    snprintf(file->blob, sizeof file->blob, "symbols/%.2s/%s/%s-%s-%.8s", hex, hex + 2,
             kind_names[file->kind], sha256, run->id);
    if (f->number)
        snprintf(name, sizeof name, "out/f%u", f->number);
    return put_file(run, name, file->blob);
}

static fw_error put_map(struct run *run, struct found *f, const char *hex)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    struct symbol_file *file = &f->file;
    char hash[17], name[32], arch[sizeof file->arch];
    uint8_t sha256[32];
    int fd = sandbox_open(run->output, 'm', f->map);
    fw_error error = fd < 0 ? failure_say(run->why, FW_ERR_CORRUPT, 0, "the converter named no map")
                            : hash_file(fd, sha256, &file->map_size, run->why);
    if (fd >= 0)
        close(fd);
    if (error != FW_OK)
        return error;
    symbol_id_hex(sha256, 8, hash, sizeof hash);
    memcpy(arch, file->arch, sizeof arch); /* the child's word */
    for (char *c = arch; *c; c++)
        *c = strchr(allowed, *c) ? *c : '_';
    snprintf(file->map_blob, sizeof file->map_blob, "symbols/%.2s/%s/%s-v1-%s-%.8s.symmap", hex,
             hex + 2, arch, hash, run->id);
    snprintf(name, sizeof name, "out/m%u", f->map);
    return put_file(run, name, file->map_blob);
}

static fw_error put_found(struct run *run, size_t index)
{
    struct found *f = &run->found[index];
    const struct found *before = index ? &run->found[index - 1] : NULL;
    char hex[2 * sizeof f->file.id + 1];
    fw_error error = FW_OK;
    symbol_id_hex(f->file.id, f->file.id_size, hex, sizeof hex);
    if (before && before->number == f->number) { /* slices of one file share its blob */
        memcpy(f->file.sha256, before->file.sha256, sizeof f->file.sha256);
        memcpy(f->file.blob, before->file.blob, sizeof f->file.blob);
        f->file.size = before->file.size;
    } else {
        error = put_debug_file(run, f, hex);
    }
    return error == FW_OK && f->map ? put_map(run, f, hex) : error;
}

/* ---- the commit ---- */

static fw_error note_old(struct run *run, char old[2][320])
{
    for (int i = 0; i < 2; i++) {
        if (!old[i][0])
            continue;
        if (!array_room(&run->old, &run->old_capacity, run->old_count, sizeof *run->old))
            return failure_say(run->why, FW_ERR_MEMORY, 0, "out of memory");
        memcpy(run->old[run->old_count++], old[i], 320);
    }
    return FW_OK;
}

static fw_error add_rows(struct run *run, struct db_conn *conn)
{
    struct access who = {.kind = ACCESS_TOKEN};
    snprintf(who.label, sizeof who.label, "%s", run->by);
    fw_error error = FW_OK;
    for (size_t i = 0; error == FW_OK && i < run->count; i++) {
        const struct symbol_file *file = &run->found[i].file;
        char old[2][320], hex[2 * sizeof file->id + 1];
        bool other;
        symbol_id_hex(file->id, file->id_size, hex, sizeof hex);
        error = symbol_store_add(conn, file, run->by, old, &other, run->why);
        if (error == FW_OK)
            error = note_old(run, old);
        if (error == FW_OK)
            error = symbol_store_choose(conn, file->id, file->id_size, run->why);
        if (error == FW_OK)
            audit(conn, &who, other ? "symbols.upload.other-contents" : "symbols.upload", hex,
                  file->name);
    }
    return error;
}

/* What became of it; nothing when another server was faster. */
static fw_error end_row(struct run *run, struct db_conn *conn, enum upload_state state,
                        const char *message)
{
    uint64_t changed = 0;
    char *result = json_dumps(run->told, JSON_COMPACT);
    fw_error error =
        result ? db_change(conn, run->why, &changed,
                           "UPDATE upload SET state = $2, message = $3, result = $4, "
                           "changed_ms = $5 WHERE id = $1 AND state = 1",
                           DB_VALUES(db_text(run->id), db_int(state), db_text(message),
                                     db_text(result), db_int((int64_t)collector_now_ms())))
               : failure_say(run->why, FW_ERR_MEMORY, 0, "out of memory");
    free(result);
    if (error == FW_OK && changed != 1)
        error = failure_say(run->why, FW_ERR_TIMEOUT, 0, "the upload was converted elsewhere");
    if (error == FW_OK)
        error = db_run(conn, run->why, "DELETE FROM upload_part WHERE upload = $1",
                       DB_VALUES(db_text(run->id)));
    return error;
}

static bool remove_blob(void *context, const char *key, uint64_t size, uint64_t changed_ms)
{
    (void)size, (void)changed_ms;
    blobs_remove(context, key, NULL); /* what stays, the job "uploads" finds */
    return true;
}

static fw_error commit(struct run *run, enum upload_state state, const char *message)
{
    struct db_conn *conn;
    char prefix[64];
    fw_error error = db_take(run->c->db, DB_WRITE, &conn, run->why);
    if (error != FW_OK)
        return error;
    error = db_begin(conn, run->why);
    if (error == FW_OK && state == UPLOAD_CONVERTED)
        error = add_rows(run, conn);
    if (error == FW_OK)
        error = end_row(run, conn, state, message);
    if (error == FW_OK)
        error = db_commit(conn, run->why);
    db_give(run->c->db, conn);
    if (error != FW_OK)
        return error;
    for (size_t i = 0; i < run->count && state == UPLOAD_CONVERTED; i++)
        symbols_changed(run->c->symbols, run->found[i].file.id, run->found[i].file.id_size);
    jobs_wake(run->c->jobs);
    for (size_t i = 0; i < run->old_count; i++)
        blobs_remove(run->c->blobs, run->old[i], NULL);
    snprintf(prefix, sizeof prefix, "uploads/%s/", run->id);
    blobs_list(run->c->blobs, prefix, remove_blob, run->c->blobs, NULL);
    return FW_OK;
}

/* ---- the whole ---- */

static void remove_folder(const char *path)
{
    DIR *dir = opendir(path);
    char name[800];
    for (struct dirent *entry; dir && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        unlink(name);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}

static void clear_folder(const struct run *run)
{
    char out[640];
    snprintf(out, sizeof out, "%s/out", run->folder);
    remove_folder(out);
    remove_folder(run->folder);
}

static fw_error make_folder(struct run *run)
{
    char work[400], path[640];
    if (!upload_work_folder(run->c, work, sizeof work, run->why))
        return run->why->code;
    snprintf(run->folder, sizeof run->folder, "%s/convert-%s", work, run->id);
    clear_folder(run); /* of a run that was killed */
    snprintf(path, sizeof path, "%s/out", run->folder);
    if (mkdir(run->folder, 0700) != 0 || mkdir(path, 0700) != 0 ||
        (run->output = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) < 0)
        return files_say(run->why, errno, "%s cannot be made", path);
    snprintf(path, sizeof path, "%s/input", run->folder);
    run->input = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return run->input >= 0 ? FW_OK : files_say(run->why, errno, "%s cannot be made", path);
}

/* framewalk-converter stands beside this program. */
static bool find_converter(char *path, size_t size)
{
    static const char name[] = "framewalk-converter";
    ssize_t n = readlink("/proc/self/exe", path, size - 1);
    path[n > 0 ? n : 0] = 0;
    char *slash = strrchr(path, '/');
    if (!slash || (size_t)(slash + 1 - path) + sizeof name > size)
        return false;
    memcpy(slash + 1, name, sizeof name);
    return true;
}

/* The child gets the upload for reading: what was checked stays as it was. */
static fw_error reopen_input(struct run *run)
{
    char path[640];
    snprintf(path, sizeof path, "%s/input", run->folder);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return files_say(run->why, errno, "%s cannot be read", path);
    close(run->input);
    run->input = fd;
    return FW_OK;
}

static fw_error convert(struct run *run)
{
    const struct collector_options *o = run->c->options;
    const struct sandbox_limits limits = {
        .child = {.memory = o->convert_memory,
                  .seconds = o->convert_seconds,
                  .file = o->convert_output,
                  .mapped = 2 * (o->upload_bytes > o->convert_output ? o->upload_bytes
                                                                     : o->convert_output)},
        .wall_seconds = WALL_FACTOR * o->convert_seconds,
        .unpacked = o->unpacked_bytes};
    char program[512];
    if (!find_converter(program, sizeof program))
        return failure_say(run->why, FW_ERR_SYSTEM, 0, "framewalk-converter is not there");
    return sandbox_run(program, run->input, run->output, run->name, &limits, take_line, run,
                       run->why);
}

/* Whether the same may come to another end later. */
static bool try_again(const struct run *run, fw_error error)
{
    if (error == FW_ERR_FULL)
        return !upload_has_room(run->c, 0);
    return error == FW_ERR_TIMEOUT || error == FW_ERR_VANISHED || error == FW_ERR_SYSTEM ||
           error == FW_ERR_PERMISSION;
}

static void say_result(const struct run *run, char *text, size_t size)
{
    size_t maps = 0;
    for (size_t i = 0; i < run->count; i++)
        maps += run->found[i].map != 0;
    if (!run->count && !json_array_size(run->told))
        snprintf(text, size, "nothing of use: no ELF, Mach-O, GSYM, Breakpad or symbol map file");
    else
        snprintf(text, size, "%zu of %zu files stored, %zu with names", run->count,
                 json_array_size(run->told) > run->count ? json_array_size(run->told) : run->count,
                 maps);
}

static fw_error run_all(struct run *run)
{
    char text[160];
    fw_error error = FW_OK;
    if (!upload_has_room(run->c, 2 * run->size))
        return failure_say(run->why, FW_ERR_FULL, 0, "waits for room on the disk");
    error = make_folder(run);
    if (error == FW_OK)
        error = put_together(run);
    if (error == FW_OK)
        error = reopen_input(run);
    if (error == FW_OK)
        error = convert(run);
    for (size_t i = 0; error == FW_OK && i < run->count; i++) {
        error = put_found(run, i);
        if (error == FW_OK && !jobs_progress(run->c, run->job, run->done, run->total))
            error = failure_say(run->why, FW_ERR_TIMEOUT, 0, "given up");
    }
    if (error == FW_OK) {
        say_result(run, text, sizeof text);
        clear_folder(run); /* whoever sees the result sees nothing in the making */
        return commit(run, run->count ? UPLOAD_CONVERTED : UPLOAD_REJECTED, text);
    }
    if (try_again(run, error))
        return error;
    struct fw_failure said = *run->why;
    clear_folder(run);
    return commit(run, UPLOAD_REJECTED, said.message);
}

static fw_error run_convert(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct fw_failure own = {0};
    bool wanted = false;
    struct run run = {.c = c, .job = job, .input = -1, .output = -1, .told = json_array()};
    run.why = why ? why : &own;
    fw_error error = run.told ? read_row(&run, &wanted) : FW_ERR_MEMORY;
    if (error == FW_OK && wanted)
        error = run_all(&run);
    if (run.input >= 0)
        close(run.input);
    if (run.output >= 0)
        close(run.output);
    if (run.folder[0])
        clear_folder(&run);
    json_decref(run.told);
    free(run.found);
    free(run.old);
    return error;
}

const struct job_kind job_convert = {"convert", run_convert, 0};
