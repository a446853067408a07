/*
 * JSON, as docs/dump-json.md specifies it: change the two together, and raise `version` when a
 * reader could notice.
 *
 * Frames are written one by one, so that a stack of a million takes no memory but its own.
 * Addresses are strings: JSON numbers lose bits past 2^53.
 */
#include "base/hex.h"
#include "cli/frame_text.h"

#include "base/utf8.h"
#include "cli/cli.h"
#include "demangle/demangle.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

static json_t *text_or_null(const char *text)
{
    char repaired[DEMANGLE_TEXT_SIZE];
    if (text == NULL)
        return json_null();
    utf8_repair(text, repaired, sizeof(repaired));
    return json_string(repaired);
}

static json_t *hex(uint64_t value)
{
    char text[24];
    snprintf(text, sizeof(text), "0x%" PRIx64, value);
    return json_string(text);
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)(value > INT64_MAX ? INT64_MAX : value));
}

static json_t *hex_bytes(const uint8_t *bytes, size_t size)
{
    char text[2 * 64 + 1];
    if (size == 0)
        return json_null();
    hex_text(text, bytes, size < 64 ? size : 64);
    return json_string(text);
}

/* Sets, taking `value` over; false when out of memory. */
static bool set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) == 0;
}

static json_t *line_or_null(const struct frame_text *text)
{
    return text->file != NULL && text->line > 0 ? number(text->line) : json_null();
}

/* A function that is not on the stack itself. */
static json_t *encode_other(const struct frame_text *text)
{
    json_t *object = json_object();
    bool ok = set(object, "function", text_or_null(text->name));
    ok &= set(object, "symbol", text_or_null(text->linkage));
    ok &= set(object, "file", text_or_null(text->file));
    ok &= set(object, "line", line_or_null(text));
    ok &= set(object, "tail_call", json_boolean(!frame_role_is_certain(text->role)));
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *encode_others(const struct frame_text *texts, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++) {
        if (json_array_append_new(list, encode_other(&texts[i])) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

/* `texts`: what the frame stands for, itself the last. */
static json_t *encode_frame(const struct fw_frame *frame, const struct frame_text *texts,
                            size_t count)
{
    const struct frame_text *text = &texts[count - 1];
    const struct fw_symbol *image = &text->image;
    bool function = text->subject == FRAME_FUNCTION;
    json_t *object = json_object();
    bool ok = set(object, "address", hex(frame->address));
    ok &= set(object, "kind", json_string(frame->kind == FW_FRAME_EXACT ? "exact" : "return"));
    ok &= set(object, "method", json_string(fw_method_text((fw_method)frame->method)));
    ok &= set(object, "signal", json_boolean(text->subject == FRAME_SIGNAL));
    ok &= set(object, "function", function ? text_or_null(text->name) : json_null());
    ok &= set(object, "symbol", text_or_null(text->linkage));
    ok &= set(object, "offset",
              function || text->linkage != NULL ? number(text->offset) : json_null());
    ok &= set(object, "plt", json_boolean(image->name != NULL && image->plt));
    ok &= set(object, "image", text_or_null(image->image));
    ok &= set(object, "image_offset", image->image ? hex(image->image_offset) : json_null());
    ok &= set(object, "build_id", hex_bytes(image->build_id, image->build_id_size));
    ok &= set(object, "file", text_or_null(text->file));
    ok &= set(object, "line", line_or_null(text));
    ok &= set(object, "inlines", encode_others(texts, count - 1));
    ok &= set(object, "ambiguous_tail_calls", json_boolean(text->ambiguous));
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static const char *end_word(uint8_t end)
{
    static const char *const words[] = {
        [FW_END_NONE] = "none",
        [FW_END_ROOT] = "root",
        [FW_END_LIMIT] = "limit",
        [FW_END_NO_INFO] = "no-info",
        [FW_END_BAD_MEMORY] = "bad-memory",
        [FW_END_LOOP] = "loop",
        [FW_END_BAD_INFO] = "bad-info",
        [FW_END_NOT_CODE] = "not-code",
        [FW_END_UNAVAILABLE] = "unavailable",
    };
    return end < sizeof(words) / sizeof(words[0]) ? words[end] : "none";
}

/* The members of a stack before its frames. */
static json_t *encode_stack(const struct dump_stack *stack)
{
    json_t *object = json_object();
    char id[24];
    snprintf(id, sizeof(id), "%016" PRIx64, stack->id);
    bool ok = set(object, "id", json_string(id));
    ok &= set(object, "samples", number(stack->samples));
    ok &= set(object, "end", json_string(end_word(stack->end)));
    ok &= set(object, "unavailable",
              stack->end == FW_END_UNAVAILABLE
                  ? json_string(fw_unavailable_text((fw_unavailable)stack->unavailable))
                  : json_null());
    ok &= set(object, "omitted", number(stack->omitted));
    ok &= set(object, "omitted_after", stack->omitted > 0 ? number(stack->head) : json_null());
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

/* The members of a thread before its stacks. */
static json_t *encode_thread(const struct dump_thread *thread)
{
    json_t *object = json_object();
    const char state[2] = {thread->state, '\0'}, *word = dump_state_word(thread->state);
    bool known = word[0] != '\0';
    bool ok = set(object, "id", json_integer(thread->id));
    ok &= set(object, "name", text_or_null(thread->name));
    ok &= set(object, "main", json_boolean(thread->is_main));
    ok &= set(object, "state", known ? json_string(state) : json_null());
    ok &= set(object, "state_text", known ? json_string(word) : json_null());
    ok &= set(object, "wait_channel",
              thread->wait_channel[0] != '\0' ? text_or_null(thread->wait_channel) : json_null());
    ok &= set(object, "signal", thread->signal != 0 ? json_integer(thread->signal) : json_null());
    ok &= set(object, "pause_ns", number(thread->pause_ns));
    ok &= set(object, "samples", number(thread->samples));
    ok &= set(object, "running", number(thread->running));
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *encode_process(const struct dump *dump)
{
    json_t *object = json_object();
    bool ok = set(object, "pid", json_integer(dump->info.pid));
    ok &= set(object, "executable", text_or_null(dump->info.executable));
    ok &= set(object, "command", text_or_null(dump->info.command));
    ok &= set(object, "arch", text_or_null(dump->info.arch));
    ok &= set(object, "core", text_or_null(dump->core));
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *encode_sampling(const struct dump *dump)
{
    if (!dump->sampled)
        return json_null();
    json_t *object = json_object();
    bool ok = set(object, "seconds", json_real(dump->seconds));
    ok &= set(object, "seconds_asked", json_real(dump->asked));
    ok &= set(object, "hz_asked", json_real(dump->hz));
    ok &= set(object, "rounds", number(dump->rounds));
    ok &= set(object, "interrupted", json_boolean(dump->interrupted));
    if (ok)
        return object;
    json_decref(object);
    return NULL;
}

static json_t *encode_missing(const struct dump *dump)
{
    json_t *list = json_array();
    for (size_t i = 0; i < dump->missing_count; i++)
        json_array_append_new(list, text_or_null(dump->missing[i]));
    return list;
}

enum { FORM = JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(6) };

/* Writes `value` and lets it go. */
static bool put(json_t *value, FILE *to)
{
    bool ok = value != NULL && json_dumpf(value, to, FORM) == 0;
    json_decref(value);
    return ok || ferror(to);
}

/* Text of `value`, which is let go; malloc'ed, NULL when out of memory. */
static char *text_of(json_t *value)
{
    char *text = value != NULL ? json_dumps(value, FORM) : NULL;
    json_decref(value);
    return text;
}

/* Writes an object, which is let go, but not its end: one more member follows. */
static bool put_open(json_t *object, const char *member, FILE *to)
{
    char *text = text_of(object);
    if (text == NULL)
        return false;
    fwrite(text, 1, strlen(text) - 1, to);
    fprintf(to, ",\"%s\":[", member);
    free(text);
    return true;
}

static bool put_member(const char *key, json_t *value, FILE *to)
{
    fprintf(to, "\"%s\":", key);
    bool ok = put(value, to);
    fputs(",\n", to);
    return ok;
}

/* What a frame says depends on itself and on those at its sides (tail calls): equal ones, as of
 * deep recursion, are encoded once. A place of the table is taken over by the last that wants it.
 */
struct frame_key {
    uint64_t address[3]; /* inside of it, its own, its caller's; 0 where there is none */
    uint8_t kind[3], flags[3], method;
};

struct frame_slot {
    struct frame_key key;
    char *text; /* NULL: free */
    size_t size;
};

enum { SLOTS = 4096 };

struct writer {
    struct frame_names names;
    struct frame_list list;
    struct frame_slot *slots; /* SLOTS */
    FILE *to;
};

static struct frame_key key_of(const struct dump_stack *stack, uint32_t at)
{
    struct frame_key key;
    memset(&key, 0, sizeof(key)); /* the padding, too */
    for (uint32_t i = 0; i < 3; i++) {
        const uint32_t frame = at + i - 1, later = i == 0 ? at : frame;
        bool gap = i != 1 && later == stack->head && stack->omitted > 0;
        if ((at == 0 && i == 0) || frame >= stack->count || gap)
            continue;
        key.address[i] = stack->frames[frame].address;
        key.kind[i] = (uint8_t)(stack->frames[frame].kind + 1);
        key.flags[i] = stack->frames[frame].flags;
    }
    key.method = stack->frames[at].method;
    return key;
}

static struct frame_slot *slot_of(struct writer *writer, const struct frame_key *key)
{
    uint64_t hash = key->method;
    for (unsigned i = 0; i < 3; i++)
        hash = (hash ^ key->address[i]) * 0x9e3779b97f4a7c15u;
    return &writer->slots[(hash >> 32) % SLOTS];
}

/* False when out of memory. */
static bool put_frame(struct writer *writer, const struct dump_stack *stack, uint32_t at)
{
    const struct frame_key key = key_of(stack, at);
    struct frame_slot *slot = slot_of(writer, &key);
    if (slot->text == NULL || memcmp(&slot->key, &key, sizeof(key)) != 0) {
        struct frame_list *list = &writer->list;
        list->count = 0;
        if (!frame_describe(&writer->names, stack, at, list))
            return false;
        free(slot->text);
        slot->text = text_of(encode_frame(&stack->frames[at], list->items, list->count));
        if (slot->text == NULL)
            return false;
        slot->key = key;
        slot->size = strlen(slot->text);
    }
    fwrite(slot->text, 1, slot->size, writer->to);
    return true;
}

static bool put_stack(struct writer *writer, const struct dump_stack *stack)
{
    bool ok = put_open(encode_stack(stack), "frames", writer->to);
    for (uint32_t i = 0; i < stack->count && ok && !ferror(writer->to); i++) {
        if (i > 0)
            fputc(',', writer->to);
        ok = put_frame(writer, stack, i);
    }
    fputs("]}", writer->to);
    return ok;
}

static bool put_thread(struct writer *writer, const struct dump_thread *thread)
{
    bool ok = put_open(encode_thread(thread), "stacks", writer->to);
    for (size_t i = 0; i < thread->stack_count && ok; i++) {
        if (i > 0)
            fputc(',', writer->to);
        ok = put_stack(writer, &thread->stacks[i]);
    }
    fputs("]}", writer->to);
    return ok;
}

static bool put_threads(const struct dump *dump, const struct dump_options *options, FILE *to)
{
    struct writer writer = {.slots = calloc(SLOTS, sizeof(*writer.slots)), .to = to};
    bool ok = writer.slots != NULL;
    frame_names_init(&writer.names, dump, options);
    for (size_t i = 0; i < dump->thread_count && ok; i++) {
        fputs(i == 0 ? "\n" : ",\n", to);
        ok = put_thread(&writer, &dump->threads[i]);
    }
    frame_names_free(&writer.names);
    frame_list_free(&writer.list);
    for (size_t i = 0; writer.slots != NULL && i < SLOTS; i++)
        free(writer.slots[i].text);
    free(writer.slots);
    return ok;
}

bool dump_write_json(const struct dump *dump, const struct dump_options *options, FILE *to)
{
    struct tm utc;
    char when[32] = "";
    gmtime_r(&dump->when.tv_sec, &utc);
    strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);

    fputs("{", to);
    bool ok = put_member("format", json_string("framewalk-dump"), to);
    ok &= put_member("version", json_integer(VERSION), to);
    ok &= put_member("tool", json_string("framewalk " FW_VERSION), to);
    ok &= put_member("time", dump->core == NULL ? json_string(when) : json_null(), to);
    ok &= put_member("process", encode_process(dump), to);
    ok &= put_member("sampling", encode_sampling(dump), to);
    ok &= put_member("complete", json_boolean(dump->missing_count == 0), to);
    ok &= put_member("missing", encode_missing(dump), to);
    fputs("\"threads\":[", to);
    ok = ok && put_threads(dump, options, to);
    fputs("\n]}\n", to);
    return ok;
}
