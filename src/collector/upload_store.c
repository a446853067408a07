/*
 * What the child found, into the blob store and the database: blobs first, then one transaction.
 */
#include "base/array.h"
#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/db.h"
#include "collector/sandbox.h"
#include "collector/symbol_files.h"
#include "collector/symbols.h"
#include "collector/upload_run.h"
#include "symbolicate/debug_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- files to blobs ---- */

/* `name` in the child's folder under a key of ours. The upload's id makes keys of two uploads
 * differ, so that one that goes does not take the other's along. */
static fw_error put_file(struct upload_run *run, const char *name, const char *key)
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", run->folder, name);
    return blobs_put_file(run->c->blobs, key, path, run->why);
}

static fw_error put_debug_file(struct upload_run *run, struct upload_found *f, const char *hex)
{
    struct symbol_file *file = &f->file;
    char sha256[65], name[32] = "input";
    int fd = f->number ? sandbox_open(run->output, 'f', f->number) : dup(run->input);
    fw_error error = fd < 0
                         ? failure_say(run->why, FW_ERR_CORRUPT, 0, "the converter named no file")
                         : symbol_files_hash(fd, file->sha256, &file->size, run->why);
    if (fd >= 0)
        close(fd);
    if (error != FW_OK)
        return error;
    symbol_id_hex(file->sha256, 32, sha256, sizeof sha256);
    snprintf(file->blob, sizeof file->blob, "symbols/%.2s/%s/%s-%s-%.8s", hex, hex + 2,
             upload_kind_names[file->kind], sha256, run->id);
    if (f->number)
        snprintf(name, sizeof name, "out/f%u", f->number);
    return put_file(run, name, file->blob);
}

static fw_error put_map(struct upload_run *run, struct upload_found *f, const char *hex)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";
    struct symbol_file *file = &f->file;
    char hash[17], name[32], arch[sizeof file->arch];
    uint8_t sha256[32];
    int fd = sandbox_open(run->output, 'm', f->map);
    fw_error error = fd < 0 ? failure_say(run->why, FW_ERR_CORRUPT, 0, "the converter named no map")
                            : symbol_files_hash(fd, sha256, &file->map_size, run->why);
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

fw_error upload_put_found(struct upload_run *run, size_t index)
{
    struct upload_found *f = &run->found[index];
    const struct upload_found *before = index ? &run->found[index - 1] : NULL;
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

static fw_error note_old(struct upload_run *run, char old[2][320])
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

static fw_error add_rows(struct upload_run *run, struct db_conn *conn)
{
    struct access who = {.kind = ACCESS_TOKEN};
    snprintf(who.label, sizeof who.label, "%s", run->by);
    fw_error error = FW_OK;
    for (size_t i = 0; error == FW_OK && i < run->count; i++) {
        struct symbol_file *file = &run->found[i].file;
        char old[2][320], hex[2 * sizeof file->id + 1];
        bool other;
        file->project = run->project;
        symbol_id_hex(file->id, file->id_size, hex, sizeof hex);
        error = symbol_store_add(conn, file, run->by, old, &other, run->why);
        if (error == FW_OK)
            error = note_old(run, old);
        if (error == FW_OK && file->kind != DEBUG_FILE_SOURCES) /* names stay what they are */
            error = symbol_store_choose(conn, file->project, file->id, file->id_size, run->why);
        if (error == FW_OK)
            audit(conn, &who, other ? "symbols.upload.other-contents" : "symbols.upload", hex,
                  file->name);
    }
    return error;
}

/* What became of it; nothing when another server was faster. */
static fw_error end_row(struct upload_run *run, struct db_conn *conn, enum upload_state state,
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

fw_error upload_commit(struct upload_run *run, enum upload_state state, const char *message)
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
