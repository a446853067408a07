/*
 * A report in Apple's classic text layout (report version 12). What an .ips says beyond its stacks
 * (notes of the libraries, memory regions, registers) is taken from its JSON.
 *
 * The layout says every place as an address. Framewalk's own reports keep none: their images are
 * laid out one after the other, so that an address less its image's first one is the offset.
 */
#include "report/fwr.h"
#include "report/words.h"
#include "report/write.h"

#include <stdio.h>
#include <stdlib.h>

#define LAID_OUT_FROM    (UINT64_C(1) << 32)
#define LAID_OUT_LARGEST (UINT64_C(1) << 40) /* what claims more is not believed */

struct crash_text {
    const struct report *report;
    report_resolve resolve;
    void *context;
    struct report_bytes *out;
    struct arena arena;
    struct laid_out *images; /* as many as the report has */
};

struct laid_out { /* where an image stands in the text; size 0: unknown */
    uint64_t load, size;
    bool known;
};

static const char *body_text(struct crash_text *t, uint32_t node)
{
    const struct jdoc *doc = &t->report->build->body;
    const char *text = jdoc_text(doc, node, &t->arena);
    if (!text && (jdoc_is(doc, node, JSTRING) || jdoc_is(doc, node, JNUMBER)))
        t->out->failed = true; /* there is one, but no memory for it */
    return text;
}

static const char *member(struct crash_text *t, uint32_t object, const char *key)
{
    return body_text(t, jdoc_get(&t->report->build->body, object, key));
}

static void out_key(struct crash_text *t, const char *key, const char *value)
{
    if (value)
        out_format(t->out, "%-22s %s\n", key, value);
}

static void out_key_number(struct crash_text *t, const char *key, const char *value,
                           const char *number)
{
    if (value && number)
        out_format(t->out, "%-22s %s [%s]\n", key, value, number);
    else
        out_key(t, key, value);
}

static bool is_ips(const struct report *r)
{
    return r->kind == REPORT_IPS;
}

static void out_process(struct crash_text *t)
{
    const struct report_info *info = &t->report->info;
    out_key(t, "Incident Identifier:", info->incident);
    if (is_ips(t->report))
        out_key(t, "CrashReporter Key:", member(t, 0, "crashReporterKey"));
    out_key(t, "Hardware Model:", info->device);
    out_key_number(t, "Process:", info->process, info->pid);
    out_key(t, "Path:", info->path);
    out_key(t, "Identifier:", info->bundle ? info->bundle : info->process);
    if (info->version && info->build)
        out_format(t->out, "%-22s %s (%s)\n", "Version:", info->version, info->build);
    else
        out_key(t, "Version:", info->version ? info->version : info->build);
    if (info->arch) {
        bool translated = false;
        if (is_ips(t->report)) {
            const struct jdoc *doc = &t->report->build->body;
            translated = jdoc_is(doc, jdoc_get(doc, 0, "translated"), JTRUE);
        }
        out_format(t->out, "%-22s %s (%s)\n", "Code Type:", info->arch,
                   translated ? "Translated" : "Native");
    }
    if (!is_ips(t->report))
        return;
    out_key(t, "Role:", member(t, 0, "procRole"));
    out_key_number(t, "Parent Process:", member(t, 0, "parentProc"), member(t, 0, "parentPid"));
    out_key_number(t, "Coalition:", member(t, 0, "coalitionName"), member(t, 0, "coalitionID"));
    out_key(t, "User ID:", member(t, 0, "userID"));
}

static void out_time(struct crash_text *t)
{
    const struct report_info *info = &t->report->info;
    out_text(t->out, "\n");
    out_key(t, "Date/Time:", info->date);
    if (is_ips(t->report))
        out_key(t, "Launch Time:", member(t, 0, "procLaunch"));
    out_key(t, "OS Version:", info->os);
    out_key(t, "Report Version:", "12");
    const char *uptime = is_ips(t->report) ? member(t, 0, "uptime") : NULL;
    const char *sip = is_ips(t->report) ? member(t, 0, "sip") : NULL;
    if (uptime)
        out_format(t->out, "\nTime Awake Since Boot: %s seconds\n", uptime);
    if (sip)
        out_format(t->out, "\nSystem Integrity Protection: %s\n", sip);
    out_text(t->out, "\n");
}

/* A thread that hung did not crash; if the process was killed meanwhile, it stands for what it was
 * killed for, as in reports of Apple's watchdog. */
static bool is_crashed(const struct report *r, const struct report_thread *thread)
{
    return thread->crashed || (thread->watched && r->hang.ending == FWR_KILLED);
}

/* Which thread it is about. */
static void out_thread_number(struct crash_text *t)
{
    const struct report *r = t->report;
    uint32_t number = 0;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct report_thread *thread = &r->threads[i];
        const bool crashed = is_crashed(r, thread), hung = r->hang.present && thread->watched;
        if (!thread->stack && (crashed || hung)) {
            out_format(t->out, "%-22s %u", crashed ? "Crashed Thread:" : "Hung Thread:", number);
            if (thread->queue)
                out_format(t->out, "  Dispatch queue: %s", thread->queue);
            out_text(t->out, "\n\n");
            return;
        }
        number += !thread->exception && !thread->stack;
    }
}

/* A hang is an exception only if the process was killed in it. */
static void out_hang(struct crash_text *t)
{
    const struct report_hang *hang = &t->report->hang;
    const bool killed = hang->ending == FWR_KILLED;
    if (killed)
        out_key(t, "Exception Type:", "EXC_CRASH (SIGKILL)");
    else
        out_key(t, "Event:", "hang");
    out_format(t->out, "%-22s ", killed ? "Termination Reason:" : "Duration:");
    out_text(t->out, killed ? "FRAMEWALK killed in a hang of at least " : "");
    out_ms(t->out, hang->duration_ns);
    out_text(t->out, "\n");
    if (!killed)
        out_key(t, "Ending:", ending_word(hang->ending));
}

static void out_exception(struct crash_text *t)
{
    const struct report_info *info = &t->report->info;
    out_thread_number(t);
    if (t->report->hang.present && !info->exception) {
        out_hang(t);
        return;
    }
    out_key(t, "Exception Type:", info->exception);
    if (is_ips(t->report)) {
        const struct jdoc *doc = &t->report->build->body;
        uint32_t exception = jdoc_get(doc, 0, "exception");
        out_key(t, "Exception Codes:", member(t, exception, "codes"));
        out_key(t, "Exception Subtype:", info->reason);
        out_key(t, "Exception Message:", member(t, exception, "message"));
        if (jdoc_get(doc, 0, "isCorpse") != JNONE)
            out_key(t, "Exception Note:", "EXC_CORPSE_NOTIFY");
    } else {
        out_key(t, "Exception Subtype:", info->reason);
    }
    out_key(t, "Termination Reason:", info->termination);
    if (is_ips(t->report)) {
        uint32_t end = jdoc_get(&t->report->build->body, 0, "termination");
        out_key_number(t, "Terminating Process:", member(t, end, "byProc"),
                       member(t, end, "byPid"));
    }
}

/* A text, or each text of an array, on lines of its own. */
static void out_texts(struct crash_text *t, const char *title, uint32_t node)
{
    const struct jdoc *doc = &t->report->build->body;
    const char *text = body_text(t, node);
    if (!text && jdoc_first(doc, node) == JNONE)
        return;
    if (title)
        out_format(t->out, "\n%s\n", title);
    if (text)
        out_format(t->out, "%s\n", text);
    if (!jdoc_is(doc, node, JARRAY))
        return;
    for (uint32_t i = jdoc_first(doc, node); i != JNONE; i = jdoc_after(doc, node, i))
        if ((text = body_text(t, i)))
            out_format(t->out, "%s\n", text);
}

static void out_notes(struct crash_text *t)
{
    const struct jdoc *doc = &t->report->build->body;
    uint32_t asi = jdoc_get(doc, 0, "asi");
    const char *region = member(t, 0, "vmRegionInfo");
    if (!region)
        region = member(t, 0, "vmregioninfo");
    if (region)
        out_format(t->out, "\nVM Region Info: %s\n", region);
    if (jdoc_is(doc, asi, JOBJECT) && jdoc_first(doc, asi) != JNONE) {
        out_text(t->out, "\nApplication Specific Information:\n");
        for (uint32_t i = jdoc_first(doc, asi); i != JNONE; i = jdoc_after(doc, asi, i))
            out_texts(t, NULL, i + 1);
    }
    out_texts(t, "Kernel Triage:", jdoc_get(doc, 0, "ktriageinfo"));
}

static uint64_t address_of(const struct crash_text *t, const struct report_frame *frame)
{
    if (frame->has_address || !frame->has_offset || frame->image == REPORT_NONE)
        return frame->address;
    return t->images[frame->image].load + frame->offset;
}

static void out_frame_head(struct crash_text *t, const struct report_frame *frame, uint32_t number)
{
    const struct report_image *image =
        frame->image == REPORT_NONE ? NULL : &t->report->images[frame->image];
    char address[24];
    snprintf(address, sizeof address, "0x%llx", (unsigned long long)address_of(t, frame));
    out_format(t->out, "%-4u%-30s\t%18s ", number, image && *image->name ? image->name : "???",
               address);
}

static void out_stack(struct crash_text *t, const struct report_thread *thread)
{
    const struct report *r = t->report;
    uint32_t number = 0;
    for (uint32_t i = 0; i < thread->frame_count; i++) {
        struct frame_names f = frame_names(r, t->resolve, t->context, thread->first_frame + i);
        for (size_t n = 0; n < f.count; n++) {
            out_frame_head(t, f.frame, number++);
            out_apple_name(t->out, &f, n);
            out_text(t->out, "\n");
        }
        if (f.count)
            continue;
        out_frame_head(t, f.frame, number++);
        uint64_t address = address_of(t, f.frame);
        uint64_t offset = f.frame->has_offset ? f.frame->offset : address;
        out_format(t->out, "0x%llx + %llu\n", (unsigned long long)(address - offset),
                   (unsigned long long)offset);
    }
}

static void out_threads(struct crash_text *t)
{
    const struct report *r = t->report;
    for (size_t i = 0; i < r->thread_count; i++)
        if (r->threads[i].exception) {
            out_text(t->out, "\nLast Exception Backtrace:\n");
            out_stack(t, &r->threads[i]);
        }
    uint32_t number = 0;
    for (size_t i = 0; i < r->thread_count; i++) {
        const struct report_thread *thread = &r->threads[i];
        if (thread->exception || thread->stack)
            continue;
        out_format(t->out, "\nThread %u%s:", number++, is_crashed(r, thread) ? " Crashed" : "");
        if (thread->name || thread->queue)
            out_text(t->out, ":");
        if (thread->name)
            out_format(t->out, " %s", thread->name);
        if (thread->queue)
            out_format(t->out, "%sDispatch queue: %s", thread->name ? "  " : " ", thread->queue);
        out_text(t->out, "\n");
        out_stack(t, thread);
    }
}

static void out_register(struct crash_text *t, const char *name, uint32_t node, unsigned *count)
{
    const struct jdoc *doc = &t->report->build->body;
    uint64_t value;
    if (!jdoc_u64(doc, jdoc_get(doc, node, "value"), &value))
        return;
    if (*count && *count % 4 == 0)
        out_text(t->out, "\n");
    out_format(t->out, "%s%5s: 0x%016llx", *count % 4 ? " " : "", name, (unsigned long long)value);
    ++*count;
}

static void out_state(struct crash_text *t, uint32_t state, uint32_t number)
{
    const struct jdoc *doc = &t->report->build->body;
    const char *flavor = member(t, state, "flavor");
    bool arm = flavor && strncmp(flavor, "ARM", 3) == 0;
    unsigned count = 0;
    out_format(t->out, "\nThread %u crashed with %s Thread State (64-bit):\n", number,
               arm ? "ARM" : "X86");
    uint32_t x = jdoc_get(doc, state, "x");
    for (uint32_t i = jdoc_first(doc, x), n = 0; i != JNONE; i = jdoc_after(doc, x, i), n++) {
        char name[16];
        snprintf(name, sizeof name, "x%u", n);
        out_register(t, name, i, &count);
    }
    for (uint32_t i = jdoc_first(doc, state); i != JNONE; i = jdoc_after(doc, state, i)) {
        const char *name = body_text(t, i);
        if (name && jdoc_is(doc, i + 1, JOBJECT))
            out_register(t, name, i + 1, &count);
    }
    out_text(t->out, "\n");
}

static void out_registers(struct crash_text *t)
{
    const struct jdoc *doc = &t->report->build->body;
    uint32_t threads = jdoc_get(doc, 0, "threads"), number = 0;
    for (uint32_t i = jdoc_first(doc, threads); i != JNONE;
         i = jdoc_after(doc, threads, i), number++) {
        uint32_t state = jdoc_get(doc, i, "threadState");
        if (jdoc_is(doc, state, JOBJECT) && jdoc_is(doc, jdoc_get(doc, i, "triggered"), JTRUE))
            out_state(t, state, number);
    }
}

static void out_images(struct crash_text *t)
{
    const struct report *r = t->report;
    out_text(t->out, "\nBinary Images:\n");
    for (size_t i = 0; i < r->image_count; i++) {
        const struct report_image *image = &r->images[i];
        const struct laid_out *at = &t->images[i];
        char first[24], last[24];
        if (!at->known || (at->load == 0 && image->id_size == 0))
            continue;
        snprintf(first, sizeof first, "0x%llx", (unsigned long long)at->load);
        snprintf(last, sizeof last, "0x%llx",
                 (unsigned long long)(at->load + (at->size ? at->size - 1 : 0)));
        out_format(t->out, "%18s - %18s %s %s  <", first, at->size ? last : "???",
                   *image->name ? image->name : "???", image->arch ? image->arch : "(*)");
        out_hex(t->out, image->id, image->id_size);
        out_format(t->out, "> %s\n", image->path ? image->path : "???");
    }
    out_text(t->out, "\nEOF\n");
}

/* An image whose place the report does not say stands behind the one before; large enough for its
 * outermost frame, whatever size it says. */
static bool lay_out(struct crash_text *t)
{
    const struct report *r = t->report;
    uint64_t free_address = LAID_OUT_FROM;
    t->images = calloc(r->image_count + 1, sizeof *t->images);
    if (!t->images)
        return false;
    for (size_t i = 0; i < r->image_count; i++)
        t->images[i] =
            (struct laid_out){r->images[i].load, r->images[i].size, r->images[i].has_load};
    if (r->kind != REPORT_FRAMEWALK)
        return true; /* the others say it, or have no offsets */
    for (size_t i = 0; i < r->frame_count; i++) {
        const struct report_frame *frame = &r->frames[i];
        if (frame->image == REPORT_NONE || frame->offset > LAID_OUT_LARGEST)
            continue;
        struct laid_out *at = &t->images[frame->image];
        if (at->size <= frame->offset)
            at->size = frame->offset + 1;
    }
    for (size_t i = 0; i < r->image_count; i++) {
        struct laid_out *at = &t->images[i];
        if (at->known)
            continue;
        at->known = true;
        at->load = free_address;
        free_address += ((at->size < LAID_OUT_LARGEST ? at->size : LAID_OUT_LARGEST) + 0x1fffff) &
                        ~(uint64_t)0xfffff;
    }
    return true;
}

fw_error report_to_crash(const struct report *r, report_resolve resolve, void *context,
                         struct report_bytes *out)
{
    if (r->kind == REPORT_CRASH)
        return report_write(r, resolve, context, out);
    bool threads = r->kind != REPORT_FRAMEWALK; /* else there may be none */
    for (size_t i = 0; i < r->thread_count; i++) {
        if (r->threads[i].order != REPORT_STACK)
            return FW_ERR_UNSUPPORTED;
        threads |= !r->threads[i].stack;
    }
    if (!threads)
        return FW_ERR_UNSUPPORTED;
    struct crash_text t = {.report = r, .resolve = resolve, .context = context, .out = out};
    if (!lay_out(&t))
        return FW_ERR_MEMORY;
    out_process(&t);
    out_time(&t);
    out_exception(&t);
    if (is_ips(r))
        out_notes(&t);
    out_threads(&t);
    if (is_ips(r))
        out_registers(&t);
    out_images(&t);
    arena_free(&t.arena);
    free(t.images);
    return out->failed ? FW_ERR_MEMORY : FW_OK;
}
