/*
 * A report becomes rows: digest.h. Other tools' reports: which thread a report is about, and how
 * long it took where the report tells; docs/collector.md has the table.
 */
#include "collector/digest.h"
#include "base/utf8.h"
#include "collector/digest_stacks.h"
#include "collector/install.h"
#include "report/fwr.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { DAY_MS = 86400 * 1000, FOREIGN_KIND = 100 };

/* ---- texts and images ---- */

const char *digest_text(struct digest_maker *m, const char *text, size_t size)
{
    char *copy = text ? arena_take(m->arena, size) : NULL;
    if (!copy) {
        m->failed |= text != NULL;
        return NULL;
    }
    utf8_repair(text, copy, size);
    return arena_resize(m->arena, copy, size, strlen(copy) + 1);
}

static struct span key_of(struct digest_maker *m, const struct report_image *image,
                          const char *name)
{
    size_t size = image->id_size ? image->id_size : strlen("name:") + strlen(name);
    uint8_t *key = arena_take(m->arena, size);
    m->failed |= !key;
    if (!key)
        return (struct span){0};
    if (image->id_size)
        memcpy(key, image->id, size);
    else {
        memcpy(key, "name:", 5);
        memcpy(key + 5, name, strlen(name));
    }
    return (struct span){key, size};
}

uint32_t digest_image(struct digest_maker *m, uint32_t number)
{
    struct digest *d = m->d;
    if (m->image_number[number])
        return m->image_number[number];
    const struct report_image *image = &m->report->images[number];
    const char *name = digest_text(m, image->name ? image->name : "", DIGEST_NAME);
    const char *arch = digest_text(m, image->arch ? image->arch : "", 32);
    if (!name || !arch || (!*name && !image->id_size))
        return 0;
    struct span key = key_of(m, image, name);
    size_t i = 0;
    for (; i < d->image_count; i++)
        if (d->images[i].id_key.size == key.size && key.size &&
            memcmp(d->images[i].id_key.data, key.data, key.size) == 0 &&
            strcmp(d->images[i].arch, arch) == 0)
            break;
    if (i == d->image_count)
        d->images[d->image_count++] =
            (struct digest_image){.id_key = key,
                                  .debug_id = {key.data, image->id_size},
                                  .arch = arch,
                                  .name = name,
                                  .path = digest_text(m, image->path, DIGEST_PATH)};
    return m->image_number[number] = (uint32_t)i + 1;
}

/* The image that is the program's own file. */
static void find_main_image(struct digest_maker *m)
{
    const struct report_info *info = &m->report->info;
    for (uint32_t i = 0; i < m->report->image_count; i++) {
        const struct report_image *image = &m->report->images[i];
        bool is = info->path && image->path
                      ? strcmp(info->path, image->path) == 0
                      : info->process && image->name && strcmp(info->process, image->name) == 0;
        if (is) {
            m->d->main_image = m->image_number[i];
            return;
        }
    }
}

/* ---- when ---- */

static bool digits(const char **text, size_t count, int *value)
{
    *value = 0;
    for (size_t i = 0; i < count; i++, ++*text) {
        if (!isdigit((unsigned char)**text))
            return false;
        *value = *value * 10 + (**text - '0');
    }
    return true;
}

/* "2023-06-08 14:49:13.5196 +0000" and its like; 0: none of them. */
static uint64_t date_ms(const char *text)
{
    struct tm tm = {0};
    int zone = 0, sign = 1;
    if (!text || !digits(&text, 4, &tm.tm_year) || *text++ != '-' ||
        !digits(&text, 2, &tm.tm_mon) || *text++ != '-' || !digits(&text, 2, &tm.tm_mday) ||
        (*text != ' ' && *text != 'T') || !digits((text++, &text), 2, &tm.tm_hour) ||
        *text++ != ':' || !digits(&text, 2, &tm.tm_min) || *text++ != ':' ||
        !digits(&text, 2, &tm.tm_sec))
        return 0;
    while (*text == '.' || isdigit((unsigned char)*text) || *text == ' ')
        text++;
    if (*text == '+' || *text == '-') {
        sign = *text++ == '-' ? -1 : 1;
        int hours, minutes;
        if (digits(&text, 2, &hours) && (*text != ':' || *text++) && digits(&text, 2, &minutes))
            zone = sign * (hours * 60 + minutes);
    }
    tm.tm_year -= 1900;
    tm.tm_mon -= 1;
    time_t seconds = timegm(&tm);
    return seconds > 0 ? (uint64_t)(seconds - zone * 60) * 1000 : 0;
}

/* A start is believed within 400 days before and one day after the report came. */
static void set_time(struct digest *d, uint64_t started_ms, uint64_t received_ms)
{
    bool believed = started_ms <= received_ms + DAY_MS &&
                    started_ms + UINT64_C(400) * DAY_MS >= received_ms && started_ms;
    d->started_ms = believed ? started_ms : received_ms;
    d->day = (int64_t)(d->started_ms / DAY_MS);
}

static uint64_t at_most(uint64_t value, uint64_t most)
{
    return value < most ? value : most;
}

/* ---- our own reports ---- */

static bool hex_id(const char *text, uint8_t id[16])
{
    if (!text || strlen(text) != 32)
        return false;
    for (size_t i = 0; i < 16; i++) {
        unsigned byte;
        if (sscanf(text + 2 * i, "%2x", &byte) != 1)
            return false;
        id[i] = (uint8_t)byte;
    }
    return true;
}

static void find_install(struct digest_maker *m, const char *salt)
{
    for (size_t i = 0; i < m->report->key_count && !m->d->has_install; i++) {
        const struct report_pair *pair = &m->report->keys[i];
        if (strcmp(pair->key, "install") != 0 || !*pair->value)
            continue;
        struct span text = {(const uint8_t *)pair->value, strlen(pair->value)};
        m->d->has_install = install_hash(salt, text, m->d->install) == FW_OK;
        m->failed |= !m->d->has_install;
    }
}

/* What is in the sums is in a group, also without any frame. */
static void choose_key(struct digest_maker *m)
{
    if (m->d->stack_count == 0)
        digest_put_empty(m, m->d->duration_ns);
    digest_choose_key(m);
}

static void take_hang(struct digest_maker *m)
{
    const struct report *r = m->report;
    struct digest *d = m->d;
    d->ending = r->hang.ending;
    d->duration_ns = at_most(r->hang.duration_ns, DIGEST_LONGEST_NS);
    d->counts = d->ending != FWR_VETOED;
    if (!d->counts)
        return;
    digest_put_samples(m);
    if (d->stack_count == 0 && r->hang.present && r->hang.thread < r->thread_count &&
        r->threads[r->hang.thread].frame_count)
        digest_put_thread(m, r->hang.thread, d->duration_ns, 1);
    choose_key(m); /* one that broke off before its hang, too: a hang of unknown length */
}

/* All from `first` on as one, so that whoever looks at the calls is told that some are missing. */
static void put_other_calls(struct digest_maker *m, size_t first)
{
    const struct report *r = m->report;
    struct digest *d = m->d;
    struct digest_call *other = &d->calls[d->call_count];
    *other = (struct digest_call){
        .api = DIGEST_OTHER, .stack = digest_put_empty(m, 0), .first_ms = d->started_ms};
    for (size_t i = first; i < r->call_count; i++) {
        other->count = at_most(other->count + at_most(r->calls[i].count, INT32_MAX), INT32_MAX);
        if (r->calls[i].last_ms > other->last_ms)
            other->last_ms = at_most(r->calls[i].last_ms, d->started_ms + DAY_MS);
    }
    d->call_count += other->stack != SIZE_MAX;
}

static void take_calls(struct digest_maker *m)
{
    const struct report *r = m->report;
    struct digest *d = m->d;
    size_t count = at_most(r->call_count, DIGEST_CALLS);
    d->complete &= count == r->call_count;
    d->calls = arena_take_many(m->arena, count + 1, sizeof *d->calls);
    m->failed |= !d->calls;
    for (size_t i = 0; i < count && d->calls; i++) {
        const struct report_call *call = &r->calls[i];
        if (call->api >= r->api_count)
            continue;
        const char *api = digest_text(m, r->apis[call->api].name, DIGEST_NAME);
        size_t stack = call->stack < r->thread_count ? digest_put_thread(m, call->stack, 0, 0)
                                                     : digest_put_empty(m, 0);
        if (!api || !*api || stack == SIZE_MAX)
            continue;
        d->calls[d->call_count++] =
            (struct digest_call){.api = api,
                                 .stack = stack,
                                 .count = at_most(call->count, INT32_MAX),
                                 .first_ms = at_most(call->first_ms, d->started_ms + DAY_MS),
                                 .last_ms = at_most(call->last_ms, d->started_ms + DAY_MS)};
    }
    if (count < r->call_count && d->calls)
        put_other_calls(m, count);
}

/* ---- other tools' ---- */

/* The number before a unit of seconds: "10.00s", "20 sec", "500 ms", "1.5 seconds". */
static uint64_t duration_in(const char *text)
{
    char *end;
    double value = text ? strtod(text, &end) : 0;
    if (!text || end == text || !isfinite(value) || value <= 0)
        return 0;
    while (*end == ' ')
        end++;
    double unit = strncmp(end, "ms", 2) == 0 || strncmp(end, "milli", 5) == 0 ? 1e6
                  : *end == 's'                                               ? 1e9
                                                                              : 0;
    return value * unit < (double)DIGEST_LONGEST_NS ? (uint64_t)(value * unit) : DIGEST_LONGEST_NS;
}

/* Ended by the system because the main thread did not come back (0x8badf00d). */
static bool is_watchdog(const struct report_info *info)
{
    const char *text = info->termination;
    return text &&
           (strstr(text, "8badf00d") || strstr(text, "8BADF00D") || strstr(text, "2343432205"));
}

/* What stands behind `words`, where they are first. */
static uint64_t duration_after(struct span text, const char *words)
{
    const uint8_t *found = memmem(text.data, text.size, words, strlen(words));
    char number[32] = "";
    if (!found)
        return 0;
    found += strlen(words);
    size_t left = (size_t)(text.data + text.size - found);
    memcpy(number, found, left < sizeof number - 1 ? left : sizeof number - 1);
    return duration_in(number);
}

/* sample(1) says at its beginning how often it looked: "every 1 millisecond". */
static uint64_t sample_interval(struct span text)
{
    text.size = at_most(text.size, 4096);
    return duration_after(text, " every ");
}

static uint64_t tree_samples(const struct report *r, const struct report_thread *t)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < t->frame_count; i++)
        if (r->frames[t->first_frame + i].parent == REPORT_NONE)
            sum += r->frames[t->first_frame + i].samples & INT32_MAX;
    return sum;
}

static uint64_t foreign_duration(const struct report *r, const struct report_thread *t)
{
    const struct report_info *info = &r->info;
    if (is_watchdog(info)) /* said in the termination's reason, or its details */
        return duration_after(r->text, "time allowance of ");
    switch (r->kind) {
    case REPORT_SPINDUMP: return duration_in(info->reason);
    case REPORT_METRICKIT: return info->exception ? 0 : duration_in(info->reason);
    case REPORT_SAMPLE:
        return at_most(sample_interval(r->text) * at_most(tree_samples(r, t), INT32_MAX),
                       DIGEST_LONGEST_NS);
    default: return 0;
    }
}

/* How well a thread fits to be what the report is about. */
static int fitness(const struct report *r, const struct report_thread *t)
{
    if (t->frame_count == 0 || t->repeats || t->stack)
        return 0;
    if (t->exception && !is_watchdog(&r->info))
        return 5;
    if (t->exception)
        return 1;
    if (t->crashed || t->watched)
        return 4;
    bool main = t->main || (t->queue && strcmp(t->queue, "com.apple.main-thread") == 0) ||
                (t->name && strncmp(t->name, "Main Thread", 11) == 0);
    return main ? 3 : 2;
}

static void take_foreign(struct digest_maker *m)
{
    const struct report *r = m->report;
    struct digest *d = m->d;
    uint32_t chosen = 0;
    int best = 0;
    for (uint32_t i = 0; i < r->thread_count; i++)
        if (fitness(r, &r->threads[i]) > best) {
            best = fitness(r, &r->threads[i]);
            chosen = i;
        }
    d->counts = true;
    d->ending = is_watchdog(&r->info) ? FWR_KILLED : FWR_ENDING_NONE;
    if (best > 0) {
        const struct report_thread *t = &r->threads[chosen];
        d->duration_ns = foreign_duration(r, t);
        if (t->order == REPORT_STACK)
            digest_put_thread(m, chosen, d->duration_ns, 1);
        else
            digest_put_tree(m, chosen, d->duration_ns);
    }
    choose_key(m);
}

/* ---- the whole ---- */

/* What the report says of its images beside the stacks that are kept. */
static void count_frames(struct digest_maker *m)
{
    const struct report *r = m->report;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct report_thread *t = &r->threads[i];
        bool is_thread = !t->stack && !t->exception && !t->repeats;
        m->d->threads += is_thread;
        m->d->frames += is_thread ? t->frame_count : 0;
        for (uint32_t f = 0; f < t->frame_count && !t->repeats; f++) {
            uint32_t image = r->frames[t->first_frame + f].image;
            uint32_t number = image == REPORT_NONE ? 0 : digest_image(m, image);
            if (number)
                m->d->images[number - 1].frames++;
        }
    }
}

static size_t most_stacks(const struct report *r)
{
    if (r->kind == REPORT_FRAMEWALK && r->about == FWR_KIND_CALLS)
        return DIGEST_CALLS;
    return r->sample_count > DIGEST_STACKS ? 8 * DIGEST_STACKS : DIGEST_STACKS;
}

fw_error digest_report(const struct report *r, uint64_t received_ms, const char *salt,
                       struct arena *arena, struct digest *d)
{
    bool ours = r->kind == REPORT_FRAMEWALK;
    *d = (struct digest){.kind = ours ? r->about : (uint8_t)(FOREIGN_KIND + r->kind),
                         .complete = r->complete,
                         .key = SIZE_MAX};
    struct digest_maker m = {.report = r, .arena = arena, .d = d, .stack_capacity = most_stacks(r)};
    set_time(d, ours ? r->started_ms : date_ms(r->info.date), received_ms);
    d->version = digest_text(&m, r->info.version ? r->info.version : "", DIGEST_NAME);
    d->build = digest_text(&m, r->info.build ? r->info.build : "", DIGEST_NAME);
    d->os = digest_text(&m, r->info.os, DIGEST_NAME);
    d->device = digest_text(&m, r->info.device, DIGEST_NAME);
    d->images = arena_take_many(arena, r->image_count, sizeof *d->images);
    d->stacks = arena_take_many(arena, m.stack_capacity, sizeof *d->stacks);
    m.image_number = calloc(r->image_count ? r->image_count : 1, sizeof *m.image_number);
    m.stack_number = calloc(r->thread_count ? r->thread_count : 1, sizeof *m.stack_number);
    if (!d->version || !d->build || !d->images || !d->stacks || !m.image_number || !m.stack_number)
        m.failed = true;
    else {
        find_install(&m, salt);
        d->has_session = hex_id(r->session, d->session);
        if (!ours)
            take_foreign(&m);
        else if (r->about == FWR_KIND_HANG)
            take_hang(&m);
        else if (r->about == FWR_KIND_CALLS)
            take_calls(&m);
        count_frames(&m);
        find_main_image(&m);
        d->observed_ns =
            at_most(r->process_age_ms, UINT64_C(400) * DAY_MS) * 1000000 + d->duration_ns;
    }
    free(m.image_number);
    free(m.stack_number);
    return m.failed ? FW_ERR_MEMORY : FW_OK;
}
