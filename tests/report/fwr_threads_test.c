/*
 * A hang report of a real program: 40 threads that wait in different places, each at the end of a
 * way of its own through this file and libc, captured while they wait. All of it comes back, and it
 * is smaller than 16 KB. With a file's name as argument the report is kept there.
 */
#include "framewalk/threads.h"
#include "report/fwr.h"
#include "report/fwr_support.h"
#include "report/support.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 40, FRAMES = 128, LIMIT = 16 * 1024, SAMPLES = 60 };

static const char *keep;

/* ---- threads ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static sem_t semaphore, arrived;
static int pipe_ends[2];

struct way { /* of a thread: which functions, by which of their calls */
    unsigned number;
    unsigned depth;
    unsigned choice;
};

static unsigned next_choice(struct way *w)
{
    w->choice = w->choice * 1103515245u + 12345u;
    return w->choice >> 16;
}

static void go_on(struct way *w);

static void wait_here(struct way *w)
{
    char byte;
    struct pollfd fd = {.fd = pipe_ends[0], .events = POLLIN};
    sem_post(&arrived);
    switch (w->number % 5) {
    case 0:
        pthread_mutex_lock(&lock);
        for (;;)
            pthread_cond_wait(&never, &lock);
    case 1:
        for (;;)
            poll(&fd, 1, -1);
    case 2:
        for (;;)
            nanosleep(&(struct timespec){.tv_sec = 1000}, NULL);
    case 3:
        for (;;)
            sem_wait(&semaphore);
    default:
        for (;;)
            if (read(pipe_ends[0], &byte, 1) == 0)
                return;
    }
}

static struct way *sorting;

static int through_libc(const void *a, const void *b)
{
    go_on(sorting);
    return a < b ? -1 : 1;
}

/* Three calls each, so that the same function is there with different return addresses. */
#define STEP(n)                                                                                    \
    __attribute__((noinline)) static void step_##n(struct way *w)                                  \
    {                                                                                              \
        switch (next_choice(w) % 3) {                                                              \
        case 0: go_on(w); break;                                                                   \
        case 1:                                                                                    \
            go_on(w);                                                                              \
            w->depth++;                                                                            \
            break;                                                                                 \
        default:                                                                                   \
            go_on(w);                                                                              \
            w->depth += n;                                                                         \
            break;                                                                                 \
        }                                                                                          \
        __asm__ volatile("" : : "r"(w), "i"(n) : "memory");                                        \
    }
/* clang-format off */
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
STEP(8) STEP(9) STEP(10) STEP(11) STEP(12) STEP(13) STEP(14) STEP(15)
STEP(16) STEP(17) STEP(18) STEP(19) STEP(20) STEP(21) STEP(22) STEP(23)
STEP(24) STEP(25) STEP(26) STEP(27) STEP(28) STEP(29) STEP(30) STEP(31)
    /* clang-format on */

    __attribute__((noinline)) static void go_on(struct way *w)
{
    static void (*const steps[])(struct way *) = {
        step_0,  step_1,  step_2,  step_3,  step_4,  step_5,  step_6,  step_7,
        step_8,  step_9,  step_10, step_11, step_12, step_13, step_14, step_15,
        step_16, step_17, step_18, step_19, step_20, step_21, step_22, step_23,
        step_24, step_25, step_26, step_27, step_28, step_29, step_30, step_31};
    if (w->depth-- == 0)
        wait_here(w);
    else
        steps[next_choice(w) % 32](w);
    __asm__ volatile("" : : "r"(w) : "memory");
}

static void *thread_main(void *argument)
{
    struct way *w = argument;
    if (w->number == 7) { /* one, as what it sorts is nobody else's */
        int numbers[] = {2, 1};
        sorting = w;
        qsort(numbers, 2, sizeof *numbers, through_libc);
    } else {
        go_on(w);
    }
    return NULL;
}

static void start_threads(void)
{
    static struct way ways[THREADS];
    assert_int_equal(pipe(pipe_ends), 0);
    sem_init(&semaphore, 0, 0);
    sem_init(&arrived, 0, 0);
    for (unsigned i = 1; i < THREADS; i++) {
        pthread_t thread;
        char name[16];
        ways[i] = (struct way){.number = i, .depth = 4 + i % 17, .choice = i % 8 * 7919};
        if (i % 3 == 0)
            ways[i].choice += i;
        assert_int_equal(pthread_create(&thread, NULL, thread_main, &ways[i]), 0);
        snprintf(name, sizeof name, "worker-%u", i);
        pthread_setname_np(thread, name);
    }
    for (unsigned i = 1; i < THREADS; i++)
        sem_wait(&arrived);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); /* into their waits */
}

/* ---- images ---- */

struct wanted {
    uint64_t address;
    struct fwr_image *image;
    bool found;
};

static void find_id(const struct dl_phdr_info *info, const ElfW(Phdr) * p, struct fwr_image *image)
{
    const uint8_t *note = (const uint8_t *)(uintptr_t)(info->dlpi_addr + p->p_vaddr);
    const uint8_t *end = note + p->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) < end) {
        ElfW(Nhdr) head;
        memcpy(&head, note, sizeof head);
        const uint8_t *name = note + sizeof head;
        const uint8_t *desc = name + ((head.n_namesz + 3) & ~3u);
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && !memcmp(name, "GNU", 4)) {
            image->id = desc;
            image->id_size = head.n_descsz;
        }
        note = desc + ((head.n_descsz + 3) & ~3u);
    }
}

static int one_image(struct dl_phdr_info *info, size_t size, void *context)
{
    static char program[512];
    struct wanted *w = context;
    struct fwr_image image = {.base = info->dlpi_addr, .path = info->dlpi_name, .arch = "x86_64"};
    (void)size;
    if (!image.path[0]) {
        ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
        program[length > 0 ? length : 0] = 0;
        image.path = program;
    }
    uint64_t end = 0;
    image.key = UINT64_MAX;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uint64_t at = info->dlpi_addr + p->p_vaddr;
        if (p->p_type == PT_NOTE)
            find_id(info, p, &image);
        if (p->p_type != PT_LOAD)
            continue;
        image.key = at < image.key ? at : image.key;
        end = at + p->p_memsz > end ? at + p->p_memsz : end;
    }
    image.size = end - image.key;
    if (w->address - image.key >= image.size)
        return 0;
    *w->image = image;
    w->found = true;
    return 1;
}

static bool locate(void *context, uint64_t address, struct fwr_image *image)
{
    struct wanted w = {.address = address, .image = image};
    (void)context;
    dl_iterate_phdr(one_image, &w);
    return w.found;
}

/* ---- the report ---- */

static struct fw_thread threads[THREADS];
static struct fw_frame frames[THREADS * FRAMES];

static void write_report(struct fwr_file *file)
{
    struct fwr_about about = fwr_test_about;
    about.executable = program_invocation_name;
    struct fwr_writer *w = fwr_test_writer(file, locate, &about);
    uint32_t stacks[THREADS];
    for (unsigned i = 0; i < THREADS; i++) {
        stacks[i] = fwr_stack(w, &threads[i].stack);
        fwr_thread(w, &(struct fwr_thread){.id = threads[i].system_id,
                                           .name = threads[i].name,
                                           .state = threads[i].state,
                                           .is_main = threads[i].is_main,
                                           .is_watched = threads[i].is_main,
                                           .stack = stacks[i]});
    }
    fwr_hang(w, &(struct fwr_hang){threads[0].system_id, "main", 250000000, 2000000000, 250000000,
                                   125000000});
    fwr_flush(w);
    for (unsigned i = 0; i < SAMPLES; i++) /* two stacks in turn, never the same one after itself */
        fwr_sample(w, &(struct fwr_sample){stacks[i % 2], 1, UINT64_C(125000000) + i * 10012345,
                                           10012345 + i, 0});
    fwr_hang_end(w, &(struct fwr_hang_end){FWR_RECOVERED, 0, 733000000, 0, SAMPLES});
    fwr_total(w, "samples", SAMPLES);
    assert_true(fwr_end(w));
    free(w);
}

static void expect_stack(const struct report *r, const struct report_thread *t,
                         const struct fw_stack *stack)
{
    assert_int_equal(t->frame_count, stack->count);
    assert_int_equal(t->end, stack->end);
    for (uint32_t i = 0; i < stack->count; i++) {
        const struct report_frame *f = &r->frames[t->first_frame + i];
        struct fwr_image image;
        assert_int_equal(f->kind == REPORT_EXACT, stack->frames[i].kind == FW_FRAME_EXACT);
        if (!locate(NULL, stack->frames[i].address - (f->kind == REPORT_RETURN), &image)) {
            assert_int_equal(f->address, stack->frames[i].address);
            continue;
        }
        assert_int_equal(f->offset, stack->frames[i].address - image.base);
        assert_memory_equal(r->images[f->image].id, image.id, image.id_size);
    }
}

static void forty_threads(void **state)
{
    struct fwr_file file = {0};
    size_t count, all = 0;
    (void)state;
    start_threads();
    const struct fw_threads_options options = {.size = sizeof options, .frames = FRAMES};
    assert_int_equal(
        fw_threads_capture(threads, THREADS, &count, frames, THREADS * FRAMES, &options), FW_OK);
    assert_int_equal(count, THREADS);
    write_report(&file);
    struct report *r = read_span((struct span){file.data, file.size});
    assert_true(r->complete);
    assert_int_equal(r->thread_count, THREADS + 2);
    for (unsigned i = 0; i < THREADS; i++) {
        expect_stack(r, &r->threads[i], &threads[i].stack);
        all += threads[i].stack.count;
    }
    assert_true(all > THREADS * 15);
    print_message("%u threads, %zu frames, %zu images, %u samples: %zu bytes\n", THREADS, all,
                  r->image_count, SAMPLES, file.size);
    assert_true(file.size < LIMIT);
    if (keep) {
        FILE *out = fopen(keep, "wb");
        assert_non_null(out);
        assert_int_equal(fwrite(file.data, 1, file.size, out), file.size);
        fclose(out);
    }
    report_free(r);
    fwr_file_free(&file);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(forty_threads)};
    keep = argc > 1 ? argv[1] : NULL;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
