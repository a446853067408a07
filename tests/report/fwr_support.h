/* What tests of the Framewalk report share: a sink, made-up images, and a report with everything.
 */
#ifndef TESTS_REPORT_FWR_SUPPORT_H
#define TESTS_REPORT_FWR_SUPPORT_H

#include "report/fwr_write.h"

struct fwr_file { /* what a sink was given; all zero: nothing yet */
    uint8_t *data;
    size_t size, capacity;
    size_t calls;   /* of the sink */
    size_t fail_at; /* the call that fails, counted from 1; 0: none */
};
bool fwr_file_sink(void *context, const void *bytes, size_t size);
/* As fwr_survey reads. */
long fwr_file_read(void *context, uint64_t offset, void *bytes, size_t size);
void fwr_file_free(struct fwr_file *file);

/*
 * Images at 1, 2, 3... times FAKE_STEP, each FAKE_SIZE long, up to FAKE_IMAGES; linked at 0x1000.
 * Image 2 is of another architecture; that of image 3 counts from its header; image 4 has no id.
 */
#define FAKE_STEP UINT64_C(0x100000000)
#define FAKE_SIZE UINT64_C(0x100000)
enum { FAKE_LINKED = 0x1000, FAKE_IMAGES = 600 };
bool fwr_fake_locate(void *context, uint64_t address, struct fwr_image *image);

/* A writer in malloc'ed memory that was dirty before. */
struct fwr_writer *fwr_test_writer(struct fwr_file *file, fwr_locate *locate,
                                   const struct fwr_about *about);
extern const struct fwr_about fwr_test_about;

/* A stack of `count` addresses, innermost first; the first exact, others return addresses. */
struct fw_stack fwr_test_stack(struct fw_frame *frames, const uint64_t *addresses, uint32_t count);

/* Everything that a report can hold, in several flushes. */
void fwr_write_example(struct fwr_file *file);

#endif
