#include "report/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct span load_file(const char *folder, const char *name)
{
    char path[1024];
    struct span file = {0};
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return file;
    fseek(stream, 0, SEEK_END);
    long size = ftell(stream);
    rewind(stream);
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (data && size >= 0 && fread(data, 1, (size_t)size, stream) == (size_t)size)
        file = (struct span){data, (size_t)size};
    fclose(stream);
    return file;
}

struct span load_own(const char *name)
{
    struct span file = load_file(FW_REPORT_DATA, name);
    if (!file.data)
        print_error("%s is missing\n", name);
    assert_non_null(file.data);
    return file;
}

struct report *read_span(struct span text)
{
    struct report *report = NULL;
    struct fw_failure why = {0};
    fw_error error = report_read(text, &report, &why);
    if (error)
        print_error("%s\n", why.message);
    assert_int_equal(error, FW_OK);
    return report;
}

struct report *read_text(const char *text)
{
    return read_span((struct span){(const uint8_t *)text, strlen(text)});
}

size_t test_names(void *context, const struct report *report, uint32_t number,
                  const struct report_name **names)
{
    static const struct report_name one[] = {
        {.function = "main", .file = "main.c", .line = 7, .has_offset = true, .offset = 12}};
    static const struct report_name two[] = {
        {.function = "inner<\"q\">", .file = "in.h", .line = 3, .flags = REPORT_INLINED},
        {.function = "outer", .file = "out.c", .line = 30, .has_offset = true, .offset = 16}};
    static const struct report_name tail[] = {
        {.function = "hop", .flags = REPORT_TAIL_CALL},
        {.function = "caller", .has_offset = true, .offset = 32, .size = 64}};
    (void)context;
    const struct report_frame *frame = &report->frames[number];
    if (frame->image == REPORT_NONE || !frame->has_offset)
        return 0;
    const struct report_image *image = &report->images[frame->image];
    bool ours = strcmp(image->name, "App") == 0 ||
                (!*image->name && image->id_size && image->id[0] == 0x82);
    if (!ours)
        return 0;
    switch (frame->offset >> 12) {
    case 1: *names = one; return 1;
    case 2: *names = two; return 2;
    case 3: *names = tail; return 2;
    default: return 0;
    }
}
