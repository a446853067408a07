/*
 * What dead processes left: each ID.part whose lock can be had becomes ID.fwr. It is cut behind its
 * last whole record; then come the record that says how its hang ended, should there be one without
 * end, and FWR_END.
 *
 * Every step can be done again: a recoverer that is killed leaves a .part that is whole up to some
 * record, whose lock is free. Two at once exclude each other by that lock, and the second finds the
 * name gone.
 */
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "watch/spool_internal.h"

struct survey {
    int file;
    uint64_t limit;
};

static long read_piece(void *context, uint64_t offset, void *bytes, size_t size)
{
    const struct survey *survey = context;
    if (offset >= survey->limit)
        return 0;
    if (size > survey->limit - offset)
        size = (size_t)(survey->limit - offset);
    return (long)pread(survey->file, bytes, size, (off_t)offset);
}

bool spool_survey(int file, uint64_t limit, struct fwr_state *state)
{
    struct survey survey = {file, limit};
    memset(state, 0, sizeof *state);
    fw_error error = fwr_survey(read_piece, &survey, state);
    return error != FW_ERR_SYSTEM;
}

/* How the hang ended that a dead process left. */
static struct fwr_hang_end end_of(const struct fw_reports *reports, const struct fwr_state *state)
{
    struct fwr_hang_end end = {.ending = FWR_KILLED, .duration_ns = state->duration_ns};
    uint64_t until = 0;
    if (!reports->left_by || !state->pid ||
        !reports->left_by(reports->left_by_context, state->pid, state->started_ms, &until))
        return end;
    end.ending = FWR_STOPPED;
    if (until > state->started_ms &&
        until - state->started_ms > state->duration_ns / UINT64_C(1000000))
        end.duration_ns = (until - state->started_ms) * UINT64_C(1000000);
    return end;
}

/* The records that are missing at the end. */
static bool complete(const struct fw_reports *reports, int file, const struct fwr_state *state,
                     uint64_t size)
{
    uint8_t tail[2 * FWR_TAIL_MAX];
    size_t used = 0;
    if (size > state->whole && ftruncate(file, (off_t)state->whole) != 0)
        return false;
    const struct fwr_hang_end end = end_of(reports, state);
    if (state->has_hang && !state->has_hang_end)
        used = fwr_tail_hang_end(tail, &end);
    if (!state->ended)
        used += fwr_tail_end(tail + used);
    return spool_file_write(file, tail, used, state->whole) && spool_file_sync(file);
}

static void recover_file(struct fw_reports *reports, const char *id, int file)
{
    struct fwr_state state;
    struct stat stat;
    if (fstat(file, &stat) != 0 || !spool_survey(file, UINT64_MAX, &state))
        return;
    const uint64_t size = (uint64_t)stat.st_size;
    if (!state.is_report) {
        if (spool_file_remove(&reports->folder, id, SPOOL_PART) && size)
            atomic_fetch_add(&reports->damaged, 1);
        return;
    }
    if (!complete(reports, file, &state, size) || !spool_file_publish(&reports->folder, id))
        return; /* the next one tries again */
    atomic_fetch_add(&reports->recovered, 1);
    if (size > state.whole)
        atomic_fetch_add(&reports->damaged, 1);
}

/* Names are gathered first: renaming while a folder is read may hide others on some systems. */
static void gather(void *context, const struct spool_entry *entry)
{
    struct fw_reports *reports = context;
    if (entry->kind == SPOOL_PART && reports->batched < SPOOL_BATCH)
        spool_id_bytes(entry->id, reports->batch[reports->batched++].id);
}

static bool recover_batch(struct fw_reports *reports)
{
    const uint64_t before = reports->recovered + reports->damaged;
    reports->batched = 0;
    spool_folder_each(&reports->folder, gather, reports);
    for (size_t i = 0; i < reports->batched; i++) {
        char id[SPOOL_ID_SIZE];
        spool_id_text(reports->batch[i].id, id);
        int file = spool_file_take(&reports->folder, id, SPOOL_PART);
        if (file < 0)
            continue;
        recover_file(reports, id, file);
        close(file);
    }
    return reports->batched == SPOOL_BATCH && reports->recovered + reports->damaged != before;
}

void spool_recover(struct fw_reports *reports)
{
    pthread_mutex_lock(&reports->listing);
    while (recover_batch(reports))
        ;
    if (reports->recovered)
        spool_folder_sync(&reports->folder);
    pthread_mutex_unlock(&reports->listing);
}
