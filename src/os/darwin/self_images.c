/*
 * The images loaded in this process: a list of our own that dyld's notifications feed, so that
 * nobody asks dyld, or takes its lock, when an address is looked up.
 *
 * The list has the paths as well, so whoever names frames does not wait for dyld either, where the
 * thread that hangs does so in dlopen().
 *
 * The notifications come before an image's code runs, and before its memory is unmapped; while one
 * is handled, dyld's lock is held. Writers take turns by `writer`; no call of dyld is made while
 * that is held, as another thread may wait for it in a notification. Readers: image_table.h.
 *
 * An unloaded image ends in this order: it leaves the table; walks that may have found it are
 * waited for; the rules that they cached are forgotten; dyld unmaps it. A walk that lasts longer
 * than the wait (ten seconds) while its image is unloaded is the only one that could fault.
 *
 * <mach-o/dyld.h>, <mach-o/dyld_images.h>.
 */
#include "os/self_images.h"

#include <TargetConditionals.h>
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/dyld_images.h>
#include <mach/mach.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "object/macho_loaded.h"
#include "os/darwin/image_list.h"
#include "os/darwin/image_table.h"
#include "os/darwin/nap.h"
#include "os/self_maps.h"

enum {
    READER_WAIT_MS = 10 * 1000, /* for each of two turns */
    READER_NAP_NS = 1000 * 1000,
    WRITER_NAP_NS = 50 * 1000,
};

struct record { /* an image, for the list */
    uintptr_t header;
    const char *path; /* dyld's or the image's own, as long as it is loaded; NULL: not known */
    bool permanent;
};

static void *allocate(size_t size)
{
    vm_address_t address = 0;
    if (vm_allocate(mach_task_self(), &address, size, VM_FLAGS_ANYWHERE) != KERN_SUCCESS)
        return NULL;
    return (void *)address;
}

static struct image_tables tables = {.allocate = allocate};
static struct record *records;
static size_t record_count, record_capacity;
static unsigned long long unloads;
static _Atomic uint64_t changes; /* of the records; written while they are */
static void (*on_change)(void);
static void (*on_add)(uintptr_t header); /* set and called while written */
static bool collecting;                  /* at the start: published together */
static uint32_t told; /* images that dyld told of meanwhile, less those that it took back */
static pid_t writer;  /* the process whose thread it is; a forked child may inherit its parent's */
static pid_t owner;   /* whose readers are counted */

/* The loader's memory: what a segment covers may be read. */
static const void *loaded_at(void *context, uint64_t address, size_t size)
{
    (void)context;
    return address <= UINTPTR_MAX && size <= UINTPTR_MAX - (uintptr_t)address
               ? (const void *)(uintptr_t)address
               : NULL;
}
static const struct macho_memory loaded_memory = {loaded_at, NULL};

/* A child forked while a thread was writing takes over: it has no such thread. */
static void writer_begin(void)
{
    const pid_t own = getpid();
    for (;;) {
        pid_t by = 0;
        if (__atomic_compare_exchange_n(&writer, &by, own, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED) ||
            (by != own && __atomic_compare_exchange_n(&writer, &by, own, false, __ATOMIC_ACQUIRE,
                                                      __ATOMIC_RELAXED)))
            break;
        nap_ns(WRITER_NAP_NS);
    }
    if (owner != own) {
        owner = own;
        image_table_forked(&tables);
    }
}

static void writer_end(void)
{
    __atomic_store_n(&writer, 0, __ATOMIC_RELEASE);
}

static struct record *record_of(uintptr_t header)
{
    for (size_t i = 0; i < record_count; i++)
        if (records[i].header == header)
            return &records[i];
    return NULL;
}

static bool record_room(void)
{
    enum { FIRST_ROOM = 1024 };
    if (record_count < record_capacity)
        return true;
    const size_t capacity = record_capacity ? record_capacity * 2 : FIRST_ROOM;
    struct record *grown = allocate(capacity * sizeof *grown);
    if (!grown)
        return false;
    if (records) {
        memcpy(grown, records, record_count * sizeof *grown);
        vm_deallocate(mach_task_self(), (vm_address_t)records, record_capacity * sizeof *records);
    }
    records = grown;
    record_capacity = capacity;
    return true;
}

static bool count_code(void *context, const struct macho_loaded_segment *segment)
{
    *(size_t *)context += segment->executable;
    return true;
}

static bool add_code(void *context, const struct macho_loaded_segment *segment)
{
    const struct record *record = context;
    if (segment->executable && segment->hi <= UINTPTR_MAX)
        image_table_add(&tables,
                        &(struct image_range){(uintptr_t)segment->lo, (uintptr_t)segment->hi,
                                              record->header, record->permanent, record->path});
    return true;
}

/* With `writer` held. False when it is known, or there is no memory. */
static bool add_record(const struct record *record, const struct macho_loaded *image)
{
    size_t ranges = 0;
    if (record_of(record->header) || !record_room())
        return false;
    macho_loaded_segments(image, count_code, &ranges);
    if (!image_table_begin(&tables, ranges))
        return false;
    struct record *added = &records[record_count++];
    *added = *record;
    added->permanent = image->permanent;
    macho_loaded_segments(image, add_code, added);
    if (!collecting)
        image_table_publish(&tables);
    atomic_fetch_add_explicit(&changes, 1, memory_order_release);
    return true;
}

/* The shared cache's images are called as they are installed; of others dyld is asked, which at the
 * header does not search for a symbol. (In a simulator its folder comes before the installed name.)
 */
static const char *path_of(const struct mach_header *header, const struct macho_loaded *image)
{
    Dl_info info;
    const char *name = image->install_name;
    if (image->permanent && name && name[0] == '/' && !TARGET_OS_SIMULATOR)
        return name;
    return dladdr(header, &info) && info.dli_fbase == header ? info.dli_fname : NULL;
}

static void image_added(const struct mach_header *header, intptr_t slide)
{
    struct record record = {.header = (uintptr_t)header};
    struct macho_loaded image;
    (void)slide;
    const bool good = macho_loaded_read(&image, &loaded_memory, record.header);
    if (good)
        record.path = path_of(header, &image);
    writer_begin();
    told++;
    const bool added = good && add_record(&record, &image) && !collecting;
    if (good && on_add)
        on_add(record.header);
    writer_end();
    if (added)
        on_change();
}

static void nap(void)
{
    nap_ns(READER_NAP_NS);
}

static void image_removed(const struct mach_header *header, intptr_t slide)
{
    (void)slide;
    writer_begin();
    told--;
    struct record *record = record_of((uintptr_t)header);
    if (record) {
        *record = records[--record_count];
        unloads++;
        atomic_fetch_add_explicit(&changes, 1, memory_order_release);
        if (image_table_remove(&tables, (uintptr_t)header))
            image_table_wait(&tables, READER_WAIT_MS, nap);
    }
    writer_end();
    if (record)
        on_change();
}

/* dyld does not tell of itself. */
static void add_dyld(void)
{
    struct task_dyld_info info;
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    if (task_info(mach_task_self(), TASK_DYLD_INFO, (task_info_t)&info, &count) != KERN_SUCCESS ||
        !info.all_image_info_addr)
        return;
    enum { NAMES_DYLD = 2, NAMES_ITS_PATH = 15 };
    const struct dyld_all_image_infos *all =
        (const struct dyld_all_image_infos *)(uintptr_t)info.all_image_info_addr;
    if (all->version < NAMES_DYLD || !all->dyldImageLoadAddress)
        return;
    const bool named = all->version >= NAMES_ITS_PATH && all->dyldPath;
    const struct record record = {.header = (uintptr_t)all->dyldImageLoadAddress,
                                  .path = named ? all->dyldPath : "/usr/lib/dyld"};
    struct macho_loaded image;
    if (macho_loaded_read(&image, &loaded_memory, record.header))
        add_record(&record, &image);
}

/* Registering calls image_added for all images that are there. Then dyld lets go of its lock before
 * it remembers the function: what another thread loads in between nobody is told of (dyld 4). So
 * the images are counted afterwards, and when some are missing all are asked for once more; what
 * dyld tells of twice from then on is known. */
void self_images_refresh(void (*changed)(void))
{
    static bool registered;
    if (__atomic_exchange_n(&registered, true, __ATOMIC_ACQ_REL))
        return;
    on_change = changed;
    writer_begin();
    collecting = true;
    add_dyld();
    writer_end();
    /* First, so that none goes unnoticed between the two. */
    _dyld_register_func_for_remove_image(image_removed);
    _dyld_register_func_for_add_image(image_added);
    if (_dyld_image_count() != __atomic_load_n(&told, __ATOMIC_RELAXED))
        _dyld_register_func_for_add_image(image_added);
    writer_begin();
    collecting = false;
    if (tables.open)
        image_table_publish(&tables);
    writer_end();
    changed();
}

const struct unwind_image *self_images_find(void *context, uint64_t address)
{
    struct self_images *images = context;
    struct image_range range;
    if (address - images->lo < images->hi - images->lo)
        return &images->image;
    if (address > UINTPTR_MAX || !image_table_find(&tables, (uintptr_t)address, &range))
        return NULL;
    if (!range.permanent && !images->reading) {
        images->entered = image_table_enter(&tables);
        images->reading = true;
        if (!image_table_find(&tables, (uintptr_t)address, &range))
            return NULL;
    }
    struct macho_loaded image;
    if (!macho_loaded_read(&image, &loaded_memory, range.header))
        return NULL;
    macho_loaded_unwind_image(&image, address, &images->image);
    images->image.arch = &ARCH_NATIVE;
    images->lo = range.lo;
    images->hi = range.hi;
    return &images->image;
}

void self_images_end(struct self_images *images)
{
    if (images->reading)
        image_table_leave(&tables, images->entered);
    self_images_begin(images);
}

bool self_images_is_code(void *context, uint64_t address)
{
    struct self_mapping mapping;
    (void)context;
    return address <= UINTPTR_MAX && self_mapping_find((uintptr_t)address, &mapping) &&
           mapping.executable;
}

bool image_list_find(uint64_t address, struct found_image *found, char *path, size_t path_size)
{
    struct image_range range;
    struct macho_loaded image;
    const unsigned entered = image_table_enter(&tables);
    const bool good = address <= UINTPTR_MAX &&
                      image_table_find(&tables, (uintptr_t)address, &range) &&
                      macho_loaded_read(&image, &loaded_memory, range.header);
    if (good) {
        *found = (struct found_image){.base = image.header,
                                      .size = range.hi - image.header,
                                      .has_uuid = image.has_uuid,
                                      .cpu_type = image.cpu_type,
                                      .cpu_subtype = image.cpu_subtype};
        memcpy(found->uuid, image.uuid, sizeof found->uuid);
        strlcpy(path, range.path ? range.path : "", path_size);
    }
    image_table_leave(&tables, entered);
    return good;
}

void image_list_hold(void)
{
    writer_begin();
}

void image_list_let_go(void)
{
    writer_end();
}

uintptr_t image_list_header(size_t index)
{
    return index < record_count ? records[index].header : 0;
}

void image_list_on_add(void (*added)(uintptr_t header))
{
    writer_begin();
    on_add = added;
    writer_end();
}

uint64_t image_list_changes(void)
{
    return atomic_load_explicit(&changes, memory_order_acquire);
}

bool image_list_copy(struct listed_image *list, size_t *count, char *paths, size_t *path_size,
                     unsigned long long *unloaded, uint64_t *changed)
{
    const size_t room = *count, path_room = *path_size;
    size_t used = 0;
    writer_begin();
    for (size_t i = 0; i < record_count; i++) {
        const char *path = records[i].path ? records[i].path : "";
        const size_t size = strlen(path) + 1;
        if (i < room && used <= path_room && size <= path_room - used) {
            memcpy(paths + used, path, size);
            list[i] = (struct listed_image){records[i].header, paths + used, records[i].permanent};
        }
        used += size;
    }
    *count = record_count;
    *path_size = used;
    *unloaded = unloads;
    *changed = image_list_changes();
    writer_end();
    return *count <= room && used <= path_room;
}
