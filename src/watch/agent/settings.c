/*
 * What `framewalk run` asks of the agent: the environment variable FRAMEWALK_AGENT, lines of
 * KEY=VALUE.
 *
 * The program's children are not to be watched unless that is wanted, and they inherit what stands
 * in `environ`, however they are started. So the agent takes itself out of it before main: out of
 * LD_PRELOAD, where others may stand too, its option out of ASAN_OPTIONS, and FRAMEWALK_AGENT as a
 * whole. The strings are edited where they are: no allocation, and it is what a later `environ` of
 * the program is copied from. exec.c puts them back for those who are to be followed.
 */
#include "watch/agent/agent.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct agent_settings agent_settings;

/* Kept as they were for those who are followed. */
static char settings_line[AGENT_SETTINGS]; /* FRAMEWALK_AGENT=... */
static char settings_text[AGENT_SETTINGS]; /* the same, cut into strings */
static const char *settings_agent;         /* path of this library */
static const char *settings_options;       /* in front of NODE_OPTIONS */

static const char preload_name[] = "LD_PRELOAD=", agent_name[] = "FRAMEWALK_AGENT=",
                  options_name[] = "NODE_OPTIONS=", asan_name[] = "ASAN_OPTIONS=";

static char **find_variable(char **environment, const char *name)
{
    size_t size = strlen(name);
    for (char **at = environment; at && *at; at++)
        if (strncmp(*at, name, size) == 0)
            return at;
    return NULL;
}

static void drop_variable(char **at)
{
    do
        at[0] = at[1];
    while (*at++);
}

/* ---- reading ---- */

static void read_calls(struct agent_settings *s, char *list)
{
    for (char *save, *name = strtok_r(list, ",", &save); name; name = strtok_r(NULL, ",", &save))
        if (s->call_count < FW_CALLS_NAMES)
            s->calls[s->call_count++] = name;
}

static void read_pair(struct agent_settings *s, const char *key, char *value)
{
    if (strcmp(key, "agent") == 0)
        settings_agent = value;
    else if (strcmp(key, "out") == 0)
        s->out = value;
    else if (strcmp(key, "version") == 0)
        s->version = value;
    else if (strcmp(key, "build") == 0)
        s->build = value;
    else if (strcmp(key, "status") == 0)
        s->status = value;
    else if (strcmp(key, "hang") == 0)
        s->hang_ms = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "severe") == 0)
        s->severe_ms = (uint32_t)strtoul(value, NULL, 10);
    else if (strcmp(key, "any") == 0)
        s->any_wait = true;
    else if (strcmp(key, "start") == 0)
        s->from_start = true;
    else if (strcmp(key, "follow") == 0)
        s->follow = true;
    else if (strcmp(key, "noscripts") == 0)
        s->no_scripts = true;
    else if (strcmp(key, "starved") == 0)
        s->keep_starved = true;
    else if (strcmp(key, "app") == 0)
        s->app_callers = true;
    else if (strcmp(key, "options") == 0)
        settings_options = value;
    else if (strcmp(key, "calls") == 0)
        read_calls(s, value);
}

static bool read_all(const char *line)
{
    struct agent_settings *s = &agent_settings;
    size_t size = strlen(line) + 1;
    if (size > sizeof settings_line)
        return false;
    memcpy(settings_line, line, size);
    memcpy(settings_text, line + sizeof agent_name - 1, size - (sizeof agent_name - 1));
    for (char *save, *pair = strtok_r(settings_text, "\n", &save); pair;
         pair = strtok_r(NULL, "\n", &save)) {
        char *value = strchr(pair, '=');
        if (value) {
            *value++ = '\0';
            read_pair(s, pair, value);
        }
    }
    return settings_agent && s->out && s->status;
}

/* ---- leaving the environment as it would be ---- */

/* Takes `path` out of a list separated by colons or spaces; true when nothing is left of it. */
static bool drop_entry(char *list, const char *path)
{
    size_t size = strlen(path);
    for (char *at = list; (at = strstr(at, path)); at++) {
        char *end = at + size;
        bool begins = at == list || strchr(": ", at[-1]), ends = strchr(": ", *end) != NULL;
        if (!begins || !ends)
            continue;
        if (*end)
            end++;
        else if (at > list)
            at--;
        memmove(at, end, strlen(end) + 1);
        break;
    }
    return *list == '\0';
}

static void leave_environment(void)
{
    char **at = find_variable(environ, agent_name);
    if (at)
        drop_variable(at);
    at = find_variable(environ, preload_name);
    if (at && drop_entry(*at + sizeof preload_name - 1, settings_agent))
        drop_variable(at);
    at = find_variable(environ, asan_name);
    if (at && drop_entry(*at + sizeof asan_name - 1, AGENT_ASAN_OPTION))
        drop_variable(at);
}

/* AddressSanitizer reads its options when it begins, which may be after us. */
static void begin_asan(void)
{
    void (*begin)(void) = (void (*)(void))dlsym(RTLD_DEFAULT, "__asan_init");
    if (begin)
        begin();
}

void settings_read(void)
{
    char **at = find_variable(environ, agent_name);
    if (!at || !read_all(*at))
        return;
    agent_settings.present = true;
    if (agent_settings.follow)
        return;
    begin_asan();
    leave_environment();
}

void settings_forget_options(void)
{
    char **at = settings_options ? find_variable(environ, options_name) : NULL;
    if (!at)
        return;
    char *value = *at + sizeof options_name - 1;
    size_t size = strlen(settings_options);
    if (strncmp(value, settings_options, size) == 0) {
        memmove(value, value + size, strlen(value + size) + 1);
        if (*value == '\0')
            drop_variable(at);
    }
    settings_options = NULL;
}

/* ---- entering that of another program ---- */

/* A variable in front of whose value something of ours stands. */
struct front {
    const char *name, *text;
};
enum { FRONTS = 2 };

static void list_fronts(struct front fronts[FRONTS])
{
    fronts[0] = (struct front){preload_name, settings_agent};
    fronts[1] = (struct front){asan_name, AGENT_ASAN_OPTION};
}

/* The value as it is; "": there is none. */
static const char *value_before(char *const *environment, const struct front *front)
{
    char **at = find_variable((char **)environment, front->name);
    return at ? *at + strlen(front->name) : "";
}

static bool holds(char *const *environment, const struct front *front)
{
    return strstr(value_before(environment, front), front->text) != NULL;
}

static bool is_ours(const char *variable, const struct front fronts[FRONTS])
{
    for (unsigned i = 0; i < FRONTS; i++)
        if (strncmp(variable, fronts[i].name, strlen(fronts[i].name)) == 0)
            return true;
    return strncmp(variable, agent_name, sizeof agent_name - 1) == 0;
}

struct settings_room settings_room(char *const *environment)
{
    struct settings_room room = {.pointers = FRONTS + 2}; /* our variables, and the end */
    struct front fronts[FRONTS];
    list_fronts(fronts);
    for (char *const *at = environment; at && *at; at++)
        room.pointers++;
    for (unsigned i = 0; i < FRONTS; i++)
        room.text += strlen(fronts[i].name) + strlen(fronts[i].text) + sizeof ":" +
                     (environment ? strlen(value_before(environment, &fronts[i])) : 0);
    return room;
}

char **settings_without(char *const *environment, char **pointers, char *text)
{
    struct front fronts[FRONTS];
    size_t count = 0;
    bool changed = false;
    list_fronts(fronts);
    for (char *const *at = environment; at && *at; at++) {
        char *kept = *at;
        bool dropped = strncmp(kept, agent_name, sizeof agent_name - 1) == 0;
        for (unsigned i = 0; i < FRONTS && !dropped; i++) {
            const size_t size = strlen(fronts[i].name);
            if (strncmp(*at, fronts[i].name, size) != 0 || !strstr(*at + size, fronts[i].text))
                continue;
            changed = true;
            kept = strcpy(text, *at);
            dropped = drop_entry(kept + size, fronts[i].text);
            text += strlen(*at) + 1;
        }
        changed |= dropped;
        if (!dropped)
            pointers[count++] = kept;
    }
    pointers[count] = NULL;
    return changed ? pointers : NULL;
}

char **settings_environment(char *const *environment, char **pointers, char *text)
{
    struct front fronts[FRONTS];
    size_t count = 0;
    list_fronts(fronts);
    if (!environment || (find_variable((char **)environment, agent_name) &&
                         holds(environment, &fronts[0]) && holds(environment, &fronts[1])))
        return NULL;
    for (char *const *at = environment; *at; at++)
        if (!is_ours(*at, fronts))
            pointers[count++] = *at;
    for (unsigned i = 0; i < FRONTS; i++) {
        const struct front *front = &fronts[i];
        const char *before = value_before(environment, front);
        const bool held = holds(environment, front);
        pointers[count++] = text;
        text = stpcpy(text, front->name);
        text = stpcpy(text, held ? "" : front->text);
        text = stpcpy(text, *before && !held ? ":" : "");
        text = stpcpy(text, before) + 1;
    }
    pointers[count++] = settings_line;
    pointers[count] = NULL;
    return pointers;
}
