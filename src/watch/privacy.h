/*
 * What Apple wants a reason for or guards with a permission: functions and Objective-C methods by
 * group. The list is privacy_apple.txt; privacy_data.c is made of it.
 */
#ifndef WATCH_PRIVACY_H
#define WATCH_PRIVACY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists end with NULL, and may be empty. */
struct privacy_group {
    const char *name, *title;
    const char *category; /* NSPrivacyAccessedAPIType; NULL: guarded with a permission */
    const char *const *reasons, *const *permissions;
    const char *const *calls;
    const char *const *by_key; /* calls that read what their key names, of this group or not */
};

extern const uint32_t privacy_version;
extern const char privacy_date[];  /* YYYY-MM-DD */
extern const char privacy_names[]; /* "@privacy, @privacy.GROUP, ..." */
extern const struct privacy_group privacy_groups[];
extern const size_t privacy_group_count;

/* Whether a name is meant to be a group: it begins with "@". */
bool privacy_is_group(const char *name);

/* Whether group `index` is one that "@privacy" or "@privacy.GROUP" stands for. */
bool privacy_in(const char *name, size_t index);

/* Whether `call` is in a group; *by_key: its key decides what it reads. */
bool privacy_has(const struct privacy_group *group, const char *call, bool *by_key);

#endif
