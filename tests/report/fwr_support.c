#include "report/fwr_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fwr_file_sink(void *context, const void *bytes, size_t size)
{
    struct fwr_file *file = context;
    if (++file->calls == file->fail_at)
        return false;
    if (file->size + size > file->capacity) {
        file->capacity = 2 * (file->size + size);
        file->data = realloc(file->data, file->capacity);
        if (!file->data)
            abort();
    }
    memcpy(file->data + file->size, bytes, size);
    file->size += size;
    return true;
}

long fwr_file_read(void *context, uint64_t offset, void *bytes, size_t size)
{
    const struct fwr_file *file = context;
    if (offset >= file->size)
        return 0;
    if (size > file->size - offset)
        size = (size_t)(file->size - offset);
    memcpy(bytes, file->data + offset, size);
    return (long)size;
}

void fwr_file_free(struct fwr_file *file)
{
    free(file->data);
    *file = (struct fwr_file){0};
}

bool fwr_fake_locate(void *context, uint64_t address, struct fwr_image *image)
{
    static char path[64];
    static uint8_t id[20];
    uint64_t number = address / FAKE_STEP;
    (void)context;
    if (number == 0 || number > FAKE_IMAGES || address % FAKE_STEP >= FAKE_SIZE)
        return false;
    memset(path, '?', sizeof path); /* as if another thread used it meanwhile */
    snprintf(path, sizeof path, "%s/lib%u.so", number == 1 ? "/home/somebody/app" : "/usr/lib",
             (unsigned)number);
    for (size_t i = 0; i < sizeof id; i++)
        id[i] = (uint8_t)(number + i);
    bool from_header = number == 3;
    *image = (struct fwr_image){.key = number * FAKE_STEP,
                                .base = number * FAKE_STEP - (from_header ? 0 : FAKE_LINKED),
                                .size = FAKE_SIZE,
                                .id = id,
                                .id_size = number == 4   ? 0
                                           : from_header ? 16
                                                         : 20,
                                .path = path,
                                .arch = number == 2 ? "i386" : "x86_64",
                                .from_header = from_header};
    return true;
}

const struct fwr_about fwr_test_about = {
    .id = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16},
    .session = {0xf1, 0xf2, 0xf3},
    .kind = FWR_KIND_HANG,
    .started_ms = UINT64_C(1763791200123),
    .process_age_ms = 90061,
    .pid = 4711,
    .app = "com.example.shop",
    .version = "2.1.0",
    .build = "20261122.1",
    .os = "Debian GNU/Linux",
    .os_version = "12",
    .os_build = "bookworm",
    .arch = "x86_64",
    .device_class = "server",
    .executable = "/home/somebody/app/shop",
};

struct fwr_writer *fwr_test_writer(struct fwr_file *file, fwr_locate *locate,
                                   const struct fwr_about *about)
{
    void *memory = malloc(fwr_writer_size());
    if (!memory)
        abort();
    memset(memory, 0xa5, fwr_writer_size());
    return fwr_create(memory, fwr_file_sink, file, locate, NULL, about);
}

struct fw_stack fwr_test_stack(struct fw_frame *frames, const uint64_t *addresses, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        frames[i] = (struct fw_frame){.address = addresses[i],
                                      .kind = i ? FW_FRAME_RETURN : FW_FRAME_EXACT};
    return (struct fw_stack){
        .frames = frames, .capacity = count, .count = count, .head = count, .end = FW_END_ROOT};
}

static void write_hang(struct fwr_writer *w)
{
    struct fw_frame frames[8];
    const uint64_t sleeping[] = {2 * FAKE_STEP + 0x500, FAKE_STEP + 0x2000, FAKE_STEP + 0x1000,
                                 3 * FAKE_STEP + 0x40};
    const uint64_t reading[] = {2 * FAKE_STEP + 0x700, FAKE_STEP + 0x3000, FAKE_STEP + 0x1000,
                                3 * FAKE_STEP + 0x40};
    const uint64_t compiled[] = {0x7000010, 0x7000820, FAKE_STEP + 0x1000, 3 * FAKE_STEP + 0x40};
    struct fw_stack stack = fwr_test_stack(frames, sleeping, 4);
    uint32_t first = fwr_stack(w, &stack);
    fwr_thread(w, &(struct fwr_thread){.id = 4711,
                                       .name = "main",
                                       .queue = "com.apple.main-thread",
                                       .state = 'S',
                                       .is_main = true,
                                       .is_watched = true,
                                       .stack = first});
    stack = fwr_test_stack(frames, reading, 4);
    stack.frames[2].flags = FW_FRAME_SIGNAL;
    stack.frames[3].kind = FW_FRAME_EXACT;
    stack.head = 2;
    stack.omitted = 70;
    fwr_thread(w, &(struct fwr_thread){
                      .id = 4712, .name = "work\xff", .state = 'R', .stack = fwr_stack(w, &stack)});
    fwr_thread(w, &(struct fwr_thread){.id = 4713, .unavailable = FW_UNAVAILABLE_TIMEOUT});
    fwr_hang(w, &(struct fwr_hang){4711, "main", 250000000, 2000000000, 250000001, 125000000});
    fwr_sample(w, &(struct fwr_sample){first, 13, 125000000, 130000000, 0});
    fwr_flush(w);
    stack = fwr_test_stack(frames, compiled, 4);
    stack.end = FW_END_NO_INFO;
    fwr_sample(w, &(struct fwr_sample){fwr_stack(w, &stack), 1, 255000000, 10000000, 0});
    fwr_sample(w, &(struct fwr_sample){first, 2, 265000000, 40000000, 0});
    const struct fwr_script_frame script[] = {{"load", "/home/somebody/app/shop.py", 12},
                                              {"<module>", "/home/somebody/app/shop.py", 99}};
    fwr_script(w, 4711, 255000000, "python", script, 2);
    fwr_symbol(w, 0x7000000, 0x100, "LazyCompile:~tick", "/root/app/tick.js", 3);
    fwr_symbol(w, 0x7000800, 0x20, "at the end, with the call as its last instruction", NULL, 0);
    fwr_hang(w, &(struct fwr_hang){4711, "main", 250000000, 2000000000, 300000001, 125000000});
    fwr_hang_end(w, &(struct fwr_hang_end){FWR_RECOVERED, 0, 312000000, 1000000, 16});
    fwr_flush(w);
}

static void write_calls(struct fwr_writer *w)
{
    struct fw_frame frames[2];
    const uint64_t caller[] = {FAKE_STEP + 0x2222, FAKE_STEP + 0x1000};
    struct fw_stack stack = fwr_test_stack(frames, caller, 2);
    frames[0].kind = FW_FRAME_RETURN;
    uint32_t open = fwr_api(w, "open", 1000, 7, 1, true);
    uint32_t none = fwr_api(w, "no_such_function", 0, 0, 0, false);
    uint64_t now = fwr_test_about.started_ms;
    fwr_call(w, &(struct fwr_call){open, fwr_stack(w, &stack), 4712, 998, now - 5, now + 60000});
    fwr_call(w, &(struct fwr_call){.api = none, .count = 2, .first_ms = now, .last_ms = now});
}

static bool knows_first(void *context, const struct fwr_image *image)
{
    (void)context;
    return image->key == FAKE_STEP;
}

/* A function a page: one of C, one of C++, one of Swift. */
static bool find_page(void *context, uint64_t address, struct fwr_function *function)
{
    static const char *const names[] = {"main", "_ZN4shop8checkoutEv", "$s4shop4loadyyF"};
    const uint64_t page = (address - FAKE_STEP) >> 12;
    (void)context;
    if (page >= sizeof names / sizeof *names)
        return false;
    *function = (struct fwr_function){FAKE_STEP + (page << 12), 0x1000, names[page]};
    return true;
}

void fwr_write_example(struct fwr_file *file)
{
    struct fwr_writer *w = fwr_test_writer(file, fwr_fake_locate, &fwr_test_about);
    fwr_name_functions(w, &(struct fwr_namer){.knows = knows_first, .find = find_page});
    fwr_key(w, "screen", "checkout");
    fwr_key(w, "empty", NULL);
    write_hang(w);
    write_calls(w);
    fwr_total(w, "samples", 15);
    fwr_total(w, "vetoed", 3);
    fwr_total(w, "samples", 16);
    fwr_end(w);
    free(w);
}
