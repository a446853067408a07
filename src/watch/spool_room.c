/*
 * Room in the folder: when there are more whole reports than max_files, or of more than max_bytes,
 * those of least worth go (enum spool_value), the oldest of them first. One process at a time does
 * so; a file that somebody has locked (an upload sends it) is left.
 *
 * Below the limits a listing is all that it costs. Above, reports are looked into, and their worth
 * is remembered: a whole report does not change any more.
 */
#include <string.h>
#include <unistd.h>

#include "watch/spool_internal.h"

enum { HEAD = 4096 }; /* bytes that hold a report's first record */

static const uint64_t severe_ns = 2000000000; /* where the report does not say */

static enum spool_value value_of(const struct fwr_state *state)
{
    if (!state->is_report)
        return SPOOL_DAMAGED;
    if (state->kind == FWR_KIND_CALLS)
        return SPOOL_CALLS;
    if (state->kind != FWR_KIND_HANG)
        return SPOOL_SNAPSHOT;
    if (state->ending == FWR_KILLED)
        return SPOOL_FATAL;
    return state->duration_ns >= (state->severe_ns ? state->severe_ns : severe_ns) ? SPOOL_SEVERE
                                                                                   : SPOOL_HANG;
}

/* What is not to be read counts as most worth: it is not ours to remove. */
static struct spool_worth look_into(const struct fw_reports *reports, const char *id)
{
    struct fwr_state state;
    struct spool_worth worth = {.value = SPOOL_FATAL};
    int file = spool_file_read(&reports->folder, id, SPOOL_WHOLE);
    if (file < 0)
        return worth;
    if (spool_survey(file, UINT64_MAX, &state)) {
        worth.value = (uint8_t)value_of(&state);
        worth.started_ms = state.started_ms;
        worth.known = true;
    }
    close(file);
    return worth;
}

static struct spool_worth worth_of(struct fw_reports *reports, const struct spool_entry *entry)
{
    uint8_t id[FWR_ID_BYTES];
    spool_id_bytes(entry->id, id);
    struct spool_worth *known = &reports->known[(id[0] | id[1] << 8) % SPOOL_KNOWN];
    if (!known->known || memcmp(known->id, id, sizeof id) != 0 || known->bytes != entry->bytes) {
        *known = look_into(reports, entry->id);
        memcpy(known->id, id, sizeof id);
        known->bytes = entry->bytes;
    }
    return *known;
}

static bool less_worth(const struct spool_worth *a, const struct spool_worth *b)
{
    if (a->value != b->value)
        return a->value < b->value;
    if (a->started_ms != b->started_ms)
        return a->started_ms < b->started_ms;
    return memcmp(a->id, b->id, sizeof a->id) < 0;
}

/* Keeps the SPOOL_BATCH of least worth, in order. */
static void gather(void *context, const struct spool_entry *entry)
{
    struct fw_reports *reports = context;
    struct spool_worth *batch = reports->batch;
    if (entry->kind != SPOOL_WHOLE)
        return;
    struct spool_worth worth = worth_of(reports, entry);
    size_t at = reports->batched;
    if (at == SPOOL_BATCH && !less_worth(&worth, &batch[--at]))
        return;
    for (; at && less_worth(&worth, &batch[at - 1]); at--)
        batch[at] = batch[at - 1];
    batch[at] = worth;
    if (reports->batched < SPOOL_BATCH)
        reports->batched++;
}

struct held { /* whole reports in the folder */
    uint64_t files, bytes;
};

static void count(void *context, const struct spool_entry *entry)
{
    struct held *held = context;
    if (entry->kind != SPOOL_WHOLE)
        return;
    held->files++;
    held->bytes += entry->bytes;
}

static bool is_over(const struct fw_reports *reports, const struct held *held)
{
    return held->files > reports->max_files || held->bytes > reports->max_bytes;
}

static bool evict(struct fw_reports *reports, const struct spool_worth *worth,
                  struct spool_state *state)
{
    char id[SPOOL_ID_SIZE];
    spool_id_text(worth->id, id);
    int file = spool_file_take(&reports->folder, id, SPOOL_WHOLE);
    if (file < 0)
        return false;
    const bool is_report = worth->value != SPOOL_DAMAGED;
    if (is_report) {
        memcpy(state->pending, worth->id, sizeof state->pending);
        spool_state_save(state);
    }
    bool gone = spool_file_remove(&reports->folder, id, SPOOL_WHOLE);
    if (gone)
        atomic_fetch_add(is_report ? &reports->evicted : &reports->damaged, 1);
    if (is_report) {
        state->evicted += gone;
        memset(state->pending, 0, sizeof state->pending);
        spool_state_save(state);
    }
    close(file);
    return gone;
}

static bool evict_batch(struct fw_reports *reports, struct held *held, struct spool_state *state)
{
    bool any = false;
    reports->batched = 0;
    spool_folder_each(&reports->folder, gather, reports);
    for (size_t i = 0; i < reports->batched && is_over(reports, held); i++)
        if (evict(reports, &reports->batch[i], state)) {
            held->files--;
            held->bytes -= reports->batch[i].bytes;
            any = true;
        }
    return any;
}

static struct held count_all(struct fw_reports *reports)
{
    struct held held = {0, 0};
    spool_folder_each(&reports->folder, count, &held);
    return held;
}

void spool_make_room(struct fw_reports *reports)
{
    struct spool_state state;
    pthread_mutex_lock(&reports->listing);
    struct held held = count_all(reports);
    if (is_over(reports, &held) && spool_state_take(&reports->folder, &state)) {
        held = count_all(reports); /* another process may just have made room */
        while (is_over(reports, &held) && evict_batch(reports, &held, &state))
            ;
        spool_state_release(&state);
    }
    pthread_mutex_unlock(&reports->listing);
}

void spool_count(struct fw_reports *reports, uint64_t *files, uint64_t *bytes)
{
    pthread_mutex_lock(&reports->listing);
    struct held held = count_all(reports);
    pthread_mutex_unlock(&reports->listing);
    *files = held.files;
    *bytes = held.bytes;
}

/* A finished file without a report in it, as its head tells: the rest is for readers. */
static void weed(void *context, const struct spool_entry *entry)
{
    struct fw_reports *reports = context;
    struct fwr_state state;
    if (entry->kind != SPOOL_WHOLE || reports->batched == SPOOL_BATCH)
        return;
    int file = spool_file_read(&reports->folder, entry->id, SPOOL_WHOLE);
    if (file < 0)
        return;
    if (spool_survey(file, HEAD, &state) && !state.is_report)
        spool_id_bytes(entry->id, reports->batch[reports->batched++].id);
    close(file);
}

void spool_weed(struct fw_reports *reports)
{
    pthread_mutex_lock(&reports->listing);
    reports->batched = 0;
    spool_folder_each(&reports->folder, weed, reports);
    for (size_t i = 0; i < reports->batched; i++) {
        char id[SPOOL_ID_SIZE];
        spool_id_text(reports->batch[i].id, id);
        int file = spool_file_take(&reports->folder, id, SPOOL_WHOLE);
        if (file < 0)
            continue;
        if (spool_file_remove(&reports->folder, id, SPOOL_WHOLE))
            atomic_fetch_add(&reports->damaged, 1);
        close(file);
    }
    pthread_mutex_unlock(&reports->listing);
}
