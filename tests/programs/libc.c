/* A walk through the C library: strings of every length, formatted input and output, sorting,
 * searching, numbers, time, files, the loader. */
#define _GNU_SOURCE
#include <ctype.h>
#include <dlfcn.h>
#include <fnmatch.h>
#include <locale.h>
#include <math.h>
#include <regex.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

static volatile long sink;

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void strings(void)
{
    static char from[9000], to[9000];
    memset(from, 'a', sizeof from - 1);
    for (size_t n = 0; n < sizeof from; n = n * 3 / 2 + 1) {
        memcpy(to, from, n);
        memmove(to + 1, to, n ? n - 1 : 0);
        memset(to, 'b', n);
        to[n < 8999 ? n : 8999] = '\0';
        sink += (long)strlen(to) + memcmp(from, to, n) + strcmp(from, to);
        sink += strchr(to, 'x') != NULL || strrchr(to, 'b') != NULL || memchr(to, 'c', n) != NULL;
        sink += strstr(to, "bbbbc") != NULL || strspn(to, "b") || strcspn(to, "c");
        char *copy = strndup(to, n);
        sink += strncasecmp(copy, to, n);
        free(copy);
    }
}

static void formats(void)
{
    char text[400];
    wchar_t wide[40];
    int i = 0;
    double d = 0;
    snprintf(text, sizeof text, "%d %5.2f %s %-10s|%08lx %p %c %%", -5, 3.14159, "text", "left",
             255L, (void *)&sink, 'c');
    snprintf(text, sizeof text, "%g %e %a %Lf %.40f", 1e100, 1e-5, 0.5, 2.5L, 1.0 / 3);
    sscanf("12 3.5 word", "%d %lf %10s", &i, &d, text);
    swprintf(wide, 40, L"%d %ls", i, L"wide");
    sink += i + (long)d + strtol("1234", NULL, 0) + (long)strtod("2.5e3", NULL) + atoi("77");
    sink +=
        (long)wcslen(wide) + (long)(pow(2, 0.5) + sin(1.0) + exp(0.1) + fmod(7, 3)) + toupper('a');
}

static void sorting(void)
{
    char *names[] = {"pear", "apple", "fig", "plum", "cherry", "date", "lime", "kiwi"};
    qsort(names, 8, sizeof *names, compare);
    char *key = "fig";
    sink += bsearch(&key, names, 8, sizeof *names, compare) != NULL;
    void *root = NULL;
    for (int i = 0; i < 8; i++)
        tsearch(names[i], &root, (int (*)(const void *, const void *))strcmp);
    while (root)
        tdelete(*(void **)root, &root, (int (*)(const void *, const void *))strcmp);
}

static void memory(void)
{
    void *p[40];
    for (int i = 0; i < 40; i++)
        p[i] = malloc((size_t)i * i * 97 + 1);
    for (int i = 0; i < 40; i += 2)
        p[i] = realloc(p[i], (size_t)i * 300 + 5);
    for (int i = 0; i < 40; i++)
        free(p[i]);
    free(calloc(100, 30));
}

static void others(void)
{
    regex_t regex;
    if (regcomp(&regex, "^([a-z]+)-[0-9]{2,4}$", REG_EXTENDED) == 0) {
        sink += regexec(&regex, "name-1234", 0, NULL, 0);
        regfree(&regex);
    }
    sink += fnmatch("*.c", "file.c", 0);
    time_t now = 1000000000;
    struct tm tm;
    char text[64];
    gmtime_r(&now, &tm);
    strftime(text, sizeof text, "%Y-%m-%d", &tm);
    sink += mktime(&tm);
    setlocale(LC_ALL, "C.UTF-8");
    sink += getpid() + (getenv("PATH") != NULL) + sysconf(_SC_PAGESIZE);
    FILE *file = tmpfile();
    if (file) {
        fprintf(file, "line %d\n", 1);
        rewind(file);
        sink += fgets(text, sizeof text, file) != NULL;
        fclose(file);
    }
    void *library = dlopen("libm.so.6", RTLD_LAZY);
    if (library) {
        double (*function)(double) = (double (*)(double))dlsym(library, "cbrt");
        sink += function ? (long)function(27) : 0;
        dlclose(library);
    }
}

int main(void)
{
    strings();
    formats();
    sorting();
    memory();
    others();
    puts(sink ? "done" : "");
    return 0;
}
