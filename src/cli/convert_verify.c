#include "cli/convert_verify.h"

#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/style.h"
#include "symmap/verify.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void show(void *context, const char *phase, uint64_t done, uint64_t total)
{
    if (total)
        progress_show(context, "%s %.0f %%", phase, 100.0 * (double)done / (double)total);
    else
        progress_show(context, "%s", phase);
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void tell(const struct verify_report *report, double took, bool quiet)
{
    struct style style = {stderr, style_wanted(STYLE_AUTO, stderr)};
    uint64_t differences = verify_differences(report);
    if (!quiet || differences)
        style_line(&style, differences ? STYLE_WARNING : STYLE_PLAIN,
                   "verified %llu rows, %llu functions and %llu symbols with %llu lookups in %.2f "
                   "s: %llu difference%s",
                   (unsigned long long)report->rows, (unsigned long long)report->functions,
                   (unsigned long long)report->symbols, (unsigned long long)report->lookups, took,
                   (unsigned long long)differences, differences == 1 ? "" : "s");
    if (!quiet)
        style_line(&style, STYLE_DIM,
                   "  %llu rows of symbols alone; %llu functions share the code of another",
                   (unsigned long long)report->from_symbols, (unsigned long long)report->shared);
    for (int kind = 0; kind < VERIFY_KINDS; kind++) {
        if (!report->count[kind])
            continue;
        style_line(&style, STYLE_STRONG, "  %s: %llu", verify_kind_text((enum verify_kind)kind),
                   (unsigned long long)report->count[kind]);
        for (size_t i = 0; i < VERIFY_EXAMPLES && i < report->count[kind]; i++) {
            char text[2048];
            style_clean(report->example[kind][i].text, text, sizeof text);
            style_line(&style, STYLE_PLAIN, "    0x%llx %s",
                       (unsigned long long)report->example[kind][i].address, text);
        }
    }
}

static int compare(const struct symmap *map, const struct verify_files *files,
                   const struct convert_options *options, bool quiet, fw_error *error,
                   struct fw_failure *why)
{
    struct verify_report *report = calloc(1, sizeof *report);
    if (!report) {
        *error = FW_ERR_MEMORY;
        return CLI_FAILED;
    }
    double begin = seconds();
    if (files->files && files->files->parts) {
        *error = FW_ERR_UNSUPPORTED;
        *why = (struct fw_failure){.code = *error,
                                   .message = "a map that was made of the object files of a "
                                              "program cannot be verified: verify one of its dSYM"};
    } else {
        *error =
            symmap_verify(map, files->object, files->files ? files->files->debug : NULL,
                          files->files ? &files->files->companions : NULL, options, report, why);
    }
    progress_end(files->progress);
    if (*error == FW_OK)
        tell(report, seconds() - begin, quiet);
    int result = *error == FW_OK && !verify_differences(report) ? CLI_OK : CLI_FAILED;
    free(report);
    return result;
}

int convert_verify(const struct verify_files *files, struct span bytes,
                   const struct convert_options *options, bool quiet, fw_error *error,
                   struct fw_failure *why)
{
    struct symmap *map;
    *error = symmap_open_bytes(bytes, false, "the map", &map, why);
    if (*error != FW_OK)
        return CLI_FAILED;
    int result = compare(map, files, options, quiet, error, why);
    symmap_close(map);
    return result;
}

static bool same_identity(const struct symmap *map, const struct object *object)
{
    const struct symmap_identity *identity = symmap_identity(map);
    struct span id = object_build_id(object);
    return identity->id_kind == SYMMAP_ID_TEXT_HASH || !id.size ||
           (identity->id_size == id.size && memcmp(identity->id, id.data, id.size) == 0);
}

int convert_verify_map(const char *map_path, const char *path,
                       const struct convert_command *command)
{
    struct fw_failure why = {0};
    struct symmap *map = NULL;
    struct object *object = NULL;
    struct debug_files *files = NULL;
    struct progress progress;
    const struct debug_find_options find = {.folders = command->debug,
                                            .sysroot = command->sysroot,
                                            .debuginfod = !command->no_debuginfod,
                                            .progress = show,
                                            .context = &progress};
    const struct convert_options options = {
        .threads = command->threads, .progress = show, .context = &progress};
    const struct object_choice choice = {.arch = command->arch};
    int result = CLI_FAILED;
    progress_begin(&progress);
    fw_error error = symmap_open(map_path, &map, &why);
    if (error == FW_OK)
        error = object_open_path(path, &choice, &object, &why);
    if (error == FW_OK && !same_identity(map, object)) {
        error = FW_ERR_CORRUPT;
        snprintf(why.message, sizeof why.message, "%s is not the map of %s: another build id",
                 map_path, path);
    }
    if (error == FW_OK && !command->no_separate)
        error = debug_files_find(object, path, &find, &files, &why);
    if (error == FW_OK)
        result = compare(map, &(struct verify_files){object, files, &progress}, &options,
                         command->quiet, &error, &why);
    progress_end(&progress);
    if (error != FW_OK)
        cli_error("%s", why.message);
    debug_files_close(files);
    object_close(object);
    symmap_close(map);
    return error == FW_OK ? result : (int)cli_exit_for(error);
}
