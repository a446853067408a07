/*
 * The symbol store: which debug files there are, and names out of their symbol maps.
 *
 * An image is known by its build id or UUID, and each project has its own files beside those that
 * are shared: whoever asks says for whom (symbols_of). Maps are mapped from the blob store (its
 * local copy), kept open while they are used, and looked up without a lock. A file that arrives
 * makes names appear at the next lookup: nothing is remembered as missing (or as the map of an
 * image) longer than SYMBOLS_MISS_MS, and on the server that took the file not at all.
 *
 * Everything here is thread-safe, but a symbols_report and an arena belong to one thread at a time.
 * symbols_take and symbols_report_open may ask the database: no caller holds a connection meanwhile
 * (db.h).
 */
#ifndef COLLECTOR_SYMBOLS_H
#define COLLECTOR_SYMBOLS_H

#include "base/arena.h"
#include "collector/access.h"
#include "collector/collector.h"
#include "report/report.h"

enum { SYMBOLS_MISS_MS = 2000 };

struct symbols;
/* `maps_bytes`: of maps that stay open though nobody holds them. */
fw_error symbols_open(struct collector *c, uint64_t maps_bytes, struct symbols **symbols,
                      struct fw_failure *why);
void symbols_close(struct symbols *symbols); /* nothing of it may be held; NULL is fine */

/* Whose files may be used: those of a project (its number) and the shared ones; or these. */
enum { SYMBOLS_SHARED = 0, SYMBOLS_ALL = -1 };
/* What a token reaches: its project's, or all; without a token the shared ones. */
int64_t symbols_of(const struct access *access);
/* The condition that a row of symbol_file is among them; `n`: the value's number, as text. */
#define SYMBOLS_OF(n) "(project = 0 OR project = $" n " OR $" n " < 0)"

struct symbols_image; /* an image's map, held until symbols_drop */
/* NULL: there is none (yet). `arch` may be NULL; it chooses when an id has maps of several. */
struct symbols_image *symbols_take(struct symbols *symbols, int64_t project, const uint8_t *id,
                                   size_t id_size, const char *arch);
/* The same by the 16 bytes of a Breakpad id: a UUID, or the changed beginning of a build id. */
struct symbols_image *symbols_take_breakpad(struct symbols *symbols, int64_t project,
                                            const uint8_t id[16]);
/* Why there is none: FW_ERR_CORRUPT when it is damaged (damage.h), else FW_ERR_NOT_FOUND, or what
 * the database says. `breakpad`: by a Breakpad id. */
fw_error symbols_why_none(struct symbols *symbols, int64_t project, const uint8_t *id,
                          size_t id_size, bool breakpad, struct fw_failure *why);
void symbols_drop(struct symbols_image *image); /* NULL is fine */

/* Call it after the commit of rows of symbol_file that are new, changed or gone (also of their
 * map_blob): the next symbols_take of this id looks again. */
void symbols_changed(struct symbols *symbols, const uint8_t *id, size_t id_size);

/* What takes seconds and some hundred megabytes is done alone, one at a time on a server: large
 * requests of POST /symbolicate/v5, maps as Breakpad text. False: something is under way, the
 * client is to try again. */
bool symbols_alone_begin(struct symbols *symbols);
void symbols_alone_end(struct symbols *symbols);

/* The map as Breakpad text, malloc'ed. Heavy. */
fw_error symbols_breakpad(const struct symbols_image *image, uint8_t **text, size_t *size,
                          struct fw_failure *why);

/* The functions at an offset as a report has it (space and kind: enum report_space, enum
 * report_frame_kind), innermost first, into names[capacity]; texts live as long as `arena`. How
 * many were written; with more than `capacity` the last one is still the function that is really
 * there. 0: the map knows nothing there. */
size_t symbols_names(const struct symbols_image *image, uint64_t offset, unsigned space,
                     unsigned kind, struct arena *arena, struct report_name *names,
                     size_t capacity);

/* A whole stack, innermost frame first, with the tail calls between its frames. */
struct symbols_place {
    const struct symbols_image *image; /* NULL: unknown; such a place also parts two stacks */
    uint64_t offset;
    uint8_t space, kind; /* as of symbols_names */
};
struct symbols_found {
    const struct report_name *names; /* innermost first */
    uint32_t count;                  /* 0: nothing is known there */
    uint32_t tail_calls; /* so many of `names`, at the beginning: functions between this frame and
                            the one inside of it, which are not on the stack */
    bool ambiguous;      /* tail calls lead to this frame's caller, but which cannot be told */
};
/* found[i] answers places[i]. What it points at lives as long as `arena` and the images are held.
 * FW_ERR_MEMORY. */
fw_error symbols_stack(const struct symbols_place *places, size_t count, struct arena *arena,
                       struct symbols_found *found);

/* All frames of a report: looks up once what repeats, and finds tail calls between frames. For
 * report_to_*(report, symbols_resolve, names, out) and v5_write_answer. */
struct symbols_report;
fw_error symbols_report_open(struct symbols *symbols, int64_t project, const struct report *report,
                             struct symbols_report **names, struct fw_failure *why);
/* Files without their folders, as Apple's own formats have them, when the report is one of them. */
fw_error symbols_report_short_files(struct symbols_report *names);
size_t symbols_resolve(void *names, const struct report *report, uint32_t frame,
                       const struct report_name **found);
/* Whether the image has a map; and how many frames of it stay without a name. */
bool symbols_report_has(const struct symbols_report *names, uint32_t image);
size_t symbols_report_unnamed(const struct symbols_report *names, uint32_t image);
/* Whether any frame asked for the image. */
bool symbols_report_asked(const struct symbols_report *names, uint32_t image);
void symbols_report_close(struct symbols_report *names);

#endif
