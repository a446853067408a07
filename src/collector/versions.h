/* The order of versions of an app. */
#ifndef COLLECTOR_VERSIONS_H
#define COLLECTOR_VERSIONS_H

#include <stdbool.h>

/* Whether version a comes after b: runs of digits are compared as numbers ("2.10" after "2.9"), and
 * builds when the versions are the same. Thread-safe. */
bool version_is_later(const char *version_a, const char *build_a, const char *version_b,
                      const char *build_b);

#endif
