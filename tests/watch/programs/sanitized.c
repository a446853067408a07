/*
 * sanitized [leak | overflow | race]: a loop, a thread, and with an argument one mistake, which a
 * sanitizer finds or does not, watched or not.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int shared;

static void *other(void *argument)
{
    poll(NULL, 0, 1);
    if (argument)
        shared++;
    return argument;
}

int main(int argc, char **argv)
{
    const char *mistake = argc > 1 ? argv[1] : "none";
    char *volatile block = malloc(8);
    volatile int at = 8;
    pthread_t thread;
    for (int i = 0; i < 20; i++)
        poll(NULL, 0, 2);
    pthread_create(&thread, NULL, other, strcmp(mistake, "race") == 0 ? &shared : NULL);
    if (strcmp(mistake, "race") == 0)
        shared++;
    pthread_join(thread, NULL);
    if (strcmp(mistake, "overflow") == 0)
        block[at] = 1;
    if (strcmp(mistake, "leak") != 0)
        free(block);
    block = NULL;
    puts(getenv("ASAN_OPTIONS") ? getenv("ASAN_OPTIONS") : "no options");
    return 3;
}
