/*
 * Whether a debug file is still what came (symbol_files.h).
 *
 * What was found whole is remembered for an hour, by its file: who asks for a part of a large file
 * a hundred times does not have it read a hundred times.
 */
#include "collector/symbol_files.h"

#include "base/failure.h"
#include "collector/blobs.h"
#include "collector/clock.h"
#include "collector/damage.h"

#include <errno.h>
#include <openssl/evp.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, SEEN = 512, SEEN_MS = 3600 * 1000 };

fw_error symbol_files_hash(int fd, uint8_t sha256[32], uint64_t *size, struct fw_failure *why)
{
    uint8_t *buffer = malloc(CHUNK), result[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *hash = EVP_MD_CTX_new();
    bool good = buffer && hash && EVP_DigestInit(hash, EVP_sha256());
    off_t at = 0;
    for (;;) {
        ssize_t n = good ? pread(fd, buffer, CHUNK, at) : 0;
        if (n <= 0) {
            good &= n == 0;
            break;
        }
        EVP_DigestUpdate(hash, buffer, (size_t)n);
        at += n;
    }
    good = good && EVP_DigestFinal(hash, result, NULL);
    EVP_MD_CTX_free(hash);
    free(buffer);
    if (!good)
        return failure_say(why, FW_ERR_SYSTEM, errno, "a file cannot be read");
    memcpy(sha256, result, 32);
    *size = (uint64_t)at;
    return FW_OK;
}

/* ---- what was found whole ---- */

struct seen {
    uint8_t sha256[32];
    struct stat about; /* its first numbers */
    int64_t at_ms;     /* clock_ms; 0: free */
};

static struct { /* one for the process; slots by the hash's first bytes, a newer one takes it */
    pthread_mutex_t lock;
    struct seen slots[SEEN];
} whole = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct seen *slot_of(const uint8_t sha256[32])
{
    return &whole.slots[(sha256[0] | sha256[1] << 8) % SEEN];
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

static bool is_known(const uint8_t sha256[32], const struct stat *about)
{
    pthread_mutex_lock(&whole.lock);
    const struct seen *slot = slot_of(sha256);
    bool known = slot->at_ms && clock_ms() - slot->at_ms < SEEN_MS &&
                 memcmp(slot->sha256, sha256, 32) == 0 && same_file(&slot->about, about);
    pthread_mutex_unlock(&whole.lock);
    return known;
}

static void know(const uint8_t sha256[32], const struct stat *about)
{
    pthread_mutex_lock(&whole.lock);
    struct seen *slot = slot_of(sha256);
    memcpy(slot->sha256, sha256, 32);
    slot->about = *about;
    slot->at_ms = clock_ms();
    pthread_mutex_unlock(&whole.lock);
}

/* ---- opening ---- */

static fw_error check(int fd, const struct symbol_blob *file, struct fw_failure *why)
{
    struct stat about;
    uint8_t sha256[32];
    uint64_t size;
    if (fstat(fd, &about) != 0)
        return failure_say(why, FW_ERR_SYSTEM, errno, "%.100s cannot be read", file->blob);
    if (is_known(file->sha256, &about))
        return FW_OK;
    fw_error error = symbol_files_hash(fd, sha256, &size, why);
    if (error != FW_OK)
        return error;
    if (memcmp(sha256, file->sha256, sizeof sha256) != 0)
        return failure_say(why, FW_ERR_CORRUPT, 0,
                           "the stored file is damaged: its SHA-256 is not that of what came");
    know(sha256, &about);
    return FW_OK;
}

static fw_error open_once(struct collector *c, const struct symbol_blob *file, int *fd,
                          struct fw_failure *why)
{
    fw_error error = blobs_file(c->blobs, file->blob, fd, why);
    if (error == FW_ERR_NOT_FOUND)
        return failure_say(why, FW_ERR_CORRUPT, 0, "the stored file is not there any more");
    if (error != FW_OK)
        return error;
    error = check(*fd, file, why);
    if (error != FW_OK) {
        close(*fd);
        *fd = -1;
    }
    return error;
}

fw_error symbol_files_open(struct collector *c, const struct symbol_blob *file, int *fd,
                           struct fw_failure *why)
{
    fw_error error = open_once(c, file, fd, why);
    if (error == FW_ERR_CORRUPT && blobs_forget_copy(c->blobs, file->blob))
        error = open_once(c, file, fd, why); /* this machine's copy was damaged, perhaps */
    if (error == FW_ERR_CORRUPT)
        damage_found(DAMAGE_FILE, file->row, why->message);
    return error;
}
