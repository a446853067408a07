/*
 * Opening and closing objects, and the plain accessors.
 *
 * Whatever way the bytes come in, the object behaves the same afterwards; only object_close knows
 * how they are given back. Files are mapped read-only and never followed by descriptor: opening
 * refuses everything but regular files, so a FIFO or device planted under a debug path cannot block
 * the caller.
 */
#include "base/os_error.h"
#include "object/fat.h"
#include "object/object_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

fw_error object_fail(struct fw_failure *why, fw_error code, int os_error, uint64_t place,
                     const char *label, const char *format, ...)
{
    if (!why)
        return code;
    *why = (struct fw_failure){.code = code, .os_error = os_error, .place = place};
    int used = snprintf(why->message, sizeof why->message, "%s: ", label);
    if (used < 0 || (size_t)used >= sizeof why->message)
        return code;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why->message + used, sizeof why->message - (size_t)used, format, arguments);
    va_end(arguments);
    return code;
}

fw_error object_fail_system(struct fw_failure *why, const char *label, const char *what, int number)
{
    fw_error code = FW_ERR_SYSTEM;
    switch (number) {
    case ENOENT:
    case ENOTDIR: code = FW_ERR_NOT_FOUND; break;
    case EACCES:
    case EPERM: code = FW_ERR_PERMISSION; break;
    case ENOMEM: code = FW_ERR_MEMORY; break;
    default: break;
    }
    char text[64];
    const char *message = os_error_text(number, text, sizeof text);
    return object_fail(why, code, number, 0, label, "%s: %s", what, message);
}

struct object *object_new(const char *label)
{
    struct object *object = calloc(1, sizeof *object);
    if (!object)
        return NULL;
    object->label = strdup(label ? label : "object");
    if (!object->label) {
        free(object);
        return NULL;
    }
    return object;
}

/* A new object without contents over a whole file. */
static fw_error map_file(int fd, const char *label, struct object **object, struct fw_failure *why)
{
    struct stat status;
    if (fstat(fd, &status) != 0)
        return object_fail_system(why, label, "cannot stat", errno);
    if (!S_ISREG(status.st_mode))
        return object_fail(why, FW_ERR_FORMAT, 0, 0, label, "not a regular file");
    if (status.st_size == 0)
        return object_fail(why, FW_ERR_FORMAT, 0, 0, label, "the file is empty");
    if ((uint64_t)status.st_size > SIZE_MAX / 2)
        return object_fail(why, FW_ERR_UNSUPPORTED, 0, 0, label,
                           "the file is too large for this address space");
    struct object *built = object_new(label);
    if (!built)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, label, "out of memory");
    size_t size = (size_t)status.st_size;
    void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED) {
        int number = errno;
        object_close(built);
        return object_fail_system(why, label, "cannot map", number);
    }
    built->file = built->whole = (struct span){bytes, size};
    built->owned = OBJECT_BYTES_MAPPED;
    built->has_inode = true;
    built->device = status.st_dev;
    built->inode = status.st_ino;
    built->modified = status.st_mtime > 0 ? (uint64_t)status.st_mtime : 0;
    *object = built;
    return FW_OK;
}

static fw_error open_format(struct object *built, struct fw_failure *why)
{
    if (macho_is(built->file))
        return macho_open_file(built, why);
    if (elf_is(built->file))
        return elf_open_file(built, why);
    return object_fail(why, FW_ERR_FORMAT, 0, 0, built->label, "neither an ELF nor a Mach-O file");
}

fw_error object_finish_open(struct object *built, struct object **object, struct fw_failure *why)
{
    fw_error error = open_format(built, why);
    if (error != FW_OK) {
        object_close(built);
        return error;
    }
    *object = built;
    return FW_OK;
}

fw_error object_finish_choice(struct object *built, const struct object_choice *choice,
                              struct object **object, struct fw_failure *why)
{
    fw_error error = object_finish_open(built, object, why);
    if (error == FW_OK)
        error = fat_check(*object, choice, why);
    if (error != FW_OK && *object) {
        object_close(*object);
        *object = NULL;
    }
    return error;
}

/* The same for a file that may be fat: of its slices, the one that was chosen. */
static fw_error finish_choice(struct object *built, const struct object_choice *choice,
                              struct object **object, struct fw_failure *why)
{
    fw_error error = fat_narrow(built, choice, why);
    if (error != FW_OK) {
        object_close(built);
        return error;
    }
    return object_finish_choice(built, choice, object, why);
}

fw_error object_open(const char *path, struct object **object, struct fw_failure *why)
{
    return object_open_choice(path, NULL, object, why);
}

fw_error object_map_path(const char *path, struct object **object, struct fw_failure *why)
{
    *object = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return object_fail_system(why, path, "cannot open", errno);
    fw_error error = map_file(fd, path, object, why);
    close(fd);
    return error;
}

fw_error object_open_choice(const char *path, const struct object_choice *choice,
                            struct object **object, struct fw_failure *why)
{
    *object = NULL;
    struct object *built;
    fw_error error = object_map_path(path, &built, why);
    return error == FW_OK ? finish_choice(built, choice, object, why) : error;
}

fw_error object_open_fd(int fd, const char *label, struct object **object, struct fw_failure *why)
{
    *object = NULL;
    struct object *built;
    fw_error error = map_file(fd, label, &built, why);
    return error == FW_OK ? finish_choice(built, NULL, object, why) : error;
}

fw_error object_open_bytes(const void *data, size_t size, bool copy, const char *label,
                           struct object **object, struct fw_failure *why)
{
    *object = NULL;
    if (size == 0)
        return object_fail(why, FW_ERR_FORMAT, 0, 0, label ? label : "object", "no bytes");
    struct object *built = object_new(label);
    if (!built)
        return object_fail(why, FW_ERR_MEMORY, 0, 0, "object", "out of memory");
    built->file = (struct span){data, size};
    if (copy) {
        uint8_t *own = malloc(size);
        if (!own) {
            object_close(built);
            return object_fail(why, FW_ERR_MEMORY, 0, 0, "object", "out of memory");
        }
        memcpy(own, data, size);
        built->file.data = own;
        built->owned = OBJECT_BYTES_ALLOCATED;
    }
    built->whole = built->file;
    return finish_choice(built, NULL, object, why);
}

void object_close(struct object *object)
{
    if (!object)
        return;
    object_close(object->minidebug);
    if (object->format)
        object->format->close(object);
    for (size_t i = 0; i < object->section_count; i++)
        free(object->sections[i].inflated);
    free(object->sections);
    free(object->loads);
    free(object->load_bytes);
    free(object->places);
    free(object->code);
    if (object->owned == OBJECT_BYTES_MAPPED)
        munmap((void *)(uintptr_t)object->whole.data, object->whole.size);
    else if (object->owned == OBJECT_BYTES_ALLOCATED)
        free((void *)(uintptr_t)object->whole.data);
    free(object->label);
    free(object);
}

bool object_is_macho(const struct object *object)
{
    return object->macho != NULL;
}

const char *object_label(const struct object *object)
{
    return object->label;
}

enum object_type object_type(const struct object *object)
{
    return object->type;
}

const char *object_arch_name(const struct object *object)
{
    return object->format->arch_name(object);
}

uint64_t object_modified(const struct object *object)
{
    return object->modified;
}

fw_error object_symbols(struct object *object, bool dynamic, object_symbol_call each, void *context)
{
    return object->format->symbols(object, dynamic, each, context);
}

void object_unwind_image(struct object *object, struct object *debug, struct unwind_image *image)
{
    *image = (struct unwind_image){0};
    image->arch = object_arch(object);
    image->big_endian = object->big_endian;
    if (!object->unplaced)
        object->format->unwind_image(object, debug, image);
}

const struct arch *object_arch(const struct object *object)
{
    return object->format->arch(object);
}

uint16_t object_machine(const struct object *object)
{
    return object->machine;
}

bool object_is_64(const struct object *object)
{
    return object->is_64;
}

bool object_is_big_endian(const struct object *object)
{
    return object->big_endian;
}

bool object_is_truncated(const struct object *object)
{
    return object->truncated;
}

bool object_maps(const struct object *object, const void *data, size_t size)
{
    uintptr_t from = (uintptr_t)object->file.data, at = (uintptr_t)data;
    return object->owned == OBJECT_BYTES_MAPPED && at >= from && at - from <= object->file.size &&
           size <= object->file.size - (at - from);
}

bool object_lacks_memory(const struct object *object)
{
    return object->no_memory || (object->minidebug && object->minidebug->no_memory);
}

uint64_t object_entry(const struct object *object)
{
    return object->entry;
}

struct span object_build_id(const struct object *object)
{
    return object->build_id;
}
