/*
 * The symbolication protocol of Firefox and its profiler (`POST /symbolicate/v5`), as Mozilla's
 * Eliot and samply speak it.
 *
 * A request is a report (REPORT_V5): report_read reads it, `group` of images and threads is the
 * number of the job, `id` of an image the 16 bytes as they are printed (of a Mach-O image its UUID;
 * of an ELF image the build id with bytes 0-3, 4-5 and 6-7 reversed), offsets count from the start
 * of the image and are to be looked up as they are (the sender has moved return addresses already).
 */
#ifndef REPORT_V5_H
#define REPORT_V5_H

#include "report/report.h"

enum v5_found { V5_NOT_ASKED, V5_NOT_FOUND, V5_FOUND };

/* Whether symbols of an image were found: `found_modules` of the answer. Asked after all frames
 * have been resolved. */
typedef enum v5_found (*v5_find)(void *context, const struct report *report, uint32_t image);

/*
 * Checks what a server must refuse: FW_ERR_FORMAT when it is no request, FW_ERR_CORRUPT when the
 * request is not whole, an index is out of range or an entry has the wrong shape; `why` says which.
 */
fw_error v5_check(const struct report *request, struct fw_failure *why);

/* The answer. FW_ERR_MEMORY. */
fw_error v5_write_answer(const struct report *request, report_resolve resolve, v5_find find,
                         void *context, struct report_bytes *out);

#endif
