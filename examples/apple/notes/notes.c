/*
 * The program of the two reports here: an app that hung until the system killed it (killed.ips),
 * and a hang of it as MetricKit tells it (hang.json). `./run demo` replays them with the dSYM, made
 * so:
 *
 *     clang -target arm64-apple-macos13 -g -O2 -ffreestanding -fdebug-compilation-dir=/src/notes -c
 * notes.c ld64.lld -arch arm64 -platform_version macos 13.0 13.0 -undefined dynamic_lookup -o notes
 * notes.o dsymutil notes
 */
typedef unsigned long size_t;

int read(int file, void *to, size_t size);
int open(const char *path, int flags, ...);

static int checksum;

static inline __attribute__((always_inline)) int read_page(int file)
{
    char page[64];
    return read(file, page, sizeof page) > 0 ? page[0] : 0;
}

static __attribute__((noinline)) int load_note(const char *path)
{
    const int file = open(path, 0);
    int sum = 0;
    for (int page = 0; page < 100; page++)
        sum += read_page(file);
    return sum;
}

__attribute__((noinline)) int open_notebook(const char *path)
{
    checksum = load_note(path);
    return checksum + 1;
}

int main(int argc, char **argv)
{
    return open_notebook(argv[argc - 1]) + 1;
}
