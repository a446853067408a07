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
#include "base/failure.h"
#include "collector/db.h"
#include "collector/files.h"
#include "collector/upload_parts.h"
#include "collector/upload_run.h"
#include "symbolicate/debug_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the upload's row ---- */

static fw_error read_row(struct upload_run *run, bool *wanted)
{
    struct db_conn *conn;
    struct db_rows *rows = NULL;
    fw_error error = db_take(run->c->db, DB_READ, &conn, run->why);
    if (error != FW_OK)
        return error;
    error = db_query(
        conn, &rows, run->why,
        "SELECT id, name, size, sha256, state, created_by, project FROM upload WHERE id = $1",
        DB_VALUES(db_text(run->job->subject)));
    if (error == FW_OK && db_next(rows)) {
        struct span sha256 = db_get_bytes(rows, 3);
        *wanted = db_get_int(rows, 4) == UPLOAD_QUEUED;
        snprintf(run->id, sizeof run->id, "%s", db_get_text(rows, 0));
        snprintf(run->name, sizeof run->name, "%s", db_get_text(rows, 1));
        snprintf(run->by, sizeof run->by, "%s", db_get_text(rows, 5));
        run->project = db_get_int(rows, 6);
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

static fw_error put_together(struct upload_run *run)
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

static void clear_folder(const struct upload_run *run)
{
    char out[640];
    snprintf(out, sizeof out, "%s/out", run->folder);
    remove_folder(out);
    remove_folder(run->folder);
}

static fw_error make_folder(struct upload_run *run)
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

/* The child gets the upload for reading: what was checked stays as it was. */
static fw_error reopen_input(struct upload_run *run)
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

/* Whether the same may come to another end later. */
static bool try_again(const struct upload_run *run, fw_error error)
{
    if (error == FW_ERR_FULL)
        return !upload_has_room(run->c, 0);
    return error == FW_ERR_TIMEOUT || error == FW_ERR_VANISHED || error == FW_ERR_SYSTEM ||
           error == FW_ERR_PERMISSION;
}

static void say_result(const struct upload_run *run, char *text, size_t size)
{
    size_t maps = 0;
    for (size_t i = 0; i < run->count; i++)
        maps += run->found[i].map != 0;
    if (run->count && run->found[0].file.kind == DEBUG_FILE_SOURCES)
        snprintf(text, size, "sources stored: %s", run->found[0].file.features);
    else if (!run->count && !json_array_size(run->told))
        snprintf(text, size,
                 "nothing of use: no ELF, Mach-O, GSYM, Breakpad or symbol map file, no source "
                 "bundle");
    else
        snprintf(text, size, "%zu of %zu files stored, %zu with names", run->count,
                 json_array_size(run->told) > run->count ? json_array_size(run->told) : run->count,
                 maps);
}

static fw_error run_all(struct upload_run *run)
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
        error = upload_convert(run);
    for (size_t i = 0; error == FW_OK && i < run->count; i++) {
        error = upload_put_found(run, i);
        if (error == FW_OK && !jobs_progress(run->c, run->job, run->done, run->total))
            error = failure_say(run->why, FW_ERR_TIMEOUT, 0, "given up");
    }
    if (error == FW_OK) {
        say_result(run, text, sizeof text);
        clear_folder(run); /* whoever sees the result sees nothing in the making */
        return upload_commit(run, run->count ? UPLOAD_CONVERTED : UPLOAD_REJECTED, text);
    }
    if (try_again(run, error))
        return error;
    struct fw_failure said = *run->why;
    clear_folder(run);
    return upload_commit(run, UPLOAD_REJECTED, said.message);
}

static fw_error run_convert(struct collector *c, const struct job *job, struct fw_failure *why)
{
    struct fw_failure own = {0};
    bool wanted = false;
    struct upload_run run = {.c = c, .job = job, .input = -1, .output = -1, .told = json_array()};
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
