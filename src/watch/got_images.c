/*
 * All loaded ELF images (got_images.h).
 *
 * How references are bound (System V ABI, chapter 5, "Shared Object Dependencies"; dlopen(3)): in
 * the global scope, which is the program, what was preloaded, and what these need, in the loader's
 * order; then in the scope of the dlopen() that brought the image. An image linked with -Bsymbolic
 * looks at itself first, one opened with RTLD_DEEPBIND at its own scope. What of this the loader
 * does not tell is not guessed: a reference that more than one definition could serve, and whose
 * scope is not known, has no answer here.
 */
#include "watch/got_images.h"

#include <elf.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>

#include "watch/kernel_room.h"
#include "watch/thunks.h"

struct visit {
    struct got_images *images;
    void (*work)(void *context, const struct got_images *images);
    void *context;
};

static struct got_image *add(struct got_images *images)
{
    if (images->count >= GOT_IMAGES_MOST ||
        !kernel_room((void **)&images->image, images->count, &images->room, sizeof *images->image))
        return NULL;
    images->known = 0; /* what comes behind it is another list than before */
    return &images->image[images->count++];
}

/* The next image is the one that stood here: as it was. */
static bool is_known(const struct got_images *images, const struct link_map *map, uint32_t space)
{
    return images->count < images->known && images->image[images->count].map == map &&
           images->image[images->count].space == space;
}

static int note_head(struct dl_phdr_info *info, size_t size, void *context)
{
    struct got_images *images = context;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_DYNAMIC &&
            kernel_room((void **)&images->head, images->heads, &images->head_room,
                        sizeof *images->head))
            images->head[images->heads++] = (struct got_head){
                info->dlpi_phdr, info->dlpi_phnum, info->dlpi_addr + info->dlpi_phdr[i].p_vaddr};
    return 0;
}

/* The program headers of one image. */
struct headers {
    const struct link_map *map;
    const ElfW(Phdr) * phdr;
    size_t count;
};

/* dl_iterate_phdr() has the order of the loader's list: the search begins behind the last one. */
static void find_head(struct got_images *images, struct headers *h)
{
    if (!images->has_heads) {
        images->heads = images->head_next = 0;
        dl_iterate_phdr(note_head, images);
        images->has_heads = true;
    }
    for (size_t i = 0; i < images->heads; i++) {
        const size_t at = (images->head_next + i) % images->heads;
        if (images->head[at].dynamic == (uintptr_t)h->map->l_ld) {
            h->phdr = images->head[at].phdr;
            h->count = images->head[at].count;
            images->head_next = at + 1;
            return;
        }
    }
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
#include <dlfcn.h>
#pragma weak _dl_find_object

/* Images of other namespaces are not in dl_iterate_phdr(): by the ELF header in front. */
static void find_in_file(struct headers *h)
{
    enum { FIRST_PAGE = 4096 };
    struct dl_find_object object;
    if (!_dl_find_object || _dl_find_object((void *)h->map->l_ld, &object) != 0)
        return;
    const ElfW(Ehdr) *header = object.dlfo_map_start;
    if (object.dlfo_link_map != h->map || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_phentsize != sizeof(ElfW(Phdr)) || header->e_phoff > FIRST_PAGE ||
        header->e_phnum > (FIRST_PAGE - header->e_phoff) / sizeof(ElfW(Phdr)))
        return;
    h->phdr = (const ElfW(Phdr) *)(const void *)((const char *)header + header->e_phoff);
    h->count = header->e_phnum;
}
#else
static void find_in_file(struct headers *h)
{
    (void)h;
}
#endif

static void add_space(struct got_images *images, struct link_map *first, uint32_t space)
{
    for (struct link_map *map = first; map; map = map->l_next) {
        struct headers h = {.map = map};
        if (is_known(images, map, space)) {
            images->count++;
            continue;
        }
        if (!map->l_ld)
            continue;
        if (space == 0)
            find_head(images, &h);
        if (!h.phdr)
            find_in_file(&h);
        if (!h.phdr)
            continue;
        struct got_image *image = add(images);
        if (!image)
            return;
        if (!got_image_read(image, map, h.phdr, h.count))
            images->count--;
        else
            image->space = space;
    }
}

/* Each namespace has its own list (link.h: r_version 2, from glibc 2.35 on). */
struct debug_more {
    struct r_debug base;
    struct debug_more *next;
};

/* What the loader has for debuggers; `program` is the first that dl_iterate_phdr() gives. NULL:
 * there is no loader. */
static struct r_debug *debug_of(const struct dl_phdr_info *program)
{
#if defined(__GLIBC__)
    struct r_debug *debug = &_r_debug;
    (void)program;
    __asm__("" : "+r"(debug)); /* it is larger than its declaration, when its version says so */
    return debug;
#else
    for (size_t i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &program->dlpi_phdr[i];
        const ElfW(Dyn) *d = (const ElfW(Dyn) *)(program->dlpi_addr + p->p_vaddr);
        for (; p->p_type == PT_DYNAMIC && d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_DEBUG)
                return (struct r_debug *)(uintptr_t)d->d_un.d_ptr;
    }
    return NULL;
#endif
}

static void read_all(struct got_images *images, const struct dl_phdr_info *info)
{
    images->count = 0;
    images->has_heads = false;
    images->self = calls_thunk_address(0);
    const struct r_debug *debug = debug_of(info);
    images->loader = debug ? debug->r_ldbase : 0;
    if (debug)
        add_space(images, debug->r_map, 0);
    if (debug && debug->r_version > 1) {
        uint32_t space = 1;
        for (const struct debug_more *more = ((const struct debug_more *)(const void *)debug)->next;
             more; more = more->next)
            add_space(images, more->base.r_map, space++);
    }
}

/* glibc's lists hold an image when it is mapped and described as a whole, and its counts change
 * with them, all under the lock that is held here. Other loaders' lists may be read while they
 * change. */
#if defined(__GLIBC__)
enum { COUNTS_ARE_LISTS = 1 };
#else
enum { COUNTS_ARE_LISTS = 0 };
#endif

static int with_lock(struct dl_phdr_info *info, size_t size, void *context)
{
    struct visit *visit = context;
    struct got_images *images = visit->images;
    const bool told = size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs;
    const uint64_t loads = told ? info->dlpi_adds : 0, unloads = told ? info->dlpi_subs : 0;
    const bool same = COUNTS_ARE_LISTS && told && images->told && images->unloads == unloads;
    if (!same || images->loads != loads) {
        images->known = same ? images->count : 0;
        read_all(images, info);
    }
    images->told = told && COUNTS_ARE_LISTS;
    images->loads = loads;
    images->unloads = unloads;
    visit->work(visit->context, images);
    return 1; /* once is enough */
}

void got_images_visit(struct got_images *images,
                      void (*work)(void *context, const struct got_images *images), void *context)
{
    struct visit visit = {images, work, context};
    dl_iterate_phdr(with_lock, &visit);
}

void got_images_free(struct got_images *images)
{
    kernel_room_free(images->image, images->room, sizeof *images->image);
    kernel_room_free(images->head, images->head_room, sizeof *images->head);
    *images = (struct got_images){0};
}

bool got_is_watched(const struct got_images *images, const struct got_image *image)
{
    const uintptr_t vdso = (uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const bool is_program = image == &images->image[0];
    if (is_program)
        return true;
    return !(vdso && vdso - image->lo < image->hi - image->lo) && image->bias != images->loader &&
           !got_is_code(image, images->self);
}

const struct got_image *got_image_of_code(const struct got_images *images, uintptr_t address)
{
    for (size_t i = 0; i < images->count; i++)
        if (address - images->image[i].lo < images->image[i].hi - images->image[i].lo &&
            got_is_code(&images->image[i], address))
            return &images->image[i];
    return NULL;
}

/* Copies `size` bytes of the image's code. */
static bool code_at(const struct got_image *image, uintptr_t address, void *to, size_t size)
{
    const void *from = got_bytes(image, address, size);
    if (from)
        memcpy(to, from, size);
    return from != NULL;
}

/* What linkers write there (psABI, "Procedure Linkage Table"): on x86 an entry that pushes its
 * number, or, on ARM and where the number is in a register, the first entry of the table. */
bool got_is_unbound(const struct got_image *image, uintptr_t address)
{
#if defined(__x86_64__) || defined(__i386__)
    static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e}, first[] = {0x41, 0x53, 0xff, 0x35};
    const size_t unit = sizeof(void *) == 8 ? 1 : sizeof(ElfW(Rel)); /* numbers, or offsets */
    const size_t each = image->plt_is_rela ? sizeof(ElfW(Rela)) : sizeof(ElfW(Rel));
    uint8_t code[5];
    uint32_t number;
    if (!code_at(image, address, code, sizeof code))
        return false;
    if (memcmp(code, endbr, sizeof endbr) == 0 && !code_at(image, address + 4, code, sizeof code))
        return false;
    memcpy(&number, code + 1, sizeof number);
    return (code[0] == 0x68 && number / unit < image->plt.size / each) ||
           memcmp(code, first, sizeof first) == 0;
#elif defined(__aarch64__)
    uint32_t code;
    if (code_at(image, address, &code, sizeof code) && code == 0xd503245f /* bti c */)
        address += sizeof code;
    return code_at(image, address, &code, sizeof code) && code == 0xa9bf7bf0; /* stp x16, x30 */
#else
    uint32_t code;
    return code_at(image, address, &code, sizeof code) && code == 0xe52de004; /* push {lr} */
#endif
}

uintptr_t got_address(const struct got_image *image, const ElfW(Sym) * symbol)
{
    const uintptr_t value = image->bias + symbol->st_value;
    if ((symbol->st_info & 15) != STT_GNU_IFUNC)
        return value;
#if defined(__aarch64__)
    /* Its first argument's bit 62 says that there is a second one (AArch64 ELF ABI, ifunc). */
    const unsigned long arguments[3] = {sizeof arguments, getauxval(AT_HWCAP),
                                        getauxval(AT_HWCAP2)};
    uintptr_t (*resolver)(uint64_t, const unsigned long *) =
        (uintptr_t (*)(uint64_t, const unsigned long *))value;
    return resolver(getauxval(AT_HWCAP) | 1ul << 62, arguments);
#elif defined(__arm__)
    uintptr_t (*resolver)(unsigned long) = (uintptr_t (*)(unsigned long))value;
    return resolver(getauxval(AT_HWCAP));
#else
    uintptr_t (*resolver)(void) = (uintptr_t (*)(void))value;
    return resolver();
#endif
}

/* What an image needs, by the names that images have. */
struct need {
    const struct got_images *images;
    bool *reached;
    uint32_t space;
    bool more;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void reach(void *context, const char *name)
{
    struct need *need = context;
    for (size_t i = 0; i < need->images->count; i++) {
        const struct got_image *image = &need->images->image[i];
        if (image->space != need->space || need->reached[i])
            continue;
        if ((image->soname && strcmp((const char *)image->soname, name) == 0) ||
            strcmp(base_name(image->map->l_name), base_name(name)) == 0)
            need->reached[i] = need->more = true;
    }
}

/* Marks all that image `from` needs, and what that needs, and so on. */
static void reach_all(const struct got_images *images, size_t from, bool *reached)
{
    bool asked[GOT_IMAGES_MOST] = {false};
    struct need need = {images, reached, images->image[from].space, true};
    reached[from] = true;
    while (need.more) {
        need.more = false;
        for (size_t i = 0; i < images->count; i++)
            if (reached[i] && !asked[i]) {
                asked[i] = true;
                got_needed(&images->image[i], reach, &need);
            }
    }
}

/* The last image of the global scope: the list begins with what was loaded at start. */
static size_t last_global(const struct got_images *images, const bool *reached, uint32_t space)
{
    size_t last = 0;
    for (size_t i = 0; i < images->count; i++)
        if (reached[i] && images->image[i].space == space)
            last = i;
    return last;
}

bool got_came_with_program(const struct got_images *images, const struct got_image *image)
{
    bool reached[GOT_IMAGES_MOST] = {false};
    if (image->space != 0)
        return false;
    reach_all(images, 0, reached);
    return (size_t)(image - images->image) <= last_global(images, reached, 0);
}

/* Where definitions of one name are. */
struct found {
    size_t first;   /* image that has the first one, SIZE_MAX: none */
    size_t own;     /* image number of the reference */
    bool is_one;    /* all are at the same address */
    uintptr_t at;   /* of the first */
    uintptr_t here; /* of the image's own one, 0 none */
};

static struct found find_all(const struct got_images *images, const struct got_image *image,
                             const char *name, const char *version)
{
    struct found found = {.first = SIZE_MAX, .is_one = true};
    ElfW(Sym) symbol;
    for (size_t i = 0; i < images->count; i++) {
        const struct got_image *other = &images->image[i];
        if (other->space != image->space || !got_find(other, name, strlen(name), version, &symbol))
            continue;
        const uintptr_t at = other->bias + symbol.st_value;
        if (found.first == SIZE_MAX) {
            found.first = i;
            found.at = at;
        }
        found.is_one &= at == found.at;
        if (other == image)
            found.here = at;
    }
    return found;
}

/* Whether another definition than the first is in the scope that came with the image. */
static bool is_rivalled(const struct got_images *images, const struct got_image *image,
                        const struct found *found, const char *name, const char *version)
{
    bool reached[GOT_IMAGES_MOST] = {false};
    ElfW(Sym) symbol;
    reach_all(images, (size_t)(image - images->image), reached);
    for (size_t i = 0; i < images->count; i++)
        if (reached[i] && i != found->first &&
            got_find(&images->image[i], name, strlen(name), version, &symbol) &&
            images->image[i].bias + symbol.st_value != found->at)
            return true;
    return false;
}

uintptr_t got_bound_to(const struct got_images *images, const struct got_image *image,
                       const char *name, const char *version)
{
    const struct found found = find_all(images, image, name, version);
    bool global[GOT_IMAGES_MOST] = {false};
    ElfW(Sym) symbol;
    size_t from = found.first, root = 0;
    if (from == SIZE_MAX)
        return 0;
    if (image->symbolic && found.here) {
        from = (size_t)(image - images->image);
    } else if (!found.is_one) {
        while (images->image[root].space != image->space)
            root++;
        reach_all(images, root, global);
        const size_t last = last_global(images, global, image->space);
        const size_t own = (size_t)(image - images->image);
        if (found.first > last || (own > last && is_rivalled(images, image, &found, name, version)))
            return 0;
    }
    return got_find(&images->image[from], name, strlen(name), version, &symbol)
               ? got_address(&images->image[from], &symbol)
               : 0;
}
