/*
 * Frames of stored stacks with their names: decoded, each different place looked up once for a
 * request, and written as the FRAME of docs/openapi.yaml.
 */
#ifndef COLLECTOR_API_FRAMES_H
#define COLLECTOR_API_FRAMES_H

#include "collector/api_json.h"
#include "collector/stack_code.h"
#include "collector/symbols.h"

struct api_image { /* a row of `image` */
    int64_t row;
    const char *name;          /* file name; "" unknown */
    bool own;                  /* the app's */
    const char *sources;       /* its debug_id when it has sources that may be read; "" */
    struct symbols_image *map; /* NULL: none */
};

struct api_place { /* a frame, and what the one inside of it makes of it (tail calls) */
    struct stack_frame frame;
    const struct api_image *image; /* NULL: in none */
    struct symbols_found found;
    uint32_t label; /* for the caller: what it made of this place before; 0: nothing */
};

struct api_frames;
struct api_frames *api_frames_new(struct api_view *v); /* NULL: v->error is set */
void api_frames_free(struct api_frames *frames);       /* NULL is fine */

enum { API_STACK_MAX = 1024 }; /* frames of one stack; outer ones are left out */
/* places[API_STACK_MAX], innermost first; they live as long as `frames`, and equal ones are the
 * same. How many; 0 when something failed (v->error). No query may be open. */
size_t api_frames_read(struct api_frames *frames, struct span code, struct api_place **places);

/* One place by itself, as of the innermost frame. NULL when something failed. */
struct api_place *api_frames_place(struct api_frames *frames, const struct stack_frame *frame);
/* A copy of the text that lives as long as `frames`. */
const char *api_frames_keep(struct api_frames *frames, const char *text);
/* "0x1f40" */
void api_frame_offset(char text[24], uint64_t offset);

/* The array `key` of FRAMEs of a whole stack. */
void api_stack_write(struct api_frames *frames, const char *key, struct span code);
/* The same of the stack with this row; an empty array when it is gone. */
void api_stack_of(struct api_frames *frames, const char *key, int64_t stack);

struct api_frame { /* what a FRAME says, wherever it comes from */
    const char *function, *file, *image;
    uint32_t line;
    uint64_t offset;
    bool exact, inlined, tail_call, app;
    const char *status;  /* "named", "no_map", "unknown", "gap" */
    const char *sources; /* NULL or "": none; else the image of which `file` may be asked for */
};
/* The digits of this debug_id when sources of it may be read by who asks, else "". */
const char *api_frames_sources(struct api_view *v, struct span id, struct arena *arena);
void api_frame_members(struct report_bytes *out, const struct api_frame *frame);

#endif
