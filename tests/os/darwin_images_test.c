/* Images and names of this process on Apple: the list, images that come and go, also under walks
 * and while names are read, and names with symbol tables of which less and less is left. */
#include "capture/self.h"
#include "framewalk/capture.h"
#include "framewalk/names.h"
#include "os/self_images.h"
#include "os/self_maps.h"
#include "unwind/rule.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/dyld_images.h>
#include <mach/mach.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef int plugin_call(void *context);
typedef int plugin_entry(plugin_call *call, void *context);

struct plugin {
    void *handle;
    plugin_entry *run;
    uintptr_t hidden;
};

static struct plugin load(const char *path)
{
    struct plugin p = {.handle = dlopen(path, RTLD_NOW)};
    if (!p.handle)
        fail_msg("%s", dlerror());
    p.run = (plugin_entry *)dlsym(p.handle, "plugin_run");
    void *(*hidden)(void) = (void *(*)(void))dlsym(p.handle, "plugin_hidden");
    assert_non_null(p.run);
    assert_non_null(hidden);
    p.hidden = (uintptr_t)hidden();
    return p;
}

static struct fw_name name_of(const struct fw_names *names, uintptr_t address)
{
    const struct fw_frame frame = {.address = address, .kind = FW_FRAME_EXACT};
    struct fw_name name;
    if (fw_names_lookup(names, &frame, &name) != FW_OK)
        name.image = NULL;
    return name;
}

__attribute__((noinline)) static int local_function(void)
{
    __asm__ volatile("" ::: "memory");
    return 1;
}

static void the_list_holds_everything(void **state)
{
    (void)state;
    struct fw_names *names;
    assert_int_equal(fw_names_create(&names), FW_OK);
    for (uint32_t i = 0; i < _dyld_image_count(); i++) {
        const struct mach_header *header = _dyld_get_image_header(i);
        struct fw_name name = name_of(names, (uintptr_t)header);
        assert_non_null(name.image);
        assert_string_equal(name.image, _dyld_get_image_name(i));
        assert_int_equal(name.image_offset,
                         (uintptr_t)header - (uintptr_t)_dyld_get_image_vmaddr_slide(i));
    }
    struct fw_name name = name_of(names, (uintptr_t)local_function + 1);
    assert_string_equal(name.function, "local_function");
    assert_int_equal(name.offset, 1);
    assert_non_null(strstr(name.image, "darwin_images"));

    /* dyld itself, of which it does not tell. */
    struct task_dyld_info info;
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    assert_int_equal(task_info(mach_task_self(), TASK_DYLD_INFO, (task_info_t)&info, &count), 0);
    const struct dyld_all_image_infos *all =
        (const struct dyld_all_image_infos *)(uintptr_t)info.all_image_info_addr;
    name = name_of(names, (uintptr_t)all->dyldImageLoadAddress);
    assert_non_null(name.image);
    assert_string_equal(name.image, "/usr/lib/dyld");

    /* Data belongs to its image, and has no function. */
    static int data = 1;
    name = name_of(names, (uintptr_t)&data);
    assert_non_null(name.image);
    assert_non_null(strstr(name.image, "darwin_images"));
    assert_null(name.function);
    int on_stack;
    assert_null(name_of(names, (uintptr_t)&on_stack).image);
    assert_null(name_of(names, 0).image);
    assert_null(name_of(names, UINTPTR_MAX).image);
    fw_names_destroy(names);
    local_function();
}

/* Walking through a plugin. */

struct walked {
    struct fw_frame frames[64];
    struct fw_stack stack;
};

static int walk_here(void *context)
{
    struct walked *w = context;
    w->stack = (struct fw_stack){.frames = w->frames, .capacity = 64};
    fw_capture(&w->stack, 0);
    return 40;
}

static void check_walk(struct plugin *p, struct walked *w)
{
    assert_int_equal(p->run(walk_here, w), 42);
    assert_true(w->stack.count > 4);
    assert_int_equal(w->stack.end, FW_END_ROOT);
    /* walk_here, then the plugin's two, then this function */
    assert_true(w->frames[1].address - p->hidden < 64);
    assert_true(w->frames[2].address - (uintptr_t)p->run < 64);
    assert_true(w->frames[3].address - (uintptr_t)check_walk < 1024);
}

static void plugins_come_and_go(void **state)
{
    (void)state;
    struct fw_names *names;
    struct walked w;
    assert_int_equal(fw_names_create(&names), FW_OK);
    struct plugin p = load(PLUGIN);
    const uintptr_t run = (uintptr_t)p.run;
    assert_null(name_of(names, run).image); /* names are those of the last refresh */
    check_walk(&p, &w);                     /* walks know at once */
    assert_int_equal(fw_names_refresh(names), FW_OK);
    struct fw_name name = name_of(names, run);
    assert_string_equal(name.function, "plugin_run");
    assert_non_null(strstr(name.image, "plugin"));
    assert_string_equal(name_of(names, p.hidden).function, "hidden_part");

    struct fw_name kept = name;
    assert_int_equal(fw_names_refresh(names), FW_OK); /* an index is built once */
    assert_ptr_equal(name_of(names, run).function, kept.function);

    dlclose(p.handle);
    assert_string_equal(kept.function, "plugin_run"); /* until the next refresh */
    struct self_images images;
    self_images_begin(&images);
    assert_null(self_images_find(&images, run));
    self_images_end(&images);
    assert_int_equal(fw_names_refresh(names), FW_OK);
    assert_null(name_of(names, run).image);
    fw_names_destroy(names);
}

static uint64_t rules_generation(void)
{
    struct self_images images;
    struct walk_space space;
    self_space(&images, &space);
    const uint64_t generation = space.cache->generation;
    self_images_end(&images);
    return generation;
}

/* Another image in the place of the first: its rules must not be those of the first. */
static void rules_of_unloaded_images_are_forgotten(void **state)
{
    (void)state;
    static const char *const paths[] = {PLUGIN, PLUGIN_FRAMELESS};
    struct walked w;
    uintptr_t last = 0;
    size_t same_place = 0;
    for (int i = 0; i < 40; i++) {
        const uint64_t before = rules_generation();
        struct plugin p = load(paths[i % 2]);
        const uint64_t loaded = rules_generation();
        check_walk(&p, &w);
        check_walk(&p, &w);
        assert_int_not_equal(loaded, before);
        assert_int_equal(rules_generation(), loaded);
        same_place += last == p.hidden >> 12;
        last = p.hidden >> 12;
        dlclose(p.handle);
        assert_int_not_equal(rules_generation(), loaded);
    }
    print_message("%zu of 40 times the same place\n", same_place);
}

/* Of one that lost its names, places are known from the one that still has them. */
static struct plugin load_stripped(const char *path)
{
    Dl_info info;
    struct plugin whole = load(PLUGIN);
    assert_true(dladdr((void *)whole.hidden, &info));
    const uintptr_t run = (uintptr_t)whole.run - (uintptr_t)info.dli_fbase;
    const uintptr_t hidden = whole.hidden - (uintptr_t)info.dli_fbase;
    dlclose(whole.handle);
    struct plugin p = {.handle = dlopen(path, RTLD_NOW)};
    if (!p.handle)
        fail_msg("%s", dlerror());
    const uintptr_t header = (uintptr_t)_dyld_get_image_header(_dyld_image_count() - 1);
    p.run = (plugin_entry *)(header + run);
    p.hidden = header + hidden;
    return p;
}

/* What is left of names: without local ones, without debuggers', without any but the export trie's.
 */
static void stripped_plugins(void **state)
{
    (void)state;
    static const struct {
        const char *path;
        bool local;
    } plugins[] = {
        {PLUGIN, true},
        {PLUGIN_S, true},
        {PLUGIN_X, false},
#ifdef PLUGIN_NONE
        {PLUGIN_NONE, false},
#endif
    };
    for (size_t i = 0; i < sizeof plugins / sizeof plugins[0]; i++) {
        struct plugin p = load_stripped(plugins[i].path);
        struct fw_names *names;
        char text[512];
        assert_int_equal(fw_names_create(&names), FW_OK);
        struct fw_name name = name_of(names, (uintptr_t)p.run + 3);
        assert_non_null(name.function);
        assert_string_equal(name.function, "plugin_run");
        assert_int_equal(name.offset, 3);

        Dl_info info;
        assert_true(dladdr((void *)p.hidden, &info));
        const uintptr_t offset = p.hidden - (uintptr_t)info.dli_fbase; /* dylibs begin at 0 */
        name = name_of(names, p.hidden);
        assert_int_equal(name.image_offset, offset);
        const struct fw_frame frame = {.address = p.hidden, .kind = FW_FRAME_EXACT};
        fw_names_format(names, &frame, text, sizeof text);
        if (plugins[i].local) {
            assert_string_equal(name.function, "hidden_part");
            assert_int_equal(strncmp(text, "hidden_part+0x0 (", 17), 0);
        } else {
            assert_null(name.function); /* and not its neighbour's */
            assert_non_null(strstr(text, "+0x"));
            assert_int_equal(strncmp(text, name.image, strlen(name.image)), 0);
        }
        fw_names_destroy(names);
        dlclose(p.handle);
    }
}

/* Unloading while others look. */

struct race {
    atomic_uintptr_t address; /* in the plugin */
    atomic_bool over;
    atomic_size_t found, read, named;
};

static void *look_all_the_time(void *context)
{
    struct race *r = context;
    volatile uint8_t sink = 0;
    while (!atomic_load(&r->over)) {
        struct self_images images;
        const uintptr_t address = atomic_load(&r->address);
        self_images_begin(&images);
        const struct unwind_image *image = address ? self_images_find(&images, address) : NULL;
        for (size_t i = 0; image && i < image->text.size; i += 64)
            sink = image->text.data[i];
        for (size_t i = 0; image && i < image->unwind_info.size; i++)
            sink = image->unwind_info.data[i];
        r->found += image != NULL;
        self_images_end(&images);
    }
    (void)sink;
    return NULL;
}

static void *name_all_the_time(void *context)
{
    struct race *r = context;
    struct fw_names *names = NULL;
    if (fw_names_create(&names) != FW_OK)
        return NULL;
    while (!atomic_load(&r->over)) {
        const uintptr_t address = atomic_load(&r->address);
        if (fw_names_refresh(names) == FW_OK && address) {
            struct fw_name name = name_of(names, address);
            r->named += name.image && name.function && strcmp(name.function, "plugin_run") == 0;
            r->read++;
        }
    }
    fw_names_destroy(names);
    return NULL;
}

static void unloading_waits_for_walks(void **state)
{
    (void)state;
    enum { LOOKERS = 2, ROUNDS = 200 };
    static struct race r;
    pthread_t looker[LOOKERS], namer;
    for (int i = 0; i < LOOKERS; i++)
        assert_int_equal(pthread_create(&looker[i], NULL, look_all_the_time, &r), 0);
    assert_int_equal(pthread_create(&namer, NULL, name_all_the_time, &r), 0);
    for (int i = 0; i < ROUNDS; i++) {
        struct walked w;
        struct plugin p = load(PLUGIN);
        atomic_store(&r.address, (uintptr_t)p.run);
        check_walk(&p, &w);
        const size_t before = atomic_load(&r.found);
        for (int nap = 0; nap < 50 && atomic_load(&r.found) == before; nap++)
            sched_yield();
        dlclose(p.handle);
    }
    atomic_store(&r.over, true);
    for (int i = 0; i < LOOKERS; i++)
        pthread_join(looker[i], NULL);
    pthread_join(namer, NULL);
    print_message("found %zu times, %zu refreshes, named %zu times\n", (size_t)r.found,
                  (size_t)r.read, (size_t)r.named);
    assert_true(r.found > 0);
    assert_true(r.read > 0);
}

static void memory_is_asked_of_the_kernel(void **state)
{
    (void)state;
    struct self_mapping mapping;
    char to[16];
    assert_true(self_mapping_find((uintptr_t)local_function, &mapping));
    assert_true(mapping.executable);
    assert_true((uintptr_t)local_function - mapping.lo < mapping.hi - mapping.lo);
    assert_true(self_mapping_find((uintptr_t)to, &mapping));
    assert_true(mapping.readable);
    assert_false(mapping.executable);
    assert_false(self_mapping_find(16, &mapping));

    vm_address_t page = 0;
    const vm_size_t size = 1 << 14;
    assert_int_equal(vm_allocate(mach_task_self(), &page, 2 * size, VM_FLAGS_ANYWHERE), 0);
    memset((void *)page, 7, 2 * size);
    assert_int_equal(vm_deallocate(mach_task_self(), page + size, size), 0);
    assert_true(self_readable(page + size - 4));
    assert_false(self_readable(page + size));
    assert_true(self_read(page + size - 16, to, 16));
    assert_int_equal(to[15], 7);
    assert_false(self_read(page + size - 15, to, 16));
    assert_false(self_read(0, to, 1));
    assert_int_equal(vm_deallocate(mach_task_self(), page, size), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_is_asked_of_the_kernel),
        cmocka_unit_test(the_list_holds_everything),
        cmocka_unit_test(plugins_come_and_go),
        cmocka_unit_test(rules_of_unloaded_images_are_forgotten),
        cmocka_unit_test(stripped_plugins),
        cmocka_unit_test(unloading_waits_for_walks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
