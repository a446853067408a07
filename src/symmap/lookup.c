/*
 * From an offset to frames: bucket of the index, block, row, chain of contexts. No allocation, no
 * lock, no call but memset: async-signal-safe. Whatever the bytes say, nothing outside of them is
 * read, and the work is bounded by the search, 256 rows with DEPTH_LIMIT skipped nodes each, and
 * DEPTH_LIMIT frames.
 *
 * The lines of a block are kept relative to the line of each context's subject, so that subjects
 * are read for the frames of the answer alone.
 */
#include "symmap/map.h"
#include "symmap/node.h"

bool map_head(const struct symmap *map, uint64_t place, struct head *head)
{
    struct span code = map->section[SECTION_CODE];
    if (place >= code.size)
        return false;
    const uint8_t *p = code.data + place, *end = code.data + code.size;
    uint64_t number, size, subject, extra;
    uint8_t flags = *p++;
    if (!get_uleb(&p, end, &number) || end - p < 4)
        return false;
    uint32_t start = get_u32(p);
    p += 4;
    if (!get_uleb(&p, end, &size) || !get_uleb(&p, end, &subject))
        return false;
    *head = (struct head){.flags = flags,
                          .number = (uint32_t)number,
                          .start = start,
                          .size = (uint32_t)size,
                          .subject = (uint32_t)subject};
    if (!(flags & (HEAD_PART | HEAD_TAIL_CALLS | HEAD_SOURCE_NAME)))
        return true;
    if (flags & HEAD_PART) {
        if (!get_uleb(&p, end, &extra))
            return false;
        head->whole = (uint32_t)extra;
    }
    if (flags & HEAD_TAIL_CALLS) {
        if (!get_uleb(&p, end, &extra))
            return false;
        head->tail_calls = (uint32_t)extra;
    }
    if (flags & HEAD_SOURCE_NAME) {
        if (!get_uleb(&p, end, &extra))
            return false;
        head->source_name = (uint32_t)extra;
    }
    return true;
}

uint32_t map_frame_flags(uint32_t head_flags, bool named)
{
    uint32_t flags = 0;
    if (head_flags & HEAD_FROM_SYMBOL)
        flags |= named ? SYMMAP_FRAME_FROM_SYMBOL : SYMMAP_FRAME_SYNTHESIZED;
    if (head_flags & HEAD_ARTIFICIAL)
        flags |= SYMMAP_FRAME_ARTIFICIAL;
    if (head_flags & HEAD_PART)
        flags |= SYMMAP_FRAME_PART;
    if (head_flags & HEAD_PLT)
        flags |= SYMMAP_FRAME_PLT;
    return flags;
}

static inline bool begin(const struct symmap *map, uint32_t block, struct rows *rows)
{
    struct span code = map->section[SECTION_CODE];
    uint32_t place = map_u32(map, SECTION_BLOCK_PLACES, block);
    if (place >= code.size)
        return false;
    const uint8_t *p = code.data + place;
    rows->end = code.data + code.size;
    rows->left = *p++ + 1u;
    uint64_t back, next;
    if (!get_uleb(&p, rows->end, &back) || !get_uleb(&p, rows->end, &next) || back > place ||
        next > code.size - (place - back))
        return false;
    rows->p = p;
    rows->function = code.data + (place - back);
    rows->next_node = (uint32_t)next;
    rows->recent = RECENT_START;
    rows->unit_shift = map->unit_shift;
    rows->columns = map->columns;
    rows->column = 0;
    rows->hi = map_u32(map, SECTION_BLOCK_STARTS, block);
    for (unsigned i = 0; i < MOVE_RECENT; i++) /* what a sound block never refers to */
        rows->context[i] = rows->line[i] = rows->file[i] = 0;
    return true;
}

/* The node that the next new context is; rows->next_node moves behind it. */
static inline bool new_node(struct rows *rows, uint32_t *context)
{
    if (rows->next_node > (size_t)(rows->end - rows->function))
        return false;
    const uint8_t *p = rows->function + rows->next_node;
    for (unsigned skipped = 0; skipped <= DEPTH_LIMIT; skipped++) {
        *context = (uint32_t)(p - rows->function);
        bool pass;
        if (!node_skip(&p, rows->end, rows->columns, &pass))
            return false;
        if (!pass) {
            rows->next_node = (uint32_t)(p - rows->function);
            return true;
        }
    }
    return false;
}

static bool first_seen(struct rows *rows, unsigned move)
{
    uint32_t context = 0;
    uint64_t back;
    if (move == MOVE_NEW) {
        if (!new_node(rows, &context))
            return false;
    } else if (move == MOVE_BACK) {
        if (!get_uleb(&rows->p, rows->end, &back) || back > rows->next_node)
            return false;
        context = rows->next_node - (uint32_t)back;
    } else if (move != MOVE_FUNCTION) {
        return false;
    }
    rows->slot = recent_new(&rows->recent);
    rows->context[rows->slot] = context;
    rows->line[rows->slot] = 0;
    rows->file[rows->slot] = FILE_DEFAULT;
    return true;
}

static bool long_line(struct rows *rows)
{
    uint64_t value;
    if (!get_uleb(&rows->p, rows->end, &value))
        return false;
    rows->line[rows->slot] += unzigzag(value >> 1);
    if (value & 1) {
        if (!get_uleb(&rows->p, rows->end, &value))
            return false;
        rows->file[rows->slot] = (uint32_t)value;
    }
    return true;
}

static inline bool next(struct rows *rows)
{
    if (!rows->left || rows->end - rows->p < 2)
        return false;
    unsigned row = get_u16(rows->p);
    rows->p += 2;
    uint64_t length = row & ROW_LENGTH_MAX;
    if (!length && !get_uleb(&rows->p, rows->end, &length))
        return false;
    rows->lo = rows->hi;
    rows->hi += length << rows->unit_shift;
    unsigned move = row >> ROW_MOVE_SHIFT & 15;
    unsigned line = row >> ROW_LINE_SHIFT, bias = LINE_KNOWN_BIAS;
    if (move < MOVE_RECENT) {
        rows->slot = recent_use(&rows->recent, move);
    } else {
        if (!first_seen(rows, move))
            return false;
        bias = LINE_FIRST_BIAS;
    }
    rows->no_line = line == LINE_NONE;
    if (line < LINE_SHORT)
        rows->line[rows->slot] += line - bias;
    else if (line == LINE_LONG && !long_line(rows))
        return false;
    if (rows->columns) {
        uint64_t column;
        if (!get_uleb(&rows->p, rows->end, &column))
            return false;
        rows->column = (uint32_t)column;
    }
    rows->left--;
    return true;
}

bool map_rows_begin(const struct symmap *map, uint32_t block, struct rows *rows)
{
    return begin(map, block, rows);
}

bool map_rows_next(struct rows *rows)
{
    return next(rows);
}

/* What a frame says of its place: `file` as in nodes and rows. */
static inline void set_place(const struct symmap *map, const struct format_subject *subject,
                             uint32_t file, uint32_t line, uint32_t column,
                             struct symmap_frame *frame)
{
    uint32_t number = file == FILE_DEFAULT ? subject->file - 1 : file - FILE_FIRST;
    frame->directory = frame->file = NULL;
    if (file != FILE_NONE && number < map->file_count) {
        const uint8_t *p = map->section[SECTION_FILES].data + (size_t)number * FILE_SIZE;
        const char *directory = map_string(map, get_u32(p));
        frame->directory = directory ? directory : "";
        frame->file = map_string(map, get_u32(p + 4));
        if (!frame->file)
            frame->file = "";
    }
    frame->line = line;
    frame->column = column;
}

static inline void set_function(const struct symmap *map, const struct head *head, uint32_t name,
                                uint32_t flags, struct symmap_frame *frame)
{
    frame->name = map_string(map, name);
    frame->source_name = NULL;
    frame->function = head->number;
    frame->start = head->start;
    frame->size = head->size;
    frame->flags = flags;
}

bool map_frames(const struct symmap *map, const struct rows *rows, struct symmap_frame *frames,
                size_t capacity, size_t *count)
{
    struct head head;
    if (!map_head(map, (uint64_t)(rows->function - map->section[SECTION_CODE].data), &head))
        return false;
    uint32_t at = rows->context[rows->slot], file = rows->file[rows->slot];
    uint32_t line = rows->line[rows->slot], column = rows->column;
    bool no_line = rows->no_line;
    size_t n = 0;
    while (at) {
        struct node node;
        const uint8_t *p = rows->function + at;
        if (at >= (size_t)(rows->end - rows->function) || n == DEPTH_LIMIT ||
            !node_get(&p, rows->end, rows->columns, &node) || node.back >= at)
            return false;
        struct format_subject subject = map_subject(map, node.subject);
        if (n < capacity) {
            set_function(map, &head, subject.name, SYMMAP_FRAME_INLINED, &frames[n]);
            set_place(map, &subject, file, no_line ? 0 : subject.line + line, column, &frames[n]);
        }
        n++;
        at = node.back ? at - node.back : 0;
        file = node.call_file;
        line = node.call_line;
        column = node.call_column;
        no_line = node.no_line;
    }
    struct format_subject subject = map_subject(map, head.subject);
    if (n < capacity) {
        struct symmap_frame *frame = &frames[n];
        set_function(map, &head, subject.name, map_frame_flags(head.flags, subject.name != 0),
                     frame);
        set_place(map, &subject, file, no_line ? 0 : subject.line + line, column, frame);
        frame->source_name = map_string(map, head.source_name);
    }
    *count = n + 1;
    return true;
}

/* The last block that starts at or before `offset`; false when there is none. */
static bool find_block(const struct symmap *map, uint32_t offset, uint32_t *block)
{
    uint32_t low = 0, high = map->block_count;
    if (map->index_count) {
        uint32_t bucket = offset >> map->index_shift;
        if (bucket < map->index_count - 1)
            high = map_u32(map, SECTION_INDEX, bucket + 1);
        else
            bucket = map->index_count - 1;
        low = map_u32(map, SECTION_INDEX, bucket);
        if (high > map->block_count || low > high)
            return false;
    }
    const uint8_t *starts = map->section[SECTION_BLOCK_STARTS].data;
    uint32_t first = low, n = high - low; /* among these, count the ones at or before */
    while (n) {
        uint32_t half = n / 2;
        bool before = get_u32(starts + (size_t)(first + half) * 4) <= offset;
        first = before ? first + half + 1 : first;
        n = before ? n - half - 1 : half;
    }
    *block = first - 1;
    return first != 0;
}

fw_error symmap_lookup(const struct symmap *map, uint64_t offset, struct symmap_frame *frames,
                       size_t capacity, size_t *count)
{
    *count = 0;
    uint32_t block;
    if (offset > UINT32_MAX || !find_block(map, (uint32_t)offset, &block))
        return FW_ERR_NOT_FOUND;
    struct rows rows;
    if (!begin(map, block, &rows))
        return FW_ERR_CORRUPT;
    if (rows.hi > offset)
        return FW_ERR_CORRUPT;
    while (next(&rows))
        if (offset < rows.hi)
            return map_frames(map, &rows, frames, capacity, count) ? FW_OK : FW_ERR_CORRUPT;
    return rows.left ? FW_ERR_CORRUPT : FW_ERR_NOT_FOUND;
}
