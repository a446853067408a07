/* What comes out of archives, and what is refused, with archives made here: by libarchive's writer
 * where it can, else byte by byte. */
#include "collector/unpack.h"

#include <archive.h>
#include <archive_entry.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include <cmocka.h>

enum { MB = 1 << 20, ELF_SIZE = 5000 };

struct bytes {
    uint8_t *data;
    size_t size, room, at;
};

static void add(struct bytes *b, const void *data, size_t size)
{
    if (b->size + size > b->room) {
        b->room = 2 * (b->size + size);
        b->data = realloc(b->data, b->room);
        assert_non_null(b->data);
    }
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

static ssize_t give(void *context, const void **bytes)
{
    struct bytes *b = context;
    size_t n = b->size - b->at < 1000 ? b->size - b->at : 1000; /* in small pieces */
    *bytes = b->data + b->at;
    b->at += n;
    return (ssize_t)n;
}

struct taken { /* what came out */
    unsigned files;
    char names[256];
    uint64_t written, end;
    uint32_t crc;
    uint64_t stop_at; /* the sink fails once so much was written; 0: never */
};

static bool begin(void *context, const char *name)
{
    struct taken *t = context;
    size_t used = strlen(t->names);
    t->files++;
    snprintf(t->names + used, sizeof t->names - used, "%s%s", used ? " " : "", name);
    return true;
}

static bool take(void *context, uint64_t offset, struct span bytes)
{
    struct taken *t = context;
    assert_true(offset >= t->end || t->end == 0 || offset == 0);
    t->written += bytes.size;
    t->end = offset + bytes.size;
    t->crc = (uint32_t)crc32(t->crc, bytes.data, (unsigned)bytes.size);
    return !t->stop_at || t->written < t->stop_at;
}

static bool end(void *context, uint64_t size)
{
    struct taken *t = context;
    t->end = size;
    return true;
}

static fw_error run(struct bytes *b, uint64_t limit, struct taken *t, struct unpack_sum *sum,
                    struct fw_failure *why)
{
    const struct unpack_source source = {give, b};
    const struct unpack_sink sink = {begin, take, end, t, false};
    b->at = 0;
    return unpack(&source, limit, &sink, sum, why);
}

/* Refused, in words that have `words` in them. */
static void refused(struct bytes *b, uint64_t limit, fw_error code, const char *words)
{
    struct taken t = {0};
    struct unpack_sum sum;
    struct fw_failure why = {0};
    assert_int_equal(run(b, limit, &t, &sum, &why), code);
    if (!strstr(why.message, words))
        fail_msg("\"%s\" does not say \"%s\"", why.message, words);
}

/* ---- archives by libarchive ---- */

static la_ssize_t put(struct archive *a, void *context, const void *data, size_t size)
{
    (void)a;
    add(context, data, size);
    return (la_ssize_t)size;
}

static struct archive *start(struct bytes *b, int format, int filter)
{
    struct archive *a = archive_write_new();
    if (format == ARCHIVE_FORMAT_ZIP)
        archive_write_set_format_zip(a);
    else
        archive_write_set_format_pax_restricted(a);
    archive_write_set_bytes_in_last_block(a, 1);
    if (filter)
        archive_write_add_filter(a, filter);
    assert_int_equal(archive_write_open(a, b, NULL, put, NULL), ARCHIVE_OK);
    return a;
}

static void add_entry(struct archive *a, const char *name, unsigned type, const char *link,
                      const void *data, size_t size)
{
    struct archive_entry *entry = archive_entry_new();
    archive_entry_set_pathname(entry, name);
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, (la_int64_t)size);
    if (link && type == AE_IFLNK)
        archive_entry_set_symlink(entry, link);
    else if (link)
        archive_entry_set_hardlink(entry, link);
    archive_write_header(a, entry);
    archive_write_data(a, data, size);
    archive_entry_free(entry);
}

static void stop(struct archive *a)
{
    archive_write_close(a);
    archive_write_free(a);
}

static const uint8_t *elf(void)
{
    static uint8_t bytes[ELF_SIZE] = "\x7f"
                                     "ELF";
    for (size_t i = 4; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7919 >> 3);
    return bytes;
}

static void takes_what_is_of_use(void **state)
{
    (void)state;
    static const int forms[][2] = {{ARCHIVE_FORMAT_ZIP, 0},
                                   {ARCHIVE_FORMAT_TAR, 0},
                                   {ARCHIVE_FORMAT_TAR, ARCHIVE_FILTER_GZIP},
                                   {ARCHIVE_FORMAT_TAR, ARCHIVE_FILTER_XZ},
                                   {ARCHIVE_FORMAT_TAR, ARCHIVE_FILTER_ZSTD}};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        struct bytes b = {0};
        struct taken t = {0};
        struct unpack_sum sum;
        struct fw_failure why = {0};
        struct archive *a = start(&b, forms[i][0], forms[i][1]);
        add_entry(a, "./dir", AE_IFDIR, NULL, NULL, 0);
        add_entry(a, "./dir/readme", AE_IFREG, NULL, "hello", 5);
        add_entry(a, "./dir/empty", AE_IFREG, NULL, "", 0);
        add_entry(a, "./dir/libshop.so", AE_IFREG, NULL, elf(), ELF_SIZE);
        add_entry(a, "./dir/inner.zip", AE_IFREG, NULL, "PK\3\4 and more", 13);
        add_entry(a, "./dir/map", AE_IFREG, NULL, "FWSYMMAP????", 12);
        stop(a);
        assert_int_equal(run(&b, 10 * MB, &t, &sum, &why), FW_OK);
        assert_int_equal(sum.entries, 6);
        assert_int_equal(sum.files, 2);
        assert_int_equal(sum.archives, 1);
        assert_int_equal(t.written, ELF_SIZE + 12);
        assert_string_equal(t.names, "./dir/libshop.so ./dir/map");
        free(b.data);
    }
}

static void a_packed_file_alone(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct taken t = {0};
    struct unpack_sum sum;
    uLongf size = compressBound(ELF_SIZE) + 64;
    uint8_t *packed = malloc(size);
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)elf(), .avail_in = ELF_SIZE};
    z.next_out = packed;
    z.avail_out = (unsigned)size;
    assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    add(&b, packed, z.total_out);
    deflateEnd(&z);
    assert_int_equal(run(&b, MB, &t, &sum, NULL), FW_OK);
    assert_int_equal(t.files, 1);
    assert_int_equal(t.crc, crc32(0, elf(), ELF_SIZE));
    for (size_t cut = 1; cut < b.size; cut += 97) { /* cut short: never as if whole */
        struct bytes part = {.data = b.data, .size = cut};
        struct fw_failure why = {0};
        t = (struct taken){0};
        assert_int_not_equal(run(&part, MB, &t, &sum, &why), FW_OK);
        assert_true(why.message[0]);
    }
    free(packed);
    free(b.data);
}

static void refuses_names_and_links(void **state)
{
    (void)state;
    static const struct {
        const char *name, *link;
        unsigned type;
        const char *words;
    } cases[] = {{"/etc/passwd", NULL, AE_IFREG, "/etc/passwd: a name that leads out"},
                 {"a/../../b", NULL, AE_IFREG, "leads out"},
                 {"..", NULL, AE_IFREG, "leads out"},
                 {"a\\b", NULL, AE_IFREG, "leads out"},
                 {"link", "/etc", AE_IFLNK, "link: a link"},
                 {"hard", "one", AE_IFREG, "hard: a link"},
                 {"device", NULL, AE_IFCHR, "neither a file nor a folder"},
                 {"pipe", NULL, AE_IFIFO, "neither a file nor a folder"},
                 {"one", NULL, AE_IFREG, "one: comes twice"},
                 {"one/", NULL, AE_IFDIR, "comes twice"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct bytes b = {0};
        struct archive *a = start(&b, ARCHIVE_FORMAT_TAR, 0);
        add_entry(a, "one", AE_IFREG, NULL, elf(), ELF_SIZE);
        add_entry(a, cases[i].name, cases[i].type, cases[i].link, elf(),
                  cases[i].type == AE_IFREG && !cases[i].link ? ELF_SIZE : 0);
        stop(a);
        refused(&b, MB, FW_ERR_UNSUPPORTED, cases[i].words);
        free(b.data);
    }
    /* Names that only look like it. */
    struct bytes b = {0};
    struct taken t = {0};
    struct unpack_sum sum;
    struct archive *a = start(&b, ARCHIVE_FORMAT_TAR, 0);
    add_entry(a, "a..b/...", AE_IFREG, NULL, elf(), ELF_SIZE);
    add_entry(a, "..a", AE_IFREG, NULL, elf(), ELF_SIZE);
    stop(a);
    assert_int_equal(run(&b, MB, &t, &sum, NULL), FW_OK);
    assert_int_equal(t.files, 2);
    free(b.data);
}

static void counts_what_is_produced(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct archive *a = start(&b, ARCHIVE_FORMAT_TAR, ARCHIVE_FILTER_GZIP);
    uint8_t *zeros = calloc(1, 100 * MB);
    assert_non_null(zeros);
    add_entry(a, "zeros", AE_IFREG, NULL, zeros,
              100 * MB); /* of no use, and counted all the same */
    stop(a);
    refused(&b, 10 * MB, FW_ERR_FULL, "more than 10 MB");
    refused(&b, (uint64_t)10000 * MB, FW_ERR_FULL, "200 bytes for each");
    free(b.data);
    free(zeros);
}

/* An old GNU header of a sparse file: 10 GB of nothing between two blocks. */
static void counts_holes(void **state)
{
    (void)state;
    struct bytes b = {0};
    uint8_t header[512] = "sparse", block[512] = "\x7f"
                                                 "ELF";
    char *text = (char *)header;
    const unsigned long long size = 10ull << 30;
    snprintf(text + 100, 8, "%07o", 0644u);
    snprintf(text + 124, 12, "%011o", 1024u); /* bytes that are stored */
    snprintf(text + 136, 12, "%011o", 0u);
    text[156] = 'S';
    memcpy(text + 257, "ustar  ", 8);
    snprintf(text + 386, 12, "%011o", 0u); /* where, how many: twice */
    snprintf(text + 398, 12, "%011o", 512u);
    snprintf(text + 410, 13, "%012llo", size - 512);
    snprintf(text + 422, 12, "%011o", 512u);
    snprintf(text + 483, 13, "%012llo", size);
    memset(text + 148, ' ', 8);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof header; i++)
        sum += header[i];
    snprintf(text + 148, 8, "%06o", sum);
    add(&b, header, sizeof header);
    add(&b, block, sizeof block);
    add(&b, block, sizeof block);
    memset(block, 0, sizeof block);
    add(&b, block, sizeof block);
    add(&b, block, sizeof block);
    refused(&b, (uint64_t)1000 * MB, FW_ERR_FULL, "sparse: the archive unpacks to more than");
    /* Holes are files' contents where they fit. */
    struct taken t = {0};
    struct unpack_sum out;
    struct fw_failure why = {0};
    assert_int_equal(run(&b, (uint64_t)20000 * MB, &t, &out, &why), FW_ERR_FULL);
    assert_non_null(strstr(why.message, "200 bytes for each"));
    free(b.data);
}

static void refuses_too_many(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct archive *a = start(&b, ARCHIVE_FORMAT_ZIP, 0);
    for (int i = 0; i <= UNPACK_ENTRIES; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        add_entry(a, name, AE_IFREG, NULL, "", 0);
    }
    stop(a);
    refused(&b, (uint64_t)1000 * MB, FW_ERR_FULL, "more than 100000 entries");
    free(b.data);
}

static void refuses_packed_twice_and_other_forms(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct archive *a = archive_write_new();
    archive_write_set_format_pax_restricted(a);
    archive_write_add_filter_gzip(a);
    archive_write_add_filter_gzip(a);
    assert_int_equal(archive_write_open(a, &b, NULL, put, NULL), ARCHIVE_OK);
    add_entry(a, "one", AE_IFREG, NULL, elf(), ELF_SIZE);
    stop(a);
    refused(&b, MB, FW_ERR_UNSUPPORTED, "packed more than once");
    free(b.data);
    b = (struct bytes){0};
    add(&b, "just some text that is no archive", 33);
    refused(&b, MB, FW_ERR_FORMAT, "neither a debug file nor an archive");
    free(b.data);
}

static void a_sink_that_gives_up(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct archive *a = start(&b, ARCHIVE_FORMAT_ZIP, 0);
    add_entry(a, "one", AE_IFREG, NULL, elf(), ELF_SIZE);
    stop(a);
    struct taken t = {.stop_at = 100};
    struct unpack_sum sum;
    struct fw_failure why;
    assert_int_equal(run(&b, MB, &t, &sum, &why), FW_ERR_SYSTEM);
    free(b.data);
}

/* ---- zips byte by byte ---- */

static void put16(struct bytes *b, unsigned value)
{
    const uint8_t bytes[2] = {(uint8_t)value, (uint8_t)(value >> 8)};
    add(b, bytes, 2);
}

static void put32(struct bytes *b, uint32_t value)
{
    put16(b, value & 0xffff);
    put16(b, value >> 16);
}

struct zip_entry {
    const char *name;
    unsigned flags, method;
    uint32_t crc, packed, size; /* as the header says */
    const void *data;
    size_t data_size;
};

/* What both headers say: from the version needed to the name's size. */
static void put_about(struct bytes *b, const struct zip_entry *e)
{
    put16(b, 20);
    put16(b, e->flags);
    put16(b, e->method);
    put32(b, 0);
    put32(b, e->crc);
    put32(b, e->packed);
    put32(b, e->size);
    put16(b, (unsigned)strlen(e->name));
}

static void local_header(struct bytes *b, const struct zip_entry *e)
{
    put32(b, 0x04034b50);
    put_about(b, e);
    put16(b, 0);
    add(b, e->name, strlen(e->name));
    add(b, e->data, e->data_size);
}

static void central_header(struct bytes *b, const struct zip_entry *e, uint32_t offset)
{
    put32(b, 0x02014b50);
    put16(b, 20);
    put_about(b, e);
    for (int i = 0; i < 4; i++)
        put16(b, 0);
    put32(b, 0);
    put32(b, offset);
    add(b, e->name, strlen(e->name));
}

static void end_of_zip(struct bytes *b, unsigned count, uint32_t from)
{
    uint32_t size = (uint32_t)b->size - from;
    put32(b, 0x06054b50);
    put32(b, 0);
    put16(b, count);
    put16(b, count);
    put32(b, size);
    put32(b, from);
    put16(b, 0);
}

static void lies_of_a_zip(void **state)
{
    (void)state;
    uLongf packed_size = compressBound(ELF_SIZE);
    uint8_t *packed = malloc(packed_size);
    z_stream z = {.next_in = (uint8_t *)(uintptr_t)elf(), .avail_in = ELF_SIZE};
    z.next_out = packed;
    z.avail_out = (unsigned)packed_size;
    deflateInit2(&z, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY);
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    packed_size = z.total_out;
    deflateEnd(&z);
    const uint32_t crc = (uint32_t)crc32(0, elf(), ELF_SIZE), size = (uint32_t)packed_size;
    const struct zip_entry good = {"a", 0, 8, crc, size, ELF_SIZE, packed, packed_size};
    struct zip_entry lies[6];
    for (size_t i = 0; i < 6; i++)
        lies[i] = good;
    lies[0].size = 10;            /* less than comes out */
    lies[1].size = 1 << 30;       /* more than comes out */
    lies[2].crc = crc + 1;        /* other contents */
    lies[3].flags = 1;            /* encrypted */
    lies[4].packed = size + 5000; /* reaches into what follows */
    lies[5].method = 99;          /* a method nobody knows */
    for (size_t i = 0; i < 6; i++) {
        struct bytes b = {0};
        struct taken t = {0};
        struct unpack_sum sum;
        struct fw_failure why = {0};
        local_header(&b, &lies[i]);
        uint32_t from = (uint32_t)b.size;
        central_header(&b, &lies[i], 0);
        end_of_zip(&b, 1, from);
        fw_error error = run(&b, MB, &t, &sum, &why);
        if (error == FW_OK)
            fail_msg("lie %zu was believed", i);
        assert_non_null(strstr(why.message, "a: "));
        assert_true(t.written <= ELF_SIZE);
        free(b.data);
    }
    free(packed);
}

/* A thousand entries of the central directory that share one entry's bytes: they come out once. */
static void overlapping_entries(void **state)
{
    (void)state;
    struct bytes b = {0};
    struct taken t = {0};
    struct unpack_sum sum;
    const uint32_t crc = (uint32_t)crc32(0, elf(), ELF_SIZE);
    const struct zip_entry e = {"kernel", 0, 0, crc, ELF_SIZE, ELF_SIZE, elf(), ELF_SIZE};
    local_header(&b, &e);
    uint32_t from = (uint32_t)b.size;
    for (unsigned i = 0; i < 1000; i++) {
        char name[16];
        struct zip_entry again = e;
        snprintf(name, sizeof name, "%u", i);
        again.name = name;
        central_header(&b, &again, 0);
    }
    end_of_zip(&b, 1000, from);
    assert_int_equal(run(&b, MB, &t, &sum, NULL), FW_OK);
    assert_int_equal(t.files, 1);
    assert_int_equal(sum.produced, ELF_SIZE);
    free(b.data);
}

/* An entry whose stored bytes are the local headers of others (as in quines and overlap bombs):
 * these are contents, not entries. */
static void entries_inside_entries(void **state)
{
    (void)state;
    struct bytes inner = {0}, b = {0};
    struct taken t = {0};
    struct unpack_sum sum;
    const uint32_t crc = (uint32_t)crc32(0, elf(), ELF_SIZE);
    const struct zip_entry e = {"inner", 0, 0, crc, ELF_SIZE, ELF_SIZE, elf(), ELF_SIZE};
    for (int i = 0; i < 50; i++)
        local_header(&inner, &e);
    const struct zip_entry outer = {"outer",
                                    0,
                                    0,
                                    (uint32_t)crc32(0, inner.data, (unsigned)inner.size),
                                    (uint32_t)inner.size,
                                    (uint32_t)inner.size,
                                    inner.data,
                                    inner.size};
    local_header(&b, &outer);
    uint32_t from = (uint32_t)b.size;
    central_header(&b, &outer, 0);
    for (unsigned i = 0; i < 50; i++)
        central_header(&b, &e, 35 + i * (ELF_SIZE + 35));
    end_of_zip(&b, 51, from);
    assert_int_equal(run(&b, MB, &t, &sum, NULL), FW_OK);
    assert_int_equal(sum.entries, 1);
    assert_int_equal(sum.archives, 1);
    assert_int_equal(t.files, 0);
    free(inner.data);
    free(b.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_of_use),
        cmocka_unit_test(a_packed_file_alone),
        cmocka_unit_test(refuses_names_and_links),
        cmocka_unit_test(counts_what_is_produced),
        cmocka_unit_test(counts_holes),
        cmocka_unit_test(refuses_too_many),
        cmocka_unit_test(refuses_packed_twice_and_other_forms),
        cmocka_unit_test(a_sink_that_gives_up),
        cmocka_unit_test(lies_of_a_zip),
        cmocka_unit_test(overlapping_entries),
        cmocka_unit_test(entries_inside_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
