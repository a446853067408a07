/*
 * The head of a record, and the numbers of the fields in payloads: what writer, survey and reader
 * of the Framewalk report share. Field numbers are those of docs/framewalk-report.proto.
 */
#ifndef REPORT_FWR_RECORD_H
#define REPORT_FWR_RECORD_H

#include "report/fwr_write.h"

struct fwr_head {
    uint32_t size; /* of the payload, without padding */
    uint32_t crc;
    uint8_t type;
    bool sound; /* what must be zero is, and the size is one that can be */
};
enum { FWR_HEAD_SUMMED = 8 }; /* bytes of it that the checksum covers, beside the payload */
struct fwr_head fwr_read_head(const uint8_t bytes[FWR_RECORD_HEAD]);

/* Of payload and padding. */
static inline uint32_t fwr_padded(uint32_t size)
{
    return (size + 3) & ~(uint32_t)3;
}

/* Fills in the head before a payload of `size` bytes at record + FWR_RECORD_HEAD, and the padding
 * behind it. Returns the size of all. */
size_t fwr_seal(uint8_t *record, enum fwr_type type, size_t size);

/* Fields, by message. */
enum {
    ABOUT_ID = 1,
    ABOUT_SESSION,
    ABOUT_KIND,
    ABOUT_STARTED_MS,
    ABOUT_PROCESS_AGE_MS,
    ABOUT_PID,
    ABOUT_APP,
    ABOUT_VERSION,
    ABOUT_BUILD,
    ABOUT_OS,
    ABOUT_OS_VERSION,
    ABOUT_OS_BUILD,
    ABOUT_ARCH,
    ABOUT_DEVICE_CLASS,
    ABOUT_EXECUTABLE,
};
enum { KEYS_KEY = 1, KEY_NAME = 1, KEY_VALUE };
enum { IMAGES_IMAGE = 1, IMAGE_ID = 1, IMAGE_SIZE, IMAGE_PATH, IMAGE_ARCH, IMAGE_FROM_HEADER };
enum {
    STACKS_PARENT = 1, /* of each new frame: how many frames before it its caller's is */
    STACKS_PLACE,      /* image << 2 | PLACE_ bits */
    STACKS_OFFSET,     /* zigzag of the difference to the image's frame before */
    STACKS_FLAGS,      /* of each frame with PLACE_FLAGS */
    STACKS_INNERMOST,  /* of each new stack: number of its innermost frame */
    STACKS_ODD,        /* what is not plain about a stack */
    PLACE_EXACT = 1,
    PLACE_FLAGS = 2,
    PLACE_SHIFT = 2,
};
enum { ODD_STACK = 1, ODD_END, ODD_UNAVAILABLE, ODD_HEAD, ODD_OMITTED };
enum {
    THREADS_THREAD = 1,
    THREAD_ID = 1,
    THREAD_NAME,
    THREAD_QUEUE,
    THREAD_STATE,
    THREAD_MAIN,
    THREAD_WATCHED,
    THREAD_STACK,
    THREAD_UNAVAILABLE,
};
enum {
    HANG_THREAD = 1,
    HANG_WATCH,
    HANG_THRESHOLD_NS,
    HANG_SEVERE_NS,
    HANG_SO_FAR_NS,
    HANG_UNSAMPLED_NS
};
enum {
    SAMPLES_UNTIL_NS = 1,
    SAMPLES_SAMPLE,
    SAMPLE_STACK = 1,
    SAMPLE_AGAIN,
    SAMPLE_AT_NS,
    SAMPLE_WEIGHT_NS
};
enum {
    HANG_END_ENDING = 1,
    HANG_END_VETO,
    HANG_END_DURATION_NS,
    HANG_END_STARVED_NS,
    HANG_END_SAMPLES
};
enum { APIS_API = 1, API_NAME = 1, API_CALLS, API_POINTERS, API_INSIDE, API_FOUND };
enum {
    CALLS_CALL = 1,
    CALL_API = 1,
    CALL_STACK,
    CALL_THREAD,
    CALL_COUNT,
    CALL_FIRST_MS,
    CALL_LAST_MS
};
enum {
    SCRIPTS_FRAME = 1,
    SCRIPTS_SCRIPT,
    SCRIPT_FUNCTION = 1,
    SCRIPT_FILE,
    SCRIPT_LINE,
    SCRIPT_THREAD = 1,
    SCRIPT_AT_NS,
    SCRIPT_LANGUAGE,
    SCRIPT_FRAMES,
    SCRIPT_OMITTED
};
enum {
    SYMBOLS_SYMBOL = 1,
    SYMBOLS_FUNCTION,
    SYMBOL_ADDRESS = 1,
    SYMBOL_SIZE,
    SYMBOL_NAME,
    SYMBOL_FILE,
    SYMBOL_LINE,
    FUNCTION_IMAGE = 1,
    FUNCTION_OFFSET,
    FUNCTION_SIZE,
    FUNCTION_NAME
};
enum { TOTALS_TOTAL = 1, TOTAL_NAME = 1, TOTAL_VALUE };

#endif
