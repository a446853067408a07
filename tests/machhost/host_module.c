/* A dylib that host_images_test.c loads and unloads. It needs another, and has what binds need. */
#include "machhost/host_module.h"

#include <string.h>

int module_initialised;
static const char *const words[] = {"one", "two", "three"};       /* pointers that are rebased */
static int (*const compare)(const char *, const char *) = strcmp; /* one that is bound */
static _Thread_local int counter = 10;
static _Thread_local int zeroed[100];

extern int needed_by_nobody(void) __attribute__((weak_import));

__attribute__((constructor)) static void initialise(void)
{
    module_initialised = needed_value() + 1;
}

static int *told;

__attribute__((destructor)) static void finish(void)
{
    if (told)
        *told = 1;
}

void module_tell(int *flag)
{
    told = flag;
}

int module_find(const char *word)
{
    for (int i = 0; i < 3; i++) {
        if (compare(words[i], word) == 0)
            return i;
    }
    return -1;
}

int module_count(void)
{
    zeroed[99]++;
    return counter++ + zeroed[99];
}

int module_has_weak(void)
{
    return needed_by_nobody != 0;
}
