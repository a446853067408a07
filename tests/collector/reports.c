#include "collector/reports.h"

#include "report/fwr_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGES = 24,
    FRAMES_MOST = 200,
    VARIANTS = 48,          /* inner ends that the samples of one site have */
    THREAD_VARIANTS = 4,    /* stacks that one other thread is seen in */
    THREADS_FROM = 1000000, /* their `outer`, counted from here */
    COMMON = 10,            /* outer frames that all stacks of the main thread share */
};

struct reports_maker {
    struct reports_shape shape;
    uint64_t seed;
    struct fwr_image images[IMAGES];
    uint8_t ids[IMAGES][20];
    char paths[IMAGES][64];
    void *memory; /* of the writer */
    struct fwr_writer *w;
    uint8_t *bytes;
    size_t size, capacity;
    uint64_t state; /* of the random numbers */
};

/* SplitMix64: every number has its own stream. */
static uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t draw(struct reports_maker *m, uint64_t below)
{
    m->state += 0x9e3779b97f4a7c15;
    return mix(m->state) % below;
}

static bool append(void *context, const void *bytes, size_t size)
{
    struct reports_maker *m = context;
    if (m->capacity - m->size < size) {
        size_t larger = 2 * m->capacity + size;
        uint8_t *moved = realloc(m->bytes, larger);
        if (!moved)
            return false;
        m->bytes = moved;
        m->capacity = larger;
    }
    memcpy(m->bytes + m->size, bytes, size);
    m->size += size;
    return true;
}

static bool locate(void *context, uint64_t address, struct fwr_image *image)
{
    struct reports_maker *m = context;
    uint64_t at = address >> 28;
    if (at < 1 || at > IMAGES)
        return false;
    *image = m->images[at - 1];
    return true;
}

static void make_images(struct reports_maker *m)
{
    static const char *const names[] = {
        "shop",     "libcatalog.so.2", "libcheckout.so.2", "libpictures.so.7", "libwidgets.so.4",
        "libc.so.6"};
    for (unsigned i = 0; i < IMAGES; i++) {
        if (i < 6)
            snprintf(m->paths[i], sizeof m->paths[i], "/opt/shop/lib/%s", names[i]);
        else
            snprintf(m->paths[i], sizeof m->paths[i], "/usr/lib/x86_64-linux-gnu/libpart%u.so.1",
                     i);
        for (unsigned j = 0; j < sizeof m->ids[i]; j++)
            m->ids[i][j] = (uint8_t)mix(1000 * i + j);
        uint64_t base = (uint64_t)(i + 1) << 28;
        m->images[i] = (struct fwr_image){.key = base,
                                          .base = base,
                                          .size = 1 << 26,
                                          .id = m->ids[i],
                                          .id_size = sizeof m->ids[i],
                                          .path = m->paths[i],
                                          .arch = "x86_64"};
    }
}

struct reports_maker *reports_maker_new(uint64_t seed, const struct reports_shape *shape)
{
    static const struct reports_shape usual = {.threads = 20,
                                               .frames = 30,
                                               .samples = 110,
                                               .sites = 300,
                                               .installs = 5000,
                                               .new_per_mille = 50,
                                               .now_ms = 1795000000000};
    struct reports_maker *m = calloc(1, sizeof *m);
    if (!m)
        return NULL;
    m->shape = shape ? *shape : usual;
    struct reports_shape *s = &m->shape;
    s->threads = s->threads ? s->threads : usual.threads;
    s->frames = s->frames ? s->frames : usual.frames;
    s->frames = s->frames > FRAMES_MOST ? FRAMES_MOST : s->frames;
    s->samples = s->samples ? s->samples : usual.samples;
    s->sites = s->sites ? s->sites : usual.sites;
    s->installs = s->installs ? s->installs : usual.installs;
    s->new_per_mille = s->new_per_mille ? s->new_per_mille : usual.new_per_mille;
    s->now_ms = s->now_ms ? s->now_ms : usual.now_ms;
    m->seed = seed;
    m->memory = aligned_alloc(16, (fwr_writer_size() + 15) & ~(size_t)15);
    make_images(m);
    if (!m->memory) {
        free(m);
        return NULL;
    }
    return m;
}

void reports_maker_free(struct reports_maker *m)
{
    if (!m)
        return;
    free(m->memory);
    free(m->bytes);
    free(m);
}

/* An address that `what` and `depth` decide, of code in the app's images or in the system's. */
static uint64_t place(uint64_t what, unsigned depth, bool app)
{
    uint64_t hash = mix(mix(what) + depth);
    unsigned image = (unsigned)(app ? hash % 5 : 5 + hash % (IMAGES - 5));
    return ((uint64_t)(image + 1) << 28) + (hash >> 20) % (1 << 22);
}

/* A stack with its outer frames decided by `outer` and its inner ones by `inner`. */
static uint32_t put_stack(struct reports_maker *m, uint64_t outer, uint64_t inner, unsigned own)
{
    struct fw_frame frames[FRAMES_MOST] = {0};
    unsigned count = m->shape.frames;
    bool is_thread = outer >= THREADS_FROM && outer < THREADS_FROM + 1000;
    for (unsigned i = 0; i < count; i++) {
        unsigned from_outside = count - 1 - i;
        uint64_t what = from_outside < COMMON && !is_thread ? 7 : i < own ? inner : outer;
        frames[i].address = place(what, from_outside, i >= 3 && i < count - COMMON / 2);
        frames[i].kind = i == 0 ? FW_FRAME_EXACT : FW_FRAME_RETURN;
    }
    struct fw_stack stack = {.frames = frames,
                             .capacity = count,
                             .count = count,
                             .head = count,
                             .id = mix(outer * 31 + inner * 7 + own),
                             .end = FW_END_ROOT};
    return fwr_stack(m->w, &stack);
}

static void put_threads(struct reports_maker *m, uint32_t main_stack)
{
    struct fwr_thread main = {.id = 100,
                              .name = "shop",
                              .state = 'R',
                              .is_main = true,
                              .is_watched = true,
                              .stack = main_stack};
    fwr_thread(m->w, &main);
    for (unsigned i = 1; i < m->shape.threads; i++) {
        char name[32];
        snprintf(name, sizeof name, "worker-%u", i);
        uint64_t inner = (THREADS_FROM + i) * 64 + draw(m, THREAD_VARIANTS);
        struct fwr_thread thread = {.id = 100 + i,
                                    .name = name,
                                    .state = 'S',
                                    .stack = put_stack(m, THREADS_FROM + i, inner, 8)};
        fwr_thread(m->w, &thread);
    }
}

/* A few sites hang most of the time, as it is in life. */
static uint64_t draw_site(struct reports_maker *m)
{
    uint64_t a = draw(m, m->shape.sites), b = draw(m, m->shape.sites);
    return a * b / m->shape.sites;
}

static void put_hang(struct reports_maker *m, uint64_t number, uint64_t site)
{
    bool is_new = draw(m, 1000) < m->shape.new_per_mille;
    uint64_t outer = is_new ? UINT64_C(1) << 32 | number : site;
    uint64_t duration = 250000000 + draw(m, 1000) * draw(m, 1000) * 10000;
    uint64_t weight = duration / m->shape.samples;
    struct fwr_hang hang = {.thread = 100,
                            .watch = "main",
                            .threshold_ns = 250000000,
                            .severe_ns = 2000000000,
                            .so_far_ns = 250000000,
                            .unsampled_ns = 20000000};
    uint32_t first = 0;
    fwr_hang(m->w, &hang);
    for (unsigned i = 0; i < m->shape.samples; i++) {
        uint64_t inner = outer * 1000 + draw(m, 1 + draw(m, VARIANTS));
        struct fwr_sample sample = {.stack = put_stack(m, outer, inner, 6 + (unsigned)(inner % 10)),
                                    .count = 1,
                                    .at_ns = i * weight,
                                    .weight_ns = weight};
        first = i == 0 ? sample.stack : first;
        fwr_sample(m->w, &sample);
    }
    put_threads(m, first);
    struct fwr_hang_end end = {.ending = draw(m, 50) == 0 ? FWR_KILLED : FWR_RECOVERED,
                               .duration_ns = duration,
                               .samples = m->shape.samples};
    fwr_hang_end(m->w, &end);
}

static void put_calls(struct reports_maker *m, uint64_t started_ms)
{
    static const char *const apis[] = {"open", "getaddrinfo", "connect", "unlink"};
    for (unsigned i = 0; i < 4; i++)
        fwr_api(m->w, apis[i], 1000, 3, 0, true);
    for (unsigned i = 0; i < m->shape.samples; i++) {
        uint64_t caller = 5000000 + draw(m, 200);
        struct fwr_call call = {.api = 1 + (uint32_t)draw(m, 4),
                                .stack = put_stack(m, caller, caller, 4),
                                .thread = 100,
                                .count = 1 + draw(m, 50),
                                .first_ms = started_ms,
                                .last_ms = started_ms + draw(m, 60000)};
        fwr_call(m->w, &call);
    }
}

const uint8_t *reports_make(struct reports_maker *m, uint64_t number, uint8_t id[16], size_t *size)
{
    static const char *const versions[] = {"2.8", "2.9", "2.10"};
    static const char *const systems[] = {"12", "13", "24.04"};
    static const char *const devices[] = {"desktop", "laptop", "till", "kiosk", "tablet"};
    m->state = mix(m->seed * 1000003 + number);
    m->size = 0;
    uint64_t install = draw(m, m->shape.installs), version = draw(m, 3);
    struct fwr_about about = {.kind = FWR_KIND_HANG,
                              .started_ms = m->shape.now_ms - draw(m, 10 * 86400000),
                              .process_age_ms = draw(m, 3600000),
                              .pid = 1 + (uint32_t)draw(m, 30000),
                              .app = "shop",
                              .version = versions[version],
                              .build = version == 2 ? "1207" : "900",
                              .os = version ? "Debian GNU/Linux" : "Ubuntu",
                              .os_version = systems[version],
                              .arch = "x86_64",
                              .device_class = devices[install % 5],
                              .executable = "/opt/shop/lib/shop"};
    for (unsigned i = 0; i < 16; i++) {
        about.id[i] = (uint8_t)draw(m, 256);
        about.session[i] = (uint8_t)mix(install * 16 + i + m->seed % 1000);
    }
    memcpy(id, about.id, 16);
    bool calls = draw(m, 1000) < m->shape.calls_per_mille;
    about.kind = calls ? FWR_KIND_CALLS : FWR_KIND_HANG;
    m->w = fwr_create(m->memory, append, m, locate, m, &about);
    char key[32];
    snprintf(key, sizeof key, "install-%06llu", (unsigned long long)install);
    fwr_key(m->w, "install", key);
    fwr_key(m->w, "screen", "basket");
    if (calls)
        put_calls(m, about.started_ms);
    else
        put_hang(m, number, draw_site(m));
    *size = fwr_end(m->w) ? m->size : 0;
    return m->bytes;
}
