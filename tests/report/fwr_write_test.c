/*
 * The writer of Framewalk reports, and what the reader makes of them: everything comes back; frames
 * and images are there once; tables that are full cut and count, and never make a wrong stack.
 */
#include "base/crc32c.h"
#include "report/fwr.h"
#include "report/fwr_support.h"
#include "report/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct report *read_file(const struct fwr_file *file)
{
    struct report *r = read_span((struct span){file->data, file->size});
    assert_int_equal(r->kind, REPORT_FRAMEWALK);
    return r;
}

/* RFC 3720, appendix B.4. */
static void checksum(void **state)
{
    uint8_t bytes[48];
    (void)state;
    memset(bytes, 0, 32);
    assert_int_equal(fwr_crc(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, 32);
    assert_int_equal(fwr_crc(0, bytes, 32), 0x62a8ab43);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = i;
    assert_int_equal(fwr_crc(0, bytes, 32), 0x46dd794e);
    for (uint8_t i = 0; i < 32; i++)
        bytes[i] = (uint8_t)(31 - i);
    assert_int_equal(fwr_crc(0, bytes, 32), 0x113fdb5c);
    static const uint8_t command[48] = {0x01, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0, 0, 0, 0,
                                        0x14, 0,    0, 0, 0, 0, 4, 0, 0, 0, 0, 0x14, 0, 0, 0, 0x18,
                                        0x28, 0,    0, 0, 0, 0, 0, 0, 2, 0, 0, 0,    0, 0, 0, 0};
    assert_int_equal(fwr_crc(0, command, 48), 0xd9963a56);
    assert_int_equal(fwr_crc(0, "123456789", 9), 0xe3069283);
    for (size_t cut = 0; cut <= 48; cut++) /* in two parts */
        assert_int_equal(fwr_crc(fwr_crc(0, command, cut), command + cut, 48 - cut), 0xd9963a56);
}

static void expect_frame(const struct report *r, uint32_t thread, uint32_t index, const char *image,
                         uint64_t offset, enum report_frame_kind kind)
{
    const struct report_thread *t = &r->threads[thread];
    assert_true(index < t->frame_count);
    const struct report_frame *f = &r->frames[t->first_frame + index];
    assert_int_equal(f->thread, thread);
    assert_int_equal(f->kind, kind);
    if (image) {
        assert_true(f->image < r->image_count);
        assert_string_equal(r->images[f->image].name, image);
        assert_true(f->has_offset && !f->has_address);
        assert_int_equal(f->offset, offset);
    } else {
        assert_int_equal(f->image, REPORT_NONE);
        assert_true(f->has_address && !f->has_offset);
        assert_int_equal(f->address, offset);
    }
}

static void expect_about(const struct report *r)
{
    assert_true(r->complete);
    assert_null(r->note);
    assert_int_equal(r->about, FWR_KIND_HANG);
    assert_int_equal(r->started_ms, UINT64_C(1763791200123));
    assert_int_equal(r->process_age_ms, 90061);
    assert_string_equal(r->session, "f1f2f300000000000000000000000000");
    assert_string_equal(r->info.incident, "0102030405060708090a0b0c0d0e0f10");
    assert_string_equal(r->info.date, "2025-11-22T06:00:00.123Z");
    assert_string_equal(r->info.process, "shop");
    assert_string_equal(r->info.path, "~/app/shop");
    assert_string_equal(r->info.bundle, "com.example.shop");
    assert_string_equal(r->info.version, "2.1.0");
    assert_string_equal(r->info.build, "20261122.1");
    assert_string_equal(r->info.os, "Debian GNU/Linux 12 (bookworm)");
    assert_string_equal(r->info.arch, "x86_64");
    assert_string_equal(r->info.device, "server");
    assert_string_equal(r->info.pid, "4711");
    assert_int_equal(r->key_count, 2);
    assert_string_equal(r->keys[0].key, "screen");
    assert_string_equal(r->keys[0].value, "checkout");
    assert_string_equal(r->keys[1].value, "");
    assert_int_equal(r->total_count, 2);
    assert_string_equal(r->totals[0].key, "samples");
    assert_int_equal(r->totals[0].number, 16);
    assert_int_equal(r->totals[1].number, 3);
}

static void expect_images(const struct report *r)
{
    assert_int_equal(r->image_count, 3);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(r->images[i].size, FAKE_SIZE);
    const struct report_image *from_header = &r->images[0]; /* outermost frames come first */
    assert_string_equal(from_header->path, "/usr/lib/lib3.so");
    assert_int_equal(from_header->id_size, 16);
    const struct report_image *program = &r->images[1];
    assert_string_equal(program->path, "~/app/lib1.so");
    assert_string_equal(program->arch, "x86_64");
    assert_int_equal(program->id_size, 20);
    assert_int_equal(program->id[0], 1);
    assert_int_equal(program->id[19], 20);
    assert_string_equal(r->images[2].path, "/usr/lib/lib2.so");
    assert_string_equal(r->images[2].arch, "i386");
}

static void expect_threads(const struct report *r)
{
    assert_int_equal(r->thread_count, 3 + 2 + 1); /* and stacks of samples, and of calls */
    const struct report_thread *t = r->threads;
    assert_string_equal(t[0].id, "4711");
    assert_string_equal(t[0].name, "main");
    assert_string_equal(t[0].queue, "com.apple.main-thread");
    assert_true(t[0].main && t[0].watched && !t[0].stack);
    assert_int_equal(t[0].state, 'S');
    assert_int_equal(t[0].end, FW_END_ROOT);
    assert_int_equal(t[0].frame_count, 4);
    expect_frame(r, 0, 0, "lib2.so", FAKE_LINKED + 0x500, REPORT_EXACT);
    expect_frame(r, 0, 1, "lib1.so", FAKE_LINKED + 0x2000, REPORT_RETURN);
    expect_frame(r, 0, 3, "lib3.so", 0x40, REPORT_RETURN);
    assert_int_equal(r->frames[t[0].first_frame].space, REPORT_LINKED);
    assert_int_equal(r->frames[t[0].first_frame + 3].space, REPORT_FROM_LOAD);
    assert_string_equal(t[1].name, "work?");
    assert_false(t[1].main || t[1].watched);
    assert_int_equal(t[1].head, 2);
    assert_int_equal(t[1].omitted, 70);
    expect_frame(r, 1, 0, "lib2.so", FAKE_LINKED + 0x700, REPORT_EXACT);
    expect_frame(r, 1, 3, "lib3.so", 0x40, REPORT_EXACT);
    assert_int_equal(r->frames[t[1].first_frame + 1].flags, 0);
    assert_int_equal(r->frames[t[1].first_frame + 2].flags, FW_FRAME_SIGNAL);
    assert_int_equal(t[2].frame_count, 0);
    assert_int_equal(t[2].end, FW_END_UNAVAILABLE);
    assert_int_equal(t[2].unavailable, FW_UNAVAILABLE_TIMEOUT);
    assert_null(t[2].name);
}

static void expect_hang(const struct report *r)
{
    const struct report_hang *h = &r->hang;
    assert_true(h->present);
    assert_string_equal(h->watch, "main");
    assert_int_equal(h->thread_id, 4711);
    assert_int_equal(h->thread, 0);
    assert_int_equal(h->started_ms, r->started_ms);
    assert_int_equal(h->duration_ns, 312000000);
    assert_int_equal(h->threshold_ns, 250000000);
    assert_int_equal(h->severe_ns, 2000000000);
    assert_int_equal(h->unsampled_ns, 125000000);
    assert_int_equal(h->starved_ns, 1000000);
    assert_int_equal(h->samples, 16);
    assert_int_equal(h->ending, FWR_RECOVERED);
    assert_int_equal(r->sample_count, 3);
    const struct report_sample *s = r->samples;
    assert_int_equal(s[0].stack, 3);
    assert_int_equal(s[1].stack, 4);
    assert_int_equal(s[2].stack, 3);
    assert_int_equal(s[0].count, 13);
    assert_int_equal(s[1].count, 1);
    assert_int_equal(s[2].count, 2);
    assert_int_equal(s[0].at_ns, 125000000);
    assert_int_equal(s[1].at_ns, 255000000);
    assert_int_equal(s[2].at_ns, 265000000);
    assert_int_equal(s[2].weight_ns, 40000000);
    assert_true(r->threads[3].stack && r->threads[4].stack);
    assert_int_equal(r->threads[4].end, FW_END_NO_INFO);
    expect_frame(r, 3, 0, "lib2.so", FAKE_LINKED + 0x500, REPORT_EXACT);
    expect_frame(r, 4, 0, NULL, 0x7000010, REPORT_EXACT);
}

static void expect_symbols(const struct report *r)
{
    assert_int_equal(r->symbol_count, 2);
    const struct report_frame *f = &r->frames[r->threads[4].first_frame];
    assert_int_equal(f[0].name_count, 1);
    const struct report_name *name = &r->names[f[0].first_name];
    assert_string_equal(name->function, "LazyCompile:~tick");
    assert_string_equal(name->file, "~/app/tick.js");
    assert_int_equal(name->line, 3);
    assert_int_equal(name->offset, 0x10);
    assert_int_equal(f[1].name_count, 1); /* it returns behind its end */
    assert_int_equal(r->names[f[1].first_name].function[0], 'a');
    assert_int_equal(f[2].name_count, 1); /* and so does main, in an image */
    name = &r->names[f[2].first_name];
    assert_string_equal(name->function, "main");
    assert_null(name->file);
    assert_int_equal(name->offset, 0x1000);
    assert_int_equal(f[3].name_count, 0);
}

static void expect_calls(const struct report *r)
{
    assert_int_equal(r->api_count, 2);
    assert_string_equal(r->apis[0].name, "open");
    assert_int_equal(r->apis[0].calls, 1000);
    assert_int_equal(r->apis[0].pointers, 7);
    assert_int_equal(r->apis[0].inside, 1);
    assert_true(r->apis[0].found && !r->apis[1].found);
    assert_int_equal(r->call_count, 2);
    assert_int_equal(r->calls[0].api, 0);
    assert_int_equal(r->calls[0].stack, 5);
    assert_int_equal(r->calls[0].thread_id, 4712);
    assert_int_equal(r->calls[0].count, 998);
    assert_int_equal(r->calls[0].first_ms, r->started_ms - 5);
    assert_int_equal(r->calls[0].last_ms, r->started_ms + 60000);
    expect_frame(r, 5, 0, "lib1.so", FAKE_LINKED + 0x2222, REPORT_RETURN);
    assert_int_equal(r->calls[1].api, 1);
    assert_int_equal(r->calls[1].stack, REPORT_NONE);
    assert_int_equal(r->script_count, 1);
    assert_string_equal(r->scripts[0].language, "python");
    assert_int_equal(r->scripts[0].thread_id, 4711);
    assert_int_equal(r->scripts[0].at_ns, 255000000);
    assert_int_equal(r->scripts[0].frame_count, 2);
    assert_string_equal(r->script_frames[1].function, "<module>");
    assert_string_equal(r->script_frames[1].file, "~/app/shop.py");
    assert_int_equal(r->script_frames[1].line, 99);
}

static void everything_comes_back(void **state)
{
    struct fwr_file file = {0};
    (void)state;
    fwr_write_example(&file);
    struct report *r = read_file(&file);
    expect_about(r);
    expect_images(r);
    expect_threads(r);
    expect_hang(r);
    expect_symbols(r);
    expect_calls(r);
    assert_int_equal(file.calls, 3);
    report_free(r);
    fwr_file_free(&file);
}

static void each_frame_and_image_once(void **state)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    struct fw_frame frames[64];
    uint64_t addresses[64];
    (void)state;
    for (uint64_t i = 0; i < 64; i++)
        addresses[i] = FAKE_STEP + 0x100 * (64 - i);
    struct fw_stack stack = fwr_test_stack(frames, addresses, 64);
    assert_int_equal(fwr_stack(w, &stack), 1);
    fwr_flush(w);
    size_t one = file.size;
    frames[0].address += 4;
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(fwr_stack(w, &stack), 2);
    fwr_flush(w);
    assert_true(file.size - one <= 32); /* a head, and one frame and stack */
    frames[0].kind = FW_FRAME_RETURN;   /* not the same */
    assert_int_equal(fwr_stack(w, &stack), 3);
    stack.end = FW_END_LOOP;
    assert_int_equal(fwr_stack(w, &stack), 4);
    stack = fwr_test_stack(frames, addresses, 0);
    stack.end = FW_END_UNAVAILABLE;
    stack.unavailable = FW_UNAVAILABLE_EXITED;
    assert_int_equal(fwr_stack(w, &stack), 5);
    assert_true(fwr_end(w));
    free(w);
    fwr_file_free(&file);
}

/* Checks that each stack of the report is what was given, or its inner part and says so. */
static void expect_inner_part(const struct report *r, uint32_t thread, const uint64_t *addresses,
                              uint32_t count)
{
    const struct report_thread *t = &r->threads[thread];
    assert_true(t->frame_count > 0 && t->frame_count <= count);
    assert_int_equal(t->end, t->frame_count < count ? FW_END_LIMIT : FW_END_ROOT);
    for (uint32_t i = 0; i < t->frame_count; i++) {
        char image[32];
        snprintf(image, sizeof image, "lib%u.so", (unsigned)(addresses[i] / FAKE_STEP));
        expect_frame(r, thread, i, image, addresses[i] % FAKE_STEP + FAKE_LINKED,
                     i ? REPORT_RETURN : REPORT_EXACT);
    }
}

static uint64_t total(const struct report *r, const char *key)
{
    for (size_t i = 0; i < r->total_count; i++)
        if (strcmp(r->totals[i].key, key) == 0)
            return r->totals[i].number;
    return 0;
}

enum { DEEP = 40, MANY = 600 };

static void many_frames(uint64_t *addresses, uint32_t number)
{
    for (uint32_t i = 0; i < DEEP; i++)
        addresses[i] = FAKE_STEP + 0x10 + (number * DEEP + i) * 4;
}

/* 600 stacks of 40 frames of their own: more than there is room for. */
static void frames_beyond_the_table(void **state)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    struct fw_frame frames[DEEP];
    uint64_t addresses[DEEP];
    uint32_t kept = 0;
    (void)state;
    for (uint32_t i = 0; i < MANY; i++) {
        many_frames(addresses, i);
        struct fw_stack stack = fwr_test_stack(frames, addresses, DEEP);
        uint32_t number = fwr_stack(w, &stack);
        assert_int_equal(number, number ? ++kept : 0);
        if (number)
            fwr_sample(w, &(struct fwr_sample){number, 1, i, 1, 0});
    }
    assert_int_equal(kept, FWR_NODES_MAX / DEEP + 1); /* the last one in part */
    many_frames(addresses, 3);
    struct fw_stack known = fwr_test_stack(frames, addresses, DEEP);
    assert_int_equal(fwr_stack(w, &known), 4); /* what is known stays so */
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    assert_true(r->complete);
    assert_int_equal(r->thread_count, kept);
    assert_int_equal(total(r, "stacks_dropped"), MANY - kept);
    assert_int_equal(total(r, "stacks_cut"), 1);
    for (uint32_t i = 0; i < kept; i++) {
        many_frames(addresses, i);
        expect_inner_part(r, i, addresses, DEEP);
    }
    assert_int_equal(r->threads[kept - 1].frame_count, FWR_NODES_MAX % DEEP);
    report_free(r);
    free(w);
    fwr_file_free(&file);
}

/* 600 images: stacks through those beyond the table are cut, or dropped where they end there. */
static void images_beyond_the_table(void **state)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    struct fw_frame frames[3];
    uint32_t kept = 0;
    (void)state;
    for (uint64_t i = 1; i <= FAKE_IMAGES; i++) {
        const uint64_t addresses[] = {FAKE_STEP + 0x77 + 8 * i, i * FAKE_STEP + 0x50,
                                      FAKE_STEP + 0x99};
        struct fw_stack stack = fwr_test_stack(frames, addresses, 3);
        uint32_t number = fwr_stack(w, &stack);
        assert_int_not_equal(number, 0);
        fwr_sample(w, &(struct fwr_sample){number, 1, i, 1, 0});
        kept++;
    }
    const uint64_t unknown[] = {FAKE_IMAGES * FAKE_STEP + 1, FAKE_STEP + 0x99};
    struct fw_stack dropped = fwr_test_stack(frames, unknown, 2);
    assert_int_equal(fwr_stack(w, &dropped), 0);
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    assert_int_equal(r->image_count, FWR_IMAGES_MAX);
    assert_int_equal(r->thread_count, kept);
    assert_int_equal(total(r, "stacks_dropped"), 1);
    assert_int_equal(total(r, "stacks_cut"), FAKE_IMAGES - FWR_IMAGES_MAX);
    for (uint32_t i = 1; i <= FAKE_IMAGES; i++) {
        const uint64_t addresses[] = {FAKE_STEP + 0x77 + 8 * i, i * FAKE_STEP + 0x50,
                                      FAKE_STEP + 0x99};
        const struct report_thread *t = &r->threads[r->samples[i - 1].stack];
        assert_int_equal(t->frame_count, i <= FWR_IMAGES_MAX ? 3 : 1);
        assert_int_equal(t->end, i <= FWR_IMAGES_MAX ? FW_END_ROOT : FW_END_LIMIT);
        for (uint32_t k = 0; k < t->frame_count; k++) {
            const struct report_frame *f = &r->frames[t->first_frame + k];
            uint64_t base = addresses[k] / FAKE_STEP == 3 ? 0 : FAKE_LINKED;
            assert_int_equal(f->offset, addresses[k] % FAKE_STEP + base);
        }
    }
    report_free(r);
    free(w);
    fwr_file_free(&file);
}

/* More stacks than the table holds; a stack deeper than any may be; more script frames. */
static void other_tables(void **state)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    static struct fw_frame frames[2000];
    static uint64_t addresses[2000];
    (void)state;
    for (uint64_t i = 0; i < 2000; i++)
        addresses[i] = FAKE_STEP + 4 * i;
    struct fw_stack deep = fwr_test_stack(frames, addresses, 2000);
    uint32_t number = fwr_stack(w, &deep);
    fwr_sample(w, &(struct fwr_sample){number, 1, 0, 1, 0});
    for (uint32_t i = 0; i < FWR_STACKS_MAX + 10; i++) {
        const uint64_t one[] = {2 * FAKE_STEP + 4 * i};
        struct fw_stack stack = fwr_test_stack(frames, one, 1);
        assert_int_equal(fwr_stack(w, &stack), i + 2 <= FWR_STACKS_MAX ? i + 2 : 0);
    }
    for (uint32_t i = 0; i < FWR_SCRIPT_FRAMES_MAX + 5; i++) {
        const struct fwr_script_frame lines[] = {{"f", "f.py", i + 1}, {"g", NULL, 1}};
        fwr_script(w, 1, i, "python", lines, 2);
    }
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    assert_true(r->complete);
    expect_inner_part(r, r->samples[0].stack, addresses, 2000);
    assert_int_equal(r->threads[0].frame_count, FWR_STACK_FRAMES);
    assert_int_equal(total(r, "stacks_dropped"), 11);
    assert_int_equal(total(r, "stacks_cut"), 1);
    assert_int_equal(r->script_count, FWR_SCRIPT_FRAMES_MAX + 5);
    assert_int_equal(total(r, "scripts_cut"), 6);
    for (size_t i = 0; i < r->script_count; i++) {
        const struct report_script *s = &r->scripts[i];
        assert_int_equal(s->frame_count + s->omitted, 2);
        assert_int_equal(s->frame_count, i + 1 < FWR_SCRIPT_FRAMES_MAX ? 2 : 0);
        if (s->frame_count)
            assert_int_equal(r->script_frames[s->first_frame].line, i + 1);
    }
    report_free(r);
    free(w);
    fwr_file_free(&file);
}

/* What is pending is sent when there is much of it; each time whole records. */
static void flushes_by_itself(void **state)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    char value[2000];
    (void)state;
    memset(value, 'v', sizeof value - 1);
    value[sizeof value - 1] = 0;
    for (unsigned i = 0; i < 300; i++) {
        char key[16];
        snprintf(key, sizeof key, "key%u", i);
        fwr_key(w, key, value);
    }
    assert_true(file.calls >= 4 && file.calls <= 8);
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    assert_int_equal(r->key_count, 300);
    assert_int_equal(strlen(r->keys[299].value), 1023);
    report_free(r);
    free(w);
    fwr_file_free(&file);
}

/* A sink that fails ends it: nothing more is written, and what is there is whole. */
static void sink_fails(void **state)
{
    (void)state;
    for (size_t at = 1; at <= 3; at++) {
        struct fwr_file file = {.fail_at = at};
        struct fwr_state found;
        fwr_write_example(&file);
        assert_int_equal(file.calls, at);
        assert_int_equal(fwr_survey(fwr_file_read, &file, &found), FW_OK);
        assert_int_equal(found.whole, file.size);
        assert_int_equal(found.is_report, at > 1);
        assert_false(found.ended);
        fwr_file_free(&file);
    }
}

static void homes_and_text(void **state)
{
    static const char *const paths[][2] = {
        {"/home/joe/x", "~/x"},
        {"/home/joe", "~"},
        {"/home/", "/home/"},
        {"/home", "/home"},
        {"/homes/joe/x", "/homes/joe/x"},
        {"/Users/J\xc3\xb6rg/App.app/App", "~/App.app/App"},
        {"/Users/Shared/App", "/Users/Shared/App"},
        {"/var/home/joe/x", "~/x"},
        {"/root/x", "~/x"},
        {"/root", "~"},
        {"/rootfs/x", "/rootfs/x"},
        {"/usr/lib/x", "/usr/lib/x"},
        {"[vdso]", "[vdso]"},
        {"\xc3\xa4 \xc3 \xe2\x82\xac \xed\xa0\x80 \xf4\x90\x80\x80 \xc0\x80 \xff",
         "\xc3\xa4 ? \xe2\x82\xac ??? ???? ?? ?"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        struct fwr_file file = {0};
        struct fwr_about about = fwr_test_about;
        about.executable = paths[i][0];
        struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &about);
        assert_true(fwr_end(w));
        struct report *r = read_file(&file);
        assert_string_equal(r->info.path, paths[i][1]);
        report_free(r);
        free(w);
        fwr_file_free(&file);
    }
}

/* A frame is looked for by the call that it returns to: one that ends an image is in it still. */
static void call_that_ends_an_image(void **state)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    struct fw_frame frames[2];
    const uint64_t addresses[] = {FAKE_STEP + FAKE_SIZE, FAKE_STEP + FAKE_SIZE};
    (void)state;
    struct fw_stack stack = fwr_test_stack(frames, addresses, 2);
    fwr_sample(w, &(struct fwr_sample){fwr_stack(w, &stack), 1, 1, 1, 0});
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    expect_frame(r, 0, 0, NULL, FAKE_STEP + FAKE_SIZE, REPORT_EXACT);
    expect_frame(r, 0, 1, "lib1.so", FAKE_SIZE + FAKE_LINKED, REPORT_RETURN);
    report_free(r);
    free(w);
    fwr_file_free(&file);
}

/* Frames of scripts that differ in little. */
static void script_frames(void **state)
{
    static const struct fwr_script_frame frames[] = {
        {"aload", "x.py", 0}, {"bload", "x.py", 1},  {"aload", "x.py", 1}, {"aload", "y.py", 1},
        {"aload", NULL, 1},   {"aload", "", 1},      {NULL, "x.py", 1},    {"aloadx.py", NULL, 1},
        {"aload", "x.py", 0}, {"aload", "x.p", 256},
    };
    enum { COUNT = sizeof frames / sizeof *frames };
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    (void)state;
    fwr_script(w, 1, 1, NULL, frames, COUNT);
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    assert_int_equal(r->script_frame_count, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        const struct report_script_frame *f = &r->script_frames[i];
        assert_string_equal(f->function ? f->function : "",
                            frames[i].function ? frames[i].function : "");
        assert_string_equal(f->file ? f->file : "", frames[i].file ? frames[i].file : "");
        assert_int_equal(f->line, frames[i].line);
    }
    report_free(r);
    free(w);
    fwr_file_free(&file);
}

/* Image 1, until another library is loaded in its place. */
static bool replaced_locate(void *context, uint64_t address, struct fwr_image *image)
{
    static bool replaced;
    static unsigned calls;
    (void)context;
    if (address == UINT64_MAX) {
        replaced = true;
        assert_int_equal(calls, 1); /* for all frames of one image before a flush */
        return false;
    }
    calls++;
    if (!fwr_fake_locate(NULL, address, image))
        return false;
    if (replaced)
        image->path = "/usr/lib/another.so";
    return true;
}

/* What is found in an image's place after a flush is another image. */
static void image_in_anothers_place(void **state)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, replaced_locate, &fwr_test_about);
    struct fw_frame frames[2];
    const uint64_t before[] = {FAKE_STEP + 0x10, FAKE_STEP + 0x20};
    const uint64_t after[] = {FAKE_STEP + 0x30, FAKE_STEP + 0x40};
    struct fwr_image none;
    (void)state;
    struct fw_stack stack = fwr_test_stack(frames, before, 2);
    fwr_sample(w, &(struct fwr_sample){fwr_stack(w, &stack), 1, 1, 1, 0});
    fwr_flush(w);
    replaced_locate(NULL, UINT64_MAX, &none);
    stack = fwr_test_stack(frames, after, 2);
    fwr_sample(w, &(struct fwr_sample){fwr_stack(w, &stack), 1, 2, 1, 0});
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    assert_int_equal(r->image_count, 2);
    expect_frame(r, 0, 0, "lib1.so", FAKE_LINKED + 0x10, REPORT_EXACT);
    expect_frame(r, 0, 1, "lib1.so", FAKE_LINKED + 0x20, REPORT_RETURN);
    expect_frame(r, 1, 0, "another.so", FAKE_LINKED + 0x30, REPORT_EXACT);
    expect_frame(r, 1, 1, "another.so", FAKE_LINKED + 0x40, REPORT_RETURN);
    report_free(r);
    free(w);
    fwr_file_free(&file);
}

static bool knows_all(void *context, const struct fwr_image *image)
{
    (void)context;
    (void)image;
    return true;
}

/* A function of eight bytes at each address that is asked for; the second one's name is too long.
 */
static bool find_many(void *context, uint64_t address, struct fwr_function *function)
{
    static char name[2 * FWR_FUNCTION_NAME];
    size_t size = *(const size_t *)context;
    const uint64_t start = address & ~(uint64_t)7;
    if (start == FAKE_STEP + 0x1008)
        size = FWR_FUNCTION_NAME + 1;
    memset(name, 'f', size);
    name[size] = '\0';
    if (size <= FWR_FUNCTION_NAME)
        snprintf(name + size, 32, "%llx", (unsigned long long)start);
    *function = (struct fwr_function){start, 8, name};
    return true;
}

/* As many names as there is room for, each once, and none that is not whole. */
static size_t names_of_many(size_t name, uint32_t stacks, uint64_t *unnamed)
{
    struct fwr_file file = {0};
    struct fwr_writer *w = fwr_test_writer(&file, fwr_fake_locate, &fwr_test_about);
    fwr_name_functions(
        w, &(struct fwr_namer){.context = &name, .knows = knows_all, .find = find_many});
    for (uint32_t i = 0; i < stacks; i++) {
        struct fw_frame frame;
        const uint64_t address = FAKE_STEP + 0x1000 + 8 * (i / 2) + i % 2; /* two in each */
        struct fw_stack stack = fwr_test_stack(&frame, &address, 1);
        const uint32_t number = fwr_stack(w, &stack);
        fwr_thread(w, &(struct fwr_thread){.id = i + 1, .stack = number});
        fwr_sample(w, &(struct fwr_sample){.stack = number, .count = 1});
    }
    assert_true(fwr_end(w));
    struct report *r = read_file(&file);
    size_t named = 0;
    assert_true(r->complete);
    for (size_t i = 0; i < r->name_count; i++)
        assert_true(strlen(r->names[i].function) <= FWR_FUNCTION_NAME);
    for (size_t i = 0; i < r->frame_count; i++)
        named += r->frames[i].name_count;
    *unnamed = total(r, "functions_unnamed");
    report_free(r);
    free(w);
    fwr_file_free(&file);
    return named;
}

static void functions_are_bounded(void **state)
{
    uint64_t unnamed;
    (void)state;
    /* 100 stacks in 50 functions, one of which has too long a name; threads and samples */
    assert_int_equal(names_of_many(10, 100, &unnamed), 2 * 98);
    assert_int_equal(unnamed, 2);
    /* 490 threads are read; their stacks are in 245 functions, of which 130 have room */
    const size_t named = names_of_many(1000, 490, &unnamed);
    assert_in_range(named, 2 * 2 * 125, 2 * 2 * 131);
    assert_int_equal(named / 2 + unnamed, 490);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checksum),
        cmocka_unit_test(everything_comes_back),
        cmocka_unit_test(each_frame_and_image_once),
        cmocka_unit_test(frames_beyond_the_table),
        cmocka_unit_test(images_beyond_the_table),
        cmocka_unit_test(other_tables),
        cmocka_unit_test(flushes_by_itself),
        cmocka_unit_test(sink_fails),
        cmocka_unit_test(homes_and_text),
        cmocka_unit_test(call_that_ends_an_image),
        cmocka_unit_test(image_in_anothers_place),
        cmocka_unit_test(script_frames),
        cmocka_unit_test(functions_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
