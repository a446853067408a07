/* Opens a symbol map: header, section directory, checksums, identity. See symmap.h, format.h. */
#include "base/crc32c.h"
#include "symmap/checksum.h"
#include "symmap/map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const char *section_name(uint32_t id)
{
    static const char *const names[SECTION_END] = {[SECTION_IDENTITY] = "identity",
                                                   [SECTION_INDEX] = "index",
                                                   [SECTION_BLOCK_STARTS] = "block starts",
                                                   [SECTION_BLOCK_PLACES] = "block places",
                                                   [SECTION_CODE] = "code",
                                                   [SECTION_FUNCTIONS] = "functions",
                                                   [SECTION_SUBJECTS] = "subjects",
                                                   [SECTION_FILES] = "files",
                                                   [SECTION_STRINGS] = "strings",
                                                   [SECTION_ALIASES] = "aliases",
                                                   [SECTION_CALLS] = "calls",
                                                   [SECTION_TAIL_CALLS] = "tail calls"};
    return id < SECTION_END && names[id] ? names[id] : "unknown";
}

_Static_assert(FORMAT_MAJOR == SYMMAP_VERSION, "the version that others know");

__attribute__((format(printf, 4, 5))) static fw_error
refuse(struct fw_failure *why, fw_error code, uint64_t place, const char *format, ...)
{
    if (why) {
        *why = (struct fw_failure){.code = code, .place = place};
        va_list list;
        va_start(list, format);
        vsnprintf(why->message, sizeof why->message, format, list);
        va_end(list);
    }
    return code;
}

static fw_error check_header(struct span bytes, const char *label, uint32_t *sections, bool trusted,
                             struct fw_failure *why)
{
    const uint8_t *h = bytes.data;
    if (bytes.size < HEADER_SIZE)
        return refuse(why, FW_ERR_FORMAT, 0, "%s: too short for a symbol map", label);
    if (memcmp(h + HEADER_MAGIC, FORMAT_MAGIC, 8) != 0)
        return refuse(why, FW_ERR_FORMAT, 0, "%s: not a symbol map", label);
    if (get_u16(h + HEADER_MAJOR) != FORMAT_MAJOR)
        return refuse(why, FW_ERR_UNSUPPORTED, HEADER_MAJOR,
                      "%s: symbol map version %u, this program reads version %d", label,
                      get_u16(h + HEADER_MAJOR), FORMAT_MAJOR);
    if (!trusted && crc32c(h, HEADER_SUM) != get_u32(h + HEADER_SUM))
        return refuse(why, FW_ERR_CORRUPT, HEADER_SUM, "%s: the header is damaged", label);
    uint64_t size = get_u64(h + HEADER_SIZE_OF_FILE);
    if (size != bytes.size)
        return refuse(why, size > bytes.size ? FW_ERR_TRUNCATED : FW_ERR_CORRUPT,
                      HEADER_SIZE_OF_FILE, "%s: %llu bytes long, its header says %llu", label,
                      (unsigned long long)bytes.size, (unsigned long long)size);
    *sections = get_u32(h + HEADER_SECTIONS);
    if (*sections > SECTIONS_LIMIT || *sections * ENTRY_SIZE > bytes.size - HEADER_SIZE)
        return refuse(why, FW_ERR_CORRUPT, HEADER_SECTIONS, "%s: %u sections do not fit", label,
                      *sections);
    if (!trusted &&
        crc32c(h + HEADER_SIZE, *sections * ENTRY_SIZE) != get_u32(h + HEADER_DIRECTORY_SUM))
        return refuse(why, FW_ERR_CORRUPT, HEADER_SIZE, "%s: the section directory is damaged",
                      label);
    return FW_OK;
}

static fw_error find_sections(struct symmap *map, const char *label, uint32_t sections,
                              bool trusted, struct fw_failure *why)
{
    for (uint32_t i = 0; i < sections; i++) {
        uint64_t place = HEADER_SIZE + (uint64_t)i * ENTRY_SIZE;
        const uint8_t *entry = map->bytes.data + place;
        uint32_t id = get_u32(entry + ENTRY_ID);
        uint64_t offset = get_u64(entry + ENTRY_OFFSET), size = get_u64(entry + ENTRY_LENGTH);
        if (offset > map->bytes.size || size > map->bytes.size - offset || size > UINT32_MAX)
            return refuse(why, FW_ERR_CORRUPT, place, "%s: section %u lies outside of the file",
                          label, id);
        if (!trusted &&
            checksum_of(map->bytes.data + offset, (size_t)size) != get_u32(entry + ENTRY_SUM))
            return refuse(why, FW_ERR_CORRUPT, offset, "%s: section %u is damaged", label, id);
        if (id == 0 || id >= SECTION_END) {
            if (get_u32(entry + ENTRY_FLAGS) & ENTRY_MUST_UNDERSTAND)
                return refuse(why, FW_ERR_UNSUPPORTED, place,
                              "%s: section %u is needed and not known to this program", label, id);
            continue;
        }
        if (map->section[id].data)
            return refuse(why, FW_ERR_CORRUPT, place, "%s: section %u stands twice", label, id);
        map->section[id] = (struct span){map->bytes.data + offset, (size_t)size};
    }
    return FW_OK;
}

static bool count_items(struct symmap *map)
{
    struct {
        enum section_id id;
        uint32_t *count;
        size_t size;
    } const tables[] = {
        {SECTION_INDEX, &map->index_count, 4},
        {SECTION_BLOCK_STARTS, &map->block_count, 4},
        {SECTION_FUNCTIONS, &map->function_count, 4},
        {SECTION_SUBJECTS, &map->subject_count, SUBJECT_SIZE},
        {SECTION_FILES, &map->file_count, FILE_SIZE},
        {SECTION_ALIASES, &map->alias_count, PAIR_SIZE},
        {SECTION_CALLS, &map->call_count, PAIR_SIZE},
    };
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        size_t size = map->section[tables[i].id].size;
        if (size % tables[i].size != 0)
            return false;
        *tables[i].count = (uint32_t)(size / tables[i].size);
    }
    return map->section[SECTION_BLOCK_PLACES].size == map->section[SECTION_BLOCK_STARTS].size;
}

static const char *text_or_empty(const struct symmap *map, uint32_t offset)
{
    const char *text = map_string(map, offset);
    return text ? text : "";
}

static bool read_identity(struct symmap *map)
{
    struct span section = map->section[SECTION_IDENTITY];
    if (section.size < IDENTITY_SIZE)
        return false;
    const uint8_t *p = section.data;
    struct symmap_identity *identity = &map->identity;
    identity->base = get_u64(p + IDENTITY_BASE);
    identity->id_size = p[IDENTITY_ID_SIZE];
    identity->id_kind = p[IDENTITY_ID_KIND];
    map->unit_shift = p[IDENTITY_UNIT_SHIFT];
    map->index_shift = p[IDENTITY_INDEX_SHIFT];
    map->columns = p[IDENTITY_FLAGS] & IDENTITY_HAS_COLUMNS;
    map->identity.incomplete = p[IDENTITY_FLAGS] & IDENTITY_INCOMPLETE;
    if (identity->id_size > sizeof identity->id || map->unit_shift > 7 || map->index_shift > 31 ||
        p[IDENTITY_ARCH + 15])
        return false;
    memcpy(identity->id, p + IDENTITY_ID, sizeof identity->id);
    memcpy(identity->arch, p + IDENTITY_ARCH, sizeof identity->arch);
    identity->object = text_or_empty(map, get_u32(p + IDENTITY_OBJECT));
    identity->producer = text_or_empty(map, get_u32(p + IDENTITY_PRODUCER));
    identity->converter = text_or_empty(map, get_u32(p + IDENTITY_CONVERTER));
    return true;
}

static fw_error open_checked(struct symmap *map, bool trusted, const char *label,
                             struct fw_failure *why)
{
    uint32_t sections = 0;
    fw_error error = check_header(map->bytes, label, &sections, trusted, why);
    if (error == FW_OK)
        error = find_sections(map, label, sections, trusted, why);
    if (error != FW_OK)
        return error;
    struct span strings = map->section[SECTION_STRINGS];
    if (strings.size && strings.data[strings.size - 1])
        return refuse(why, FW_ERR_CORRUPT, 0, "%s: the strings do not end", label);
    if (!count_items(map))
        return refuse(why, FW_ERR_CORRUPT, 0, "%s: a section ends within an entry", label);
    if (!read_identity(map))
        return refuse(why, FW_ERR_CORRUPT, 0, "%s: the identity section is malformed", label);
    return FW_OK;
}

static fw_error open_span(struct span bytes, bool mapped, bool trusted, const char *label,
                          struct symmap **result, struct fw_failure *why)
{
    struct symmap *map = calloc(1, sizeof *map);
    if (!map)
        return refuse(why, FW_ERR_MEMORY, 0, "%s: out of memory", label);
    map->bytes = bytes;
    fw_error error = open_checked(map, trusted, label, why);
    if (error != FW_OK) {
        free(map);
        return error;
    }
    map->mapped = mapped;
    *result = map;
    return FW_OK;
}

fw_error symmap_open_bytes(struct span bytes, bool trusted, const char *label, struct symmap **map,
                           struct fw_failure *why)
{
    return open_span(bytes, false, trusted, label, map, why);
}

static fw_error open_descriptor(int fd, const char *path, struct symmap **map,
                                struct fw_failure *why)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return refuse(why, FW_ERR_SYSTEM, 0, "%s: %s", path, strerror(errno));
    if (!S_ISREG(status.st_mode) || status.st_size < HEADER_SIZE)
        return refuse(why, FW_ERR_FORMAT, 0, "%s: not a symbol map", path);
    size_t size = (size_t)status.st_size;
    /* All of it is read now for its checksums: one call instead of a fault for every few pages. */
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (bytes == MAP_FAILED)
        return refuse(why, FW_ERR_SYSTEM, 0, "%s: %s", path, strerror(errno));
    fw_error error = open_span((struct span){bytes, size}, true, false, path, map, why);
    if (error != FW_OK)
        munmap(bytes, size);
    return error;
}

fw_error symmap_open(const char *path, struct symmap **map, struct fw_failure *why)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        fw_error code = errno == ENOENT                     ? FW_ERR_NOT_FOUND
                        : errno == EACCES || errno == EPERM ? FW_ERR_PERMISSION
                                                            : FW_ERR_SYSTEM;
        return refuse(why, code, 0, "%s: %s", path, strerror(errno));
    }
    fw_error error = open_descriptor(fd, path, map, why);
    close(fd);
    return error;
}

void symmap_close(struct symmap *map)
{
    if (!map)
        return;
    if (map->mapped)
        munmap((void *)(uintptr_t)map->bytes.data, map->bytes.size);
    free(map);
}

const struct symmap_identity *symmap_identity(const struct symmap *map)
{
    return &map->identity;
}
