/* The table of calls, made from exports.def. */
#include "internal.h"

/* These mean the same on Linux and have no shim of their own. */
#define SAME(name) __asm__(".set shim_" #name ", " #name)
SAME(abort);
SAME(abs);
SAME(access);
SAME(alarm);
SAME(aligned_alloc);
SAME(atoi);
SAME(bcmp);
SAME(bzero);
SAME(calloc);
SAME(close);
SAME(dup);
SAME(dup2);
SAME(fclose);
SAME(flock);
SAME(fsync);
SAME(ftruncate);
SAME(chmod);
SAME(getentropy);
SAME(gethostname);
SAME(link);
SAME(mkfifo);
SAME(symlink);
SAME(mkdir);
SAME(mkdtemp);
SAME(pwrite);
SAME(rename);
SAME(rmdir);
SAME(feof);
SAME(ferror);
SAME(fflush);
SAME(fgetc);
SAME(fgets);
SAME(fileno);
SAME(fopen);
SAME(fputc);
SAME(fputs);
SAME(fread);
SAME(free);
SAME(fseek);
SAME(ftell);
SAME(fwrite);
SAME(getenv);
SAME(getpagesize);
SAME(getpid);
SAME(getppid);
SAME(getuid);
SAME(isatty);
SAME(lseek);
SAME(malloc);
SAME(memchr);
SAME(memcmp);
SAME(memcpy);
SAME(memmem);
SAME(memmove);
SAME(memset);
SAME(mkstemp);
SAME(mprotect);
SAME(munmap);
SAME(nanosleep);
SAME(pause);
SAME(perror);
SAME(pipe);
SAME(poll);
SAME(posix_memalign);
SAME(pread);
SAME(putchar);
SAME(puts);
SAME(rand);
SAME(read);
SAME(realloc);
SAME(remove);
SAME(rewind);
SAME(sched_yield);
SAME(setenv);
SAME(setvbuf);
SAME(sleep);
SAME(srand);
SAME(stpcpy);
SAME(strcasecmp);
SAME(strcat);
SAME(strchr);
SAME(strcmp);
SAME(strcpy);
SAME(strcspn);
SAME(strdup);
SAME(strlen);
SAME(strncasecmp);
SAME(strncmp);
SAME(strncpy);
SAME(strndup);
SAME(strnlen);
SAME(strrchr);
SAME(strspn);
SAME(strstr);
SAME(strtod);
SAME(strtok_r);
SAME(strtol);
SAME(strtoll);
SAME(strtoul);
SAME(strtoull);
SAME(time);
SAME(timegm);
SAME(unlink);
SAME(unsetenv);
SAME(usleep);
SAME(write);

#define DATA(name)
#define CALL(name)        extern char shim_##name[];
#define SAFE(name)        CALL(name)
#define VARI(name, fixed) CALL(name)
#define LONG(name)        CALL(name)
#include "../exports.def"
#undef CALL
#undef SAFE
#undef VARI
#undef LONG
#define CALL(name)        {shim_##name, 0, 0, #name},
#define SAFE(name)        {shim_##name, CALL_SAFE, 0, #name},
#define VARI(name, fixed) {shim_##name, CALL_STACK | (fixed), 0, #name},
#define LONG(name)        {shim_##name, CALL_STACK, 0, #name},
struct call machhost_table[INDEX_COUNT] = {
#include "../exports.def"
};
