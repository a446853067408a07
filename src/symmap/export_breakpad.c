/*
 * Breakpad symbol text. Every function whose end is known becomes a FUNC, also one of the symbol
 * table: a PUBLIC has no end, and readers let it spill over. PUBLIC is for the further names of a
 * function, which is then marked `m`. Names stay mangled, as the map has them.
 */
#include "symmap/export.h"
#include "symmap/export_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct text {
    struct buffer buffer;
    bool failed;
};

struct breakpad {
    const struct symmap *map;
    struct export_files files;
    struct text functions, publics;
    const char **origins; /* by number */
    size_t origin_count, origin_capacity;
    uint32_t *slots; /* hash table of origins: number + 1 */
    size_t slot_count;
};

__attribute__((format(printf, 2, 3))) static void print(struct text *t, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    t->failed |=
        size < 0 || (size_t)size >= sizeof line || !buffer_add(&t->buffer, line, (size_t)size);
}

/* A name to the end of its line: what would end the line is replaced. */
static void print_name(struct text *t, const char *name)
{
    if (!name || !name[0])
        name = EXPORT_UNKNOWN;
    size_t size = strlen(name), from = t->buffer.size;
    if (!buffer_add(&t->buffer, name, size) || !buffer_add(&t->buffer, "\n", 1)) {
        t->failed = true;
        return;
    }
    for (size_t i = from; i < from + size; i++)
        if (t->buffer.data[i] == '\n' || t->buffer.data[i] == '\r')
            t->buffer.data[i] = '?';
}

/* ---- identity ---- */

void breakpad_id(const uint8_t *id, size_t size, bool uuid, char text[BREAKPAD_ID_SIZE])
{
    static const uint8_t swapped[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
    uint8_t bytes[16] = {0};
    memcpy(bytes, id, size < sizeof bytes ? size : sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(text + 2 * i, 3, "%02X", bytes[uuid ? i : swapped[i]]);
    memcpy(text + 32, "0", 2);
}

static const char *arch_name(const char *arch)
{
    static const char *const names[][2] = {
        {"i386", "x86"},   {"aarch64", "arm64"},  {"armv7", "arm"},    {"armv7s", "arm"},
        {"armv7k", "arm"}, {"x86_64h", "x86_64"}, {"ppc64le", "ppc64"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(arch, names[i][0]) == 0)
            return names[i][1];
    return arch[0] ? arch : "unknown";
}

static void print_module(const struct breakpad *b, struct text *t)
{
    const struct symmap_identity *id = symmap_identity(b->map);
    bool uuid = id->id_kind == SYMMAP_ID_UUID;
    char text[BREAKPAD_ID_SIZE];
    breakpad_id(id->id, id->id_size, uuid, text);
    print(t, "MODULE %s %s %s ", uuid ? "mac" : "Linux", arch_name(id->arch), text);
    print_name(t, id->object);
    if (id->id_kind == SYMMAP_ID_BUILD_ID && id->id_size) {
        print(t, "INFO CODE_ID ");
        for (uint32_t i = 0; i < id->id_size; i++)
            print(t, "%02X", id->id[i]);
        print(t, "\n");
    }
}

/* ---- inlined functions ---- */

static size_t slot_of(const struct breakpad *b, const char *name)
{
    uint64_t h = (uint64_t)(uintptr_t)name * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(h >> 20) & (b->slot_count - 1);
    while (b->slots[at] && b->origins[b->slots[at] - 1] != name)
        at = (at + 1) & (b->slot_count - 1);
    return at;
}

static bool grow(struct breakpad *b)
{
    size_t count = b->slot_count ? b->slot_count * 2 : 1024;
    uint32_t *slots = calloc(count, sizeof *slots);
    if (!slots)
        return false;
    free(b->slots);
    b->slots = slots;
    b->slot_count = count;
    for (size_t i = 0; i < b->origin_count; i++)
        b->slots[slot_of(b, b->origins[i])] = (uint32_t)i + 1;
    return true;
}

static bool number_origin(struct breakpad *b, const char *name, uint32_t *number)
{
    if (b->origin_count * 2 >= b->slot_count && !grow(b))
        return false;
    size_t at = slot_of(b, name);
    if (!b->slots[at]) {
        if (!array_room(&b->origins, &b->origin_capacity, b->origin_count, sizeof *b->origins))
            return false;
        b->origins[b->origin_count++] = name;
        b->slots[at] = (uint32_t)b->origin_count;
    }
    *number = b->slots[at] - 1;
    return true;
}

/* File numbers are those of FILE lines; 0 is the one without a name. */
static void print_call(struct breakpad *b, const struct export_function *f,
                       const struct export_call *call)
{
    struct text *t = &b->functions;
    uint32_t origin;
    if (!number_origin(b, call->name, &origin)) {
        t->failed = true;
        return;
    }
    print(t, "INLINE %u %u %u %u", call->depth, call->call_line, call->call_file, origin);
    for (uint32_t i = 0; i < call->range_count; i++) {
        const struct export_range *range = &f->ranges[call->first_range + i];
        print(t, " %llx %llx", (unsigned long long)range->lo,
              (unsigned long long)(range->hi - range->lo));
    }
    print(t, "\n");
}

/* ---- functions ---- */

static bool add_function(void *context, const struct export_function *f)
{
    struct breakpad *b = context;
    struct text *t = &b->functions;
    if (!f->name && !f->has_lines)
        return true; /* only bounds: nothing to say */
    size_t aliases = f->whole ? symmap_alias_count(b->map, f->number) : 0;
    print(t, "FUNC %s%llx %llx 0 ", aliases ? "m " : "", (unsigned long long)f->lo,
          (unsigned long long)(f->hi - f->lo));
    print_name(t, f->name);
    for (size_t i = 0; i < f->call_count; i++)
        print_call(b, f, &f->calls[i]);
    for (size_t i = 0; i < f->row_count; i++) {
        uint64_t hi = i + 1 < f->row_count ? f->rows[i + 1].lo : f->hi;
        if (f->rows[i].file)
            print(t, "%llx %llx %u %u\n", (unsigned long long)f->rows[i].lo,
                  (unsigned long long)(hi - f->rows[i].lo), f->rows[i].line, f->rows[i].file);
    }
    for (size_t i = 0; i < aliases; i++) {
        print(&b->publics, "PUBLIC m %llx 0 ", (unsigned long long)f->lo);
        print_name(&b->publics, symmap_alias(b->map, f->number, i));
    }
    return !t->failed && !b->publics.failed;
}

static void print_files(const struct breakpad *b, struct text *t)
{
    print(t, "FILE 0 \n");
    for (size_t i = 0; i < b->files.count; i++) {
        const struct export_file *file = &b->files.items[i];
        print(t, "FILE %zu ", i + 1);
        if (file->directory && file->directory[0]) {
            t->failed |= !buffer_add(&t->buffer, file->directory, strlen(file->directory));
            if (file->directory[strlen(file->directory) - 1] != '/')
                print(t, "/");
        }
        print_name(t, file->name);
    }
}

static bool put_together(const struct breakpad *b, struct text *t)
{
    print_module(b, t);
    print_files(b, t);
    for (size_t i = 0; i < b->origin_count; i++) {
        print(t, "INLINE_ORIGIN %zu ", i);
        print_name(t, b->origins[i]);
    }
    return !t->failed &&
           buffer_add(&t->buffer, b->functions.buffer.data, b->functions.buffer.size) &&
           buffer_add(&t->buffer, b->publics.buffer.data, b->publics.buffer.size);
}

fw_error export_breakpad(const struct symmap *map, uint8_t **bytes, size_t *size,
                         struct fw_failure *why)
{
    struct breakpad b = {.map = map};
    struct text file = {0};
    fw_error error = export_each(map, &b.files, add_function, &b);
    if (error == FW_OK && !put_together(&b, &file))
        error = FW_ERR_MEMORY;
    export_files_free(&b.files);
    free(b.functions.buffer.data);
    free(b.publics.buffer.data);
    free(b.origins);
    free(b.slots);
    if (error != FW_OK) {
        free(file.buffer.data);
        if (why) {
            *why = (struct fw_failure){.code = error};
            snprintf(why->message, sizeof why->message, "Breakpad: %s", fw_error_text(error));
        }
        return error;
    }
    *bytes = file.buffer.data;
    *size = file.buffer.size;
    return FW_OK;
}
