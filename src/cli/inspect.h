/*
 * `framewalk inspect`: what is in a file.
 *
 * What is known of a file is gathered as JSON, in the order in which it is to be read; --json
 * prints that, and text for people is laid out from the same (inspect_text.c), so that both say the
 * same.
 */
#ifndef CLI_INSPECT_H
#define CLI_INSPECT_H

#include "base/reader.h"
#include "cli/style.h"
#include "object/object.h"
#include "symmap/symmap.h"

#include <jansson.h>

int inspect_main(int argc, char **argv);
void inspect_usage(FILE *to);

struct inspect_options {
    bool json, functions, files, has_address;
    uint64_t address;
    enum style_when color;
};

/* Adds to the object `to`: text that is not UTF-8 has its other bytes shown as \xNN. */
void inspect_text(json_t *to, const char *key, const char *text);
void inspect_number(json_t *to, const char *key, uint64_t number);
/* An address, as "0x...". */
void inspect_hex(json_t *to, const char *key, uint64_t number);
/* Bytes as hexadecimal digits; nothing when there are none. */
void inspect_bytes(json_t *to, const char *key, const void *bytes, size_t size);
/* A table: an array of objects of the same keys. */
json_t *inspect_table(json_t *to, const char *key);
json_t *inspect_entry(json_t *table);

/* An ELF or Mach-O file. */
fw_error inspect_object(struct object *object, json_t *to, struct fw_failure *why);
/* A symbol map, `bytes`; or another tool's symbols that were read into one. False when the address
 * asked for is not in it. */
bool inspect_map(const struct symmap *map, struct span bytes, const struct inspect_options *options,
                 json_t *to);
/* A report of Framewalk or of another tool; false when it is none that has anything to show. */
bool inspect_report(struct span bytes, json_t *to, struct fw_failure *why);
/* A folder of Framewalk reports: a row for each, the oldest first. False when it is none. */
bool inspect_reports(const char *folder, json_t *to);
/* Lays a description out for people. */
void inspect_print(const json_t *description, struct style *style);

#endif
