/* The progress line: rewritten in place, a few times a second at the most. */
#include "cli/progress.h"

#include "cli/style.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const uint64_t first_after_ns = 500000000, again_after_ns = 100000000;

static uint64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void progress_begin(struct progress *progress)
{
    const char *term = getenv("TERM");
    bool dumb = term == NULL || strcmp(term, "dumb") == 0;
    *progress = (struct progress){.wanted = !dumb && isatty(STDERR_FILENO) == 1,
                                  .next = now() + first_after_ns};
}

void progress_show(struct progress *progress, const char *format, ...)
{
    if (!progress->wanted || now() < progress->next)
        return;
    progress->next = now() + again_after_ns;
    progress->shown = true;
    char line[512], clean[2048]; /* names of files may hold anything */
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    style_clean(line, clean, sizeof clean);
    fprintf(stderr, "\r\033[K%s", clean);
    fflush(stderr);
}

void progress_end(struct progress *progress)
{
    if (progress->shown)
        fputs("\r\033[K", stderr);
    progress->shown = false;
}
