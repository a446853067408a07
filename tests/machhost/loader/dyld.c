/* The part of dyld that programs call: lists, notifications, the dlopen family, dladdr. */
#include "images.h"
#include "shims.h"

#include <limits.h>
#include <mach-o/nlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CALLBACK_LIMIT = 64 };
static void *add_callbacks[CALLBACK_LIMIT], *remove_callbacks[CALLBACK_LIMIT];
static unsigned add_count, remove_count;

static void notify(void *const *callbacks, unsigned count, const struct image *image)
{
    for (unsigned i = 0; i < count; i++)
        callback(callbacks[i], (uint64_t)(uintptr_t)image->header, (uint64_t)image->slide, 0);
}

/* Callbacks hear of all images that came together before the first of their initialisers runs. */
void images_announce(void)
{
    for (uint32_t i = 0; i < image_count; i++) {
        if (images[i]->listed)
            continue;
        images[i]->listed = true;
        notify(add_callbacks, add_count, images[i]);
    }
}

/* While it is still mapped. */
void image_announce_end(const struct image *image)
{
    notify(remove_callbacks, remove_count, image);
}

uint32_t shim__dyld_image_count(void)
{
    return image_count;
}

const void *shim__dyld_get_image_header(uint32_t index)
{
    return index < image_count ? images[index]->header : NULL;
}

const char *shim__dyld_get_image_name(uint32_t index)
{
    return index < image_count ? images[index]->path : NULL;
}

intptr_t shim__dyld_get_image_vmaddr_slide(uint32_t index)
{
    return index < image_count ? images[index]->slide : 0;
}

void shim__dyld_register_func_for_add_image(void *function)
{
    if (add_count == CALLBACK_LIMIT)
        abort();
    add_callbacks[add_count++] = function;
    for (uint32_t i = 0; i < image_count; i++) {
        if (images[i]->listed)
            notify(&function, 1, images[i]);
    }
}

void shim__dyld_register_func_for_remove_image(void *function)
{
    if (remove_count == CALLBACK_LIMIT)
        abort();
    remove_callbacks[remove_count++] = function;
}

int shim__NSGetExecutablePath(char *buffer, uint32_t *size)
{
    const size_t needed = strlen(image_main->path) + 1;
    if (*size < needed) {
        *size = (uint32_t)needed;
        return -1;
    }
    memcpy(buffer, image_main->path, needed);
    return 0;
}

struct dl_info_64 {
    const char *fname;
    const void *fbase;
    const char *sname;
    const void *saddr;
};

int shim_dladdr(const void *address, struct dl_info_64 *info)
{
    const uint64_t wanted = (uint64_t)(uintptr_t)address;
    const struct image *image = image_of(wanted);
    if (!image)
        return 0;
    *info = (struct dl_info_64){.fname = image->path, .fbase = image->header};
    const struct nlist_64 *symbols = in_linkedit(image, image->symtab->symoff);
    const char *names = in_linkedit(image, image->symtab->stroff);
    uint64_t best = 0;
    for (uint32_t i = 0; i < image->symtab->nsyms; i++) {
        const uint64_t value = symbols[i].n_value + (uint64_t)image->slide;
        if (symbols[i].n_type & N_STAB || (symbols[i].n_type & N_TYPE) != N_SECT ||
            value > wanted || value < best)
            continue;
        best = value;
        const char *name = names + symbols[i].n_un.n_strx;
        info->sname = *name == '_' ? name + 1 : name;
        info->saddr = (const void *)(uintptr_t)value;
    }
    return 1;
}

void *shim_dlopen(const char *path, int mode)
{
    if (!path)
        return image_main;
    const struct image *caller = image_of(
#if defined(__x86_64__)
        *(const uint64_t *)(uintptr_t)machhost_record.sp
#else
        machhost_record.lr
#endif
    );
    if (mode & 0x10) { /* RTLD_NOLOAD */
        char real[PATH_MAX];
        for (uint32_t i = 0; realpath(path, real) && i < image_count; i++) {
            if (strcmp(images[i]->path, real) == 0) {
                images[i]->references++;
                return images[i];
            }
        }
        return fail_text("%s: %s", path, "not loaded");
    }
    struct image *image = image_load(path, caller);
    if (image) {
        images_announce();
        image_initialise(image);
    }
    return image;
}

int shim_dlclose(void *handle)
{
    image_unload(handle);
    return 0;
}

void *shim_dlsym(void *handle, const char *name)
{
    char symbol[512];
    snprintf(symbol, sizeof(symbol), "_%s", name);
    const intptr_t special = (intptr_t)handle;
    void *found = NULL;
    if (special >= -5 && special <= -1) {
        for (uint32_t i = 0; i < image_count && !found; i++)
            found = image_symbol(images[i], symbol);
    } else {
        found = image_symbol(handle, symbol);
    }
    return found ? found : fail_text("%s: %s", name, "symbol not found");
}

const char *shim_dlerror(void)
{
    const char *text = images_error;
    images_error = NULL;
    return text;
}

static void *part_data(const struct mach_header_64 *header, const char *segment_name,
                       const char *section_name, unsigned long *size)
{
    uint64_t text = 0;
    for (EACH_COMMAND(header, command)) {
        const struct segment_command_64 *segment = (const void *)command;
        if (command->cmd != LC_SEGMENT_64)
            continue;
        if (strncmp(segment->segname, SEG_TEXT, 16) == 0)
            text = segment->vmaddr;
        if (strncmp(segment->segname, segment_name, 16) != 0)
            continue;
        if (!section_name) {
            *size = segment->vmsize;
            return (void *)(uintptr_t)(segment->vmaddr - text + (uint64_t)(uintptr_t)header);
        }
        for (uint32_t i = 0; i < segment->nsects; i++) {
            const struct section_64 *section = &sections_of(segment)[i];
            if (strncmp(section->sectname, section_name, 16) != 0)
                continue;
            *size = section->size;
            return (void *)(uintptr_t)(section->addr - text + (uint64_t)(uintptr_t)header);
        }
    }
    return NULL;
}

void *shim_getsectiondata(const struct mach_header_64 *header, const char *segment,
                          const char *section, unsigned long *size)
{
    return part_data(header, segment, section, size);
}

void *shim_getsegmentdata(const struct mach_header_64 *header, const char *segment,
                          unsigned long *size)
{
    return part_data(header, segment, NULL, size);
}

void shim_dyld_stub_binder(void)
{
    say("dyld_stub_binder was called: everything is bound at load here");
    abort();
}

void shim__tlv_bootstrap(void)
{
    say("a thread-local variable was used before its image was ready");
    abort();
}
