/* What a conversion came to: figures, files, and problems by category with the first of each. */
#include "base/hex.h"
#include "cli/convert.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct category {
    const char *key, *text;
} categories[DWARF_PROBLEM_COUNT] = {
    [DWARF_PROBLEM_UNIT] = {"unit", "broken units"},
    [DWARF_PROBLEM_ABBREV] = {"abbreviation", "missing or malformed abbreviations"},
    [DWARF_PROBLEM_FORM] = {"form", "unknown or truncated attributes"},
    [DWARF_PROBLEM_REFERENCE] = {"reference", "references to nowhere"},
    [DWARF_PROBLEM_RANGE] = {"range", "malformed ranges"},
    [DWARF_PROBLEM_STRING] = {"string", "strings outside of their section"},
    [DWARF_PROBLEM_NESTING] = {"nesting", "entries nested too deep"},
    [DWARF_PROBLEM_SPLIT] = {"split", "missing .dwo files"},
    [DWARF_PROBLEM_LINE] = {"line", "malformed line programs"},
    [DWARF_PROBLEM_SUPPLEMENTARY] = {"supplementary", "missing supplementary files"},
};

static void tell_files(const struct convert_outcome *o)
{
    if (o->files && o->files->debug)
        fprintf(stderr, "  debug file: %s\n", object_label(o->files->debug));
    if (o->report->parts)
        fprintf(stderr, "  through the debug map: %zu of %zu object files\n",
                o->report->parts - o->report->parts_missing, o->report->parts);
    if (o->report->parts_missing && o->files) {
        for (size_t i = 0; i < o->files->place_count; i++)
            if (strcmp(o->files->places[i].outcome, "found") != 0)
                fprintf(stderr, "    %s: %s\n", o->files->places[i].path,
                        o->files->places[i].outcome);
        fputs("    name the folder of the object files with --debug, or make a dSYM\n", stderr);
    }
    if (o->report->dwarf_bytes || o->report->parts)
        return;
    char *story = o->files ? debug_files_story(o->files) : NULL;
    fprintf(stderr, "  names of the symbol table only: no debug information%s%s\n",
            story && story[0] ? "; " : "", story ? story : "");
    fputs("  name its dSYM, debug file or their folder with --debug\n", stderr);
    free(story);
}

static const char *size_text(uint64_t bytes, char text[32])
{
    if (bytes < 1000000)
        snprintf(text, 32, "%.1f kB", (double)bytes / 1e3);
    else
        snprintf(text, 32, "%.1f MB", (double)bytes / 1e6);
    return text;
}

void convert_tell(const struct convert_outcome *o)
{
    const struct convert_report *r = o->report;
    char size[32], read[32];
    fprintf(stderr,
            "%s: %s, %s from %s of DWARF in %.2f s: %zu functions, %zu inlined calls, "
            "%zu rows, %zu symbols\n",
            o->map, o->arch, size_text(o->size, size), size_text(r->dwarf_bytes, read), o->seconds,
            r->functions, r->inlined_calls, r->rows, r->symbols);
    tell_files(o);
    for (int i = 0; i < DWARF_PROBLEM_COUNT; i++)
        if (r->dwarf.count[i])
            fprintf(stderr, "  %" PRIu64 " %s; the first: %s\n", r->dwarf.count[i],
                    categories[i].text, r->dwarf.first[i].message);
    if (r->map.overlaps)
        fprintf(stderr, "  %" PRIu64 " functions overlap others\n", r->map.overlaps);
    if (r->map.too_far)
        fprintf(stderr, "  %" PRIu64 " functions lie too far from the image's base\n",
                r->map.too_far);
}

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

/* Paths and names need not be UTF-8, which JSON is. */
static json_t *text(const char *value)
{
    json_t *string = value ? json_string(value) : json_null();
    if (string)
        return string;
    size_t size = strlen(value);
    char *ascii = malloc(size + 1);
    for (size_t i = 0; ascii && i <= size; i++)
        ascii[i] = (signed char)value[i] < 0 ? '?' : value[i];
    string = ascii ? json_string(ascii) : NULL;
    free(ascii);
    return string;
}

static json_t *problems_of(const struct convert_report *r)
{
    json_t *problems = json_object();
    for (int i = 0; i < DWARF_PROBLEM_COUNT; i++)
        if (r->dwarf.count[i])
            json_object_set_new(problems, categories[i].key,
                                json_pack("{s:o,s:o}", "count", number(r->dwarf.count[i]), "first",
                                          text(r->dwarf.first[i].message)));
    return problems;
}

bool convert_tell_json(const struct convert_outcome *o)
{
    const struct convert_report *r = o->report;
    char id[129];
    struct span bytes = object_build_id(o->object);
    hex_text(id, bytes.data, bytes.size < 64 ? bytes.size : 64);
    const char *debug = o->files && o->files->debug ? object_label(o->files->debug) : NULL;
    json_t *all = json_pack(
        "{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:f,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "file",
        text(o->file), "map", text(o->map), "arch", text(o->arch), "id", text(id), "debug_file",
        text(debug), "bytes", number(o->size), "dwarf_bytes", number(r->dwarf_bytes), "seconds",
        o->seconds, "units", number(r->units), "functions", number(r->functions), "inlined_calls",
        number(r->inlined_calls), "rows", number(r->rows), "calls", number(r->calls), "symbols",
        number(r->symbols), "object_files", number(r->parts), "object_files_missing",
        number(r->parts_missing), "overlaps", number(r->map.overlaps), "duplicates",
        number(r->map.duplicates), "too_far", number(r->map.too_far), "problems", problems_of(r));
    bool good = all && json_dumpf(all, stdout, JSON_COMPACT) == 0 && putchar('\n') != EOF;
    json_decref(all);
    return good;
}
