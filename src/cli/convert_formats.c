#include "cli/convert_formats.h"

#include "cli/cli.h"
#include "symbolicate/debug_file.h"
#include "symmap/export.h"
#include "symmap/import.h"
#include "symmap/read_file.h"
#include "symmap/symmap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *suffix;
} formats[] = {[CONVERT_MAP] = {"symmap", ".symmap"},
               [CONVERT_GSYM] = {"gsym", ".gsym"},
               [CONVERT_BREAKPAD] = {"breakpad", ".sym"}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

bool convert_format_named(const char *name, enum convert_format *format)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(name, formats[i].name) == 0) {
            *format = (enum convert_format)i;
            return true;
        }
    cli_error("--to wants symmap, gsym or breakpad, not '%s'", name);
    return false;
}

const char *convert_suffix(enum convert_format format)
{
    return formats[format].suffix;
}

/* A map that is read is checked: its checksums are computed. */
static fw_error check_map(const char *path, struct span bytes, struct fw_failure *why)
{
    struct symmap *map;
    fw_error error = symmap_open_bytes(bytes, false, path, &map, why);
    if (error == FW_OK)
        symmap_close(map);
    return error;
}

fw_error convert_read_symbols(const char *path, uint8_t **bytes, size_t *size,
                              struct fw_failure *why)
{
    uint8_t *read;
    size_t read_size;
    fw_error error = symmap_read_file(path, &read, &read_size, why);
    if (error != FW_OK)
        return error;
    struct span span = {read, read_size};
    if (debug_file_form(span) == DEBUG_FILE_MAP) {
        error = check_map(path, span, why);
        if (error == FW_OK) {
            *bytes = read;
            *size = read_size;
            return FW_OK;
        }
    } else {
        error = import_map(span, path, bytes, size, why);
    }
    free(read);
    return error;
}

fw_error convert_to(enum convert_format format, uint8_t **bytes, size_t *size,
                    struct fw_failure *why)
{
    if (format == CONVERT_MAP)
        return FW_OK;
    struct symmap *map;
    uint8_t *made = NULL;
    size_t made_size = 0;
    fw_error error = symmap_open_bytes((struct span){*bytes, *size}, true, "map", &map, why);
    if (error != FW_OK)
        return error;
    error = format == CONVERT_GSYM ? export_gsym(map, &made, &made_size, why)
                                   : export_breakpad(map, &made, &made_size, why);
    symmap_close(map);
    if (error == FW_OK) {
        free(*bytes);
        *bytes = made;
        *size = made_size;
    }
    return error;
}
