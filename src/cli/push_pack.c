/*
 * Packing into a file without a name. The same file gives the same bytes, so that a second try is
 * recognised; should a newer zstd pack otherwise, all is sent anew, which is no harm.
 *
 * libcrypto is loaded, as libcurl is: linked, it would cost every command its start-up.
 */
#include "cli/push_pack.h"

#include "base/hex.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

enum { LEVEL = 6, SMALL = 4096, CHUNK = 1 << 20 };

typedef unsigned char *(*sha256_call)(const unsigned char *data, size_t size, unsigned char *out);

static void hash(struct push_pack *packed)
{
    static const char *const names[] = {"libcrypto.so.3", "libcrypto.so.1.1", "libcrypto.3.dylib"};
    unsigned char sum[32];
    sha256_call sha256 = NULL;
    for (size_t i = 0; !sha256 && i < sizeof names / sizeof *names; i++) {
        void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        void *found = library ? dlsym(library, "SHA256") : NULL;
        memcpy(&sha256, &found, sizeof found);
    }
    if (!sha256 || !sha256(packed->bytes.data, packed->bytes.size, sum))
        return;
    hex_text(packed->sha256, sum, sizeof sum);
}

bool push_pack_map(int fd, struct span *bytes)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || about.st_size <= 0)
        return false;
    void *at = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at == MAP_FAILED)
        return false;
    *bytes = (struct span){at, (size_t)about.st_size};
    return true;
}

bool push_pack_write(int fd, const void *data, size_t size)
{
    const char *bytes = data;
    while (size) {
        ssize_t n = write(fd, bytes, size);
        if (n <= 0 && errno != EINTR)
            return false;
        bytes += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

static bool compress_to(int fd, struct span bytes)
{
    ZSTD_CCtx *context = ZSTD_createCCtx();
    char *out = malloc(CHUNK);
    bool good = context && out &&
                !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL)) &&
                !ZSTD_isError(ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1)) &&
                !ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(context, bytes.size));
    ZSTD_inBuffer in = {bytes.data, bytes.size, 0};
    for (size_t left = 1; good && left;) {
        ZSTD_outBuffer to = {out, CHUNK, 0};
        left = ZSTD_compressStream2(context, &to, &in, ZSTD_e_end);
        good = !ZSTD_isError(left) && push_pack_write(fd, out, to.pos);
    }
    ZSTD_freeCCtx(context);
    free(out);
    return good;
}

int push_pack_file(void)
{
    const char *folder = getenv("TMPDIR");
    char path[512];
    snprintf(path, sizeof path, "%s/framewalk-push-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkostemp(path, O_CLOEXEC);
    if (fd >= 0)
        unlink(path);
    return fd;
}

/* What cannot be packed is sent as it is. */
static void pack_bytes(struct push_pack *packed)
{
    struct span smaller;
    int fd = push_pack_file();
    if (fd < 0)
        return;
    if (compress_to(fd, packed->bytes) && push_pack_map(fd, &smaller)) {
        if (smaller.size < packed->bytes.size) {
            struct span swap = packed->bytes;
            packed->bytes = smaller;
            smaller = swap;
        }
        munmap((void *)(uintptr_t)smaller.data, smaller.size);
    }
    close(fd);
}

static bool is_same(int fd, const struct push_file *file)
{
    struct stat about;
    return fstat(fd, &about) == 0 && about.st_dev == file->device && about.st_ino == file->inode;
}

bool push_pack_open(const struct push_file *file, struct push_pack *packed, char *why, size_t size)
{
    *packed = (struct push_pack){.bytes = file->bundle, .borrowed = file->bundle.size > 0};
    if (packed->borrowed) {
        hash(packed);
        return true;
    }
    int fd =
        open(file->made ? file->made : file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool same = fd >= 0 && is_same(fd, file);
    if (!same || !push_pack_map(fd, &packed->bytes)) {
        snprintf(why, size, "%s",
                 fd < 0  ? strerror(errno)
                 : !same ? "another file has taken its place"
                         : "it is empty, or cannot be mapped");
        if (fd >= 0)
            close(fd);
        return false;
    }
    close(fd);
    if (!file->whole && packed->bytes.size > SMALL)
        pack_bytes(packed);
    hash(packed);
    return true;
}

void push_pack_close(struct push_pack *packed)
{
    if (packed->bytes.size && !packed->borrowed)
        munmap((void *)(uintptr_t)packed->bytes.data, packed->bytes.size);
    *packed = (struct push_pack){0};
}
