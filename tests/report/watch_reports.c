#include "report/watch_reports.h"

#include "framewalk/hang.h"
#include "framewalk/stack.h"
#include "report/fwr.h"

enum { SHOP, LIBC, WORK };

static const uint8_t shop_id[] = {0x51, 0x0d, 0x0a, 0x5c, 0x19, 0xea, 0xdf, 0x80, 0x43, 0xf2,
                                  0x03, 0xb4, 0x52, 0x5b, 0xe9, 0xbe, 0x3d, 0xcb, 0x95, 0x54};
static const uint8_t libc_id[] = {0xf0, 0xfc, 0x29, 0x16, 0x5c, 0xbe, 0x60, 0x88, 0xc0, 0xe1,
                                  0xad, 0xf0, 0x3b, 0x00, 0x48, 0xfb, 0xec, 0xbc, 0x00, 0x3a};

static struct report_image images[] = {
    {.name = "shop",
     .path = "~/bin/shop",
     .arch = "x86_64",
     .id_size = sizeof shop_id,
     .size = 0x40000},
    {.name = "libc.so.6",
     .path = "/usr/lib/libc.so.6",
     .arch = "x86_64",
     .id_size = sizeof libc_id,
     .size = 0x200000},
};

enum { MAIN, LOOP, PARSE_INLINED, PARSE, SORT, POLL, START, WORKER, LOOKUP };
static struct report_name names[] = {
    [MAIN] = {"main", "/src/shop/main.c", 40, 5, true, 0x20, 0x80, 0},
    [LOOP] = {"run_loop", "/src/shop/loop.c", 77, 9, true, 0x30, 0x100, 0},
    [PARSE_INLINED] = {"next_token", "/src/shop/lexer.h", 12, 0, true, 0x44, 0x200, REPORT_INLINED},
    [PARSE] = {"parse_catalogue", "/src/shop/parse.c", 311, 0, true, 0x44, 0x200, 0},
    [SORT] = {"sort_items", "/src/shop/sort.c", 9, 0, true, 0x8, 0x90, 0},
    [POLL] = {"poll", NULL, 0, 0, true, 0x4f, 0, 0},
    [START] = {"__libc_start_main", NULL, 0, 0, true, 0x85, 0, 0},
    [WORKER] = {"worker", "/src/shop/worker.c", 21, 0, true, 0x11, 0, 0},
    [LOOKUP] = {"resolve_host", "/src/shop/net.c", 88, 0, true, 0x19, 0, 0},
};

#define FRAME(t, i, k, at, first, count)                                                           \
    {.thread = t,                                                                                  \
     .image = i,                                                                                   \
     .parent = REPORT_NONE,                                                                        \
     .kind = k,                                                                                    \
     .has_offset = true,                                                                           \
     .offset = at,                                                                                 \
     .samples = 1,                                                                                 \
     .first_name = first,                                                                          \
     .name_count = count}

/* Threads 0 to 3 are threads, 4 to 6 stacks of samples. */
static struct report_frame hang_frames[] = {
    FRAME(0, SHOP, REPORT_EXACT, 0x2144, PARSE_INLINED, 2),
    FRAME(0, SHOP, REPORT_RETURN, 0x1130, LOOP, 1),
    FRAME(0, SHOP, REPORT_RETURN, 0x1020, MAIN, 1),
    FRAME(1, LIBC, REPORT_EXACT, 0x9904f, POLL, 1),
    FRAME(1, SHOP, REPORT_RETURN, 0x3011, WORKER, 1),
    FRAME(2, LIBC, REPORT_EXACT, 0x9904f, POLL, 1),
    FRAME(2, SHOP, REPORT_RETURN, 0x3011, WORKER, 1),
    FRAME(3, LIBC, REPORT_EXACT, 0x9904f, POLL, 1),
    FRAME(4, SHOP, REPORT_EXACT, 0x2144, PARSE_INLINED, 2),
    FRAME(4, SHOP, REPORT_RETURN, 0x1130, LOOP, 1),
    FRAME(4, SHOP, REPORT_RETURN, 0x1020, MAIN, 1),
    FRAME(4, LIBC, REPORT_RETURN, 0x27285, START, 1),
    FRAME(5, SHOP, REPORT_EXACT, 0x4008, SORT, 1),
    FRAME(5, SHOP, REPORT_RETURN, 0x1130, LOOP, 1),
    FRAME(5, SHOP, REPORT_RETURN, 0x1020, MAIN, 1),
    FRAME(5, LIBC, REPORT_RETURN, 0x27285, START, 1),
    FRAME(6, LIBC, REPORT_EXACT, 0x88123, 0, 0),
    FRAME(6, SHOP, REPORT_RETURN, 0x1130, LOOP, 1),
    FRAME(6, SHOP, REPORT_RETURN, 0x1020, MAIN, 1),
};

static struct report_thread hang_threads[] = {
    {.name = "shop", .id = "4711", .main = true, .watched = true, .state = 'R', .frame_count = 3},
    {.name = "worker-1", .id = "4712", .state = 'S', .first_frame = 3, .frame_count = 2},
    {.name = "worker-2", .id = "4713", .state = 'S', .first_frame = 5, .frame_count = 2},
    {.name = "timer",
     .id = "4714",
     .state = 'S',
     .end = FW_END_NO_INFO,
     .first_frame = 7,
     .frame_count = 1},
    {.stack = true, .first_frame = 8, .frame_count = 4},
    {.stack = true, .first_frame = 12, .frame_count = 4},
    {.stack = true, .end = FW_END_LIMIT, .first_frame = 16, .frame_count = 3},
};

static struct report_sample hang_samples[] = {
    {.stack = 4, .count = 1, .at_ns = 125000000, .weight_ns = 10500000},
    {.stack = 5, .count = 1, .at_ns = 135500000, .weight_ns = 15250000},
    {.stack = 4, .count = 40, .at_ns = 150750000, .weight_ns = 1600000001},
    {.stack = 6, .count = 2, .at_ns = 1750750001, .weight_ns = 90249999},
    {.stack = REPORT_NONE, .count = 1, .at_ns = 1841000000, .weight_ns = 2249999},
};

static struct report_script_frame script_frames[] = {
    {"load", "/srv/shop/catalogue.py", 12},
    {"<module>", "/srv/shop/app.py", 3},
    {"dump", "/srv/shop/catalogue.py", 40},
    {"<module>", "/srv/shop/app.py", 4},
};
static struct report_script scripts[] = {
    {.thread_id = 4711, .at_ns = 130000000, .language = "python", .frame_count = 2},
    {.thread_id = 4711,
     .at_ns = 1750750001,
     .language = "python",
     .first_frame = 2,
     .frame_count = 2},
};

static struct report_pair keys[] = {{"screen", "checkout", 0}};
static struct report_pair totals[] = {{"hangs", NULL, 3}, {"annealed", NULL, 1200}};

static struct report about(enum fwr_kind kind)
{
    memcpy(images[SHOP].id, shop_id, sizeof shop_id);
    memcpy(images[LIBC].id, libc_id, sizeof libc_id);
    struct report r = {.kind = REPORT_FRAMEWALK, .complete = true, .about = (uint8_t)kind};
    r.info = (struct report_info){.process = "shop",
                                  .pid = "4711",
                                  .path = "~/bin/shop",
                                  .version = "2.1.0",
                                  .build = "20261122.1",
                                  .os = "Debian GNU/Linux 12",
                                  .arch = "x86_64",
                                  .device = "server",
                                  .incident = "00112233445566778899aabbccddeeff"};
    r.started_ms = 1795326410123;
    r.process_age_ms = 65432;
    r.session = "ffeeddccbbaa99887766554433221100";
    r.images = images;
    r.image_count = 2;
    r.names = names;
    r.name_count = sizeof names / sizeof *names;
    r.keys = keys;
    r.key_count = 1;
    r.totals = totals;
    r.total_count = 2;
    return r;
}

const struct report *hang_report(void)
{
    static struct report r;
    r = about(FWR_KIND_HANG);
    r.hang = (struct report_hang){.present = true,
                                  .watch = "main",
                                  .thread_id = 4711,
                                  .thread = 0,
                                  .started_ms = 1795326410123,
                                  .duration_ns = 1843250000,
                                  .threshold_ns = 250000000,
                                  .severe_ns = 2000000000,
                                  .unsampled_ns = 125000000,
                                  .starved_ns = 12000000,
                                  .samples = 45,
                                  .ending = FWR_RECOVERED};
    r.threads = hang_threads;
    r.thread_count = sizeof hang_threads / sizeof *hang_threads;
    r.frames = hang_frames;
    r.frame_count = sizeof hang_frames / sizeof *hang_frames;
    r.samples = hang_samples;
    r.sample_count = sizeof hang_samples / sizeof *hang_samples;
    r.scripts = scripts;
    r.script_count = 2;
    r.script_frames = script_frames;
    r.script_frame_count = 4;
    return &r;
}

static struct report_frame call_frames[] = {
    FRAME(0, SHOP, REPORT_RETURN, 0x5019, LOOKUP, 1),
    FRAME(0, SHOP, REPORT_RETURN, 0x1130, LOOP, 1),
    FRAME(0, SHOP, REPORT_RETURN, 0x1020, MAIN, 1),
    FRAME(1, SHOP, REPORT_RETURN, 0x3011, WORKER, 1),
};
static struct report_thread call_stacks[] = {
    {.stack = true, .frame_count = 3},
    {.stack = true, .first_frame = 3, .frame_count = 1},
};
static struct report_api apis[] = {
    {.name = "getaddrinfo", .calls = 1300, .pointers = 2, .found = true},
    {.name = "execve", .calls = 3, .pointers = 1, .inside = 1, .found = true},
    {.name = "gethostname"},
};
static struct report_call calls[] = {
    {.api = 0,
     .stack = 0,
     .thread_id = 4711,
     .count = 1234,
     .first_ms = 1795326410123,
     .last_ms = 1795326420123},
    {.api = 0,
     .stack = 1,
     .thread_id = 4712,
     .count = 12,
     .first_ms = 1795326411000,
     .last_ms = 1795326411000},
    {.api = 1, .stack = REPORT_NONE, .thread_id = 4711, .count = 3, .first_ms = 1795326412000},
};

const struct report *calls_report(void)
{
    static struct report r;
    r = about(FWR_KIND_CALLS);
    r.threads = call_stacks;
    r.thread_count = 2;
    r.frames = call_frames;
    r.frame_count = 4;
    r.apis = apis;
    r.api_count = 3;
    r.calls = calls;
    r.call_count = 3;
    return &r;
}

static const char *const odd_texts[] = {
    "a;b\nc\r\x1b[31mred\x1b[0m",
    "\xe2\x80\xae txt.exe\xe2\x81\xa6",
    "quote\" back\\slash",
    "\xff\xfe no text \xc3",
    "",
    "\xe2\x80\xa8 line",
};
enum { ODD = sizeof odd_texts / sizeof *odd_texts };

const struct report *hostile_report(void)
{
    static struct report r;
    static struct report_name odd_names[ODD];
    static struct report_frame frames[ODD];
    static struct report_image image;
    static struct report_thread threads[2];
    static struct report_sample samples[4];
    static struct report_script script;
    static struct report_script_frame script_frame;
    static struct report_pair key;
    static struct report_call call;
    static struct report_api api;
    for (uint32_t i = 0; i < ODD; i++) {
        odd_names[i] = (struct report_name){.function = odd_texts[i],
                                            .file = odd_texts[ODD - 1 - i],
                                            .line = UINT32_MAX,
                                            .column = UINT32_MAX,
                                            .has_offset = true,
                                            .offset = UINT64_MAX,
                                            .flags = (uint8_t)i};
        frames[i] = (struct report_frame)FRAME(0, 0, REPORT_RETURN, UINT64_MAX - i, i, 1);
    }
    image = (struct report_image){.name = odd_texts[0],
                                  .path = odd_texts[1],
                                  .size = UINT64_MAX,
                                  .load = UINT64_MAX,
                                  .has_load = true,
                                  .id_size = 64};
    threads[0] = (struct report_thread){.name = odd_texts[0],
                                        .id = odd_texts[1],
                                        .queue = odd_texts[2],
                                        .end = 255,
                                        .unavailable = 255,
                                        .state = '\n',
                                        .head = 3,
                                        .omitted = UINT64_MAX,
                                        .frame_count = ODD};
    threads[1] = (struct report_thread){.stack = true, .first_frame = ODD};
    samples[0] = (struct report_sample){.weight_ns = UINT64_MAX, .at_ns = UINT64_MAX};
    samples[1] = (struct report_sample){.weight_ns = UINT64_MAX, .stack = 77};
    samples[2] = (struct report_sample){.weight_ns = 0, .stack = 1};
    samples[3] = (struct report_sample){.weight_ns = 1, .stack = 1, .count = UINT32_MAX};
    script = (struct report_script){.language = odd_texts[0], .frame_count = 1};
    script_frame = (struct report_script_frame){odd_texts[0], odd_texts[1], UINT32_MAX};
    key = (struct report_pair){odd_texts[0], odd_texts[3], UINT64_MAX};
    call = (struct report_call){
        .api = 99, .stack = 99, .count = UINT64_MAX, .first_ms = UINT64_MAX, .last_ms = UINT64_MAX};
    api = (struct report_api){.name = odd_texts[1], .calls = UINT64_MAX, .inside = UINT32_MAX};
    r = (struct report){.kind = REPORT_FRAMEWALK,
                        .images = &image,
                        .image_count = 1,
                        .threads = threads,
                        .thread_count = 2,
                        .frames = frames,
                        .frame_count = ODD,
                        .names = odd_names,
                        .name_count = ODD,
                        .samples = samples,
                        .sample_count = 4,
                        .scripts = &script,
                        .script_count = 1,
                        .script_frames = &script_frame,
                        .script_frame_count = 1,
                        .keys = &key,
                        .key_count = 1,
                        .totals = &key,
                        .total_count = 1,
                        .apis = &api,
                        .api_count = 1,
                        .calls = &call,
                        .call_count = 1,
                        .note = odd_texts[0]};
    r.hang = (struct report_hang){.present = true,
                                  .watch = odd_texts[1],
                                  .thread = 0,
                                  .duration_ns = UINT64_MAX,
                                  .ending = 99,
                                  .veto = 99,
                                  .threshold_ns = UINT64_MAX,
                                  .samples = UINT64_MAX};
    r.started_ms = UINT64_MAX;
    r.info.process = odd_texts[0];
    r.info.pid = odd_texts[1];
    return &r;
}
