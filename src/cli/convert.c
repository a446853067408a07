/*
 * `framewalk convert`: debug files to symbol maps.
 *
 * Each slice of each file becomes a map of its own. A file that cannot be converted does not keep
 * the others from it; the exit code is that of the first failure.
 */
#include "cli/convert.h"

#include "base/array.h"
#include "cli/cli.h"
#include "cli/convert_verify.h"
#include "cli/heap.h"
#include "symbolicate/debug_file.h"
#include "symbolicate/file_index.h"
#include "symmap/save.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

struct slice {
    char arch[16];
    uint8_t uuid[64];
    size_t uuid_size;
    bool twin; /* another one has the same architecture */
};

struct run {
    const struct convert_command *command;
    struct progress progress;
    struct file_index *index; /* of the folders to look in */
    char *const *inputs;      /* all of them; NULL ends them */
    const char *name;         /* of the file in hand */
    struct slice *slices;     /* of the file in hand */
    size_t slice_count, slice_capacity;
    bool into_folder; /* command->output is one */
    bool no_memory;
};

/* A line such as "app: Reading  [#####-----]  50 %". */
static void show(void *context, const char *phase, uint64_t done, uint64_t total)
{
    enum { WIDTH = 24 };
    struct run *run = context;
    static const char full[] = "########################", empty[] = "------------------------";
    if (!total) {
        progress_show(&run->progress, "%s: %s", run->name, phase);
        return;
    }
    double part = done < total ? (double)done / (double)total : 1;
    int cells = (int)(part * (double)WIDTH);
    progress_show(&run->progress, "%s: %s  [%.*s%.*s] %3.0f %%", run->name, phase, cells, full,
                  WIDTH - cells, empty, 100 * part);
}

static double seconds_since(const struct timespec *begin)
{
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    return (double)(end.tv_sec - begin->tv_sec) + (double)(end.tv_nsec - begin->tv_nsec) / 1e9;
}

/* Finds what belongs to the object and makes a map of it. */
static fw_error build(struct run *run, struct object *object, const char *path,
                      struct debug_files **files, struct convert_report *report, uint8_t **bytes,
                      size_t *size, struct fw_failure *why)
{
    const struct convert_command *command = run->command;
    const struct debug_find_options find = {.folders = command->debug,
                                            .index = run->index,
                                            .sysroot = command->sysroot,
                                            .debuginfod = !command->no_debuginfod,
                                            .progress = show,
                                            .context = run};
    if (object_type(object) == OBJECT_CORE) {
        *why = (struct fw_failure){.code = FW_ERR_FORMAT};
        snprintf(why->message, sizeof why->message,
                 "%s: a core file has no debug information; convert the program it is of", path);
        return FW_ERR_FORMAT;
    }
    fw_error error = FW_OK;
    if (!command->no_separate)
        error = debug_files_find(object, path, &find, files, why);
    if (error != FW_OK)
        return error;
    struct convert_options options = {.threads = command->threads,
                                      .columns = command->columns,
                                      .calls = !command->no_calls,
                                      .progress = show,
                                      .context = run};
    if (*files && (*files)->parts) {
        options.open_part = debug_files_part;
        options.part_context = *files;
    }
    return symmap_convert(object, *files ? (*files)->debug : NULL,
                          *files ? &(*files)->companions : NULL, &options, bytes, size, report,
                          why);
}

static int verify(struct run *run, struct object *object, const struct debug_files *files,
                  struct span map, fw_error *error, struct fw_failure *why)
{
    const struct convert_options options = {
        .threads = run->command->threads, .progress = show, .context = run};
    return convert_verify(&(struct verify_files){object, files, &run->progress}, map, &options,
                          run->command->quiet, error, why);
}

static int convert_slice(struct run *run, const char *path, const struct slice *slice,
                         const char *output)
{
    struct fw_failure why = {0};
    struct object *object = NULL;
    struct debug_files *files = NULL;
    uint8_t *bytes = NULL;
    struct convert_report report = {0};
    struct timespec begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    progress_begin(&run->progress);
    const struct object_choice choice = {.arch = slice->arch,
                                         .uuid = {slice->uuid, slice->uuid_size}};
    struct convert_outcome outcome = {
        .file = path, .map = output, .arch = slice->arch, .report = &report};
    int differ = CLI_OK;
    fw_error error = object_open_path(path, &choice, &object, &why);
    if (error == FW_OK)
        error = build(run, object, path, &files, &report, &bytes, &outcome.size, &why);
    if (error == FW_OK && run->command->verify)
        differ = verify(run, object, files, (struct span){bytes, outcome.size}, &error, &why);
    if (error == FW_OK)
        error = convert_to(run->command->format, &bytes, &outcome.size, &why);
    if (error == FW_OK)
        error = symmap_save(output, bytes, outcome.size, &why);
    progress_end(&run->progress);
    outcome.seconds = seconds_since(&begin);
    outcome.object = object;
    outcome.files = files;
    if (error != FW_OK)
        cli_error("%s", why.message[0] ? why.message : fw_error_text(error));
    else if (run->command->json)
        error = convert_tell_json(&outcome) ? FW_OK : FW_ERR_SYSTEM;
    else if (!run->command->quiet)
        convert_tell(&outcome);
    free(bytes);
    debug_files_close(files);
    object_close(object);
    if (error != FW_OK)
        return (int)cli_exit_for(error);
    return differ == CLI_OK && !convert_is_complete(&report) ? CLI_INCOMPLETE : differ;
}

/* Symbols that are a map already, or another tool's. */
static int convert_symbols(const struct run *run, const char *path, const char *output)
{
    struct fw_failure why = {0};
    uint8_t *bytes = NULL;
    size_t size = 0;
    fw_error error = convert_read_symbols(path, &bytes, &size, &why);
    if (error == FW_OK)
        error = convert_to(run->command->format, &bytes, &size, &why);
    if (error == FW_OK)
        error = symmap_save(output, bytes, size, &why);
    if (error != FW_OK)
        cli_error("%s", why.message);
    else if (!run->command->quiet)
        fprintf(stderr, "%s: %.1f MB\n", output, (double)size / 1e6);
    free(bytes);
    return (int)cli_exit_for(error);
}

static bool take_slice(void *context, const struct object_slice *from)
{
    struct run *run = context;
    struct slice slice = {.uuid_size = from->uuid.size};
    if (slice.uuid_size > sizeof slice.uuid)
        slice.uuid_size = 0;
    if (slice.uuid_size)
        memcpy(slice.uuid, from->uuid.data, slice.uuid_size);
    snprintf(slice.arch, sizeof slice.arch, "%s", from->arch);
    if (!array_room(&run->slices, &run->slice_capacity, run->slice_count, sizeof slice)) {
        run->no_memory = true;
        return false;
    }
    for (size_t i = 0; i < run->slice_count; i++)
        if (strcmp(run->slices[i].arch, slice.arch) == 0)
            run->slices[i].twin = slice.twin = true;
    run->slices[run->slice_count++] = slice;
    return true;
}

/* The last part of what was named, without slashes at its end and without .dSYM. */
static char *name_of(const char *path)
{
    static const char bundle[] = ".dSYM";
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    size_t start = length;
    while (start > 0 && path[start - 1] != '/')
        start--;
    size_t end = sizeof bundle - 1;
    if (length - start > end && strncmp(path + length - end, bundle, end) == 0)
        length -= end;
    return strndup(path + start, length - start);
}

/* Where the map goes: NAME.symmap, NAME-ARCH.symmap when there are several, and with the start of
 * the identity when these have one architecture. */
static char *output_of(const struct run *run, const struct slice *slice)
{
    char tail[48] = "", *output;
    const char *folder = run->into_folder ? run->command->output : NULL;
    if (run->command->output && !run->into_folder)
        return strdup(run->command->output);
    if (run->slice_count > 1)
        snprintf(tail, sizeof tail, "-%s", slice->arch);
    if (slice->twin && slice->uuid_size >= 4)
        snprintf(tail, sizeof tail, "-%s-%02x%02x%02x%02x", slice->arch, slice->uuid[0],
                 slice->uuid[1], slice->uuid[2], slice->uuid[3]);
    if (asprintf(&output, "%s%s%s%s%s", folder ? folder : "", folder ? "/" : "", run->name, tail,
                 convert_suffix(run->command->format)) < 0)
        return NULL;
    return output;
}

/* Leaves only the slice that was asked for, which object_open_path would choose. */
static fw_error choose_slice(struct run *run, const char *path, struct fw_failure *why)
{
    const struct object_choice choice = {.arch = run->command->arch};
    struct object *object;
    if (!choice.arch)
        return FW_OK;
    fw_error error = object_open_path(path, &choice, &object, why);
    if (error != FW_OK)
        return error;
    run->slice_count = 0;
    take_slice(run, &(struct object_slice){.arch = object_arch_name(object),
                                           .uuid = object_build_id(object)});
    object_close(object);
    return FW_OK;
}

/* A map over the only copy of the debug information would be a loss. */
static bool is_other_file(const char *path, const char *output)
{
    struct stat input, there;
    if (stat(path, &input) != 0 || stat(output, &there) != 0 || input.st_dev != there.st_dev ||
        input.st_ino != there.st_ino)
        return true;
    cli_error("%s is what is converted: name another output with -o", output);
    return false;
}

static bool is_safe(const struct run *run, const char *output)
{
    for (char *const *input = run->inputs; *input; input++)
        if (!is_other_file(*input, output))
            return false;
    return true;
}

static int convert_file(struct run *run, const char *path)
{
    struct fw_failure why = {0};
    run->slice_count = 0;
    if (debug_file_is_symbols(debug_file_form_at(path))) {
        char *output = output_of(run, &(struct slice){0});
        run->no_memory |= !output;
        int code = !output                 ? CLI_FAILED
                   : !is_safe(run, output) ? CLI_USAGE
                                           : convert_symbols(run, path, output);
        free(output);
        return code;
    }
    fw_error error = object_slices(path, take_slice, run, &why);
    if (error == FW_OK)
        error = choose_slice(run, path, &why);
    if (error != FW_OK) {
        cli_error("%s", why.message);
        return (int)cli_exit_for(error);
    }
    if (run->slice_count > 1 && run->command->output && !run->into_folder) {
        cli_error("%s has %zu architectures: choose one with --arch, or name a folder with -o",
                  path, run->slice_count);
        return CLI_USAGE;
    }
    int result = CLI_OK;
    for (size_t i = 0; i < run->slice_count && !run->no_memory; i++) {
        char *output = output_of(run, &run->slices[i]);
        run->no_memory |= !output;
        int code = !output                 ? CLI_FAILED
                   : !is_safe(run, output) ? CLI_USAGE
                                           : convert_slice(run, path, &run->slices[i], output);
        result = result == CLI_OK ? code : result;
        free(output);
    }
    return result;
}

static int convert_all(struct run *run, int argc, char **argv)
{
    int result = CLI_OK;
    for (int i = run->command->first_file; i < argc && !run->no_memory; i++) {
        char *name = name_of(argv[i]);
        run->name = name;
        run->no_memory |= !name;
        int code = name ? convert_file(run, argv[i]) : CLI_FAILED;
        result = result == CLI_OK ? code : result;
        free(name);
    }
    if (run->no_memory) {
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
        return CLI_FAILED;
    }
    return result;
}

static bool is_folder(const char *path)
{
    struct stat status;
    return path && stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

int convert_main(int argc, char **argv)
{
    heap_prepare();
    struct convert_command command;
    struct run run = {.command = &command};
    int result = CLI_USAGE;
    if (!convert_parse(argc, argv, &command)) {
        free(command.debug);
        return CLI_USAGE;
    }
    run.into_folder = is_folder(command.output);
    run.inputs = argv + command.first_file;
    run.index = file_index_create(command.debug);
    if (command.help) {
        convert_usage(stdout);
        result = CLI_OK;
    } else if (command.verify && argc - command.first_file == 2 &&
               debug_file_is_symbols(debug_file_form_at(argv[command.first_file]))) {
        result =
            convert_verify_map(argv[command.first_file], argv[command.first_file + 1], &command);
    } else if (command.output && !run.into_folder && argc - command.first_file > 1) {
        cli_error("several files go into a folder: '%s' is none", command.output);
    } else if (!run.index) {
        cli_error("%s", fw_error_text(FW_ERR_MEMORY));
        result = CLI_FAILED;
    } else {
        result = convert_all(&run, argc, argv);
    }
    file_index_destroy(run.index);
    free(run.slices);
    free(command.debug);
    return result;
}
