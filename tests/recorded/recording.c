/* Reads the files of a recorded stack. They are trusted as far as their text goes. */
#include "recorded/recording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "unwind/rule.h"
#include "unwind/sources.h"

static void *read_file(const char *path, size_t *size)
{
    gzFile file = gzopen(path, "rb"); /* reads plain files too */
    if (!file)
        return NULL;
    size_t room = 1 << 20;
    uint8_t *bytes = malloc(room);
    *size = 0;
    for (int n; (n = gzread(file, bytes + *size, (unsigned)(room - *size))) > 0;) {
        *size += (size_t)n;
        if (*size == room)
            bytes = realloc(bytes, room *= 2);
    }
    gzclose(file);
    return bytes;
}

static FILE *open_text(const char *folder, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return fopen(path, "re");
}

/* ---- maps and files ---- */

/* The segment that file offset `offset` was mapped for gives link-time address - offset. */
static uint64_t bias_of(const struct recorded_map *map)
{
    for (size_t i = 0; i < object_segment_count(map->object); i++) {
        const struct object_segment *s = object_segment(map->object, i);
        uint64_t page = s->offset & ~0xfffull;
        if (s->executable == map->executable && map->offset >= page &&
            map->offset < s->offset + s->file_size)
            return map->lo - (map->offset + s->vaddr - s->offset);
    }
    return map->lo - (map->offset + object_base(map->object));
}

/* Files that several recordings share: links.txt says "PATH NAME". */
static void *read_linked(const char *folder, const char *name, size_t *size)
{
    char line[512], target[256], link[64], path[1024];
    void *bytes = NULL;
    FILE *file = open_text(folder, "links.txt");
    while (file && !bytes && fgets(line, sizeof line, file)) {
        if (sscanf(line, "%255s %63s", target, link) != 2 || strcmp(link, name) != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s.gz", folder, target);
        bytes = read_file(path, size);
        snprintf(path, sizeof path, "%s/%s", folder, target);
        bytes = bytes ? bytes : read_file(path, size);
    }
    if (file)
        fclose(file);
    return bytes;
}

static void open_object(struct recording *r, struct recorded_map *map, const char *folder)
{
    char path[1024];
    size_t size;
    snprintf(path, sizeof path, "%s/%s.gz", folder, map->name);
    map->bytes = read_file(path, &size);
    map->bytes = map->bytes ? map->bytes : read_linked(folder, map->name, &size);
    map->owner = true;
    if (!map->bytes) {
        snprintf(r->missing, sizeof r->missing, "%s", map->name);
        return;
    }
    if (object_open_bytes(map->bytes, size, false, map->name, &map->object, NULL) != FW_OK)
        return;
    map->symbols = symbols_build(map->object, NULL);
    object_unwind_image(map->object, object_minidebug(map->object, NULL), &map->image);
    map->eh_index = cfi_index_build(&map->image, false);
    map->debug_index = cfi_index_build(&map->image, true);
    map->image.debug_index = map->debug_index;
    map->image.bias = bias_of(map);
    r->arch = object_arch(map->object);
}

/* A file's maps share its object; each has the image with its own bias. */
static void open_map(struct recording *r, struct recorded_map *map, const char *folder)
{
    for (struct recorded_map *other = r->map; other < map; other++) {
        if (strcmp(other->name, map->name) != 0)
            continue;
        *map = (struct recorded_map){
            map->lo, map->hi,       map->offset,    map->executable, "",   other->bytes,
            false,   other->object, other->symbols, other->image,    NULL, NULL};
        memcpy(map->name, other->name, sizeof map->name);
        if (map->object)
            map->image.bias = bias_of(map);
        return;
    }
    open_object(r, map, folder);
}

static bool read_maps(struct recording *r, const char *folder)
{
    char line[512], mode[8];
    FILE *file = open_text(folder, "maps.txt");
    if (!file)
        return false;
    while (r->map_count < MAX_MAPS && fgets(line, sizeof line, file)) {
        struct recorded_map *map = &r->map[r->map_count];
        *map = (struct recorded_map){.name = ""};
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %63s", &map->lo, &map->hi,
                   mode, &map->offset, map->name) < 4)
            continue;
        map->executable = mode[2] == 'x';
        if (map->name[0] && map->name[0] != '[')
            open_map(r, map, folder);
        r->map_count++;
    }
    fclose(file);
    return true;
}

const struct recorded_map *recording_map(const struct recording *recording, uint64_t address)
{
    for (size_t i = 0; i < recording->map_count; i++)
        if (recording->map[i].lo <= address && address < recording->map[i].hi)
            return &recording->map[i];
    return NULL;
}

static const struct unwind_image *find_image(void *context, uint64_t address)
{
    const struct recorded_map *map = recording_map(context, address);
    return map && map->executable && map->object ? &map->image : NULL;
}

static bool is_code(void *context, uint64_t address)
{
    const struct recorded_map *map = recording_map(context, address);
    return map && map->executable;
}

/* ---- registers, stack, answer ---- */

static unsigned register_number(const struct arch *arch, const char *name)
{
    static const struct {
        enum arch_id arch;
        const char *name;
        uint8_t number;
    } other[] = {
        {ARCH_ARM, "ip", 12},
        {ARCH_I386, "eip", 8},
        {ARCH_X86_64, "rip", 16},
        {ARCH_AARCH64, "lr", 30},
    };
    for (unsigned i = 0; i < arch->reg_count; i++)
        if (strcmp(arch->reg_names[i], name) == 0)
            return i;
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (other[i].arch == arch->id && strcmp(other[i].name, name) == 0)
            return other[i].number;
    return ARCH_NO_REG; /* pst, which is no register */
}

static bool read_regs(struct recording *r, const char *folder)
{
    char line[128], name[16];
    uint64_t value;
    FILE *file = open_text(folder, "regs.txt");
    if (!file)
        return false;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, " %15[^:]: %" SCNx64, name, &value) != 2)
            continue;
        unsigned number = register_number(r->arch, name);
        if (number != ARCH_NO_REG)
            regs_set(&r->regs, number, value);
    }
    fclose(file);
    return true;
}

static bool read_stacks(struct recording *r, const char *folder)
{
    static const char *const names[] = {"stack.data", "stack0.data", "stack1.data"};
    size_t count = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0] && count < MAX_STACKS; i++) {
        char path[1024];
        size_t size;
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        uint8_t *bytes = read_file(path, &size);
        if (!bytes)
            continue;
        r->stack[count] = bytes;
        memcpy(&r->memory.range[count].lo, bytes, 8);
        r->memory.range[count].size = size - 8;
        r->memory.range[count++].bytes = bytes + 8;
    }
    return count > 0;
}

/* "  #07 pc 0000b0  libc.so (main+12)"; a name may itself hold parentheses and spaces. */
static bool read_expected(struct recording *r, const char *folder)
{
    char line[1024];
    FILE *file = open_text(folder, "output.txt");
    if (!file)
        return false;
    while (r->expected_count < MAX_EXPECTED && fgets(line, sizeof line, file)) {
        struct expected_frame *frame = &r->expected[r->expected_count];
        int end = 0;
        if (sscanf(line, " #%*u pc %" SCNx64 " %63s%n", &frame->pc, frame->module, &end) < 2)
            continue;
        char *open = strstr(line + end, " ("), *plus = strrchr(line + end, '+');
        if (open && plus) {
            snprintf(frame->function, sizeof frame->function, "%.*s", (int)(plus - open - 2),
                     open + 2);
            frame->offset = strtoull(plus + 1, NULL, 10);
        }
        r->expected_count++;
    }
    fclose(file);
    return true;
}

/* The bits of an address that pointer authentication may use: those above every mapped address,
 * and at least 39 bits are addresses. */
static uint64_t authentication_mask(const struct recording *r)
{
    uint64_t highest = (1ull << 39) - 1;
    for (size_t i = 0; i < r->map_count; i++)
        while (highest < r->map[i].hi)
            highest = highest << 1 | 1;
    return r->arch->id == ARCH_AARCH64 ? ~highest : 0;
}

bool recording_open(struct recording *r, const char *folder)
{
    enum { CACHE_BITS = 8 };
    *r = (struct recording){.map_count = 0};
    if (!read_maps(r, folder) || !r->arch || !read_regs(r, folder) || !read_stacks(r, folder) ||
        !read_expected(r, folder))
        return false;
    r->cache = calloc(1, RULE_CACHE_SIZE(CACHE_BITS));
    rule_cache_init(r->cache, CACHE_BITS);
    r->space = (struct walk_space){
        .arch = r->arch,
        .find_image = find_image,
        .context = r,
        .cache = r->cache,
        .pac_mask = authentication_mask(r),
        .is_code = is_code,
    };
    return true;
}

void recording_close(struct recording *r)
{
    for (size_t i = 0; i < r->map_count; i++) {
        struct recorded_map *map = &r->map[i];
        if (!map->owner)
            continue;
        cfi_index_destroy(map->eh_index);
        cfi_index_destroy(map->debug_index);
        symbols_destroy(map->symbols);
        object_close(map->object);
        free(map->bytes);
    }
    for (size_t i = 0; i < MAX_STACKS; i++)
        free(r->stack[i]);
    free(r->cache);
}
