/*
 * Writing reports into the folder: ID.part while it is written, ID.fwr when it is finished. The
 * order of steps is what makes a report safe: its contents are on disk before its final name is,
 * and its final name before the end is acknowledged. Wherever this process dies, what is left is a
 * .part with whole records (and perhaps a piece of one), or a whole .fwr.
 *
 * A write that fails leaves the file at its last whole record, and nothing more is written to it.
 */
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "watch/spool_internal.h"

static bool is_ours(const struct fw_reports *reports)
{
    return reports->pid == getpid();
}

/* Whether its file may be written: by this process, and it still is the one. */
static bool can_write(const struct spool_report *report)
{
    return !report->failed && is_ours(report->reports) && spool_file_holds(&report->file);
}

static void refuse(struct spool_report *report)
{
    if (!report->failed)
        atomic_fetch_add(&report->reports->refused, 1);
    report->failed = true;
}

static bool sink(void *context, const void *bytes, size_t size)
{
    struct spool_report *report = context;
    if (!can_write(report)) {
        refuse(report);
        return false;
    }
    if (spool_file_write(report->file.fd, bytes, size, report->end)) {
        report->end += size;
        return true;
    }
    refuse(report);
    /* Should that fail too, readers and recovery stop at the last whole record. */
    (void)!ftruncate(report->file.fd, (off_t)report->end);
    return false;
}

static struct spool_report *take_slot(struct fw_reports *reports)
{
    struct spool_report *found = NULL;
    pthread_mutex_lock(&reports->lock);
    for (int i = 0; i < SPOOL_OPEN_MAX && !found; i++)
        if (!reports->report[i].used)
            found = &reports->report[i];
    if (found) {
        *found = (struct spool_report){
            .reports = reports, .memory = found->memory, .used = true, .file.fd = -1};
        found->locate.program = reports->about.program;
    }
    pthread_mutex_unlock(&reports->lock);
    return found;
}

static void release_slot(struct spool_report *report)
{
    struct fw_reports *reports = report->reports;
    spool_file_close(&report->file);
    pthread_mutex_lock(&reports->lock);
    report->used = false;
    pthread_mutex_unlock(&reports->lock);
}

/* A name may be lost to a recoverer that looks just when the file is new: then another one. */
static bool create(struct spool_report *report, uint8_t id[FWR_ID_BYTES])
{
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES; i++) {
        if (getentropy(id, FWR_ID_BYTES) != 0)
            return false;
        spool_id_text(id, report->id);
        if (spool_file_create(&report->reports->folder, report->id, &report->file))
            return true;
    }
    return false;
}

static const char *known(const char *text)
{
    return *text ? text : NULL;
}

static void begin_writer(struct spool_report *report, const uint8_t *id, enum fwr_kind kind,
                         uint64_t started_ms)
{
    struct fw_reports *reports = report->reports;
    const struct spool_about *self = &reports->about;
    struct fwr_about about = {.kind = kind,
                              .started_ms = started_ms,
                              .process_age_ms = self->age_ms + spool_clock_ms() - self->opened_ms,
                              .pid = (uint32_t)reports->pid,
                              .app = known(self->app),
                              .version = known(self->version),
                              .build = known(self->build),
                              .os = known(self->os),
                              .os_version = known(self->os_version),
                              .os_build = known(self->os_build),
                              .arch = ARCH_NATIVE.name,
                              .device_class = known(self->device_class),
                              .executable = known(self->program)};
    memcpy(about.id, id, sizeof about.id);
    memcpy(about.session, reports->session, sizeof about.session);
    report->writer =
        fwr_create(report->memory, sink, report, watch_locate, &report->locate, &about);
    if (reports->names) {
        const struct fwr_namer namer = own_names_namer(reports->names);
        fwr_name_functions(report->writer, &namer);
    }
    pthread_mutex_lock(&reports->lock);
    for (size_t i = 0; i < reports->keys; i++)
        fwr_key(report->writer, reports->key[i].key, reports->key[i].value);
    pthread_mutex_unlock(&reports->lock);
    uint64_t evicted = spool_state_evicted(&reports->folder);
    if (evicted)
        fwr_total(report->writer, "evicted", evicted);
    if (reports->refused)
        fwr_total(report->writer, "refused", reports->refused);
}

struct spool_report *spool_begin(struct fw_reports *reports, enum fwr_kind kind,
                                 uint64_t started_ms)
{
    uint8_t id[FWR_ID_BYTES];
    if (!is_ours(reports))
        return NULL;
    struct spool_report *report = take_slot(reports);
    if (report && create(report, id)) {
        begin_writer(report, id, kind, started_ms);
        return report;
    }
    atomic_fetch_add(&reports->refused, 1);
    if (report)
        release_slot(report);
    return NULL;
}

struct fwr_writer *spool_writer(struct spool_report *report)
{
    return report->writer;
}

const char *spool_id(const struct spool_report *report)
{
    return report->id;
}

bool spool_flush(struct spool_report *report, bool durable)
{
    if (!is_ours(report->reports) || !fwr_flush(report->writer))
        return false;
    if (!durable)
        return true;
    if (!can_write(report) || !spool_file_sync(report->file.fd))
        return false;
    report->named = report->named || spool_folder_sync(&report->reports->folder);
    return report->named;
}

bool spool_finish(struct spool_report *report)
{
    struct fw_reports *reports = report->reports;
    if (!is_ours(reports))
        return false;
    bool safe = fwr_end(report->writer) && can_write(report) && spool_file_sync(report->file.fd);
    /* What is whole in one that could not be ended is kept under its final name as well: as a .part
     * the next process would take it for that of a killed one. */
    if (report->end)
        safe = spool_file_publish(&reports->folder, report->id) && safe &&
               spool_folder_sync(&reports->folder);
    else
        spool_file_remove(&reports->folder, report->id, SPOOL_PART);
    if (!safe)
        refuse(report);
    release_slot(report);
    spool_make_room(reports);
    return safe;
}

void spool_discard(struct spool_report *report)
{
    if (!is_ours(report->reports))
        return;
    /* An empty one is nothing to the next process, should the name stay. */
    if (spool_file_holds(&report->file))
        (void)!ftruncate(report->file.fd, 0);
    spool_file_remove(&report->reports->folder, report->id, SPOOL_PART);
    release_slot(report);
}
