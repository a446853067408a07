/*
 * Reports, described: what they are of and how much is in them. Of Framewalk's own also every
 * record with its place, so that one sees what a cut or damaged file still has, and where it ends.
 */
#include "cli/inspect.h"

#include "base/duration.h"
#include "cli/cli.h"
#include "framewalk/hang.h"
#include "report/fwr_field.h"
#include "report/report.h"
#include "symmap/read_file.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static const char *record_text(uint8_t type)
{
    static const char *const text[] = {
        [FWR_ABOUT] = "about",     [FWR_KEYS] = "keys",         [FWR_IMAGES] = "images",
        [FWR_STACKS] = "stacks",   [FWR_THREADS] = "threads",   [FWR_HANG] = "hang",
        [FWR_SAMPLES] = "samples", [FWR_HANG_END] = "hang end", [FWR_APIS] = "APIs",
        [FWR_CALLS] = "calls",     [FWR_SCRIPTS] = "scripts",   [FWR_SYMBOLS] = "symbols",
        [FWR_TOTALS] = "totals",   [FWR_END] = "end",
    };
    return type < sizeof text / sizeof *text && text[type] ? text[type] : "unknown";
}

static void list_records(struct span bytes, json_t *to)
{
    struct reader r = reader_at(bytes.data, bytes.size, FWR_MAGIC_SIZE);
    json_t *table = inspect_table(to, "records");
    struct fwr_head head = {0};
    while (head.type != FWR_END && reader_left(&r) > 0) {
        struct reader payload;
        size_t offset = reader_offset(&r);
        if (fwr_next_record(&r, &head, &payload))
            break;
        json_t *row = inspect_entry(table);
        inspect_number(row, "offset", offset);
        inspect_number(row, "size", reader_offset(&r) - offset);
        inspect_number(row, "type", head.type);
        inspect_text(row, "record", record_text(head.type));
    }
}

/* Totals are of the whole process, and written now and then: those of a report whose writer was
 * killed are older than its last samples. */
static const char *totals_text(const struct report *r)
{
    struct reader bytes = reader_at(r->text.data, r->text.size, FWR_MAGIC_SIZE);
    struct fwr_head head = {0};
    struct reader payload;
    bool last = false, any = false;
    while (head.type != FWR_END && reader_left(&bytes) > 0 &&
           !fwr_next_record(&bytes, &head, &payload)) {
        if (head.type == FWR_TOTALS)
            any = last = true;
        else if (head.type == FWR_HANG_END || head.type == FWR_SAMPLES || head.type == FWR_CALLS)
            last = false;
    }
    return !any   ? NULL
           : last ? "the whole process, up to this report's end"
                  : "the whole process, before this report's end: what came later is not in them";
}

static void list_images(const struct report *r, json_t *to)
{
    json_t *table = inspect_table(to, "images");
    for (size_t i = 0; i < r->image_count; i++) {
        size_t frames = 0;
        for (size_t k = 0; k < r->frame_count; k++)
            frames += r->frames[k].image == i;
        json_t *row = inspect_entry(table);
        inspect_text(row, "path", r->images[i].path ? r->images[i].path : "");
        inspect_bytes(row, "id", r->images[i].id, r->images[i].id_size);
        inspect_text(row, "architecture", r->images[i].arch);
        inspect_number(row, "frames", frames);
    }
}

/* Keys are anybody's words: rows of a table, not labels. */
static void list_pairs(const struct report_pair *pairs, size_t count, const char *key, json_t *to)
{
    json_t *table = count ? inspect_table(to, key) : NULL;
    for (size_t i = 0; i < count; i++) {
        json_t *row = inspect_entry(table);
        inspect_text(row, "name", pairs[i].key);
        if (pairs[i].value)
            inspect_text(row, "value", pairs[i].value);
        else
            inspect_number(row, "value", pairs[i].number);
    }
}

static const char *about_text(const struct report *r)
{
    static const char *const text[] = {"unknown", "hang", "calls", "snapshot"};
    return text[r->about < sizeof text / sizeof *text ? r->about : 0];
}

static const char *ending_text(const struct report_hang *hang)
{
    static const char *const text[] = {"not known", "recovered", "killed", "stopped",
                                       "no hang after all"};
    return text[hang->ending < sizeof text / sizeof *text ? hang->ending : 0];
}

static void describe_hang(const struct report_hang *hang, json_t *to)
{
    if (!hang->present)
        return;
    json_t *object = json_object();
    json_object_set_new(to, "hang", object);
    inspect_text(object, "watch", hang->watch);
    inspect_text(object, "ending", ending_text(hang));
    if (hang->ending == FWR_VETOED)
        inspect_text(object, "because", fw_hang_veto_text((fw_hang_veto)hang->veto));
    inspect_number(object, "duration_ms", duration_ms(hang->duration_ns));
    inspect_number(object, "threshold_ms", duration_ms(hang->threshold_ns));
    inspect_number(object, "stacks_taken", hang->samples);
}

/* Threads are those of one moment; stacks all that are kept, each once. */
static void count_contents(const struct report *r, json_t *to)
{
    size_t threads = 0;
    for (size_t i = 0; i < r->thread_count; i++)
        threads += !r->threads[i].stack;
    inspect_number(to, "threads", threads);
    inspect_number(to, "stacks", r->thread_count);
    inspect_number(to, "frames", r->frame_count);
    inspect_number(to, "sample_entries", r->sample_count);
    const struct {
        const char *key;
        size_t count;
    } others[] = {{"apis", r->api_count},
                  {"calls", r->call_count},
                  {"scripts", r->script_count},
                  {"symbols", r->symbol_count}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].count)
            inspect_number(to, others[i].key, others[i].count);
}

static void describe_own(const struct report *r, json_t *to)
{
    inspect_text(to, "of", about_text(r));
    inspect_text(to, "id", r->info.incident);
    inspect_text(to, "session", r->session);
    inspect_text(to, "app", r->info.bundle);
    inspect_text(to, "build", r->info.build);
    inspect_text(to, "executable", r->info.path);
    inspect_text(to, "device", r->info.device);
    inspect_number(to, "size", r->text.size);
    count_contents(r, to);
    describe_hang(&r->hang, to);
    list_pairs(r->keys, r->key_count, "keys", to);
    inspect_text(to, "totals_of", totals_text(r));
    list_pairs(r->totals, r->total_count, "totals", to);
    list_images(r, to);
    list_records(r->text, to);
}

bool inspect_report(struct span bytes, json_t *to, struct fw_failure *why)
{
    struct report *report = NULL;
    if (report_read(bytes, &report, why) != FW_OK)
        return false;
    bool own = report->kind == REPORT_FRAMEWALK;
    bool known = own || (report->kind != REPORT_OTHER && report->frame_count);
    if (known) {
        inspect_text(to, "kind", report_kind_text(report->kind));
        inspect_text(to, "process", report->info.process);
        inspect_text(to, "version", report->info.version);
        inspect_text(to, "architecture", report->info.arch);
        inspect_text(to, "system", report->info.os);
        inspect_text(to, "date", report->info.date);
        inspect_text(to, "exception", report->info.exception);
        inspect_text(to, "reason", report->info.reason);
        if (!own) {
            inspect_number(to, "images", report->image_count);
            inspect_number(to, "threads", report->thread_count);
            inspect_number(to, "frames", report->frame_count);
        }
        json_object_set_new(to, "complete", json_boolean(report->complete));
        inspect_text(to, "note", report->note);
        if (own)
            describe_own(report, to);
    }
    report_free(report);
    return known;
}

/* ---- a folder of them ---- */

static bool ends_with(const char *name, const char *ending)
{
    const size_t size = strlen(name), end = strlen(ending);
    return size > end && strcmp(name + size - end, ending) == 0;
}

static int is_report_name(const struct dirent *entry)
{
    return ends_with(entry->d_name, ".fwr");
}

/* Being written, or left by a process that was killed: the next one that writes here ends them. */
static size_t count_unfinished(const char *folder)
{
    DIR *dir = opendir(folder);
    const struct dirent *entry;
    size_t count = 0;
    while (dir && (entry = readdir(dir)))
        count += ends_with(entry->d_name, ".part");
    if (dir)
        closedir(dir);
    return count;
}

static void list_report(const struct report *r, json_t *row)
{
    inspect_text(row, "date", r->info.date);
    inspect_text(row, "of", about_text(r));
    inspect_text(row, "app", r->info.bundle);
    if (r->hang.present) {
        inspect_number(row, "duration_ms", duration_ms(r->hang.duration_ns));
        inspect_text(row, "ending", ending_text(&r->hang));
    }
    if (!r->complete)
        inspect_text(row, "note", "not whole");
}

static void list_file(const char *folder, const char *name, json_t *table)
{
    struct fw_failure why = {0};
    struct report *report = NULL;
    uint8_t *bytes = NULL;
    size_t size = 0;
    char *path = NULL;
    json_t *row = inspect_entry(table);
    inspect_text(row, "report", name);
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        path = NULL;
    if (path && symmap_read_file(path, &bytes, &size, &why) == FW_OK &&
        report_read((struct span){bytes, size}, &report, &why) == FW_OK &&
        report->kind == REPORT_FRAMEWALK)
        list_report(report, row);
    else
        inspect_text(row, "note", "no report, or damaged at its beginning");
    report_free(report);
    free(bytes);
    free(path);
}

static int by_date(const void *a, const void *b)
{
    const char *x = json_string_value(json_object_get(*(json_t *const *)a, "date"));
    const char *y = json_string_value(json_object_get(*(json_t *const *)b, "date"));
    return strcmp(x ? x : "", y ? y : "");
}

static json_t *sorted(json_t *table)
{
    const size_t count = json_array_size(table);
    json_t **rows = calloc(count, sizeof(json_t *));
    json_t *done = json_array();
    for (size_t i = 0; rows && i < count; i++)
        rows[i] = json_array_get(table, i);
    if (rows)
        qsort(rows, count, sizeof(json_t *), by_date);
    for (size_t i = 0; i < count; i++)
        json_array_append(done, rows ? rows[i] : json_array_get(table, i));
    free(rows);
    return done;
}

bool inspect_reports(const char *folder, json_t *to)
{
    struct dirent **entries = NULL;
    const int count = scandir(folder, &entries, is_report_name, alphasort);
    json_t *table = json_array();
    for (int i = 0; i < count; i++) {
        list_file(folder, entries[i]->d_name, table);
        free(entries[i]);
    }
    free(entries);
    const bool known = count > 0 || cli_is_report_folder(folder);
    if (known) {
        inspect_text(to, "kind", "folder of reports");
        inspect_number(to, "finished", (uint64_t)(count > 0 ? count : 0));
        inspect_number(to, "unfinished", count_unfinished(folder));
        json_object_set_new(to, "reports", sorted(table));
    }
    json_decref(table);
    return known;
}
