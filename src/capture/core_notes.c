/*
 * Layouts: struct elf_prstatus, elf_prpsinfo and the NT_FILE note of Linux (fs/binfmt_elf.c and
 * linux/elfcore.h as user ABI), which differ only by word size; all are read by byte offsets:
 *
 *                      64-bit           32-bit
 *     prstatus         pid 32, regs 112 pid 24, regs 72
 *     prpsinfo         136 bytes        124 bytes (128 with 32-bit user ids)
 *                      pid 24, name 40  pid 12 (16), name 28 (32)
 *     siginfo          signal 0         signal 0
 *     NT_FILE          words: count, page size, then { lo, hi, page } and as many strings
 */
#include "capture/core_notes.h"

#include "os/linux/regset.h"

#include <elf.h>
#include <stdlib.h>

#ifndef NT_ARM_PAC_MASK
#define NT_ARM_PAC_MASK 0x406
#endif

struct parse {
    const struct object *object;
    struct core_notes *notes;
    unsigned word; /* bytes */
};

static struct reader reader_for(const struct parse *parse, struct span contents, uint64_t offset)
{
    struct reader reader = reader_at(contents.data, contents.size, offset);
    reader.swap = object_is_big_endian(parse->object) != (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    return reader;
}

static struct core_thread *add_thread(struct core_notes *notes)
{
    if (notes->thread_count == notes->thread_capacity) {
        size_t capacity = notes->thread_capacity ? notes->thread_capacity * 2 : 64;
        struct core_thread *grown = realloc(notes->threads, capacity * sizeof *grown);
        if (!grown) {
            notes->no_memory = true;
            return NULL;
        }
        notes->threads = grown;
        notes->thread_capacity = capacity;
    }
    struct core_thread *thread = &notes->threads[notes->thread_count++];
    *thread = (struct core_thread){0};
    return thread;
}

static void read_prstatus(struct parse *parse, struct span contents)
{
    enum { CURSIG_AT = 12 };
    uint64_t pid_at = parse->word == 8 ? 32 : 24, regs_at = parse->word == 8 ? 112 : 72;
    size_t size = regset_size(object_arch(parse->object));
    struct reader pid = reader_for(parse, contents, pid_at);
    struct reader cursig = reader_for(parse, contents, CURSIG_AT);
    struct reader regs = reader_for(parse, contents, regs_at);
    struct span span = {NULL, size};
    int32_t id = (int32_t)reader_u32(&pid);
    int32_t current = (int16_t)reader_u16(&cursig);
    if (!reader_take(&regs, size, &span.data) || !size)
        return;
    struct core_thread *thread = add_thread(parse->notes);
    if (thread)
        *thread = (struct core_thread){.id = id, .current = current, .regs = span};
}

static void copy_text(struct reader *reader, size_t size, char *to)
{
    const uint8_t *bytes;
    if (!reader_take(reader, size, &bytes))
        return;
    memcpy(to, bytes, size);
    to[size] = 0;
}

static void read_prpsinfo(struct parse *parse, struct span contents)
{
    bool wide = parse->word == 8, long_ids = contents.size >= 128;
    uint64_t pid_at = wide ? 24 : long_ids ? 16 : 12, name_at = wide ? 40 : long_ids ? 32 : 28;
    struct reader pid = reader_for(parse, contents, pid_at);
    struct reader text = reader_for(parse, contents, name_at);
    int32_t id = (int32_t)reader_u32(&pid);
    if (!pid.failed)
        parse->notes->pid = id;
    copy_text(&text, 16, parse->notes->name);
    copy_text(&text, 80, parse->notes->command);
}

static void read_auxv(struct parse *parse, struct span contents)
{
    struct reader reader = reader_for(parse, contents, 0);
    while (!reader.failed) {
        uint64_t type = reader_uint(&reader, parse->word);
        uint64_t value = reader_uint(&reader, parse->word);
        if (reader.failed || type == AT_NULL)
            return;
        if (type == AT_ENTRY)
            parse->notes->entry = value;
        else if (type == AT_EXECFN)
            parse->notes->execfn = value;
        else if (type == AT_SYSINFO_EHDR)
            parse->notes->vdso = value;
    }
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = ((const struct core_file *)a)->lo, y = ((const struct core_file *)b)->lo;
    return x < y ? -1 : x > y;
}

static void read_files(struct parse *parse, struct span contents)
{
    struct core_notes *notes = parse->notes;
    struct reader reader = reader_for(parse, contents, 0);
    uint64_t count = reader_uint(&reader, parse->word);
    uint64_t page = reader_uint(&reader, parse->word);
    if (reader.failed || notes->files || count > reader_left(&reader) / (3 * parse->word))
        return;
    struct reader paths = reader;
    reader_skip(&paths, count * 3 * parse->word);
    notes->files = calloc(count ? (size_t)count : 1, sizeof *notes->files);
    if (!notes->files) {
        notes->no_memory = true;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct core_file file = {.lo = reader_uint(&reader, parse->word)};
        file.hi = reader_uint(&reader, parse->word);
        uint64_t number = reader_uint(&reader, parse->word);
        file.path = reader_string(&paths);
        if (!file.path)
            break;
        if (file.lo < file.hi && !__builtin_mul_overflow(number, page, &file.offset))
            notes->files[notes->file_count++] = file;
    }
    qsort(notes->files, notes->file_count, sizeof *notes->files, by_address);
}

static bool each_note(void *context, const char *name, uint32_t type, struct span contents)
{
    struct parse *parse = context;
    struct core_notes *notes = parse->notes;
    struct core_thread *last =
        notes->thread_count ? &notes->threads[notes->thread_count - 1] : NULL;
    struct reader reader = reader_for(parse, contents, 0);
    if (type == NT_ARM_PAC_MASK && !strcmp(name, "LINUX") && last) {
        reader_skip(&reader, 8); /* of data addresses */
        last->pac_mask = reader_u64(&reader);
    } else if (strcmp(name, "CORE") != 0) {
        return true;
    } else if (type == NT_PRSTATUS) {
        read_prstatus(parse, contents);
    } else if (type == NT_PRPSINFO) {
        read_prpsinfo(parse, contents);
    } else if (type == NT_AUXV) {
        read_auxv(parse, contents);
    } else if (type == NT_FILE) {
        read_files(parse, contents);
    } else if (type == NT_SIGINFO && last && !last->signal) {
        last->signal = (int32_t)reader_u32(&reader);
    }
    return !notes->no_memory;
}

bool core_notes_read(const struct object *object, struct core_notes *notes)
{
    *notes = (struct core_notes){0};
    struct parse parse = {object, notes, object_is_64(object) ? 8 : 4};
    object_notes(object, each_note, &parse);
    return !notes->no_memory;
}

const struct core_file *core_notes_file_at(const struct core_notes *notes, uint64_t address)
{
    size_t lo = 0, hi = notes->file_count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        if (notes->files[middle].lo <= address)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo && address < notes->files[lo - 1].hi ? &notes->files[lo - 1] : NULL;
}

void core_notes_free(struct core_notes *notes)
{
    free(notes->threads);
    free(notes->files);
    *notes = (struct core_notes){0};
}
