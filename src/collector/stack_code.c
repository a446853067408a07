/* Stacks as bytes, and their hash: stack_code.h. */
#include "collector/stack_code.h"
#include "base/little_endian.h"

#include <openssl/evp.h>

/* The offset of the last frame before `i` in the same image. Stacks are short (at most
 * FWR_STACK_FRAMES), and most frames find it one or two steps back. */
static uint64_t last_offset(const struct stack_frame *frames, size_t i)
{
    int64_t image = frames[i].image;
    while (i-- > 0)
        if (frames[i].image == image)
            return frames[i].offset;
    return 0;
}

static uint8_t *put_uleb(uint8_t *out, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *out++ = (uint8_t)(value | 0x80);
    *out++ = (uint8_t)value;
    return out;
}

static uint8_t *put_sleb(uint8_t *out, int64_t value)
{
    for (;;) {
        uint8_t byte = (uint8_t)(value & 0x7f);
        value >>= 7;
        if ((value == 0 && !(byte & 0x40)) || (value == -1 && (byte & 0x40))) {
            *out++ = byte;
            return out;
        }
        *out++ = byte | 0x80;
    }
}

size_t stack_encode(const struct stack_frame *frames, size_t count, uint8_t *out)
{
    uint8_t *start = out;
    for (size_t i = 0; i < count; i++) {
        const struct stack_frame *f = &frames[i];
        out = put_uleb(out, (uint64_t)f->image * 8 + stack_flags(f));
        out = put_sleb(out, (int64_t)(f->offset - last_offset(frames, i)));
    }
    return (size_t)(out - start);
}

fw_error stack_decode(struct span code, struct stack_frame *frames, size_t capacity, size_t *count)
{
    struct reader r = reader_over(code.data, code.size);
    for (*count = 0; reader_left(&r) > 0; ++*count) {
        if (*count == capacity)
            return FW_ERR_FULL;
        uint64_t place = reader_uleb(&r);
        int64_t step = reader_sleb(&r);
        if (r.failed || place / 8 > INT64_MAX / 8)
            return FW_ERR_CORRUPT;
        struct stack_frame *f = &frames[*count];
        *f = stack_frame_of((int64_t)(place / 8), 0, place);
        f->offset = last_offset(frames, *count) + (uint64_t)step;
    }
    return FW_OK;
}

fw_error stack_hash(const struct stack_frame *frames, const struct span *id_keys, size_t count,
                    uint8_t hash[16])
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    int ok = context && EVP_DigestInit_ex(context, EVP_sha256(), NULL);
    for (size_t i = 0; ok && i < count; i++) {
        uint8_t bytes[10 + 9], *end = put_uleb(bytes, id_keys[i].size);
        ok = EVP_DigestUpdate(context, bytes, (size_t)(end - bytes)) &&
             EVP_DigestUpdate(context, id_keys[i].data, id_keys[i].size);
        bytes[0] = (uint8_t)stack_flags(&frames[i]);
        put_u64(bytes + 1, frames[i].offset);
        ok = ok && EVP_DigestUpdate(context, bytes, 9);
    }
    ok = ok && EVP_DigestFinal_ex(context, digest, NULL);
    EVP_MD_CTX_free(context);
    if (!ok)
        return FW_ERR_MEMORY;
    memcpy(hash, digest, 16);
    return FW_OK;
}
