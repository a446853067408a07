/*
 * Filling a report: what all readers share. Every call that needs memory may fail; the failure
 * stays in `error`, later calls do nothing, and the reader is asked about it once at its end.
 */
#ifndef REPORT_BUILD_H
#define REPORT_BUILD_H

#include "base/arena.h"
#include "report/jdoc.h"
#include "report/report.h"
#include "report/text.h"

struct report_build {
    struct report *report;
    struct arena arena;
    struct jdoc head, body; /* .ips: both; other JSON: body */
    size_t images_capacity, threads_capacity, frames_capacity, names_capacity;
    uint32_t *by_key; /* hash table of image numbers + 1, for build_intern */
    size_t by_key_size, by_key_count;
    bool provisional; /* some images come from frames alone; see build_hint */
    bool *real;       /* of each image: listed by the report itself */
    size_t real_capacity;
    bool pointer_auth; /* addresses may carry authentication bits */
    uint32_t group;    /* of threads and images that come now */
    size_t begin;      /* text readers: behind the JSON header, if there is one */
    fw_error error;
};

/* Copies of bytes of the text, terminated. Zero bytes inside become '?'. NULL on failure. */
const char *build_text(struct report_build *b, struct cursor c);
const char *build_format(struct report_build *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The string or number at a JSON node of the body, NULL. */
const char *build_string(struct report_build *b, const struct jdoc *doc, uint32_t node);

/* Appends an image of the report's list. */
uint32_t build_image(struct report_build *b, const struct report_image *image);
/* The image with this name, id and load address, made when there is none yet. */
uint32_t build_intern(struct report_build *b, const struct report_image *image);
/* The same for what a frame says of its image: gives way to an image of the report's list that
 * holds the frame's address (build_place). */
uint32_t build_hint(struct report_build *b, const struct report_image *image);
/* Hexadecimal digits, dashes ignored. */
void build_id(struct report_image *image, struct cursor hex);
void build_name_of_path(struct report_image *image);

/* Starts a thread; frames that follow are its. */
struct report_thread *build_thread(struct report_build *b, enum report_order order);
/* Appends a frame to the last thread; the kind of a stack's is set: 0 exact, others return. */
struct report_frame *build_frame(struct report_build *b);
/* Adds what the report knows of the last frame. */
struct report_name *build_known(struct report_build *b, struct report_frame *frame);
/* The same from a JSON array of objects: functions inlined at the frame, innermost first. Entries
 * with a true member "tail_call" are tail calls. */
void build_inlines(struct report_build *b, struct report_frame *frame, uint32_t array,
                   const char *function_key, const char *file_key, const char *line_key);
/* The same from an object with `symbol`, `symbolLocation`, `sourceFile`, `sourceLine`, `inlines`.
 */
void build_symbol(struct report_build *b, struct report_frame *frame, uint32_t object);
/* A JSON number or string as a line number; 0 unknown. */
uint32_t build_line(struct report_build *b, uint32_t node);
void build_note(struct report_build *b, const char *note);

/* Addresses get their images and offsets, offsets their addresses; frames of trees, and those
 * that a signal interrupted, their kinds. */
void build_place(struct report_build *b);

/* Whether a line of this kind of text decides that it is one. */
bool text_is_meter(struct cursor line);
bool text_is_sanitizer(struct cursor line);
bool text_is_perf(struct cursor line);
bool text_is_list(struct cursor line);

/* Readers. Each is given a text that its detection found. */
void read_ips(struct report_build *b);
void read_stackshot(struct report_build *b);
void read_metrickit(struct report_build *b);
void read_kscrash(struct report_build *b);
void read_meter(struct report_build *b);
void read_dump(struct report_build *b);
void read_v5(struct report_build *b);
void read_crash(struct report_build *b);
void read_sample(struct report_build *b);
void read_spindump(struct report_build *b);
void read_sanitizer(struct report_build *b);
void read_perf(struct report_build *b);
void read_list(struct report_build *b);
void read_fwr(struct report_build *b);
/* `Binary Images:` of Apple's texts; the cursor stands after that line. */
void read_binary_images(struct report_build *b, struct cursor *lines);

#endif
