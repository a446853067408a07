/* Archives of any form: what is produced is bounded, and offsets ascend. */
#include "collector/unpack.h"

#include <stdlib.h>

enum { LIMIT = 1 << 22 };

struct input {
    const uint8_t *data;
    size_t size;
};

struct output {
    uint64_t written, end;
    bool open;
};

static ssize_t give(void *context, const void **bytes)
{
    struct input *in = context;
    size_t n = in->size < 512 ? in->size : 512;
    *bytes = in->data;
    in->data += n;
    in->size -= n;
    return (ssize_t)n;
}

static bool begin(void *context, const char *name)
{
    struct output *out = context;
    if (out->open || !name[0])
        abort();
    *out = (struct output){.written = out->written, .open = true};
    return true;
}

static bool take(void *context, uint64_t offset, struct span bytes)
{
    struct output *out = context;
    if (!out->open || offset < out->end || offset > LIMIT)
        abort();
    out->written += bytes.size;
    out->end = offset + bytes.size;
    if (out->written > LIMIT)
        abort();
    return true;
}

static bool end(void *context, uint64_t size)
{
    struct output *out = context;
    if (!out->open || size < out->end || size > LIMIT)
        abort();
    out->open = false;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    struct output out = {0};
    struct unpack_sum sum;
    struct fw_failure why = {0};
    const struct unpack_source source = {give, &in};
    const struct unpack_sink sink = {begin, take, end, &out, false};
    fw_error error = unpack(&source, LIMIT, &sink, &sum, &why);
    if ((error == FW_OK && out.open) || (error != FW_OK && !why.message[0]))
        abort();
    return 0;
}
