/*
 * Pointers to functions of other images in ELF images (pointers.h): slots of R_*_JUMP_SLOT and
 * R_*_GLOB_DAT, and R_*_64 or R_*_32 to the function itself in data.
 *
 * All work is done with the loader's lock held (inside of dl_iterate_phdr), so no image goes away
 * meanwhile. The lock does not keep another thread's dlopen() from relocating its new images, so:
 *
 *   - an image whose RELRO pages can still be written is not ready, and waits for the next refresh
 *     (unless it came with the program: others who replace pointers may leave such pages writable);
 *   - a slot counts only when it leads into code, which it does not before it is relocated;
 *   - a slot that is bound at the first call (it leads into the image's own linkage table) gets a
 *     thunk that goes on to what the loader would bind it to, when that is certain. A thread that
 *     is in the resolver at that moment may write over it: looked at again with each refresh.
 *
 * Others replace pointers, too. What they did before us is gone on to. A pointer that they change
 * after us is left to them, also at a refresh: they may go on to our thunk, and a call would count
 * twice.
 *
 * A refresh is made with each dlopen() of the program. Where nothing was loaded or unloaded since
 * the last one it looks at what that one left for later, and at slots that are bound at the first
 * call; where something was loaded, at that as well.
 *
 * Pages that are read-only are writable for the moment of one store of a word, and then again what
 * they were. Page protections are asked of the kernel, not guessed.
 */
#include <elf.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "os/self_maps.h"
#include "watch/got_images.h"
#include "watch/got_names.h"
#include "watch/kernel_room.h"
#include "watch/pointers.h"

/* A pointer that was replaced. */
struct slot {
    uintptr_t at, original, thunk;
    uint32_t name;
    uint32_t image; /* number in `seen` */
    bool lazy;      /* the original leads into a linkage table */
};

/* An image that was looked at. */
struct seen {
    const struct link_map *map;
    uintptr_t bias;
    const void *dynamic;
    bool done;            /* all of its slots are replaced that can be */
    bool there;           /* with this refresh */
    uint32_t slots, ours; /* as counted by this refresh: replaced, and still leading to us */
};

struct pointers {
    struct pointers_owner owner;
    struct got_names names;
    struct got_images images; /* memory for visits */
    uint64_t unloads;         /* of the loader, at the last refresh */
    bool unloaded;            /* since then some were */
    struct slot *slot;
    size_t slots, slot_room;
    struct seen *seen;
    size_t seen_count, seen_room;
    size_t seen_next; /* where the image behind the one found last probably stands */
    bool counted;     /* `count` is of now */
    struct pointers_count count[GOT_NAMES_MOST];
};

struct pointers *pointers_create(const struct pointers_owner *owner)
{
    struct pointers *pointers =
        mmap(NULL, sizeof *pointers, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pointers == MAP_FAILED)
        return NULL;
    pointers->owner = *owner;
    got_names_init(&pointers->names, owner->names, owner->count);
    return pointers;
}

void pointers_destroy(struct pointers *pointers)
{
    if (!pointers)
        return;
    got_images_free(&pointers->images);
    kernel_room_free(pointers->slot, pointers->slot_room, sizeof *pointers->slot);
    kernel_room_free(pointers->seen, pointers->seen_room, sizeof *pointers->seen);
    munmap(pointers, sizeof *pointers);
}

static uintptr_t load(uintptr_t slot)
{
    return __atomic_load_n((const uintptr_t *)slot, __ATOMIC_ACQUIRE);
}

/* One store into a slot that holds `expected`. False: it could not be written, or has changed. */
static bool store(uintptr_t slot, uintptr_t expected, uintptr_t value)
{
    struct self_mapping mapping;
    const uintptr_t page = slot & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    if (!self_mapping_find(slot, &mapping))
        return false;
    const int now = (mapping.readable ? PROT_READ : 0) | (mapping.writable ? PROT_WRITE : 0) |
                    (mapping.executable ? PROT_EXEC : 0);
    if (!mapping.writable && mprotect((void *)page, sizeof(void *), now | PROT_WRITE) != 0)
        return false;
    const bool done = __atomic_compare_exchange_n((uintptr_t *)slot, &expected, value, false,
                                                  __ATOMIC_RELEASE, __ATOMIC_RELAXED);
    if (!mapping.writable)
        mprotect((void *)page, sizeof(void *), now);
    return done;
}

/* A refresh of one image. */
struct pass {
    struct pointers *pointers;
    const struct got_images *images;
    const struct got_image *image;
    uint32_t seen;
    bool complete; /* no slot was left for later */
};

/* Whether the name is a function's: some image of the namespace defines it as one. */
static bool is_function(const struct pass *pass, const struct got_name *name)
{
    ElfW(Sym) symbol;
    for (size_t i = 0; i < pass->images->count; i++) {
        const struct got_image *image = &pass->images->image[i];
        if (image->space == pass->image->space &&
            got_find(image, name->text, name->length, NULL, &symbol) &&
            got_is_code(image, image->bias + symbol.st_value))
            return (symbol.st_info & 15) != STT_OBJECT && (symbol.st_info & 15) != STT_TLS;
    }
    return false;
}

/* Whether `value` is where some image defines the name. */
static bool is_definition(const struct pass *pass, const struct got_name *name, uintptr_t value)
{
    const struct got_image *image = got_image_of_code(pass->images, value);
    ElfW(Sym) symbol;
    return image && got_find(image, name->text, name->length, NULL, &symbol) &&
           image->bias + symbol.st_value == value;
}

/* Where the slot's thunk shall go on to; 0: it is to be left alone (now). */
static uintptr_t target_of(struct pass *pass, const struct got_relocation *relocation,
                           const ElfW(Sym) * symbol, const struct got_name *name, uintptr_t value,
                           bool *lazy)
{
    const struct got_image *in = got_image_of_code(pass->images, value);
    const struct got_image *program = &pass->images->image[0];
    *lazy = false;
    if (!in) { /* nobody's function, or not relocated yet */
        pass->complete &= value == 0;
        return 0;
    }
    if (relocation->kind == GOT_DATA)
        return is_definition(pass, name, value) ? value : 0;
    if (in == pass->image && relocation->kind == GOT_JUMP_SLOT && got_is_unbound(in, value)) {
        const uintptr_t bound =
            got_bound_to(pass->images, pass->image, got_string(pass->image, symbol->st_name),
                         got_wanted_version(pass->image, relocation->symbol));
        *lazy = true;
        pass->complete &= bound != 0;
        return bound;
    }
    /* The address that a program without PIE gave the function: its linkage table, which leads on
     * through a slot of its own. */
    if (in == program && program->bias == 0 && relocation->kind == GOT_SLOT &&
        !is_definition(pass, name, value))
        return 0;
    return value;
}

/* The slot, when it was replaced before. */
static struct slot *replaced(const struct pointers *pointers, uintptr_t at)
{
    for (size_t i = 0; i < pointers->slots; i++)
        if (pointers->slot[i].at == at)
            return &pointers->slot[i];
    return NULL;
}

/* False: the slot was written meanwhile, by a thread or a signal handler that bound it. */
static bool try_replace(struct pass *pass, const struct got_relocation *relocation,
                        const ElfW(Sym) * symbol, uint32_t number)
{
    struct pointers *pointers = pass->pointers;
    const struct got_name *name = &pointers->names.name[number];
    const uintptr_t value = load(relocation->slot);
    bool lazy;
    if (pointers->owner.led(pointers->owner.context, value) || !is_function(pass, name) ||
        replaced(pointers, relocation->slot))
        return true;
    const uintptr_t target = target_of(pass, relocation, symbol, name, value, &lazy);
    if (!target)
        return true;
    const uintptr_t thunk = pointers->owner.lead(pointers->owner.context, number, target);
    if (!thunk || !kernel_room((void **)&pointers->slot, pointers->slots, &pointers->slot_room,
                               sizeof *pointers->slot)) {
        pointers->count[number].refused = true;
        return true;
    }
    /* Written down first: what is in a slot can always be put back. */
    pointers->slot[pointers->slots] = (struct slot){.at = relocation->slot,
                                                    .original = value,
                                                    .thunk = thunk,
                                                    .name = number,
                                                    .image = pass->seen,
                                                    .lazy = lazy};
    pointers->slots++;
    if (store(relocation->slot, value, thunk))
        return true;
    pointers->slots--;
    pass->complete = false;
    const bool same = load(relocation->slot) == value;
    pointers->count[number].refused |= same;
    return same;
}

/* A slot is bound once; if it keeps changing, the next refresh looks at it again. */
static void replace(struct pass *pass, const struct got_relocation *relocation,
                    const ElfW(Sym) * symbol, uint32_t number)
{
    for (int tries = 0; tries < 3; tries++)
        if (try_replace(pass, relocation, symbol, number))
            return;
}

static void look_at(void *context, const struct got_relocation *relocation)
{
    struct pass *pass = context;
    const struct got_names *names = &pass->pointers->names;
    ElfW(Sym) symbol;
    if (!got_symbol(pass->image, relocation->symbol, &symbol) ||
        (symbol.st_info & 15) == STT_OBJECT || (symbol.st_info & 15) == STT_TLS)
        return;
    const char *text = got_string(pass->image, symbol.st_name);
    for (int i = got_names_next(names, text, -1); i >= 0; i = got_names_next(names, text, i)) {
        const char *wanted = names->name[i].version;
        const char *version = wanted ? got_wanted_version(pass->image, relocation->symbol) : NULL;
        if (wanted && (!version || strcmp(version, wanted) != 0))
            continue;
        replace(pass, relocation, &symbol, (uint32_t)i);
        return;
    }
}

/* The pages that are read-only once the image is relocated can be written: it is not yet. */
static bool is_ready(const struct got_images *images, const struct got_image *image)
{
    struct self_mapping mapping;
    return !image->relro_size || !self_mapping_find(image->relro, &mapping) || !mapping.writable ||
           got_came_with_program(images, image);
}

static bool is_of(const struct seen *seen, const struct got_image *image)
{
    return seen->map == image->map && seen->bias == image->bias &&
           seen->dynamic == image->map->l_ld;
}

/* Images come in the order in which they were seen first: the search begins behind the last one. */
static size_t find_seen(struct pointers *pointers, const struct got_image *image)
{
    for (size_t i = 0; i < pointers->seen_count; i++) {
        const size_t at = (pointers->seen_next + i) % pointers->seen_count;
        if (is_of(&pointers->seen[at], image)) {
            pointers->seen_next = at + 1;
            return at;
        }
    }
    return SIZE_MAX;
}

/* The number of the image in `seen`, SIZE_MAX when out of memory. */
static size_t see(struct pointers *pointers, const struct got_image *image)
{
    size_t at = find_seen(pointers, image);
    if (at == SIZE_MAX) {
        for (at = 0; at < pointers->seen_count && pointers->seen[at].map; at++)
            continue; /* the place of one that is gone */
        if (at == pointers->seen_count &&
            !kernel_room((void **)&pointers->seen, at, &pointers->seen_room,
                         sizeof *pointers->seen))
            return SIZE_MAX;
        pointers->seen_count += at == pointers->seen_count;
        pointers->seen[at] =
            (struct seen){.map = image->map, .bias = image->bias, .dynamic = image->map->l_ld};
    }
    pointers->seen[at].there = true;
    return at;
}

static void forget_slots(struct pointers *pointers, uint32_t image)
{
    size_t kept = 0;
    for (size_t i = 0; i < pointers->slots; i++)
        if (pointers->slot[i].image != image)
            pointers->slot[kept++] = pointers->slot[i];
    pointers->slots = kept;
}

/* Slots of images that were seen before. What the loader has bound meanwhile is replaced again;
 * what somebody else wrote is left. */
static void look_again(struct pointers *pointers)
{
    for (size_t i = 0; i < pointers->seen_count; i++)
        pointers->seen[i].slots = pointers->seen[i].ours = 0;
    for (size_t i = 0; i < pointers->slots; i++) {
        struct slot *slot = &pointers->slot[i];
        struct seen *seen = &pointers->seen[slot->image];
        if (slot->lazy) {
            const uintptr_t value = load(slot->at);
            const uintptr_t target = pointers->owner.led(pointers->owner.context, slot->thunk);
            if (value == target && store(slot->at, value, slot->thunk)) {
                slot->original = value;
                slot->lazy = false;
            }
        }
        seen->slots++;
        seen->ours += load(slot->at) == slot->thunk;
    }
}

static void refresh_image(struct pointers *pointers, const struct got_images *images,
                          const struct got_image *image)
{
    const size_t number = see(pointers, image);
    struct pass pass = {.pointers = pointers,
                        .images = images,
                        .image = image,
                        .seen = (uint32_t)number,
                        .complete = true};
    if (number == SIZE_MAX)
        return;
    struct seen *seen = &pointers->seen[number];
    if (pointers->unloaded && seen->slots && !seen->ours) { /* another one at the same place */
        forget_slots(pointers, (uint32_t)number);
        seen->slots = 0;
        seen->done = false;
    }
    if (seen->done || !got_is_watched(images, image) || !is_ready(images, image))
        return;
    got_relocations(image, look_at, &pass);
    seen->done = pass.complete;
}

static void count_all(struct pointers *pointers, const struct got_images *images)
{
    ElfW(Sym) symbol;
    for (uint32_t n = 0; n < pointers->names.count; n++) {
        const struct got_name *name = &pointers->names.name[n];
        struct pointers_count *count = &pointers->count[n];
        count->pointers = count->inside = 0;
        for (size_t i = 0; i < images->count; i++)
            if (got_find(&images->image[i], name->text, name->length, name->version, &symbol) &&
                got_is_code(&images->image[i], images->image[i].bias + symbol.st_value))
                count->inside++;
        count->found = count->inside > 0;
    }
    for (size_t i = 0; i < pointers->slots; i++)
        pointers->count[pointers->slot[i].name].pointers +=
            load(pointers->slot[i].at) == pointers->slot[i].thunk;
}

/* Marks which images are there, and forgets those that are not. */
static void forget_gone(struct pointers *pointers, const struct got_images *images)
{
    for (size_t i = 0; i < pointers->seen_count; i++)
        pointers->seen[i].there = false;
    for (size_t i = 0; i < images->count; i++) {
        const size_t at = find_seen(pointers, &images->image[i]);
        if (at != SIZE_MAX)
            pointers->seen[at].there = true;
    }
    for (size_t i = 0; i < pointers->seen_count; i++)
        if (pointers->seen[i].map && !pointers->seen[i].there) {
            forget_slots(pointers, (uint32_t)i);
            pointers->seen[i] = (struct seen){0};
        }
}

static void refresh(void *context, const struct got_images *images)
{
    struct pointers *pointers = context;
    pointers->unloaded = images->unloads != pointers->unloads;
    pointers->unloads = images->unloads;
    pointers->counted = false;
    if (pointers->unloaded || !images->told)
        forget_gone(pointers, images);
    look_again(pointers);
    for (size_t i = 0; i < images->count; i++)
        refresh_image(pointers, images, &images->image[i]);
}

static void count_now(void *context, const struct got_images *images)
{
    count_all(context, images);
}

/* Asked far more rarely than something is loaded. */
void pointers_count(struct pointers *pointers, uint32_t name, struct pointers_count *count)
{
    if (!pointers->counted)
        got_images_visit(&pointers->images, count_now, pointers);
    pointers->counted = true;
    *count = pointers->count[name];
}

bool pointers_refresh(struct pointers *pointers)
{
    got_images_visit(&pointers->images, refresh, pointers);
    return pointers->unloaded;
}

static void restore(void *context, const struct got_images *images)
{
    struct pointers *pointers = context;
    forget_gone(pointers, images);
    for (size_t i = 0; i < pointers->slots; i++)
        store(pointers->slot[i].at, pointers->slot[i].thunk, pointers->slot[i].original);
    pointers->slots = pointers->seen_count = 0;
}

void pointers_restore(struct pointers *pointers)
{
    got_images_visit(&pointers->images, restore, pointers);
}
