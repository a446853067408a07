/* The form of a file by its first bytes, and identity, kind and features of its slices. */
#include "symbolicate/debug_file.h"

#include "base/failure.h"
#include "object/debug_sections.h"
#include "object/fat.h"
#include "object/object_internal.h"
#include "symmap/import.h"
#include "symmap/symmap.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

const char *const debug_file_feature_names[] = {"symtab", "debug_info", "lines", "inlines",
                                                "unwind", "split",      NULL};

static bool is_macho(const uint8_t magic[4])
{
    static const char known[][5] = {"\xce\xfa\xed\xfe", "\xcf\xfa\xed\xfe", "\xfe\xed\xfa\xce",
                                    "\xfe\xed\xfa\xcf", "\xca\xfe\xba\xbe", "\xca\xfe\xba\xbf"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (memcmp(magic, known[i], 4) == 0)
            return true;
    return false;
}

enum debug_file_form debug_file_form(struct span start)
{
    if (start.size < 8)
        return DEBUG_FILE_NONE;
    if (memcmp(start.data, ELFMAG, SELFMAG) == 0)
        return DEBUG_FILE_ELF;
    if (is_macho(start.data))
        return DEBUG_FILE_MACHO;
    if (memcmp(start.data, SYMMAP_MAGIC, 8) == 0)
        return DEBUG_FILE_MAP;
    if (import_is_gsym(start))
        return DEBUG_FILE_GSYM;
    return import_is_breakpad(start) ? DEBUG_FILE_BREAKPAD : DEBUG_FILE_NONE;
}

enum debug_file_form debug_file_form_at(const char *path)
{
    uint8_t start[DEBUG_FILE_START];
    FILE *file = fopen(path, "rbe");
    size_t got = file ? fread(start, 1, sizeof start, file) : 0;
    if (file)
        fclose(file);
    return debug_file_form((struct span){start, got});
}

bool debug_file_is_symbols(enum debug_file_form form)
{
    return form == DEBUG_FILE_MAP || form == DEBUG_FILE_GSYM || form == DEBUG_FILE_BREAKPAD;
}

bool debug_file_has_code(const struct object *object)
{
    struct object_section section;
    if (object_type(object) == OBJECT_DSYM)
        return false;
    if (object_section_count(object) == 0)
        return true; /* stripped of its section headers */
    for (size_t i = 0; object_section_at(object, i, &section); i++)
        if (section.code && (object_is_macho(object) || section.type != SHT_NOBITS))
            return true;
    return false;
}

static bool has_debug(struct object *object, const char *name)
{
    struct object_section section;
    for (size_t i = 0; object_section_at(object, i, &section); i++) {
        const char *found = strstr(section.name, "debug_");
        if (found && section.size && section.type != SHT_NOBITS && strcmp(found + 6, name) == 0)
            return true;
    }
    return false;
}

static bool seen(void *context, const struct object_symbol *symbol)
{
    bool *any = context;
    *any = symbol->type == SYMBOL_FUNCTION;
    return !*any;
}

static unsigned features_of(struct object *object)
{
    static const char *const unwind[] = {".eh_frame", "__eh_frame", "__unwind_info", ".ARM.exidx"};
    unsigned features = 0;
    bool symbols = false;
    const char *path;
    struct span id;
    object_symbols(object, false, seen, &symbols);
    if (symbols)
        features |= DEBUG_FILE_SYMTAB;
    if (has_debug(object, "info"))
        features |= DEBUG_FILE_DEBUG_INFO;
    if (has_debug(object, "line"))
        features |= DEBUG_FILE_LINES;
    struct object_section section;
    for (size_t i = 0; object_section_at(object, i, &section); i++)
        for (size_t k = 0; k < sizeof unwind / sizeof unwind[0]; k++)
            if (section.type != SHT_NOBITS && strcmp(section.name, unwind[k]) == 0)
                features |= DEBUG_FILE_UNWIND;
    if (features & DEBUG_FILE_DEBUG_INFO && object_debugaltlink(object, &path, &id))
        features |= DEBUG_FILE_SPLIT;
    return features;
}

fw_error debug_file_look(struct object *object, struct debug_slice *slice, struct fw_failure *why)
{
    *slice = (struct debug_slice){0};
    enum object_type type = object_type(object);
    snprintf(slice->arch, sizeof slice->arch, "%s", object_arch_name(object));
    if (type == OBJECT_CORE || type == OBJECT_RELOCATABLE)
        return failure_say(why, FW_ERR_UNSUPPORTED, 0, "%s",
                           type == OBJECT_CORE
                               ? "a core file: it has no debug information of its own"
                               : "an object file that was not linked yet");
    struct span id = object_build_id(object);
    slice->id_size = id.size >= DEBUG_FILE_ID_LEAST && id.size <= sizeof slice->id ? id.size : 0;
    if (slice->id_size)
        memcpy(slice->id, id.data, id.size);
    slice->features = features_of(object);
    slice->kind = debug_file_has_code(object) ? DEBUG_FILE_EXECUTABLE : DEBUG_FILE_DEBUGINFO;
    return FW_OK;
}

fw_error debug_file_slices(struct span file, const char *label,
                           bool (*each)(void *context, struct object *object,
                                        const struct fw_failure *why),
                           void *context, struct fw_failure *why)
{
    struct fat_slice slices[FAT_SLICES];
    enum debug_file_form form = debug_file_form(file);
    if (form != DEBUG_FILE_ELF && form != DEBUG_FILE_MACHO)
        return failure_say(why, FW_ERR_FORMAT, 0, "%s: neither ELF nor Mach-O", label);
    size_t count = fat_read(file, slices);
    for (size_t i = 0; i < (count ? count : 1); i++) {
        struct object *object = NULL;
        struct fw_failure reason = {0};
        struct span bytes = file;
        if (count)
            bytes = span_cut(file, slices[i].offset, slices[i].size);
        object_open_bytes(bytes.data, bytes.size, false, label, &object, &reason);
        bool more = each(context, object, &reason);
        object_close(object);
        if (!more)
            break;
    }
    return FW_OK;
}
