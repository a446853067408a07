/*
 * Where the lines of a dump come from: one source of debug information for each image that occurs
 * on a stack.
 *
 * Invariant: a source is of the very file that the process has mapped. The build id says so; of an
 * image without one, the system: a live process maps the file that its path names now, a core file
 * is younger than it. Of what was deleted or replaced only a debug file with its build id serves.
 */
#ifndef CLI_FRAME_SOURCES_H
#define CLI_FRAME_SOURCES_H

#include "cli/dump.h"
#include "cli/progress.h"
#include "framewalk/symbolicate.h"

struct frame_sources;

/* `dump` and `options` must outlive it. `progress` is shown while debug files are converted. NULL
 * when out of memory. */
struct frame_sources *frame_sources_create(const struct dump *dump,
                                           const struct dump_options *options,
                                           struct progress *progress);
void frame_sources_destroy(struct frame_sources *sources);

/* The source for the image that `symbol` lies in, opened when first asked for; NULL: there is none.
 * False when out of memory. */
bool frame_sources_find(struct frame_sources *sources, const struct fw_symbol *symbol,
                        struct fw_source **source);

/* The source could not be read: `why` becomes its story. */
void frame_sources_failed(struct frame_sources *sources, const struct fw_source *source,
                          const struct fw_failure *why);

/* For people: what gives the lines of an image, or why there are none; NULL when that was never
 * asked. */
const char *frame_sources_story(const struct frame_sources *sources, const char *image);

#endif
