/* Settings of what is kept: keep_settings.h. */
#include "collector/keep_settings.h"

#include <stdio.h>
#include <string.h>

enum { DAYS_MAX = 3650 };

static const struct keep_settings defaults = {30, 400, 180, 0.85};

static int64_t *days_of(struct keep_settings *s, const char *name)
{
    return strcmp(name, "body_days") == 0      ? &s->body_days
           : strcmp(name, "row_days") == 0     ? &s->row_days
           : strcmp(name, "symbols_days") == 0 ? &s->symbols_days
                                               : NULL;
}

static bool change_one(struct keep_settings *s, const char *name, const json_t *value, char *wrong,
                       size_t size)
{
    int64_t *days = days_of(s, name);
    if (days) {
        if (!json_is_integer(value) || json_integer_value(value) < 1 ||
            json_integer_value(value) > DAYS_MAX) {
            snprintf(wrong, size, "\"%s\" takes a number of days, 1 to %d", name, DAYS_MAX);
            return false;
        }
        *days = json_integer_value(value);
        return true;
    }
    if (strcmp(name, "disk_share") != 0) {
        snprintf(wrong, size,
                 "there is no setting \"%.40s\"; there is: body_days row_days symbols_days"
                 " disk_share",
                 name);
        return false;
    }
    double share = json_is_number(value) ? json_number_value(value) : 0;
    if (!(share >= 0.01 && share <= 0.99)) {
        snprintf(wrong, size, "\"disk_share\" takes a number from 0.01 to 0.99");
        return false;
    }
    s->disk_share = share;
    return true;
}

bool keep_settings_change(struct keep_settings *settings, const json_t *object, char *wrong,
                          size_t wrong_size)
{
    struct keep_settings changed = *settings;
    void *at = json_object_iter((json_t *)(uintptr_t)object);
    for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at))
        if (!change_one(&changed, json_object_iter_key(at), json_object_iter_value(at), wrong,
                        wrong_size))
            return false;
    /* A body without its row could be found by nobody. */
    if (changed.body_days > changed.row_days) {
        snprintf(wrong, wrong_size, "\"body_days\" is at most \"row_days\"");
        return false;
    }
    *settings = changed;
    return true;
}

void keep_settings_read(const char *json, struct keep_settings *settings)
{
    char wrong[160];
    json_t *object = json ? json_loads(json, 0, NULL) : NULL;
    *settings = defaults;
    if (json_is_object(object))
        keep_settings_change(settings, object, wrong, sizeof wrong);
    json_decref(object);
}

json_t *keep_settings_json(const struct keep_settings *s)
{
    return json_pack("{sIsIsIsf}", "body_days", (json_int_t)s->body_days, "row_days",
                     (json_int_t)s->row_days, "symbols_days", (json_int_t)s->symbols_days,
                     "disk_share", s->disk_share);
}
