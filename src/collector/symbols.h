/*
 * The symbol store: which debug files there are, and names out of their symbol maps.
 *
 * An image is known by its build id or UUID. Maps are mapped from the blob store (its local copy),
 * kept open while they are used, and looked up without a lock. A file that arrives makes names
 * appear at the next lookup: nothing is remembered as missing longer than SYMBOLS_MISS_MS, and on
 * this server not at all.
 */
#ifndef COLLECTOR_SYMBOLS_H
#define COLLECTOR_SYMBOLS_H

#include "base/arena.h"
#include "collector/collector.h"
#include "report/report.h"

enum { SYMBOLS_MISS_MS = 2000 };

struct symbols;
fw_error symbols_open(struct collector *c, uint64_t maps_bytes, struct symbols **symbols,
                      struct fw_failure *why);
void symbols_close(struct symbols *symbols);

struct symbols_image; /* an image's map, held until symbols_drop */
/* NULL: there is none (yet). `arch` may be NULL. */
struct symbols_image *symbols_take(struct symbols *symbols, const uint8_t *id, size_t id_size,
                                   const char *arch);
void symbols_drop(struct symbols_image *image); /* NULL is fine */

/* The functions at an offset as a report has it (space and kind: enum report_space, enum
 * report_frame_kind), innermost first, into names[capacity]; texts live as long as `arena`. How
 * many there are. 0: the map knows nothing there. */
size_t symbols_names(const struct symbols_image *image, uint64_t offset, unsigned space,
                     unsigned kind, struct arena *arena, struct report_name *names,
                     size_t capacity);

/* All frames of a report: looks up once what repeats, and finds tail calls between frames. For
 * report_to_*(report, symbols_resolve, names, out) and v5_write_answer. */
struct symbols_report;
fw_error symbols_report_open(struct symbols *symbols, const struct report *report,
                             struct symbols_report **names, struct fw_failure *why);
size_t symbols_resolve(void *names, const struct report *report, uint32_t frame,
                       const struct report_name **found);
/* Whether frame's image has a map; and how many frames of it got a name. */
bool symbols_report_has(const struct symbols_report *names, uint32_t image);
void symbols_report_close(struct symbols_report *names);

#endif
