/*
 * A program whose loop has ended and whose last turn hangs, until the report of it is there. Then
 * it ends in the way that the first argument names. The second is the folder of reports.
 */
#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *folder;

static int is_written(void)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    struct stat file;
    int found = 0;
    while (dir && (entry = readdir(dir)))
        found |= strstr(entry->d_name, ".part") &&
                 fstatat(dirfd(dir), entry->d_name, &file, 0) == 0 && file.st_size > 0;
    if (dir)
        closedir(dir);
    return found;
}

__attribute__((noinline)) static void hang_here(void)
{
    while (!is_written())
        usleep(10000); /* line: hang */
    usleep(200000);    /* and of another length than the threshold */
}

/* A thread that outlives the first by far. */
static void *go_on(void *argument)
{
    usleep(500000);
    return argument;
}

/* And another hang, whose report has no place. */
static int remove_folder(void)
{
    char command[1024];
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    for (int i = 0; i < 20; i++)
        poll(NULL, 0, 5);
    if (system(command) != 0)
        return 4;
    usleep(1500000);
    poll(NULL, 0, 5);
    poll(NULL, 0, 5);
    return 3;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    const char *way = argv[1];
    folder = argv[2];
    alarm(60);
    if (strcmp(way, "early") == 0)
        raise(SIGINT);
    for (int i = 0; i < 20; i++)
        poll(NULL, 0, 5);
    if (strcmp(way, "once") == 0) {
        usleep(500000);
        poll(NULL, 0, 5);
        return 3;
    }
    if (strcmp(way, "handler") == 0) {
        atexit(hang_here);
        return 3;
    }
    hang_here();
    if (strcmp(way, "exit") == 0)
        exit(3);
    else if (strcmp(way, "_exit") == 0)
        _exit(3);
    else if (strcmp(way, "_Exit") == 0)
        _Exit(3);
    else if (strcmp(way, "quick_exit") == 0)
        quick_exit(3);
    else if (strcmp(way, "system call") == 0)
        syscall(SYS_exit_group, 3);
    else if (strcmp(way, "thread") == 0)
        pthread_exit(NULL);
    else if (strcmp(way, "thread, another goes on") == 0) {
        pthread_t other;
        pthread_create(&other, NULL, go_on, NULL);
        pthread_exit(NULL);
    } else if (strcmp(way, "exec") == 0)
        execl("/bin/sh", "sh", "-c", "exit 3", (char *)NULL);
    else if (strcmp(way, "exec, killed") == 0)
        execl("/bin/sh", "sh", "-c", "kill -9 $$", (char *)NULL);
    else if (strcmp(way, "without a folder") == 0)
        return remove_folder();
    else if (strcmp(way, "abort") == 0)
        abort();
    else if (strcmp(way, "kill") == 0)
        raise(SIGKILL);
    return 3;
}
