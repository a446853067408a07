/*
 * plugins FOLDER COUNT ROUNDS: opens FOLDER/pN.so for each N below COUNT, calls its function fN,
 * and closes it: most come to the place that the one before has left. Then all at once, which stay.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static int use(const char *folder, int number, int stays)
{
    char path[512], name[16];
    snprintf(path, sizeof path, "%s/p%d.so", folder, number);
    snprintf(name, sizeof name, "f%d", number);
    void *plugin = dlopen(path, RTLD_NOW);
    int (*function)(void) = plugin ? (int (*)(void))dlsym(plugin, name) : NULL;
    if (!function || function() != number) {
        fprintf(stderr, "%s: %s\n", path, dlerror());
        return 1;
    }
    return stays ? 0 : dlclose(plugin);
}

int main(int argc, char **argv)
{
    int count = argc > 3 ? atoi(argv[2]) : 0, rounds = argc > 3 ? atoi(argv[3]) : 0, failed = 0;
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            failed |= use(argv[1], i, 0);
    for (int i = 0; i < count; i++)
        failed |= use(argv[1], i, 1);
    return failed || dlsym(RTLD_DEFAULT, "no_such_function") ? 1 : 7;
}
