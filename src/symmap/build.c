/*
 * symmap_build: merge, names, calls, encoding, and the file put together. Each step runs on all
 * threads and has one result whatever their number; the pieces go to places that only depend on
 * sizes.
 */
#include "base/crc32c.h"
#include "symmap/checksum.h"
#include "symmap/encode.h"

#include <stdio.h>
#include <stdlib.h>

enum { COPY_PIECE = 256 * 1024, NEAR_BLOCKS = 4 }; /* COPY_PIECE: a multiple of CHECKSUM_PIECE */

struct section {
    enum section_id id;
    uint64_t offset, size;
};

struct assembly {
    const struct encode_input *input;
    struct workers *workers;
    struct encode_chunk *chunks;
    size_t chunk_count;
    size_t *code_place, *block_place; /* of each chunk: bytes before, blocks before */
    uint64_t code_size;
    size_t block_count;
    unsigned index_shift;
    size_t index_count;
    struct section section[SECTION_END];
    uint8_t *bytes;
    uint64_t size;
    uint8_t *sums; /* of the pieces of the section whose checksum is made */
    const struct section *summed;
};

/* ---- layout ---- */

static bool place_chunks(struct assembly *a)
{
    a->code_place = malloc((a->chunk_count + 1) * sizeof *a->code_place);
    a->block_place = malloc((a->chunk_count + 1) * sizeof *a->block_place);
    if (!a->code_place || !a->block_place)
        return false;
    for (size_t i = 0; i < a->chunk_count; i++) {
        a->code_place[i] = (size_t)a->code_size;
        a->block_place[i] = a->block_count;
        a->code_size += a->chunks[i].size;
        a->block_count += a->chunks[i].block_count;
    }
    return true;
}

/* An entry of the index for every NEAR_BLOCKS blocks or so. */
static void size_index(struct assembly *a)
{
    if (!a->block_count)
        return;
    const struct encode_chunk *last = a->chunks + a->chunk_count - 1;
    while (!last->block_count)
        last--;
    uint64_t end = (uint64_t)last->blocks[last->block_count - 1].start + 1;
    while (end >> a->index_shift > a->block_count / NEAR_BLOCKS && a->index_shift < 31)
        a->index_shift++;
    a->index_count = (size_t)((end - 1) >> a->index_shift) + 1;
}

static bool lay_out(struct assembly *a)
{
    const struct names *names = a->input->names;
    const uint64_t size[SECTION_END] = {
        [SECTION_IDENTITY] = IDENTITY_SIZE,
        [SECTION_INDEX] = a->index_count * UINT64_C(4),
        [SECTION_BLOCK_STARTS] = a->block_count * UINT64_C(4),
        [SECTION_BLOCK_PLACES] = a->block_count * UINT64_C(4),
        [SECTION_CODE] = a->code_size,
        [SECTION_FUNCTIONS] = a->input->merge->function_count * UINT64_C(4),
        [SECTION_SUBJECTS] = names->subject_count * (uint64_t)SUBJECT_SIZE,
        [SECTION_FILES] = names->file_count * (uint64_t)FILE_SIZE,
        [SECTION_STRINGS] = names->string_size,
        [SECTION_ALIASES] = names->alias_count * (uint64_t)PAIR_SIZE,
        [SECTION_CALLS] = a->input->calls->call_count * (uint64_t)PAIR_SIZE,
        [SECTION_TAIL_CALLS] = a->input->calls->list_size,
    };
    uint64_t at = HEADER_SIZE + (SECTION_END - 1) * (uint64_t)ENTRY_SIZE;
    for (int id = 1; id < SECTION_END; id++) {
        a->section[id] = (struct section){(enum section_id)id, at, size[id]};
        if (size[id] > UINT32_MAX)
            return false;
        at = (at + size[id] + 7) / 8 * 8;
    }
    a->size = at;
    return true;
}

static uint8_t *bytes_of(const struct assembly *a, enum section_id id)
{
    return a->bytes + a->section[id].offset;
}

/* ---- contents ---- */

static void copy_chunk(void *context, size_t i, unsigned worker)
{
    struct assembly *a = context;
    const struct encode_chunk *chunk = &a->chunks[i];
    (void)worker;
    uint32_t place = (uint32_t)a->code_place[i];
    uint8_t *starts = bytes_of(a, SECTION_BLOCK_STARTS) + a->block_place[i] * 4;
    uint8_t *places = bytes_of(a, SECTION_BLOCK_PLACES) + a->block_place[i] * 4;
    uint8_t *heads = bytes_of(a, SECTION_FUNCTIONS) + (size_t)chunk->first_function * 4;
    if (chunk->size)
        memcpy(bytes_of(a, SECTION_CODE) + place, chunk->bytes, chunk->size);
    for (size_t b = 0; b < chunk->block_count; b++) {
        put_u32(starts + b * 4, chunk->blocks[b].start);
        put_u32(places + b * 4, chunk->blocks[b].place + place);
    }
    for (uint32_t f = 0; f < chunk->function_count; f++)
        put_u32(heads + (size_t)f * 4, chunk->heads[f] + place);
}

enum { STRINGS_AT_ONCE = 4096 };

static void copy_strings(void *context, size_t item, unsigned worker)
{
    struct assembly *a = context;
    const struct names *names = a->input->names;
    uint8_t *to = bytes_of(a, SECTION_STRINGS);
    (void)worker;
    size_t end = (item + 1) * STRINGS_AT_ONCE;
    for (size_t i = item * STRINGS_AT_ONCE; i < end && i < names->string_count; i++) {
        if (i + 8 < names->string_count)
            __builtin_prefetch(names->strings.items[names->string_order[i + 8]].text);
        const struct intern_string *string = &names->strings.items[names->string_order[i]];
        memcpy(to + string->offset, string->text, (size_t)string->length + 1);
    }
}

/* Number of blocks that start before each bucket. */
static void write_index(const struct assembly *a)
{
    const uint8_t *starts = bytes_of(a, SECTION_BLOCK_STARTS);
    uint8_t *index = bytes_of(a, SECTION_INDEX);
    size_t bucket = 0;
    for (size_t b = 0; b < a->block_count; b++)
        for (; bucket <= get_u32(starts + b * 4) >> a->index_shift; bucket++)
            put_u32(index + bucket * 4, (uint32_t)b);
}

static void write_tables(const struct assembly *a)
{
    const struct names *names = a->input->names;
    const struct call_sites *calls = a->input->calls;
    uint8_t *p = bytes_of(a, SECTION_SUBJECTS);
    for (uint32_t i = 0; i < names->subject_count; i++, p += SUBJECT_SIZE) {
        put_u32(p, names->subjects[i].name);
        put_u32(p + 4, names->subjects[i].file);
        put_u32(p + 8, names->subjects[i].line);
    }
    p = bytes_of(a, SECTION_FILES);
    for (uint32_t i = 0; i < names->file_count; i++, p += FILE_SIZE) {
        put_u32(p, names->files[i].directory);
        put_u32(p + 4, names->files[i].name);
    }
    p = bytes_of(a, SECTION_ALIASES);
    for (uint32_t i = 0; i < names->alias_count; i++, p += PAIR_SIZE) {
        put_u32(p, names->aliases[i].key);
        put_u32(p + 4, names->aliases[i].value);
    }
    p = bytes_of(a, SECTION_CALLS);
    for (size_t i = 0; i < calls->call_count; i++, p += PAIR_SIZE) {
        put_u32(p, calls->calls[i].key);
        put_u32(p + 4, calls->calls[i].value);
    }
    if (calls->list_size)
        memcpy(bytes_of(a, SECTION_TAIL_CALLS), calls->lists, calls->list_size);
}

static void write_identity(const struct assembly *a)
{
    const struct symmap_identity *identity = &a->input->source->identity;
    const struct names *names = a->input->names;
    uint8_t *p = bytes_of(a, SECTION_IDENTITY);
    uint32_t id_size =
        identity->id_size < sizeof identity->id ? identity->id_size : (uint32_t)sizeof identity->id;
    put_u64(p + IDENTITY_BASE, identity->base);
    memcpy(p + IDENTITY_ID, identity->id, id_size);
    p[IDENTITY_ID_SIZE] = (uint8_t)id_size;
    p[IDENTITY_ID_KIND] = identity->id_kind;
    p[IDENTITY_UNIT_SHIFT] = (uint8_t)names->unit_shift;
    p[IDENTITY_FLAGS] = (uint8_t)((a->input->source->columns ? IDENTITY_HAS_COLUMNS : 0) |
                                  (identity->incomplete ? IDENTITY_INCOMPLETE : 0));
    p[IDENTITY_INDEX_SHIFT] = (uint8_t)a->index_shift;
    memcpy(p + IDENTITY_ARCH, identity->arch, strnlen(identity->arch, 15));
    put_u32(p + IDENTITY_OBJECT, names->object);
    put_u32(p + IDENTITY_PRODUCER, names->producer);
    put_u32(p + IDENTITY_CONVERTER, names->converter);
}

/* ---- checksums ---- */

static void sum_piece(void *context, size_t i, unsigned worker)
{
    struct assembly *a = context;
    uint64_t begin = (uint64_t)i * COPY_PIECE, left = a->summed->size - begin;
    (void)worker;
    checksum_pieces(a->bytes + a->summed->offset + begin,
                    (size_t)(left < COPY_PIECE ? left : COPY_PIECE),
                    a->sums + begin / CHECKSUM_PIECE * 4);
}

static bool write_directory(struct assembly *a)
{
    uint64_t largest = 0;
    for (int id = 1; id < SECTION_END; id++)
        largest = a->section[id].size > largest ? a->section[id].size : largest;
    a->sums = malloc((size_t)(largest / CHECKSUM_PIECE + 1) * 4);
    if (!a->sums)
        return false;
    for (int id = 1; id < SECTION_END; id++) {
        const struct section *section = &a->section[id];
        uint8_t *entry = a->bytes + HEADER_SIZE + (size_t)(id - 1) * ENTRY_SIZE;
        a->summed = section;
        workers_run(a->workers, (size_t)((section->size + COPY_PIECE - 1) / COPY_PIECE), sum_piece,
                    a);
        size_t pieces = (size_t)((section->size + CHECKSUM_PIECE - 1) / CHECKSUM_PIECE);
        put_u32(entry + ENTRY_ID, (uint32_t)id);
        put_u64(entry + ENTRY_OFFSET, section->offset);
        put_u64(entry + ENTRY_LENGTH, section->size);
        put_u32(entry + ENTRY_SUM, crc32c(a->sums, pieces * 4));
    }
    free(a->sums);
    return true;
}

static void write_header(const struct assembly *a)
{
    uint8_t *h = a->bytes;
    memcpy(h + HEADER_MAGIC, FORMAT_MAGIC, 8);
    put_u16(h + HEADER_MAJOR, FORMAT_MAJOR);
    put_u16(h + HEADER_MINOR, FORMAT_MINOR);
    put_u32(h + HEADER_SECTIONS, SECTION_END - 1);
    put_u64(h + HEADER_SIZE_OF_FILE, a->size);
    put_u32(h + HEADER_DIRECTORY_SUM, crc32c(h + HEADER_SIZE, (SECTION_END - 1) * ENTRY_SIZE));
    put_u32(h + HEADER_SUM, crc32c(h, HEADER_SUM));
}

/* ---- all of it ---- */

static fw_error assemble(struct assembly *a)
{
    if (!place_chunks(a))
        return FW_ERR_MEMORY;
    size_index(a);
    if (!lay_out(a) || a->size > SIZE_MAX)
        return FW_ERR_UNSUPPORTED;
    a->bytes = malloc((size_t)a->size);
    if (!a->bytes)
        return FW_ERR_MEMORY;
    memset(a->bytes, 0, (size_t)a->section[SECTION_INDEX].offset);
    for (int id = 1; id < SECTION_END; id++) { /* what lies between sections */
        uint64_t end = a->section[id].offset + a->section[id].size;
        memset(a->bytes + end, 0, (size_t)((8 - end % 8) % 8));
    }
    bytes_of(a, SECTION_STRINGS)[0] = 0;
    workers_run(a->workers, a->chunk_count, copy_chunk, a);
    workers_run(a->workers, (a->input->names->string_count + STRINGS_AT_ONCE - 1) / STRINGS_AT_ONCE,
                copy_strings, a);
    write_index(a);
    write_tables(a);
    write_identity(a);
    if (!write_directory(a))
        return FW_ERR_MEMORY;
    write_header(a);
    return FW_OK;
}

static fw_error encode(const struct encode_input *input, struct workers *workers, uint8_t **bytes,
                       size_t *size)
{
    struct assembly a = {.input = input, .workers = workers};
    a.chunks = encode_cut(input, &a.chunk_count);
    fw_error error = a.chunks ? encode_run(input, workers, a.chunks, a.chunk_count) : FW_ERR_MEMORY;
    if (error == FW_OK)
        error = assemble(&a);
    encode_free(a.chunks, a.chunk_count);
    free(a.code_place);
    free(a.block_place);
    if (error != FW_OK) {
        free(a.bytes);
        return error;
    }
    *bytes = a.bytes;
    *size = (size_t)a.size;
    return FW_OK;
}

static fw_error build(const struct symmap_source *source, struct workers *workers, uint8_t **bytes,
                      size_t *size, struct symmap_problems *problems)
{
    struct merge merge;
    struct names names = {0};
    struct call_sites calls = {0};
    fw_error error = merge_run(source, workers, &merge);
    if (error == FW_OK)
        error = names_run(source, workers, &merge, &names);
    if (error == FW_OK)
        error = call_sites_run(source, workers, &merge, &names, &calls);
    if (error == FW_OK) {
        struct encode_input input = {source, &merge, &names, &calls};
        error = encode(&input, workers, bytes, size);
    }
    if (problems) {
        *problems = merge.problems;
        problems->aliases = names.alias_count;
    }
    merge_free(&merge);
    names_free(&names);
    call_sites_free(&calls);
    return error;
}

fw_error symmap_build(const struct symmap_source *source, unsigned threads, uint8_t **bytes,
                      size_t *size, struct symmap_problems *problems, struct fw_failure *why)
{
    struct workers *workers = workers_start(threads);
    fw_error error = workers ? build(source, workers, bytes, size, problems) : FW_ERR_MEMORY;
    workers_stop(workers);
    if (error != FW_OK && why) {
        *why = (struct fw_failure){.code = error};
        snprintf(why->message, sizeof why->message, "symbol map: %s",
                 error == FW_ERR_UNSUPPORTED ? "a section would exceed 4 GB"
                                             : fw_error_text(error));
    }
    return error;
}
