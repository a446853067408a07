/* The blob store: which kind, and the check of keys, which no driver sees unchecked. */
#include "collector/blobs.h"

#include "base/failure.h"
#include "collector/blobs_driver.h"

fw_error blobs_open(const char *url, const char *cache, uint64_t cache_bytes, struct blobs **blobs,
                    struct fw_failure *why)
{
    *blobs = NULL;
    if (strncmp(url, "file:", 5) == 0 && url[5])
        return blobs_files_open(url + 5, blobs, why);
    if (strncmp(url, "s3://", 5) == 0)
        return blobs_s3_open(url, cache, cache_bytes, blobs, why);
    return failure_say(why, FW_ERR_ARGUMENT, 0,
                       "a store is named file:FOLDER or s3://BUCKET/PREFIX?endpoint=URL&region=R");
}

void blobs_close(struct blobs *blobs)
{
    if (blobs)
        blobs->driver->close(blobs);
}

static bool is_key_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/* Parts of key bytes, divided by single slashes, none begins with a dot: so there is no way up, and
 * names that begin with a dot are the drivers' own. */
static bool is_key(const char *key, bool whole)
{
    bool begins = true; /* a part */
    size_t i = 0;
    for (; key[i] && i <= BLOBS_KEY_MAX; i++) {
        if (key[i] == '/' ? begins : !is_key_byte(key[i]) || (begins && key[i] == '.'))
            return false;
        begins = key[i] == '/';
    }
    return i <= BLOBS_KEY_MAX && (!whole || (i && !begins));
}

static fw_error check(const char *key, bool whole, struct fw_failure *why)
{
    return is_key(key, whole)
               ? FW_OK
               : failure_say(why, FW_ERR_ARGUMENT, 0, "not a key of a blob: %.100s", key);
}

fw_error blobs_put(struct blobs *blobs, const char *key, struct span bytes, struct fw_failure *why)
{
    fw_error error = check(key, true, why);
    return error ? error : blobs->driver->put(blobs, key, bytes, why);
}

fw_error blobs_put_file(struct blobs *blobs, const char *key, const char *path,
                        struct fw_failure *why)
{
    fw_error error = check(key, true, why);
    return error ? error : blobs->driver->put_file(blobs, key, path, why);
}

fw_error blobs_get(struct blobs *blobs, const char *key, uint64_t offset, uint64_t size,
                   uint8_t **bytes, size_t *got, struct fw_failure *why)
{
    *bytes = NULL;
    *got = 0;
    fw_error error = check(key, true, why);
    return error ? error : blobs->driver->get(blobs, key, offset, size, bytes, got, why);
}

fw_error blobs_file(struct blobs *blobs, const char *key, int *fd, struct fw_failure *why)
{
    *fd = -1;
    fw_error error = check(key, true, why);
    return error ? error : blobs->driver->file(blobs, key, fd, why);
}

bool blobs_forget_copy(struct blobs *blobs, const char *key)
{
    return blobs->driver->forget_copy && blobs->driver->forget_copy(blobs, key);
}

fw_error blobs_size(struct blobs *blobs, const char *key, uint64_t *size, struct fw_failure *why)
{
    *size = 0;
    fw_error error = check(key, true, why);
    return error ? error : blobs->driver->size(blobs, key, size, why);
}

fw_error blobs_remove(struct blobs *blobs, const char *key, struct fw_failure *why)
{
    fw_error error = check(key, true, why);
    return error ? error : blobs->driver->remove(blobs, key, why);
}

fw_error blobs_list(struct blobs *blobs, const char *prefix, blobs_each each, void *context,
                    struct fw_failure *why)
{
    fw_error error = check(prefix, false, why);
    return error ? error : blobs->driver->list(blobs, prefix, each, context, why);
}

uint64_t blobs_free(struct blobs *blobs)
{
    return blobs->driver->free(blobs);
}

void blobs_tidy(struct blobs *blobs)
{
    if (blobs->driver->tidy)
        blobs->driver->tidy(blobs);
}

double blobs_used(struct blobs *blobs)
{
    return blobs->driver->used(blobs);
}

fw_error blobs_hold(struct blobs *blobs, int *fd, struct fw_failure *why)
{
    return blobs->driver->hold(blobs, fd, why);
}
