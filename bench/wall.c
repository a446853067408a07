/* wall COMMAND...: milliseconds that a command takes from its start to its end, when it succeeds;
 * its output is dropped. */
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    const uint64_t start = bench_now();
    const pid_t child = fork();
    if (child == 0) {
        const int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        dup2(null, 2);
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    int status;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    const double elapsed_ms = (double)(bench_now() - start) / 1e6;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return 1;
    printf("%.3f\n", elapsed_ms);
    return 0;
}
