#ifndef MACHHOST_STDIO_H
#define MACHHOST_STDIO_H
#include <stdarg.h>
#include <sys/_types.h>
typedef struct __sFILE FILE;
extern FILE *__stdinp;
extern FILE *__stdoutp;
extern FILE *__stderrp;
#define stdin    __stdinp
#define stdout   __stdoutp
#define stderr   __stderrp
#define EOF      (-1)
#define BUFSIZ   1024
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#define _IOFBF   0
#define _IOLBF   1
#define _IONBF   2
int asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fclose(FILE *file);
int feof(FILE *file);
int ferror(FILE *file);
int fflush(FILE *file);
int fgetc(FILE *file);
char *fgets(char *line, int size, FILE *file);
int fileno(FILE *file);
FILE *fopen(const char *path, const char *mode);
int fprintf(FILE *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
int fputc(int c, FILE *file);
int fputs(const char *text, FILE *file);
size_t fread(void *data, size_t size, size_t count, FILE *file);
int fseek(FILE *file, long offset, int from);
long ftell(FILE *file);
size_t fwrite(const void *data, size_t size, size_t count, FILE *file);
#define getc(file) fgetc(file)
void perror(const char *text);
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define putc(c, file) fputc(c, file)
int putchar(int c);
int puts(const char *text);
int remove(const char *path);
int rename(const char *from, const char *to);
int renameat(int from, const char *name, int to, const char *other);
void rewind(FILE *file);
int setvbuf(FILE *file, char *buffer, int mode, size_t size);
int snprintf(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int sprintf(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
int sscanf(const char *text, const char *format, ...) __attribute__((format(scanf, 2, 3)));
int vfprintf(FILE *file, const char *format, va_list args) __attribute__((format(printf, 2, 0)));
int vprintf(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
int vsnprintf(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));
#endif
