/*
 * Unpacking by libarchive's streaming readers. A zip is read by its local headers, one behind the
 * other; the central directory, where overlapping and hidden entries live, is never looked at.
 *
 * libarchive ends a name at its first NUL, and unpacks filters before formats: an archive packed
 * twice (gzip in gzip) is refused, as its inner layer could grow unseen.
 */
#include "collector/unpack.h"

#include "base/arena.h"
#include "base/failure.h"
#include "symbolicate/debug_file.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    NAME_MAX_BYTES = 4096,
    NAMES_MAX_BYTES = 32 << 20, /* of all entries */
    NAME_SLOTS = 1 << 18,       /* more than twice as many as entries */
    PROBES_MAX = 4096,          /* a name that collides with so many was made to */
    SHOWN = 120,                /* bytes of a name in a message */
};

struct unpacking {
    const struct unpack_source *source;
    const struct unpack_sink *sink;
    struct archive *archive;
    struct unpack_sum *sum;
    struct fw_failure *why;
    uint64_t limit, consumed;
    bool source_failed;
    struct arena arena; /* names */
    const char **names; /* NAME_SLOTS, by their hash */
    size_t name_bytes;
    char shown[SHOWN + 4]; /* the entry in hand */
    const char *name;      /* the same, as it is */
    bool is_file;
};

static la_ssize_t give(struct archive *archive, void *context, const void **bytes)
{
    struct unpacking *u = context;
    ssize_t got = u->source->read(u->source->context, bytes);
    if (got < 0) {
        u->source_failed = true;
        archive_set_error(archive, EIO, "the upload cannot be read");
        return ARCHIVE_FATAL;
    }
    u->consumed += (uint64_t)got;
    return got;
}

static fw_error refuse(struct unpacking *u, const char *what)
{
    return failure_say(u->why, FW_ERR_UNSUPPORTED, 0, "%s: %s", u->shown, what);
}

/* libarchive's own words may quote the archive: only what prints is kept. */
static fw_error damaged(struct unpacking *u)
{
    if (u->source_failed)
        return failure_say(u->why, FW_ERR_SYSTEM, 0, "the upload cannot be read");
    const char *text = archive_error_string(u->archive);
    char clean[128] = "damaged";
    size_t n = 0;
    for (; text && text[n] && n + 1 < sizeof clean; n++)
        clean[n] = text[n] >= ' ' && text[n] < 127 ? text[n] : '?';
    if (n)
        clean[n] = 0;
    return failure_say(u->why, FW_ERR_CORRUPT, 0, "%s%s%s", u->shown, u->shown[0] ? ": " : "",
                       clean);
}

static void show_name(struct unpacking *u, const char *name)
{
    size_t length = strlen(name), n = 0;
    const char *from = length > SHOWN ? name + length - SHOWN : name;
    if (from != name)
        for (; n < 3; n++)
            u->shown[n] = '.';
    for (; *from; from++, n++)
        u->shown[n] = *from >= ' ' && *from < 127 ? *from : '?';
    u->shown[n] = 0;
}

/* ---- names ---- */

static bool climbs(const char *name)
{
    for (const char *part = name; part; part = strchr(part, '/') ? strchr(part, '/') + 1 : NULL)
        if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == 0))
            return true;
    return false;
}

/* False when the name was there. */
static fw_error note_name(struct unpacking *u, const char *name)
{
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        length--;
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3;
    for (size_t probe = 0; probe < PROBES_MAX; probe++) {
        const char **slot = &u->names[(hash + probe) & (NAME_SLOTS - 1)];
        if (*slot && strncmp(*slot, name, length) == 0 && (*slot)[length] == 0)
            return refuse(u, "comes twice in the archive");
        if (*slot)
            continue;
        u->name_bytes += length;
        char *copy = u->name_bytes <= NAMES_MAX_BYTES ? arena_take(&u->arena, length + 1) : NULL;
        if (!copy)
            return failure_say(u->why, FW_ERR_FULL, 0, "too many long names in the archive");
        memcpy(copy, name, length);
        copy[length] = 0;
        *slot = copy;
        return FW_OK;
    }
    return failure_say(u->why, FW_ERR_FULL, 0, "names in the archive that were made to collide");
}

static fw_error check_entry(struct unpacking *u, struct archive_entry *entry, bool packed_file)
{
    const char *name = archive_entry_pathname(entry);
    if (!name)
        name = archive_entry_pathname_utf8(entry);
    u->shown[0] = 0;
    if (!name || !name[0])
        return failure_say(u->why, FW_ERR_UNSUPPORTED, 0, "entry %llu has no name that can be read",
                           (unsigned long long)u->sum->entries);
    show_name(u, name);
    u->name = name;
    u->is_file = packed_file || archive_entry_filetype(entry) == AE_IFREG;
    if (packed_file)
        return FW_OK; /* libarchive calls it "data" */
    if (strlen(name) > NAME_MAX_BYTES)
        return refuse(u, "the name is too long");
    if (name[0] == '/' || strchr(name, '\\') || climbs(name))
        return refuse(u, "a name that leads out of the archive");
    if (archive_entry_is_encrypted(entry))
        return refuse(u, "encrypted");
    if (archive_entry_hardlink(entry) || archive_entry_symlink(entry))
        return refuse(u, "a link; pack the files themselves");
    mode_t type = archive_entry_filetype(entry);
    if (type != AE_IFREG && type != AE_IFDIR)
        return refuse(u, "neither a file nor a folder");
    return note_name(u, name);
}

/* ---- contents ---- */

static fw_error count_bytes(struct unpacking *u, uint64_t more)
{
    struct unpack_sum *sum = u->sum;
    uint64_t unfiltered = (uint64_t)archive_filter_bytes(u->archive, 0);
    if (more > UINT64_MAX - sum->produced)
        more = UINT64_MAX - sum->produced;
    sum->produced += more;
    uint64_t produced = sum->produced > unfiltered ? sum->produced : unfiltered;
    if (produced > u->limit)
        return failure_say(u->why, FW_ERR_FULL, 0,
                           "%s: the archive unpacks to more than %llu MB, which is the limit",
                           u->shown, (unsigned long long)(u->limit >> 20));
    if (produced > UNPACK_RATIO_FROM && produced / UNPACK_RATIO > u->consumed)
        return failure_say(u->why, FW_ERR_FULL, 0,
                           "%s: unpacks to more than %d bytes for each of the archive", u->shown,
                           UNPACK_RATIO);
    return FW_OK;
}

struct contents { /* of the entry in hand */
    uint8_t start[DEBUG_FILE_START];
    size_t start_size; /* how many of these are there; then it is decided */
    bool decided, wanted;
    uint64_t end; /* where the next block may begin */
};

static bool is_archive(struct span start)
{
    static const struct {
        const char *magic;
        size_t size;
    } known[] = {{"PK\3\4", 4},
                 {"\x1f\x8b", 2},
                 {"\xfd"
                  "7zXZ",
                  5},
                 {"\x28\xb5\x2f\xfd", 4},
                 {"7z\xbc\xaf", 4},
                 {"BZh", 3}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (start.size >= known[i].size && memcmp(start.data, known[i].magic, known[i].size) == 0)
            return true;
    return false;
}

static fw_error sink_ended(struct unpacking *u)
{
    return failure_say(u->why, FW_ERR_SYSTEM, 0, "%s: given up", u->shown);
}

/* Once enough of the start is there, or all of it. */
static fw_error decide(struct unpacking *u, struct contents *c)
{
    const struct unpack_sink *sink = u->sink;
    struct span start = {c->start, c->start_size};
    c->decided = true;
    c->wanted = sink->all ? u->is_file : debug_file_form(start) != DEBUG_FILE_NONE;
    u->sum->archives += is_archive(start);
    if (!c->wanted)
        return FW_OK;
    u->sum->files++;
    if (!sink->begin(sink->context, sink->all ? u->name : u->shown) ||
        !sink->write(sink->context, 0, start))
        return sink_ended(u);
    return FW_OK;
}

static fw_error take_block(struct unpacking *u, struct contents *c, uint64_t offset,
                           struct span block)
{
    if (offset < c->end || block.size > UINT64_MAX - offset)
        return refuse(u, "its parts are out of order");
    fw_error error = count_bytes(u, offset - c->end + block.size);
    if (error != FW_OK)
        return error;
    bool hole = offset > c->end;
    c->end = offset + block.size;
    if (!c->decided && hole && !c->start_size && !u->sink->all)
        c->decided = true; /* begins with zeros: nothing we know does */
    while (!c->decided && block.size && !hole) {
        size_t room = sizeof c->start - c->start_size;
        size_t n = block.size < room ? block.size : room;
        memcpy(c->start + c->start_size, block.data, n);
        c->start_size += n;
        block.data += n;
        block.size -= n;
        offset += n;
        if (c->start_size == sizeof c->start && (error = decide(u, c)) != FW_OK)
            return error;
    }
    if (!c->decided && hole && (error = decide(u, c)) != FW_OK)
        return error;
    if (c->wanted && block.size && !u->sink->write(u->sink->context, offset, block))
        return sink_ended(u);
    return FW_OK;
}

static fw_error take_contents(struct unpacking *u)
{
    struct contents c = {0};
    fw_error error = FW_OK;
    for (;;) {
        const void *data = NULL;
        size_t size = 0;
        la_int64_t offset = 0;
        int result = archive_read_data_block(u->archive, &data, &size, &offset);
        if (result == ARCHIVE_EOF)
            offset = offset > (la_int64_t)c.end ? offset : (la_int64_t)c.end;
        else if (result != ARCHIVE_OK)
            return damaged(u);
        if (offset < 0)
            return refuse(u, "its parts are out of order");
        if (result == ARCHIVE_EOF)
            size = 0;
        error = take_block(u, &c, (uint64_t)offset, (struct span){data, size});
        if (error != FW_OK)
            return error;
        if (result == ARCHIVE_EOF)
            break;
    }
    if (!c.decided && (error = decide(u, &c)) != FW_OK)
        return error;
    if (c.wanted && !u->sink->end(u->sink->context, c.end))
        return sink_ended(u);
    return FW_OK;
}

/* ---- all entries ---- */

static fw_error each_entry(struct unpacking *u)
{
    struct archive_entry *entry;
    for (;;) {
        int result = archive_read_next_header(u->archive, &entry);
        if (result == ARCHIVE_EOF)
            return FW_OK;
        if (result != ARCHIVE_OK && result != ARCHIVE_WARN)
            return damaged(u);
        bool packed_file = archive_format(u->archive) == ARCHIVE_FORMAT_RAW;
        int filters = archive_filter_count(u->archive); /* the last one is "none" */
        if (packed_file && filters < 2)
            return failure_say(u->why, FW_ERR_FORMAT, 0,
                               "neither a debug file nor an archive that is known here "
                               "(zip; tar, also packed with gzip, xz or zstd)");
        if (filters > 2)
            return failure_say(u->why, FW_ERR_UNSUPPORTED, 0, "packed more than once");
        if (++u->sum->entries > UNPACK_ENTRIES)
            return failure_say(u->why, FW_ERR_FULL, 0, "more than %d entries in the archive",
                               UNPACK_ENTRIES);
        fw_error error = check_entry(u, entry, packed_file);
        if (error == FW_OK)
            error = take_contents(u);
        if (error != FW_OK)
            return error;
    }
}

static bool set_up(struct unpacking *u)
{
    struct archive *a = u->archive;
    return a && u->names && archive_read_support_filter_gzip(a) == ARCHIVE_OK &&
           archive_read_support_filter_xz(a) == ARCHIVE_OK &&
           archive_read_support_filter_zstd(a) == ARCHIVE_OK &&
           archive_read_support_format_zip_streamable(a) == ARCHIVE_OK &&
           archive_read_support_format_tar(a) == ARCHIVE_OK &&
           archive_read_support_format_raw(a) == ARCHIVE_OK;
}

fw_error unpack(const struct unpack_source *source, uint64_t limit, const struct unpack_sink *sink,
                struct unpack_sum *sum, struct fw_failure *why)
{
    *sum = (struct unpack_sum){0};
    struct unpacking u = {.source = source,
                          .sink = sink,
                          .archive = archive_read_new(),
                          .sum = sum,
                          .why = why,
                          .limit = limit,
                          .names = calloc(NAME_SLOTS, sizeof *u.names)};
    fw_error error;
    if (!set_up(&u))
        error = failure_say(why, FW_ERR_MEMORY, 0, "out of memory, or libarchive lacks a format");
    else if (archive_read_open(u.archive, &u, NULL, give, NULL) != ARCHIVE_OK)
        error = damaged(&u);
    else
        error = each_entry(&u);
    archive_read_free(u.archive);
    arena_free(&u.arena);
    free(u.names);
    return error;
}
