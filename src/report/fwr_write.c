/*
 * The writer of the Framewalk report. What is said goes into a log as encoded fields, each with the
 * type of record it belongs to; frames and stacks stay in their tables (fwr_tree.h). A flush puts
 * all that is pending into records, by type, so that what is referred to comes first, and hands
 * them to the sink in one call.
 *
 * Invariant: `pending` is not less than the bytes that the flush will write, and never more than
 * FWR_PENDING_MAX. See fwr_write.h; the format is docs/report-format.md.
 */
#include "report/fwr_functions.h"
#include "report/fwr_record.h"
#include "report/fwr_scripts.h"
#include "report/fwr_tree.h"

enum {
    ITEM_HEAD = 3,   /* in the log: type, u16 size */
    ITEM_MAX = 6144, /* encoded fields of one item */
    RECORD_COST = FWR_RECORD_HEAD + 3,
    OUT_SIZE = FWR_MAGIC_SIZE + FWR_PENDING_MAX + (FWR_END + 1) * (RECORD_COST + 32),
};

struct fwr_writer {
    fwr_sink *sink;
    void *sink_context;
    fwr_locate *locate;
    void *locate_context;
    uint64_t started_ms;
    uint64_t last_at_ns; /* of the last sample */
    uint64_t until_ns;   /* up to which samples say what happened */
    uint32_t log_used;   /* bytes */
    uint32_t pending;    /* that the log will take in records */
    uint32_t api_count;  /* the last one's number */
    bool begun;          /* the magic is in the sink */
    bool rechecks;       /* images may have changed since the last flush */
    bool failed, ended;
    char arch[16]; /* of the process: images of it do not say it again */
    struct fwr_tree tree;
    struct fwr_scripts scripts;
    uint64_t scripts_cut; /* that are not whole */
    struct fwr_namer namer;
    struct fwr_functions functions;
    uint8_t log[FWR_PENDING_MAX];
    uint8_t out[OUT_SIZE];
};

size_t fwr_writer_size(void)
{
    return (sizeof(struct fwr_writer) + 15) & ~(size_t)15;
}

static bool is_silent(const struct fwr_writer *w)
{
    return w->failed || w->ended;
}

/* Room for what takes `size` bytes in records; flushes when there is too little. */
static bool has_room(struct fwr_writer *w, size_t size)
{
    if (w->pending + tree_pending(&w->tree) + size > FWR_PENDING_MAX)
        fwr_flush(w);
    return !w->failed;
}

/* ---- the log ---- */

/* There is one record of these, or each is a record of its own. */
static bool is_single(enum fwr_type type)
{
    return type == FWR_ABOUT || type == FWR_HANG || type == FWR_HANG_END || type == FWR_END;
}

/* An item begins: its fields are to be written to the result. Nothing may be written while the
 * report is silent. */
static struct wire item_begin(struct fwr_writer *w)
{
    if (is_silent(w) || !has_room(w, ITEM_HEAD + ITEM_MAX + RECORD_COST))
        return wire_into(w->log, 0);
    return wire_into(w->log + w->log_used + ITEM_HEAD, ITEM_MAX);
}

/* Keeps the item, unless it did not fit. */
static bool item_end(struct fwr_writer *w, enum fwr_type type, const struct wire *item)
{
    if (item->full || item->begin == w->log)
        return false;
    size_t size = wire_size(item);
    uint8_t *head = w->log + w->log_used;
    head[0] = (uint8_t)type;
    head[1] = (uint8_t)size;
    head[2] = (uint8_t)(size >> 8);
    w->log_used += (uint32_t)(ITEM_HEAD + size);
    w->pending += (uint32_t)(ITEM_HEAD + size + (is_single(type) ? RECORD_COST : 0));
    return true;
}

static bool next_item(const struct fwr_writer *w, uint32_t *at, enum fwr_type *type,
                      const uint8_t **item, size_t *size)
{
    if (*at >= w->log_used)
        return false;
    const uint8_t *head = w->log + *at;
    *type = (enum fwr_type)head[0];
    *size = (size_t)head[1] | (size_t)head[2] << 8;
    *item = head + ITEM_HEAD;
    *at += (uint32_t)(ITEM_HEAD + *size);
    return true;
}

/* ---- records ---- */

static uint8_t *put_record(uint8_t *record, enum fwr_type type, const uint8_t *end)
{
    return record + fwr_seal(record, type, (size_t)(end - record) - FWR_RECORD_HEAD);
}

/* The records of one type. */
static uint8_t *put_items(const struct fwr_writer *w, enum fwr_type wanted, uint8_t *to)
{
    uint32_t at = 0;
    enum fwr_type type;
    const uint8_t *item;
    size_t size;
    struct wire record =
        wire_into(to + FWR_RECORD_HEAD, (size_t)(w->out + OUT_SIZE - to) - RECORD_COST);
    bool any = false;
    while (next_item(w, &at, &type, &item, &size)) {
        if (type != wanted)
            continue;
        if (!any && wanted == FWR_SAMPLES)
            wire_uint(&record, SAMPLES_UNTIL_NS, w->until_ns);
        memcpy(record.at, item, size);
        record.at += size;
        any = true;
        if (is_single(type)) {
            to = put_record(to, wanted, record.at);
            record.at = to + FWR_RECORD_HEAD;
            any = false;
        }
    }
    return any ? put_record(to, wanted, record.at) : to;
}

static uint8_t *put_stacks(struct fwr_writer *w, uint8_t *to)
{
    struct wire record =
        wire_into(to + FWR_RECORD_HEAD, (size_t)(w->out + OUT_SIZE - to) - RECORD_COST);
    tree_encode(&w->tree, &record);
    return put_record(to, FWR_STACKS, record.at);
}

bool fwr_flush(struct fwr_writer *w)
{
    if (w->failed || (w->log_used == 0 && tree_pending(&w->tree) == 0))
        return !w->failed;
    uint8_t *to = w->out;
    if (!w->begun) {
        memcpy(to, FWR_MAGIC, FWR_MAGIC_SIZE);
        to += FWR_MAGIC_SIZE;
    }
    for (enum fwr_type type = FWR_ABOUT; type <= FWR_END; type++)
        if (type != FWR_STACKS)
            to = put_items(w, type, to);
        else if (tree_pending(&w->tree))
            to = put_stacks(w, to);
    w->begun = true;
    w->tree.flushes++;
    w->log_used = w->pending = 0;
    w->failed = !w->sink(w->sink_context, w->out, (size_t)(to - w->out));
    return !w->failed;
}

bool fwr_end(struct fwr_writer *w)
{
    if (w->ended)
        return !w->failed;
    if (w->tree.dropped)
        fwr_total(w, "stacks_dropped", w->tree.dropped);
    if (w->tree.cut)
        fwr_total(w, "stacks_cut", w->tree.cut);
    if (w->scripts_cut)
        fwr_total(w, "scripts_cut", w->scripts_cut);
    if (w->functions.left_out)
        fwr_total(w, "functions_unnamed", w->functions.left_out);
    struct wire none = item_begin(w);
    item_end(w, FWR_END, &none);
    bool done = fwr_flush(w);
    w->ended = true;
    return done;
}

/* ---- what can be said ---- */

static void put_about(struct fwr_writer *w, const struct fwr_about *about)
{
    const struct {
        unsigned field;
        const char *text;
    } words[] = {
        {ABOUT_APP, about->app},
        {ABOUT_VERSION, about->version},
        {ABOUT_BUILD, about->build},
        {ABOUT_OS, about->os},
        {ABOUT_OS_VERSION, about->os_version},
        {ABOUT_OS_BUILD, about->os_build},
        {ABOUT_ARCH, about->arch},
        {ABOUT_DEVICE_CLASS, about->device_class},
    };
    struct wire item = item_begin(w);
    wire_bytes(&item, ABOUT_ID, about->id, sizeof about->id);
    wire_bytes(&item, ABOUT_SESSION, about->session, sizeof about->session);
    wire_uint(&item, ABOUT_KIND, about->kind);
    wire_uint(&item, ABOUT_STARTED_MS, about->started_ms);
    wire_uint(&item, ABOUT_PROCESS_AGE_MS, about->process_age_ms);
    wire_uint(&item, ABOUT_PID, about->pid);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        wire_text(&item, words[i].field, words[i].text, FWR_WORD_BYTES);
    wire_path(&item, ABOUT_EXECUTABLE, about->executable);
    item_end(w, FWR_ABOUT, &item);
}

struct fwr_writer *fwr_create(void *memory, fwr_sink *sink, void *sink_context, fwr_locate *locate,
                              void *locate_context, const struct fwr_about *about)
{
    struct fwr_writer *w = memory;
    w->sink = sink;
    w->sink_context = sink_context;
    w->locate = locate;
    w->locate_context = locate_context;
    w->started_ms = about->started_ms;
    w->last_at_ns = w->until_ns = 0;
    w->log_used = w->pending = w->api_count = 0;
    w->begun = w->failed = w->ended = w->rechecks = false;
    memset(w->arch, 0, sizeof w->arch);
    if (about->arch)
        memcpy(w->arch, about->arch, strnlen(about->arch, sizeof w->arch - 1));
    tree_begin(&w->tree);
    scripts_begin(&w->scripts);
    w->scripts_cut = 0;
    w->namer = (struct fwr_namer){.context = NULL};
    functions_begin(&w->functions);
    put_about(w, about);
    return w;
}

void fwr_name_functions(struct fwr_writer *w, const struct fwr_namer *namer)
{
    w->namer = *namer;
}

void fwr_key(struct fwr_writer *w, const char *key, const char *value)
{
    struct wire item = item_begin(w);
    uint8_t *pair = wire_open(&item, KEYS_KEY);
    wire_text(&item, KEY_NAME, key, FWR_WORD_BYTES);
    wire_text(&item, KEY_VALUE, value, FWR_TEXT_BYTES);
    wire_close(&item, pair);
    item_end(w, FWR_KEYS, &item);
}

static void put_image(struct fwr_writer *w, const struct fwr_image *image)
{
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, IMAGES_IMAGE);
    wire_bytes(&item, IMAGE_ID, image->id, image->id_size <= 64 ? image->id_size : 64);
    wire_uint(&item, IMAGE_SIZE, image->size);
    wire_path(&item, IMAGE_PATH, image->path);
    if (image->arch && strcmp(image->arch, w->arch) != 0)
        wire_text(&item, IMAGE_ARCH, image->arch, FWR_WORD_BYTES);
    wire_uint(&item, IMAGE_FROM_HEADER, image->from_header);
    wire_close(&item, one);
    item_end(w, FWR_IMAGES, &item);
}

/* Number of the image that holds the frame, written when it is new; 0 for none. False: there is no
 * room for it. */
static bool image_of(struct fwr_writer *w, const struct fw_frame *frame, uint32_t *number)
{
    struct fwr_image image = {0};
    bool is_new;
    *number = 0;
    /* A call may be the last instruction of an image: what returns is behind it. */
    uint64_t address = frame->address - (frame->kind == FW_FRAME_RETURN && frame->address);
    *number = tree_image_at(&w->tree, address);
    if (*number || !w->locate(w->locate_context, address, &image))
        return true;
    *number = tree_image(&w->tree, &image, &is_new);
    if (is_new) {
        w->tree.images[*number].named = w->namer.knows && w->namer.knows(w->namer.context, &image);
        put_image(w, &image);
    }
    return *number != 0;
}

/* Writes the name of the frame's function when it is known and new. */
static void put_function(struct fwr_writer *w, const struct fw_frame *frame, uint32_t image)
{
    struct fwr_function f;
    const uint64_t address = frame->address - (frame->kind == FW_FRAME_RETURN);
    if (!w->tree.images[image].named || !w->namer.find(w->namer.context, address, &f))
        return;
    const size_t name = strnlen(f.name, FWR_FUNCTION_NAME + 1);
    if (!functions_add(&w->functions, image, f.start, name))
        return;
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, SYMBOLS_FUNCTION);
    wire_uint(&item, FUNCTION_IMAGE, image);
    wire_uint(&item, FUNCTION_OFFSET, f.start - w->tree.images[image].base);
    wire_uint(&item, FUNCTION_SIZE, f.size);
    wire_text(&item, FUNCTION_NAME, f.name, FWR_FUNCTION_NAME);
    wire_close(&item, one);
    item_end(w, FWR_SYMBOLS, &item);
}

static uint32_t node_of(struct fwr_writer *w, uint32_t parent, const struct fw_frame *frame)
{
    uint32_t node = tree_find(&w->tree, parent, frame), image;
    if (node && w->rechecks && image_of(w, frame, &image) && image != w->tree.nodes[node].image)
        node = 0; /* the new one takes its place in the table */
    if (node == 0 && has_room(w, FWR_NODE_BYTES) && image_of(w, frame, &image)) {
        node = tree_add(&w->tree, parent, frame, image);
        if (node && image)
            put_function(w, frame, image);
    }
    return node;
}

/* Where a stack's frames go into the tree: the first `left` of them are new, called by `parent`. */
struct graft {
    uint32_t parent, depth, left;
};

/* Follows the stack in the tree as far as it is known. Where there is no room for the rest, it is
 * cut to the innermost frames for which there is, without what called them. */
static struct graft graft_at(const struct fwr_tree *t, const struct fw_frame *frames,
                             uint32_t count)
{
    struct graft g = {.left = count};
    while (g.left > 0) {
        uint32_t node = tree_find(t, g.parent, &frames[g.left - 1]);
        if (node == 0)
            break;
        g = (struct graft){node, g.depth + 1, g.left - 1};
    }
    uint32_t room = FWR_NODES_MAX - t->node_count;
    return g.left <= room ? g : (struct graft){.left = room};
}

void fwr_recheck_images(struct fwr_writer *w)
{
    w->rechecks = true;
}

bool fwr_is_filling(const struct fwr_writer *w)
{
    const struct fwr_tree *t = &w->tree;
    return t->image_count >= FWR_IMAGES_MAX / 4 * 3 || t->node_count >= FWR_NODES_MAX / 4 * 3 ||
           t->stack_count >= FWR_STACKS_MAX / 4 * 3 || w->api_count >= FWR_APIS_MAX / 4 * 3;
}

uint32_t fwr_stack(struct fwr_writer *w, const struct fw_stack *stack)
{
    if (is_silent(w))
        return 0;
    struct fwr_tree *t = &w->tree;
    uint32_t count = stack->count <= FWR_STACK_FRAMES ? stack->count : FWR_STACK_FRAMES;
    struct graft g =
        w->rechecks ? (struct graft){.left = count} : graft_at(t, stack->frames, count);
    for (; g.left > 0; g.left--) {
        g.parent = node_of(w, g.parent, &stack->frames[g.left - 1]);
        g.depth = g.parent ? g.depth + 1 : 0; /* no room for its image: what called it is cut off */
    }
    bool cut = g.depth < stack->count, gap = stack->omitted && stack->head < g.depth;
    struct fwr_known_stack known = {
        .omitted = gap ? stack->omitted : 0,
        .head = gap ? stack->head : 0,
        .innermost = (uint16_t)g.parent,
        .end = cut ? FW_END_LIMIT : stack->end,
        .unavailable = stack->unavailable,
    };
    uint32_t number = 0;
    if ((g.depth > 0 || !cut) && has_room(w, FWR_STACK_BYTES))
        number = tree_stack(t, &known);
    t->dropped += number == 0;
    t->cut += number != 0 && cut;
    return w->failed ? 0 : number;
}

void fwr_thread(struct fwr_writer *w, const struct fwr_thread *thread)
{
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, THREADS_THREAD);
    wire_uint(&item, THREAD_ID, thread->id);
    wire_text(&item, THREAD_NAME, thread->name, FWR_WORD_BYTES);
    wire_text(&item, THREAD_QUEUE, thread->queue, FWR_WORD_BYTES);
    wire_uint(&item, THREAD_STATE, (uint8_t)thread->state);
    wire_uint(&item, THREAD_MAIN, thread->is_main);
    wire_uint(&item, THREAD_WATCHED, thread->is_watched);
    wire_uint(&item, THREAD_STACK, thread->stack);
    wire_uint(&item, THREAD_UNAVAILABLE, thread->unavailable);
    wire_close(&item, one);
    item_end(w, FWR_THREADS, &item);
}

void fwr_hang(struct fwr_writer *w, const struct fwr_hang *hang)
{
    struct wire item = item_begin(w);
    wire_uint(&item, HANG_THREAD, hang->thread);
    wire_text(&item, HANG_WATCH, hang->watch, FWR_WORD_BYTES);
    wire_uint(&item, HANG_THRESHOLD_NS, hang->threshold_ns);
    wire_uint(&item, HANG_SEVERE_NS, hang->severe_ns);
    wire_uint(&item, HANG_SO_FAR_NS, hang->so_far_ns);
    wire_uint(&item, HANG_UNSAMPLED_NS, hang->unsampled_ns);
    item_end(w, FWR_HANG, &item);
}

void fwr_sample(struct fwr_writer *w, const struct fwr_sample *sample)
{
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, SAMPLES_SAMPLE);
    wire_uint(&item, SAMPLE_STACK, sample->stack);
    wire_uint(&item, SAMPLE_AGAIN, sample->count ? sample->count - 1 : 0);
    wire_sint(&item, SAMPLE_AT_NS, sample->at_ns - w->last_at_ns);
    wire_uint(&item, SAMPLE_WEIGHT_NS, sample->weight_ns);
    wire_close(&item, one);
    if (!item_end(w, FWR_SAMPLES, &item))
        return;
    w->last_at_ns = sample->at_ns;
    const uint64_t until = sample->until_ns ? sample->until_ns : sample->at_ns + sample->weight_ns;
    if (w->until_ns < until)
        w->until_ns = until;
}

void fwr_hang_end(struct fwr_writer *w, const struct fwr_hang_end *end)
{
    struct wire item = item_begin(w);
    item.at += fwr_encode_hang_end(item.at, (size_t)(item.end - item.at), end);
    item_end(w, FWR_HANG_END, &item);
}

uint32_t fwr_api(struct fwr_writer *w, const char *name, uint64_t calls, uint32_t pointers,
                 uint32_t inside, bool found)
{
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, APIS_API);
    wire_text(&item, API_NAME, name, FWR_TEXT_BYTES);
    wire_uint(&item, API_CALLS, calls);
    wire_uint(&item, API_POINTERS, pointers);
    wire_uint(&item, API_INSIDE, inside);
    wire_uint(&item, API_FOUND, found);
    wire_close(&item, one);
    return item_end(w, FWR_APIS, &item) ? ++w->api_count : 0;
}

void fwr_call(struct fwr_writer *w, const struct fwr_call *call)
{
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, CALLS_CALL);
    wire_uint(&item, CALL_API, call->api);
    wire_uint(&item, CALL_STACK, call->stack);
    wire_uint(&item, CALL_THREAD, call->thread);
    wire_uint(&item, CALL_COUNT, call->count);
    wire_sint(&item, CALL_FIRST_MS, call->first_ms - w->started_ms);
    wire_sint(&item, CALL_LAST_MS, call->last_ms - call->first_ms);
    wire_close(&item, one);
    item_end(w, FWR_CALLS, &item);
}

void fwr_symbol(struct fwr_writer *w, uint64_t address, uint64_t size, const char *name,
                const char *file, uint32_t line)
{
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, SYMBOLS_SYMBOL);
    wire_uint(&item, SYMBOL_ADDRESS, address);
    wire_uint(&item, SYMBOL_SIZE, size);
    wire_text(&item, SYMBOL_NAME, name, FWR_TEXT_BYTES);
    wire_path(&item, SYMBOL_FILE, file);
    wire_uint(&item, SYMBOL_LINE, line);
    wire_close(&item, one);
    item_end(w, FWR_SYMBOLS, &item);
}

void fwr_total(struct fwr_writer *w, const char *name, uint64_t value)
{
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, TOTALS_TOTAL);
    wire_text(&item, TOTAL_NAME, name, FWR_WORD_BYTES);
    wire_uint(&item, TOTAL_VALUE, value);
    wire_close(&item, one);
    item_end(w, FWR_TOTALS, &item);
}

/* ---- scripts ---- */

/* The number of a frame of an interpreter, written when it is new; 0: no room. */
static uint32_t script_frame(struct fwr_writer *w, const struct fwr_script_frame *frame)
{
    struct script_place place = scripts_find(&w->scripts, frame);
    if (place.number || w->scripts.count == FWR_SCRIPT_FRAMES_MAX)
        return place.number;
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, SCRIPTS_FRAME);
    wire_text(&item, SCRIPT_FUNCTION, frame->function, FWR_WORD_BYTES);
    wire_path(&item, SCRIPT_FILE, frame->file);
    wire_uint(&item, SCRIPT_LINE, frame->line);
    wire_close(&item, one);
    return item_end(w, FWR_SCRIPTS, &item) ? scripts_add(&w->scripts, place) : 0;
}

void fwr_script(struct fwr_writer *w, uint64_t thread, uint64_t at_ns, const char *language,
                const struct fwr_script_frame *frames, uint32_t count)
{
    uint16_t numbers[FWR_SCRIPT_DEPTH];
    uint32_t kept = 0;
    while (kept < count && kept < FWR_SCRIPT_DEPTH) {
        uint32_t number = script_frame(w, &frames[kept]);
        if (number == 0)
            break;
        numbers[kept++] = (uint16_t)number;
    }
    struct wire item = item_begin(w);
    uint8_t *one = wire_open(&item, SCRIPTS_SCRIPT);
    wire_uint(&item, SCRIPT_THREAD, thread);
    wire_uint(&item, SCRIPT_AT_NS, at_ns);
    wire_text(&item, SCRIPT_LANGUAGE, language, FWR_WORD_BYTES);
    uint8_t *list = wire_open(&item, SCRIPT_FRAMES);
    for (uint32_t i = 0; i < kept; i++)
        wire_varint(&item, numbers[i]);
    wire_close(&item, list);
    wire_uint(&item, SCRIPT_OMITTED, count - kept);
    wire_close(&item, one);
    if (item_end(w, FWR_SCRIPTS, &item))
        w->scripts_cut += kept < count;
}
