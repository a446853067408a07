/* The table of code ranges: order, growth, failure of memory; and many readers while images come
 * and go: nobody finds what was waited for, nobody is waited for without end. */
#include "os/darwin/image_table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

/* Memory is never given back, so that it is given back here. */
static void *given[64];
static size_t given_count;
static bool no_memory;

static void *give(size_t size)
{
    void *memory = no_memory || given_count == 64 ? NULL : calloc(1, size);
    if (memory)
        given[given_count++] = memory;
    return memory;
}

static void nap(void)
{
    nanosleep(&(struct timespec){0, 1000 * 1000}, NULL);
}

static int take_back(void **state)
{
    (void)state;
    while (given_count)
        free(given[--given_count]);
    no_memory = false;
    return 0;
}

static void add(struct image_tables *t, uintptr_t lo, uintptr_t hi, uintptr_t header, bool stays)
{
    assert_true(image_table_begin(t, 1));
    image_table_add(t, &(struct image_range){lo, hi, header, stays, NULL});
    image_table_publish(t);
}

static uintptr_t header_at(struct image_tables *t, uintptr_t address)
{
    struct image_range range;
    return image_table_find(t, address, &range) ? range.header : 0;
}

static void ranges_interleave(void **state)
{
    (void)state;
    struct image_tables t = {.allocate = give};
    assert_int_equal(header_at(&t, 0x1000), 0);
    add(&t, 0x3000, 0x4000, 0x3000, true);
    add(&t, 0x1000, 0x2000, 0x1000, true);
    assert_true(image_table_begin(&t, 2));
    image_table_add(&t, &(struct image_range){0x2000, 0x3000, 0x3000, true, NULL});
    image_table_add(&t, &(struct image_range){0x5000, 0x6000, 0x1000, true, NULL});
    assert_int_equal(header_at(&t, 0x2000), 0); /* not published */
    image_table_publish(&t);
    assert_int_equal(header_at(&t, 0xfff), 0);
    assert_int_equal(header_at(&t, 0x1000), 0x1000);
    assert_int_equal(header_at(&t, 0x1fff), 0x1000);
    assert_int_equal(header_at(&t, 0x2000), 0x3000);
    assert_int_equal(header_at(&t, 0x3fff), 0x3000);
    assert_int_equal(header_at(&t, 0x4000), 0);
    assert_int_equal(header_at(&t, 0x5fff), 0x1000);
    assert_int_equal(header_at(&t, UINTPTR_MAX), 0);

    /* What overlaps, or is none, is left out. */
    add(&t, 0x3800, 0x4800, 9, true);
    add(&t, 0x800, 0x6800, 9, true);
    add(&t, 0x7000, 0x7000, 9, true);
    assert_int_equal(header_at(&t, 0x4000), 0);
    assert_int_equal(header_at(&t, 0x800), 0);
    assert_int_equal(header_at(&t, 0x7000), 0);

    assert_true(image_table_remove(&t, 0x1000));
    assert_false(image_table_remove(&t, 0x1000));
    assert_int_equal(header_at(&t, 0x1000), 0);
    assert_int_equal(header_at(&t, 0x5000), 0);
    assert_int_equal(header_at(&t, 0x2000), 0x3000);
}

static void tables_grow(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    struct image_tables t = {.allocate = give};
    for (uintptr_t i = 0; i < COUNT; i++) {
        uintptr_t at = (i * 7919 % COUNT + 1) * 0x1000;
        if (i % 3 == 0)
            add(&t, at, at + 0x800, at, false);
        else { /* several at once */
            assert_true(image_table_begin(&t, 1));
            image_table_add(&t, &(struct image_range){at, at + 0x800, at, false, NULL});
        }
    }
    image_table_publish(&t);
    for (uintptr_t at = 0x1000; at <= COUNT * 0x1000; at += 0x1000) {
        assert_int_equal(header_at(&t, at), at);
        assert_int_equal(header_at(&t, at + 0x7ff), at);
        assert_int_equal(header_at(&t, at + 0x800), 0);
    }
}

static void without_memory_nothing_that_is_gone_is_found(void **state)
{
    (void)state;
    struct image_tables t = {.allocate = give};
    no_memory = true;
    assert_false(image_table_begin(&t, 1));
    assert_int_equal(header_at(&t, 0x1000), 0);
    no_memory = false;
    add(&t, 0x1000, 0x2000, 0x1000, false);
    add(&t, 0x2000, 0x3000, 0x2000, false);
    no_memory = true;
    assert_false(image_table_begin(&t, 100000)); /* too many to fit */
    assert_int_equal(header_at(&t, 0x1000), 0x1000);

    struct image_tables one = {.allocate = give}; /* its second table cannot be had */
    no_memory = false;
    add(&one, 0x1000, 0x2000, 0x1000, false);
    no_memory = true;
    assert_true(image_table_remove(&one, 0x1000));
    assert_int_equal(header_at(&one, 0x1000), 0);
    add(&one, 0x5000, 0x6000, 0x5000, false); /* the table serves again */
    assert_int_equal(header_at(&one, 0x5000), 0x5000);
}

static void a_reader_is_waited_for(void **state)
{
    (void)state;
    struct image_tables t = {.allocate = give};
    add(&t, 0x1000, 0x2000, 0x1000, false);
    unsigned entered = image_table_enter(&t);
    assert_true(image_table_remove(&t, 0x1000));
    assert_false(image_table_wait(&t, 50, nap)); /* it does not come back: not without end */
    image_table_leave(&t, entered);
    assert_true(image_table_wait(&t, 10 * 1000, nap));

    /* In a child, nobody else is there. */
    image_table_enter(&t);
    image_table_enter(&t);
    image_table_forked(&t);
    assert_true(image_table_wait(&t, 10 * 1000, nap));
}

/* Images whose memory says whether they are there. */
enum { IMAGES = 8, READERS = 3, ROUNDS = 100 };

struct scene {
    struct image_tables tables;
    atomic_bool there[IMAGES];
    atomic_bool over;
    atomic_size_t found, wrong;
};

static void *read_all_the_time(void *context)
{
    struct scene *s = context;
    for (unsigned i = 0; !atomic_load(&s->over); i++) {
        const uintptr_t address = 0x1000 * (1 + i % IMAGES) + 0x10;
        struct image_range range;
        if (!image_table_find(&s->tables, address, &range) || range.permanent)
            continue;
        unsigned entered = image_table_enter(&s->tables);
        if (image_table_find(&s->tables, address, &range)) {
            for (int look = 0; look < 20; look++)
                s->wrong += !atomic_load(&s->there[range.header]);
            s->found++;
        }
        image_table_leave(&s->tables, entered);
    }
    return NULL;
}

static void load(struct scene *s, uintptr_t image)
{
    atomic_store(&s->there[image], true);
    add(&s->tables, 0x1000 * (1 + image), 0x1000 * (2 + image), image, false);
}

static void images_come_and_go_under_readers(void **state)
{
    (void)state;
    static struct scene s;
    pthread_t reader[READERS];
    s.tables = (struct image_tables){.allocate = give};
    for (uintptr_t i = 0; i < IMAGES; i++)
        load(&s, i);
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&reader[i], NULL, read_all_the_time, &s), 0);
    size_t timeouts = 0;
    for (uintptr_t round = 0; round < ROUNDS; round++) {
        uintptr_t image = round * 5 % IMAGES;
        assert_true(image_table_remove(&s.tables, image));
        if (image_table_wait(&s.tables, 10 * 1000, nap))
            atomic_store(&s.there[image], false);
        else
            timeouts++;
        nanosleep(&(struct timespec){0, 100 * 1000}, NULL);
        load(&s, image);
    }
    atomic_store(&s.over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(reader[i], NULL);
    assert_int_equal(s.wrong, 0);
    assert_true(s.found > 0);
    assert_true(timeouts < ROUNDS / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(ranges_interleave, take_back),
        cmocka_unit_test_teardown(tables_grow, take_back),
        cmocka_unit_test_teardown(without_memory_nothing_that_is_gone_is_found, take_back),
        cmocka_unit_test_teardown(a_reader_is_waited_for, take_back),
        cmocka_unit_test_teardown(images_come_and_go_under_readers, take_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
