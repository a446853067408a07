/*
 * How long a project keeps what: the JSON of project.settings, as GET and PUT settings speak it.
 * Members that are missing have the defaults, so an empty object is a whole answer.
 */
#ifndef COLLECTOR_KEEP_SETTINGS_H
#define COLLECTOR_KEEP_SETTINGS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEEP_SEEN_DAYS = 90, KEEP_AUDIT_DAYS = 400 };

struct keep_settings {
    int64_t body_days;    /* bodies of reports, days since they came */
    int64_t row_days;     /* rows and sums, by the day that the report is of */
    int64_t symbols_days; /* debug files since they were last used */
    double disk_share;    /* of the store's disk in use: above it the oldest bodies go */
};

/* Of a text that is no object: the defaults. */
void keep_settings_read(const char *json, struct keep_settings *settings);
/* Takes over the members of `object` that there are. False: `wrong` says what a member must be. */
bool keep_settings_change(struct keep_settings *settings, const json_t *object, char *wrong,
                          size_t wrong_size);
/* A new object. NULL: out of memory. */
json_t *keep_settings_json(const struct keep_settings *settings);

#endif
