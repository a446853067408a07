/*
 * The tables, and how they came to be: migrations[i] leads from version i to i + 1. A released one
 * is never changed; the next one is appended. All of one migration commits or none of it.
 */
#ifndef COLLECTOR_SCHEMA_H
#define COLLECTOR_SCHEMA_H

#include <stddef.h>

struct schema_migration {
    const char *sql; /* statements that end with ";\n" */
};
extern const struct schema_migration schema_migrations[];
extern const size_t schema_version; /* how many there are */

#endif
