#include "collector/blobs_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct fw_failure why;
char folder[64], cache[96], url[512];
const char *s3;
struct blobs *blobs;

void fine(fw_error error, const char *what, const char *file, int line)
{
    if (error) {
        print_error("%s:\n  %d: %s\n", what, (int)error, why.message);
        _fail(file, line);
    }
}

int set_up(void **state)
{
    (void)state;
    static unsigned count;
    s3 = getenv("FW_S3_URL");
    strcpy(folder, "/tmp/fw-blobs-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(cache, sizeof cache, "%s/cache", folder);
    if (s3) { /* a prefix of its own for each test */
        int before = (int)strcspn(s3, "?");
        snprintf(url, sizeof url, "%.*s/%u%s", before, s3, ++count, s3 + before);
    } else {
        snprintf(url, sizeof url, "file:%s/store", folder);
    }
    FINE(blobs_open(url, cache, 1 << 20, &blobs, &why));
    return 0;
}

int tear_down(void **state)
{
    (void)state;
    blobs_close(blobs);
    blobs = NULL;
    char command[96];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

struct span text(const char *t)
{
    return (struct span){(const uint8_t *)t, strlen(t)};
}

void put(const char *key, const char *bytes)
{
    FINE(blobs_put(blobs, key, text(bytes), &why));
}

void holds(const char *key, uint64_t offset, uint64_t size, const char *expected)
{
    uint8_t *bytes;
    size_t got;
    FINE(blobs_get(blobs, key, offset, size, &bytes, &got, &why));
    assert_int_equal(got, strlen(expected));
    assert_memory_equal(bytes, expected, got);
    free(bytes);
}

fw_error get_error(const char *key, uint64_t offset, uint64_t size)
{
    uint8_t *bytes;
    size_t got;
    fw_error error = blobs_get(blobs, key, offset, size, &bytes, &got, &why);
    assert_null(bytes);
    assert_int_equal(got, 0);
    return error;
}

void make_file(const char *path, uint64_t size)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    for (uint64_t i = 0; i < size / 8; i++) {
        uint64_t x = i * 0x9e3779b97f4a7c15u;
        assert_int_equal(fwrite(&x, 8, 1, f), 1);
    }
    for (uint64_t i = 0; i < size % 8; i++)
        fputc('x', f);
    assert_int_equal(fclose(f), 0);
}

void same_file(int fd, uint64_t size)
{
    struct stat info;
    assert_int_equal(fstat(fd, &info), 0);
    assert_true((uint64_t)info.st_size == size);
    const uint8_t *data = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    assert_ptr_not_equal(data, MAP_FAILED);
    for (uint64_t i = 0; i < size / 8; i++) {
        uint64_t x;
        memcpy(&x, data + 8 * i, 8);
        if (x != i * 0x9e3779b97f4a7c15u)
            fail_msg("differs at %llu", (unsigned long long)(8 * i));
    }
    munmap((void *)(uintptr_t)data, size);
}
