/*
 * Reads a Framewalk report (fwr.h, docs/report-format.md): the records one after the other, up to
 * the first that is not whole. What is behind one that breaks off is not believed, even if it looks
 * like a record.
 */
#include "report/read_fwr.h"
#include "base/array.h"
#include "base/crc32c.h"

#include <stdio.h>
#include <time.h>

bool fwr_read_room(struct fwr_reading *f, void *items, size_t *capacity, size_t count,
                   size_t item_size, size_t most, const char *what)
{
    if (count >= most) {
        build_note(f->b, build_format(f->b, "there are more than %zu %s: the rest is left out",
                                      most, what));
        return false;
    }
    if (!f->b->error && !array_room(items, capacity, count, item_size))
        f->b->error = FW_ERR_MEMORY;
    return !f->b->error;
}

const char *fwr_read_text(struct fwr_reading *f, const struct fwr_field *field)
{
    size_t size = field->size;
    if (!field->is_bytes || size == 0)
        return NULL;
    if (size > READ_STRING) /* not in the middle of a character */
        for (size = READ_STRING; size > 0 && (field->bytes[size] & 0xc0) == 0x80; size--)
            ;
    return build_text(f->b, (struct cursor){field->bytes, 0, size});
}

void fwr_nonsense(struct fwr_reading *f, const char *why)
{
    if (!f->why)
        f->why = why;
}

/* ---- small payloads ---- */

static const char *id_text(struct fwr_reading *f, const struct fwr_field *field)
{
    char text[2 * FWR_ID_BYTES + 1];
    if (!field->is_bytes || field->size != FWR_ID_BYTES)
        return NULL;
    for (size_t i = 0; i < FWR_ID_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", field->bytes[i]);
    return build_format(f->b, "%s", text);
}

static const char **about_text(struct fwr_reading *f, uint32_t number)
{
    struct report_info *info = &f->report->info;
    switch (number) {
    case ABOUT_APP: return &f->app;
    case ABOUT_VERSION: return &info->version;
    case ABOUT_BUILD: return &info->build;
    case ABOUT_OS: return &f->os;
    case ABOUT_OS_VERSION: return &f->os_version;
    case ABOUT_OS_BUILD: return &f->os_build;
    case ABOUT_ARCH: return &info->arch;
    case ABOUT_DEVICE_CLASS: return &info->device;
    case ABOUT_EXECUTABLE: return &info->path;
    default: return NULL;
    }
}

static void read_about(struct fwr_reading *f, struct reader payload)
{
    struct report *r = f->report;
    struct fwr_field field;
    if (f->about) {
        build_note(f->b, build_format(f->b, "a second beginning at byte %llu is left out",
                                      (unsigned long long)f->at));
        return;
    }
    f->about = true;
    while (fwr_next_field(&payload, &field)) {
        const char **text = about_text(f, field.number);
        if (text)
            *text = fwr_read_text(f, &field);
        else if (field.number == ABOUT_ID)
            r->info.incident = id_text(f, &field);
        else if (field.number == ABOUT_SESSION)
            r->session = id_text(f, &field);
        else if (field.number == ABOUT_KIND)
            r->about = field.value <= UINT8_MAX ? (uint8_t)field.value : 0;
        else if (field.number == ABOUT_STARTED_MS)
            r->started_ms = field.value;
        else if (field.number == ABOUT_PROCESS_AGE_MS)
            r->process_age_ms = field.value;
        else if (field.number == ABOUT_PID)
            r->info.pid = build_format(f->b, "%llu", (unsigned long long)field.value);
    }
    if (payload.failed)
        fwr_nonsense(f, "what it is about cannot be read");
    else if (!r->info.incident && !f->b->error)
        fwr_nonsense(f, "the report has no id");
}

static void read_key(struct fwr_reading *f, struct reader message)
{
    struct report *r = f->report;
    struct fwr_field field;
    struct report_pair pair = {0};
    while (fwr_next_field(&message, &field)) {
        if (field.number == KEY_NAME)
            pair.key = fwr_read_text(f, &field);
        else if (field.number == KEY_VALUE)
            pair.value = fwr_read_text(f, &field);
    }
    if (message.failed)
        fwr_nonsense(f, "a key cannot be read");
    else if (pair.key && fwr_read_room(f, &r->keys, &f->capacity.keys, r->key_count,
                                       sizeof *r->keys, READ_KEYS, "keys")) {
        pair.value = pair.value ? pair.value : "";
        r->keys[r->key_count++] = pair;
    }
}

/* Of two with one name the later counts. */
static void read_total(struct fwr_reading *f, struct reader message)
{
    struct report *r = f->report;
    struct fwr_field field;
    struct report_pair pair = {0};
    while (fwr_next_field(&message, &field)) {
        if (field.number == TOTAL_NAME)
            pair.key = fwr_read_text(f, &field);
        else if (field.number == TOTAL_VALUE)
            pair.number = field.value;
    }
    if (message.failed)
        fwr_nonsense(f, "a total cannot be read");
    if (message.failed || !pair.key)
        return;
    for (size_t i = 0; i < r->total_count; i++)
        if (strcmp(r->totals[i].key, pair.key) == 0) {
            r->totals[i] = pair;
            return;
        }
    if (fwr_read_room(f, &r->totals, &f->capacity.totals, r->total_count, sizeof *r->totals,
                      READ_TOTALS, "totals"))
        r->totals[r->total_count++] = pair;
}

static void read_image(struct fwr_reading *f, struct reader message)
{
    struct fwr_field field;
    struct report_image image = {.arch = f->report->info.arch};
    bool from_header = false;
    while (fwr_next_field(&message, &field)) {
        if (field.number == IMAGE_ID && field.is_bytes && field.size <= sizeof image.id) {
            memcpy(image.id, field.bytes, field.size);
            image.id_size = (uint32_t)field.size;
        } else if (field.number == IMAGE_SIZE)
            image.size = field.value;
        else if (field.number == IMAGE_PATH)
            image.path = fwr_read_text(f, &field);
        else if (field.number == IMAGE_ARCH)
            image.arch = fwr_read_text(f, &field);
        else if (field.number == IMAGE_FROM_HEADER)
            from_header = field.value != 0;
    }
    build_name_of_path(&image);
    if (message.failed)
        fwr_nonsense(f, "an image cannot be read");
    else if (f->report->image_count >= READ_IMAGES)
        fwr_nonsense(f, "there are more images than any program has");
    else if (build_image(f->b, &image) != REPORT_NONE)
        f->from_header[f->report->image_count] = from_header;
}

static void read_thread(struct fwr_reading *f, struct reader message)
{
    struct fwr_field field;
    struct read_thread t = {0};
    while (fwr_next_field(&message, &field)) {
        switch (field.number) {
        case THREAD_ID: t.id = field.value; break;
        case THREAD_NAME: t.name = fwr_read_text(f, &field); break;
        case THREAD_QUEUE: t.queue = fwr_read_text(f, &field); break;
        case THREAD_STATE: t.state = field.value < 0x7f ? (char)field.value : 0; break;
        case THREAD_MAIN: t.main = field.value != 0; break;
        case THREAD_WATCHED: t.watched = field.value != 0; break;
        case THREAD_STACK: t.stack = field.value <= UINT32_MAX ? (uint32_t)field.value : 0; break;
        case THREAD_UNAVAILABLE:
            t.unavailable = field.value <= UINT8_MAX ? (uint8_t)field.value : 0;
            break;
        default: break;
        }
    }
    if (message.failed)
        fwr_nonsense(f, "a thread cannot be read");
    else if (fwr_read_room(f, &f->threads, &f->thread_capacity, f->thread_count, sizeof *f->threads,
                           READ_THREADS, "threads"))
        f->threads[f->thread_count++] = t;
}

void fwr_read_rows(struct fwr_reading *f, struct reader payload, fwr_read_row *first,
                   fwr_read_row *second)
{
    struct fwr_field field;
    while (!f->why && !f->b->error && fwr_next_field(&payload, &field)) {
        fwr_read_row *row = field.number == 1 ? first : field.number == 2 ? second : NULL;
        if (row && field.is_bytes)
            row(f, reader_over(field.bytes, field.size));
    }
    if (payload.failed)
        fwr_nonsense(f, "its payload cannot be read");
}

static void read_payload(struct fwr_reading *f, enum fwr_type type, struct reader payload)
{
    switch (type) {
    case FWR_ABOUT: read_about(f, payload); break;
    case FWR_KEYS: fwr_read_rows(f, payload, read_key, NULL); break;
    case FWR_IMAGES: fwr_read_rows(f, payload, read_image, NULL); break;
    case FWR_STACKS: fwr_read_stacks(f, payload); break;
    case FWR_THREADS: fwr_read_rows(f, payload, read_thread, NULL); break;
    case FWR_HANG: fwr_read_hang(f, payload); break;
    case FWR_SAMPLES: fwr_read_samples(f, payload); break;
    case FWR_HANG_END: fwr_read_hang_end(f, payload); break;
    case FWR_APIS: fwr_read_apis(f, payload); break;
    case FWR_CALLS: fwr_read_calls(f, payload); break;
    case FWR_SCRIPTS: fwr_read_scripts(f, payload); break;
    case FWR_SYMBOLS: fwr_read_symbols(f, payload); break;
    case FWR_TOTALS: fwr_read_rows(f, payload, read_total, NULL); break;
    case FWR_END: f->ended = true; break;
    }
}

/* ---- records ---- */

static bool all_zero(const struct reader *r)
{
    for (const uint8_t *p = r->pos; p < r->end; p++)
        if (*p)
            return false;
    return true;
}

const char *fwr_next_record(struct reader *r, struct fwr_head *head, struct reader *payload)
{
    const uint8_t *bytes, *padding;
    struct reader start = *r;
    if (!reader_take(r, FWR_RECORD_HEAD, &bytes))
        return all_zero(&start) ? "only zeros follow" : "it breaks off in the head of a record";
    *head = fwr_read_head(bytes);
    if (!head->sound)
        return all_zero(&start) ? "only zeros follow" : "what follows is no record";
    *payload = reader_sub(r, head->size);
    if (!reader_take(r, fwr_padded(head->size) - head->size, &padding))
        return "it breaks off in the middle of a record";
    uint32_t crc = crc32c_more(crc32c(bytes, FWR_HEAD_SUMMED), payload->begin, head->size);
    if (crc != head->crc)
        return "the checksum of a record is wrong";
    for (; padding < r->pos; padding++)
        if (*padding)
            return "there is something between two records";
    return NULL;
}

static void read_records(struct fwr_reading *f)
{
    struct span text = f->report->text;
    struct reader r = reader_at(text.data, text.size, FWR_MAGIC_SIZE);
    const char *why = NULL;
    while (!why && !f->ended && !f->b->error && reader_left(&r) > 0) {
        struct fwr_head head;
        struct reader payload;
        f->at = reader_offset(&r);
        why = fwr_next_record(&r, &head, &payload);
        if (!why && !f->about && head.type != FWR_ABOUT)
            why = "the first record does not say what the report is about";
        if (!why)
            read_payload(f, (enum fwr_type)head.type, payload);
        why = why ? why : f->why;
    }
    if (why)
        build_note(f->b,
                   build_format(f->b, "%s (at byte %llu of %zu): nothing from there on is read",
                                why, (unsigned long long)f->at, text.size));
    else if (!f->ended)
        build_note(f->b, build_format(f->b,
                                      "it was not ended (%zu bytes are whole): the process was "
                                      "killed, or still writes it",
                                      text.size));
    else if (reader_left(&r) > 0)
        build_note(f->b, build_format(f->b, "%zu bytes follow the end", reader_left(&r)));
}

/* ---- the whole ---- */

static void fill_info(struct fwr_reading *f)
{
    struct report_info *info = &f->report->info;
    const char *slash = info->path ? strrchr(info->path, '/') : NULL;
    info->process = slash && slash[1] ? slash + 1 : info->path ? info->path : f->app;
    info->bundle = f->app;
    if (f->os)
        info->os = build_format(f->b, "%s%s%s%s%s%s", f->os, f->os_version ? " " : "",
                                f->os_version ? f->os_version : "", f->os_build ? " (" : "",
                                f->os_build ? f->os_build : "", f->os_build ? ")" : "");
    time_t seconds = (time_t)(f->report->started_ms / 1000);
    struct tm tm;
    char date[32];
    if (f->report->started_ms && f->report->started_ms / 1000 < UINT64_C(1) << 36 &&
        gmtime_r(&seconds, &tm) && strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &tm))
        info->date = build_format(f->b, "%s.%03uZ", date, (unsigned)(f->report->started_ms % 1000));
}

void read_fwr(struct report_build *b)
{
    struct fwr_reading *f = calloc(1, sizeof *f);
    if (!f) {
        b->error = FW_ERR_MEMORY;
        return;
    }
    f->b = b;
    f->report = b->report;
    read_records(f);
    fwr_read_count_samples(f);
    fwr_read_join_apis(f);
    if (!b->error)
        fill_info(f);
    if (!b->error)
        fwr_read_place_stacks(f);
    if (!b->error)
        fwr_read_name_symbols(f);
    if (!b->error)
        fwr_read_name_functions(f);
    free(f->functions);
    free(f->nodes);
    free(f->stacks);
    free(f->threads);
    free(f->script_frames);
    free(f);
}
