/*
 * A just-in-time compiler of its own: `generated MEMORY KINDS [THREADS]` puts one function for each
 * letter of KINDS into memory, calls descend() through them, each from the one before, and waits in
 * wait_end() for the end of its input; so many other threads do the same.
 *
 *     MEMORY  rwx     writable while it is executed
 *             toggle  written first, executable afterwards
 *             two     written through another mapping of the same memory
 *     KINDS   f       keeps a frame record
 *             n       saves the frame pointer and lets it be: there is no record
 *             j       keeps a record, and enters what it calls by a jump, having pushed the return
 *                     address itself
 *
 * Prints "ready PID", and "ADDRESS SIZE" of each function.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SLOT = 64, ROOM = 65536 };

typedef int (*function)(int (*next)(int), int level);

static const char *kinds;
static unsigned char *code;

#if defined(__x86_64__)
static const unsigned char code_f[] = {0x55, 0x48, 0x89, 0xe5, /* push %rbp; mov %rsp, %rbp */
                                       0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff, 0xd0, 0x5d, 0xc3};
static const unsigned char code_n[] = {0x55, 0x48, 0x83, 0xec, 0x10, /* push %rbp; sub $16, %rsp */
                                       0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7, 0xff,
                                       0xd0, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3};
static const unsigned char code_j[] = {
    0x55, 0x48, 0x89, 0xe5, 0x48, 0x89, 0xf8, 0x48, 0x89,
    0xf7, 0x48, 0x8d, 0x0d, 4,    0,    0,    0, /* lea 4(%rip), %rcx */
    0x51, 0xff, 0xe0, 0x90, 0x5d, 0xc3};
#elif defined(__aarch64__)
static const unsigned char code_f[] = {0xfd, 0x7b, 0xbf, 0xa9, 0xfd, 0x03, 0x00, 0x91, 0xe2, 0x03,
                                       0x00, 0xaa, 0xe0, 0x03, 0x01, 0xaa, 0x40, 0x00, 0x3f, 0xd6,
                                       0xfd, 0x7b, 0xc1, 0xa8, 0xc0, 0x03, 0x5f, 0xd6};
#define code_n code_f
#define code_j code_f
#else
static const unsigned char code_f[1];
#define code_n code_f
#define code_j code_f
#endif

static size_t put(char kind, unsigned char *to)
{
    const unsigned char *from = kind == 'n' ? code_n : kind == 'j' ? code_j : code_f;
    size_t size = kind == 'n' ? sizeof code_n : kind == 'j' ? sizeof code_j : sizeof code_f;
    memcpy(to, from, size);
    return size;
}

__attribute__((noinline)) static int wait_end(void)
{
    char c;
    return (int)read(0, &c, 1) + 1;
}

__attribute__((noinline)) static int descend(int level)
{
    volatile int keep = level;
    function next = (function)(uintptr_t)(code + (size_t)level * SLOT);
    return (kinds[level] ? next(descend, level + 1) : wait_end()) + keep;
}

static void *descend_apart(void *unused)
{
    descend(0);
    return unused;
}

/* Memory to write to; `code` is where it is executed. */
static unsigned char *get_memory(const char *how)
{
    const int both = PROT_READ | PROT_WRITE;
    if (!strcmp(how, "two")) {
        int fd = memfd_create("generated", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, ROOM))
            return MAP_FAILED;
        code = mmap(NULL, ROOM, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
        return code == MAP_FAILED ? code : mmap(NULL, ROOM, both, MAP_SHARED, fd, 0);
    }
    code = mmap(NULL, ROOM, strcmp(how, "rwx") ? both : both | PROT_EXEC,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return code;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    kinds = argv[2];
    unsigned char *to = get_memory(argv[1]);
    if (to == MAP_FAILED)
        return 77;
    printf("ready %d\n", (int)getpid());
    for (size_t i = 0; kinds[i]; i++)
        printf("%lx %zx\n", (unsigned long)(uintptr_t)(code + i * SLOT),
               put(kinds[i], to + i * SLOT));
    if (!strcmp(argv[1], "toggle") && mprotect(code, ROOM, PROT_READ | PROT_EXEC))
        return 77;
    __builtin___clear_cache((char *)code, (char *)code + ROOM);
    for (int left = argc > 3 ? atoi(argv[3]) : 0; left > 0; left--) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, descend_apart, NULL))
            return 77;
    }
    puts(".");
    fflush(stdout);
    return descend(0) < 0;
}
