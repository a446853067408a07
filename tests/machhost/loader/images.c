/*
 * Images: mapping, symbols, the list. Segments get their final protections after the fixups. One
 * lock, the big one, guards the list; it is not held while Mach-O code runs.
 */
#include "images.h"

#include <fcntl.h>
#include <limits.h>
#include <mach-o/dyld_images.h>
#include <mach-o/nlist.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define SYSTEM_NAME "/usr/lib/libSystem.B.dylib"
enum { IMAGE_LIMIT = 512 };

struct image *image_system, *image_dyld, *image_main;
uint64_t machhost_thunks[INDEX_COUNT];
const char *images_error;

struct image *images[IMAGE_LIMIT];
uint32_t image_count;
static struct {
    _Atomic uint64_t low, high;
} texts[IMAGE_LIMIT]; /* of all, read by signal handlers */
static const char *system_folder;
static char error_text[2 * PATH_MAX];
static struct dyld_image_info info_array[IMAGE_LIMIT];
static struct dyld_all_image_infos all_infos;

void *fail_text(const char *format, const char *a, const char *b)
{
    snprintf(error_text, sizeof(error_text), format, a, b);
    images_error = error_text;
    return NULL;
}

bool image_text(uint64_t pc)
{
    for (size_t i = 0; i < IMAGE_LIMIT; i++) {
        if (pc >= atomic_load_explicit(&texts[i].low, memory_order_relaxed) &&
            pc < atomic_load_explicit(&texts[i].high, memory_order_relaxed))
            return true;
    }
    return false;
}

static void text_add(const struct image *image)
{
    for (size_t i = 0; i < IMAGE_LIMIT; i++) {
        if (texts[i].high)
            continue;
        texts[i].low = image->text_low;
        texts[i].high = image->text_high;
        return;
    }
}

static void text_remove(const struct image *image)
{
    for (size_t i = 0; i < IMAGE_LIMIT; i++) {
        if (texts[i].low == image->text_low)
            texts[i].high = texts[i].low = 0;
    }
}

struct image *image_of(uint64_t address)
{
    for (uint32_t i = 0; i < image_count; i++) {
        if (address >= images[i]->low && address < images[i]->high)
            return images[i];
    }
    return image_dyld && address >= image_dyld->low && address < image_dyld->high ? image_dyld
                                                                                  : NULL;
}

static int linux_protection(vm_prot_t protection)
{
    return (protection & VM_PROT_READ ? PROT_READ : 0) |
           (protection & VM_PROT_WRITE ? PROT_WRITE : 0) |
           (protection & VM_PROT_EXECUTE ? PROT_EXEC : 0);
}

static void range_of(const struct mach_header_64 *header, uint64_t *low, uint64_t *high)
{
    *low = UINT64_MAX;
    *high = 0;
    for (EACH_COMMAND(header, command)) {
        const struct segment_command_64 *segment = (const void *)command;
        if (command->cmd != LC_SEGMENT_64 || segment->maxprot == 0 || segment->vmsize == 0)
            continue;
        *low = segment->vmaddr < *low ? segment->vmaddr : *low;
        *high =
            segment->vmaddr + segment->vmsize > *high ? segment->vmaddr + segment->vmsize : *high;
    }
}

/* A segment's part of the file, private and writable for the fixups; zeroes behind it. The kernel's
 * list of mappings names the file and offset. */
static bool map_segment(const struct segment_command_64 *segment, char *at, int fd)
{
    const int access = PROT_READ | PROT_WRITE;
    const uint64_t whole = (segment->filesize + 4095) & ~(uint64_t)4095;
    if (segment->filesize > 0 && mmap(at, segment->filesize, access, MAP_PRIVATE | MAP_FIXED, fd,
                                      (off_t)segment->fileoff) == MAP_FAILED)
        return false;
    if (segment->vmsize > segment->filesize)
        memset(at + segment->filesize, 0,
               (whole < segment->vmsize ? whole : segment->vmsize) - segment->filesize);
    return whole >= segment->vmsize ||
           mprotect(at + whole, segment->vmsize - whole, access) == 0; /* reserved, anonymous */
}

/* Reserves the whole range, then maps each segment of the file. */
static bool map_segments(struct image *image, const struct mach_header_64 *file, int fd)
{
    uint64_t low, high;
    range_of(file, &low, &high);
    enum { ALIGN = 1 << 14 };
    const size_t size = (high - low + 4095) & ~(size_t)4095; /* lld does not round __LINKEDIT */
    char *place =
        mmap(NULL, size + ALIGN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (place == MAP_FAILED)
        return false;
    /* What is not needed goes back at once, so that the next image may lie where one was unloaded.
     */
    char *const aligned = (char *)(((uintptr_t)place + ALIGN - 1) & ~(uintptr_t)(ALIGN - 1));
    if (aligned > place)
        munmap(place, (size_t)(aligned - place));
    munmap(aligned + size, (size_t)(place + ALIGN - aligned));
    place = aligned;
    image->slide = (intptr_t)((uint64_t)(uintptr_t)place - low);
    image->low = low + (uint64_t)image->slide;
    image->high = high + (uint64_t)image->slide;
    for (EACH_COMMAND(file, command)) {
        const struct segment_command_64 *segment = (const void *)command;
        if (command->cmd != LC_SEGMENT_64 || segment->maxprot == 0 || segment->vmsize == 0)
            continue;
        char *at = (char *)(uintptr_t)(segment->vmaddr + (uint64_t)image->slide);
        if (!map_segment(segment, at, fd))
            return false;
        if (segment->fileoff == 0 && segment->filesize > 0)
            image->header = (const void *)at;
        if (strncmp(segment->segname, SEG_TEXT, 16) == 0) {
            image->text_low = (uint64_t)(uintptr_t)at;
            image->text_high = image->text_low + segment->vmsize;
        }
    }
    return image->header != NULL;
}

static void protect_segments(const struct image *image)
{
    for (EACH_COMMAND(image->header, command)) {
        const struct segment_command_64 *segment = (const void *)command;
        if (command->cmd != LC_SEGMENT_64 || segment->maxprot == 0 || segment->vmsize == 0)
            continue;
        char *at = (char *)(uintptr_t)(segment->vmaddr + (uint64_t)image->slide);
        int protection = linux_protection(segment->initprot);
        if (segment->flags & SG_READ_ONLY)
            protection = PROT_READ;
        mprotect(at, segment->vmsize, protection);
        __builtin___clear_cache(at, at + segment->vmsize);
    }
}

static void note_commands(struct image *image)
{
    for (EACH_COMMAND(image->header, command)) {
        const struct segment_command_64 *segment = (const void *)command;
        if (command->cmd == LC_SEGMENT_64 && strncmp(segment->segname, SEG_LINKEDIT, 16) == 0)
            image->linkedit = segment;
        else if (command->cmd == LC_SYMTAB)
            image->symtab = (const void *)command;
        else if (command->cmd == LC_ID_DYLIB)
            image->install_name =
                (char *)(uintptr_t)command +
                ((const struct dylib_command *)(const void *)command)->dylib.name.offset;
    }
}

void *image_symbol(const struct image *image, const char *name)
{
    if (!image->symtab || !image->linkedit)
        return NULL;
    const struct nlist_64 *symbols = in_linkedit(image, image->symtab->symoff);
    const char *names = in_linkedit(image, image->symtab->stroff);
    for (uint32_t i = 0; i < image->symtab->nsyms; i++) {
        const struct nlist_64 *symbol = &symbols[i];
        if (symbol->n_type & N_STAB || !(symbol->n_type & N_EXT) ||
            (symbol->n_type & N_TYPE) == N_UNDF || symbol->n_type & N_PEXT)
            continue;
        if (strcmp(names + symbol->n_un.n_strx, name) == 0)
            return (void *)(uintptr_t)(symbol->n_value + ((symbol->n_type & N_TYPE) == N_ABS
                                                              ? 0
                                                              : (uint64_t)image->slide));
    }
    return NULL;
}

void *system_symbol(const char *name)
{
    return image_symbol(image_system, name);
}

/* UINT64_MAX: not there, and it must be. */
static uint64_t bind_symbol(struct image *image, int ordinal, bool weak, const char *name)
{
    const void *found = NULL;
    if (ordinal > 0 && (unsigned)ordinal <= image->needed_count) {
        if (image->needed[ordinal - 1])
            found = image_symbol(image->needed[ordinal - 1], name);
    } else if (ordinal == BIND_SPECIAL_DYLIB_SELF) {
        found = image_symbol(image, name);
    } else if (ordinal == BIND_SPECIAL_DYLIB_MAIN_EXECUTABLE) {
        found = image_symbol(image_main, name);
    } else {
        for (uint32_t i = 0; i < image_count && !found; i++)
            found = image_symbol(images[i], name);
        if (!found)
            found = image_symbol(image, name);
    }
    return found ? (uint64_t)(uintptr_t)found : weak ? 0 : UINT64_MAX;
}

static bool expand(const char *name, const struct image *from, const char *rpath, char *path)
{
    const char *base = from ? from->path : "";
    const char *rest = name;
    char folder[PATH_MAX] = "";
    if (strncmp(name, "@rpath/", 7) == 0) {
        if (!rpath || !expand(rpath, from, NULL, folder))
            return false;
        rest = name + 7;
        snprintf(path, PATH_MAX, "%.2000s/%.2000s", folder, rest);
        return true;
    }
    if (strncmp(name, "@loader_path", 12) == 0) {
        rest = name + 12;
    } else if (strncmp(name, "@executable_path", 16) == 0) {
        rest = name + 16;
        base = image_main ? image_main->path : base;
    } else {
        snprintf(path, PATH_MAX, "%s", name);
        return true;
    }
    const char *slash = strrchr(base, '/');
    snprintf(path, PATH_MAX, "%.*s%.2000s", slash ? (int)(slash - base) : 1, slash ? base : ".",
             rest);
    return true;
}

/* The file of a dylib that an image names: in the system's folder, by rpath, or as it is. */
static bool find_file(const char *name, const struct image *from, char *path)
{
    if (strcmp(name, SYSTEM_NAME) == 0) {
        snprintf(path, PATH_MAX, "%.2000s/libSystem.dylib", system_folder);
        return true;
    }
    const struct image *const sources[] = {from, image_main};
    for (size_t s = 0; s < 2; s++) {
        if (!sources[s] || !sources[s]->header)
            continue;
        for (EACH_COMMAND(sources[s]->header, command)) {
            if (command->cmd != LC_RPATH)
                continue;
            const struct rpath_command *rpath = (const void *)command;
            if (expand(name, sources[s], (const char *)command + rpath->path.offset, path) &&
                access(path, R_OK) == 0)
                return true;
        }
    }
    return expand(name, from, NULL, path) && access(path, R_OK) == 0;
}

static bool check_header(const struct mach_header_64 *header, size_t size)
{
#if defined(__x86_64__)
    const cpu_type_t type = CPU_TYPE_X86_64;
#else
    const cpu_type_t type = CPU_TYPE_ARM64;
#endif
    return size >= sizeof(*header) && header->magic == MH_MAGIC_64 && header->cputype == type &&
           header->sizeofcmds <= size - sizeof(*header);
}

static struct image *map_file(const char *path)
{
    static char start[1 << 16];
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail_text("%s: %s", path, "cannot be opened");
    const ssize_t size = pread(fd, start, sizeof(start), 0);
    const struct mach_header_64 *file = (const void *)start;
    struct image *image = calloc(1, sizeof(*image));
    const bool good =
        image && size > 0 && check_header(file, (size_t)size) && map_segments(image, file, fd);
    close(fd);
    if (!good) {
        free(image);
        return fail_text("%s: %s", path, "is no Mach-O file for this host");
    }
    image->path = strdup(path);
    note_commands(image);
    return image;
}

static bool load_needed(struct image *image)
{
    for (EACH_COMMAND(image->header, command)) {
        if (command->cmd != LC_LOAD_DYLIB && command->cmd != LC_LOAD_WEAK_DYLIB &&
            command->cmd != LC_REEXPORT_DYLIB)
            continue;
        const struct dylib_command *needed = (const void *)command;
        const char *name = (const char *)command + needed->dylib.name.offset;
        struct image *loaded = image_load(name, image);
        if (!loaded && command->cmd != LC_LOAD_WEAK_DYLIB)
            return false;
        if (image->needed_count == sizeof(image->needed) / sizeof(image->needed[0]))
            return fail_text("%s: %s", image->path, "needs too many dylibs") != NULL;
        image->needed[image->needed_count++] = loaded;
    }
    return true;
}

/* dyld sets each descriptor's function and key. The parts of the template lie side by side. */
static bool prepare_tlv(struct image *image)
{
    uint64_t low = UINT64_MAX, high = 0;
    size_t key = SIZE_MAX;
    for (EACH_COMMAND(image->header, command)) {
        const struct segment_command_64 *segment = (const void *)command;
        for (uint32_t i = 0; command->cmd == LC_SEGMENT_64 && i < segment->nsects; i++) {
            const struct section_64 *section = &sections_of(segment)[i];
            const uint32_t type = section->flags & SECTION_TYPE;
            if (type == S_THREAD_LOCAL_REGULAR || type == S_THREAD_LOCAL_ZEROFILL) {
                low = section->addr < low ? section->addr : low;
                high = section->addr + section->size > high ? section->addr + section->size : high;
            }
            if (type != S_THREAD_LOCAL_VARIABLES)
                continue;
            if (key == SIZE_MAX && (key = tlv_register(image)) == SIZE_MAX)
                return fail_text("%s: %s", image->path, "no room for its thread locals") != NULL;
            uint64_t *word = (uint64_t *)(uintptr_t)(section->addr + (uint64_t)image->slide);
            for (uint64_t n = 0; n < section->size / 24; n++, word += 3) {
                word[0] = (uint64_t)(uintptr_t)system_symbol("_tlv_get_addr");
                word[1] = key;
            }
        }
    }
    if (high) {
        image->tlv_start = (const char *)(uintptr_t)(low + (uint64_t)image->slide);
        image->tlv_size = high - low;
    }
    return true;
}

static void list_update(void)
{
    for (uint32_t i = 0; i < image_count; i++)
        info_array[i] = (struct dyld_image_info){
            .imageLoadAddress = (const void *)images[i]->header, .imageFilePath = images[i]->path};
    all_infos.infoArray = info_array;
    all_infos.infoArrayCount = image_count;
}

static void list_add(struct image *image)
{
    lock();
    if (image_count < IMAGE_LIMIT)
        images[image_count++] = image;
    list_update();
    unlock();
    text_add(image);
}

struct image *image_load(const char *name, const struct image *from)
{
    char found[PATH_MAX], path[PATH_MAX];
    if (!find_file(name, from, found) || !realpath(found, path))
        return fail_text("%s: not found (from %s)", name, from ? from->path : "the host");
    for (uint32_t i = 0; i < image_count; i++) {
        if (strcmp(images[i]->path, path) == 0) {
            images[i]->references++;
            return images[i];
        }
    }
    struct image *image = map_file(path);
    if (!image)
        return NULL;
    image->references = 1;
    if (image->header->filetype == MH_EXECUTE) {
        image->main = true;
        image_main = image;
    }
    if (image->install_name && strcmp(image->install_name, SYSTEM_NAME) == 0)
        image_system = image;
    list_add(image);
    if (!load_needed(image))
        return NULL;
    const char *missing = fixups_apply(image, bind_symbol);
    if (missing)
        return fail_text("%s: cannot bind %s", path, missing);
    if (!prepare_tlv(image))
        return NULL;
    protect_segments(image);
    return image;
}

/* Those it needs come first. */
void image_initialise(struct image *image)
{
    if (image->initialised)
        return;
    image->initialised = true;
    for (unsigned i = 0; i < image->needed_count; i++) {
        if (image->needed[i])
            image_initialise(image->needed[i]);
    }
    for (EACH_COMMAND(image->header, command)) {
        const struct segment_command_64 *segment = (const void *)command;
        for (uint32_t i = 0; command->cmd == LC_SEGMENT_64 && i < segment->nsects; i++) {
            const struct section_64 *section = &sections_of(segment)[i];
            const uint32_t type = section->flags & SECTION_TYPE;
            const uintptr_t data = (uintptr_t)(section->addr + (uint64_t)image->slide);
            const uint64_t size = section->size;
            for (uint64_t n = 0; type == S_MOD_INIT_FUNC_POINTERS && n < size / 8; n++)
                callback(((void **)data)[n], 0, 0, 0);
            for (uint64_t n = 0; type == S_INIT_FUNC_OFFSETS && n < size / 4; n++)
                callback((void *)((uintptr_t)image->header + ((const uint32_t *)data)[n]), 0, 0, 0);
        }
    }
}

/* True when it is gone. The notification comes while the image is still mapped. */
bool image_unload(struct image *image)
{
    if (--image->references > 0 || image == image_main || image == image_system)
        return false;
    run_exit_functions(image);
    image_announce_end(image);
    lock();
    uint32_t kept = 0;
    for (uint32_t i = 0; i < image_count; i++) {
        if (images[i] != image)
            images[kept++] = images[i];
    }
    image_count = kept;
    list_update();
    unlock();
    text_remove(image);
    tlv_release(image);
    munmap((void *)(uintptr_t)image->low, image->high - image->low);
    for (unsigned i = 0; i < image->needed_count; i++) {
        if (image->needed[i])
            image_unload(image->needed[i]);
    }
    return true;
}

static void start_system(void)
{
    static const char *const names[] = {
#define CALL(name)        "_" #name,
#define SAFE(name)        "_" #name,
#define VARI(name, fixed) "_" #name,
#define LONG(name)        "_" #name,
#define DATA(name)
#include "../exports.def"
#undef CALL
#undef SAFE
#undef VARI
#undef LONG
#undef DATA
    };
    for (size_t i = 0; i < INDEX_COUNT; i++)
        machhost_thunks[i] = (uint64_t)(uintptr_t)system_symbol(names[i]);
    *(void **)system_symbol("_machhost_entry") = (void *)(uintptr_t)machhost_enter;
    *(void **)system_symbol("_machhost_tlv") = (void *)(uintptr_t)machhost_tlv_get;
    /* An ordinary dylib is linked as one; only dyld itself has this type. */
    struct mach_header_64 *dyld = (struct mach_header_64 *)(uintptr_t)image_dyld->header;
    mprotect(dyld, 4096, PROT_READ | PROT_WRITE);
    dyld->filetype = MH_DYLINKER;
    mprotect(dyld, 4096, PROT_READ | PROT_EXEC);
    all_infos.version = 17;
    all_infos.libSystemInitialized = true;
    all_infos.dyldImageLoadAddress = (const void *)dyld;
    all_infos.dyldPath = "/usr/lib/dyld";
    all_infos.dyldAllImageInfosAddress = &all_infos;
}

void images_start(const char *folder, const char *program)
{
    char path[PATH_MAX];
    system_folder = folder;
    snprintf(path, sizeof(path), "%s/dyld.dylib", folder);
    image_dyld = map_file(path);
    if (image_dyld) {
        protect_segments(image_dyld);
        text_add(image_dyld);
        image_dyld->path = "/usr/lib/dyld";
        image_main = image_load(program, NULL);
    }
    if (!image_dyld || !image_main || image_main->header->filetype != MH_EXECUTE) {
        say("%s", images_error ? images_error : "not an executable");
        _exit(127);
    }
    if (!image_system) {
        say("%s does not use libSystem", program);
        _exit(127);
    }
    start_system();
    all_infos.initialImageCount = image_count;
}

void images_task_info(uint64_t info[2])
{
    info[0] = (uint64_t)(uintptr_t)&all_infos;
    info[1] = sizeof(all_infos);
}
