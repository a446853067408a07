/* Answers of S3-compatible servers: the scanner, texts with entities, pages of lists. */
#include "collector/s3_xml.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct span answer = {data, size};
    struct s3_xml xml = s3_xml_over(answer);
    struct s3_element element;
    char text[32];
    size_t elements = 0;
    while (s3_xml_next(&xml, &element)) {
        if (element.text.size &&
            (element.text.data < data || element.text.data + element.text.size > data + size))
            abort();
        if (s3_xml_text(&element, text, sizeof text) && strlen(text) > element.text.size)
            abort();
        if (++elements > size)
            abort(); /* every element ends with a byte of its own */
    }
    s3_xml_find(answer, "UploadId", text, sizeof text);
    struct s3_page page = {.xml = s3_xml_over(answer)};
    struct s3_object object;
    for (size_t objects = 0; s3_page_next(&page, &object); objects++)
        if (!object.key[0] || objects > size)
            abort();
    struct s3_uploads uploads = {.xml = s3_xml_over(answer)};
    struct s3_upload upload;
    for (size_t count = 0; s3_uploads_next(&uploads, &upload); count++)
        if (!upload.key[0] || !upload.id[0] || count > size)
            abort();
    return 0;
}
