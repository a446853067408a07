/*
 * Names that a report brings itself (digest.h): what other tools looked up before, and functions
 * that a JIT compiler made, which no debug file will ever name.
 */
#include "base/little_endian.h"
#include "collector/digest_stacks.h"
#include "report/out.h"

#include <openssl/evp.h>

enum { SLOTS = 2 * DIGEST_NAMED, INLINES = 16 };

static bool same_place(const struct digest_named *named, const struct stack_frame *frame)
{
    return named->frame.image == frame->image && named->frame.offset == frame->offset &&
           stack_flags(&named->frame) == stack_flags(frame);
}

/* Where the frame is, or would be. */
static uint32_t *slot_of(struct digest_maker *m, const struct stack_frame *frame)
{
    uint64_t hash =
        (frame->offset ^ (uint64_t)frame->image << 40 ^ stack_flags(frame)) * 0x9e3779b97f4a7c15;
    for (size_t i = (hash ^ hash >> 31) % SLOTS;; i = (i + 1) % SLOTS) {
        uint32_t *slot = &m->named_slots[i];
        if (!*slot || same_place(&m->d->named[*slot - 1], frame))
            return slot;
    }
}

static bool make_room(struct digest_maker *m)
{
    if (m->named_slots)
        return true;
    m->named_slots = arena_take_many(m->arena, SLOTS, sizeof *m->named_slots);
    m->d->named = arena_take_many(m->arena, DIGEST_NAMED, sizeof *m->d->named);
    m->failed |= !m->named_slots || !m->d->named;
    if (m->failed)
        return false;
    memset(m->named_slots, 0, SLOTS * sizeof *m->named_slots);
    return true;
}

static bool is_name(const char *function)
{
    return function && *function && strcmp(function, "<redacted>") != 0 &&
           strcmp(function, "???") != 0 && strcmp(function, "<unknown>") != 0;
}

static void add_text(struct report_bytes *out, const char *text)
{
    out_bytes(out, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* The same for the same functions in every process. */
static uint64_t hash_names(struct digest_maker *m, const struct report_name *names, size_t count)
{
    struct report_bytes text = {0};
    unsigned char hash[EVP_MAX_MD_SIZE] = {0};
    for (size_t i = 0; i < count; i++) {
        add_text(&text, names[i].function);
        add_text(&text, names[i].file);
        out_format(&text, "%u", (unsigned)names[i].line);
    }
    if (text.failed || EVP_Digest(text.data, text.size, hash, NULL, EVP_sha256(), NULL) != 1)
        m->failed = true;
    report_bytes_free(&text);
    return get_u64(hash);
}

static void copy_names(struct digest_maker *m, struct digest_named *to,
                       const struct report_name *names, size_t count)
{
    to->names = arena_take_many(m->arena, count, sizeof *to->names);
    m->failed |= !to->names;
    for (size_t i = 0; i < count && to->names; i++)
        to->names[to->count++] =
            (struct report_name){.function = digest_text(m, names[i].function, DIGEST_PATH),
                                 .file = digest_text(m, names[i].file, DIGEST_PATH),
                                 .line = names[i].line,
                                 .flags = names[i].flags};
}

bool digest_name_frame(struct digest_maker *m, const struct report_name *names, size_t name_count,
                       struct stack_frame *frame)
{
    size_t count = 0;
    while (count < name_count && count < INLINES && is_name(names[count].function))
        count++;
    if (!count || !make_room(m))
        return false;
    struct stack_frame named = *frame;
    named.named = true;
    if (!named.image)
        named.offset = hash_names(m, names, count);
    uint32_t *slot = slot_of(m, &named);
    if (!*slot) {
        if (m->d->named_count == DIGEST_NAMED)
            return false;
        struct digest_named *to = &m->d->named[m->d->named_count++];
        *to = (struct digest_named){.frame = named};
        copy_names(m, to, names, count);
        *slot = (uint32_t)m->d->named_count;
    }
    *frame = named;
    return true;
}
