/*
 * Names of the app's own functions, for its reports: the symbol tables of the executable and of the
 * libraries that came with it, as they were loaded when the first session asked for them. They are
 * read then and there, since whoever writes a report may neither allocate nor take a lock: the
 * thread that hangs may hold it.
 *
 * What was loaded can be unloaded, and another image take its place: names are given only to an
 * image at the same place with the same build id, or to the executable, which stays.
 */
#ifndef WATCH_OWN_NAMES_H
#define WATCH_OWN_NAMES_H

#include "report/fwr_write.h"

struct own_names;

/* Those of this process, whose executable is `program`: made by the first call, kept until the
 * process ends. NULL when memory ran out. Thread-safe; it allocates, and asks the loader. */
const struct own_names *own_names_of(const char *program);
/* For fwr_name_functions. What it does is lock-free, and allocates nothing. */
struct fwr_namer own_names_namer(const struct own_names *names);

#endif
