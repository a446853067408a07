/*
 * demangle FILE SIDE: nanoseconds a name, in process, over the names of FILE (one a line). Sides:
 * ours, libiberty (C++ and Rust), cxa (__cxa_demangle of the C++ library: C++ only). The peers
 * allocate each text, as their users must let them.
 */
#include "demangle/demangle.h"
#include "bench.h"

#include <libiberty/demangle.h>
#include <string.h>

char *__cxa_demangle(const char *mangled, char *buffer, size_t *length, int *status);

static char **names;
static size_t count;
static size_t understood;

static void ours(void)
{
    static char text[DEMANGLE_TEXT_SIZE];
    for (size_t i = 0; i < count; i++)
        understood += demangle(names[i], NULL, text, sizeof text) != DEMANGLE_NONE;
}

static void libiberty(void)
{
    for (size_t i = 0; i < count; i++) {
        char *text = cplus_demangle(names[i], DMGL_AUTO | DMGL_PARAMS | DMGL_ANSI);
        understood += text != NULL;
        free(text);
    }
}

static void cxa(void)
{
    for (size_t i = 0; i < count; i++) {
        int status;
        char *text = __cxa_demangle(names[i], NULL, NULL, &status);
        understood += text != NULL;
        free(text);
    }
}

static int read_names(const char *path)
{
    FILE *file = fopen(path, "re");
    char *line = NULL;
    size_t room = 0, capacity = 0;
    if (!file)
        return 0;
    while (getline(&line, &room, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        if (count == capacity) {
            capacity = capacity ? capacity * 2 : 1024;
            names = realloc(names, capacity * sizeof *names);
            if (!names)
                return 0;
        }
        names[count++] = strdup(line);
    }
    free(line);
    fclose(file);
    return count > 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*work)(void);
    } sides[] = {{"ours", ours}, {"libiberty", libiberty}, {"cxa", cxa}};
    if (argc != 3 || !read_names(argv[1]))
        return 2;
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++) {
        if (strcmp(argv[2], sides[i].name) != 0)
            continue;
        double ns = bench_ns(sides[i].work, 1) / (double)count;
        printf("%.1f\n", ns);
        fprintf(stderr, "%zu of %zu understood\n", understood / (BENCH_BATCHES + 1), count);
        return 0;
    }
    return 2;
}
