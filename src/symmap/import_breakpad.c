/*
 * Breakpad symbol text (Breakpad's docs/symbol_files.md): one record a line, fields apart by
 * blanks.
 *
 * Two passes: names and bounds first (MODULE, INFO, FILE, INLINE_ORIGIN, STACK CFI INIT), then the
 * functions with what belongs to them, and at last the PUBLIC symbols, which have no ends: each
 * reaches to the next function or symbol, at most to the end of the unwind information it lies in.
 */
#include "base/array.h"
#include "symmap/breakpad_numbers.h"
#include "symmap/import_unit.h"

#include <stdlib.h>

static const uint64_t last_symbol_size = 4096; /* of one that nothing follows */

struct line { /* what is left of the line at hand */
    const char *at, *end;
    uint64_t place;
    bool bad;
};

struct bounds {
    uint64_t lo, hi;
};

struct bounds_list {
    struct bounds *items;
    size_t count, capacity;
};

struct record { /* an INLINE of the function at hand */
    uint32_t level, call_line, call_file, origin;
    size_t first_range, range_count, order;
};

struct placed { /* a range of an inlined call of the level before */
    uint64_t lo, hi;
    uint32_t call;
};

struct public_symbol {
    uint64_t lo;
    const char *name;
    size_t order;
};

struct breakpad {
    struct import *import;
    struct span bytes;
    struct numbers origins, files;
    struct bounds_list cfi, functions;
    struct public_symbol *publics;
    size_t public_count, public_capacity;

    /* Of the function at hand. */
    bool in_function;
    uint64_t line_end; /* where the last line record ended */
    struct record *records;
    size_t record_count, record_capacity;
    struct bounds_list ranges;
    struct placed *placed[2];
    size_t placed_count[2], placed_capacity[2];
};

bool import_is_breakpad(struct span bytes)
{
    return bytes.size > 7 && memcmp(bytes.data, "MODULE ", 7) == 0;
}

static fw_error corrupt(struct breakpad *b, const struct line *line, const char *what)
{
    return import_fail(b->import, FW_ERR_CORRUPT, line->place, "Breakpad: %s at offset %llu", what,
                       (unsigned long long)line->place);
}

/* ---- words ---- */

static bool next_line(struct span bytes, size_t *place, struct line *line)
{
    if (*place >= bytes.size)
        return false;
    const char *from = (const char *)bytes.data + *place;
    size_t left = bytes.size - *place;
    const char *newline = memchr(from, '\n', left);
    size_t size = newline ? (size_t)(newline - from) : left;
    *line = (struct line){from, from + size, *place, false};
    while (line->end > line->at && line->end[-1] == '\r')
        line->end--;
    *place += size + 1;
    return true;
}

static void skip_blanks(struct line *line)
{
    while (line->at < line->end && *line->at == ' ')
        line->at++;
}

/* True, and past it, when `word` (with its blank) comes next. */
static bool take_word(struct line *line, const char *word)
{
    size_t size = strlen(word);
    if ((size_t)(line->end - line->at) < size || memcmp(line->at, word, size) != 0)
        return false;
    line->at += size;
    return true;
}

static uint64_t number(struct line *line, unsigned base, uint64_t most)
{
    uint64_t value = 0;
    unsigned digits = 0;
    skip_blanks(line);
    for (; line->at < line->end && *line->at != ' '; line->at++, digits++) {
        char c = *line->at;
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : base;
        if (digit >= base || value > (most - digit) / base) {
            line->bad = true;
            return 0;
        }
        value = value * base + digit;
    }
    line->bad |= digits == 0;
    return value;
}

static uint64_t hex(struct line *line)
{
    return number(line, 16, UINT64_MAX);
}

static uint32_t decimal(struct line *line)
{
    return (uint32_t)number(line, 10, UINT32_MAX);
}

static const char *copy(struct import *import, const char *text, size_t size)
{
    char *copied = arena_take(&import->strings, size + 1);
    if (copied) {
        memcpy(copied, text, size);
        copied[size] = '\0';
    }
    return copied;
}

/* The rest of the line. NULL when memory ran out. */
static const char *rest(struct breakpad *b, struct line *line)
{
    skip_blanks(line);
    return copy(b->import, line->at, (size_t)(line->end - line->at));
}

/* ---- identity ---- */

static size_t hex_bytes(struct line *line, uint8_t *bytes, size_t most)
{
    size_t size = 0;
    skip_blanks(line);
    for (; size < most && line->end - line->at >= 2 && line->at[0] != ' '; size++) {
        struct line two = {line->at, line->at + 2, line->place, false};
        uint64_t value = hex(&two);
        if (two.bad)
            break;
        bytes[size] = (uint8_t)value;
        line->at += 2;
    }
    return size;
}

static void set_arch(struct symmap_identity *identity, const char *name, size_t size, bool apple)
{
    const char *arch = NULL;
    if (size == 3 && memcmp(name, "x86", 3) == 0)
        arch = "i386";
    else if (size == 5 && memcmp(name, "arm64", 5) == 0 && !apple)
        arch = "aarch64";
    if (!arch && size < sizeof identity->arch)
        memcpy(identity->arch, name, size);
    else if (arch)
        memcpy(identity->arch, arch, strlen(arch));
}

/* MODULE system architecture id name. The first three fields of the id are numbers but for Apple's
 * UUIDs. */
static fw_error read_module(struct breakpad *b, struct line *line)
{
    static const uint8_t swapped[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    struct symmap_identity *identity = &b->import->identity;
    bool apple = take_word(line, "mac ") || take_word(line, "ios ");
    while (!apple && line->at < line->end && *line->at != ' ')
        line->at++;
    skip_blanks(line);
    const char *arch = line->at;
    while (line->at < line->end && *line->at != ' ')
        line->at++;
    set_arch(identity, arch, (size_t)(line->at - arch), apple);
    uint8_t id[16];
    if (hex_bytes(line, id, sizeof id) != sizeof id)
        return corrupt(b, line, "a module without id");
    bool known = false;
    for (size_t i = 0; i < sizeof id; i++) {
        identity->id[i] = id[apple ? i : swapped[i]];
        known |= id[i] != 0;
    }
    identity->id_size = known ? sizeof id : 0;
    identity->id_kind = !known ? SYMMAP_ID_NONE : apple ? SYMMAP_ID_UUID : SYMMAP_ID_BUILD_ID;
    while (line->at < line->end && *line->at != ' ') /* the age */
        line->at++;
    identity->object = rest(b, line);
    return identity->object ? FW_OK : import_no_memory(b->import);
}

/* The whole build id, where MODULE has only its beginning. */
static void read_code_id(struct breakpad *b, struct line *line)
{
    struct symmap_identity *identity = &b->import->identity;
    uint8_t id[sizeof identity->id];
    size_t size = hex_bytes(line, id, sizeof id);
    if (identity->id_kind != SYMMAP_ID_BUILD_ID || !size)
        return;
    size_t common = size < identity->id_size ? size : identity->id_size;
    if (memcmp(id, identity->id, common) != 0)
        return; /* of Windows: something else */
    memcpy(identity->id, id, size);
    identity->id_size = (uint32_t)size;
}

/* ---- tables ---- */

/* Our number of one of their files; 0: unknown. */
static uint32_t file_of(const struct breakpad *b, uint32_t number)
{
    const struct numbered *found = numbers_find(&b->files, number);
    return found ? found->file : 0;
}

static fw_error read_file(struct breakpad *b, struct line *line)
{
    uint32_t number = decimal(line);
    if (line->bad)
        return corrupt(b, line, "a bad number");
    skip_blanks(line);
    const char *slash = line->end;
    while (slash > line->at && slash[-1] != '/')
        slash--;
    size_t size = slash > line->at ? (size_t)(slash - line->at) : 0; /* of the folder, with '/' */
    const char *directory = copy(b->import, line->at, size > 1 ? size - 1 : size);
    const char *name = copy(b->import, line->at + size, (size_t)(line->end - line->at) - size);
    if (!directory || !name || b->import->file_count >= UINT32_MAX ||
        !import_file(b->import, directory, name))
        return import_no_memory(b->import);
    struct numbered *item = numbers_add(&b->files, line->place, number);
    if (!item)
        return import_no_memory(b->import);
    item->file = (uint32_t)b->import->file_count - 1;
    return FW_OK;
}

static fw_error read_origin(struct breakpad *b, struct line *line)
{
    uint32_t number = decimal(line);
    if (line->bad)
        return corrupt(b, line, "a bad number");
    const char *name = rest(b, line);
    struct numbered *item = name ? numbers_add(&b->origins, line->place, number) : NULL;
    if (!item)
        return import_no_memory(b->import);
    item->name = name;
    return FW_OK;
}

static fw_error add_bounds(struct breakpad *b, struct bounds_list *list, struct line *line)
{
    uint64_t lo = hex(line), size = hex(line);
    if (line->bad || size > UINT64_MAX - lo)
        return corrupt(b, line, "a bad range");
    if (!array_room(&list->items, &list->capacity, list->count, sizeof *list->items))
        return import_no_memory(b->import);
    list->items[list->count++] = (struct bounds){lo, lo + size};
    return FW_OK;
}

static fw_error read_public(struct breakpad *b, struct line *line)
{
    take_word(line, "m ");
    uint64_t lo = hex(line);
    hex(line);
    if (line->bad)
        return corrupt(b, line, "a bad PUBLIC record");
    const char *name = rest(b, line);
    if (!name || !array_room(&b->publics, &b->public_capacity, b->public_count, sizeof *b->publics))
        return import_no_memory(b->import);
    b->publics[b->public_count] = (struct public_symbol){lo, name, b->public_count};
    b->public_count++;
    return FW_OK;
}

static fw_error read_tables(struct breakpad *b)
{
    struct line line;
    fw_error error = FW_OK;
    for (size_t place = 0; error == FW_OK && next_line(b->bytes, &place, &line);) {
        if (take_word(&line, "FILE "))
            error = read_file(b, &line);
        else if (take_word(&line, "INLINE_ORIGIN "))
            error = read_origin(b, &line);
        else if (take_word(&line, "PUBLIC "))
            error = read_public(b, &line);
        else if (take_word(&line, "STACK CFI INIT "))
            error = add_bounds(b, &b->cfi, &line);
        else if (take_word(&line, "MODULE "))
            error = read_module(b, &line);
        else if (take_word(&line, "INFO CODE_ID "))
            read_code_id(b, &line);
    }
    numbers_sort(&b->files);
    numbers_sort(&b->origins);
    return error;
}

/* ---- inlined calls ---- */

static int record_order(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    if (a->level != b->level)
        return a->level < b->level ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

static int placed_order(const void *left, const void *right)
{
    const struct placed *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->call < b->call ? -1 : a->call > b->call;
}

/* The call of the level before that holds the address; false when none does. */
static bool parent_at(const struct placed *all, size_t count, uint64_t address, uint32_t *call)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (all[middle].lo <= address)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low || all[low - 1].hi <= address)
        return false;
    *call = all[low - 1].call;
    return true;
}

/* One call for each parent that the ranges of the record lie in. */
static fw_error place_record(struct breakpad *b, const struct record *record)
{
    unsigned now = record->level & 1;
    uint32_t file = file_of(b, record->call_file);
    const struct numbered *origin = numbers_find(&b->origins, record->origin);
    const char *name = origin ? origin->name : NULL;
    uint32_t parent = DWARF_NONE, last = DWARF_NONE, call = 0;
    bool begun = false;
    for (size_t i = 0; i < record->range_count; i++) {
        struct bounds range = b->ranges.items[record->first_range + i];
        if (record->level && !parent_at(b->placed[!now], b->placed_count[!now], range.lo, &parent))
            continue; /* of no call: readers never get there */
        if ((!begun || parent != last) &&
            !import_call(b->import, parent, name, file, record->call_line, &call))
            return import_no_memory(b->import);
        last = parent;
        begun = true;
        if (!import_range(b->import, range.lo, range.hi) ||
            !array_room(&b->placed[now], &b->placed_capacity[now], b->placed_count[now],
                        sizeof *b->placed[now]))
            return import_no_memory(b->import);
        b->placed[now][b->placed_count[now]++] = (struct placed){range.lo, range.hi, call};
    }
    return FW_OK;
}

/* Records may stand in any order; calls are added level by level, so parents come first. */
static fw_error place_records(struct breakpad *b)
{
    uint32_t level = 0;
    fw_error error = FW_OK;
    if (b->record_count)
        qsort(b->records, b->record_count, sizeof *b->records, record_order);
    b->placed_count[0] = b->placed_count[1] = 0;
    for (size_t i = 0; error == FW_OK && i < b->record_count; i++) {
        const struct record *record = &b->records[i];
        if (record->level > level + 1)
            break; /* of no call */
        if (record->level != level) {
            if (b->placed_count[level & 1])
                qsort(b->placed[level & 1], b->placed_count[level & 1], sizeof **b->placed,
                      placed_order);
            level = record->level;
            b->placed_count[level & 1] = 0;
        }
        error = place_record(b, record);
    }
    b->record_count = b->ranges.count = 0;
    return error;
}

static fw_error read_inline(struct breakpad *b, struct line *line)
{
    if (!array_room(&b->records, &b->record_capacity, b->record_count, sizeof *b->records))
        return import_no_memory(b->import);
    struct record *record = &b->records[b->record_count];
    *record = (struct record){.first_range = b->ranges.count, .order = b->record_count};
    record->level = decimal(line);
    record->call_line = decimal(line);
    record->call_file = decimal(line);
    record->origin = decimal(line);
    if (line->bad || record->level >= IMPORT_DEPTH_MAX)
        return corrupt(b, line, "a bad INLINE record");
    for (skip_blanks(line); line->at < line->end; skip_blanks(line)) {
        fw_error error = add_bounds(b, &b->ranges, line);
        if (error != FW_OK)
            return error;
        record->range_count++;
    }
    b->record_count++;
    return FW_OK;
}

/* ---- functions ---- */

static fw_error end_function(struct breakpad *b)
{
    if (!b->in_function)
        return FW_OK;
    b->in_function = false;
    if (!import_lines_end(b->import, b->line_end))
        return import_no_memory(b->import);
    return place_records(b);
}

static fw_error read_function(struct breakpad *b, struct line *line)
{
    take_word(line, "m ");
    struct bounds_list *all = &b->functions;
    fw_error error = add_bounds(b, all, line);
    if (error != FW_OK)
        return error;
    hex(line);
    const char *name = rest(b, line);
    if (line->bad)
        return corrupt(b, line, "a bad FUNC record");
    struct bounds function = all->items[all->count - 1];
    if (!name || !import_function(b->import, function.lo, function.hi, name))
        return import_no_memory(b->import);
    b->in_function = true;
    b->line_end = function.lo;
    return FW_OK;
}

/* Lines that follow each other are one sequence. */
static fw_error read_line(struct breakpad *b, struct line *line)
{
    uint64_t lo = hex(line), size = hex(line);
    uint32_t number = decimal(line), file = decimal(line);
    if (line->bad || size > UINT64_MAX - lo)
        return corrupt(b, line, "a bad line record");
    if (!size)
        return FW_OK;
    if (lo != b->line_end && !import_lines_end(b->import, b->line_end))
        return import_no_memory(b->import);
    b->line_end = lo + size;
    return import_line(b->import, lo, file_of(b, file), number) ? FW_OK
                                                                : import_no_memory(b->import);
}

static bool is_line(const struct line *line)
{
    return line->at < line->end &&
           ((*line->at >= '0' && *line->at <= '9') || (*line->at >= 'a' && *line->at <= 'f'));
}

static fw_error read_functions(struct breakpad *b)
{
    struct line line;
    fw_error error = FW_OK;
    for (size_t place = 0; error == FW_OK && next_line(b->bytes, &place, &line);) {
        if (b->in_function && is_line(&line)) {
            error = read_line(b, &line);
        } else if (b->in_function && take_word(&line, "INLINE ")) {
            error = read_inline(b, &line);
        } else {
            error = end_function(b);
            if (error == FW_OK && take_word(&line, "FUNC "))
                error = read_function(b, &line);
        }
    }
    return error == FW_OK ? end_function(b) : error;
}

/* ---- symbols ---- */

static int bounds_order(const void *left, const void *right)
{
    const struct bounds *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->hi < b->hi ? -1 : a->hi > b->hi;
}

static int public_order(const void *left, const void *right)
{
    const struct public_symbol *a = left, *b = right;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

/* How many of the list begin at or before the address. */
static size_t count_before(const struct bounds_list *list, uint64_t address)
{
    size_t low = 0, high = list->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list->items[middle].lo <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void sort(struct bounds_list *list)
{
    if (list->count)
        qsort(list->items, list->count, sizeof *list->items, bounds_order);
}

/* A symbol where a function begins is a further name of it: a function of the same range, poorer
 * than the one that is there. `next` is the next symbol's address. */
static fw_error place_public(struct breakpad *b, const struct public_symbol *symbol, uint64_t next)
{
    size_t function = count_before(&b->functions, symbol->lo);
    uint64_t hi = next;
    bool added;
    if (function && b->functions.items[function - 1].lo == symbol->lo) {
        added = import_function(b->import, symbol->lo, b->functions.items[function - 1].hi,
                                symbol->name);
        return added ? FW_OK : import_no_memory(b->import);
    }
    if (function && b->functions.items[function - 1].hi > symbol->lo)
        return FW_OK;
    if (function < b->functions.count && b->functions.items[function].lo < hi)
        hi = b->functions.items[function].lo;
    size_t cfi = count_before(&b->cfi, symbol->lo);
    if (cfi && b->cfi.items[cfi - 1].hi > symbol->lo && b->cfi.items[cfi - 1].hi < hi)
        hi = b->cfi.items[cfi - 1].hi;
    if (hi == UINT64_MAX)
        hi = symbol->lo < UINT64_MAX - last_symbol_size ? symbol->lo + last_symbol_size : hi;
    added = import_symbol(b->import, symbol->lo, hi, symbol->name);
    return added ? FW_OK : import_no_memory(b->import);
}

static fw_error place_publics(struct breakpad *b)
{
    fw_error error = FW_OK;
    sort(&b->functions);
    sort(&b->cfi);
    if (b->public_count)
        qsort(b->publics, b->public_count, sizeof *b->publics, public_order);
    uint64_t next = UINT64_MAX;
    for (size_t i = b->public_count; error == FW_OK && i-- > 0;) {
        if (i + 1 < b->public_count && b->publics[i + 1].lo != b->publics[i].lo)
            next = b->publics[i + 1].lo;
        error = place_public(b, &b->publics[i], next);
    }
    return error;
}

fw_error import_breakpad(struct import *import, struct span bytes)
{
    struct breakpad b = {.import = import, .bytes = bytes};
    fw_error error = read_tables(&b);
    if (error == FW_OK)
        error = read_functions(&b);
    if (error == FW_OK)
        error = place_publics(&b);
    numbers_free(&b.origins);
    numbers_free(&b.files);
    free(b.cfi.items);
    free(b.functions.items);
    free(b.publics);
    free(b.records);
    free(b.ranges.items);
    free(b.placed[0]);
    free(b.placed[1]);
    return error;
}
