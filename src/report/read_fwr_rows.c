/* Rows of a Framewalk report: the hang and its samples, APIs and calls, scripts, symbols. */
#include "base/array.h"
#include "base/crc32c.h"
#include "report/read_fwr.h"

static uint32_t number32(uint64_t value)
{
    return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* ---- hangs ---- */

/* Writers repeat it while the hang lasts: the last one counts. */
void fwr_read_hang(struct fwr_reading *f, struct reader payload)
{
    struct report_hang *hang = &f->report->hang;
    struct fwr_field field;
    uint64_t so_far = 0;
    hang->present = true;
    hang->started_ms = f->report->started_ms;
    while (fwr_next_field(&payload, &field)) {
        switch (field.number) {
        case HANG_THREAD: hang->thread_id = field.value; break;
        case HANG_WATCH: hang->watch = fwr_read_text(f, &field); break;
        case HANG_THRESHOLD_NS: hang->threshold_ns = field.value; break;
        case HANG_SEVERE_NS: hang->severe_ns = field.value; break;
        case HANG_SO_FAR_NS: so_far = field.value; break;
        case HANG_UNSAMPLED_NS: hang->unsampled_ns = field.value; break;
        default: break;
        }
    }
    if (payload.failed)
        fwr_nonsense(f, "the hang cannot be read");
    if (hang->ending == FWR_ENDING_NONE && hang->duration_ns < so_far)
        hang->duration_ns = so_far;
}

void fwr_read_hang_end(struct fwr_reading *f, struct reader payload)
{
    struct report_hang *hang = &f->report->hang;
    struct fwr_field field;
    uint64_t duration = 0;
    hang->ending = FWR_ENDING_NONE;
    hang->veto = 0;
    hang->starved_ns = hang->samples = 0;
    while (fwr_next_field(&payload, &field)) {
        switch (field.number) {
        case HANG_END_ENDING:
            hang->ending = field.value <= FWR_VETOED ? (uint8_t)field.value : FWR_ENDING_NONE;
            break;
        case HANG_END_VETO: hang->veto = field.value <= UINT8_MAX ? (uint8_t)field.value : 0; break;
        case HANG_END_DURATION_NS: duration = field.value; break;
        case HANG_END_STARVED_NS: hang->starved_ns = field.value; break;
        case HANG_END_SAMPLES: hang->samples = field.value; break;
        default: break;
        }
    }
    hang->duration_ns = duration;
    if (payload.failed)
        fwr_nonsense(f, "the end of the hang cannot be read");
}

static void read_one_sample(struct fwr_reading *f, struct reader message)
{
    struct report *r = f->report;
    struct fwr_field field;
    struct report_sample s = {.count = 1};
    uint64_t step = 0;
    while (fwr_next_field(&message, &field)) {
        switch (field.number) {
        case SAMPLE_STACK: s.stack = number32(field.value); break;
        case SAMPLE_AGAIN:
            s.count = field.value < UINT32_MAX ? (uint32_t)field.value + 1 : UINT32_MAX;
            break;
        case SAMPLE_AT_NS: step = fwr_unzigzag(field.value); break;
        case SAMPLE_WEIGHT_NS: s.weight_ns = field.value; break;
        default: break;
        }
    }
    s.at_ns = f->last_at_ns += step;
    if (message.failed)
        fwr_nonsense(f, "a sample cannot be read");
    else if (fwr_read_room(f, &r->samples, &f->capacity.samples, r->sample_count,
                           sizeof *r->samples, READ_SAMPLES, "samples"))
        r->samples[r->sample_count++] = s;
}

void fwr_read_samples(struct fwr_reading *f, struct reader payload)
{
    struct report_hang *hang = &f->report->hang;
    struct fwr_field field;
    while (!f->why && !f->b->error && fwr_next_field(&payload, &field)) {
        if (field.number == SAMPLES_SAMPLE && field.is_bytes)
            read_one_sample(f, reader_over(field.bytes, field.size));
        else if (field.number == SAMPLES_UNTIL_NS && hang->ending == FWR_ENDING_NONE &&
                 hang->duration_ns < field.value)
            hang->duration_ns = field.value;
    }
    if (payload.failed)
        fwr_nonsense(f, "its payload cannot be read");
}

/* A hang whose writer was killed does not say how many stacks it took: those that are there. */
void fwr_read_count_samples(struct fwr_reading *f)
{
    uint64_t count = 0;
    for (size_t i = 0; i < f->report->sample_count; i++)
        count += f->report->samples[i].count;
    if (f->report->hang.samples == 0)
        f->report->hang.samples = count;
}

/* ---- calls ---- */

static void read_api(struct fwr_reading *f, struct reader message)
{
    struct report *r = f->report;
    struct fwr_field field;
    struct report_api api = {.name = ""};
    while (fwr_next_field(&message, &field)) {
        const char *name;
        switch (field.number) {
        case API_NAME:
            name = fwr_read_text(f, &field);
            api.name = name ? name : "";
            break;
        case API_CALLS: api.calls = field.value; break;
        case API_POINTERS: api.pointers = number32(field.value); break;
        case API_INSIDE: api.inside = number32(field.value); break;
        case API_FOUND: api.found = field.value != 0; break;
        default: break;
        }
    }
    if (message.failed)
        fwr_nonsense(f, "an API cannot be read");
    else if (fwr_read_room(f, &r->apis, &f->capacity.apis, r->api_count, sizeof *r->apis, READ_APIS,
                           "APIs"))
        r->apis[r->api_count++] = api;
}

static void read_call(struct fwr_reading *f, struct reader message)
{
    struct report *r = f->report;
    struct fwr_field field;
    struct report_call call = {0};
    uint64_t first = 0, last = 0, api = 0;
    while (fwr_next_field(&message, &field)) {
        switch (field.number) {
        case CALL_API: api = field.value; break;
        case CALL_STACK: call.stack = number32(field.value); break;
        case CALL_THREAD: call.thread_id = field.value; break;
        case CALL_COUNT: call.count = field.value; break;
        case CALL_FIRST_MS: first = fwr_unzigzag(field.value); break;
        case CALL_LAST_MS: last = fwr_unzigzag(field.value); break;
        default: break;
        }
    }
    call.first_ms = r->started_ms + first;
    call.last_ms = call.first_ms + last;
    if (message.failed || api == 0 || api > r->api_count) {
        fwr_nonsense(f, message.failed ? "a call cannot be read"
                                       : "a call is of an API that is not there");
        return;
    }
    call.api = (uint32_t)api - 1;
    if (fwr_read_room(f, &r->calls, &f->capacity.calls, r->call_count, sizeof *r->calls, READ_CALLS,
                      "calls"))
        r->calls[r->call_count++] = call;
}

enum { API_CELLS = 2 * READ_APIS };

/* The cell of a name among those that are kept: its number + 1 is there, or 0. */
static uint16_t *cell_of(const struct report *r, uint16_t cells[API_CELLS], const char *name)
{
    uint32_t at = crc32c(name, strlen(name)) % API_CELLS;
    while (cells[at] && strcmp(r->apis[cells[at] - 1].name, name) != 0)
        at = (at + 1) % API_CELLS;
    return &cells[at];
}

/* A report that is written in parts has a row of an API in each that has calls of it: they become
 * one. What a later one found of the API is newer. */
void fwr_read_join_apis(struct fwr_reading *f)
{
    struct report *r = f->report;
    uint16_t cells[API_CELLS] = {0}, number[READ_APIS];
    uint16_t kept = 0;
    for (uint32_t i = 0; i < r->api_count; i++) {
        struct report_api api = r->apis[i];
        uint16_t *cell = cell_of(r, cells, api.name);
        if (*cell) {
            const uint64_t before = r->apis[*cell - 1].calls;
            api.calls = api.calls <= UINT64_MAX - before ? before + api.calls : UINT64_MAX;
        } else {
            *cell = ++kept;
        }
        number[i] = (uint16_t)(*cell - 1);
        r->apis[number[i]] = api;
    }
    r->api_count = kept;
    for (size_t i = 0; i < r->call_count; i++)
        r->calls[i].api = number[r->calls[i].api];
}

/* ---- scripts ---- */

static void read_script_frame(struct fwr_reading *f, struct reader message)
{
    struct fwr_field field;
    struct report_script_frame frame = {0};
    while (fwr_next_field(&message, &field)) {
        if (field.number == SCRIPT_FUNCTION)
            frame.function = fwr_read_text(f, &field);
        else if (field.number == SCRIPT_FILE)
            frame.file = fwr_read_text(f, &field);
        else if (field.number == SCRIPT_LINE)
            frame.line = number32(field.value);
    }
    if (message.failed)
        fwr_nonsense(f, "a frame of a script cannot be read");
    else if (f->script_frame_count >= READ_SCRIPT_FRAMES)
        fwr_nonsense(f, "there are more frames of scripts than any report has");
    else if (!array_reserve(&f->script_frames, &f->script_frame_capacity, f->script_frame_count + 2,
                            sizeof *f->script_frames))
        f->b->error = FW_ERR_MEMORY;
    else
        f->script_frames[++f->script_frame_count] = frame;
}

static void add_script_frame(struct fwr_reading *f, struct report_script *script, uint64_t number)
{
    struct report *r = f->report;
    if (number == 0 || number > f->script_frame_count)
        fwr_nonsense(f, "a script has a frame that is not there");
    else if (script->frame_count < FWR_STACK_FRAMES &&
             fwr_read_room(f, &r->script_frames, &f->capacity.script_frames, r->script_frame_count,
                           sizeof *r->script_frames, READ_SCRIPT_FRAMES, "frames of scripts")) {
        r->script_frames[r->script_frame_count++] = f->script_frames[number];
        script->frame_count++;
    }
}

static void read_script(struct fwr_reading *f, struct reader message)
{
    struct report *r = f->report;
    struct fwr_field field;
    struct report_script script = {.first_frame = (uint32_t)r->script_frame_count};
    while (!f->why && !f->b->error && fwr_next_field(&message, &field)) {
        struct reader packed = reader_over(field.bytes, field.size);
        switch (field.number) {
        case SCRIPT_THREAD: script.thread_id = field.value; break;
        case SCRIPT_AT_NS: script.at_ns = field.value; break;
        case SCRIPT_LANGUAGE: script.language = fwr_read_text(f, &field); break;
        case SCRIPT_OMITTED: script.omitted = number32(field.value); break;
        case SCRIPT_FRAMES:
            if (!field.is_bytes)
                add_script_frame(f, &script, field.value);
            while (!f->why && !f->b->error && reader_left(&packed) > 0)
                add_script_frame(f, &script, reader_uleb(&packed));
            break;
        default: break;
        }
    }
    if (message.failed)
        fwr_nonsense(f, "a script cannot be read");
    else if (!f->why && fwr_read_room(f, &r->scripts, &f->capacity.scripts, r->script_count,
                                      sizeof *r->scripts, READ_SCRIPTS, "scripts"))
        r->scripts[r->script_count++] = script;
}

/* ---- symbols ---- */

static void read_symbol(struct fwr_reading *f, struct reader message)
{
    struct report *r = f->report;
    struct fwr_field field;
    struct report_symbol symbol = {0};
    while (fwr_next_field(&message, &field)) {
        switch (field.number) {
        case SYMBOL_ADDRESS: symbol.address = field.value; break;
        case SYMBOL_SIZE: symbol.size = field.value; break;
        case SYMBOL_NAME: symbol.name = fwr_read_text(f, &field); break;
        case SYMBOL_FILE: symbol.file = fwr_read_text(f, &field); break;
        case SYMBOL_LINE: symbol.line = number32(field.value); break;
        default: break;
        }
    }
    if (message.failed)
        fwr_nonsense(f, "a symbol cannot be read");
    else if (symbol.name && fwr_read_room(f, &r->symbols, &f->capacity.symbols, r->symbol_count,
                                          sizeof *r->symbols, READ_SYMBOLS, "symbols"))
        r->symbols[r->symbol_count++] = symbol;
}

static int compare_symbols(const void *a, const void *b)
{
    const struct report_symbol *x = a, *y = b;
    return x->address < y->address ? -1 : x->address > y->address;
}

static const struct report_symbol *symbol_at(const struct report *r, uint64_t address)
{
    size_t low = 0, high = r->symbol_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->symbols[middle].address <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct report_symbol *s = low ? &r->symbols[low - 1] : NULL;
    return s && address - s->address < s->size ? s : NULL;
}

void fwr_read_name_symbols(struct fwr_reading *f)
{
    struct report *r = f->report;
    if (r->symbol_count == 0)
        return;
    qsort(r->symbols, r->symbol_count, sizeof *r->symbols, compare_symbols);
    for (size_t i = 0; i < r->frame_count; i++) {
        struct report_frame *frame = &r->frames[i];
        const struct report_symbol *symbol = NULL;
        if (frame->image == REPORT_NONE && frame->has_address)
            symbol = symbol_at(r, frame->address - (frame->kind == REPORT_RETURN));
        struct report_name *name = symbol ? build_known(f->b, frame) : NULL;
        if (!name)
            continue;
        name->function = symbol->name;
        name->file = symbol->file;
        name->line = symbol->line;
        name->has_offset = true;
        name->offset = frame->address - symbol->address;
        name->size = symbol->size;
    }
}

/* ---- lists ---- */

void fwr_read_apis(struct fwr_reading *f, struct reader payload)
{
    fwr_read_rows(f, payload, read_api, NULL);
}

void fwr_read_calls(struct fwr_reading *f, struct reader payload)
{
    fwr_read_rows(f, payload, read_call, NULL);
}

void fwr_read_scripts(struct fwr_reading *f, struct reader payload)
{
    fwr_read_rows(f, payload, read_script_frame, read_script);
}

void fwr_read_symbols(struct fwr_reading *f, struct reader payload)
{
    fwr_read_rows(f, payload, read_symbol, fwr_read_function);
}
