/* Conversion through the debug map: an image and an object file, one behind the other; the first
 * four bytes are the size of the image. Whatever the map opens is that object file. The map made of
 * them must be whole. */
#include "object/object.h"
#include "symmap/convert.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct object *open_part(void *context, const struct debug_map_object *entry)
{
    (void)entry;
    return context;
}

static void convert(struct object *image, struct object *part)
{
    const struct convert_options options = {
        .threads = 1, .columns = true, .calls = true, .open_part = open_part, .part_context = part};
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct fw_failure why;
    if (symmap_convert(image, NULL, NULL, &options, &bytes, &size, NULL, &why) != FW_OK)
        return;
    struct symmap *map;
    if (symmap_open_bytes((struct span){bytes, size}, false, "map", &map, &why) != FW_OK)
        abort();
    symmap_close(map);
    free(bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t length;
    struct object *image = NULL, *part = NULL;
    struct fw_failure why;
    if (size < sizeof length)
        return 0;
    memcpy(&length, data, sizeof length);
    data += sizeof length;
    size -= sizeof length;
    if (length > size)
        return 0;
    if (object_open_bytes(data, length, false, "image", &image, &why) == FW_OK &&
        object_open_bytes(data + length, size - length, false, "part", &part, &why) == FW_OK)
        convert(image, part);
    object_close(part);
    object_close(image);
    return 0;
}
