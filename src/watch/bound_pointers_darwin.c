/*
 * The pointers of Mach-O images through which they call functions of other images, led through the
 * call watch and back (pointers.h). Methods of Objective-C are in objc_methods_darwin.c.
 *
 * Which pointers.
 * - Sections of symbol pointers, lazy or not, by their type: __got, __la_symbol_ptr,
 *   __nl_symbol_ptr, __auth_got, __auth_ptr, in whichever segment (__DATA, __DATA_CONST, __AUTH,
 *   __AUTH_CONST). The indirect symbol table says which symbol a pointer is for; names are compared
 *   by hash first (<mach-o/loader.h>, LC_DYSYMTAB). What the pointer holds is what is gone on to,
 * so two libraries that export one name, and replacements by somebody else, stay what they are. A
 *   lazy pointer that is not bound yet leads to the image's own __stub_helper: then the function is
 *   what dlsym() says.
 * - Other data, word by word: pointers to functions in tables and structures. When we see them,
 *   dyld has bound them; of a chained fixup nothing is left in memory but the pointer. So here a
 *   word is one when it holds the address of a watched function.
 * - The shared cache's images are large, and their symbol pointers are asked by value as well: no
 *   name is read, no other data.
 *
 * Signed pointers (arm64e). The schema of a slot is part of the fixup that dyld has overwritten.
 * But signing gives the same bits for the same pointer, key and diversity: the schema is the one
 * under which the target, signed, is what stands there. Tried are no signature, key IA without
 * diversity (C function pointers), and with that of the address (__auth_got, __auth_ptr).
 *
 * Who runs when: all that changes pointers runs while the list of images is held, or as dyld tells
 * of an image that is bound and not initialised yet; self_images.c lets only one of them at a time.
 * So no image goes away meanwhile, and no list of slots is kept: to lead back is to look for
 * pointers of ours as it was looked for others. dyld is not asked for anything meanwhile: whoever
 * loads an image holds its lock and waits for us. For the same reason nothing here takes the lock
 * of the watch.
 */
#include "watch/pointers.h"

#include "framewalk/calls.h"
#include "object/macho_format.h"
#include "object/macho_loaded.h"
#include "os/darwin/image_list.h"
#include "os/darwin/writable.h"
#include "watch/objc_methods.h"

#include <dlfcn.h>
#include <stdlib.h>

#if __has_feature(ptrauth_calls)
#include <ptrauth.h>
#endif

enum {
    NAMES = FW_CALLS_NAMES + 8, /* with those of the loader */
    TARGETS = 2 * NAMES,        /* functions known; several libraries may have one of a name */
    SLOTS = 4 * NAMES,          /* of hash tables; at most half full, linear probing */
    NONE = UINT32_MAX,
};

struct target {
    uintptr_t address; /* plain */
    uint64_t base;     /* of its image */
    uint32_t name;
};

struct pointers {
    struct pointers_owner owner;
    /* The real one: our own pointer to it may be led away. */
    void *(*dlsym)(void *handle, const char *name);
    /* Changed while the list of images is held. */
    uint16_t by_name[SLOTS], by_address[SLOTS]; /* number + 1 of a name, of a target; 0: none */
    struct target targets[TARGETS];
    size_t target_count;
    uintptr_t first[NAMES]; /* what dlsym says; 0: not known */
    struct pointers_count counts[NAMES];
    uint64_t counted_at; /* image_list_changes of the counts; not counted: UINT64_MAX */
    struct objc_runtime objc;
    void *methods[NAMES]; /* of names that are methods; NULL: there is none yet */
};

enum work { LEAD, LEAD_BACK, COUNT };

struct scan {
    struct pointers *pointers;
    enum work work;
    const struct macho_loaded *image;
    struct macho_symbol_table table;
    struct span indirect;
    uint64_t helper_lo, helper_hi; /* __stub_helper; empty when there is none */
    struct writable memory;
    bool in_cache;
};

static struct pointers *current; /* changed as pointers are; for images that come */

static uint32_t hash_word(uintptr_t word)
{
    return (uint32_t)((uint64_t)word * 0x9e3779b97f4a7c15u >> 40) % SLOTS;
}

static uint32_t hash_name(const char *name)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (uint8_t)*name) * 16777619u;
    return (hash ^ hash >> 15) % SLOTS;
}

static uint32_t next_slot(uint32_t at)
{
    return (at + 1) % SLOTS;
}

static void note_name(struct pointers *p, uint32_t name)
{
    uint32_t at = hash_name(p->owner.names[name]);
    while (p->by_name[at])
        at = next_slot(at);
    p->by_name[at] = (uint16_t)(name + 1);
}

static uint32_t name_number(const struct pointers *p, const char *name)
{
    for (uint32_t at = hash_name(name); p->by_name[at]; at = next_slot(at))
        if (strcmp(p->owner.names[p->by_name[at] - 1], name) == 0)
            return p->by_name[at] - 1u;
    return NONE;
}

static uint32_t name_of_address(const struct pointers *p, uintptr_t address)
{
    for (uint32_t at = hash_word(address); p->by_address[at]; at = next_slot(at))
        if (p->targets[p->by_address[at] - 1].address == address)
            return p->targets[p->by_address[at] - 1].name;
    return NONE;
}

/* The header of the image that has the code; 0 when none has. */
static uint64_t base_of(uintptr_t address)
{
    struct found_image image;
    char path[1];
    return image_list_find(address, &image, path, sizeof path) ? image.base : 0;
}

static void add_target(struct pointers *p, const struct target *target)
{
    uint32_t at = hash_word(target->address);
    while (p->by_address[at])
        at = next_slot(at);
    p->targets[p->target_count++] = *target;
    p->by_address[at] = (uint16_t)p->target_count;
}

static void note_target(struct pointers *p, uintptr_t address, uint32_t name)
{
    if (p->target_count < TARGETS && name_of_address(p, address) == NONE)
        add_target(p, &(struct target){address, base_of(address), name});
}

/* Forgets functions whose images are gone: not there, or another one is, which may be the one that
 * is just being `added`. */
static void forget_gone(struct pointers *p, uint64_t added)
{
    const size_t count = p->target_count;
    p->target_count = 0;
    memset(p->by_address, 0, sizeof p->by_address);
    for (size_t i = 0; i < count; i++) {
        const struct target target = p->targets[i];
        if (target.base && target.base != added && base_of(target.address) == target.base)
            add_target(p, &target);
        else if (p->first[target.name] == target.address)
            p->first[target.name] = 0;
    }
}

/* Signatures. */

static uintptr_t plain(uintptr_t pointer)
{
#if __has_feature(ptrauth_calls)
    return (uintptr_t)ptrauth_strip((void *)pointer, ptrauth_key_function_pointer);
#else
    return pointer;
#endif
}

/* What has to stand in the slot for `to`, where `value` stands for `from`; false when it is not
 * known how that was signed. */
static bool sign_alike(const uintptr_t *slot, uintptr_t value, uintptr_t from, uintptr_t to,
                       uintptr_t *out)
{
    *out = to;
    if (value == from)
        return true;
#if __has_feature(ptrauth_calls)
    const uintptr_t diversities[] = {0, ptrauth_blend_discriminator(slot, 0)};
    for (unsigned i = 0; i < 2; i++) {
        if ((uintptr_t)ptrauth_sign_unauthenticated((void *)from, ptrauth_key_asia,
                                                    diversities[i]) != value)
            continue;
        *out =
            (uintptr_t)ptrauth_sign_unauthenticated((void *)to, ptrauth_key_asia, diversities[i]);
        return true;
    }
#else
    (void)slot;
#endif
    return false;
}

/* Slots. `end` is where the slot's section ends. */

static bool put(struct scan *scan, uintptr_t *slot, uintptr_t value, uintptr_t to, uintptr_t end)
{
    uintptr_t wanted;
    if (!sign_alike(slot, value, plain(value), to, &wanted) ||
        !writable_open(&scan->memory, (uintptr_t)slot, end))
        return false;
    /* dyld may bind a lazy pointer at the same moment: then it is found next time. */
    __atomic_compare_exchange_n(slot, &value, wanted, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
    return true;
}

/* The number of the name of the slot's symbol; NONE when it is local, absolute, cut off, or not
 * watched. */
static uint32_t symbol_number(const struct scan *scan, uint64_t index)
{
    struct macho_symbol symbol;
    uint32_t number;
    if (index >= scan->indirect.size / 4)
        return NONE;
    memcpy(&number, scan->indirect.data + index * 4, 4);
    return macho_table_symbol(&scan->table, number, &symbol)
               ? name_number(scan->pointers, macho_source_name(symbol.name))
               : NONE;
}

static void lead_slot(struct scan *scan, uintptr_t *slot, uintptr_t value, uint32_t name,
                      uintptr_t end)
{
    struct pointers *p = scan->pointers;
    uintptr_t target = plain(value);
    if (target - scan->helper_lo < scan->helper_hi - scan->helper_lo)
        target = p->first[name]; /* not bound yet */
    if (!target)
        return;
    note_target(p, target, name);
    const uintptr_t pointer = p->owner.lead(p->owner.context, name, target);
    if (!pointer || !put(scan, slot, value, pointer, end))
        p->counts[name].refused = true;
}

/* `symbol`: its place in the indirect symbol table, UINT64_MAX for one that has none. */
static void visit(struct scan *scan, uintptr_t *slot, uintptr_t end, uint64_t symbol)
{
    struct pointers *p = scan->pointers;
    const uintptr_t value = __atomic_load_n(slot, __ATOMIC_RELAXED), target = plain(value);
    if (!target)
        return;
    const uintptr_t led = p->owner.led(p->owner.context, target);
    if (scan->work == LEAD && !led) {
        uint32_t name = name_of_address(p, target);
        if (name == NONE && symbol != UINT64_MAX && !scan->in_cache)
            name = symbol_number(scan, symbol);
        if (name != NONE)
            lead_slot(scan, slot, value, name, end);
    } else if (scan->work == LEAD_BACK && led) {
        put(scan, slot, value, led, end);
    } else if (scan->work == COUNT && led) {
        const uint32_t name = name_of_address(p, led);
        if (name != NONE)
            p->counts[name].pointers++;
    }
}

static bool visit_section(void *context, const struct macho_section *section)
{
    enum { REGULAR = 0, NON_LAZY = 6, LAZY = 7, WORD = sizeof(uintptr_t) };
    struct scan *scan = context;
    const uint32_t type = section->flags & S_TYPE_MASK;
    const bool symbols = type == NON_LAZY || type == LAZY;
    const bool data =
        strncmp(section->segment, "__DATA", 6) == 0 || strncmp(section->segment, "__AUTH", 6) == 0;
    if (!data || (!symbols && (type != REGULAR || scan->in_cache)))
        return true;
    /* dyld aligns pointers; a section of other data may begin anywhere. */
    const uint64_t at = section->vaddr + scan->image->slide, skip = (WORD - at % WORD) % WORD;
    const uint64_t count = section->size > skip ? (section->size - skip) / WORD : 0;
    uintptr_t *slots = (uintptr_t *)(uintptr_t)(at + skip);
    for (uint64_t i = 0; i < count; i++)
        visit(scan, &slots[i], (uintptr_t)(at + section->size),
              symbols ? section->indirect + i : UINT64_MAX);
    return true;
}

static bool find_helper(void *context, const struct macho_section *section)
{
    struct scan *scan = context;
    if (strcmp(section->name, "__stub_helper") != 0)
        return true;
    scan->helper_lo = section->vaddr + scan->image->slide;
    scan->helper_hi = scan->helper_lo + section->size;
    return false;
}

static const void *loaded_at(void *context, uint64_t address, size_t size)
{
    (void)context;
    return address <= UINTPTR_MAX && size <= UINTPTR_MAX - (uintptr_t)address
               ? (const void *)(uintptr_t)address
               : NULL;
}

static void scan_image(struct pointers *pointers, enum work work, uintptr_t header)
{
    static const struct macho_memory memory = {loaded_at, NULL};
    struct macho_loaded image;
    if (!macho_loaded_read(&image, &memory, header) || image.file_type == MH_DYLINKER ||
        image.is_64 != (sizeof(uintptr_t) == 8))
        return;
    struct scan scan = {.pointers = pointers,
                        .work = work,
                        .image = &image,
                        .table = macho_loaded_table(&image),
                        .indirect = macho_loaded_bytes(&image, image.indirect),
                        .in_cache = image.permanent && image.file_type != MH_EXECUTE};
    macho_loaded_sections(&image, find_helper, &scan);
    macho_loaded_sections(&image, visit_section, &scan);
    writable_close(&scan.memory);
}

/* Functions that were not there before. Asks dyld: not while the list is held by a thread that does
 * not have dyld's lock. */
static void look_up(struct pointers *p)
{
    for (uint32_t i = 0; i < p->owner.count; i++) {
        if (p->first[i] || objc_method_is(p->owner.names[i]))
            continue;
        void *found = p->dlsym(RTLD_DEFAULT, p->owner.names[i]);
        __atomic_store_n(&p->first[i], plain((uintptr_t)found), __ATOMIC_RELAXED);
    }
}

static void scan_all(struct pointers *p, enum work work)
{
    uintptr_t header;
    for (size_t i = 0; (header = image_list_header(i)); i++)
        scan_image(p, work, header);
}

static void lead_method(struct pointers *p, uint32_t name)
{
    void *method = p->methods[name];
    const uintptr_t target = method ? plain(objc_implementation(&p->objc, method)) : 0;
    if (!target || p->owner.led(p->owner.context, target))
        return;
    const uintptr_t pointer = p->owner.lead(p->owner.context, name, target);
    if (pointer)
        objc_set_implementation(&p->objc, method, pointer);
    else
        p->counts[name].refused = true;
}

static void lead_back_method(struct pointers *p, void *method)
{
    const uintptr_t led =
        p->owner.led(p->owner.context, plain(objc_implementation(&p->objc, method)));
    if (led)
        objc_set_implementation(&p->objc, method, led);
}

static void note_found(struct pointers *p)
{
    for (uint32_t i = 0; i < p->owner.count; i++)
        if (p->first[i])
            note_target(p, p->first[i], i);
    p->counted_at = UINT64_MAX;
}

/* dyld's lock is ours here, so it may be asked. Classes of the image are not there yet. */
static void image_added(uintptr_t header)
{
    forget_gone(current, header);
    look_up(current);
    dlerror(); /* whoever opens the image shall not find there what we did not find */
    note_found(current);
    scan_image(current, LEAD, header);
}

struct pointers *pointers_create(const struct pointers_owner *owner)
{
    struct pointers *p = owner->count <= NAMES ? calloc(1, sizeof *p) : NULL;
    if (!p)
        return NULL;
    p->owner = *owner;
    p->dlsym = dlsym;
    p->counted_at = UINT64_MAX;
    for (uint32_t i = 0; i < owner->count; i++)
        if (!objc_method_is(owner->names[i]))
            note_name(p, i);
    return p;
}

bool pointers_refresh(struct pointers *p)
{
    image_list_hold();
    forget_gone(p, 0);
    image_list_let_go();
    look_up(p);
    objc_find_runtime(&p->objc, p->dlsym);
    dlerror(); /* as above */
    for (uint32_t i = 0; i < p->owner.count; i++)
        if (!p->methods[i] && objc_method_is(p->owner.names[i]))
            p->methods[i] = objc_find_method(&p->objc, p->owner.names[i]);
    image_list_hold();
    note_found(p);
    current = p;
    image_list_let_go();
    image_list_on_add(image_added); /* first: none comes unnoticed between the two */
    image_list_hold();
    scan_all(p, LEAD);
    for (uint32_t i = 0; i < p->owner.count; i++)
        lead_method(p, i);
    image_list_let_go();
    return false; /* dyld tells of that by itself */
}

void pointers_restore(struct pointers *p)
{
    image_list_on_add(NULL);
    image_list_hold();
    scan_all(p, LEAD_BACK);
    for (uint32_t i = 0; i < p->owner.count; i++)
        if (p->methods[i])
            lead_back_method(p, p->methods[i]);
    p->counted_at = UINT64_MAX;
    image_list_let_go();
}

/* All at once, and again when images came or went. */
static void count_all(struct pointers *p)
{
    for (uint32_t i = 0; i < p->owner.count; i++) {
        p->counts[i].pointers = 0;
        p->counts[i].inside = 0;
        p->counts[i].found = p->methods[i] != NULL;
    }
    scan_all(p, COUNT);
    for (size_t i = 0; i < p->target_count; i++) {
        struct pointers_count *c = &p->counts[p->targets[i].name];
        if (base_of(p->targets[i].address) != p->targets[i].base)
            continue;
        c->found = true;
        c->inside++;
    }
    for (uint32_t i = 0; i < p->owner.count; i++)
        if (p->methods[i] &&
            p->owner.led(p->owner.context, plain(objc_implementation(&p->objc, p->methods[i]))))
            p->counts[i].pointers = 1;
    p->counted_at = image_list_changes();
}

void pointers_count(struct pointers *p, uint32_t name, struct pointers_count *result)
{
    image_list_hold();
    if (p->counted_at != image_list_changes())
        count_all(p);
    *result = p->counts[name];
    image_list_let_go();
}

void pointers_destroy(struct pointers *p)
{
    free(p);
}
