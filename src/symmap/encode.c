#include "symmap/encode.h"

#include "base/array.h"
#include "symmap/node.h"

#include <stdlib.h>

enum { CHUNK_ROWS = 16 * 1024, ROW_MOST = 2 + 5 * 5, BLOCK_HEAD_MOST = 1 + 5 + 5, HEAD_MOST = 40 };

struct flat { /* a row as the file has it */
    uint32_t lo, hi;
    uint32_t context, file, line, column; /* file: 0 none, else number + 1 */
};

struct encoder {     /* one for each worker */
    uint32_t *place; /* of each context's node from the head, 0: has none yet */
    uint32_t *same;  /* the context itself, or its ancestor when it is nested too deep */
    uint16_t *depth;
    size_t place_capacity, same_capacity, depth_capacity;
    struct flat *rows; /* of the function */
    size_t row_count, row_capacity;
};

struct work {
    const struct encode_input *input;
    struct encode_chunk *chunks;
    struct encoder *encoders;
};

/* The function that is being encoded. */
struct subject_function {
    const struct encode_input *input;
    struct encoder *encoder;
    struct encode_chunk *chunk;
    const struct merge_function *merged;
    const struct names_function *named;
    const struct code_unit *unit; /* NULL: a symbol */
    const struct code_context *contexts;
    const uint32_t *subjects, *files; /* numbers of the unit's */
    size_t head;                      /* place in the chunk */
    bool columns;
};

static bool make_room(struct encode_chunk *chunk, size_t more)
{
    if (chunk->size + more > UINT32_MAX) {
        chunk->error = FW_ERR_UNSUPPORTED;
        return false;
    }
    if (!array_reserve(&chunk->bytes, &chunk->capacity, chunk->size + more, 1)) {
        chunk->error = FW_ERR_MEMORY;
        return false;
    }
    return true;
}

/* ---- rows ---- */

static bool add_row(struct encoder *e, const struct flat *row)
{
    struct flat *last = e->row_count ? &e->rows[e->row_count - 1] : NULL;
    if (last && last->hi == row->lo && last->context == row->context && last->file == row->file &&
        last->line == row->line && last->column == row->column) {
        last->hi = row->hi;
        return true;
    }
    if (!array_room(&e->rows, &e->row_capacity, e->row_count, sizeof *row))
        return false;
    e->rows[e->row_count++] = *row;
    return true;
}

/* The rows of a piece, clipped to it. */
static bool flatten_piece(const struct subject_function *f, const struct merge_piece *piece)
{
    struct encoder *e = f->encoder;
    const struct flat bare = {.lo = piece->lo, .hi = piece->hi, .file = f->named->symbol_file};
    if (piece->unit == MERGE_NONE)
        return add_row(e, &bare);
    const struct code_unit *unit = &f->input->source->units[piece->unit];
    const struct code_function *source = &unit->functions[piece->index];
    const uint32_t *files = f->input->names->file_number + f->input->names->first_file[piece->unit];
    bool own = piece->unit == f->merged->unit && piece->index == f->merged->index;
    uint32_t start = (uint32_t)(source->lo - f->input->source->identity.base);
    const struct code_row *row = names_row_at(unit, source, piece->lo - start);
    const struct code_row *end = unit->rows + source->first_row + source->row_count;
    uint32_t lo = piece->lo;
    if (!row)
        return add_row(e, &bare);
    for (; lo < piece->hi; row++) {
        uint32_t hi = row + 1 == end ? piece->hi : start + row[1].offset;
        if (hi > piece->hi)
            hi = piece->hi;
        uint32_t at = own ? e->same[row->context] : 0;
        struct flat flat = {.lo = lo,
                            .hi = hi,
                            .context = at,
                            .file = row->file != CODE_NONE ? files[row->file]
                                    : at                   ? 0
                                                           : f->named->symbol_file,
                            .line = row->line,
                            .column =
                                f->columns && unit->columns ? unit->columns[row - unit->rows] : 0};
        if (hi > lo && !add_row(e, &flat))
            return false;
        lo = hi > lo ? hi : lo;
        if (row + 1 == end)
            break;
    }
    return true;
}

/* ---- contexts ---- */

static bool prepare_contexts(struct subject_function *f, size_t count)
{
    struct encoder *e = f->encoder;
    if (!array_reserve(&e->place, &e->place_capacity, count + 1, sizeof *e->place) ||
        !array_reserve(&e->same, &e->same_capacity, count + 1, sizeof *e->same) ||
        !array_reserve(&e->depth, &e->depth_capacity, count + 1, sizeof *e->depth))
        return false;
    memset(e->place, 0, (count + 1) * sizeof *e->place);
    e->same[0] = 0;
    e->depth[0] = 0;
    for (size_t i = 1; i <= count; i++) {
        uint32_t parent = f->contexts[i - 1].parent;
        bool deep = e->depth[parent] == DEPTH_LIMIT;
        e->depth[i] = deep ? DEPTH_LIMIT : (uint16_t)(e->depth[parent] + 1);
        e->same[i] = deep ? e->same[parent] : (uint32_t)i;
    }
    return true;
}

/* Subject of a context other than 0; NULL when nothing is known of it. */
static const struct code_subject *subject_of(const struct subject_function *f, uint32_t context)
{
    uint32_t subject = f->contexts[context - 1].subject;
    return subject == CODE_NONE ? NULL : &f->unit->subjects[subject];
}

static uint32_t line_of(const struct subject_function *f, uint32_t context)
{
    if (!context)
        return f->named->line;
    const struct code_subject *subject = subject_of(f, context);
    return subject ? subject->decl_line : 0;
}

static uint32_t file_of(const struct subject_function *f, uint32_t context)
{
    if (!context)
        return f->named->file;
    const struct code_subject *subject = subject_of(f, context);
    return !subject || subject->decl_file == CODE_NONE ? 0 : f->files[subject->decl_file];
}

/* How a file is said where `usual` is the default; both 0 or number + 1. */
static uint32_t file_code(uint32_t file, uint32_t usual)
{
    return file == usual ? FILE_DEFAULT : file ? file - 1 + FILE_FIRST : FILE_NONE;
}

static bool add_node(struct subject_function *f, uint32_t context, bool pass)
{
    if (!make_room(f->chunk, NODE_MOST))
        return false;
    const struct code_context *c = &f->contexts[context - 1];
    uint32_t place = (uint32_t)(f->chunk->size - f->head);
    uint32_t file = c->call_file == CODE_NONE ? 0 : f->files[c->call_file];
    struct node node = {.subject = c->subject == CODE_NONE ? f->input->names->unknown_subject
                                                           : f->subjects[c->subject],
                        .back = c->parent ? place - f->encoder->place[c->parent] : 0,
                        .call_line = c->call_line - line_of(f, c->parent),
                        .call_file = file_code(file, file_of(f, c->parent)),
                        .call_column = f->columns ? c->call_column : 0,
                        .no_line = c->call_line == 0,
                        .pass = pass};
    f->encoder->place[context] = place;
    uint8_t *end = node_put(f->chunk->bytes + f->chunk->size, f->columns, &node);
    f->chunk->size = (size_t)(end - f->chunk->bytes);
    return true;
}

/* Nodes of all contexts that rows have, in the order of the first rows, parents before. */
static bool add_nodes(struct subject_function *f)
{
    struct encoder *e = f->encoder;
    for (size_t i = 0; i < e->row_count; i++) {
        uint32_t context = e->rows[i].context;
        if (!context || e->place[context])
            continue;
        uint32_t chain[DEPTH_LIMIT];
        unsigned n = 0;
        for (uint32_t c = context; c && !e->place[c]; c = f->contexts[c - 1].parent)
            chain[n++] = c;
        while (n--)
            if (!add_node(f, chain[n], n != 0))
                return false;
    }
    return true;
}

/* ---- blocks ---- */

struct recent {
    uint64_t order;
    uint32_t context[16], line[16], file[16];
    uint32_t used; /* bits of slots that hold something */
    uint32_t next_node;
};

/* The slot that holds the context, or 16. */
static unsigned find_slot(const struct recent *recent, uint32_t context)
{
    unsigned found = 0;
    for (unsigned i = 0; i < MOVE_RECENT; i++)
        found |= (unsigned)(recent->context[i] == context) << i;
    found &= recent->used;
    return found ? (unsigned)__builtin_ctz(found) : 16;
}

/* Position of a slot in the order: where its four bits stand. */
static unsigned rank_of(uint64_t order, unsigned slot)
{
    uint64_t ones = UINT64_C(0x111111111111);
    uint64_t zero = order ^ ones * slot;
    return (unsigned)__builtin_ctzll((zero - ones) & ~zero & ones * 8) / 4;
}

static uint32_t node_end(const struct subject_function *f, uint32_t place)
{
    const uint8_t *p = f->chunk->bytes + f->head + place;
    bool pass;
    node_skip(&p, f->chunk->bytes + f->chunk->size, f->columns, &pass);
    return (uint32_t)((size_t)(p - f->chunk->bytes) - f->head);
}

static uint8_t *put_row(const struct subject_function *f, struct recent *recent,
                        const struct flat *row, uint8_t *p)
{
    uint32_t place = row->context ? f->encoder->place[row->context] : 0;
    uint8_t *fixed = p;
    unsigned slot = place && place >= recent->next_node ? 16 : find_slot(recent, place);
    unsigned move, bias = LINE_KNOWN_BIAS;
    uint32_t length = (row->hi - row->lo) >> f->input->names->unit_shift;
    p += 2;
    if (length > ROW_LENGTH_MAX) {
        p = put_uleb(p, length);
        length = 0;
    }
    if (slot != 16) {
        move = rank_of(recent->order, slot);
        recent_use(&recent->order, move);
    } else {
        bias = LINE_FIRST_BIAS;
        slot = recent_new(&recent->order);
        recent->context[slot] = place;
        recent->line[slot] = 0;
        recent->file[slot] = FILE_DEFAULT;
        recent->used |= 1u << slot;
        if (!place) {
            move = MOVE_FUNCTION;
        } else if (place >= recent->next_node) {
            move = MOVE_NEW;
            recent->next_node = node_end(f, place);
        } else {
            move = MOVE_BACK;
            p = put_uleb(p, recent->next_node - place);
        }
    }
    uint32_t line = row->line - line_of(f, row->context);
    uint32_t file = file_code(row->file, file_of(f, row->context));
    unsigned code;
    if (file == recent->file[slot] && !row->line) {
        code = LINE_NONE;
    } else if (file == recent->file[slot] && line - recent->line[slot] + bias < LINE_SHORT) {
        code = line - recent->line[slot] + bias;
        recent->line[slot] = line;
    } else {
        code = LINE_LONG;
        p = put_uleb(p, zigzag(line - recent->line[slot]) << 1 | (file != recent->file[slot]));
        if (file != recent->file[slot])
            p = put_uleb(p, file);
        recent->line[slot] = line;
        recent->file[slot] = file;
    }
    put_u16(fixed, length | move << ROW_MOVE_SHIFT | code << ROW_LINE_SHIFT);
    if (f->columns)
        p = put_uleb(p, row->column);
    return p;
}

/* Rows [first, first + count), which touch each other. */
static bool add_block(struct subject_function *f, size_t first, size_t count, uint32_t *next_node)
{
    struct encode_chunk *chunk = f->chunk;
    if (!make_room(chunk, BLOCK_HEAD_MOST + count * ROW_MOST))
        return false;
    if (!array_room(&chunk->blocks, &chunk->block_capacity, chunk->block_count,
                    sizeof *chunk->blocks)) {
        chunk->error = FW_ERR_MEMORY;
        return false;
    }
    chunk->blocks[chunk->block_count++] =
        (struct encode_block){f->encoder->rows[first].lo, (uint32_t)chunk->size};
    uint8_t *p = chunk->bytes + chunk->size;
    struct recent recent = {.order = RECENT_START, .next_node = *next_node};
    *p++ = (uint8_t)(count - 1);
    p = put_uleb(p, chunk->size - f->head);
    p = put_uleb(p, *next_node);
    for (size_t i = first; i < first + count; i++)
        p = put_row(f, &recent, &f->encoder->rows[i], p);
    *next_node = recent.next_node;
    chunk->size = (size_t)(p - chunk->bytes);
    return true;
}

/* Rows that touch each other are cut into blocks of about equal length. */
static bool add_blocks(struct subject_function *f, uint32_t first_node)
{
    const struct encoder *e = f->encoder;
    uint32_t next_node = first_node;
    for (size_t i = 0, end; i < e->row_count; i = end) {
        for (end = i + 1; end < e->row_count && e->rows[end].lo == e->rows[end - 1].hi; end++)
            continue;
        for (size_t blocks = (end - i + BLOCK_ROWS - 1) / BLOCK_ROWS; blocks; blocks--) {
            size_t count = (end - i + blocks - 1) / blocks;
            if (!add_block(f, i, count, &next_node))
                return false;
            i += count;
        }
    }
    return true;
}

/* ---- functions ---- */

static bool add_head(struct subject_function *f, uint32_t number)
{
    const struct merge_function *m = f->merged;
    const struct call_function *call = &f->input->calls->functions[number];
    if (!make_room(f->chunk, HEAD_MOST))
        return false;
    unsigned flags = 0;
    if (f->unit) {
        unsigned source = f->unit->functions[m->index].flags;
        flags |= source & CODE_FUNCTION_PART ? HEAD_PART : 0;
        flags |= source & CODE_FUNCTION_ARTIFICIAL ? HEAD_ARTIFICIAL : 0;
        flags |= source & CODE_FUNCTION_ALL_TAIL_CALLS ? HEAD_ALL_TAIL_CALLS : 0;
    } else {
        flags |= HEAD_FROM_SYMBOL;
        if (f->input->source->symbols[m->symbol].flags & SYMMAP_FRAME_PLT)
            flags |= HEAD_PLT;
    }
    flags |= call->tail_calls != CALLS_NONE ? HEAD_TAIL_CALLS : 0;
    flags |= f->named->source_name ? HEAD_SOURCE_NAME : 0;
    uint8_t *p = f->chunk->bytes + f->chunk->size;
    *p++ = (uint8_t)flags;
    p = put_uleb(p, number);
    put_u32(p, m->lo);
    p = put_uleb(p + 4, m->hi - m->lo);
    p = put_uleb(p, f->named->subject);
    if (flags & HEAD_PART)
        p = put_uleb(p, call->whole == CALLS_NONE ? 0 : (uint64_t)call->whole + 1);
    if (flags & HEAD_TAIL_CALLS)
        p = put_uleb(p, call->tail_calls);
    if (flags & HEAD_SOURCE_NAME)
        p = put_uleb(p, f->named->source_name);
    f->chunk->size = (size_t)(p - f->chunk->bytes);
    return true;
}

static bool encode_function(const struct encode_input *input, struct encoder *encoder,
                            struct encode_chunk *chunk, uint32_t number)
{
    const struct merge_function *m = &input->merge->functions[number];
    struct subject_function f = {.input = input,
                                 .encoder = encoder,
                                 .chunk = chunk,
                                 .merged = m,
                                 .named = &input->names->functions[number],
                                 .head = chunk->size,
                                 .columns = input->source->columns};
    size_t contexts = 0;
    if (m->unit != MERGE_NONE) {
        f.unit = &input->source->units[m->unit];
        f.contexts = f.unit->contexts + f.unit->functions[m->index].first_context;
        contexts = f.unit->functions[m->index].context_count;
        f.subjects = input->names->subject_number + input->names->first_subject[m->unit];
        f.files = input->names->file_number + input->names->first_file[m->unit];
    }
    encoder->row_count = 0;
    bool ok = prepare_contexts(&f, contexts);
    for (uint32_t i = 0; ok && i < m->piece_count; i++)
        ok = flatten_piece(&f, &input->merge->pieces[m->first_piece + i]);
    if (!ok) {
        chunk->error = FW_ERR_MEMORY;
        return false;
    }
    chunk->heads[number - chunk->first_function] = (uint32_t)f.head;
    if (!add_head(&f, number))
        return false;
    uint32_t first_node = (uint32_t)(chunk->size - f.head);
    return add_nodes(&f) && add_blocks(&f, first_node);
}

static int by_start(const void *a, const void *b)
{
    const struct encode_block *x = a, *y = b;
    return (x->start > y->start) - (x->start < y->start);
}

static void encode_one(void *context, size_t i, unsigned worker)
{
    struct work *w = context;
    struct encode_chunk *chunk = &w->chunks[i];
    chunk->heads = malloc((chunk->function_count + 1) * sizeof *chunk->heads);
    if (!chunk->heads) {
        chunk->error = FW_ERR_MEMORY;
        return;
    }
    bool several = false;
    for (uint32_t f = 0; f < chunk->function_count; f++) {
        uint32_t number = chunk->first_function + f;
        if (!encode_function(w->input, &w->encoders[worker], chunk, number))
            return;
        several |= w->input->merge->functions[number].piece_count > 1;
    }
    if (several) /* pieces of nested functions lie between those of the outer one */
        qsort(chunk->blocks, chunk->block_count, sizeof *chunk->blocks, by_start);
}

static uint64_t weight_of(const struct encode_input *input, uint32_t number)
{
    const struct merge_function *f = &input->merge->functions[number];
    uint64_t rows = f->piece_count;
    return f->unit == MERGE_NONE
               ? rows
               : rows + input->source->units[f->unit].functions[f->index].row_count;
}

struct encode_chunk *encode_cut(const struct encode_input *input, size_t *count)
{
    struct encode_chunk *chunks = NULL;
    size_t capacity = 0;
    uint64_t weight = 0;
    *count = 0;
    for (uint32_t f = 0; f < input->merge->function_count; f++) {
        if (f == 0 || (weight >= CHUNK_ROWS && input->merge->functions[f].closed)) {
            if (!array_room(&chunks, &capacity, *count, sizeof *chunks)) {
                free(chunks);
                return NULL;
            }
            chunks[(*count)++] = (struct encode_chunk){.first_function = f};
            weight = 0;
        }
        chunks[*count - 1].function_count++;
        weight += weight_of(input, f);
    }
    return chunks ? chunks : malloc(sizeof *chunks);
}

fw_error encode_run(const struct encode_input *input, struct workers *workers,
                    struct encode_chunk *chunks, size_t count)
{
    unsigned threads = workers_count(workers);
    struct work w = {input, chunks, calloc(threads, sizeof *w.encoders)};
    if (!w.encoders)
        return FW_ERR_MEMORY;
    workers_run(workers, count, encode_one, &w);
    for (unsigned i = 0; i < threads; i++) {
        free(w.encoders[i].place);
        free(w.encoders[i].same);
        free(w.encoders[i].depth);
        free(w.encoders[i].rows);
    }
    free(w.encoders);
    for (size_t i = 0; i < count; i++)
        if (chunks[i].error != FW_OK)
            return chunks[i].error;
    return FW_OK;
}

void encode_free(struct encode_chunk *chunks, size_t count)
{
    for (size_t i = 0; chunks && i < count; i++) {
        free(chunks[i].bytes);
        free(chunks[i].heads);
        free(chunks[i].blocks);
    }
    free(chunks);
}
