/*
 * The files of a report's images: found by their identity, never by name alone when the report
 * knows the identity.
 */
#ifndef CLI_SYMBOLICATE_IMAGES_H
#define CLI_SYMBOLICATE_IMAGES_H

#include "cli/symbolicate.h"
#include "report/report.h"

struct image_file {           /* of one image of the report */
    struct fw_source *source; /* NULL: none was found */
    char *looked;             /* where was looked and what was there; NULL: out of memory */
};

/* The source is the caller's to close, the text to free. */
struct image_file image_file_find(const struct symbolicate_options *options,
                                  struct fw_symbolicator *symbolicator, const struct report *report,
                                  const struct report_image *image);

/* Whether the image came with the operating system: nobody expects its files here. */
bool image_is_system(const struct report *report, const struct report_image *image);

/* "UUID 0A1B-..." or "build id 0a1b..." into `text`; "" when unknown. */
enum { IMAGE_ID_TEXT = 160 };
void image_id_text(const struct report_image *image, char text[IMAGE_ID_TEXT]);

#endif
