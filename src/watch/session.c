/*
 * A session: this process and a folder of reports. <framewalk/reports.h>.
 *
 * After fork() without exec the child's copy of a session is dead: it belongs to the process that
 * opened it, and writes nothing (its pid says so). The locks of reports that are being written pass
 * to the child, and would outlive the parent in it: pthread_atfork closes them there.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/os_error.h"
#include "watch/spool_internal.h"

enum { SESSIONS = 16, MAX_FILES = 20, MAX_BYTES = 4 << 20, ALIGNMENT = 16 };

/* Read in the child of fork(), where a lock could be held for ever. */
static struct fw_reports *_Atomic sessions[SESSIONS];
static pthread_once_t told_of_forks = PTHREAD_ONCE_INIT;
/* Their listings of folders, the only memory of theirs that comes from malloc: where a leak checker
 * looks, which does not look into mappings. In the child of fork() the parent's stay. */
static void *_Atomic listings[SESSIONS];

static void forked(void)
{
    for (int i = 0; i < SESSIONS; i++) {
        struct fw_reports *reports = atomic_load(&sessions[i]);
        for (int j = 0; reports && j < SPOOL_OPEN_MAX; j++)
            spool_file_close(&reports->report[j].file);
        atomic_store(&sessions[i], NULL);
    }
}

static void tell_of_forks(void)
{
    pthread_atfork(NULL, NULL, forked);
}

/* Where none is and, when `fresh`, none of the parent's was. */
static bool enlist_somewhere(struct fw_reports *reports, bool fresh)
{
    for (int i = 0; i < SESSIONS; i++) {
        struct fw_reports *none = NULL;
        if ((fresh && atomic_load(&listings[i])) ||
            !atomic_compare_exchange_strong(&sessions[i], &none, reports))
            continue;
        atomic_store(&listings[i], reports->folder.list);
        return true;
    }
    return false;
}

static bool enlist(struct fw_reports *reports)
{
    pthread_once(&told_of_forks, tell_of_forks);
    return enlist_somewhere(reports, true) || enlist_somewhere(reports, false);
}

static void delist(struct fw_reports *reports)
{
    for (int i = 0; i < SESSIONS; i++) {
        if (atomic_load(&sessions[i]) != reports)
            continue;
        atomic_store(&listings[i], NULL);
        atomic_store(&sessions[i], NULL);
        return;
    }
}

static fw_error fail_folder(struct fw_failure *why, const char *folder, int number)
{
    char text[64];
    const bool forbidden = number == EACCES || number == EPERM || number == EROFS;
    const fw_error code = forbidden          ? FW_ERR_PERMISSION
                          : number == ENOMEM ? FW_ERR_MEMORY
                                             : FW_ERR_SYSTEM;
    return failure_say(why, code, number, "cannot keep reports in '%s': %s", folder,
                       os_error_text(number, text, sizeof text));
}

/* One mapping for all: pages of writers that are never used cost nothing. */
static struct fw_reports *allocate(void)
{
    const size_t align = ALIGNMENT - 1, head = (sizeof(struct fw_reports) + align) & ~align,
                 writer = (fwr_writer_size() + align) & ~align,
                 size = head + SPOOL_OPEN_MAX * writer;
    char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct fw_reports *reports = (void *)memory;
    reports->mapping = size;
    reports->pid = getpid();
    pthread_mutex_init(&reports->lock, NULL);
    pthread_mutex_init(&reports->listing, NULL);
    for (int i = 0; i < SPOOL_OPEN_MAX; i++) {
        reports->report[i].memory = memory + head + (size_t)i * writer;
        reports->report[i].file.fd = -1;
    }
    return reports;
}

static void copy_if(char *to, size_t size, const char *from)
{
    if (from)
        spool_text_copy(to, size, from);
}

static void take_options(struct fw_reports *reports, const struct fw_reports_options *options)
{
    struct spool_about *about = &reports->about;
    reports->max_files = options->max_files ? options->max_files : MAX_FILES;
    reports->max_bytes = options->max_bytes ? options->max_bytes : MAX_BYTES;
    copy_if(about->app, sizeof about->app, options->app);
    copy_if(about->version, sizeof about->version, options->version);
    copy_if(about->build, sizeof about->build, options->build);
    copy_if(about->device_class, sizeof about->device_class, options->device_class);
    spool_about_find(about);
}

/* Whatever stands in the folder; then the counter's file, which tells whether it can be written. */
static int open_folder(struct fw_reports *reports, const char *path)
{
    int number = spool_folder_open(&reports->folder, path);
    if (number)
        return number;
    if (getentropy(reports->session, sizeof reports->session) != 0)
        return errno;
    return spool_state_make(&reports->folder);
}

fw_error fw_reports_open(const struct fw_reports_options *options, struct fw_reports **reports,
                         struct fw_failure *why)
{
    return spool_open_knowing(options, NULL, NULL, reports, why);
}

fw_error spool_open_knowing(const struct fw_reports_options *given, spool_ended *ended,
                            void *context, struct fw_reports **result, struct fw_failure *why)
{
    struct fw_reports_options options = {0};
    if (!result)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no place for the session");
    *result = NULL;
    if (!given || given->size < offsetof(struct fw_reports_options, max_files))
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no options, or without their size");
    memcpy(&options, given, given->size < sizeof options ? given->size : sizeof options);
    if (!options.folder || !*options.folder)
        return failure_say(why, FW_ERR_ARGUMENT, 0, "no folder for reports");
    struct fw_reports *reports = allocate();
    if (!reports)
        return failure_say(why, FW_ERR_MEMORY, ENOMEM, "no memory for writing reports");
    int number = open_folder(reports, options.folder);
    if (number) {
        fw_reports_close(reports);
        return fail_folder(why, options.folder, number);
    }
    if (!enlist(reports)) {
        fw_reports_close(reports);
        return failure_say(why, FW_ERR_FULL, 0, "more than %d folders of reports are open",
                           SESSIONS);
    }
    take_options(reports, &options);
    if (options.own_names)
        reports->names = own_names_of(reports->about.program);
    reports->left_by = ended;
    reports->left_by_context = context;
    if (!options.no_recovery) {
        spool_recover(reports);
        spool_weed(reports);
    }
    spool_make_room(reports);
    *result = reports;
    return FW_OK;
}

/* In a child of fork() the list's own lock may be held by a thread that is not there: only its
 * descriptor is closed then. */
void fw_reports_close(struct fw_reports *reports)
{
    if (!reports)
        return;
    delist(reports);
    for (int i = 0; i < SPOOL_OPEN_MAX; i++)
        spool_file_close(&reports->report[i].file);
    if (reports->pid == getpid()) {
        spool_folder_close(&reports->folder);
        pthread_mutex_destroy(&reports->lock);
        pthread_mutex_destroy(&reports->listing);
    } else {
        spool_file_close(&reports->folder.file);
    }
    munmap(reports, reports->mapping);
}

static fw_error set_key(struct fw_reports *reports, const char *key, const char *value)
{
    size_t at = 0;
    while (at < reports->keys && strcmp(reports->key[at].key, key) != 0)
        at++;
    if (!value) {
        if (at < reports->keys) {
            reports->keys--;
            memmove(&reports->key[at], &reports->key[at + 1],
                    (reports->keys - at) * sizeof reports->key[0]);
        }
        return FW_OK;
    }
    if (at == FW_REPORT_KEYS)
        return FW_ERR_FULL;
    spool_text_copy(reports->key[at].key, FW_REPORT_KEY_SIZE, key);
    spool_text_copy(reports->key[at].value, FW_REPORT_VALUE_SIZE, value);
    if (at == reports->keys)
        reports->keys++;
    return FW_OK;
}

fw_error fw_reports_set_key(struct fw_reports *reports, const char *key, const char *value)
{
    char cut[FW_REPORT_KEY_SIZE];
    if (!reports || !key || !*key)
        return FW_ERR_ARGUMENT;
    if (reports->pid != getpid())
        return FW_ERR_UNSUPPORTED;
    spool_text_copy(cut, sizeof cut, key);
    pthread_mutex_lock(&reports->lock);
    fw_error error = set_key(reports, cut, value);
    pthread_mutex_unlock(&reports->lock);
    return error;
}

uint64_t spool_refused(const struct fw_reports *reports)
{
    return reports->refused;
}

fw_error fw_reports_totals(struct fw_reports *reports, struct fw_reports_totals *result)
{
    struct fw_reports_totals totals = {0};
    if (!reports || !result || result->size < sizeof totals.size)
        return FW_ERR_ARGUMENT;
    if (reports->pid != getpid())
        return FW_ERR_UNSUPPORTED;
    totals.size = result->size;
    totals.recovered = reports->recovered;
    totals.damaged = reports->damaged;
    totals.evicted = reports->evicted;
    totals.refused = reports->refused;
    spool_count(reports, &totals.files, &totals.bytes);
    memcpy(result, &totals, result->size < sizeof totals ? result->size : sizeof totals);
    return FW_OK;
}
