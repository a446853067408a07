/*
 * wall [-i INPUT] [-m MEMORY] COMMAND...: milliseconds that a command takes from its start to its
 * end, when it succeeds; its output is dropped. -i: its standard input; -m: the most memory that it
 * had resident, in MB, is added to the file as a line.
 */
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

static void run(char **command, const char *input)
{
    const int null = open("/dev/null", O_RDWR);
    dup2(input != NULL ? open(input, O_RDONLY) : null, 0);
    dup2(null, 1);
    dup2(null, 2);
    execvp(command[0], command);
    _exit(127);
}

static int note_memory(const char *path, const struct rusage *usage)
{
    FILE *file = fopen(path, "a");
    if (file == NULL)
        return 1;
    fprintf(file, "%.1f\n", (double)usage->ru_maxrss / 1024);
    return fclose(file);
}

int main(int argc, char **argv)
{
    const char *input = NULL, *memory = NULL;
    int option;
    while ((option = getopt(argc, argv, "+i:m:")) != -1) {
        if (option == 'i')
            input = optarg;
        else if (option == 'm')
            memory = optarg;
        else
            return 2;
    }
    if (optind == argc)
        return 2;
    const uint64_t start = bench_now();
    const pid_t child = fork();
    if (child == 0)
        run(argv + optind, input);
    int status;
    struct rusage usage;
    if (child < 0 || wait4(child, &status, 0, &usage) != child)
        return 2;
    const double elapsed_ms = (double)(bench_now() - start) / 1e6;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return 1;
    if (memory != NULL && note_memory(memory, &usage) != 0)
        return 2;
    printf("%.3f\n", elapsed_ms);
    return 0;
}
