/*
 * Values as PostgreSQL sends them in binary (network order): what its types become here. Sums of
 * 64-bit numbers come as numeric: digits to the base 10,000 (src/backend/utils/adt/numeric.c of
 * PostgreSQL, numeric_send).
 */
#ifndef COLLECTOR_DB_BINARY_H
#define COLLECTOR_DB_BINARY_H

#include "base/reader.h"

struct db_binary {
    unsigned type; /* pg_type.oid */
    struct span bytes;
};

/* Booleans and numbers; what lies outside of 64 bits becomes the nearest that does not. Others: 0.
 */
int64_t db_binary_int(struct db_binary value);
bool db_binary_is_text(unsigned type);

#endif
