/*
 * Opening what people name: a file, a slice of a fat file, a member of an archive (FILE(MEMBER)),
 * the debug information in a dSYM bundle, the program in an application or framework folder.
 *
 * Nothing is guessed: where several files could be meant, the choice decides, else the one that is
 * named as its bundle; else the message names them.
 */
#include "object/archive.h"
#include "object/bundle.h"
#include "object/fat.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static fw_error open_file(const char *path, const char *member, const struct object_choice *choice,
                          struct object **object, struct fw_failure *why)
{
    struct object *built;
    fw_error error = object_map_path(path, &built, why);
    if (error != FW_OK)
        return error;
    error = fat_narrow(built, choice, why);
    if (error == FW_OK && archive_is(built->file))
        error = archive_narrow(built, member, why);
    else if (error == FW_OK && member)
        error = object_fail(why, FW_ERR_FORMAT, 0, 0, path, "is no archive");
    if (error != FW_OK) {
        object_close(built);
        return error;
    }
    return object_finish_choice(built, choice, object, why);
}

/* FILE(MEMBER), where no file is called so. */
static fw_error open_member(const char *path, const struct object_choice *choice,
                            struct object **object, struct fw_failure *why)
{
    size_t length = strlen(path);
    const char *open = strrchr(path, '(');
    char *copy = strdup(path);
    if (!copy)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, path, "out of memory");
    copy[open - path] = 0;
    copy[length - 1] = 0;
    fw_error error = open_file(copy, copy + (open - path) + 1, choice, object, why);
    free(copy);
    return error;
}

static fw_error open_dsym(const char *path, const struct object_choice *choice,
                          struct object **object, struct fw_failure *why)
{
    struct bundle_files files;
    fw_error error = bundle_dsym_files(path, &files, why);
    if (error != FW_OK)
        return error;
    char own[NAME_MAX + 1];
    bundle_name(path, own, sizeof own);
    size_t fitting = 0;
    bool named = false;
    error = FW_ERR_NOT_FOUND;
    for (size_t i = 0; i < files.count && !named; i++) {
        struct object *one;
        fw_error code = open_file(files.paths[i], NULL, choice, &one, fitting ? NULL : why);
        if (code != FW_OK) {
            error = fitting ? error : code;
            continue;
        }
        object_close(*object);
        *object = one;
        fitting++;
        named = strcmp(bundle_base(files.paths[i]), own) == 0;
    }
    if (fitting == 1 || named) {
        error = FW_OK;
    } else if (fitting > 1) {
        object_close(*object);
        *object = NULL;
        error = object_fail(why, FW_ERR_ARGUMENT, 0, 0, path, "choose one of its %zu files: %s, %s",
                            files.count, bundle_base(files.paths[0]), bundle_base(files.paths[1]));
    }
    bundle_files_free(&files);
    return error;
}

fw_error object_open_path(const char *path, const struct object_choice *choice,
                          struct object **object, struct fw_failure *why)
{
    *object = NULL;
    struct stat status;
    size_t length = strlen(path);
    if (stat(path, &status) != 0) {
        int number = errno;
        if (length && path[length - 1] == ')' && strrchr(path, '('))
            return open_member(path, choice, object, why);
        return object_fail_system(why, path, "cannot open", number);
    }
    if (!S_ISDIR(status.st_mode))
        return open_file(path, NULL, choice, object, why);
    if (bundle_is_dsym(path))
        return open_dsym(path, choice, object, why);
    char program[PATH_MAX];
    if (!bundle_program(path, program, sizeof program))
        return object_fail(why, FW_ERR_FORMAT, 0, 0, path,
                           "a folder that is neither a dSYM bundle nor one with a program");
    return open_file(program, NULL, choice, object, why);
}

struct slices_call {
    bool (*each)(void *context, const struct object_slice *);
    void *context;
    bool over; /* `each` has enough */
};

static bool pass_slice(void *context, const struct object_slice *slice)
{
    struct slices_call *call = context;
    call->over = !call->each(call->context, slice);
    return !call->over;
}

static fw_error dsym_slices(const char *path, struct slices_call *call, struct fw_failure *why)
{
    struct bundle_files files;
    fw_error error = bundle_dsym_files(path, &files, why);
    if (error != FW_OK)
        return error;
    for (size_t i = 0; i < files.count && error == FW_OK && !call->over; i++)
        error = fat_slices(files.paths[i], pass_slice, call, why);
    bundle_files_free(&files);
    return error;
}

fw_error object_slices(const char *path, bool (*each)(void *context, const struct object_slice *),
                       void *context, struct fw_failure *why)
{
    struct stat status;
    struct slices_call call = {each, context, false};
    bool there = stat(path, &status) == 0;
    if (there && !S_ISDIR(status.st_mode))
        return fat_slices(path, each, context, why);
    if (there && bundle_is_dsym(path))
        return dsym_slices(path, &call, why);
    char program[PATH_MAX];
    if (there && bundle_program(path, program, sizeof program))
        return fat_slices(program, each, context, why);
    struct object *object; /* a member of an archive; else the error that opening it gives */
    fw_error error = object_open_path(path, NULL, &object, why);
    if (error != FW_OK)
        return error;
    each(context, &(struct object_slice){object_arch_name(object), object_build_id(object), 0,
                                         object->file.size});
    object_close(object);
    return FW_OK;
}
