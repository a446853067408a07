/*
 * framewalk dump: captures, decides what is missing, and has it written.
 *
 * The exit code says whether the dump is whole: 0 only when every thread is there and every stack
 * reaches its root (or the depth that was asked for). What is missing is listed in the output and
 * on standard error.
 */
#include "cli/dump.h"

#include "cli/cli.h"
#include "cli/frame_lines.h"
#include "cli/generated.h"
#include "cli/progress.h"
#include "cli/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct job {
    const struct dump_options *options;
    struct dump dump;
    struct samples *samples;
    struct dump_thread *threads; /* of a snapshot */
    struct dump_stack *stacks;
    struct progress progress;
    enum cli_exit code; /* once something is missing: what to exit with */
};

static volatile sig_atomic_t stop_sampling;

static void on_signal(int signal)
{
    (void)signal;
    stop_sampling = 1;
}

void dump_miss(struct dump *dump, const char *format, ...)
{
    size_t room = sizeof(dump->missing) / sizeof(dump->missing[0]);
    size_t at = dump->missing_count < room ? dump->missing_count++ : room - 1;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(dump->missing[at], sizeof(dump->missing[at]), format, arguments);
    va_end(arguments);
}

/* The first reason decides the exit code. */
static void set_code(struct job *job, enum cli_exit code)
{
    if (job->code == CLI_OK)
        job->code = code;
}

/* Opening */

static const char *failure_text(const struct fw_failure *why)
{
    return why->message[0] != '\0' ? why->message : fw_error_text(why->code);
}

static bool open_target(struct job *job)
{
    const struct dump_options *options = job->options;
    struct dump *dump = &job->dump;
    struct fw_failure why = {0};

    if (options->pid == getpid()) {
        cli_error("process %" PRId32 " is this framewalk; it cannot stop itself", options->pid);
        job->code = CLI_FAILED;
        return false;
    }
    fw_error error = options->pid > 0
                         ? fw_process_open(options->pid, &dump->process, &why)
                         : fw_process_open_core(options->target, options->executable,
                                                options->sysroot, &dump->process, &why);
    if (error != FW_OK) {
        why.code = error;
        cli_error("%s", failure_text(&why));
        job->code = cli_exit_for(why.code);
        if (options->pid == 0 && why.code == FW_ERR_NOT_FOUND)
            job->code = CLI_FORMAT; /* a file that is not there */
        return false;
    }
    dump->core = options->pid > 0 ? NULL : options->target;
    clock_gettime(CLOCK_REALTIME, &dump->when);
    fw_process_describe(dump->process, &dump->info);
    if (dump->info.truncated) {
        dump_miss(dump, "the core file is truncated: %" PRIu64 " bytes of memory are missing",
                  dump->info.missing_bytes);
        set_code(job, CLI_TRUNCATED);
    }
    return true;
}

/* Capturing */

static void on_capture(void *context, size_t done, size_t total)
{
    struct job *job = context;
    progress_show(&job->progress, "capturing threads: %zu of %zu", done, total);
}

static struct fw_process_options capture_options(struct job *job)
{
    const struct dump_options *options = job->options;
    struct fw_process_options capture = {.size = sizeof(capture),
                                         .max_frames = options->depth,
                                         .consistent = options->consistent,
                                         .only = options->thread,
                                         .progress = on_capture,
                                         .context = job};
    if (options->full) {
        capture.max_frames = 10000000;
        capture.stack_bytes = 64u << 20;
    }
    return capture;
}

/* A job that ends with nothing to show. Returns false. */
static bool give_up(struct job *job, enum cli_exit code, const char *text)
{
    progress_end(&job->progress);
    cli_error("%s", text);
    job->code = code;
    return false;
}

static bool take_snapshot(struct job *job, const struct fw_process_thread *threads, size_t count)
{
    struct dump *dump = &job->dump;
    job->threads = calloc(count > 0 ? count : 1, sizeof(*job->threads));
    job->stacks = calloc(count > 0 ? count : 1, sizeof(*job->stacks));
    if (job->threads == NULL || job->stacks == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct fw_thread *thread = &threads[i].thread;
        const struct fw_stack *stack = &thread->stack;
        job->stacks[i] = (struct dump_stack){.frames = stack->frames,
                                             .count = stack->count,
                                             .head = stack->head,
                                             .omitted = stack->omitted,
                                             .id = stack->id,
                                             .samples = 1,
                                             .end = stack->end,
                                             .unavailable = stack->unavailable};
        job->threads[i] = (struct dump_thread){.id = thread->id,
                                               .is_main = thread->is_main,
                                               .state = thread->state,
                                               .name = thread->name,
                                               .wait_channel = threads[i].wait_channel,
                                               .signal = threads[i].signal,
                                               .pause_ns = threads[i].pause_ns,
                                               .samples = 1,
                                               .running = thread->state == 'R',
                                               .stacks = &job->stacks[i],
                                               .stack_count = 1};
    }
    dump->threads = job->threads;
    dump->thread_count = count;
    return true;
}

static bool capture_once(struct job *job)
{
    struct fw_process_options options = capture_options(job);
    const struct fw_process_thread *threads = NULL;
    size_t count = 0;
    struct fw_failure why = {0};
    fw_error error = fw_process_capture(job->dump.process, &options, &threads, &count, &why);
    if (error != FW_OK) {
        why.code = error;
        if (count == 0)
            return give_up(job, cli_exit_for(error), failure_text(&why));
        dump_miss(&job->dump, "%s", failure_text(&why));
        set_code(job, cli_exit_for(error));
    }
    return take_snapshot(job, threads, count) || give_up(job, CLI_FAILED, "out of memory");
}

static double seconds_since(const struct timespec *start)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void sleep_until(const struct timespec *start, double seconds)
{
    double rest = seconds - seconds_since(start);
    if (rest <= 0)
        return;
    struct timespec time = {.tv_sec = (time_t)rest};
    time.tv_nsec = (long)((rest - (double)time.tv_sec) * 1e9);
    nanosleep(&time, NULL); /* a signal ends it early: that is wanted */
}

/* One more sample; false when there can be no more, which `missing` explains unless there was none
 * before. */
static bool sample_once(struct job *job, const struct fw_process_options *options)
{
    const struct fw_process_thread *threads = NULL;
    size_t count = 0;
    struct fw_failure why = {0};
    struct dump *dump = &job->dump;
    fw_error error = fw_process_capture(dump->process, options, &threads, &count, &why);
    if (error == FW_OK && !samples_add(job->samples, threads, count))
        error = FW_ERR_MEMORY;
    if (error == FW_OK) {
        dump->rounds++;
        return true;
    }
    why.code = error;
    if (dump->rounds == 0)
        return give_up(job, cli_exit_for(error), failure_text(&why));
    if (error == FW_ERR_NOT_FOUND) /* --thread: the process goes on without it */
        error = FW_ERR_VANISHED;
    dump_miss(dump, "sampling ended after %.1f of %.6g seconds: %s", dump->seconds, dump->asked,
              failure_text(&why));
    set_code(job, cli_exit_for(error));
    return false;
}

static void handle_signals(bool ours, struct sigaction old[2])
{
    struct sigaction action = {.sa_handler = on_signal,
                               .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    sigemptyset(&action.sa_mask);
    static const int signals[2] = {SIGINT, SIGTERM};
    for (int i = 0; i < 2; i++)
        sigaction(signals[i], ours ? &action : &old[i], ours ? &old[i] : NULL);
}

static bool sample(struct job *job)
{
    struct dump *dump = &job->dump;
    struct fw_process_options options = capture_options(job);
    struct sigaction old[2];
    struct timespec start;

    job->samples = samples_create();
    if (job->samples == NULL)
        return give_up(job, CLI_FAILED, "out of memory");
    options.progress = NULL; /* the time left says more */
    dump->sampled = true;
    dump->asked = job->options->seconds;
    dump->hz = job->options->hz;
    handle_signals(true, old);
    clock_gettime(CLOCK_MONOTONIC, &start);
    uint64_t turn = 0; /* turns that the captures are too slow for are left out */
    while (!stop_sampling && dump->seconds < dump->asked && sample_once(job, &options)) {
        dump->seconds = seconds_since(&start);
        progress_show(&job->progress, "sampling: %.1f of %.6g s, %" PRIu64 " samples; Ctrl-C ends",
                      dump->seconds, dump->asked, dump->rounds);
        uint64_t passed = (uint64_t)(dump->seconds * dump->hz);
        turn = (passed > turn ? passed : turn) + 1;
        double next = (double)turn / dump->hz;
        sleep_until(&start, next < dump->asked ? next : dump->asked);
        dump->seconds = seconds_since(&start);
    }
    handle_signals(false, old);
    dump->interrupted = stop_sampling != 0;
    if (dump->rounds == 0)
        return job->code != CLI_OK ? false : give_up(job, CLI_FAILED, "no sample was taken");
    if (dump->interrupted) {
        dump_miss(dump, "sampling was ended by a signal after %.1f of %.6g seconds", dump->seconds,
                  dump->asked);
        set_code(job, CLI_INCOMPLETE);
    }
    return samples_finish(job->samples, dump) || give_up(job, CLI_FAILED, "out of memory");
}

/* What is missing */

static bool thread_is_gone(const struct dump_stack *stack)
{
    return stack->end == FW_END_UNAVAILABLE && stack->unavailable == FW_UNAVAILABLE_EXITED;
}

/* Lists which threads or stacks are not whole, a line for each reason. A thread that ended
 * meanwhile is not missing: it has no stack any more. */
static bool find_missing(struct job *job)
{
    struct dump *dump = &job->dump;
    uint64_t unavailable[16] = {0}, ended[16] = {0}, cut = 0;

    for (size_t t = 0; t < dump->thread_count; t++) {
        for (size_t s = 0; s < dump->threads[t].stack_count; s++) {
            const struct dump_stack *stack = &dump->threads[t].stacks[s];
            if (dump_stack_is_whole(dump, stack) || thread_is_gone(stack))
                continue;
            if (stack->end == FW_END_UNAVAILABLE)
                unavailable[stack->unavailable & 15]++;
            else if (stack->end == FW_END_LIMIT || stack->end == FW_END_ROOT)
                cut++;
            else
                ended[stack->end & 15]++;
        }
    }
    const char *what = dump->sampled ? "stack" : "thread";
    for (int i = 0; i < 16; i++) {
        if (unavailable[i] > 0)
            dump_miss(dump, "%" PRIu64 " %s%s could not be captured: %s", unavailable[i], what,
                      unavailable[i] == 1 ? "" : "s", fw_unavailable_text((fw_unavailable)i));
        if (ended[i] > 0)
            dump_miss(dump, "%" PRIu64 " stack%s before the root: %s", ended[i],
                      ended[i] == 1 ? " ends" : "s end", fw_end_text((fw_end)i));
    }
    if (cut > 0)
        dump_miss(dump, "%" PRIu64 " stack%s deeper than the limit; --full shows all frames", cut,
                  cut == 1 ? " is" : "s are");
    if (dump->core != NULL && !dump_find_files(dump))
        return give_up(job, CLI_FAILED, "out of memory");
    if (dump->missing_count > 0)
        set_code(job, CLI_INCOMPLETE);
    return true;
}

/* Names that are not in the images, and lines: read when no thread is stopped any more. */
static bool read_names(struct job *job)
{
    const struct dump_options *options = job->options;
    if (options->no_names)
        return true;
    if (job->dump.generated != NULL && !generated_read(job->dump.generated, &job->dump))
        return give_up(job, CLI_FAILED, "out of memory");
    if (options->no_lines)
        return true;
    job->dump.lines = frame_lines_read(&job->dump, options, &job->progress);
    if (job->dump.lines == NULL)
        return give_up(job, CLI_FAILED, "out of memory");
    for (size_t i = 0; i < frame_lines_source_count(job->dump.lines); i++) {
        const char *missing = frame_lines_missing(job->dump.lines, i);
        if (missing[0] == '\0')
            continue;
        dump_miss(&job->dump, "names or lines: %s", missing);
        set_code(job, CLI_INCOMPLETE);
    }
    return true;
}

/* Output */

static bool write_dump(struct job *job, FILE *to)
{
    const struct dump_options *options = job->options;
    switch (options->format) {
    case DUMP_JSON: return dump_write_json(&job->dump, options, to);
    case DUMP_COLLAPSED: return dump_write_collapsed(&job->dump, options, to);
    case DUMP_TEXT: break;
    }
    return dump_write_text(&job->dump, options, to, style_wanted(options->color, to));
}

/* Opened before the capture, so that a wrong name costs nobody a long sampling; emptied only when
 * there is something to write. */
static FILE *open_output(const char *path)
{
    if (path == NULL)
        return stdout;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (to == NULL)
        cli_error("cannot write '%s': %s", path, strerror(errno));
    return to;
}

static void output(struct job *job, FILE *to)
{
    const char *name = job->options->output != NULL ? job->options->output : "standard output";
    struct stat status;
    if (to != stdout && fstat(fileno(to), &status) == 0 && S_ISREG(status.st_mode) &&
        ftruncate(fileno(to), 0) != 0)
        job->code = CLI_FAILED;
    bool memory = write_dump(job, to);
    errno = 0;
    bool written = fflush(to) == 0 && !ferror(to);
    progress_end(&job->progress);
    if (!memory)
        cli_error("out of memory: the output is cut off");
    else if (!written)
        cli_error("cannot write %s: %s", name, errno != 0 ? strerror(errno) : "write error");
    if (!memory || !written) {
        job->code = CLI_FAILED;
        return;
    }
    /* Somebody who reads the text at a terminal has just read this at its end. */
    if (job->options->format == DUMP_TEXT && isatty(fileno(to)) == 1)
        return;
    for (size_t i = 0; i < job->dump.missing_count; i++)
        cli_error("incomplete: %s", job->dump.missing[i]);
}

int dump_main(int argc, char **argv)
{
    struct dump_options options;
    if (!dump_options_parse(argc, argv, &options))
        return CLI_USAGE;
    if (options.help) {
        dump_usage(stdout);
        return CLI_OK;
    }
    FILE *to = open_output(options.output);
    if (to == NULL)
        return CLI_FAILED;

    struct job job = {.options = &options, .dump = {.depth_limit = options.depth}};
    progress_begin(&job.progress);
    if (open_target(&job) && (options.seconds > 0 ? sample(&job) : capture_once(&job))) {
        if (options.pid > 0 && !options.no_names)
            job.dump.generated = generated_open(job.dump.info.pid);
        if (find_missing(&job) && read_names(&job))
            output(&job, to);
    }
    progress_end(&job.progress);
    frame_lines_free(job.dump.lines);
    generated_free(job.dump.generated);
    samples_destroy(job.samples);
    free(job.threads);
    free(job.stacks);
    if (job.dump.process != NULL)
        fw_process_close(job.dump.process);
    if (to != stdout && fclose(to) != 0 && job.code == CLI_OK) {
        cli_error("cannot write '%s': %s", options.output, strerror(errno));
        job.code = CLI_FAILED;
    }
    return (int)job.code;
}
