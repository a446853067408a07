/* The Mach-O host's dyld: lists, notifications, dlopen, names, thread-local variables, sections. */
#include "cmocka.h"
#include "machhost/host_module.h"

#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <mach-o/dyld_images.h>
#include <mach-o/getsect.h>
#include <mach/mach.h>
#include <pthread.h>

static unsigned added, removed;
static const struct mach_header *last_added, *added_before;
static int initialised_when_added;

static void on_add(const struct mach_header *header, intptr_t slide)
{
    Dl_info info;
    added++;
    added_before = last_added;
    last_added = header;
    assert_true(dladdr(header, &info) != 0);
    assert_ptr_equal(info.dli_fbase, header);
    assert_true((uintptr_t)header >= (uintptr_t)slide);
    const int *initialised = dlsym(RTLD_DEFAULT, "module_initialised");
    initialised_when_added = initialised ? *initialised : -1;
}

static void on_remove(const struct mach_header *header, intptr_t slide)
{
    (void)slide;
    removed++;
    assert_int_equal(header->magic, MH_MAGIC_64); /* still mapped */
}

static void test_notifications(void **state)
{
    (void)state;
    const uint32_t before = _dyld_image_count();
    assert_int_equal(added, before);
    const char *const paths[] = {MODULE_FILE, MODULE_FILE_OTHER_FIXUPS};
    for (int i = 0; i < 2; i++) {
        void *module = dlopen(paths[i], RTLD_NOW);
        assert_non_null(module);
        assert_int_equal(_dyld_image_count(), before + 2);
        assert_int_equal(added, before + 2 + (unsigned)i * 2);
        assert_int_equal(initialised_when_added, 0);
        const int *initialised = dlsym(module, "module_initialised");
        assert_int_equal(*initialised, 42);
        int (*find)(const char *) = (int (*)(const char *))dlsym(module, "module_find");
        int (*count)(void) = (int (*)(void))dlsym(module, "module_count");
        int (*has_weak)(void) = (int (*)(void))dlsym(module, "module_has_weak");
        assert_int_equal(find("three"), 2);
        assert_int_equal(find("four"), -1);
        assert_int_equal(count(), 11);
        assert_int_equal(count(), 13);
        assert_int_equal(has_weak(), 0);
        int finished = 0;
        void (*tell)(int *) = (void (*)(int *))dlsym(module, "module_tell");
        tell(&finished);
        Dl_info info;
        assert_true(dladdr((void *)find, &info) != 0);
        assert_string_equal(info.dli_sname, "module_find");
        assert_ptr_equal(info.dli_fbase, added_before); /* the one that it needs came after it */
        assert_ptr_equal(dlopen(paths[i], RTLD_NOW | RTLD_NOLOAD), module);
        assert_int_equal(dlclose(module), 0);
        assert_int_equal(removed, (unsigned)i * 2);
        assert_int_equal(dlclose(module), 0);
        assert_int_equal(removed, 2 + (unsigned)i * 2);
        assert_int_equal(finished, 1);
        assert_int_equal(_dyld_image_count(), before);
        assert_true(dladdr((void *)find, &info) == 0);
    }
    assert_null(dlopen("/nowhere.dylib", RTLD_NOW));
    assert_non_null(dlerror());
}

static void test_lists(void **state)
{
    (void)state;
    char path[1024];
    uint32_t size = sizeof(path);
    assert_int_equal(_NSGetExecutablePath(path, &size), 0);
    assert_string_equal(path, _dyld_get_image_name(0));
    const struct mach_header *header = _dyld_get_image_header(0);
    assert_int_equal(header->filetype, MH_EXECUTE);
    unsigned long length = 0;
    const uint8_t *info = getsectiondata((const struct mach_header_64 *)(const void *)header,
                                         SEG_TEXT, "__unwind_info", &length);
    assert_non_null(info);
    assert_true(length > 28);
    assert_int_equal((int)info[0], 1);
}

static void test_all_image_infos(void **state)
{
    (void)state;
    task_dyld_info_data_t info;
    mach_msg_type_number_t count = TASK_DYLD_INFO_COUNT;
    assert_int_equal(task_info(mach_task_self(), TASK_DYLD_INFO, (task_info_t)&info, &count), 0);
    assert_int_equal(info.all_image_info_format, TASK_DYLD_ALL_IMAGE_INFO_64);
    const struct dyld_all_image_infos *all =
        (const struct dyld_all_image_infos *)(uintptr_t)info.all_image_info_addr;
    assert_true(all->version >= 15);
    assert_int_equal(all->infoArrayCount, _dyld_image_count());
    assert_ptr_equal(all->infoArray[0].imageLoadAddress, _dyld_get_image_header(0));
    assert_int_equal(all->dyldImageLoadAddress->filetype, MH_DYLINKER);
    assert_string_equal(all->dyldPath, "/usr/lib/dyld");
    Dl_info symbol;
    assert_true(dladdr(__builtin_return_address(0), &symbol) != 0);
}

static _Thread_local int plain = 5;
static _Thread_local struct {
    char bytes[40];
    _Alignas(32) int aligned;
} large = {.aligned = 9};
static pthread_key_t key;
static unsigned destroyed;

static void destroy(void *value)
{
    destroyed += *(unsigned *)value;
}

static void *use_locals(void *argument)
{
    static unsigned two = 2;
    plain += 1;
    large.aligned += 1;
    pthread_setspecific(key, &two);
    const bool right = plain == 6 && large.aligned == 10 && (uintptr_t)&large.aligned % 32 == 0;
    return right ? argument : NULL;
}

static void test_thread_locals(void **state)
{
    (void)state;
    assert_int_equal(pthread_key_create(&key, destroy), 0);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        void *result = NULL;
        assert_int_equal(pthread_create(&thread, NULL, use_locals, &plain), 0);
        assert_int_equal(pthread_join(thread, &result), 0);
        assert_ptr_equal(result, &plain);
    }
    assert_int_equal(plain, 5);
    assert_int_equal(destroyed, 6);
    assert_null(pthread_getspecific(key));
}

static void test_formats(void **state)
{
    (void)state;
    char text[128];
    const int size =
        snprintf(text, sizeof(text), "%d %5.2f|%-6s|%#llx %zu %c %% %*d %hhu %Lg %.3s", -1, 2.5,
                 "ab", 0xffffffffffULL, sizeof(text), 'x', 4, 7, 300 & 0xff, 1.5L, "abcdef");
    assert_string_equal(text, "-1  2.50|ab    |0xffffffffff 128 x %    7 44 1.5 abc");
    assert_int_equal(size, strlen(text));
    assert_int_equal(snprintf(text, 4, "%s", "abcdef"), 6);
    assert_string_equal(text, "abc");
}

static int descending(const void *a, const void *b)
{
    return *(const int *)b - *(const int *)a;
}

static void test_callbacks(void **state)
{
    (void)state;
    int numbers[] = {3, 1, 4, 1, 5, 9, 2, 6};
    qsort(numbers, 8, sizeof(numbers[0]), descending);
    assert_int_equal(numbers[0], 9);
    assert_int_equal(numbers[7], 1);
}

int main(void)
{
    _dyld_register_func_for_add_image(on_add);
    _dyld_register_func_for_remove_image(on_remove);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notifications),   cmocka_unit_test(test_lists),
        cmocka_unit_test(test_all_image_infos), cmocka_unit_test(test_thread_locals),
        cmocka_unit_test(test_formats),         cmocka_unit_test(test_callbacks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
